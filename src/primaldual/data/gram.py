"""Inner products of all rows, or of all columns, weighted: Gram matrices and Hessians."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .._numba.compile import kernel, reordered_kernel
from .._threads import current, for_each
from .._types import FloatArray
from .pieces import ONE_CALL, Cut, blocks, even_parts, row_ranges, summed
from .rows import Rows, SparseRows, row_entry

# Dense Gram matrices are summed over at least this many rows at a time, in tiles this wide.
GRAM_DEPTH = 256
GRAM_TILE = 512
# Threads sum over at least PART_DEPTH rows each, for as long as PART_NUMBERS numbers hold all their
# sums; beyond that they share the tiles. To add a sum up takes 4 % of making it, or less.
PART_DEPTH, PART_NUMBERS = 1024, 1 << 24
# Multiply-adds of BLAS that take as long as to visit a nonzero.
FLOPS = 16
# Ranges of lines per thread of a sparse Gram matrix: the work of a line is only known roughly.
LINES_PER_THREAD = 2
# Those of at most FEW_ROWS rows in tiles of 4 × 4 inner products, ALONG entries of the rows at a
# time, which stay in a near cache: BLAS takes 1.1 to 2 times as long.
FEW_ROWS, ALONG = 200, 1024
# Examples that are taken together when a Hessian of few dense features is summed: their entries of
# two features stay in the nearest cache.
HESSIAN_BLOCK = 1024


def gram(rows: Rows, h: FloatArray, width: int) -> FloatArray:
    """Σ_i h_i row_iᵀ row_i: by BLAS for dense rows, by scattered products for sparse ones."""
    if isinstance(rows, SparseRows):
        return _gram_of_sparse(rows, h, width)
    used = np.flatnonzero(h)
    values = rows.values if len(used) == len(h) else rows.values[used]
    root = np.sqrt(h if len(used) == len(h) else h[used])
    plain = values.dtype == np.float64 and bool(np.all(root == 1.0))
    # Small enough for the scaled copy to stay in cache, but not so that ``out`` is all the traffic.
    entries = 1 << 22 if plain else max(1 << 17, GRAM_DEPTH * width)

    def part(first: int, last: int, out: FloatArray) -> None:
        some, roots = values[first:last], root[first:last]
        for block in blocks(some, entries):
            _add_gram(some[block] if plain else some[block] * roots[block, None], out)

    return summed(part, _parts(len(values), width), (width, width))


def _parts(depth: int, width: int) -> list[Cut]:
    """Parts of a dense Gram matrix, each a sum of its own over some of its ``depth`` terms."""
    most = min(depth // PART_DEPTH, PART_NUMBERS // max(width * width, 1))
    cuts = even_parts(depth, min(depth * width**2 / 2 / FLOPS, most * current().part))
    return cuts or [(0, depth)]


def _gram_of_sparse(rows: SparseRows, h: FloatArray, width: int) -> FloatArray:
    """The same for sparse rows: each thread adds to some lines of the result, row after row.

    So every sum is made in the order of the rows, however the lines are cut.
    """
    out = np.zeros((width, width))
    squares = np.append(0, np.cumsum(np.diff(rows.indptr) ** 2))
    lines = [(0, width)]
    if squares[-1] / 2 >= 2 * current().part and current().count() > 1:
        lines = _lines(rows, width, LINES_PER_THREAD * current().count())

    def part(cut: Cut) -> None:
        for first, last in row_ranges(squares, ONE_CALL):
            _sparse_gram(rows, h, first, last, *cut, out)

    for_each(part, lines)
    return out


def _lines(rows: SparseRows, width: int, count: int) -> list[Cut]:
    """Lines of the result cut into that many ranges of about the same work."""
    work = np.zeros(width, dtype=np.int64)
    _count_work(rows, work)
    before = np.append(0, np.cumsum(work))
    ends = np.searchsorted(before, [before[-1] * k // count for k in range(1, count)])
    return list(pairwise([0, *(int(end) for end in ends), width]))


def _add_gram(part: FloatArray, out: FloatArray) -> None:
    """Add the lower triangle of partᵀ part, in tiles.

    Ctrl-C is heard, and the clock is looked at, between calls of BLAS.
    """
    width = len(out)

    def add(place: Cut) -> None:
        down, across = (slice(k, min(k + GRAM_TILE, width)) for k in place)
        out[down, across] += part[:, down].T @ part[:, across]

    # The largest tiles come first, those at the end may be narrow.
    tiles = range(0, width, GRAM_TILE)
    for_each(add, [(down, across) for across in tiles for down in tiles if down >= across])


def dense_gram(values: FloatArray) -> FloatArray:
    """The lower triangle of values valuesᵀ."""
    n, d = values.shape
    if n > FEW_ROWS:
        width = max(GRAM_DEPTH, (1 << 20) // n)

        def part(first: int, last: int, out: FloatArray) -> None:
            for start in range(first, last, width):
                some = values[:, start : min(start + width, last)]
                _add_gram(some.astype(np.float64, copy=False).T, out)

        return summed(part, _parts(d, n), (n, n))
    size = -(-n // 4) * 4
    width = ONE_CALL // size

    def tiles(first: int, last: int, out: FloatArray) -> None:
        for start in range(first, last, width):
            _add_tiles(values, start, min(start + width, last), out)

    return summed(tiles, _parts(d, size), (size, size))[:n, :n]


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
def _sparse_gram(rows, h, first, last, begin, end, out):  # type: ignore[no-untyped-def]
    """Add what some rows give to the lines of the result from ``begin`` to before ``end``."""
    for i in range(first, last):
        if h[i] == 0.0:
            continue
        low, high = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
        for k in range(low, high):
            at = np.uint64(rows.indices[k])
            if at < np.uint64(begin):
                continue
            if at >= np.uint64(end):
                break
            line = out[at]
            x = h[i] * row_entry(rows, low, k)
            for m in range(low, k + np.uint64(1)):
                line[np.uint64(rows.indices[m])] += x * row_entry(rows, low, m)


@kernel
def _count_work(rows, work):  # type: ignore[no-untyped-def]
    """Count the multiply-adds of every line."""
    for i in range(rows.indptr.size - 1):
        low, high = rows.indptr[i], rows.indptr[i + 1]
        for k in range(low, high):
            work[rows.indices[k]] += k - low + 1


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
