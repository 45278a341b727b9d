"""Where random numbers stand: generators as data, and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence

_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
# Bounds on what a file may ask for, far above what solves use: words of a seed's pool (NumPy's own
# is 4), and generators spawned from one seed (a million take about five seconds to spawn).
_MOST_POOL = 64
_MOST_CHILDREN = 1_000_000


class Stream(NamedTuple):
    """Where a generator stands."""

    kind: str
    state: dict[str, Any]
    entropy: Any
    spawn_key: tuple[int, ...]
    pool_size: int
    children: int  # generators spawned so far


def stream_of(rng: Generator) -> Stream:
    """Where a generator stands now."""
    bits = rng.bit_generator
    seed: Any = bits.seed_seq
    kind = type(bits).__name__
    if kind not in _BIT_GENERATORS or type(seed) is not SeedSequence:
        raise TypeError(
            f"a checkpoint can save NumPy's generators {', '.join(_BIT_GENERATORS)} with a "
            f"SeedSequence, got {kind} with {type(seed).__name__}."
        )
    state: Any = bits.state
    return Stream(
        kind, state, seed.entropy, seed.spawn_key, seed.pool_size, seed.n_children_spawned
    )


def require_usable(stream: Any) -> None:
    """Refuse what is no position of a generator, or would take long or much memory to make."""
    good = (
        type(stream) is Stream
        and stream.kind in _BIT_GENERATORS
        and type(stream.pool_size) is int
        and 4 <= stream.pool_size <= _MOST_POOL
        and type(stream.children) is int
        and 0 <= stream.children <= _MOST_CHILDREN
    )
    if not good:
        raise ValueError("a random number generator is described wrongly")


def made(stream: Stream) -> Generator:
    """A generator that stands there."""
    require_usable(stream)
    seed = SeedSequence(
        stream.entropy, spawn_key=stream.spawn_key, pool_size=stream.pool_size,
        n_children_spawned=stream.children,
    )  # fmt: skip
    bits = getattr(np.random, stream.kind)(seed)
    bits.state = stream.state
    return Generator(bits)


def turn(rng: Generator, stream: Stream) -> None:
    """Let a generator of the caller's stand there."""
    require_usable(stream)
    rng.bit_generator.state = stream.state
    seed: Any = rng.bit_generator.seed_seq
    if stream.children > seed.n_children_spawned:
        seed.spawn(stream.children - seed.n_children_spawned)
