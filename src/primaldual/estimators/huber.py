"""Regression with the Huber loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..losses import LOSSES
from . import to_sklearn
from .base import Objective
from .checks import require_number
from .parameters import documented
from .regressor import LinearRegressorBase


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
        return to_sklearn.huber(
            self, epsilon=max(self.epsilon, 1.0), alpha=self.alpha,
            fit_intercept=self.fit_intercept,
        )  # fmt: skip
