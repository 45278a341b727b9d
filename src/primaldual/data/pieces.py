"""Long loops in pieces: Ctrl-C is heard, and the clock is looked at, between them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._numba.clock import look_at_clock
from .._types import FloatArray, IntArray

# Products with more entries are made of several calls.
ONE_CALL = 1 << 26


def blocks(values: FloatArray, entries: int = 1 << 20) -> Iterator[slice]:
    """Slices of whole rows with about ``entries`` numbers each."""
    step = max(1, entries // max(1, values.shape[1]))
    for first in range(0, len(values), step):
        look_at_clock()
        yield slice(first, min(first + step, len(values)))


def row_ranges(before: IntArray, most: int = ONE_CALL) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about that much work.

    ``before`` is the work before each row, as ``indptr`` counts the nonzeros.
    """
    first, length = 0, len(before) - 1
    while first < length:
        last = length
        if before[-1] - before[first] > most:
            last = max(first + 1, int(np.searchsorted(before, before[first] + most)) - 1)
        look_at_clock()
        yield first, last
        first = last
