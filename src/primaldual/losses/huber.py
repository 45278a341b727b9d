"""Huber's loss and its smooth relative, for regression with outliers."""

from __future__ import annotations

import math
from typing import NamedTuple

from .gaps import loss_value_and_gap
from .one_dimensional import (
    change_of_dual,
    clip,
    insensitive_gap,
    outside,
    sigmoidal_root,
    times_sign,
    x_log_x,
)
from .operations import loss_value
from .traits import loss

_LOG_2 = math.log(2.0)


@loss(classification=False, smoothness=1.0, shift_invariant=True)
class Huber(NamedTuple):
    """The Huber loss, for regression with outliers; β = 1.

    φ = r²/2 for |r| <= δ, else δ|r| - δ²/2;  φ*(-a) = a²/2 - a y for |a| <= δ.

    Parameters
    ----------
    delta
        δ > 0, the residual beyond which the loss is linear.
    """

    delta: float = 1.0

    def value(self, z: float, y: float) -> float:
        """Quadratic within δ, linear beyond."""
        size = abs(z - y)
        if size <= self.delta:
            return 0.5 * size * size
        return self.delta * (size - 0.5 * self.delta)

    def derivative(self, z: float, y: float) -> float:
        """clip(r, -δ, δ)."""
        return clip(z - y, -self.delta, self.delta)

    def second_derivative(self, z: float, y: float) -> float:
        """1 for |r| < δ, else 0."""
        return 1.0 if abs(z - y) < self.delta else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """a²/2 - a y."""
        if outside(a, -self.delta, self.delta, self.delta):
            return math.inf
        a = clip(a, -self.delta, self.delta)
        return 0.5 * a * a - a * y

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and δ² times the gap of a loss with δ = 1, in units in which it is that."""
        gap = insensitive_gap((z - y) / self.delta, a / self.delta, 0.0, 1.0)
        return loss_value(self, z, y), self.delta * self.delta * gap

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap, and no doubt about it."""
        return loss_value_and_gap(self, z, a, y)[1], 0.0

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find a + Δ = clip(a - (r + a) / (1 + κ), -δ, δ)."""
        return clip((y - z - a) / (1.0 + kappa), -self.delta - a, self.delta - a)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return a - y and 1."""
        return a - y, 1.0

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip a to [-δ, δ]."""
        return clip(a, -self.delta, self.delta)


@loss(classification=False, smoothness=1.0, strictly_convex=True, shift_invariant=True)
class LogCosh(NamedTuple):
    """The logarithm of the hyperbolic cosine, a smooth Huber loss for regression; β = 1.

    φ = log cosh r;  φ*(-a) = ((1+a) ln(1+a) + (1-a) ln(1-a))/2 - a y for |a| <= 1.
    """

    def value(self, z: float, y: float) -> float:
        """Log cosh r."""
        size = abs(z - y)
        if size < 1.0:
            # cosh r = 1 + 2 sinh²(r/2) keeps the digits of a small loss.
            half = math.sinh(0.5 * size)
            return math.log1p(2.0 * half * half)
        return size + math.log1p(math.exp(-2.0 * size)) - _LOG_2

    def derivative(self, z: float, y: float) -> float:
        """Tanh r."""
        return math.tanh(z - y)

    def second_derivative(self, z: float, y: float) -> float:
        """1 - tanh² r."""
        e = math.exp(-2.0 * abs(z - y))
        return 4.0 * e / ((1.0 + e) * (1.0 + e))

    def conjugate(self, a: float, y: float) -> float:
        """((1+a) ln(1+a) + (1-a) ln(1-a))/2 - a y."""
        if outside(a, -1.0, 1.0, 1.0):
            return math.inf
        a = clip(a, -1.0, 1.0)
        if abs(a) < 0.5:
            # The same entropy, without the cancellation of its two halves.
            return a * math.atanh(a) + 0.5 * math.log1p(-a * a) - a * y
        return 0.5 * (x_log_x(1.0 + a) + x_log_x(1.0 - a)) - a * y

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Newton for the residual: rho - r + κ (a + tanh rho) = 0 gives a + Δ = -tanh rho."""
        r = z - y
        residual = sigmoidal_root(self, a, r, 0.0, kappa, -1.0, 1.0)
        moved = -math.tanh(residual)
        return clip(change_of_dual(a, moved, r, residual, kappa), -1.0 - a, 1.0 - a)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return artanh a - y and 1/(1-a²): infinite at the ends."""
        if not abs(a) < 1.0:
            return times_sign(a, math.inf), math.inf
        return math.atanh(a) - y, 1.0 / ((1.0 - a) * (1.0 + a))

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip a to [-1, 1]."""
        return clip(a, -1.0, 1.0)
