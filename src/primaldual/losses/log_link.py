"""Losses of a positive mean m = exp(z): Poisson for counts, gamma for positive amounts.

Both are half of the deviance, are at least 0, and have derivatives without a bound: their φ'' grows
like exp(z) to one side. They are smooth, but no β serves everywhere. Both gaps of Fenchel and Young
are the divergence p ln(p/q) - p + q of two positive numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._numba.compile import inlined, inlined_in_loops
from .._types import FloatArray
from .gaps import SERIES
from .numerical import loss_conjugate, loss_dual_step
from .one_dimensional import change_of_dual, divergence_series, newton_root, outside, x_log_x
from .operations import loss_loop_slopes, loss_value
from .traits import loss
from .vector_math import exp_below_zero

# exp overflows beyond this.
LARGEST = 709.0
# No smaller number is divided by.
TINIEST = 1e-300
# A step this short in the margin is made by a model: the next visit corrects what it lacks.
QUICK_STEP = 0.25


@inlined
def exponential(z: float) -> float:
    """exp(z), infinite where it overflows."""
    return math.exp(z) if z <= LARGEST else math.inf


@inlined_in_loops
def loop_exponential(z: float) -> float:
    """The same by an exponential of which a loop evaluates several at a time."""
    e = exp_below_zero(-abs(z))
    return e if z <= 0.0 else 1.0 / max(e, TINIEST)


@inlined
def divergence(p: float, q: float) -> float:
    """p ln(p/q) - p + q for p ≥ 0 and q ≥ 0: 0 where they are equal, infinite at q = 0 < p."""
    if p == 0.0:
        return q
    if q == 0.0 or not q < math.inf:
        return math.inf
    apart = (p - q) / q
    if abs(apart) < SERIES:
        return q * apart * apart * divergence_series(-apart)
    return p * math.log(p / q) - p + q


@inlined_in_loops
def near_divergence(p: float, q: float) -> tuple[float, float]:
    """The same by its series, and whether p is too far: if the second number is not < SERIES."""
    apart = (p - q) / max(q, TINIEST)
    return q * apart * apart * divergence_series(-apart), abs(apart)


@inlined
def log_root(x: float) -> float:
    """No less than the root v of v + exp(v) = x, and near it."""
    return math.log(x) if x > 1.0 else x


@inlined
def near_move(residual: float, h: float) -> float:
    """About the root t of t + h (exp(t) - 1) = -residual; infinite if that is not near 0."""
    t = -residual / (1.0 + h)
    if not abs(t) <= QUICK_STEP:
        return math.inf
    return t - h * t * t * (0.5 + t / 6.0) / (1.0 + h * (1.0 + t))


@loss(smooth=True, smoothness=math.inf, strictly_convex=True, targets="nonnegative")
class Poisson(NamedTuple):
    """Half of the Poisson deviance for the mean exp(z), for counts y ≥ 0; no β serves everywhere.

    φ = exp(z) - y z + y ln y - y;  φ*(-a) = q ln q - q - y ln y + y for q = y - a ≥ 0.
    """

    def value(self, z: float, y: float) -> float:
        """The divergence y ln(y/m) - y + m of y from the mean m = exp(z)."""
        m = exponential(z)
        if y == 0.0:
            return m
        if 0.0 < m < math.inf:
            return divergence(y, m)
        return m if m > 0.0 else y * (math.log(y) - z) - y

    def derivative(self, z: float, y: float) -> float:
        """exp(z) - y."""
        return exponential(z) - y

    def second_derivative(self, z: float, y: float) -> float:
        """exp(z)."""
        return exponential(z)

    def slopes(self, z: float, y: float) -> tuple[float, float]:
        """Both derivatives by one exponential."""
        m = exponential(z)
        return m - y, m

    def loop_slopes(self, z: float, y: float) -> tuple[float, float]:
        """The same by an exponential of which a loop evaluates several at a time."""
        m = loop_exponential(z)
        return m - y, m

    def loop_derivative(self, z: float, y: float) -> float:
        """φ' by the same exponential."""
        return loss_loop_slopes(self, z, y)[0]

    def conjugate(self, a: float, y: float) -> float:
        """q ln q - q - (y ln y - y), where q = y - a."""
        if outside(y - a, 0.0, math.inf, 1.0 + y):
            return math.inf
        q = max(y - a, 0.0)
        return (x_log_x(q) - x_log_x(y)) + (y - q)

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and the divergence of q = y - a from m = exp(z)."""
        value = loss_value(self, z, y)
        if outside(y - a, 0.0, math.inf, 1.0 + y):
            return value, math.inf
        q, m = max(y - a, 0.0), exponential(z)
        if 0.0 < m < math.inf:
            return value, divergence(q, m)
        return value, value + loss_conjugate(self, a, y) + a * z

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap by functions of which a loop evaluates several at a time, if q is near m."""
        return near_divergence(y - a, loop_exponential(z))

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Newton for v + exp(v) = s + ln κ, where v = ζ + ln κ, from above; s = z - κ (a - y)."""
        if kappa == 0.0:
            return (y - exponential(z)) - a
        start = log_root(z - kappa * (a - y) + math.log(kappa)) - math.log(kappa)
        zeta = newton_root(self, a, z, y, kappa, -math.inf, start)
        change = change_of_dual(a, y - exponential(zeta), z, zeta, kappa)
        return min(change, y - a)

    def quick_step(
        self, a: float, z: float, y: float, kappa: float, first: float, second: float
    ) -> float:
        """The same up to 1 %: by the model of third order at z, where the step is short."""
        move = near_move(kappa * (a + first), kappa * second)
        if kappa > 0.0 and abs(move) < math.inf:
            return min(move / kappa, y - a)
        return loss_dual_step(self, a, z, y, kappa)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return -ln q and 1/q: infinite at the end."""
        q = y - a
        return (-math.log(q), 1.0 / q) if q > 0.0 else (math.inf, math.inf)

    def nearest_dual(self, a: float, y: float) -> float:
        """Return a, or y if it is smaller."""
        return min(a, y)

    def local_smoothness(self, z: float, a: float, y: float) -> float:
        """The larger of φ'' at z and where φ' = -a: a Lipschitz constant of φ' in between."""
        return max(exponential(z), y - a)

    def absorbed(
        self, y: FloatArray, c: FloatArray, offset: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The targets and weights whose loss at z is that of y and c at z + offset."""
        scale = np.exp(offset)
        return y / scale, c * scale


@loss(smooth=True, smoothness=math.inf, strictly_convex=True, targets="positive")
class Gamma(NamedTuple):
    """Half of the gamma deviance for the mean exp(z), for amounts y > 0; no β serves everywhere.

    φ = z + y exp(-z) - ln y - 1;  φ*(-a) = p ln p - a (1 + ln y) for p = 1 + a ≥ 0.
    """

    def value(self, z: float, y: float) -> float:
        """The divergence of 1 from q = y exp(-z)."""
        r = z - math.log(y)
        q = exponential(-r)
        if 0.5 < q < 2.0:
            return divergence(1.0, q)
        return r - 1.0 + q

    def derivative(self, z: float, y: float) -> float:
        """1 - y exp(-z)."""
        return 1.0 - y * exponential(-z)

    def second_derivative(self, z: float, y: float) -> float:
        """y exp(-z)."""
        return y * exponential(-z)

    def slopes(self, z: float, y: float) -> tuple[float, float]:
        """Both derivatives by one exponential."""
        q = y * exponential(-z)
        return 1.0 - q, q

    def loop_slopes(self, z: float, y: float) -> tuple[float, float]:
        """The same by an exponential of which a loop evaluates several at a time."""
        q = y * loop_exponential(-z)
        return 1.0 - q, q

    def loop_derivative(self, z: float, y: float) -> float:
        """φ' by the same exponential."""
        return loss_loop_slopes(self, z, y)[0]

    def conjugate(self, a: float, y: float) -> float:
        """p ln p - a (1 + ln y), where p = 1 + a."""
        if outside(a, -1.0, math.inf, 1.0):
            return math.inf
        a = max(a, -1.0)
        return x_log_x(1.0 + a) - a * (1.0 + math.log(y))

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and the divergence of p = 1 + a from q = y exp(-z)."""
        value = loss_value(self, z, y)
        if outside(a, -1.0, math.inf, 1.0):
            return value, math.inf
        p, q = max(1.0 + a, 0.0), y * exponential(-z)
        if 0.0 < q < math.inf:
            return value, divergence(p, q)
        return value, value + loss_conjugate(self, a, y) + a * z

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap by functions of which a loop evaluates several at a time, if p is near q."""
        return near_divergence(1.0 + a, y * loop_exponential(-z))

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Newton for v + exp(v) = ln(κ y) - s, v = ln(κ y) - ζ, from above; s = z - κ (a+1)."""
        if kappa == 0.0:
            return (y * exponential(-z) - 1.0) - a
        shift = math.log(kappa) + math.log(y)
        start = shift - log_root(shift - (z - kappa * (a + 1.0)))
        zeta = newton_root(self, a, z, y, kappa, start, math.inf)
        change = change_of_dual(a, y * exponential(-zeta) - 1.0, z, zeta, kappa)
        return max(change, -1.0 - a)

    def quick_step(
        self, a: float, z: float, y: float, kappa: float, first: float, second: float
    ) -> float:
        """The same up to 1 %: by the model of third order at z, where the step is short."""
        move = -near_move(-kappa * (a + first), kappa * second)
        if kappa > 0.0 and abs(move) < math.inf:
            return max(move / kappa, -1.0 - a)
        return loss_dual_step(self, a, z, y, kappa)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return ln(p/y) and 1/p: infinite at the end."""
        p = 1.0 + a
        return (math.log(p) - math.log(y), 1.0 / p) if p > 0.0 else (-math.inf, math.inf)

    def nearest_dual(self, a: float, y: float) -> float:
        """Return a, or -1 if it is larger."""
        return max(a, -1.0)

    def local_smoothness(self, z: float, a: float, y: float) -> float:
        """The larger of φ'' at z and where φ' = -a: a Lipschitz constant of φ' in between."""
        return max(y * exponential(-z), 1.0 + a)

    def absorbed(
        self, y: FloatArray, c: FloatArray, offset: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The targets and weights whose loss at z is that of y and c at z + offset."""
        return y / np.exp(offset), c
