"""The hinge and its smooth relatives, for classification."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._types import FloatArray
from .gaps import loss_value_and_gap
from .one_dimensional import clip, hinge_change, outside, rounded_gap, times_sign
from .operations import loss_value
from .traits import loss


@loss(classification=True, smoothness=1.0)
class SquaredHinge(NamedTuple):
    """Half the squared hinge, for classification; β = 1.

    φ = max(0, 1-m)²/2;  φ*(-a) = b²/2 - b for b >= 0.
    """

    def value(self, z: float, y: float) -> float:
        """max(0, 1-m)²/2."""
        short = max(0.0, 1.0 - y * z)
        return 0.5 * short * short

    def derivative(self, z: float, y: float) -> float:
        """-y max(0, 1-m)."""
        return -y * max(0.0, 1.0 - y * z)

    def second_derivative(self, z: float, y: float) -> float:
        """1 for m < 1, else 0."""
        return 1.0 if y * z < 1.0 else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """b²/2 - b."""
        b = y * a
        if outside(b, 0.0, math.inf, 1.0):
            return math.inf
        b = max(0.0, b)
        return 0.5 * b * b - b

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and (b - max(0, 1-m))²/2 + b max(0, m-1)."""
        b, over = y * a, y * z - 1.0
        short = max(0.0, -over)
        value = 0.5 * short * short
        if outside(b, 0.0, math.inf, 1.0):
            return value, math.inf
        b = max(0.0, b)
        gap = 0.5 * (b - short) * (b - short)
        return value, gap if over <= 0.0 else gap + b * over  # so that a NaN is not hidden

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap, and no doubt about it."""
        return loss_value_and_gap(self, z, a, y)[1], 0.0

    def quick_gap(self, z: float, a: float, y: float, first: float, second: float) -> float:
        """(b - max(0, 1-m))²/2 + b max(0, m-1), for b ≥ 0."""
        b, over = y * a, y * z - 1.0
        return 0.5 * (b + y * first) * (b + y * first) + b * max(0.0, over)

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find b + Δ = max(0, b + (1 - m - b) / (1 + κ))."""
        b = y * a
        return y * max(-b, ((1.0 - b) - y * z) * (1.0 / (1.0 + kappa)))  # as for ``Squared``

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return y (b - 1) and 1."""
        return a - y, 1.0

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip b to [0, ∞)."""
        return y * max(0.0, y * a)


@loss(classification=True)
class SmoothedHinge(NamedTuple):
    """The hinge, its kink rounded over a width γ, for classification; β = 1/γ.

    φ = 0 for m >= 1, (1-m)²/(2γ) for 1-γ < m < 1, and 1 - m - γ/2 for m <= 1-γ;
    φ*(-a) = γ b²/2 - b for b in [0, 1]. A label ±t asks for the margin t in place of 1, so that
    φ*(-a) = γ b²/2 - t b.

    Parameters
    ----------
    smoothing
        γ > 0; the hinge is the limit γ → 0.
    """

    smoothing: float = 1.0

    @property
    def smoothness(self) -> float:
        """1/γ."""
        return 1.0 / self.smoothing

    def value(self, z: float, y: float) -> float:
        """Zero, quadratic, then linear as the margin falls."""
        short = max(0.0, abs(y) - times_sign(y, z))
        if short < self.smoothing:
            return 0.5 * short * short / self.smoothing
        return short - 0.5 * self.smoothing

    def derivative(self, z: float, y: float) -> float:
        """-y clip((1-m)/γ, 0, 1)."""
        short = abs(y) - times_sign(y, z)
        return -times_sign(y, clip(short / self.smoothing, 0.0, 1.0))

    def second_derivative(self, z: float, y: float) -> float:
        """1/γ for 1-γ < m < 1, else 0."""
        short = abs(y) - times_sign(y, z)
        return 1.0 / self.smoothing if 0.0 < short < self.smoothing else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """γ b²/2 - b."""
        b = times_sign(y, a)
        if outside(b, 0.0, 1.0, 1.0):
            return math.inf
        b = clip(b, 0.0, 1.0)
        return 0.5 * self.smoothing * b * b - abs(y) * b

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and the gap without terms that cancel."""
        short = abs(y) - times_sign(y, z)
        return loss_value(self, z, y), rounded_gap(short, times_sign(y, a), self.smoothing)

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap, and no doubt about it."""
        return loss_value_and_gap(self, z, a, y)[1], 0.0

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find b + Δ = clip(b + (1 - m - γ b) / (γ + κ), 0, 1)."""
        b, m = times_sign(y, a), times_sign(y, z) - (abs(y) - 1.0)
        return times_sign(y, hinge_change(b, m, self.smoothing, kappa, 0.0, 1.0))

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return y (γ b - 1) and γ."""
        return self.smoothing * a - y, self.smoothing

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip b to [0, 1]."""
        return times_sign(y, clip(times_sign(y, a), 0.0, 1.0))


@loss(classification=True, smoothness=math.inf)
class Hinge(NamedTuple):
    """The hinge of the support vector machine, for classification; not smooth, β = ∞.

    φ = max(0, 1-m);  φ*(-a) = -b for b in [0, 1].
    """

    def smoothed(self, smoothing: float) -> SmoothedHinge:
        """The loss with γ b²/2 added to its conjugate; smaller by at most γ/2."""
        return SmoothedHinge(smoothing)

    def kinks(self, y: FloatArray) -> list[FloatArray]:
        """The z at which φ' jumps up by 1, for each label."""
        return [y]

    def value(self, z: float, y: float) -> float:
        """max(0, 1-m)."""
        return max(0.0, 1.0 - y * z)

    def derivative(self, z: float, y: float) -> float:
        """-y for m < 1, else 0: a subgradient where m = 1."""
        return -y if y * z < 1.0 else 0.0

    def second_derivative(self, z: float, y: float) -> float:
        """0."""
        return 0.0

    def conjugate(self, a: float, y: float) -> float:
        """-b."""
        b = y * a
        if outside(b, 0.0, 1.0, 1.0):
            return math.inf
        return -clip(b, 0.0, 1.0)

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and (1-b) (1-m) for m < 1, else b (m-1)."""
        short = 1.0 - y * z
        return max(0.0, short), rounded_gap(short, y * a, 0.0)

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap, and no doubt about it."""
        return loss_value_and_gap(self, z, a, y)[1], 0.0

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find b + Δ = clip(b + (1 - m) / κ, 0, 1)."""
        return y * hinge_change(y * a, y * z, 0.0, kappa, 0.0, 1.0)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return -y and 0."""
        return -y, 0.0

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip b to [0, 1]."""
        return y * clip(y * a, 0.0, 1.0)


@loss(classification=True, smoothness=2.0)
class ModifiedHuber(NamedTuple):
    """The modified Huber loss, a squared hinge made linear, for classification; β = 2.

    φ = max(0, 1-m)² for m >= -1, else -4m;  φ*(-a) = b²/4 - b for b in [0, 4].
    """

    def value(self, z: float, y: float) -> float:
        """Zero, quadratic, then linear as the margin falls."""
        m = y * z
        if m < -1.0:
            return -4.0 * m
        short = max(0.0, 1.0 - m)
        return short * short

    def derivative(self, z: float, y: float) -> float:
        """-y clip(2(1-m), 0, 4)."""
        return -y * clip(2.0 * (1.0 - y * z), 0.0, 4.0)

    def second_derivative(self, z: float, y: float) -> float:
        """2 for |m| < 1, else 0."""
        return 2.0 if abs(y * z) < 1.0 else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """b²/4 - b."""
        b = y * a
        if outside(b, 0.0, 4.0, 4.0):
            return math.inf
        b = clip(b, 0.0, 4.0)
        return 0.25 * b * b - b

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and four times the gap of the hinge that is rounded over a width of 2."""
        return loss_value(self, z, y), 4.0 * rounded_gap(1.0 - y * z, 0.25 * y * a, 2.0)

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap, and no doubt about it."""
        return loss_value_and_gap(self, z, a, y)[1], 0.0

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find b + Δ = clip(b + (1 - m - b/2) / (1/2 + κ), 0, 4)."""
        return y * hinge_change(y * a, y * z, 0.5, kappa, 0.0, 4.0)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return y (b/2 - 1) and 1/2."""
        return 0.5 * a - y, 0.5

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip b to [0, 4]."""
        return y * clip(y * a, 0.0, 4.0)
