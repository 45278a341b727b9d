"""The logistic loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._numba.compile import inlined_in_loops
from .gaps import SERIES
from .numerical import loss_conjugate
from .one_dimensional import (
    MAX_STEPS,
    change_of_dual,
    clip,
    divergence_series,
    outside,
    sigmoidal_root,
    times_sign,
    x_log_x,
)
from .operations import loss_derivative, loss_loop_slopes, loss_slopes, loss_value
from .traits import loss
from .vector_math import exp_below_zero, log1p_of_part

# A coordinate is visited again anyway: after a step this small in the margin a quick search ends.
QUICK_STEP = 0.25
# No smaller number is divided by.
TINIEST = 1e-300


@inlined_in_loops
def _logistic_slopes(m: float, y: float, e: float) -> tuple[float, float]:
    """-y σ(-m) and σ(m) σ(-m), where e = exp(-|m|)."""
    inverse = 1.0 / (1.0 + e)
    return -y * (e if m > 0.0 else 1.0) * inverse, e * inverse * inverse


@inlined_in_loops
def _near_divergence(b: float, m: float, e: float) -> tuple[float, float]:
    """The divergence of b from q = σ(-m) by its series, e = exp(-|m|), and whether b is too far.

    It is if the second number is not below ``SERIES``.
    """
    # That of b from q is that of 1-b from 1-q: let q be the smaller one of the two, e/(1+e).
    larger = 1.0 + e  # 1/(1-q)
    smaller = larger / max(e, TINIEST)  # 1/q
    apart = (b if m > 0.0 else 1.0 - b) - e / larger
    low, high = -apart * smaller, apart * larger
    gap = apart * (high * divergence_series(high) - low * divergence_series(low))
    return gap, abs(apart) * smaller


@loss(classification=True, smoothness=0.25, strictly_convex=True)
class Logistic(NamedTuple):
    """The logistic loss, for classification; β = 1/4.

    φ = log(1 + exp(-m));  φ*(-a) = b ln b + (1-b) ln(1-b) for b in [0, 1].
    """

    def value(self, z: float, y: float) -> float:
        """log(1 + exp(-m)), computed without overflow."""
        m = y * z
        return max(0.0, -m) + math.log1p(math.exp(-abs(m)))

    def derivative(self, z: float, y: float) -> float:
        """-y σ(-m), where σ is the sigmoid."""
        m = y * z
        e = math.exp(-abs(m))
        return -y * (e if m > 0.0 else 1.0) / (1.0 + e)

    def second_derivative(self, z: float, y: float) -> float:
        """σ(m) σ(-m)."""
        e = math.exp(-abs(z))
        return e / ((1.0 + e) * (1.0 + e))

    def slopes(self, z: float, y: float) -> tuple[float, float]:
        """Both derivatives by one exponential."""
        return _logistic_slopes(y * z, y, math.exp(-abs(z)))

    def loop_slopes(self, z: float, y: float) -> tuple[float, float]:
        """The same by an exponential of which a loop evaluates several at a time."""
        return _logistic_slopes(y * z, y, exp_below_zero(-abs(z)))

    def loop_derivative(self, z: float, y: float) -> float:
        """φ' by the same exponential."""
        return loss_loop_slopes(self, z, y)[0]

    def conjugate(self, a: float, y: float) -> float:
        """Σ p ln p over p = b and p = 1-b."""
        b = y * a
        if outside(b, 0.0, 1.0, 1.0):
            return math.inf
        b = clip(b, 0.0, 1.0)
        if b == 1.0:
            return 0.0
        return x_log_x(b) + (1.0 - b) * math.log1p(-b)

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and the divergence b ln(b/q) + (1-b) ln((1-b)/(1-q)) of b from q = σ(-m).

        With δ = b - q that is Σ_k δ^k/(k(k-1)) [1/(1-q)^(k-1) + (-1)^k/q^(k-1)], k = 2, 3, …: near
        the optimum a few terms are enough, which are faster than logarithms and do not cancel.
        """
        value = loss_value(self, z, y)
        gap, doubt = _near_divergence(y * a, y * z, math.exp(-abs(z)))
        return value, gap if doubt < SERIES else value + loss_conjugate(self, a, y) + a * z

    def loop_value(self, z: float, y: float) -> float:
        """φ by functions of which a loop evaluates several at a time."""
        return max(0.0, -y * z) + log1p_of_part(exp_below_zero(-abs(z)))

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap by the same functions, where the series is short enough."""
        return _near_divergence(y * a, y * z, exp_below_zero(-abs(z)))

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Newton for the margin: mu - m + κ (b - σ(-mu)) = 0 gives b + Δ = σ(-mu)."""
        b, m = y * a, y * z
        margin = sigmoidal_root(self, b, m, 1.0, kappa, -1.0, 0.0)
        moved = -loss_derivative(self, margin, 1.0)
        return y * clip(change_of_dual(b, moved, m, margin, kappa), -b, 1.0 - b)

    def quick_step(
        self, a: float, z: float, y: float, kappa: float, first: float, second: float
    ) -> float:
        """The same up to 1 % or so: the last Newton step's model of σ serves for σ itself."""
        # The first step, which is mostly short: b moves to a mean of itself and σ(-m).
        change = (-y * first - y * a) / (1.0 + kappa * second)
        if kappa * abs(change) <= QUICK_STEP:
            return y * change
        b, m = y * a, y * z
        low, high = -math.inf, math.inf
        if kappa * (b - 0.5) < m:
            low = max(0.0, m - kappa * b)
        else:
            high = min(0.0, m + kappa * (1.0 - b))
        mu = clip(m, low, high)
        slope, curvature = y * first, second
        if mu != m:
            slope, curvature = loss_slopes(self, mu, 1.0)
        moved = b
        for _ in range(MAX_STEPS):
            residual = (mu - m) + kappa * (b + slope)
            step = clip(mu - residual / (1.0 + kappa * curvature), low, high) - mu
            moved = -(slope + curvature * step)
            if abs(step) <= QUICK_STEP:
                break
            mu += step
            slope, curvature = loss_slopes(self, mu, 1.0)
        return y * (clip(moved, 0.0, 1.0) - b)

    def quick_gap(self, z: float, a: float, y: float, first: float, second: float) -> float:
        """About the integral of (b-t)/(t(1-t)) over t from q = σ(-m) to b, which the gap is.

        Its value (b-q)²/(2t(1-t)) at the centroid t is right to a few percent where b and q are
        near each other, up to a quarter too small where one is near an end, and too small by more
        where they are at opposite ends.
        """
        b, q = y * a, -y * first
        t = (b + 2.0 * q) / 3.0
        curvature = 2.0 * t * (1.0 - t)
        return (b - q) * (b - q) / curvature if curvature > 0.0 else 0.0

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return y ln(b/(1-b)) and 1/(b(1-b)): infinite at the ends."""
        b = y * a
        if not 0.0 < b < 1.0:
            return times_sign(y, -math.inf if b < 0.5 else math.inf), math.inf
        return y * math.log(b / (1.0 - b)), 1.0 / (b * (1.0 - b))

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip b to [0, 1]."""
        return y * clip(y * a, 0.0, 1.0)
