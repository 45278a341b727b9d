"""The generator of a solve, made only if it is needed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from .._cached import cached_property


class Spawned(NamedTuple):
    """The seed of one of several solves: that child of ``SeedSequence(seed)``."""

    seed: int
    number: int


def generator(seed: Any) -> Any:
    """NumPy's generator for the seed; made on first use where that cannot fail."""
    simple = seed is None or isinstance(seed, Spawned) or (type(seed) is int and seed >= 0)
    return Deferred(seed) if simple else made(seed)


def made(seed: Any) -> Generator:
    """The generator, made now."""
    if isinstance(seed, Spawned):
        seed = np.random.SeedSequence(seed.seed, spawn_key=(seed.number,))
    return np.random.default_rng(seed)


class Deferred:
    """A generator that is made on first use: that takes 10 µs, and some problems hardly more."""

    def __init__(self, seed: int | Spawned | None) -> None:
        self.seed = seed

    @cached_property
    def made(self) -> Generator:
        """The generator itself."""
        return made(self.seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.made, name)
