"""The operations of a loss that take its dual variable a, by a search where it has no formula."""

from __future__ import annotations

import math
from typing import Any

from .._numba.compile import inlined
from .._numba.operation import operation
from .one_dimensional import MAX_STEPS, change_of_dual
from .operations import loss_derivative, loss_second_derivative, loss_value

# Where the search for φ'(zeta) = -a gives up and calls -a out of range.
FAR = 1e12
# How near φ' has to come to -a at that distance for -a to count as the limit of φ'.
LIMIT_TOLERANCE = 1e-9
# Half the width, relative to z and y, of the interval in which values of φ bound a conjugate: what
# that adds is about φ'' times its square, no more than rounding does.
NEARBY = 1e-8
# The same where z and y are 0.
TINY_STEP = 1e-30


@operation("conjugate")
def loss_conjugate(loss: Any, a: float, y: float) -> float:
    """φ*(-a), from the loss or, if it has none, by a numerical search."""
    return search_conjugate(loss, a, y)


@operation("dual_step")
def loss_dual_step(loss: Any, a: float, z: float, y: float, kappa: float) -> float:
    """Return the change Δ of a that maximises -φ*(-(a + Δ)) - z Δ - (κ/2) Δ²."""
    return search_dual_step(loss, a, z, y, kappa)


@operation("quick_step")
def loss_quick_step(
    loss: Any, a: float, z: float, y: float, kappa: float, first: float, second: float
) -> float:
    """About the change of ``loss_dual_step``, where φ' and φ'' at z are known."""
    return loss_dual_step(loss, a, z, y, kappa)


@operation("conjugate_slopes")
def loss_conjugate_slopes(loss: Any, a: float, y: float) -> tuple[float, float]:
    """Both derivatives of φ*(-a) by a; NaN if the loss does not know them."""
    return math.nan, math.nan


def has_conjugate_slopes(loss: Any) -> bool:
    """Whether the loss knows them."""
    return hasattr(type(getattr(loss, "loss", loss)), "conjugate_slopes")


@operation("nearest_dual")
def loss_nearest_dual(loss: Any, a: float, y: float) -> float:
    """Return the point of the closed domain of φ*(-·) nearest to a; a if the loss has none."""
    return a


@inlined
def search_conjugate(loss: Any, a: float, y: float) -> float:
    """An upper bound of φ*(-a), next to -a zeta - φ(zeta) at φ'(zeta) = -a.

    zeta is found by a bracketed Newton search, which trusts φ'; the bound is made of values of φ
    alone. When φ' does not reach -a within ``FAR`` of y, -a is outside the domain, unless φ' comes
    so near that -a is taken for its limit.
    """
    target = -a
    far = FAR * (1.0 + abs(y))
    low, high = y - 1.0, y + 1.0
    slope_low, slope_high = loss_derivative(loss, low, y), loss_derivative(loss, high, y)
    width = 1.0
    while slope_low > target and width < far:
        width *= 2.0
        high, slope_high = low, slope_low
        low = y - width
        slope_low = loss_derivative(loss, low, y)
    while slope_high < target and width < far:
        width *= 2.0
        low, slope_low = high, slope_high
        high = y + width
        slope_high = loss_derivative(loss, high, y)
    if slope_low >= target:
        zeta, slope = low, slope_low
    elif slope_high <= target:
        zeta, slope = high, slope_high
    else:
        zeta = 0.5 * (low + high)
        slope = target
        last_move = high - low
        for _ in range(MAX_STEPS):
            excess = loss_derivative(loss, zeta, y) - target
            if excess == 0.0:
                break
            if excess > 0.0:
                high = zeta
            else:
                low = zeta
            curvature = loss_second_derivative(loss, zeta, y)
            moved = zeta - excess / curvature if curvature > 0.0 else math.inf
            # Bisect when Newton leaves the bracket or no longer halves its steps.
            if not low < moved < high or abs(moved - zeta) > 0.5 * last_move:
                moved = low + 0.5 * (high - low)
            last_move = abs(moved - zeta)
            zeta = moved
            if last_move <= 1e-15 * abs(zeta):
                break
    scale = max(abs(target), abs(slope_low), abs(slope_high))
    if abs(slope - target) > LIMIT_TOLERANCE * scale:
        return math.inf
    if slope != target:
        return slope * zeta - loss_value(loss, zeta, y)
    return bound_of_conjugate(loss, target, zeta, y, far)


@inlined
def bound_of_conjugate(loss: Any, slope: float, middle: float, y: float, far: float) -> float:
    """An upper bound of sup_z slope z - φ(z) for a convex φ, from its values near a given point.

    If the secants of φ on the left and on the right of a point have slopes l ≤ slope ≤ r, the
    supremum is between their ends, and φ is there above both secants drawn on. Where they do not,
    the given point is not near the maximum: it is looked for, by values.
    """
    step = NEARBY * (abs(middle) + abs(y)) + TINY_STEP
    low, high = middle - step, middle + step
    value = loss_value(loss, middle, y)
    below, above = loss_value(loss, low, y), loss_value(loss, high, y)
    while (value - below) > slope * (middle - low) and abs(low) < far:
        high, above, middle, value = middle, value, low, below
        step *= 2.0
        low = middle - step
        below = loss_value(loss, low, y)
    while (above - value) < slope * (high - middle) and abs(high) < far:
        low, below, middle, value = middle, value, high, above
        step *= 2.0
        high = middle + step
        above = loss_value(loss, high, y)
    for _ in range(MAX_STEPS):
        if high - low <= 4.0 * NEARBY * (abs(middle) + abs(y)) + 4.0 * TINY_STEP:
            break
        right = high - middle > middle - low
        tried = 0.5 * (middle + high) if right else 0.5 * (low + middle)
        at_tried = loss_value(loss, tried, y)
        better = slope * (tried - middle) > at_tried - value
        if right == better:
            low, below = (middle, value) if better else (tried, at_tried)
        else:
            high, above = (middle, value) if better else (tried, at_tried)
        if better:
            middle, value = tried, at_tried
    left = (value - below) / (middle - low)
    right_slope = (above - value) / (high - middle)
    if not left <= slope <= right_slope:
        return math.inf
    more = max((slope - left) * (high - middle), (right_slope - slope) * (middle - low))
    return slope * middle - value + more


@inlined
def search_dual_step(loss: Any, a: float, z: float, y: float, kappa: float) -> float:
    """Δ from the root of (zeta - z) + κ (a + φ'(zeta)), by a bracketed Newton search."""
    zeta = z
    residual = kappa * (a + loss_derivative(loss, z, y))
    # The slope is at least 1, so the root is no farther from z than the residual.
    low, high = min(z, z - residual), max(z, z - residual)
    last_move = 2.0 * abs(residual)
    for _ in range(MAX_STEPS):
        if residual == 0.0:
            break
        if residual > 0.0:
            high = min(high, zeta)
        else:
            low = max(low, zeta)
        moved = zeta - residual / (1.0 + kappa * loss_second_derivative(loss, zeta, y))
        # Bisect when Newton leaves the bracket or no longer halves its steps.
        if not low <= moved <= high or abs(moved - zeta) > 0.5 * last_move:
            moved = low + 0.5 * (high - low)
        last_move = abs(moved - zeta)
        zeta = moved
        if last_move <= 1e-15 * abs(zeta):
            break
        residual = (zeta - z) + kappa * (a + loss_derivative(loss, zeta, y))
    moved = -loss_derivative(loss, zeta, y)
    # Here φ' magnifies the rounding error of zeta more than the division by κ does.
    if kappa * loss_second_derivative(loss, zeta, y) > 1.0:
        return (zeta - z) / kappa
    return change_of_dual(a, moved, z, zeta, kappa)
