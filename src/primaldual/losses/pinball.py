"""The pinball loss, whose minimiser is a quantile, and its smooth twin."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._numba.compile import inlined
from .._types import FloatArray
from .gaps import loss_value_and_gap
from .one_dimensional import clip, outside, ratio
from .operations import loss_value
from .traits import loss


@inlined
def _gap(r: float, a: float, quantile: float, width: float) -> float:
    """The gap of the pinball loss rounded over a width; no terms that cancel."""
    above, below = 1.0 - quantile, quantile
    if outside(a, -above, below, 1.0):
        return math.inf
    a = clip(a, -above, below)
    if r >= above * width:
        return (above + a) * (r - 0.5 * width * (above - a))
    if r <= -below * width:
        return (below - a) * (-r - 0.5 * width * (below + a))
    return 0.5 * (r + width * a) * (r + width * a) / width


@loss(classification=False, shift_invariant=True)
class SmoothedPinball(NamedTuple):
    """The pinball loss, its kink rounded over a width γ, for regression; β = 1/γ.

    φ = r²/(2γ) for -γτ <= r <= γ(1-τ), and goes on in straight lines of slopes -τ and 1-τ;
    φ*(-a) = γ a²/2 - a y for a in [τ-1, τ].

    Parameters
    ----------
    quantile
        τ in (0, 1): the fraction of the targets that should lie below the prediction.
    smoothing
        γ > 0; the pinball loss is the limit γ → 0.
    """

    quantile: float = 0.5
    smoothing: float = 1.0

    @property
    def smoothness(self) -> float:
        """1/γ."""
        return 1.0 / self.smoothing

    def value(self, z: float, y: float) -> float:
        """Quadratic near 0, then linear as |r| grows."""
        r = z - y
        p = clip(r / self.smoothing, -self.quantile, 1.0 - self.quantile)
        return p * (r - 0.5 * self.smoothing * p)

    def derivative(self, z: float, y: float) -> float:
        """clip(r/γ, -τ, 1-τ)."""
        return clip((z - y) / self.smoothing, -self.quantile, 1.0 - self.quantile)

    def second_derivative(self, z: float, y: float) -> float:
        """1/γ for -γτ < r < γ(1-τ), else 0."""
        p = (z - y) / self.smoothing
        return 1.0 / self.smoothing if -self.quantile < p < 1.0 - self.quantile else 0.0

    def conjugate(self, a: float, y: float) -> float:
        """γ a²/2 - a y."""
        if outside(a, self.quantile - 1.0, self.quantile, 1.0):
            return math.inf
        a = clip(a, self.quantile - 1.0, self.quantile)
        return 0.5 * self.smoothing * a * a - a * y

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and the gap without terms that cancel."""
        return loss_value(self, z, y), _gap(z - y, a, self.quantile, self.smoothing)

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap, and no doubt about it."""
        return loss_value_and_gap(self, z, a, y)[1], 0.0

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find a + Δ = clip((κ a - r) / (γ + κ), τ-1, τ)."""
        change = ratio(y - z - self.smoothing * a, self.smoothing + kappa)
        return clip(change, self.quantile - 1.0 - a, self.quantile - a)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return γ a - y and γ."""
        return self.smoothing * a - y, self.smoothing

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip a to [τ-1, τ]."""
        return clip(a, self.quantile - 1.0, self.quantile)


@loss(classification=False, smoothness=math.inf, shift_invariant=True)
class Pinball(NamedTuple):
    """The pinball loss of the quantile τ, for regression; not smooth, β = ∞.

    φ = τ (y - z) where the prediction z is below the target, (1-τ) (z - y) where it is above;
    φ*(-a) = -a y for a in [τ-1, τ]. At τ = 1/2 it is half the absolute loss.

    Parameters
    ----------
    quantile
        τ in (0, 1): the fraction of the targets that should lie below the prediction.
    """

    quantile: float = 0.5

    def smoothed(self, smoothing: float) -> SmoothedPinball:
        """The loss with γ a²/2 added to its conjugate; smaller by at most γ/2."""
        return SmoothedPinball(self.quantile, smoothing)

    def kinks(self, y: FloatArray) -> list[FloatArray]:
        """The z at which φ' jumps up by 1, for each target."""
        return [y]

    def value(self, z: float, y: float) -> float:
        """max(-τ r, (1-τ) r)."""
        r = z - y
        return (1.0 - self.quantile) * r if r > 0.0 else -self.quantile * r

    def derivative(self, z: float, y: float) -> float:
        """1-τ above the target and -τ below it: a subgradient at the target."""
        return 1.0 - self.quantile if z > y else -self.quantile

    def second_derivative(self, z: float, y: float) -> float:
        """0."""
        return 0.0

    def conjugate(self, a: float, y: float) -> float:
        """-a y."""
        if outside(a, self.quantile - 1.0, self.quantile, 1.0):
            return math.inf
        return -clip(a, self.quantile - 1.0, self.quantile) * y

    def value_and_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """φ, and the gap without terms that cancel."""
        return loss_value(self, z, y), _gap(z - y, a, self.quantile, 0.0)

    def loop_gap(self, z: float, a: float, y: float) -> tuple[float, float]:
        """The gap, and no doubt about it."""
        return loss_value_and_gap(self, z, a, y)[1], 0.0

    def dual_step(self, a: float, z: float, y: float, kappa: float) -> float:
        """Find a + Δ = clip(a - r/κ, τ-1, τ)."""
        return clip(ratio(y - z, kappa), self.quantile - 1.0 - a, self.quantile - a)

    def conjugate_slopes(self, a: float, y: float) -> tuple[float, float]:
        """Return -y and 0."""
        return -y, 0.0

    def nearest_dual(self, a: float, y: float) -> float:
        """Clip a to [τ-1, τ]."""
        return clip(a, self.quantile - 1.0, self.quantile)
