"""Numbers of nonzeros and squared norms of rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._numba.compile import kernel, reordered_kernel
from .._threads import for_each
from .._types import FloatArray, IntArray
from .pieces import Cut, blocks, merged, parts, some_rows, summed
from .rows import DenseRows, Rows, SparseRows


def nonzeros_of_rows_and_columns(values: FloatArray) -> tuple[IntArray, IntArray]:
    """‖·‖₀ of the rows and of the columns of dense rows."""
    along = np.zeros(values.shape[0], dtype=np.int64)

    def part(cut: Cut) -> Any:
        across = np.zeros(values.shape[1], dtype=np.int64)
        for block in blocks(values[slice(*cut)], 1 << 24):
            some = slice(cut[0] + block.start, cut[0] + block.stop)
            _count_nonzeros(values[some], along[some], across)
        return across

    across: IntArray = merged(for_each(part, parts(DenseRows(values), values.shape[1])))
    return along, across


def squares_of_rows(rows: Rows, weights: FloatArray, size: int) -> FloatArray:
    """Σ_j c_j row_i[j]² for every row; one weight stands for equal ones."""
    out = np.zeros(size)

    def part(cut: Cut) -> None:
        some, mine = some_rows(rows, *cut), out[slice(*cut)]
        if isinstance(rows, SparseRows):
            _sparse_squares_along(some, weights, mine)
            return
        for block in blocks(some.values, 1 << 24):
            _dense_squares_along(some.values[block], weights, mine[block])

    for_each(part, parts(rows))
    return out


def squares_of_columns(rows: Rows, weights: FloatArray, size: int) -> FloatArray:
    """Σ_i c_i row_i[j]² for every column; one weight stands for equal ones."""

    def part(first: int, last: int, out: FloatArray) -> None:
        some, c = some_rows(rows, first, last), weights[first:last]
        c = weights if weights.size == 1 else c
        if isinstance(rows, SparseRows):
            _sparse_squares_across(some, c, out)
            return
        for block in blocks(some.values, 1 << 24):
            _dense_squares_across(some.values[block], c if c.size == 1 else c[block], out)

    return summed(part, parts(rows, size), size)


def counts_and_squares_of_columns(rows: SparseRows, width: int) -> tuple[IntArray, FloatArray]:
    """‖·‖₀ and squared norms of the columns of sparse rows, in one pass."""

    def part(first: int, last: int, pairs: FloatArray) -> None:
        _counts_and_squares(rows, rows.indptr[first], rows.indptr[last], pairs)

    pairs = summed(part, parts(rows, 2 * width), (width, 2))
    return pairs[:, 0].astype(np.int64), pairs[:, 1].copy()


@kernel
def _count_nonzeros(values, along, across):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        total = 0
        for j in range(np.uint64(values.shape[1])):
            nonzero = np.int64(values[i, j] != 0.0)
            total += nonzero
            across[j] += nonzero
        along[i] = total


@reordered_kernel
def _dense_squares_along(values, weights, out):  # type: ignore[no-untyped-def]
    equal = weights.size == 1
    for i in range(values.shape[0]):
        total = 0.0
        if equal:
            for j in range(np.uint64(values.shape[1])):
                total += np.float64(values[i, j]) * np.float64(values[i, j])
            out[i] = weights[0] * total
        else:
            for j in range(np.uint64(values.shape[1])):
                total += weights[j] * np.float64(values[i, j]) * np.float64(values[i, j])
            out[i] = total


@kernel
def _dense_squares_across(values, weights, out):  # type: ignore[no-untyped-def]
    equal = weights.size == 1
    for i in range(values.shape[0]):
        c = weights[0] if equal else weights[i]
        for j in range(np.uint64(values.shape[1])):
            out[j] += c * np.float64(values[i, j]) * np.float64(values[i, j])


@reordered_kernel
def _sparse_squares_along(rows, weights, out):  # type: ignore[no-untyped-def]
    equal = weights.size == 1
    for i in range(out.size):
        total = 0.0
        low, high = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
        if equal:
            for k in range(low, high):
                total += np.float64(rows.values[k]) * np.float64(rows.values[k])
            out[i] = weights[0] * total
        else:
            for k in range(low, high):
                x = np.float64(rows.values[k])
                total += weights[np.uint64(rows.indices[k])] * x * x
            out[i] = total


@kernel
def _counts_and_squares(rows, first, last, pairs):  # type: ignore[no-untyped-def]
    for k in range(np.uint64(first), np.uint64(last)):
        x = np.float64(rows.values[k])
        j = np.uint64(rows.indices[k])
        pairs[j, 0] += 1.0
        pairs[j, 1] += x * x


@kernel
def _sparse_squares_across(rows, weights, out):  # type: ignore[no-untyped-def]
    equal = weights.size == 1
    for i in range(rows.indptr.size - 1):
        c = weights[0] if equal else weights[i]
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            x = np.float64(rows.values[k])
            out[np.uint64(rows.indices[k])] += c * x * x
