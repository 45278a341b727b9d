"""α on data in parts: not its numbers, but how to make them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from .._types import FloatArray


@dataclass
class Dual:
    """α on the parts: how to make it, and its sums once it was made.

    Where the loss has kinks α does not follow from w: its numbers are given, part by part. With the
    softmax loss w and δ have a row per class, the intercepts and Σ_j α_j an entry.
    """

    w: FloatArray
    b: Any
    delta: FloatArray | None = None  # None for 0
    delta_b: Any = None  # as b; 0 if not given
    total: Any = math.nan  # Σ_j α_j
    size: float = math.nan  # Σ_j |α_j|
    given: list[Any] | None = None  # α itself, an array per part; None for an empty part

    def __post_init__(self) -> None:
        if self.delta_b is None:
            self.delta_b = 0.0 * self.b

    def copy(self) -> Dual:
        """The same recipe."""
        return replace(self)

    def vectors(self) -> list[FloatArray]:
        """The vectors that it is made of."""
        return [self.w] if self.delta is None else [self.w, self.delta]

    def sum(self) -> Any:
        """Σ_j α_j, where it is known."""
        return self.total
