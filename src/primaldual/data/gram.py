"""Inner products of all rows, or of all columns, weighted: Gram matrices and Hessians."""

from __future__ import annotations

import numpy as np

from .._numba.clock import look_at_clock
from .._numba.compile import kernel, reordered_kernel
from .._types import FloatArray
from .pieces import ONE_CALL, blocks, row_ranges
from .rows import Rows, SparseRows, row_entry

# Dense Gram matrices are summed over at least this many rows at a time, in tiles this wide.
GRAM_DEPTH = 256
GRAM_TILE = 1024
# Those of at most FEW_ROWS rows in tiles of 4 × 4 inner products, ALONG entries of the rows at a
# time, which stay in a near cache: BLAS takes 1.1 to 2 times as long.
FEW_ROWS, ALONG = 200, 1024
# Examples that are taken together when a Hessian of few dense features is summed: their entries of
# two features stay in the nearest cache.
HESSIAN_BLOCK = 1024


def gram(rows: Rows, h: FloatArray, width: int) -> FloatArray:
    """Σ_i h_i row_iᵀ row_i: by BLAS for dense rows, by scattered products for sparse ones."""
    out = np.zeros((width, width))
    if isinstance(rows, SparseRows):
        squares = np.append(0, np.cumsum(np.diff(rows.indptr) ** 2))
        for first, last in row_ranges(squares, ONE_CALL):
            _sparse_gram(rows, h, first, last, out)
        return out
    used = np.flatnonzero(h)
    values = rows.values if len(used) == len(h) else rows.values[used]
    root = np.sqrt(h if len(used) == len(h) else h[used])
    if values.dtype == np.float64 and np.all(root == 1.0):
        for block in blocks(values, 1 << 22):
            _add_gram(values[block], out)
        return out
    # Small enough for the scaled copy to stay in cache, but not so that ``out`` is all the traffic.
    for block in blocks(values, max(1 << 17, GRAM_DEPTH * width)):
        _add_gram(values[block] * root[block, None], out)
    return out


def _add_gram(part: FloatArray, out: FloatArray) -> None:
    """Add the lower triangle of partᵀ part, in tiles.

    Ctrl-C is heard, and the clock is looked at, between calls of BLAS.
    """
    width = len(out)
    for first in range(0, width, GRAM_TILE):
        look_at_clock()
        tile = part[:, first : first + GRAM_TILE]
        last = first + tile.shape[1]
        if first:
            out[first:last, :first] += tile.T @ part[:, :first]
        out[first:last, first:last] += tile.T @ tile


def dense_gram(values: FloatArray) -> FloatArray:
    """The lower triangle of values valuesᵀ."""
    n, d = values.shape
    if n > FEW_ROWS:
        out = np.zeros((n, n))
        width = max(GRAM_DEPTH, (1 << 20) // n)
        for first in range(0, d, width):
            _add_gram(values[:, first : first + width].astype(np.float64, copy=False).T, out)
        return out
    size = -(-n // 4) * 4
    out = np.zeros((size, size))
    width = ONE_CALL // size
    for first in range(0, d, width):
        _add_tiles(values, first, min(first + width, d), out)
    return out[:n, :n]


@kernel
def _add_tiles(values, first, last, out):  # type: ignore[no-untyped-def]
    for start in range(first, last, ALONG):
        for i in range(0, out.shape[0], 4):
            for k in range(0, i + 4, 4):
                _add_tile(values, i, k, start, min(start + ALONG, last), out)


@reordered_kernel
def _add_tile(values, i, k, first, last, out):  # type: ignore[no-untyped-def]
    """Add the inner products of four rows with four others, along some of their entries.

    Eight numbers are read for sixteen multiply-adds, whose sums stay in registers. Rows that are
    not there are replaced by the last one.
    """
    end = values.shape[0] - 1
    a0, a1 = values[min(i, end), first:last], values[min(i + 1, end), first:last]
    a2, a3 = values[min(i + 2, end), first:last], values[min(i + 3, end), first:last]
    b0, b1 = values[min(k, end), first:last], values[min(k + 1, end), first:last]
    b2, b3 = values[min(k + 2, end), first:last], values[min(k + 3, end), first:last]
    s00, s01, s02, s03 = 0.0, 0.0, 0.0, 0.0
    s10, s11, s12, s13 = 0.0, 0.0, 0.0, 0.0
    s20, s21, s22, s23 = 0.0, 0.0, 0.0, 0.0
    s30, s31, s32, s33 = 0.0, 0.0, 0.0, 0.0
    for j in range(np.uint64(last - first)):
        x, y, z, u = np.float64(b0[j]), np.float64(b1[j]), np.float64(b2[j]), np.float64(b3[j])
        a = np.float64(a0[j])
        s00, s01, s02, s03 = s00 + a * x, s01 + a * y, s02 + a * z, s03 + a * u
        a = np.float64(a1[j])
        s10, s11, s12, s13 = s10 + a * x, s11 + a * y, s12 + a * z, s13 + a * u
        a = np.float64(a2[j])
        s20, s21, s22, s23 = s20 + a * x, s21 + a * y, s22 + a * z, s23 + a * u
        a = np.float64(a3[j])
        s30, s31, s32, s33 = s30 + a * x, s31 + a * y, s32 + a * z, s33 + a * u
    sums = ((s00, s01, s02, s03), (s10, s11, s12, s13), (s20, s21, s22, s23), (s30, s31, s32, s33))
    for m in range(4):
        for q in range(4):
            out[i + m, k + q] += sums[m][q]


@kernel
def _sparse_gram(rows, h, first, last, out):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        if h[i] == 0.0:
            continue
        low, high = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
        for k in range(low, high):
            line = out[np.uint64(rows.indices[k])]
            x = h[i] * row_entry(rows, low, k)
            for m in range(low, k + np.uint64(1)):
                line[np.uint64(rows.indices[m])] += x * row_entry(rows, low, m)


@reordered_kernel
def add_to_hessian(features, start, first, second, weighted, H, g):  # type: ignore[no-untyped-def]
    """Add what some examples, from one on, give to a Hessian and a gradient.

    ``weighted`` is room for as many numbers as there are examples.
    """
    size, last = np.uint64(first.size), start + first.size
    for i in range(features.shape[0]):
        row, total = features[i, start:last], 0.0
        for j in range(size):
            weighted[j] = second[j] * row[j]
            total += first[j] * row[j]
        g[i] += total
        for k in range(i + 1):
            other, total = features[k, start:last], 0.0
            for j in range(size):
                total += weighted[j] * other[j]
            H[i, k] += total
