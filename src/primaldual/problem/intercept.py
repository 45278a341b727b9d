"""The free intercept: its best value, its proximal term, and the plane Σ_j α_j = 0 of the dual."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .._numba.compile import kernel
from .._types import FloatArray
from ..losses import loss_nearest_dual, loss_slopes
from ..losses.sums import derivatives, second_derivatives

if TYPE_CHECKING:
    from .coordinates import Coordinates
    from .problem import Problem

# α is feasible only up to rounding: |Σ α_j| may be this fraction of Σ |α_j|.
BALANCE_TOLERANCE = 1e-10

# λ_b in units of λ divided by the mean ‖x_j‖². Measured on text, images and census data over λ,
# in epochs of dual coordinate descent: 10 to 30 need the fewest, with 1 it is up to five times as
# many, and at 100 some runs on a non-smooth loss no longer converge.
INTERCEPT_SHARE = 10.0
# Its upper limit in units of β/K². Measured on a9a, w8a, leu, digits and text for large λ: with 1/8
# dual coordinate descent needs 4 to 6 epochs where it needs 8 to 10 with 1, on two classes, and 7
# where it needs 12 to 25 on five and ten.
CURVATURE_SHARE = 1 / 8

# Attempts to move a dual point into the plane: the domain may push it out again. A safeguard that
# was not tuned.
PLANE_STEPS = 5


# --------------------------------------------------------------------------------------------
# The proximal term


def intercept_strength(examples: Coordinates, lam: float) -> float:
    """λ_b of the proximal term (λ_b/2)(b − b')² that dual methods put on a free intercept.

    It is at most about the curvature of the loss in one intercept, β/(8 K²) for K classes, and less
    where the coefficients have more say: where the mean of ‖x_j‖², by the examples' weights, is
    large. It is 1/4 if neither bounds it.
    """
    squares, weights = examples.squared_norms, examples.multipliers
    square = float(squares.mean() if weights is None else weights @ squares / len(squares))
    share = INTERCEPT_SHARE * lam / square if square > 0 else math.inf
    most = min(examples.beta * CURVATURE_SHARE / examples.classes**2, share)
    # Squares of very large entries overflow: a strength of 0 would be divided by.
    return max(most, sys.float_info.min) if most < math.inf else 0.25


# --------------------------------------------------------------------------------------------
# The plane


def balanced(alpha: FloatArray) -> bool:
    """Whether Σ_j α_j = 0 up to rounding."""
    return bool(abs(alpha.sum()) <= BALANCE_TOLERANCE * np.abs(alpha).sum())


def rebalanced(alpha: FloatArray) -> FloatArray:
    """α with its positive or its negative part made smaller, so that Σ_j α_j = 0.

    That keeps α in the domain of φ*, which contains 0.
    """
    excess = float(alpha.sum())
    if excess == 0.0 or not math.isfinite(excess):
        return alpha
    heavier = alpha > 0 if excess > 0 else alpha < 0
    return np.where(heavier, alpha * (1.0 - excess / float(alpha[heavier].sum())), alpha)


def into_plane(problem: Problem, alpha: FloatArray, z: FloatArray) -> FloatArray | None:
    """α moved into the plane where the margins are z; None if it cannot be.

    The shift is shared out in proportion to φ'', since where it is large a small change of the
    margin moves α_j far. For a non-smooth loss the side with the larger sum gives.
    """
    if not problem.is_smooth:
        return rebalanced(alpha)
    weights = np.empty(problem.n)
    second_derivatives(problem.loss, z, problem.y, problem.sample_weight, weights)
    total = float(weights.sum())
    for _ in range(PLANE_STEPS):
        if balanced(alpha) or not total > 0:
            break
        alpha = alpha - (float(alpha.sum()) / total) * weights
        into_domain(problem.loss, problem.y, problem.sample_weight, alpha)
    return alpha if balanced(alpha) else None


@kernel
def into_domain(loss, y, c, alpha):  # type: ignore[no-untyped-def]
    """Move every α_j/c_j to the nearest point where the conjugate is finite."""
    for j in range(alpha.size):
        if c[j] > 0.0:
            alpha[j] = c[j] * loss_nearest_dual(loss, alpha[j] / c[j], y[j])
        else:
            alpha[j] = 0.0


# --------------------------------------------------------------------------------------------
# The best intercept


@kernel
def newton_intercept(loss, scores, y, c, b):  # type: ignore[no-untyped-def]
    """Newton's method on the increasing function Σ c_j φ'(scores_j + b), kept in a bracket."""
    low, high = -np.inf, np.inf
    reach = 1.0  # how far to look while one end of the bracket is still open
    for _ in range(200):
        slope, size, curvature = 0.0, 0.0, 0.0
        for j in range(scores.size):
            first, second = loss_slopes(loss, scores[j] + b, y[j])
            slope += c[j] * first
            size += c[j] * abs(first)
            curvature += c[j] * second
        if abs(slope) <= 4e-16 * size:
            return b
        if slope > 0:
            high = b
        else:
            low = b
        following = b - slope / curvature if curvature > 0 else np.nan
        if low > -np.inf and high < np.inf:
            if not (low < following < high):
                following = 0.5 * (low + high)
        elif not abs(following - b) <= reach:
            # On the losses' flat sides Newton's step is far too long: go by leaps instead.
            following = b - reach if slope > 0 else b + reach
            reach *= 4.0
        if abs(following - b) <= 1e-16 * abs(b) or following == b:
            return b
        b = following
    return b


def kink_intercept(loss: Any, scores: FloatArray, y: FloatArray, c: FloatArray) -> float:
    """The b that minimises Σ_j c_j φ(scores_j + b; y_j) for a loss of straight pieces.

    The slope passes 0 at a kink, or is 0 between two kinks: then the middle.
    """
    kinks = [kink - scores for kink in loss.kinks(y)]
    places, jumps = np.concatenate(kinks), np.tile(c, len(kinks))
    order = np.argsort(places)
    far = np.empty(len(y))
    derivatives(loss, np.full(len(y), -np.inf), y, c, far)
    slopes = float(far.sum()) + np.cumsum(jumps[order])  # behind each kink
    noise = 1e-12 * float(c.sum())
    first = int(np.searchsorted(slopes, -noise))
    last = min(int(np.searchsorted(slopes, noise, side="right")), len(order) - 1)
    return 0.5 * float(places[order[first]] + places[order[last]])
