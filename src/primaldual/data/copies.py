"""Other copies of rows: transposed, dense, some of them, without empty columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._numba.compile import kernel
from .._threads import for_each
from .._types import IntArray
from .checks import frozen, sparse_rows
from .pieces import Cut, parts
from .rows import DenseRows, Rows, SparseRows, UnitRows


def dense_rows(rows: SparseRows, width: int) -> DenseRows:
    """Sparse rows as dense ones."""
    values = np.zeros((len(rows.indptr) - 1, width))
    _fill_dense(rows, values)
    return DenseRows(frozen(values))


def taken(rows: Rows, chosen: IntArray) -> Rows:
    """Some of the rows."""
    if isinstance(rows, DenseRows):
        return DenseRows(frozen(rows.values[chosen]))
    indptr = np.concatenate([[0], np.cumsum(np.diff(rows.indptr)[chosen])])
    indices = np.empty(indptr[-1], dtype=rows.indices.dtype)
    values = np.empty(indptr[-1], dtype=rows.values.dtype)
    _copy_rows(rows, chosen, indices, values)
    return type(rows)(*sparse_rows(indptr, indices, values))


def consecutive(rows: Rows, first: int, last: int) -> Rows:
    """Rows first … last − 1, without the others."""
    if isinstance(rows, DenseRows):
        return DenseRows(rows.values[first:last])
    begin, end = rows.indptr[first], rows.indptr[last]
    indptr = frozen(rows.indptr[first : last + 1] - begin)
    return SparseRows(indptr, rows.indices[begin:end], rows.values[begin:end])


def on_support(rows: Rows, width: int) -> tuple[Rows, IntArray]:
    """The rows without the columns that none of them meets, and the columns that are left."""
    if isinstance(rows, DenseRows):
        return rows, np.arange(width)
    support, indices = np.unique(rows.indices, return_inverse=True)
    indices = frozen(indices.astype(rows.indices.dtype))
    # NumPy is much slower with indices of another type than its own.
    return SparseRows(rows.indptr, indices, rows.values), support.astype(np.intp)


@kernel
def _fill_dense(rows, values):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            values[i, rows.indices[k]] = rows.values[k]


@kernel
def _copy_rows(rows, chosen, indices, values):  # type: ignore[no-untyped-def]
    at = 0
    for i in chosen:
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            indices[at] = rows.indices[k]
            values[at] = rows.values[k]
            at += 1


def transposed(rows: Rows, length: int) -> Rows:
    """The same data with rows and columns exchanged; ``length`` is the new number of rows."""
    if isinstance(rows, DenseRows):
        values = np.empty(rows.values.shape[::-1], rows.values.dtype)

        def turn(cut: Cut) -> None:
            values[:, slice(*cut)] = rows.values[slice(*cut)].T

        for_each(turn, parts(rows))
        return DenseRows(frozen(values))
    cuts = parts(rows, length)
    made = _by_scipy(rows, length) if len(cuts) == 1 else _by_parts(rows, length, cuts)
    return UnitRows(*made) if isinstance(rows, UnitRows) else made


def _index_type(rows: SparseRows, length: int) -> Any:
    """The narrower of the two index types, if everything can be counted by it."""
    fits = max(len(rows.values), len(rows.indptr) - 1, length) < 2**31
    return rows.indices.dtype if fits else np.int64


def _by_scipy(rows: SparseRows, length: int) -> SparseRows:
    shape = (len(rows.indptr) - 1, length)
    # SciPy gives the twin the wider of the two index types, and writes nothing into these arrays.
    indptr = rows.indptr.astype(_index_type(rows, length), copy=False)
    twin = sparse.csr_array((rows.values, rows.indices, indptr), shape=shape).tocsc()
    return sparse_rows(twin.indptr, twin.indices, twin.data)


def _by_parts(rows: SparseRows, length: int, cuts: list[Cut]) -> SparseRows:
    """The same: each part counts its entries of every column, and so knows where they go."""

    def counted(cut: Cut) -> IntArray:
        counts = np.zeros(length, dtype=np.int64)
        _count(rows, *cut, counts)
        return counts

    places = np.stack(for_each(counted, cuts))
    indptr = np.append(0, np.cumsum(places.sum(axis=0)))
    before = np.cumsum(places, axis=0) - places  # entries of the column in earlier parts
    places = before + indptr[:-1]
    indices = np.empty(indptr[-1], dtype=_index_type(rows, length))
    values = np.empty(indptr[-1], dtype=rows.values.dtype)
    for_each(lambda k: _place(rows, *cuts[k], places[k], indices, values), range(len(cuts)))
    return sparse_rows(indptr, indices, values)


@kernel
def _count(rows, first, last, counts):  # type: ignore[no-untyped-def]
    for k in range(np.uint64(rows.indptr[first]), np.uint64(rows.indptr[last])):
        counts[np.uint64(rows.indices[k])] += 1


@kernel
def _place(rows, first, last, places, indices, values):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            j = np.uint64(rows.indices[k])
            at = np.uint64(places[j])
            indices[at], values[at] = i, rows.values[k]
            places[j] += 1
