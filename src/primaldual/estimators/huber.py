"""Regression with the Huber loss, the scale of the noise fitted as well."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..losses import LOSSES
from ..parts.collections import is_collection
from ..problem import Problem
from ..result import Progress, Result, Status
from ..solver import Start
from . import concomitant, twins, unpenalised
from .base import Objective
from .callbacks import Task, task_of, with_callbacks
from .checks import InvalidParameterError, require_number
from .outcome import reason_to_stop
from .parameters import documented
from .regressor import LinearRegressorBase
from .solving import listener, solve_one
from .threading import threaded

# The smallest relative gap asked of one scale; below rounding, so that it is reached or stalls.
LEAST_GAP = 1e-18


@documented
class HuberRegressor(LinearRegressorBase):
    """Regression with the Huber loss and its scale σ, robust to outliers.

    Σ s_j [σ + σ H(r_j/σ)] + alpha ‖w‖² is minimised over w, the intercept and σ, with
    H(u) = u² for |u| ≤ epsilon and 2 epsilon |u| − epsilon² beyond: scikit-learn's
    ``HuberRegressor``. The problem is convex in all of them and has a dual; ``dual_gap_`` is the
    gap between the two. For a threshold in the units of y that is not fitted, use
    ``LinearRegressor(loss=primaldual.LOSSES["huber"](threshold))``.

    Parameters
    ----------
    epsilon : float, default=1.35
        The residual, in units of σ, beyond which the loss is linear; at least 1.
    alpha : float, default=0.0001
        The strength of the regularisation. 0 is none: then ``dual_gap_`` speaks of coefficients up
        to ten times as long as ``coef_``.
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
    scale_ : float
        σ.
    outliers_ : boolean array of shape (n_samples,)
        Which examples lie beyond epsilon σ.
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual.estimators import HuberRegressor
    >>> x = np.arange(10.0)
    >>> y = 2 * x
    >>> y[9] = 1000.0
    >>> model = HuberRegressor().fit(x[:, None], y)
    >>> model.coef_.round(2), int(model.outliers_.sum())
    (array([2.]), 1)
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

    _may_vanish = True
    _certifies = False  # the gap is that of coefficients and scale

    def _require_parameters(self) -> None:
        super()._require_parameters()
        require_number("epsilon", self.epsilon, positive=True)
        if self.epsilon < 1.0:
            raise InvalidParameterError(
                f"epsilon must be at least 1.0, got {self.epsilon!r}. For a threshold in the units "
                "of y use LinearRegressor(loss=primaldual.LOSSES['huber'](threshold))."
            )

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective(LOSSES["huber"](float(self.epsilon)))

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    @threaded
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
        if is_collection(X):
            raise TypeError(
                "HuberRegressor does not fit its scale on data in parts. Use LinearRegressor with "
                "loss=primaldual.LOSSES['huber'](threshold), or X as one array."
            )
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        data = {"X": X, "y": y, "metadata": metadata}
        X, y, weights = self._read(X, y, sample_weight)
        (column,), (offset,) = self._columns(y, weights)
        objective = self._objective([column], weights)
        (problem,) = self._problems(X, [column], weights, objective)
        total = float(len(y) if weights is None else weights.sum())
        alpha = float(self.alpha) or problem.lam * total
        joint = concomitant.Huber(problem, float(self.epsilon), alpha, total)
        task = task_of(self, data, concomitant.MOST_SCALES)
        if task is not None:
            task.begin()
        found = joint.fit(self.tol, self._solver(task), *self._first(joint))
        if task is not None:
            task.end()
        self._take(found, joint, offset)
        self._warn_of_obstacles(X, found.results[-1:])
        return self

    def _first(self, joint: concomitant.Huber) -> tuple[float | None, Any]:
        """The scale and the pair to start from; where it is the optimum still, no step is made."""
        problem = joint.problem
        if not (self.warm_start and hasattr(self, "scale_") and len(self.coef_) == problem.d):
            return None, None
        dual = getattr(self, "dual_coef_", np.empty(0))  # files may leave it out
        known = len(dual) == problem.n and np.isfinite(dual).all()
        alpha = dual * (joint.alpha * problem.n / joint.total) if known else None
        return float(self.scale_), Start(self.coef_ / self.scale_, alpha)

    def _solver(self, task: Task | None) -> concomitant.Solver:
        """What solves the problem of one scale, for the callbacks a part of one task."""
        request = self._request()
        end = None if self.max_time is None else time.perf_counter() + self.max_time
        count = done = 0

        def solve(problem: Problem, start: Any, tighter: float) -> tuple[Result, bool]:
            nonlocal count, done
            asked = False

            def listen(progress: Progress) -> bool:
                nonlocal asked
                asked = report(progress) if report is not None else False
                return asked

            part = None if task is None else task.part("scale", count, None)
            count += 1
            if part is not None:
                part.begin()
            report = listener(self, part, None)
            chosen = None if report is None else listen
            asks = request._replace(tol=max(request.tol * tighter, LEAST_GAP))
            result = solve_one(problem, asks, request.seed, end, start, chosen)
            if part is not None:
                part.end()
            done += math.ceil(result.iterations)
            spent = self.max_iter is not None and done >= self.max_iter
            return result, asked or spent

        return solve

    def _take(self, found: concomitant.Fit, joint: concomitant.Huber, offset: float) -> None:
        """Set the attributes."""
        self.coef_, self.scale_ = found.w, np.float64(found.scale)
        self.intercept_ = np.float64(found.intercept + offset) if self.fit_intercept else 0.0
        self.dual_coef_ = joint.s * found.u / (2.0 * joint.alpha)
        residuals = joint.y - joint.problem.margins(found.w, found.intercept)
        self.outliers_ = np.abs(residuals) > found.scale * self.epsilon
        reach = 0.0
        if self._bare(1)[0]:
            reach = joint.alpha * (unpenalised.REACH**2 - 1.0) * float(found.w @ found.w)
        unit = joint.at_zero()
        gap = found.gap + reach
        # Constant targets have no noise: the infimum 0 is at σ = 0.
        self._state(found.results, gap / unit if unit > 0 else 0.0, found.stopped)

    def _state(self, results: list[Result], gap: float, stopped: bool) -> None:
        """Report how the fit went, and warn if it fell short."""
        last = results[-1]
        done = sum(math.ceil(result.iterations) for result in results)
        if gap > self.tol and self.max_iter is not None and done >= self.max_iter:
            last = replace(last, status=Status.MAX_ITER)
        elif stopped:
            last = replace(last, status=Status.STOPPED)
        elif gap > self.tol and last.status is Status.CONVERGED:
            last = replace(last, status=Status.STALLED)
        self._conclude(results, last, gap, reason_to_stop(last.status, gap <= self.tol))
        self.n_iter_ = int(sum(np.ceil(result.iterations) for result in results))

    def to_sklearn(self) -> Any:
        """The equivalent fitted ``sklearn.linear_model.HuberRegressor``.

        Returns
        -------
        sklearn.linear_model.HuberRegressor
        """
        check_is_fitted(self)
        return twins.huber(
            self, epsilon=self.epsilon, alpha=self.alpha, fit_intercept=self.fit_intercept
        )
