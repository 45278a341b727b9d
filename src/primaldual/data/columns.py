"""Products of the data with several columns at once: one column per class."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._numba.compile import kernel
from .._types import FloatArray
from .matrix import Matrix
from .pieces import blocks
from .rows import DenseRows


def times(matrix: Matrix, w: FloatArray) -> FloatArray:
    """X w for w of shape (d, K), in float64."""
    rows = matrix.by_example
    out = np.zeros((matrix.shape[0], w.shape[1]))
    if isinstance(rows, DenseRows):
        for block in blocks(rows.values):
            out[block] = _float64(rows.values[block]) @ w
    else:
        _gather(rows, np.ascontiguousarray(w), out)
    return out


def transposed_times(matrix: Matrix, alpha: FloatArray) -> FloatArray:
    """Xᵀ α for α of shape (n, K), in float64."""
    rows = matrix.by_example
    out = np.zeros((matrix.shape[1], alpha.shape[1]))
    if isinstance(rows, DenseRows):
        for block in blocks(rows.values):
            out += _float64(rows.values[block]).T @ alpha[block]
    else:
        _scatter(rows, np.ascontiguousarray(alpha), out, False)
    return out


def squared_times(matrix: Matrix, h: FloatArray) -> FloatArray:
    """Σ_j h_jk x_ji² for every feature and class, shape (d, K)."""
    rows = matrix.by_example
    out = np.zeros((matrix.shape[1], h.shape[1]))
    if isinstance(rows, DenseRows):
        for block in blocks(rows.values):
            out += (_float64(rows.values[block]) ** 2).T @ h[block]
    else:
        _scatter(rows, np.ascontiguousarray(h), out, True)
    return out


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
