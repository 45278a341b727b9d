"""Logistic regression, with the softmax loss for several classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from .._warn import warn_user
from ..parts.collections import by_block
from ..problem.multinomial import Multinomial
from . import absent, twins
from .base import Objective, to_dense
from .checks import (
    LOGISTIC_SOLVERS,
    require_bool,
    require_choice,
    require_l2,
    require_number,
    require_solver,
)
from .classifier import LinearClassifierBase, by_link, log, near_one
from .parameters import documented

# Values of multi_class: scikit-learn's of all versions; the last two mean the first.
MULTI_CLASS = ("multinomial", "ovr", "auto", "deprecated")


@documented
class LogisticRegression(LinearClassifierBase):
    """Logistic regression: C Σ s_j log(1 + exp(−y_j z_j)) + ½‖w‖² at its certified minimum.

    scikit-learn's ``LogisticRegression`` with the L2 penalty. With more than two classes the loss
    is the softmax loss, as there.

    Parameters
    ----------
    penalty : {"l2", "deprecated"} or None, default="deprecated"
        As in scikit-learn: None is ``C=inf``, the others are L2. The L1 penalty and the elastic net
        are refused.
    C : float, default=1.0
        The inverse of the strength of the regularisation; λ = 1/(C Σ s_j). Infinite for none: then
        ``dual_gap_`` speaks of coefficients up to ten times as long as ``coef_``, and a warning
        names the reason where there is no unique optimum.
    l1_ratio : float, default=0.0
        As in scikit-learn: 0 or None is the L2 penalty. Other values are refused.
    dual : bool, default=False
        True is ``side="dual"``; False leaves it to ``side``.
    {shared}
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with ``sample_weight``.
    multi_class : {"multinomial", "ovr", "auto", "deprecated"}, default="multinomial"
        With more than two classes: one model with the softmax loss, or one model per class
        against the rest. "auto" and "deprecated" are the former.
    intercept_scaling : float, default=1
        Not used: the intercept is not penalised.
    solver : str, default="lbfgs"
        Any of scikit-learn's names. Not used; said at ``verbose``.
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    n_jobs : int, optional
        Threads; None and -1 stand for all cores, None for one in a worker of joblib. The number
        changes no bit. Problems of ``multi_class="ovr"`` are solved at the same time;
        otherwise threads share the work on large data.
    verbose : int, default=0
        Whether to print a line for every check.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from primaldual.estimators import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(C=0.1).fit(scale(X), y)
    >>> model.dual_gap_ <= model.tol
    True
    >>> round(model.score(scale(X), y), 2)
    0.98
    """

    _follows_precision = True
    _may_vanish = True
    _penalties: tuple[Any, ...] = ("l2", "deprecated", None)

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "lbfgs",
        max_iter: int | None = 1000,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        multi_class: str = "multinomial",
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.multi_class = multi_class
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _require_parameters(self) -> None:
        super()._require_parameters()
        self._require_compatible()
        require_choice("multi_class", self.multi_class, MULTI_CLASS)

    def _require_compatible(self) -> None:
        """Raise if a parameter of scikit-learn's asks for what is not solved here."""
        require_l2(self.penalty, self.l1_ratio, self._penalties)
        if self.penalty is None and self.C != 1.0:
            warn_user("penalty=None leaves C out.", UserWarning)
        require_number("intercept_scaling", self.intercept_scaling, positive=True)
        require_solver(self, LOGISTIC_SOLVERS)
        require_bool("dual", self.dual)
        if self.dual and self.side == "primal":
            raise ValueError("dual=True and side='primal' contradict each other. Leave one out.")

    def _side(self) -> str:
        return "dual" if getattr(self, "dual", False) else str(self.side)

    def _strengths(self) -> Any:
        return math.inf if getattr(self, "penalty", "l2") is None else self.C

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective("logistic")

    def _strength_used(self) -> float:
        """The C of the fitted model."""
        return float(self._strengths())

    def _counted(self, iterations: list[int]) -> Any:
        return np.array([max(iterations)], dtype=np.int32)

    def _is_softmax(self) -> bool:
        return len(self.classes_) > 2 and self.multi_class != "ovr"

    def _train(self, X: Any, codes: Any, weights: FloatArray | None, data: dict[str, Any]) -> None:
        if not self._is_softmax():
            super()._train(X, codes, weights, data)
            return
        present = absent.present_classes(codes, weights, len(self.classes_))
        if present is not None and self.fit_intercept:
            self._train_present(X, codes, weights, data, present)
            return
        problem = self._softmax_problem(X, codes, weights)
        start = self._softmax_start(problem)
        (result,) = self._solve_all([problem], [start], data, self._described)
        self.coef_, self.intercept_ = np.array(result.w), np.array(result.intercept)
        if self._bare(1)[0]:
            # The same for all classes changes nothing; a tiny penalty leaves rounding there.
            self.coef_ -= self.coef_.mean(axis=0)
        self.dual_coef_ = result.alpha.T / (problem.lam * problem.n)
        self._report([result])
        self._warn_of_obstacles(X, [result])

    def _train_known(
        self,
        X: Any,
        codes: Any,
        weights: FloatArray | None,
        data: dict[str, Any],
        known: dict[str, Any],
    ) -> None:
        if known and self._is_softmax():
            raise ValueError(
                f"{' and '.join(known)}: not available for the softmax loss. Use multi_class='ovr'."
            )
        super()._train_known(X, codes, weights, data, known)

    def _train_present(
        self, X: Any, codes: Any, weights: Any, data: dict[str, Any], present: Any
    ) -> None:
        """Fit the classes that have a weight, and rule out the others."""
        lam = self._lam(self._strength_used(), float(weights.sum()), X)
        problem = absent.problem_of(X, codes, lam, weights, present)
        (result,) = self._solve_all([problem], [None], data, None)
        self.coef_, self.intercept_, self.dual_coef_ = absent.for_all_classes(
            result, present, len(self.classes_)
        )
        self._report([result])

    def _softmax_start(self, problem: Multinomial) -> tuple[Any, Any] | None:
        """The last fit's W and α if asked for and of the same shape."""
        coef = to_dense(getattr(self, "coef_", np.empty(0)))
        usable = coef.shape == problem.shape and np.isfinite(coef).all()
        if not getattr(self, "warm_start", False) or not usable:
            return None
        dual = getattr(self, "dual_coef_", np.empty(0))
        if dual.shape != (len(problem.classes), problem.n):
            return coef, None
        return coef, dual.T * (problem.lam * problem.n)

    def _softmax_problem(self, X: Any, codes: Any, weights: FloatArray | None) -> Multinomial:
        total = float(len(codes) if weights is None else weights.sum())
        lam = self._lam(self._strength_used(), total, X)
        return Multinomial(X, codes, lam, weights, bool(self.fit_intercept))

    def estimate(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Predict the passes and seconds each side would need, without fitting.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.

        Returns
        -------
        dict
            ``"primal"`` and ``"dual"``, each with ``"method"``, ``"passes"`` and ``"seconds"``;
            and ``"side"`` and ``"method"``, with which ``side="auto"`` starts. With the softmax
            loss the prediction is that of the one problem for all classes.
        """
        return super().estimate(X, y, sample_weight)

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> list[Any]:
        read = self._read(X, y, sample_weight)
        if not self._is_softmax():
            return self._one_per_target(*read)
        X, codes, weights = read
        present = absent.present_classes(codes, weights, len(self.classes_))
        if present is None or weights is None or not self.fit_intercept:
            return [self._softmax_problem(X, codes, weights)]
        lam = self._lam(self._strength_used(), float(weights.sum()), X)
        return [absent.problem_of(X, codes, lam, weights, present)]

    @by_block
    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        if self._is_softmax():
            return softmax(self.decision_function(X), axis=1)
        return by_link(self.decision_function(X), expit)

    @by_block
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        scores = self.decision_function(X)
        if self._is_softmax():
            return near_one(log_softmax(scores, axis=1), softmax(scores, axis=1))
        if scores.ndim == 1:
            exact = np.stack([log_expit(-scores), log_expit(scores)], axis=1)
            return near_one(exact, by_link(scores, expit))
        return log(by_link(scores, expit))

    def proba_bounds(self, X: Any) -> Any:
        """Between which numbers the probabilities of the exact optimum are, for two classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        lower, upper : arrays of shape (n_samples, 2)
        """
        return self._proba_bounds(X, expit)

    def to_sklearn(self) -> Any:
        """The equivalent fitted scikit-learn model.

        Returns
        -------
        sklearn.linear_model.LogisticRegression
            Or, for ``multi_class="ovr"`` with several classes, a
            ``sklearn.multiclass.OneVsRestClassifier`` of them.
        """
        check_is_fitted(self)
        return twins.logistic(
            self, len(self.classes_) > 2 and not self._is_softmax(), C=self._strength_used(),
            fit_intercept=self.fit_intercept, class_weight=self.class_weight,
            random_state=self.random_state,
        )  # fmt: skip
