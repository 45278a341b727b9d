"""Closed forms and root searches for the one-dimensional dual problem, and scalar helpers.

With zeta = z + κ Δ, the maximiser of -φ*(-(a + Δ)) - z Δ - (κ/2) Δ² satisfies a + Δ = -φ'(zeta),
so that zeta is the root of the increasing function (zeta - z) + κ (a + φ'(zeta)), whose slope is
at least 1.
"""

from __future__ import annotations

import math
from typing import Any

from .._numba.compile import inlined, inlined_in_loops
from .operations import loss_derivative, loss_second_derivative

# A dual variable is the sum of many steps, and may pass the edge of its domain by rounding.
EDGE_SLACK = 1e-14
# Steps allowed to a root search; the Newton searches need about five, at worst thirty.
MAX_STEPS = 200
# Newton doubles the digits: after a step this small the next would be rounding noise.
SMALL_STEP = 1e-8


@inlined
def clip(x: float, low: float, high: float) -> float:
    """Return the point of [low, high] nearest to x."""
    if x < low:
        return low
    if x > high:
        return high
    return x


@inlined
def shrink(x: float, width: float) -> float:
    """sign(x) max(|x| - width, 0)."""
    if x > width:
        return x - width
    if x < -width:
        return x + width
    return 0.0


@inlined
def outside(x: float, low: float, high: float, scale: float) -> bool:
    """Whether x is beyond [low, high] by more than rounding."""
    slack = EDGE_SLACK * scale
    return x < low - slack or x > high + slack


@inlined
def times_sign(y: float, x: float) -> float:
    """sign(y) x."""
    return x if y > 0.0 else -x


@inlined
def ratio(slope: float, curvature: float) -> float:
    """Where a parabola with that slope at 0 has its top: ±inf, or 0, if it is not curved."""
    if curvature > 0.0:
        return slope / curvature
    return math.copysign(math.inf, slope) if slope != 0.0 else 0.0


@inlined
def x_log_x(x: float) -> float:
    """Return x ln x, with 0 at 0."""
    return x * math.log(x) if x > 0.0 else 0.0


@inlined_in_loops
def divergence_series(x: float) -> float:
    """Σ_k x^(k-2)/(k(k-1)) for k from 2 to 8: of (1-x) ln(1-x) + x, divided by x²."""
    high = 1 / 20 + x * (1 / 30 + x * (1 / 42 + x / 56))
    return 1 / 2 + x * (1 / 6 + x * (1 / 12 + x * high))


@inlined
def hinge_change(
    b: float, m: float, curvature: float, kappa: float, low: float, high: float
) -> float:
    """Change of b in [low, high] when φ*(-a) = curvature b²/2 - b."""
    return clip(ratio(1.0 - m - curvature * b, curvature + kappa), low - b, high - b)


@inlined
def insensitive_change(
    a: float, r: float, epsilon: float, curvature: float, kappa: float, bound: float
) -> float:
    """Change of a in [-bound, bound] when φ*(-a) = curvature a²/2 + epsilon |a| - a y."""
    upper = ratio(-r - curvature * a - epsilon, curvature + kappa)
    if a + upper > 0.0:
        return clip(upper, -bound - a, bound - a)
    lower = ratio(-r - curvature * a + epsilon, curvature + kappa)
    if a + lower < 0.0:
        return clip(lower, -bound - a, bound - a)
    return -a


@inlined
def rounded_gap(excess: float, p: float, width: float) -> float:
    """The gap of a loss of t = excess that is 0 below 0, t²/(2 width) up to the width, then linear.

    Its conjugate is width p²/2 for p in [0, 1]. Without terms that cancel; infinite outside.
    """
    if outside(p, 0.0, 1.0, 1.0):
        return math.inf
    p = clip(p, 0.0, 1.0)
    if excess <= 0.0:
        return 0.5 * width * p * p - p * excess
    if excess < width:
        return 0.5 * (excess - width * p) * (excess - width * p) / width
    return (1.0 - p) * (excess - 0.5 * width * (1.0 + p))


@inlined
def insensitive_gap(r: float, a: float, epsilon: float, width: float) -> float:
    """The gap of ``rounded_gap``'s loss of |r| - epsilon, for |a| <= 1; no terms that cancel."""
    if outside(a, -1.0, 1.0, 1.0):
        return math.inf
    a = clip(a, -1.0, 1.0)
    size, p = abs(r), -a if r > 0.0 else a
    against = abs(a) - p  # 0 if a has the sign that goes with r, else 2|a|
    if size <= epsilon:
        return 0.5 * width * a * a + abs(a) * (epsilon - size) + size * against
    if p < 0.0:
        excess = size - epsilon
        value = 0.5 * excess * excess / width if excess < width else excess - 0.5 * width
        return value + 0.5 * width * p * p - p * excess + epsilon * against
    return rounded_gap(size - epsilon, p, width) + epsilon * against


@inlined
def newton_root(
    loss: Any, a: float, z: float, y: float, kappa: float, low: float, high: float
) -> float:
    """Find the root zeta in [low, high], by Newton from z.

    Where the function is concave with `low` finite, or convex with `high` finite, every Newton
    point lies on one side of the root, and the iterates after the first are monotone.
    """
    zeta = clip(z, low, high)
    previous = 0.0
    for k in range(MAX_STEPS):
        residual = (zeta - z) + kappa * (a + loss_derivative(loss, zeta, y))
        slope = 1.0 + kappa * loss_second_derivative(loss, zeta, y)
        moved = clip(zeta - residual / slope, low, high)
        step = moved - zeta
        zeta = moved
        if abs(step) <= SMALL_STEP + 1e-15 * abs(zeta):
            break
        # The first step may pass the root; a later one that turns back is rounding noise.
        if k > 1 and step * previous < 0.0:
            break
        previous = step
    return zeta


@inlined
def sigmoidal_root(
    loss: Any, a: float, z: float, y: float, kappa: float, least: float, most: float
) -> float:
    """Find the root when φ' rises from `least` to `most`, convex before 0, concave after it."""
    if kappa * (a + 0.5 * (least + most)) < z:
        return newton_root(loss, a, z, y, kappa, max(0.0, z - kappa * (a + most)), math.inf)
    return newton_root(loss, a, z, y, kappa, -math.inf, min(0.0, z - kappa * (a + least)))


@inlined
def change_of_dual(a: float, moved: float, z: float, zeta: float, kappa: float) -> float:
    """Δ from both a + Δ = moved and z + κ Δ = zeta, by the one that cancels less."""
    if moved == 0.0:
        return -a
    if kappa * max(abs(a), abs(moved)) > abs(z) + abs(zeta):
        return (zeta - z) / kappa
    return moved - a
