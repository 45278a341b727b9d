"""Regression with a mean exp(z): Poisson for counts, gamma for positive amounts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..losses.custom import as_loss
from ..parts.collections import by_block
from . import twins
from .base import Objective
from .checks import GLM_SOLVERS, require_solver
from .mean_loss import MeanLoss
from .parameters import documented
from .regressor import LinearRegressorBase


class LogLinkRegressor(MeanLoss, LinearRegressorBase):
    """The shared part of the two; not an estimator by itself."""

    _may_vanish = True
    _loss: str  # its name
    _power: int  # of the mean that the variance is proportional to

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "lbfgs",
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
        penalty_weights: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.side = side
        self.max_time = max_time
        self.callback = callback
        self.penalty_weights = penalty_weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _require_parameters(self) -> None:
        super()._require_parameters()
        require_solver(self, GLM_SOLVERS)

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective(self._loss)

    def _any_loss(self) -> Any:
        return as_loss(self._loss)

    def _known_columns(
        self, y: FloatArray, weights: FloatArray | None, known: dict[str, Any]
    ) -> tuple[list[FloatArray], FloatArray]:
        """The targets, and the intercept of the model without features, which becomes an offset.

        P(0), the unit of ``tol``, is then half of the null deviance.
        """
        columns, offsets = self._columns(y, weights)
        if not self.fit_intercept:
            return columns, offsets
        exposure = np.exp(known.get("offset", np.zeros(len(y))))
        if self._power == 1:
            mean = np.average(y, weights=weights) / np.average(exposure, weights=weights)
        else:
            mean = np.average(y / exposure, weights=weights)
        if mean > 0.0:  # a problem says what is wrong with y
            known["offset"] = known.get("offset", np.zeros(len(y))) + math.log(mean)
            offsets = np.array([math.log(mean)])
        return columns, offsets

    @by_block
    def predict(self, X: Any) -> Any:
        """The predicted means, ``exp(X @ coef_ + intercept_)``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return np.exp(self._scores(X).ravel())

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D², the fraction of the deviance that is explained, as in scikit-learn.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
            1 − deviance/null deviance, that of the mean of y.
        """
        means = self.predict(X)
        return float(d2_tweedie_score(y, means, sample_weight=sample_weight, power=self._power))

    def to_sklearn(self) -> Any:
        """The fitted model of scikit-learn of the same name.

        Returns
        -------
        object
        """
        check_is_fitted(self)
        kind = type(self).__name__
        return twins.glm(self, kind, alpha=self.alpha, fit_intercept=self.fit_intercept)


@documented
class PoissonRegressor(LogLinkRegressor):
    """Poisson regression of counts, as scikit-learn's ``PoissonRegressor``.

    (1/S) Σ s_j d_j + (alpha/2) ‖w‖² is minimised, where d_j is half of the Poisson deviance of y_j
    from the mean exp(⟨x_j, w⟩ + b), and S the sum of the weights s_j. For rates, pass counts
    divided by exposures as ``y`` and the exposures as ``sample_weight``.

    Parameters
    ----------
    alpha : float, default=1.0
        The strength of the regularisation; 0 is none.
    {shared}
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        As in scikit-learn. Not used; said at ``verbose``.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    verbose : int, default=0
        Whether to print a line for every check.
    penalty_weights : array of shape (n_features,), optional
        Positive p_i: the penalty is (alpha/2) Σ p_i w_i². X is copied, its columns divided by √p_i.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    {attributes}

    Examples
    --------
    >>> from primaldual.estimators import PoissonRegressor
    >>> model = PoissonRegressor().fit([[1, 2], [2, 3], [3, 4], [4, 3]], [12, 17, 22, 21])
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([0.121, 0.158]), 2.089)
    """

    _loss, _power = "poisson", 1


@documented
class GammaRegressor(LogLinkRegressor):
    """Gamma regression of positive amounts, as scikit-learn's ``GammaRegressor``.

    (1/S) Σ s_j d_j + (alpha/2) ‖w‖² is minimised, where d_j is half of the gamma deviance of y_j
    from the mean exp(⟨x_j, w⟩ + b), and S the sum of the weights s_j.

    Parameters
    ----------
    alpha : float, default=1.0
        The strength of the regularisation; 0 is none.
    {shared}
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        As in scikit-learn. Not used; said at ``verbose``.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    verbose : int, default=0
        Whether to print a line for every check.
    penalty_weights : array of shape (n_features,), optional
        Positive p_i: the penalty is (alpha/2) Σ p_i w_i². X is copied, its columns divided by √p_i.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    {attributes}

    Examples
    --------
    >>> from primaldual.estimators import GammaRegressor
    >>> model = GammaRegressor().fit([[1, 2], [2, 3], [3, 4], [4, 3]], [19, 26, 33, 30])
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([0.073, 0.067]), 2.897)
    """

    _loss, _power = "gamma", 2
