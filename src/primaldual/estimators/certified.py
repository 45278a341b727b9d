"""Certified predictions: what the gap of a fit says of the optimum's predictions.

P is λ-strongly convex in w, also once the intercept is at its best: ‖w − w*‖ ≤ ρ = √(2 gap/λ), and
⟨x, w*⟩ is within ρ ‖x‖ of ⟨x, w⟩. The best intercept falls where scores rise: with ρ ‖x_j‖ added to
every score of the training data it is no more than b*, and with as much subtracted no less. With a
penalty per feature the same holds of w √p and x/√p.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..problem import Problem
from ..problem.coordinates import Coordinates
from ..result import Result
from .folds import to_dense

# One rounding of a number in double and in single precision.
DOUBLE, SINGLE = 2.0**-53, 2.0**-24
# What the search for the best intercept leaves, relative to the numbers it is made of.
INTERCEPT_SLACK = 1e-12


class Ball(NamedTuple):
    """Where the optimum of a problem is: around w, and the scores that bound the intercept."""

    problem: Problem  # its data is dropped: only loss, targets and weights are looked at
    radius: float  # ρ
    scale: FloatArray | None  # 1/√p
    intercept: float
    z: FloatArray  # ⟨x_j, w⟩; empty without an intercept
    reach: FloatArray  # ρ ‖x_j‖

    def shifts(self) -> tuple[float, float]:
        """Between which numbers b* − b is; infinite for a loss with kinks."""
        p = self.problem
        if not p.fit_intercept:
            return 0.0, 0.0
        if not p.is_smooth:
            return -math.inf, math.inf  # the best intercept need not be unique
        low = p.best_intercept(self.z + self.reach) - self.intercept
        high = p.best_intercept(self.z - self.reach) - self.intercept
        slack = INTERCEPT_SLACK * (1.0 + abs(self.intercept) + float(np.abs(self.z).max()))
        return min(low, 0.0) - slack, max(high, 0.0) + slack


def ball_of(result: Result) -> Ball:
    """What is kept of a result for certified predictions: two numbers per example."""
    p = result.problem
    radius = math.sqrt(2.0 * max(result.certificate.gap, 0.0) / p.lam)
    z = reach = np.empty(0)
    if p.fit_intercept:
        examples: Coordinates = p.examples
        z, reach = p.margins(result.w), radius * np.sqrt(examples.squared_norms)
    scale = None if p.units is None else p.units.scale
    return Ball(p.without_data(), radius, scale, float(result.intercept), z, reach)


def described(balls: list[Ball]) -> dict[str, Any]:
    """The fitted attribute: arrays with a number for every problem."""
    shifts = np.array([ball.shifts() for ball in balls])
    return {
        "radius": np.array([ball.radius for ball in balls]),
        "low": shifts[:, 0],
        "high": shifts[:, 1],
        "scale": balls[0].scale,
    }


def _norms(X: Any, scale: FloatArray | None) -> FloatArray:
    """‖x‖ of every row, or of x times the scale."""
    squares: Any = np.ones(X.shape[1]) if scale is None else np.square(scale)
    if sparse.issparse(X):
        own = X.astype(np.float64)
        return np.sqrt(np.asarray(own.multiply(own) @ squares).ravel())
    return np.sqrt(np.square(X.astype(np.float64)) @ squares)


class CertifiedScores:
    """``decision_bounds`` for all estimators; before ``LinearModel`` among the bases."""

    def _bounds(self: Any, X: Any) -> tuple[FloatArray, FloatArray]:
        """The bounds of all scores of the optimum, one column per problem."""
        check_is_fitted(self)
        known = self.certified_
        if not np.isfinite(known["low"]).all():
            raise ValueError(
                f"{type(self).__name__}: the best intercept of a loss with kinks need not be "
                "unique. Use fit_intercept=False or a smooth loss."
            )
        X = self._checked(X, reset=False)
        coef = np.atleast_2d(to_dense(self.coef_)).astype(np.float64)
        scores = np.asarray(X @ coef.T) + np.asarray(self.intercept_, dtype=np.float64)
        sizes = _norms(X, None)[:, None] * np.linalg.norm(coef, axis=1)
        error = (X.shape[1] + 8) * DOUBLE * sizes + 8 * DOUBLE * np.abs(scores)
        if np.asarray(to_dense(self.coef_)).dtype == np.float32:
            error += 2 * SINGLE * (sizes + np.abs(np.asarray(self.intercept_, dtype=np.float64)))
        width = known["radius"] * _norms(X, known["scale"])[:, None] * (1 + 1e-12) + error
        return scores - width + known["low"], scores + width + known["high"]

    def decision_bounds(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Between which numbers the scores ⟨x, w*⟩ + b* of the exact optimum are.

        They follow from the certified gap: the smaller it is, the closer they are together.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        lower, upper : arrays of shape (n_samples,) or (n_samples, n_classes)
            In the units of ``decision_function``, or of ``predict`` of a regressor without a link.
        """
        low, high = self._bounds(X)
        return (low.ravel(), high.ravel()) if low.shape[1] == 1 else (low, high)


class CertifiedLabels(CertifiedScores):
    """The same for classifiers, and labels that cannot change."""

    classes_: Any

    def predict_certified(self, X: Any) -> Any:
        """The labels that the exact optimum gives as well; masked where the gap is too large.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        numpy.ma.MaskedArray of shape (n_samples,)
            Labels, masked where they are undecided at this gap.
        """
        low, high = self._bounds(X)
        if low.shape[1] == 1:
            best, undecided = (high[:, 0] > 0).astype(int), (low[:, 0] <= 0) & (high[:, 0] > 0)
        else:
            best, rows = low.argmax(axis=1), np.arange(len(low))
            lead = low[rows, best].copy()
            others = high.copy()
            others[rows, best] = -np.inf
            undecided = lead <= others.max(axis=1)
        return np.ma.masked_array(self.classes_[best], mask=undecided)

    def _proba_bounds(self, X: Any, link: Any) -> tuple[FloatArray, FloatArray]:
        """Bounds of both probabilities, where the link of the score is that of the second class."""
        low, high = self._bounds(X)
        if low.shape[1] != 1:
            raise ValueError(
                f"proba_bounds is for two classes, the model has {low.shape[1]}: probabilities of "
                "several are divided by their sum. Use decision_bounds."
            )
        first, second = link(low[:, 0]), link(high[:, 0])
        slack = 8 * DOUBLE
        lower = np.stack([link(-high[:, 0]), first], axis=1) - slack
        upper = np.stack([link(-low[:, 0]), second], axis=1) + slack
        return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
