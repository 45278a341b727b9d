"""Serial samplings: one coordinate at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from .._types import FloatArray, IntArray
from ..problem import Coordinates
from .base import as_distribution, require_size
from .draws import Draws, alias_draw, alias_table, one_by_one
from .eso import serial_eso


@dataclass(frozen=True, eq=False)
class Uniform:
    """One coordinate at a time, all equally likely."""

    size: int

    def __post_init__(self) -> None:
        require_size(self.size)

    @classmethod
    def plan(cls, side: Coordinates) -> Uniform:
        """The uniform sampling of the side's coordinates."""
        return cls(side.size)

    def probabilities(self) -> FloatArray:
        """p_i = 1/m."""
        return np.full(self.size, 1.0 / self.size)

    def eso(self, side: Coordinates) -> FloatArray:
        """v_i = ‖row_i‖², eq. (7)."""
        return serial_eso(side)

    def draw(self, rng: Generator, steps: int) -> Draws:
        """Independent uniform draws."""
        return one_by_one(rng.integers(self.size, size=steps))


@dataclass(frozen=True, eq=False)
class Importance:
    """One coordinate at a time, i with probability p_i.

    ``plan`` takes p_i ∝ β v_i + λn, eq. (14): of all serial samplings the one with the
    smallest K and the smallest T (Theorem 2).
    """

    p: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", as_distribution(self.p))

    @property
    def size(self) -> int:
        """The number of coordinates to choose from."""
        return len(self.p)

    @classmethod
    def plan(cls, side: Coordinates) -> Importance:
        """Importance sampling of the side, eq. (14)."""
        s = side.curvature(serial_eso(side))
        with np.errstate(over="ignore"):
            total = s.sum()
        if not np.isfinite(total):
            raise ValueError(
                "importance sampling needs finite squared norms, but those of the data overflow. "
                "Scale the data, or use the method auto."
            )
        return cls(s / total)

    def probabilities(self) -> FloatArray:
        """The p given."""
        return self.p

    def eso(self, side: Coordinates) -> FloatArray:
        """v_i = ‖row_i‖², eq. (7)."""
        return serial_eso(side)

    def draw(self, rng: Generator, steps: int) -> Draws:
        """Independent draws from p, by an alias table."""
        return one_by_one(alias_draw(rng, *self._table, steps))

    @cached_property
    def _table(self) -> tuple[FloatArray, IntArray]:
        return alias_table(self.p)


@dataclass(frozen=True, eq=False)
class Permutation:
    """A new random order of all coordinates in every epoch.

    A practical order: usually faster than independent draws, but its steps are not independent
    and the theory of this library does not cover it. It is used with the serial ESO.
    """

    size: int

    def __post_init__(self) -> None:
        require_size(self.size)

    @classmethod
    def plan(cls, side: Coordinates) -> Permutation:
        """Permutations of the side's coordinates."""
        return cls(side.size)

    def probabilities(self) -> FloatArray:
        """The share of each coordinate, 1/m."""
        return np.full(self.size, 1.0 / self.size)

    def eso(self, side: Coordinates) -> FloatArray:
        """v_i = ‖row_i‖²."""
        return serial_eso(side)

    def draw(self, rng: Generator, steps: int) -> Draws:
        """Whole permutations one after the other, the last one cut off at ``steps``."""
        epochs = [rng.permutation(self.size) for _ in range(-(-steps // self.size))]
        order = np.concatenate(epochs) if epochs else np.empty(0, dtype=np.int64)
        return one_by_one(order[:steps])
