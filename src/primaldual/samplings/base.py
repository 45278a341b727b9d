"""What every sampling offers, and the checks that samplings share."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from .._types import FloatArray
from ..problem import Coordinates
from .draws import Draws


class Sampling(Protocol):
    """What every sampling offers."""

    @property
    def size(self) -> int:
        """The number of coordinates to choose from."""
        ...

    def probabilities(self) -> FloatArray:
        """p_i = Prob(i ∈ Ŝ)."""
        ...

    def eso(self, side: Coordinates) -> FloatArray:
        """v with P ∘ XXᵀ ⪯ Diag(p ∘ v), eqs. (5), (6)."""
        ...

    def draw(self, rng: Generator, steps: int) -> Draws:
        """``steps`` independent subsets; the same generator state gives the same draws."""
        ...

    @classmethod
    def plan(cls, side: Coordinates) -> Sampling:
        """A good sampling of this kind for ``side``."""
        ...


def require_size(size: int) -> None:
    """Refuse a sampling of nothing."""
    if size < 1:
        raise ValueError(f"a sampling needs at least one coordinate, got {size}.")


def require_tau(tau: int, most: int, what: str) -> None:
    """Refuse a batch that is empty or larger than ``what``, which has ``most`` coordinates."""
    if not 1 <= tau <= most:
        raise ValueError(f"tau must be between 1 and {what} ({most}), got {tau}.")


def described(p: FloatArray) -> str:
    """The shape and the range of ``p``, for error messages."""
    if not p.size:
        return "no values"
    return f"shape {p.shape} and values from {p.min():g} to {p.max():g}"


def as_distribution(p: Any) -> FloatArray:
    """``p`` as an array, checked to be positive with sum 1."""
    p = np.asarray(p, dtype=np.float64)
    if p.ndim != 1 or not len(p) or not (p > 0).all() or not math.isclose(p.sum(), 1, rel_tol=1e-9):
        raise ValueError(
            "p must hold one positive probability per coordinate, with sum 1, "
            f"got {described(p)} with sum {p.sum():g}."
        )
    return p
