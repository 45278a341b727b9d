"""The squared loss."""

from __future__ import annotations

from typing import NamedTuple

from .gaps import loss_value_and_gap
from .traits import loss


@loss(
    classification=False, smoothness=1.0, quadratic=True, strictly_convex=True, shift_invariant=True
)
class Squared(NamedTuple):
    """The squared loss, for regression; β = 1.

    φ = r²/2;  φ*(-a) = a²/2 - a y on the whole line.
    """

    def value(self, z: float, y: float) -> float:
        """r²/2."""
        return 0.5 * (z - y) * (z - y)

    def derivative(self, z: float, y: float) -> float:
        """Return r."""
        return z - y

    def second_derivative(self, z: float, y: float) -> float:
        """1."""
        return 1.0

    def conjugate(self, a: float, y: float) -> float:
        """a²/2 - a y."""
        return 0.5 * a * a - a * y

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """r²/2 and (r + a)²/2."""
        r = z - y
        return 0.5 * r * r, 0.5 * (r + a) * (r + a)

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap, and no doubt about it."""
        return loss_value_and_gap(self, z, a, y)[1], 0.0

    def quick_gap(self, z: float, a: float, y: float, first: float, second: float) -> float:
        """(r + a)²/2."""
        return 0.5 * (first + a) * (first + a)

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """-(r + a) / (1 + κ)."""
        return ((y - a) - z) * (1.0 / (1.0 + kappa))  # in this order, little has to wait for z

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return a - y and 1."""
        return a - y, 1.0

    def nearest_dual(self, a: float, y: float) -> float:
        """Return a: the domain is the whole line."""
        return a
