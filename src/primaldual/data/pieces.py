"""Long loops in pieces: Ctrl-C is heard, and the clock is looked at, between them.

Pieces that threads work on at the same time are called parts. They depend on the data alone, and
so do sums over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from .._numba.clock import look_at_clock
from .._threads import current, for_each
from .._types import FloatArray, IntArray
from .rows import DenseRows, Rows

# Products with more entries are made of several calls.
ONE_CALL = 1 << 26
# Parts of a sum at most: to add them up is then no great work itself.
MOST_PARTS = 16
# A part of a sum visits at least this many nonzeros per number of the sum: to clear and to add a
# number takes a third of the time of a visit.
VISITS_PER_NUMBER = 3
# Entries of dense rows that take as long as a nonzero of sparse ones.
DENSE_ENTRIES = 4
# Nonzeros that take as long as to evaluate the loss of an example, some 20 ns.
EXAMPLE = 16
# Numbers that are added up at a time, by one thread.
SLICE = 1 << 16

Cut = tuple[int, int]  # first row, and one after the last


def parts(rows: Rows, numbers: int = 0) -> list[Cut]:
    """Rows cut into parts of about the same work: as many as pay for themselves, at least one.

    Each part makes a sum of that many numbers, or none.
    """
    if isinstance(rows, DenseRows):
        length = len(rows.values)
        return even_parts(length, rows.values.size // DENSE_ENTRIES, numbers)
    length, work = len(rows.indptr) - 1, int(rows.indptr[-1])
    count = _count(work, numbers)
    if count == 1:
        return [(0, length)]
    ends = np.searchsorted(rows.indptr, [work * k // count for k in range(1, count)])
    return list(pairwise([0, *(int(end) for end in ends), length]))


def even_parts(length: int, work: float, numbers: int = 0) -> list[Cut]:
    """The same for ``length`` things that are alike, of that many nonzeros together."""
    count = min(_count(work, numbers), length)
    return list(pairwise(length * k // count for k in range(count + 1))) if count else []


def example_parts(n: int) -> list[Cut]:
    """The same for n examples whose losses are evaluated."""
    return even_parts(n, EXAMPLE * n)


def _count(work: float, numbers: int) -> int:
    most = int(work // current().part)
    if numbers:
        most = min(most, int(work // (VISITS_PER_NUMBER * numbers)))
    return max(1, min(most, MOST_PARTS))


def some_rows(rows: Rows, first: int, last: int) -> Any:
    """Rows first … last − 1 as a view; those of sparse rows may begin behind others' values."""
    if isinstance(rows, DenseRows):
        return DenseRows(rows.values[first:last])
    return type(rows)(rows.indptr[first : last + 1], rows.indices, rows.values)


def summed(
    step: Callable[[int, int, FloatArray], object], cuts: list[Cut], shape: Any
) -> FloatArray:
    """Σ over the parts of what ``step(first, last, out)`` adds to ``out``, in a fixed tree."""

    def run(cut: Cut) -> FloatArray:
        out = np.zeros(shape)
        step(*cut, out)
        return out

    total: FloatArray = merged(for_each(run, cuts))
    return total


def merged(sums: list[Any]) -> Any:
    """The sum of the arrays, neighbours first, then neighbouring pairs, in place of the first."""
    if len(sums) == 1:
        return sums[0]
    flat = [each.reshape(-1) for each in sums]
    size = flat[0].size
    for_each(
        lambda first: _add_up([each[first : first + SLICE] for each in flat]),
        range(0, size, SLICE),
    )
    return sums[0]


def _add_up(sums: list[Any]) -> None:
    apart = 1
    while apart < len(sums):
        for k in range(0, len(sums) - apart, 2 * apart):
            sums[k] += sums[k + apart]
        apart *= 2


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
