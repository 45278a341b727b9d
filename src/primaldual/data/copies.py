"""Other copies of rows: transposed, dense, some of them, without empty columns."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._numba.compile import kernel
from .._types import IntArray
from .checks import frozen, sparse_rows
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
        return DenseRows(frozen(rows.values.T))
    shape = (len(rows.indptr) - 1, length)
    # SciPy gives the twin the wider of the two index types, and writes nothing into these arrays.
    fits = max(len(rows.values), *shape) < 2**31
    indptr = rows.indptr.astype(rows.indices.dtype) if fits else rows.indptr
    twin = sparse.csr_array((rows.values, rows.indices, indptr), shape=shape).tocsc()
    made = sparse_rows(twin.indptr, twin.indices, twin.data)
    return UnitRows(*made) if isinstance(rows, UnitRows) else made
