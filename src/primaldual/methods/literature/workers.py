"""Workers: where the parts of a distributed method live and do their work.

A distributed method cuts its data into parts and gives them to a ``Workers`` object. Whatever
crosses between the parts and the method goes through ``run``: the shared arguments on the way
there, the results on the way back. A step may change its part, but not the shared arguments, so
that the same method runs on other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from ..._types import IntArray
from ...data.rows import DenseRows, Rows, SparseRows


class Workers(Protocol):
    """What a method needs of its workers; an object of this kind is built from its parts."""

    def run(self, step: Callable[..., Any], *shared: Any) -> list[Any]:
        """step(part, *shared) on every part, where the part lives; the results in their order."""
        ...


# Builds the workers of a method from its parts.
Crew = Callable[[list[Any]], Workers]


class InProcess:
    """All parts in this process, one after the other.

    Examples
    --------
    >>> workers = InProcess([[1, 2], [3]])
    >>> workers.run(lambda part, factor: factor * sum(part), 10)
    [30, 30]
    """

    def __init__(self, parts: Iterable[Any]) -> None:
        self.parts = list(parts)

    def run(self, step: Callable[..., Any], *shared: Any) -> list[Any]:
        """step(part, *shared) for every part."""
        return [step(part, *shared) for part in self.parts]


def cut(size: int, length: int, parts: int) -> list[tuple[int, int]]:
    """The ends of ``parts`` blocks of ``length`` coordinates each, the last ones cut off."""
    return [(min(part * length, size), min((part + 1) * length, size)) for part in range(parts)]


def own_rows(rows: Rows, first: int, last: int) -> Rows:
    """Rows first … last − 1, without the others."""
    if isinstance(rows, DenseRows):
        return DenseRows(rows.values[first:last])
    begin, end = rows.indptr[first], rows.indptr[last]
    return SparseRows(
        _frozen(rows.indptr[first : last + 1] - begin),
        rows.indices[begin:end],
        rows.values[begin:end],
    )


def on_support(rows: Rows, width: int) -> tuple[Rows, IntArray]:
    """The rows without the columns that none of them meets, and the columns that are left.

    A worker then keeps, sends and receives no more numbers than its data has nonzeros.
    """
    if isinstance(rows, DenseRows):
        return rows, np.arange(width)
    support, indices = np.unique(rows.indices, return_inverse=True)
    indices = _frozen(indices.astype(rows.indices.dtype))
    # NumPy is much slower with indices of another type than its own.
    return SparseRows(rows.indptr, indices, rows.values), support.astype(np.intp)


def _frozen(array: Any) -> Any:
    """Read-only, as all rows are: kernels see one array type."""
    array.flags.writeable = False
    return array
