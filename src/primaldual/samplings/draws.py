"""A sequence of random subsets, and the ways to draw one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from .._numba.compile import kernel
from .._types import FloatArray, IntArray


class Draws(NamedTuple):
    """A sequence of subsets: step k moves coordinates[starts[k] : starts[k + 1]]."""

    starts: IntArray
    coordinates: IntArray

    @property
    def steps(self) -> int:
        """The number of iterations."""
        return len(self.starts) - 1


def one_by_one(coordinates: IntArray) -> Draws:
    """Steps of one coordinate each."""
    return Draws(np.arange(len(coordinates) + 1), coordinates)


def equal_batches(subsets: IntArray) -> Draws:
    """Steps that move a row of ``subsets`` each."""
    steps, batch = subsets.shape
    return Draws(np.arange(steps + 1) * batch, np.ascontiguousarray(subsets).ravel())


def alias_draw(rng: Generator, accept: FloatArray, alias: IntArray, steps: int) -> IntArray:
    """``steps`` independent draws from the distribution of an alias table."""
    place = rng.random(steps) * len(accept)
    chosen = place.astype(np.int64)
    return np.where(place - chosen < accept[chosen], chosen, alias[chosen])


def bernoulli_hits(rng: Generator, p: float, trials: int) -> IntArray:
    """The positions of the successes among ``trials`` trials with probability ``p``."""
    hits: list[IntArray] = []
    last = -1
    while last < trials:
        expected = (trials - last) * p
        # Gaps beyond the end are cut, so that their sum cannot overflow.
        gaps = rng.geometric(p, size=int(expected + 4 * math.sqrt(expected) + 8))
        gaps = np.minimum(gaps, trials + 1)
        found = last + np.cumsum(gaps)
        hits.append(found)
        last = int(found[-1])
    positions = np.concatenate(hits)
    return positions[positions < trials]


@kernel
def alias_table(p):  # type: ignore[no-untyped-def]
    """Vose's alias table: draw a column uniformly, keep it with probability accept[i]."""
    size = p.size
    accept = p * size / p.sum()
    alias = np.arange(size)
    small, large = np.empty(size, np.int64), np.empty(size, np.int64)
    smalls, larges = 0, 0
    for i in range(size):
        if accept[i] < 1.0:
            small[smalls] = i
            smalls += 1
        else:
            large[larges] = i
            larges += 1
    while smalls > 0 and larges > 0:
        smalls -= 1
        low, high = small[smalls], large[larges - 1]
        alias[low] = high
        accept[high] -= 1.0 - accept[low]
        if accept[high] < 1.0:
            larges -= 1
            small[smalls] = high
            smalls += 1
    # What is left differs from 1 by rounding only.
    for i in small[:smalls]:
        accept[i] = 1.0
    for i in large[:larges]:
        accept[i] = 1.0
    return accept, alias


@kernel
def random_subsets(uniforms, size):  # type: ignore[no-untyped-def]
    """One uniformly random subset per row of ``uniforms``, by partial Fisher-Yates shuffles."""
    steps, tau = uniforms.shape
    subsets = np.empty((steps, tau), np.int64)
    order = np.arange(size)
    for k in range(steps):
        for t in range(tau):
            other = t + int(uniforms[k, t] * (size - t))
            order[t], order[other] = order[other], order[t]
            subsets[k, t] = order[t]
    return subsets
