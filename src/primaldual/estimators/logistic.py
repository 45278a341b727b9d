"""Logistic regression, with the softmax loss for several classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..losses.custom import as_loss
from ..problem.multinomial import Multinomial
from . import to_sklearn
from .base import Objective, regularisation, to_dense
from .checks import require_choice
from .classifier import LinearClassifierBase, by_link, log
from .parameters import documented


@documented
class LogisticRegression(LinearClassifierBase):
    """Logistic regression: C Σ s_j log(1 + exp(−y_j z_j)) + ½‖w‖² at its certified minimum.

    scikit-learn's ``LogisticRegression`` with the L2 penalty. With more than two classes the loss
    is the softmax loss, as there.

    Parameters
    ----------
    C : float, default=1.0
        The inverse of the strength of the regularisation; λ = 1/(C Σ s_j).
    {shared}
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with ``sample_weight``.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        With more than two classes: one model with the softmax loss, or one model per class
        against the rest.
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    n_jobs : int, optional
        Threads for the problems of ``multi_class="ovr"``.
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

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        class_weight: Any = None,
        multi_class: str = "multinomial",
        random_state: Any = None,
        max_iter: int | None = 1000,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _require_parameters(self) -> None:
        super()._require_parameters()
        require_choice("multi_class", self.multi_class, ("multinomial", "ovr"))

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective(as_loss("logistic"))

    def _strength_used(self) -> float:
        """The C of the fitted model."""
        return float(self.C)

    def _is_softmax(self) -> bool:
        return len(self.classes_) > 2 and self.multi_class == "multinomial"

    def _train(self, X: Any, codes: Any, weights: FloatArray | None, data: dict[str, Any]) -> None:
        if not self._is_softmax():
            super()._train(X, codes, weights, data)
            return
        problem = self._softmax_problem(X, codes, weights)
        (result,) = self._solve_all(
            [problem], [self._softmax_start(problem)], data, self._described
        )
        self.coef_, self.intercept_ = np.array(result.w), np.array(result.intercept)
        self.dual_coef_ = result.alpha.T / (problem.lam * problem.n)
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
        lam = regularisation("C", float(self.C), total)
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
            loss the prediction is that of one problem per class.
        """
        return super().estimate(X, y, sample_weight)

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
        if self._is_softmax():
            return log_softmax(self.decision_function(X), axis=1)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([log_expit(-scores), log_expit(scores)], axis=1)
        return log(self.predict_proba(X))

    def to_sklearn(self) -> Any:
        """The equivalent fitted scikit-learn model.

        Returns
        -------
        sklearn.linear_model.LogisticRegression
            Or, for ``multi_class="ovr"`` with several classes, a
            ``sklearn.multiclass.OneVsRestClassifier`` of them.
        """
        check_is_fitted(self)
        return to_sklearn.logistic(
            self, len(self.classes_) > 2 and not self._is_softmax(), C=self._strength_used(),
            fit_intercept=self.fit_intercept, class_weight=self.class_weight,
            random_state=self.random_state,
        )  # fmt: skip
