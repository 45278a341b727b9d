"""Products of the data with several columns at once: one column per class."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._numba.compile import kernel
from .._threads import for_each
from .._types import FloatArray
from .matrix import Matrix
from .pieces import Cut, blocks, parts, some_rows, summed
from .rows import DenseRows


def times(matrix: Matrix, w: FloatArray) -> FloatArray:
    """X w for w of shape (d, K), in float64."""
    rows = matrix.by_example
    out = np.zeros((matrix.shape[0], w.shape[1]))
    if isinstance(rows, DenseRows):

        def part(cut: Cut) -> None:
            for block in blocks(rows.values[slice(*cut)]):
                at = slice(cut[0] + block.start, cut[0] + block.stop)
                out[at] = _float64(rows.values[at]) @ w
    else:
        w = np.ascontiguousarray(w)

        def part(cut: Cut) -> None:
            _gather(some_rows(rows, *cut), w, out[slice(*cut)])

    for_each(part, parts(rows))
    return out


def transposed_times(matrix: Matrix, alpha: FloatArray) -> FloatArray:
    """Xᵀ α for α of shape (n, K), in float64."""
    return _scattered(matrix, alpha, squared=False)


def squared_times(matrix: Matrix, h: FloatArray) -> FloatArray:
    """Σ_j h_jk x_ji² for every feature and class, shape (d, K)."""
    return _scattered(matrix, h, squared=True)


def _scattered(matrix: Matrix, scales: FloatArray, squared: bool) -> FloatArray:
    """Σ_j x_ji scales_jk, or Σ_j x_ji² scales_jk, for every feature and class."""
    rows = matrix.by_example
    scales = np.ascontiguousarray(scales)

    def part(first: int, last: int, out: FloatArray) -> None:
        some, mine = some_rows(rows, first, last), scales[first:last]
        if not isinstance(rows, DenseRows):
            _scatter(some, mine, out, squared)
            return
        for block in blocks(some.values):
            values = _float64(some.values[block])
            out += (values**2 if squared else values).T @ mine[block]

    return summed(part, parts(rows, matrix.shape[1]), (matrix.shape[1], scales.shape[1]))


def _float64(values: Any) -> FloatArray:
    return values.astype(np.float64, copy=False)


@kernel
def _gather(rows, w, out):  # type: ignore[no-untyped-def]
    for j in range(out.shape[0]):
        mine = out[j]
        for t in range(np.uint64(rows.indptr[j]), np.uint64(rows.indptr[j + 1])):
            line, x = w[np.uint64(rows.indices[t])], rows.values[t]
            for k in range(mine.size):
                mine[k] += x * line[k]


@kernel
def _scatter(rows, alpha, out, squared):  # type: ignore[no-untyped-def]
    for j in range(alpha.shape[0]):
        mine = alpha[j]
        for t in range(np.uint64(rows.indptr[j]), np.uint64(rows.indptr[j + 1])):
            line, x = out[np.uint64(rows.indices[t])], np.float64(rows.values[t])
            if squared:
                x = x * x
            for k in range(mine.size):
                line[k] += x * mine[k]
