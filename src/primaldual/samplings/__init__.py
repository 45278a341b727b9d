"""Samplings: random subsets of coordinates, their probabilities, draws and ESO parameters.

A sampling Ŝ picks a subset of the coordinates in every iteration. Its expected separable
overapproximation (ESO) is a vector v with

    P ∘ (X Xᵀ) ⪯ Diag(p ∘ v),      P_il = Prob(i, l ∈ Ŝ),   p_i = P_ii,                 (5), (6)

where the rows of X are the coordinates of the side in question. Steps of length 1/(β v_i + λn)
are then safe however many coordinates move at once. A sampling and its ESO live together
because one is meaningless without the other.

Any single vector v that satisfies (5) is valid, but the entrywise minimum of two valid ones is
not: where several formulas apply, the one with the smallest K is taken as a whole.
"""

from __future__ import annotations

from typing import Any

from ..problem import Coordinates
from .base import Sampling
from .draws import Draws
from .eso import spectral_spread
from .parallel import DEFAULT_BATCH, DEFAULT_BLOCKS, Bucket, Distributed, Independent, TauNice
from .serial import Importance, Permutation, Uniform

SAMPLINGS: dict[str, type[Sampling]] = {
    "uniform": Uniform,
    "importance": Importance,
    "permutation": Permutation,
    "tau_nice": TauNice,
    "independent": Independent,
    "bucket": Bucket,
    "distributed": Distributed,
}


def as_sampling(sampling: Any, side: Coordinates) -> Sampling:
    """The sampling itself, or the one of that name planned for ``side``."""
    if isinstance(sampling, str):
        if sampling not in SAMPLINGS:
            raise ValueError(f"sampling must be one of {', '.join(SAMPLINGS)}, got {sampling!r}.")
        return SAMPLINGS[sampling].plan(side)
    needed = ("probabilities", "eso", "draw", "size")
    missing = [name for name in needed if not hasattr(sampling, name)]
    if missing or isinstance(sampling, type):
        raise TypeError(
            f"sampling must be a name or an object with {', '.join(needed)}, "
            f"got {sampling!r}. Build one with its class, for example TauNice(size, tau)."
        )
    if sampling.size != side.size:
        raise ValueError(
            f"the sampling chooses from {sampling.size} coordinates, but the {side.by} side of "
            f"this problem has {side.size}."
        )
    return sampling


__all__ = [
    "DEFAULT_BATCH",
    "DEFAULT_BLOCKS",
    "SAMPLINGS",
    "Bucket",
    "Distributed",
    "Draws",
    "Importance",
    "Independent",
    "Permutation",
    "Sampling",
    "TauNice",
    "Uniform",
    "as_sampling",
    "spectral_spread",
]
