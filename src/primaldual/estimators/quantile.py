"""Regression of one or several quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import d2_pinball_score, r2_score
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from .._warn import warn_user
from ..losses import Pinball
from ..parts.collections import by_block
from ..problem import Problem
from . import twins
from .base import Objective
from .checks import InvalidParameterError
from .mean_loss import MeanLoss
from .parameters import documented
from .regressor import LinearRegressorBase


@documented
class QuantileRegressor(MeanLoss, LinearRegressorBase):
    """Linear regression of a quantile, or of several at once; L2, not L1 as in scikit-learn.

    (1/S) Σ s_j p(y_j − z_j) + (alpha/2) ‖w‖² is minimised, where p(r) = τ r for r ≥ 0 and (τ − 1) r
    below, and S is the sum of the weights s_j. Several quantiles are separate problems on the same
    data: where their planes cross, a higher quantile is predicted below a lower one. The examples
    of the training data for which that is so are counted in ``crossings_``, with a warning.

    Parameters
    ----------
    quantile : float or sequence of float, default=0.5
        τ between 0 and 1: the fraction of the targets that should lie below the prediction.
    alpha : float, default=1.0
        The strength of the regularisation, positive.
    {shared}
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    n_jobs : int, optional
        Threads for several quantiles.
    verbose : int, default=0
        Whether to print a line for every check.
    penalty_weights : array of shape (n_features,), optional
        Positive p_i: the penalty is (alpha/2) Σ p_i w_i². X is copied, its columns divided by √p_i.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_quantiles, n_features)
    intercept_ : float or array of shape (n_quantiles,)
    crossings_ : int
        Examples of the training data for which the predicted quantiles are out of order.
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from primaldual.estimators import QuantileRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = QuantileRegressor(quantile=[0.1, 0.5, 0.9], alpha=1e-4).fit(X, y)
    >>> bool(abs((y <= model.predict(X)[:, 2]).mean() - 0.9) < 0.01)
    True
    """

    _strength = "alpha"

    def __init__(
        self,
        *,
        quantile: Any = 0.5,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
        penalty_weights: Any = None,
    ) -> None:
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.side = side
        self.max_time = max_time
        self.callback = callback
        self.penalty_weights = penalty_weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # R² compares with the mean, which is near the median at most.
        tags.regressor_tags.poor_score = not np.all(np.equal(self.quantile, 0.5))
        return tags

    def _require_parameters(self) -> None:
        super()._require_parameters()
        try:
            quantiles = np.asarray(self.quantile, dtype=np.float64)
        except (TypeError, ValueError):
            quantiles = np.array(np.nan)
        if (
            quantiles.ndim > 1
            or not quantiles.size
            or not ((quantiles > 0) & (quantiles < 1)).all()
        ):
            raise InvalidParameterError(
                "quantile must be a number between 0 and 1, both excluded, or a sequence of such "
                f"numbers, got {self.quantile!r}."
            )

    def _quantiles(self) -> list[float]:
        return [float(quantile) for quantile in np.atleast_1d(self.quantile)]

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective(Pinball(self._quantiles()[0]))

    def _any_loss(self) -> Any:
        return Pinball()

    def _columns(
        self, y: FloatArray, weights: FloatArray | None
    ) -> tuple[list[FloatArray], FloatArray]:
        """The targets, once for every quantile."""
        columns, offsets = super()._columns(y, weights)
        count = len(self._quantiles())
        return columns * count, np.repeat(offsets, count)

    def _problems(
        self, X: Any, targets: list[FloatArray], weights: FloatArray | None, objective: Objective
    ) -> list[Problem]:
        problems = super()._problems(X, targets, weights, objective)
        pairs = zip(problems[1:], self._quantiles()[1:], strict=True)
        return problems[:1] + [problem.related(loss=Pinball(tau)) for problem, tau in pairs]

    def _fit_parts(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if len(self._quantiles()) > 1:
            raise ValueError("several quantiles need data in memory: fit them one by one.")
        self.crossings_ = 0
        return super()._fit_parts(X, y, sample_weight)

    def _shape(self, X: Any, y: FloatArray) -> None:
        if np.ndim(self.quantile) == 0:
            super()._shape(X, y)
            self.crossings_ = 0
            return
        if not self.fit_intercept:
            self.intercept_ = np.zeros(len(self._quantiles()))
        self.crossings_ = self.crossings(X)
        if self.crossings_:
            warn_user(
                f"QuantileRegressor: the quantiles cross at {self.crossings_} of {X.shape[0]} "
                "examples: there a higher one is predicted below a lower one. More regularisation, "
                "or fewer features, makes the planes more nearly parallel.",
                UserWarning,
            )

    def crossings(self, X: Any) -> int:
        """Count the examples for which the predicted quantiles are out of order.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        int
        """
        if len(self._quantiles()) == 1:
            return 0
        predicted = np.asarray(self._scores(X))[:, np.argsort(self._quantiles(), kind="stable")]
        return int((np.diff(predicted, axis=1) < 0).any(axis=1).sum())

    @by_block
    def predict(self, X: Any) -> Any:
        """The predicted quantiles.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_quantiles)
            The second where ``quantile`` is a sequence.
        """
        scores = self._scores(X)
        return scores.ravel() if np.ndim(self.quantile) == 0 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², as in scikit-learn; of several quantiles the mean of their D² with the pinball loss.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        predicted = self.predict(X)
        if predicted.ndim == 1:
            return float(r2_score(y, predicted, sample_weight=sample_weight))
        return float(
            np.mean([
                d2_pinball_score(y, column, sample_weight=sample_weight, alpha=tau)
                for column, tau in zip(predicted.T, self._quantiles(), strict=True)
            ])
        )  # fmt: skip

    def to_sklearn(self) -> Any:
        """A fitted ``sklearn.linear_model.QuantileRegressor`` with the same predictions.

        Returns
        -------
        sklearn.linear_model.QuantileRegressor
        """
        check_is_fitted(self)
        if np.ndim(self.quantile):
            raise ValueError(
                "scikit-learn's QuantileRegressor has one quantile, this model has "
                f"{len(self._quantiles())}. Fit them one by one."
            )
        return twins.quantile(
            self, quantile=self.quantile, alpha=self.alpha, fit_intercept=self.fit_intercept
        )
