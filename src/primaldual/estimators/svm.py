"""Linear support vector machines, for classes and for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..losses import LOSSES
from ..parts.collections import by_block
from . import twins
from .base import Objective
from .calibrated import Calibrated
from .checks import InvalidParameterError, require_choice, require_dual, require_l2, require_number
from .classifier import LinearClassifierBase
from .parameters import documented
from .regressor import LinearRegressorBase


def side_of(model: Any) -> str:
    """Where to solve: what scikit-learn's ``dual`` says, or ``side`` if that is "auto"."""
    if isinstance(model.dual, str):
        return str(model.side)
    return "dual" if model.dual else "primal"


def _wants_probabilities(model: Any) -> bool:
    return bool(model.probability)


@documented
class LinearSVC(LinearClassifierBase):
    """Linear support vector machine: C Σ s_j max(0, 1 − y_j z_j)² + ½‖w‖², certified.

    With ``loss="hinge"``, C Σ s_j max(0, 1 − y_j z_j) + ½‖w‖². scikit-learn's ``LinearSVC`` with
    the L2 penalty, except that the intercept is not penalised.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
        As in scikit-learn; the L1 penalty is refused.
    C : float, default=1.0
        The inverse of the strength of the regularisation.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        ψ(m) = max(0, 1 − m)², or the hinge max(0, 1 − m). The hinge is not smooth: ``dual=False``
        and ``side="primal"`` are refused for it.
    dual : bool or "auto", default="auto"
        As in scikit-learn: True is ``side="dual"``, False is ``side="primal"``, "auto" leaves it
        to ``side``.
    multi_class : {"ovr"}, default="ovr"
        As in scikit-learn: one model per class against the rest. Crammer and Singer's is refused.
    intercept_scaling : float, default=1
        Not used: the intercept is not penalised.
    probability : bool, default=False
        Whether to fit probabilities as well, by a sigmoid on the cross-validated scores
        (``sklearn.calibration.CalibratedClassifierCV`` with ``cv=5``): five more fits. The
        support vector machine itself has none.
    {shared}
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with ``sample_weight``.
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    n_jobs : int, optional
        Threads; None and -1 stand for all cores, None for one in a worker of joblib. The number
        changes no bit. One-against-the-rest problems are solved at the same time;
        otherwise threads share the work on large data.
    verbose : int, default=0
        Whether to print a line for every check.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,), or 0.0 without an intercept
    classes_ : array of shape (n_classes,)
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from primaldual.estimators import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearSVC(C=0.1).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-6,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int | None = 1000,
        probability: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.probability = probability
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _require_parameters(self) -> None:
        super()._require_parameters()
        require_choice("loss", self.loss, ("squared_hinge", "hinge"))
        require_dual(self.dual, self.side, self.loss)
        require_l2(self.penalty)
        require_number("intercept_scaling", self.intercept_scaling, positive=True)
        if self.multi_class == "crammer_singer":
            raise InvalidParameterError(
                "multi_class='crammer_singer' is not available: it is another problem than one "
                "model per class. Use multi_class='ovr', or sklearn.svm.LinearSVC."
            )
        require_choice("multi_class", self.multi_class, ("ovr",))

    def _side(self) -> str:
        return side_of(self)

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective(self.loss, scale=2.0 if self.loss == "squared_hinge" else 1.0)

    def _train(self, X: Any, codes: Any, weights: FloatArray | None, data: dict[str, Any]) -> None:
        super()._train(X, codes, weights, data)
        if self.probability:
            plain = clone(self).set_params(
                probability=False, class_weight=None, warm_start=False, callback=None
            )
            calibrated = CalibratedClassifierCV(plain, method="sigmoid", cv=5, ensemble=False)
            calibrated.fit(X, self.classes_[codes], sample_weight=weights)
            self.calibrated_ = Calibrated.of(calibrated)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "calibrated_" in state:  # as plain data, like all the rest
            state["calibrated_"] = dict(vars(self.calibrated_))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if isinstance(state.get("calibrated_"), dict):
            self.calibrated_ = Calibrated(**state["calibrated_"])

    def _shape(self, X: Any) -> None:
        super()._shape(X)
        if not self.fit_intercept:
            self.intercept_ = 0.0

    @available_if(_wants_probabilities)
    @by_block
    def predict_proba(self, X: Any) -> Any:
        """The calibrated probabilities of the classes; with ``probability=True`` only.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            In the order of ``classes_``. Their largest need not be the predicted class.
        """
        check_is_fitted(self)
        return self.calibrated_.predict_proba(self._checked(X, reset=False))

    @available_if(_wants_probabilities)
    @by_block
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of the calibrated probabilities; with ``probability=True`` only.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def to_sklearn(self) -> Any:
        """The equivalent fitted ``sklearn.svm.LinearSVC``.

        Returns
        -------
        sklearn.svm.LinearSVC
        """
        check_is_fitted(self)
        return twins.svc(
            self, loss=self.loss, C=self.C, fit_intercept=self.fit_intercept,
            class_weight=self.class_weight, random_state=self.random_state,
        )  # fmt: skip


@documented
class LinearSVR(LinearRegressorBase):
    """Linear support vector regression: C Σ s_j max(0, |y_j − z_j| − ε) + ½‖w‖², certified.

    scikit-learn's ``LinearSVR``, except that the intercept is not penalised.

    Parameters
    ----------
    epsilon : float, default=0.0
        The residual that costs nothing.
    C : float, default=1.0
        The inverse of the strength of the regularisation.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        max(0, |r| − ε) or its square. The first is not smooth: ``dual=False`` and ``side="primal"``
        are refused for it.
    dual : bool or "auto", default="auto"
        As in scikit-learn: True is ``side="dual"``, False is ``side="primal"``, "auto" leaves it
        to ``side``.
    intercept_scaling : float, default=1.0
        Not used: the intercept is not penalised.
    {shared}
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    verbose : int, default=0
        Whether to print a line for every check.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : array of shape (1,), or 0.0 without an intercept
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from primaldual.estimators import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(C=100.0).fit(X, y)
    >>> model.dual_gap_ <= 1e-6
    True
    """

    _strength = "C"

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-6,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int | None = 1000,
        warm_start: bool = False,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _require_parameters(self) -> None:
        super()._require_parameters()
        require_choice("loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive"))
        require_dual(self.dual, self.side, self.loss)
        require_number("intercept_scaling", self.intercept_scaling, positive=True)

    def _side(self) -> str:
        return side_of(self)

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        loss = LOSSES[self.loss](float(self.epsilon))
        return Objective(loss, scale=1.0 if self.loss == "epsilon_insensitive" else 2.0)

    def _shape(self, X: Any, y: FloatArray) -> None:
        super()._shape(X, y)
        if self.fit_intercept:
            self.intercept_ = np.atleast_1d(self.intercept_)

    def to_sklearn(self) -> Any:
        """The equivalent fitted ``sklearn.svm.LinearSVR``.

        Returns
        -------
        sklearn.svm.LinearSVR
        """
        check_is_fitted(self)
        return twins.svr(
            self, epsilon=self.epsilon, C=self.C, loss=self.loss, fit_intercept=self.fit_intercept
        )
