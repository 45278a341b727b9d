"""The ε-insensitive loss and its smooth relatives, for regression."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._types import FloatArray
from .gaps import loss_value_and_gap
from .one_dimensional import clip, insensitive_change, insensitive_gap, outside, shrink, times_sign
from .operations import loss_value
from .traits import loss


@loss(classification=False, smoothness=1.0, shift_invariant=True)
class SquaredEpsilonInsensitive(NamedTuple):
    """Half the squared ε-insensitive loss, for regression; β = 1.

    φ = max(0, |r|-ε)²/2;  φ*(-a) = a²/2 + ε|a| - a y on the whole line.

    Parameters
    ----------
    epsilon
        ε >= 0, the residual that costs nothing.
    """

    epsilon: float = 0.1

    def value(self, z: float, y: float) -> float:
        """max(0, |r|-ε)²/2."""
        excess = max(0.0, abs(z - y) - self.epsilon)
        return 0.5 * excess * excess

    def derivative(self, z: float, y: float) -> float:
        """sign(r) max(0, |r|-ε)."""
        return shrink(z - y, self.epsilon)

    def second_derivative(self, z: float, y: float) -> float:
        """1 for |r| > ε, else 0."""
        return 1.0 if abs(z - y) > self.epsilon else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """a²/2 + ε|a| - a y."""
        return 0.5 * a * a + self.epsilon * abs(a) - a * y

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and the gap without terms that cancel."""
        size, p = abs(z - y), -a if z > y else a
        against = abs(a) - p  # 0 if a has the sign that goes with r, else 2|a|
        if size <= self.epsilon:
            return 0.0, 0.5 * a * a + abs(a) * (self.epsilon - size) + size * against
        excess = size - self.epsilon
        value = 0.5 * excess * excess
        return value, 0.5 * (excess - p) * (excess - p) + self.epsilon * against

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap, and no doubt about it."""
        return loss_value_and_gap(self, z, a, y)[1], 0.0

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find a + Δ = S(κ a - r) / (1 + κ), where S shrinks by ε."""
        return insensitive_change(a, z - y, self.epsilon, 1.0, kappa, math.inf)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return a + ε sign(a) - y and 1."""
        return a + times_sign(a, self.epsilon) - y, 1.0

    def nearest_dual(self, a: float, y: float) -> float:
        """Return a: the domain is the whole line."""
        return a


@loss(classification=False, shift_invariant=True)
class SmoothedEpsilonInsensitive(NamedTuple):
    """The ε-insensitive loss, its kinks rounded over a width γ, for regression; β = 1/γ.

    With t = max(0, |r|-ε): φ = t²/(2γ) for t <= γ, else t - γ/2;
    φ*(-a) = γ a²/2 + ε|a| - a y for |a| <= 1.

    Parameters
    ----------
    epsilon
        ε >= 0, the residual that costs nothing.
    smoothing
        γ > 0; the ε-insensitive loss is the limit γ → 0.
    """

    epsilon: float = 0.1
    smoothing: float = 1.0

    @property
    def smoothness(self) -> float:
        """1/γ."""
        return 1.0 / self.smoothing

    def value(self, z: float, y: float) -> float:
        """Zero, quadratic, then linear as |r| grows."""
        excess = max(0.0, abs(z - y) - self.epsilon)
        if excess <= self.smoothing:
            return 0.5 * excess * excess / self.smoothing
        return excess - 0.5 * self.smoothing

    def derivative(self, z: float, y: float) -> float:
        """clip(sign(r) max(0, |r|-ε) / γ, -1, 1)."""
        return clip(shrink(z - y, self.epsilon) / self.smoothing, -1.0, 1.0)

    def second_derivative(self, z: float, y: float) -> float:
        """1/γ for ε < |r| < ε + γ, else 0."""
        excess = abs(z - y) - self.epsilon
        return 1.0 / self.smoothing if 0.0 < excess < self.smoothing else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """γ a²/2 + ε|a| - a y."""
        if outside(a, -1.0, 1.0, 1.0):
            return math.inf
        a = clip(a, -1.0, 1.0)
        return 0.5 * self.smoothing * a * a + self.epsilon * abs(a) - a * y

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and the gap without terms that cancel."""
        return loss_value(self, z, y), insensitive_gap(z - y, a, self.epsilon, self.smoothing)

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap, and no doubt about it."""
        return loss_value_and_gap(self, z, a, y)[1], 0.0

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find a + Δ = clip(S(κ a - r) / (γ + κ), -1, 1), where S shrinks by ε."""
        return insensitive_change(a, z - y, self.epsilon, self.smoothing, kappa, 1.0)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return γ a + ε sign(a) - y and γ."""
        return self.smoothing * a + times_sign(a, self.epsilon) - y, self.smoothing

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip a to [-1, 1]."""
        return clip(a, -1.0, 1.0)


@loss(classification=False, smoothness=math.inf, shift_invariant=True)
class EpsilonInsensitive(NamedTuple):
    """The ε-insensitive loss, for regression; not smooth, β = ∞. ε = 0 is the absolute loss.

    φ = max(0, |r|-ε);  φ*(-a) = ε|a| - a y for |a| <= 1.

    Parameters
    ----------
    epsilon
        ε >= 0, the residual that costs nothing.
    """

    epsilon: float = 0.0

    def smoothed(self, smoothing: float) -> SmoothedEpsilonInsensitive:
        """The loss with γ a²/2 added to its conjugate; smaller by at most γ/2."""
        return SmoothedEpsilonInsensitive(self.epsilon, smoothing)

    def kinks(self, y: FloatArray) -> list[FloatArray]:
        """The z at which φ' jumps up by 1, for each target."""
        return [y - self.epsilon, y + self.epsilon]

    def value(self, z: float, y: float) -> float:
        """max(0, |r|-ε)."""
        return max(0.0, abs(z - y) - self.epsilon)

    def derivative(self, z: float, y: float) -> float:
        """sign(r) for |r| > ε, else 0: a subgradient where |r| = ε."""
        r = z - y
        if r > self.epsilon:
            return 1.0
        return -1.0 if r < -self.epsilon else 0.0

    def second_derivative(self, z: float, y: float) -> float:
        """0."""
        return 0.0

    def conjugate(self, a: float, y: float) -> float:
        """ε|a| - a y."""
        if outside(a, -1.0, 1.0, 1.0):
            return math.inf
        a = clip(a, -1.0, 1.0)
        return self.epsilon * abs(a) - a * y

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and the gap without terms that cancel."""
        return loss_value(self, z, y), insensitive_gap(z - y, a, self.epsilon, 0.0)

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap, and no doubt about it."""
        return loss_value_and_gap(self, z, a, y)[1], 0.0

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find a + Δ = clip(S(κ a - r) / κ, -1, 1), where S shrinks by ε."""
        return insensitive_change(a, z - y, self.epsilon, 0.0, kappa, 1.0)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return ε sign(a) - y and 0."""
        return times_sign(a, self.epsilon) - y, 0.0

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip a to [-1, 1]."""
        return clip(a, -1.0, 1.0)
