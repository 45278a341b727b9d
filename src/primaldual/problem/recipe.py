"""α on data in parts: not its numbers, but how to make them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .._types import FloatArray


@dataclass
class Dual:
    """α on the parts: how to make it, and its sums once it was made."""

    w: FloatArray
    b: float
    delta: FloatArray | None = None  # None for 0
    delta_b: float = 0.0
    total: float = math.nan  # Σ_j α_j
    size: float = math.nan  # Σ_j |α_j|

    def copy(self) -> Dual:
        """The same recipe."""
        return replace(self)

    def vectors(self) -> list[FloatArray]:
        """The vectors that it is made of."""
        return [self.w] if self.delta is None else [self.w, self.delta]

    def sum(self) -> float:
        """Σ_j α_j, where it is known."""
        return self.total
