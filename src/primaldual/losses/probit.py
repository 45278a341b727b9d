"""The probit loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._numba.compile import inlined
from .one_dimensional import MAX_STEPS, SMALL_STEP, change_of_dual, newton_root, outside
from .traits import loss

_SQRT_2 = math.sqrt(2.0)
_SQRT_2_PI = math.sqrt(2.0 * math.pi)


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
def scaled_erfc(x: float) -> float:
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
    return 0.5 * m * m - math.log(0.5 * scaled_erfc(-m / _SQRT_2))


@inlined
def hazard(m: float) -> float:
    """h(m) = N(m) / Φ(m), which is -d/dm of -ln Φ(m)."""
    if m < -5.0:
        return -m + _mills_excess(-m)
    if m < 0.0:
        return 2.0 / (_SQRT_2_PI * scaled_erfc(-m / _SQRT_2))
    if m >= 39.0:
        return 0.0
    return _exp_square(m, -0.5) / (_SQRT_2_PI * (1.0 - 0.5 * math.erfc(m / _SQRT_2)))


@inlined
def inverse_hazard(b: float) -> float:
    """Return t with h(t) = b, for b > 0, by a Newton iteration that stays on one side."""
    if b * _SQRT_2_PI >= 2.0:
        # t <= 0. h is convex and decreasing and h(-b) > b: the iterates increase.
        t = -b
        for _ in range(MAX_STEPS):
            h = hazard(t)
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
        step = (log_h - log_b) / (hazard(t) + t)
        t += step
        if step >= -SMALL_STEP:
            break
    return t


@loss(classification=True, smoothness=1.0, strictly_convex=True)
class Probit(NamedTuple):
    """The probit loss, for classification; β = 1.

    φ = -ln Φ(m), with Φ the normal distribution function, N its density and h = N/Φ;
    φ*(-a) = -b t + ln Φ(t) at h(t) = b, for b >= 0 (0 at b = 0).
    """

    def value(self, z: float, y: float) -> float:
        """-ln Φ(m)."""
        return _minus_log_normal_cdf(y * z)

    def derivative(self, z: float, y: float) -> float:
        """-y h(m)."""
        return -y * hazard(y * z)

    def second_derivative(self, z: float, y: float) -> float:
        """h(m) (h(m) + m)."""
        m = y * z
        if m < -5.0:
            excess = _mills_excess(-m)
            return (excess - m) * excess
        h = hazard(m)
        return h * (h + m)

    def conjugate(self, a: float, y: float) -> float:
        """-b t + ln Φ(t) at h(t) = b."""
        b = y * a
        if outside(b, 0.0, math.inf, 1.0):
            return math.inf
        if b <= 0.0:
            return 0.0
        t = inverse_hazard(b)
        return -b * t - _minus_log_normal_cdf(t)

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Newton for the margin: mu - m + κ (b - h(mu)) = 0 gives b + Δ = h(mu)."""
        b, m = y * a, y * z
        margin = newton_root(self, b, m, 1.0, kappa, m - kappa * b, math.inf)
        return y * max(change_of_dual(b, hazard(margin), m, margin, kappa), -b)

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip b to [0, ∞)."""
        return y * max(0.0, y * a)
