"""Regressors with scikit-learn's names and meanings, and a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.linear_model import HuberRegressor as SklearnHuber
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.svm import LinearSVR as SklearnSVR
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..losses import LOSSES
from ..losses.custom import as_loss, loss_name
from .base import (
    LinearModel,
    Objective,
    as_rows,
    checked_weights,
    require_choice,
    require_number,
)
from .callbacks import with_callbacks
from .parameters import documented


class LinearRegressorBase(RegressorMixin, LinearModel):
    """What the regressors share: targets and their offset."""

    _strength = "alpha"
    _multi_output = False

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or, where supported, (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 is the same as the example twice.

        Returns
        -------
        self
        """
        data = {
            "X": X, "y": y,
            "metadata": None if sample_weight is None else {"sample_weight": sample_weight},
        }  # fmt: skip
        X, y, weights = self._read(X, y, sample_weight)
        columns, offsets = self._columns(y, weights)
        objective = self._objective(columns, weights)
        problems = self._problems(X, columns, weights, objective)
        starts = self._starts(problems, len(problems))

        def described(w: FloatArray, intercept: Any) -> dict[str, Any]:
            return {"coef_": w.copy(), "intercept_": float(intercept) + offsets[0]}

        solutions = self._solve_all(problems, starts, data, described)
        results = [solution.result for solution in solutions]
        self.coef_ = as_rows([result.w for result in results])
        self.intercept_ = np.array([result.intercept for result in results]) + offsets
        self.dual_coef_ = as_rows([r.alpha / (r.problem.lam * r.problem.n) for r in results])
        if y.ndim == 1:
            self.coef_, self.dual_coef_ = self.coef_[0], self.dual_coef_[0]
            self.intercept_ = float(self.intercept_[0])
        self._report(solutions)
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, FloatArray | None]:
        """The data checked, the targets as float64, and the weights."""
        self._require_parameters()
        X, y = self._checked(X, y, y_numeric=True, multi_output=self._multi_output)
        weights = checked_weights(sample_weight, X.shape[0])
        y = np.asarray(y, dtype=np.float64)
        strengths = np.size(self._strengths())
        if strengths not in (1, 1 if y.ndim == 1 else y.shape[1]):
            raise ValueError(
                f"Number of targets and number of penalties do not correspond: got {strengths} "
                f"values of {self._strength} for {1 if y.ndim == 1 else y.shape[1]} targets."
            )
        return X, y, weights

    def _columns(
        self, y: FloatArray, weights: FloatArray | None
    ) -> tuple[list[FloatArray], FloatArray]:
        """The targets one by one, without their mean where an intercept takes it up.

        A common offset changes neither the coefficients nor the gap, but P(0), the unit of
        ``tol``, is then the loss of predicting the mean.
        """
        columns = [y] if y.ndim == 1 else list(y.T)
        offsets = np.zeros(len(columns))
        if self.fit_intercept and getattr(self._any_loss(), "shift_invariant", False):
            offsets = np.array([np.average(column, weights=weights) for column in columns])
        pairs = zip(columns, offsets, strict=True)
        return [column - offset for column, offset in pairs], offsets

    def _any_loss(self) -> Any:
        """The loss, or one of its kind."""
        return as_loss("squared")

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> tuple[list[Any], float]:
        X, y, weights = self._read(X, y, sample_weight)
        columns, _ = self._columns(y, weights)
        return self._problems(X, columns, weights, self._objective(columns, weights)), self.tol

    def predict(self, X: Any) -> Any:
        """The predicted targets.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
        """
        scores = self._scores(X)
        return scores.ravel() if np.ndim(self.intercept_) == 0 else scores


@documented
class Ridge(MultiOutputMixin, LinearRegressorBase):
    """Ridge regression: Σ s_j (y_j − z_j)² + alpha ‖w‖² at its certified minimum.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        The strength of the regularisation, positive; λ = alpha/Σ s_j.
    {shared}
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    n_jobs : int, optional
        Threads for several targets.
    verbose : int, default=0
        Whether to print a line for every check.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from primaldual.estimators import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(Ridge(alpha=0.1).fit(X, y).score(X, y), 3)
    0.513
    """

    _multi_output = True

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective(as_loss("squared"))

    def to_sklearn(self) -> Any:
        """The equivalent fitted ``sklearn.linear_model.Ridge``.

        Returns
        -------
        sklearn.linear_model.Ridge
        """
        check_is_fitted(self)
        return self._share(SklearnRidge(alpha=self._strengths(), fit_intercept=self.fit_intercept))


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
        max(0, |r| − ε) or its square. The first has corners: ``dual=False`` and ``side="primal"``
        are refused for it.
    dual : bool or "auto", default="auto"
        As in scikit-learn: True is ``side="dual"``, False is ``side="primal"``, "auto" leaves it
        to ``side``.
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
    intercept_ : float
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
        dual: bool | str = "auto",
        fit_intercept: bool = True,
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
        self.dual = dual
        self.fit_intercept = fit_intercept
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

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        loss = LOSSES[self.loss](float(self.epsilon))
        return Objective(loss, scale=1.0 if self.loss == "epsilon_insensitive" else 2.0)

    def to_sklearn(self) -> Any:
        """The equivalent fitted ``sklearn.svm.LinearSVR``.

        Returns
        -------
        sklearn.svm.LinearSVR
        """
        check_is_fitted(self)
        twin = SklearnSVR(
            epsilon=self.epsilon, C=self.C, loss=self.loss, fit_intercept=self.fit_intercept
        )
        twin = self._share(twin)
        twin.intercept_ = np.atleast_1d(twin.intercept_)
        return twin


@documented
class HuberRegressor(LinearRegressorBase):
    """Regression with the Huber loss at a **fixed** threshold, robust to outliers.

    Σ s_j H(y_j − z_j) + alpha ‖w‖² is minimised, with H(r) = r² for |r| ≤ epsilon and
    2 epsilon |r| − epsilon² beyond.

    scikit-learn's ``HuberRegressor`` estimates the scale σ of the noise as well and puts the
    threshold at epsilon·σ; its problem has no such dual. Here **epsilon is in the units of y**.
    To get scikit-learn's model, use its σ (``scale_``): ``epsilon=1.35 * scale_`` and
    ``alpha=alpha * scale_``.

    Parameters
    ----------
    epsilon : float, default=1.35
        The residual, in the units of y, beyond which the loss is linear.
    alpha : float, default=0.0001
        The strength of the regularisation, positive; λ = alpha/Σ s_j.
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
    intercept_ : float
    outliers_ : boolean array of shape (n_samples,)
        Which examples lie beyond the threshold.
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual.estimators import HuberRegressor
    >>> x = np.arange(10.0)
    >>> y = 2 * x
    >>> y[9] = 1000.0
    >>> model = HuberRegressor(epsilon=0.1).fit(x[:, None], y)
    >>> model.coef_.round(2), int(model.outliers_.sum())
    (array([2.01]), 1)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int | None = 1000,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: int = 0,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _require_parameters(self) -> None:
        super()._require_parameters()
        require_number("epsilon", self.epsilon, positive=True)

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective(LOSSES["huber"](float(self.epsilon)))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 is the same as the example twice.

        Returns
        -------
        self
        """
        super().fit(X, y, sample_weight)
        residuals = np.asarray(y, dtype=np.float64).ravel() - self.predict(X)
        self.outliers_ = np.abs(residuals) > self.epsilon
        return self

    def to_sklearn(self) -> Any:
        """A fitted ``sklearn.linear_model.HuberRegressor`` with the same predictions.

        Returns
        -------
        sklearn.linear_model.HuberRegressor
            With ``scale_`` 1, the scale that is fixed here.
        """
        check_is_fitted(self)
        twin = SklearnHuber(
            epsilon=max(self.epsilon, 1.0), alpha=self.alpha, fit_intercept=self.fit_intercept
        )
        return self._share(twin, scale_=1.0, outliers_=self.outliers_.copy())


@documented
class LinearRegressor(LinearRegressorBase):
    """A linear regressor with any convex loss φ: Σ s_j φ(z_j; y_j) + (alpha/2) ‖w‖².

    Parameters
    ----------
    loss : str or loss, default="squared"
        A name in ``primaldual.LOSSES`` for regression, or an object as ``Problem`` takes it.
    alpha : float, default=1.0
        The strength of the regularisation, positive; λ = alpha/Σ s_j.
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
    intercept_ : float
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from primaldual.estimators import LinearRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LinearRegressor(loss="log_cosh", alpha=0.1).fit(X, y).stop_reason_
    'The relative duality gap is at most tol.'
    """

    def __init__(
        self,
        loss: Any = "squared",
        *,
        alpha: float = 1.0,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        random_state: Any = None,
        max_iter: int | None = 1000,
        verbose: int = 0,
        warm_start: bool = False,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _any_loss(self) -> Any:
        return as_loss(self.loss)

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        loss = as_loss(self.loss)
        if getattr(loss, "classification", False):
            raise ValueError(
                f"loss {loss_name(loss)!r} is for classification. Use LinearClassifier, or a "
                "regression loss such as 'squared'."
            )
        return Objective(loss)

    def to_sklearn(self) -> Any:
        """A fitted ``sklearn.linear_model.Ridge`` with the same predictions.

        Returns
        -------
        sklearn.linear_model.Ridge
        """
        check_is_fitted(self)
        return self._share(SklearnRidge(alpha=self.alpha, fit_intercept=self.fit_intercept))
