"""The losses φ(z; y): values, derivatives, conjugates, and the one-dimensional dual problem.

A loss is a named tuple of its parameters with scalar methods that use ``math`` only, so that the
same method runs in plain Python and inside compiled kernels. Throughout, z is the prediction, y
the label or target, a the dual variable of one example, and

- ``value``, ``derivative``, ``second_derivative`` are φ, φ' and φ'' (almost everywhere) at (z; y),
- ``conjugate`` is φ*(-a) = sup_z {-a z - φ(z; y)}, +inf outside its domain,
- ``dual_step`` is the change Δ that maximises -φ*(-(a + Δ)) - z Δ - (κ/2) Δ²,
- ``conjugate_slopes`` are both derivatives of φ*(-a) by a, inside its domain,
- ``nearest_dual`` is the point of the closed domain of φ*(-·) nearest to a,
- ``smoothness`` is β, a Lipschitz constant of φ'; infinite for a loss with corners, which also has
  ``corners``, the z where φ' jumps, and ``smoothed``, itself with its corners rounded,
- ``classification`` tells whether labels are -1 and +1.

Kernels call the free functions ``loss_value(loss, z, y)``, ``loss_derivative`` and so on. A loss
that has only the three functions of z, and β, is given the rest by numerical versions.

With m = y z the margin, b = y a and r = z - y the residual, every φ of the classification losses
is a function of m and every φ of the regression losses a function of r.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numba

from .._numba.compile import (
    for_kernels,
    inlined,
    inlined_in_loops,
)
from .._types import FloatArray
from .vector_math import exp_below_zero, log1p_of_part

# A dual variable is the sum of many steps, and may pass the edge of its domain by rounding.
EDGE_SLACK = 1e-14
# Steps allowed to a root search; the Newton searches below need about five, at worst thirty.
MAX_STEPS = 200
# Newton doubles the digits: after a step this small the next would be rounding noise.
SMALL_STEP = 1e-8
# A coordinate is visited again anyway: after a step this small in the margin a quick search ends.
QUICK_STEP = 0.25
# The gap φ(z) + φ*(-a) + a z is (a + φ')²/(2 φ'') to within 10 % while (a + φ')/φ'' is this small.
NEAR = 0.25
# The logistic gap is summed as a series in (b - q)/q and (b - q)/(1 - q) while both are this small:
# the first term left out is then 1e-10 of the sum.
SERIES = 1.0 / 32.0
# Where the search for φ'(zeta) = -a gives up and calls -a out of range.
FAR = 1e12
# How near φ' has to come to -a at that distance for -a to count as the limit of φ'.
LIMIT_TOLERANCE = 1e-9

# No smaller number is divided by.
TINIEST = 1e-300

_SQRT_2 = math.sqrt(2.0)
_SQRT_2_PI = math.sqrt(2.0 * math.pi)
_LOG_2 = math.log(2.0)


class Loss(Protocol):
    """What a loss must have; ``as_loss`` makes a usable loss of any object that does."""

    @property
    def smoothness(self) -> float:
        """β, a Lipschitz constant of φ'."""

    @property
    def classification(self) -> bool:
        """Whether labels are -1 and +1."""

    def value(self, z: float, y: float) -> float:
        """φ(z; y)."""

    def derivative(self, z: float, y: float) -> float:
        """φ'(z; y)."""

    def second_derivative(self, z: float, y: float) -> float:
        """φ''(z; y), almost everywhere."""


# --- scalar helpers -----------------------------------------------------------------------------


@inlined
def _clip(x: float, low: float, high: float) -> float:
    """Return the point of [low, high] nearest to x."""
    if x < low:
        return low
    if x > high:
        return high
    return x


@inlined
def _shrink(x: float, width: float) -> float:
    """sign(x) max(|x| - width, 0)."""
    if x > width:
        return x - width
    if x < -width:
        return x + width
    return 0.0


@inlined
def _outside(x: float, low: float, high: float, scale: float) -> bool:
    """Whether x is beyond [low, high] by more than rounding."""
    slack = EDGE_SLACK * scale
    return x < low - slack or x > high + slack


@inlined
def _times_sign(y: float, x: float) -> float:
    """sign(y) x."""
    return x if y > 0.0 else -x


@inlined
def _ratio(slope: float, curvature: float) -> float:
    """Where a parabola with that slope at 0 has its top: ±inf, or 0, if it is not curved."""
    if curvature > 0.0:
        return slope / curvature
    return math.copysign(math.inf, slope) if slope != 0.0 else 0.0


@inlined
def _x_log_x(x: float) -> float:
    """Return x ln x, with 0 at 0."""
    return x * math.log(x) if x > 0.0 else 0.0


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
    gap = apart * (high * _logarithmic(high) - low * _logarithmic(low))
    return gap, abs(apart) * smaller


@inlined_in_loops
def _logarithmic(x: float) -> float:
    """Σ_k x^(k-2)/(k(k-1)) for k from 2 to 8."""
    high = 1 / 20 + x * (1 / 30 + x * (1 / 42 + x / 56))
    return 1 / 2 + x * (1 / 6 + x * (1 / 12 + x * high))


@inlined
def _exp_square(x: float, factor: float) -> float:
    """exp(factor x²) for 0 <= x < 40, without the rounding error of x² in the exponent."""
    coarse = math.floor(16.0 * x) / 16.0
    rest = (x - coarse) * (x + coarse)
    return math.exp(factor * coarse * coarse) * math.exp(factor * rest)


@inlined
def _mills_excess(x: float) -> float:
    """N(x) / Φ(-x) - x for x >= 5, by the continued fraction 1/(x + 2/(x + 3/(x + …)))."""
    tail = x
    for k in range(30, 1, -1):
        tail = x + k / tail
    return 1.0 / tail


@inlined
def _erfcx(x: float) -> float:
    """Return the scaled complementary error function exp(x²) erfc(x), for x >= 0."""
    scaled = _SQRT_2 * x
    if scaled < 5.0:
        return _exp_square(x, 1.0) * math.erfc(x)
    return 2.0 / (_SQRT_2_PI * (scaled + _mills_excess(scaled)))


@inlined
def _minus_log_normal_cdf(m: float) -> float:
    """-ln Φ(m)."""
    if m > -1.0:
        return -math.log1p(-0.5 * math.erfc(m / _SQRT_2))
    return 0.5 * m * m - math.log(0.5 * _erfcx(-m / _SQRT_2))


@inlined
def _hazard(m: float) -> float:
    """h(m) = N(m) / Φ(m), which is -d/dm of -ln Φ(m)."""
    if m < -5.0:
        return -m + _mills_excess(-m)
    if m < 0.0:
        return 2.0 / (_SQRT_2_PI * _erfcx(-m / _SQRT_2))
    if m >= 39.0:
        return 0.0
    return _exp_square(m, -0.5) / (_SQRT_2_PI * (1.0 - 0.5 * math.erfc(m / _SQRT_2)))


@inlined
def _inverse_hazard(b: float) -> float:
    """Return t with h(t) = b, for b > 0, by a Newton iteration that stays on one side."""
    if b * _SQRT_2_PI >= 2.0:
        # t <= 0. h is convex and decreasing and h(-b) > b: the iterates increase.
        t = -b
        for _ in range(MAX_STEPS):
            h = _hazard(t)
            excess = _mills_excess(-t) if t < -5.0 else h + t
            step = (h - b) / (h * excess)
            t += step
            if step <= SMALL_STEP:
                break
        return t
    # t > 0. ln h is concave and decreasing, and h <= 2 N puts the start on the right: the
    # iterates decrease. The logarithm keeps the number of steps small for a tiny b.
    log_b = math.log(b)
    t = math.sqrt(2.0 * (math.log(2.0 / _SQRT_2_PI) - log_b))
    for _ in range(MAX_STEPS):
        survival = 1.0 - 0.5 * math.erfc(t / _SQRT_2)
        log_h = -0.5 * t * t - math.log(_SQRT_2_PI * survival)
        step = (log_h - log_b) / (_hazard(t) + t)
        t += step
        if step >= -SMALL_STEP:
            break
    return t


# --- the one-dimensional dual problem -----------------------------------------------------------
#
# With zeta = z + κ Δ, the maximiser satisfies a + Δ = -φ'(zeta), so that zeta is the root of the
# increasing function (zeta - z) + κ (a + φ'(zeta)), whose slope is at least 1.


@inlined
def _hinge_change(
    b: float, m: float, curvature: float, kappa: float, low: float, high: float
) -> float:
    """Change of b in [low, high] when φ*(-a) = curvature b²/2 - b."""
    return _clip(_ratio(1.0 - m - curvature * b, curvature + kappa), low - b, high - b)


@inlined
def _insensitive_change(
    a: float, r: float, epsilon: float, curvature: float, kappa: float, bound: float
) -> float:
    """Change of a in [-bound, bound] when φ*(-a) = curvature a²/2 + epsilon |a| - a y."""
    upper = _ratio(-r - curvature * a - epsilon, curvature + kappa)
    if a + upper > 0.0:
        return _clip(upper, -bound - a, bound - a)
    lower = _ratio(-r - curvature * a + epsilon, curvature + kappa)
    if a + lower < 0.0:
        return _clip(lower, -bound - a, bound - a)
    return -a


@inlined
def _newton_root(
    loss: Any, a: float, z: float, y: float, kappa: float, low: float, high: float
) -> float:
    """Find the root zeta in [low, high], by Newton from z.

    Where the function is concave with `low` finite, or convex with `high` finite, every Newton
    point lies on one side of the root, and the iterates after the first are monotone.
    """
    zeta = _clip(z, low, high)
    previous = 0.0
    for k in range(MAX_STEPS):
        residual = (zeta - z) + kappa * (a + loss_derivative(loss, zeta, y))
        slope = 1.0 + kappa * loss_second_derivative(loss, zeta, y)
        moved = _clip(zeta - residual / slope, low, high)
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
def _sigmoidal_root(
    loss: Any, a: float, z: float, y: float, kappa: float, least: float, most: float
) -> float:
    """Find the root when φ' rises from `least` to `most`, convex before 0, concave after it."""
    if kappa * (a + 0.5 * (least + most)) < z:
        return _newton_root(loss, a, z, y, kappa, max(0.0, z - kappa * (a + most)), math.inf)
    return _newton_root(loss, a, z, y, kappa, -math.inf, min(0.0, z - kappa * (a + least)))


@inlined
def _change(a: float, moved: float, z: float, zeta: float, kappa: float) -> float:
    """Δ from both a + Δ = moved and z + κ Δ = zeta, by the one that cancels less."""
    if moved == 0.0:
        return -a
    if kappa * max(abs(a), abs(moved)) > abs(z) + abs(zeta):
        return (zeta - z) / kappa
    return moved - a


# --- the losses ---------------------------------------------------------------------------------


class Squared(NamedTuple):
    """The squared loss, for regression; β = 1.

    φ = r²/2;  φ*(-a) = a²/2 - a y on the whole line.
    """

    classification = False  # type: ignore[misc]
    quadratic = True  # type: ignore[misc]
    shift_invariant = True  # type: ignore[misc]
    smoothness = 1.0  # type: ignore[misc]

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


class Logistic(NamedTuple):
    """The logistic loss, for classification; β = 1/4.

    φ = log(1 + exp(-m));  φ*(-a) = b ln b + (1-b) ln(1-b) for b in [0, 1].
    """

    classification = True  # type: ignore[misc]
    smoothness = 0.25  # type: ignore[misc]

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

    def conjugate(self, a: float, y: float) -> float:
        """Σ p ln p over p = b and p = 1-b."""
        b = y * a
        if _outside(b, 0.0, 1.0, 1.0):
            return math.inf
        b = _clip(b, 0.0, 1.0)
        if b == 1.0:
            return 0.0
        return _x_log_x(b) + (1.0 - b) * math.log1p(-b)

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
        margin = _sigmoidal_root(self, b, m, 1.0, kappa, -1.0, 0.0)
        moved = -loss_derivative(self, margin, 1.0)
        return y * _clip(_change(b, moved, m, margin, kappa), -b, 1.0 - b)

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
        mu = _clip(m, low, high)
        slope, curvature = y * first, second
        if mu != m:
            slope, curvature = loss_slopes(self, mu, 1.0)
        moved = b
        for _ in range(MAX_STEPS):
            residual = (mu - m) + kappa * (b + slope)
            step = _clip(mu - residual / (1.0 + kappa * curvature), low, high) - mu
            moved = -(slope + curvature * step)
            if abs(step) <= QUICK_STEP:
                break
            mu += step
            slope, curvature = loss_slopes(self, mu, 1.0)
        return y * (_clip(moved, 0.0, 1.0) - b)

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
            return _times_sign(y, -math.inf if b < 0.5 else math.inf), math.inf
        return y * math.log(b / (1.0 - b)), 1.0 / (b * (1.0 - b))

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip b to [0, 1]."""
        return y * _clip(y * a, 0.0, 1.0)


class SquaredHinge(NamedTuple):
    """Half the squared hinge, for classification; β = 1.

    φ = max(0, 1-m)²/2;  φ*(-a) = b²/2 - b for b >= 0.
    """

    classification = True  # type: ignore[misc]
    smoothness = 1.0  # type: ignore[misc]

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
        if _outside(b, 0.0, math.inf, 1.0):
            return math.inf
        b = max(0.0, b)
        return 0.5 * b * b - b

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and (b - max(0, 1-m))²/2 + b max(0, m-1)."""
        b, over = y * a, y * z - 1.0
        short = max(0.0, -over)
        value = 0.5 * short * short
        if _outside(b, 0.0, math.inf, 1.0):
            return value, math.inf
        b = max(0.0, b)
        gap = 0.5 * (b - short) * (b - short)
        return value, gap if over <= 0.0 else gap + b * over  # so that a NaN is not hidden

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


class SmoothedHinge(NamedTuple):
    """The hinge with a quadratic corner of width γ, for classification; β = 1/γ.

    φ = 0 for m >= 1, (1-m)²/(2γ) for 1-γ < m < 1, and 1 - m - γ/2 for m <= 1-γ;
    φ*(-a) = γ b²/2 - b for b in [0, 1]. A label ±t asks for the margin t in place of 1, so that
    φ*(-a) = γ b²/2 - t b.

    Parameters
    ----------
    smoothing
        γ > 0; the hinge is the limit γ → 0.
    """

    smoothing: float = 1.0

    classification = True  # type: ignore[misc]

    @property
    def smoothness(self) -> float:
        """1/γ."""
        return 1.0 / self.smoothing

    def value(self, z: float, y: float) -> float:
        """Zero, quadratic, then linear as the margin falls."""
        short = max(0.0, abs(y) - _times_sign(y, z))
        if short < self.smoothing:
            return 0.5 * short * short / self.smoothing
        return short - 0.5 * self.smoothing

    def derivative(self, z: float, y: float) -> float:
        """-y clip((1-m)/γ, 0, 1)."""
        short = abs(y) - _times_sign(y, z)
        return -_times_sign(y, _clip(short / self.smoothing, 0.0, 1.0))

    def second_derivative(self, z: float, y: float) -> float:
        """1/γ for 1-γ < m < 1, else 0."""
        short = abs(y) - _times_sign(y, z)
        return 1.0 / self.smoothing if 0.0 < short < self.smoothing else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """γ b²/2 - b."""
        b = _times_sign(y, a)
        if _outside(b, 0.0, 1.0, 1.0):
            return math.inf
        b = _clip(b, 0.0, 1.0)
        return 0.5 * self.smoothing * b * b - abs(y) * b

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find b + Δ = clip(b + (1 - m - γ b) / (γ + κ), 0, 1)."""
        b, m = _times_sign(y, a), _times_sign(y, z) - (abs(y) - 1.0)
        return _times_sign(y, _hinge_change(b, m, self.smoothing, kappa, 0.0, 1.0))

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return y (γ b - 1) and γ."""
        return self.smoothing * a - y, self.smoothing

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip b to [0, 1]."""
        return _times_sign(y, _clip(_times_sign(y, a), 0.0, 1.0))


class Hinge(NamedTuple):
    """The hinge of the support vector machine, for classification; not smooth, β = ∞.

    φ = max(0, 1-m);  φ*(-a) = -b for b in [0, 1].
    """

    classification = True  # type: ignore[misc]
    smoothness = math.inf  # type: ignore[misc]

    def smoothed(self, smoothing: float) -> SmoothedHinge:
        """The loss with γ b²/2 added to its conjugate; smaller by at most γ/2."""
        return SmoothedHinge(smoothing)  # type: ignore[call-arg]

    def corners(self, y: FloatArray) -> list[FloatArray]:
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
        if _outside(b, 0.0, 1.0, 1.0):
            return math.inf
        return -_clip(b, 0.0, 1.0)

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find b + Δ = clip(b + (1 - m) / κ, 0, 1)."""
        return y * _hinge_change(y * a, y * z, 0.0, kappa, 0.0, 1.0)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return -y and 0."""
        return -y, 0.0

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip b to [0, 1]."""
        return y * _clip(y * a, 0.0, 1.0)


class Huber(NamedTuple):
    """The Huber loss, for regression with outliers; β = 1.

    φ = r²/2 for |r| <= δ, else δ|r| - δ²/2;  φ*(-a) = a²/2 - a y for |a| <= δ.

    Parameters
    ----------
    delta
        δ > 0, the residual beyond which the loss is linear.
    """

    delta: float = 1.0

    classification = False  # type: ignore[misc]
    shift_invariant = True  # type: ignore[misc]
    smoothness = 1.0  # type: ignore[misc]

    def value(self, z: float, y: float) -> float:
        """Quadratic within δ, linear beyond."""
        size = abs(z - y)
        if size <= self.delta:
            return 0.5 * size * size
        return self.delta * (size - 0.5 * self.delta)

    def derivative(self, z: float, y: float) -> float:
        """clip(r, -δ, δ)."""
        return _clip(z - y, -self.delta, self.delta)

    def second_derivative(self, z: float, y: float) -> float:
        """1 for |r| < δ, else 0."""
        return 1.0 if abs(z - y) < self.delta else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """a²/2 - a y."""
        if _outside(a, -self.delta, self.delta, self.delta):
            return math.inf
        a = _clip(a, -self.delta, self.delta)
        return 0.5 * a * a - a * y

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find a + Δ = clip(a - (r + a) / (1 + κ), -δ, δ)."""
        return _clip((y - z - a) / (1.0 + kappa), -self.delta - a, self.delta - a)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return a - y and 1."""
        return a - y, 1.0

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip a to [-δ, δ]."""
        return _clip(a, -self.delta, self.delta)


class SquaredEpsilonInsensitive(NamedTuple):
    """Half the squared ε-insensitive loss, for regression; β = 1.

    φ = max(0, |r|-ε)²/2;  φ*(-a) = a²/2 + ε|a| - a y on the whole line.

    Parameters
    ----------
    epsilon
        ε >= 0, the residual that costs nothing.
    """

    epsilon: float = 0.1

    classification = False  # type: ignore[misc]
    shift_invariant = True  # type: ignore[misc]
    smoothness = 1.0  # type: ignore[misc]

    def value(self, z: float, y: float) -> float:
        """max(0, |r|-ε)²/2."""
        excess = max(0.0, abs(z - y) - self.epsilon)
        return 0.5 * excess * excess

    def derivative(self, z: float, y: float) -> float:
        """sign(r) max(0, |r|-ε)."""
        return _shrink(z - y, self.epsilon)

    def second_derivative(self, z: float, y: float) -> float:
        """1 for |r| > ε, else 0."""
        return 1.0 if abs(z - y) > self.epsilon else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """a²/2 + ε|a| - a y."""
        return 0.5 * a * a + self.epsilon * abs(a) - a * y

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find a + Δ = S(κ a - r) / (1 + κ), where S shrinks by ε."""
        return _insensitive_change(a, z - y, self.epsilon, 1.0, kappa, math.inf)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return a + ε sign(a) - y and 1."""
        return a + _times_sign(a, self.epsilon) - y, 1.0

    def nearest_dual(self, a: float, y: float) -> float:
        """Return a: the domain is the whole line."""
        return a


class SmoothedEpsilonInsensitive(NamedTuple):
    """The ε-insensitive loss with quadratic corners of width γ, for regression; β = 1/γ.

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

    classification = False  # type: ignore[misc]
    shift_invariant = True  # type: ignore[misc]

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
        return _clip(_shrink(z - y, self.epsilon) / self.smoothing, -1.0, 1.0)

    def second_derivative(self, z: float, y: float) -> float:
        """1/γ for ε < |r| < ε + γ, else 0."""
        excess = abs(z - y) - self.epsilon
        return 1.0 / self.smoothing if 0.0 < excess < self.smoothing else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """γ a²/2 + ε|a| - a y."""
        if _outside(a, -1.0, 1.0, 1.0):
            return math.inf
        a = _clip(a, -1.0, 1.0)
        return 0.5 * self.smoothing * a * a + self.epsilon * abs(a) - a * y

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find a + Δ = clip(S(κ a - r) / (γ + κ), -1, 1), where S shrinks by ε."""
        return _insensitive_change(a, z - y, self.epsilon, self.smoothing, kappa, 1.0)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return γ a + ε sign(a) - y and γ."""
        return self.smoothing * a + _times_sign(a, self.epsilon) - y, self.smoothing

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip a to [-1, 1]."""
        return _clip(a, -1.0, 1.0)


class EpsilonInsensitive(NamedTuple):
    """The ε-insensitive loss, for regression; not smooth, β = ∞. ε = 0 is the absolute loss.

    φ = max(0, |r|-ε);  φ*(-a) = ε|a| - a y for |a| <= 1.

    Parameters
    ----------
    epsilon
        ε >= 0, the residual that costs nothing.
    """

    epsilon: float = 0.0

    classification = False  # type: ignore[misc]
    shift_invariant = True  # type: ignore[misc]
    smoothness = math.inf  # type: ignore[misc]

    def smoothed(self, smoothing: float) -> SmoothedEpsilonInsensitive:
        """The loss with γ a²/2 added to its conjugate; smaller by at most γ/2."""
        return SmoothedEpsilonInsensitive(self.epsilon, smoothing)  # type: ignore[call-arg]

    def corners(self, y: FloatArray) -> list[FloatArray]:
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
        if _outside(a, -1.0, 1.0, 1.0):
            return math.inf
        a = _clip(a, -1.0, 1.0)
        return self.epsilon * abs(a) - a * y

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find a + Δ = clip(S(κ a - r) / κ, -1, 1), where S shrinks by ε."""
        return _insensitive_change(a, z - y, self.epsilon, 0.0, kappa, 1.0)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return ε sign(a) - y and 0."""
        return _times_sign(a, self.epsilon) - y, 0.0

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip a to [-1, 1]."""
        return _clip(a, -1.0, 1.0)


class LogCosh(NamedTuple):
    """The logarithm of the hyperbolic cosine, a smooth Huber loss for regression; β = 1.

    φ = log cosh r;  φ*(-a) = ((1+a) ln(1+a) + (1-a) ln(1-a))/2 - a y for |a| <= 1.
    """

    classification = False  # type: ignore[misc]
    shift_invariant = True  # type: ignore[misc]
    smoothness = 1.0  # type: ignore[misc]

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
        if _outside(a, -1.0, 1.0, 1.0):
            return math.inf
        a = _clip(a, -1.0, 1.0)
        if abs(a) < 0.5:
            # The same entropy, without the cancellation of its two halves.
            return a * math.atanh(a) + 0.5 * math.log1p(-a * a) - a * y
        return 0.5 * (_x_log_x(1.0 + a) + _x_log_x(1.0 - a)) - a * y

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Newton for the residual: rho - r + κ (a + tanh rho) = 0 gives a + Δ = -tanh rho."""
        r = z - y
        residual = _sigmoidal_root(self, a, r, 0.0, kappa, -1.0, 1.0)
        moved = -math.tanh(residual)
        return _clip(_change(a, moved, r, residual, kappa), -1.0 - a, 1.0 - a)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return artanh a - y and 1/(1-a²): infinite at the ends."""
        if not abs(a) < 1.0:
            return _times_sign(a, math.inf), math.inf
        return math.atanh(a) - y, 1.0 / ((1.0 - a) * (1.0 + a))

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip a to [-1, 1]."""
        return _clip(a, -1.0, 1.0)


class ModifiedHuber(NamedTuple):
    """The modified Huber loss, a squared hinge made linear, for classification; β = 2.

    φ = max(0, 1-m)² for m >= -1, else -4m;  φ*(-a) = b²/4 - b for b in [0, 4].
    """

    classification = True  # type: ignore[misc]
    smoothness = 2.0  # type: ignore[misc]

    def value(self, z: float, y: float) -> float:
        """Zero, quadratic, then linear as the margin falls."""
        m = y * z
        if m < -1.0:
            return -4.0 * m
        short = max(0.0, 1.0 - m)
        return short * short

    def derivative(self, z: float, y: float) -> float:
        """-y clip(2(1-m), 0, 4)."""
        return -y * _clip(2.0 * (1.0 - y * z), 0.0, 4.0)

    def second_derivative(self, z: float, y: float) -> float:
        """2 for |m| < 1, else 0."""
        return 2.0 if abs(y * z) < 1.0 else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """b²/4 - b."""
        b = y * a
        if _outside(b, 0.0, 4.0, 4.0):
            return math.inf
        b = _clip(b, 0.0, 4.0)
        return 0.25 * b * b - b

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find b + Δ = clip(b + (1 - m - b/2) / (1/2 + κ), 0, 4)."""
        return y * _hinge_change(y * a, y * z, 0.5, kappa, 0.0, 4.0)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return y (b/2 - 1) and 1/2."""
        return 0.5 * a - y, 0.5

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip b to [0, 4]."""
        return y * _clip(y * a, 0.0, 4.0)


class Probit(NamedTuple):
    """The probit loss, for classification; β = 1.

    φ = -ln Φ(m), with Φ the normal distribution function, N its density and h = N/Φ;
    φ*(-a) = -b t + ln Φ(t) at h(t) = b, for b >= 0 (0 at b = 0).
    """

    classification = True  # type: ignore[misc]
    smoothness = 1.0  # type: ignore[misc]

    def value(self, z: float, y: float) -> float:
        """-ln Φ(m)."""
        return _minus_log_normal_cdf(y * z)

    def derivative(self, z: float, y: float) -> float:
        """-y h(m)."""
        return -y * _hazard(y * z)

    def second_derivative(self, z: float, y: float) -> float:
        """h(m) (h(m) + m)."""
        m = y * z
        if m < -5.0:
            excess = _mills_excess(-m)
            return (excess - m) * excess
        h = _hazard(m)
        return h * (h + m)

    def conjugate(self, a: float, y: float) -> float:
        """-b t + ln Φ(t) at h(t) = b."""
        b = y * a
        if _outside(b, 0.0, math.inf, 1.0):
            return math.inf
        if b <= 0.0:
            return 0.0
        t = _inverse_hazard(b)
        return -b * t - _minus_log_normal_cdf(t)

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Newton for the margin: mu - m + κ (b - h(mu)) = 0 gives b + Δ = h(mu)."""
        b, m = y * a, y * z
        margin = _newton_root(self, b, m, 1.0, kappa, m - kappa * b, math.inf)
        return y * max(_change(b, _hazard(margin), m, margin, kappa), -b)

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip b to [0, ∞)."""
        return y * max(0.0, y * a)


LOSSES: dict[str, type] = {
    "squared": Squared,
    "logistic": Logistic,
    "squared_hinge": SquaredHinge,
    "smoothed_hinge": SmoothedHinge,
    "hinge": Hinge,
    "huber": Huber,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "smoothed_epsilon_insensitive": SmoothedEpsilonInsensitive,
    "epsilon_insensitive": EpsilonInsensitive,
    "log_cosh": LogCosh,
    "modified_huber": ModifiedHuber,
    "probit": Probit,
}


# --- what a loss without conjugate or dual step gets ----------------------------------------------


@inlined
def generic_conjugate(self: Any, a: float, y: float) -> float:
    """φ*(-a) = -a zeta - φ(zeta) at φ'(zeta) = -a, by a bracketed Newton search.

    When φ' does not reach -a within ``FAR`` of y, -a is outside the domain, unless φ' comes so
    near that -a is taken for its limit.
    """
    target = -a
    far = FAR * (1.0 + abs(y))
    low, high = y - 1.0, y + 1.0
    slope_low, slope_high = loss_derivative(self, low, y), loss_derivative(self, high, y)
    width = 1.0
    while slope_low > target and width < far:
        width *= 2.0
        high, slope_high = low, slope_low
        low = y - width
        slope_low = loss_derivative(self, low, y)
    while slope_high < target and width < far:
        width *= 2.0
        low, slope_low = high, slope_high
        high = y + width
        slope_high = loss_derivative(self, high, y)
    if slope_low >= target:
        zeta, slope = low, slope_low
    elif slope_high <= target:
        zeta, slope = high, slope_high
    else:
        zeta = 0.5 * (low + high)
        slope = target
        last_move = high - low
        for _ in range(MAX_STEPS):
            excess = loss_derivative(self, zeta, y) - target
            if excess == 0.0:
                break
            if excess > 0.0:
                high = zeta
            else:
                low = zeta
            curvature = loss_second_derivative(self, zeta, y)
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
    return slope * zeta - loss_value(self, zeta, y)


@inlined
def generic_dual_step(self: Any, a: float, z: float, y: float, kappa: float) -> float:
    """Δ from the root of (zeta - z) + κ (a + φ'(zeta)), by a bracketed Newton search."""
    zeta = z
    residual = kappa * (a + loss_derivative(self, z, y))
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
        moved = zeta - residual / (1.0 + kappa * loss_second_derivative(self, zeta, y))
        # Bisect when Newton leaves the bracket or no longer halves its steps.
        if not low <= moved <= high or abs(moved - zeta) > 0.5 * last_move:
            moved = low + 0.5 * (high - low)
        last_move = abs(moved - zeta)
        zeta = moved
        if last_move <= 1e-15 * abs(zeta):
            break
        residual = (zeta - z) + kappa * (a + loss_derivative(self, zeta, y))
    moved = -loss_derivative(self, zeta, y)
    # Here φ' magnifies the rounding error of zeta more than the division by κ does.
    if kappa * loss_second_derivative(self, zeta, y) > 1.0:
        return (zeta - z) / kappa
    return _change(a, moved, z, zeta, kappa)


@inlined
def generic_slopes(self: Any, z: float, y: float) -> tuple[float, float]:
    """φ' and φ'', one after the other."""
    return loss_derivative(self, z, y), loss_second_derivative(self, z, y)


@inlined
def generic_quick_step(
    self: Any, a: float, z: float, y: float, kappa: float, first: float, second: float
) -> float:
    """The exact step, for losses that have nothing quicker."""
    return loss_dual_step(self, a, z, y, kappa)


@inlined
def generic_conjugate_slopes(self: Any, a: float, y: float) -> tuple[float, float]:
    """NaN: they would have to be searched for."""
    return math.nan, math.nan


@inlined
def generic_nearest_dual(self: Any, a: float, y: float) -> float:
    """Return a: nothing is known about the domain."""
    return a


# --- the same operations as free functions, for kernels -------------------------------------------


def loss_value(loss: Any, z: float, y: float) -> float:
    """φ(z; y)."""
    return loss.value(z, y)


def loss_derivative(loss: Any, z: float, y: float) -> float:
    """φ'(z; y)."""
    return loss.derivative(z, y)


def loss_second_derivative(loss: Any, z: float, y: float) -> float:
    """φ''(z; y)."""
    return loss.second_derivative(z, y)


def loss_conjugate(loss: Any, a: float, y: float) -> float:
    """φ*(-a), from the loss or, if it has none, by a numerical search."""
    return _method(type(loss), "conjugate", generic_conjugate)(loss, a, y)


def loss_dual_step(loss: Any, a: float, z: float, y: float, kappa: float) -> float:
    """Return the change Δ of a that maximises -φ*(-(a + Δ)) - z Δ - (κ/2) Δ²."""
    return _method(type(loss), "dual_step", generic_dual_step)(loss, a, z, y, kappa)


def loss_slopes(loss: Any, z: float, y: float) -> tuple[float, float]:
    """φ'(z; y) and φ''(z; y)."""
    return _method(type(loss), "slopes", generic_slopes)(loss, z, y)


def loss_loop_slopes(loss: Any, z: float, y: float) -> tuple[float, float]:
    """The same, for loops over many examples: in vector registers where the loss can do that."""
    return _method(type(loss), "loop_slopes", loss_slopes)(loss, z, y)


def loss_loop_value(loss: Any, z: float, y: float) -> float:
    """φ(z; y), for such loops."""
    return float(loss.value(z, y))


def loss_loop_derivative(loss: Any, z: float, y: float) -> float:
    """φ'(z; y), for such loops."""
    return float(loss.derivative(z, y))


def loss_loop_gap(loss: Any, z: float, a: float, y: float) -> tuple[float, float]:
    """``loss_fenchel_gap`` for such loops; not known unless a second number is below ``SERIES``."""
    return _choose_loop_gap(type(loss))(loss, z, a, y)


def has_loop_gap(loss: Any) -> bool:
    """Whether it is ever known."""
    return _choose_loop_gap(type(loss)) is not _unknown_gap


def _choose_loop_gap(owner: type) -> Callable[..., Any]:
    plain = _certain_gap if hasattr(owner, "value_and_gap") else _unknown_gap
    return _method(owner, "loop_gap", plain)


@inlined_in_loops
def _certain_gap(self: Any, z: float, a: float, y: float) -> tuple[float, float]:
    return loss_value_and_gap(self, z, a, y)[1], 0.0


@inlined
def _unknown_gap(self: Any, z: float, a: float, y: float) -> tuple[float, float]:
    return 0.0, math.inf


def loss_quick_step(
    loss: Any, a: float, z: float, y: float, kappa: float, first: float, second: float
) -> float:
    """About the change of ``loss_dual_step``, where φ' and φ'' at z are known."""
    quick = _method(type(loss), "quick_step", generic_quick_step)
    return quick(loss, a, z, y, kappa, first, second)


def loss_conjugate_slopes(loss: Any, a: float, y: float) -> tuple[float, float]:
    """Both derivatives of φ*(-a) by a; NaN if the loss does not know them."""
    return _method(type(loss), "conjugate_slopes", generic_conjugate_slopes)(loss, a, y)


def loss_nearest_dual(loss: Any, a: float, y: float) -> float:
    """Return the point of the closed domain of φ*(-·) nearest to a; a if the loss has none."""
    return _method(type(loss), "nearest_dual", generic_nearest_dual)(loss, a, y)


def _method(owner: type, name: str, fallback: Callable[..., Any]) -> Callable[..., Any]:
    return getattr(owner, name, fallback)


_NamedTupleType: Any = numba.types.BaseNamedTuple


@for_kernels(loss_value)
def _compiled_value(self: Any, z: Any, y: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return self.instance_class.value


@for_kernels(loss_derivative)
def _compiled_derivative(self: Any, z: Any, y: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return self.instance_class.derivative


@for_kernels(loss_second_derivative)
def _compiled_second_derivative(self: Any, z: Any, y: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return self.instance_class.second_derivative


@for_kernels(loss_conjugate)
def _compiled_conjugate(self: Any, a: Any, y: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return _method(self.instance_class, "conjugate", generic_conjugate)


@for_kernels(loss_dual_step)
def _compiled_dual_step(self: Any, a: Any, z: Any, y: Any, kappa: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return _method(self.instance_class, "dual_step", generic_dual_step)


@for_kernels(loss_slopes)
def _compiled_slopes(self: Any, z: Any, y: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return _method(self.instance_class, "slopes", generic_slopes)


@for_kernels(loss_loop_slopes)
def _compiled_loop_slopes(self: Any, z: Any, y: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        slopes = _method(self.instance_class, "slopes", generic_slopes)
        return _method(self.instance_class, "loop_slopes", slopes)


@for_kernels(loss_loop_value)
def _compiled_loop_value(self: Any, z: Any, y: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return _method(self.instance_class, "loop_value", self.instance_class.value)


@for_kernels(loss_loop_gap)
def _compiled_loop_gap(self: Any, z: Any, a: Any, y: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return _choose_loop_gap(self.instance_class)


@for_kernels(has_loop_gap)
def _compiled_has_loop_gap(loss: Any) -> Any:
    if isinstance(loss, _NamedTupleType):
        known = _choose_loop_gap(loss.instance_class) is not _unknown_gap
        return lambda loss: known


@for_kernels(loss_loop_derivative)
def _compiled_loop_derivative(self: Any, z: Any, y: Any) -> Any:
    if not isinstance(self, _NamedTupleType):
        return None
    if not hasattr(self.instance_class, "loop_slopes"):
        return self.instance_class.derivative

    def first(self, z, y):  # type: ignore[no-untyped-def]
        return loss_loop_slopes(self, z, y)[0]

    return first


@for_kernels(loss_quick_step)
def _compiled_quick_step(
    self: Any, a: Any, z: Any, y: Any, kappa: Any, first: Any, second: Any
) -> Any:
    if isinstance(self, _NamedTupleType):
        return _method(self.instance_class, "quick_step", generic_quick_step)


@for_kernels(loss_conjugate_slopes)
def _compiled_conjugate_slopes(self: Any, a: Any, y: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return _method(self.instance_class, "conjugate_slopes", generic_conjugate_slopes)


@for_kernels(loss_nearest_dual)
def _compiled_nearest_dual(self: Any, a: Any, y: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return _method(self.instance_class, "nearest_dual", generic_nearest_dual)


@inlined
def _value_and_gap(self: Any, z: float, a: float, y: float) -> tuple[float, float]:
    value = loss_value(self, z, y)
    return value, value + loss_conjugate(self, a, y) + a * z


@inlined
def _value_and_gap_of_residual(self: Any, z: float, a: float, y: float) -> tuple[float, float]:
    """Compute both at target 0, without the terms a y and a z that cancel for a large y."""
    value = loss_value(self, z - y, 0.0)
    return value, value + loss_conjugate(self, a, 0.0) + a * (z - y)


def _choose_gap(owner: type) -> Callable[..., Any]:
    invariant = getattr(owner, "shift_invariant", False)
    generic = _value_and_gap_of_residual if invariant else _value_and_gap
    return _method(owner, "value_and_gap", generic)


def loss_value_and_gap(loss: Any, z: float, a: float, y: float) -> tuple[float, float]:
    """φ(z; y), and ``loss_fenchel_gap``."""
    return _choose_gap(type(loss))(loss, z, a, y)


@for_kernels(loss_value_and_gap)
def _compiled_value_and_gap(self: Any, z: Any, a: Any, y: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return _choose_gap(self.instance_class)


@inlined
def loss_fenchel_gap(loss: Any, z: float, a: float, y: float) -> float:
    """φ(z; y) + φ*(-a) + a z, which is zero exactly when a = -φ'(z; y) and else positive."""
    return loss_value_and_gap(loss, z, a, y)[1]


@inlined
def generic_quick_gap(
    self: Any, z: float, a: float, y: float, first: float, second: float
) -> float:
    """The gap itself, or that of a quadratic where a is near -φ'(z; y)."""
    apart = a + first
    if abs(apart) <= NEAR * second:
        return 0.5 * apart * apart / second if apart != 0.0 else 0.0
    return max(0.0, loss_fenchel_gap(self, z, a, y))


def loss_quick_gap(loss: Any, z: float, a: float, y: float, first: float, second: float) -> float:
    """About φ(z; y) + φ*(-a) + a z, where φ' and φ'' at z are known."""
    quick = _method(type(loss), "quick_gap", generic_quick_gap)
    return float(quick(loss, z, a, y, first, second))


@for_kernels(loss_quick_gap)
def _compiled_quick_gap(self: Any, z: Any, a: Any, y: Any, first: Any, second: Any) -> Any:
    if isinstance(self, _NamedTupleType):
        return _method(self.instance_class, "quick_gap", generic_quick_gap)
