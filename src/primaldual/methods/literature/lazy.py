"""What methods need whose vectors are not up to date in every coordinate.

Rows read entry by entry: ``row_begin`` and ``row_end`` bound the positions of the entries of a
row, ``row_column`` and ``row_value`` tell what is at a position. Entries of dense rows may be
zero. And ``combine``, to put together vectors that are kept as scale · r + shift · G.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from ..._numba.compile import for_rows, kernel
from ..._types import FloatArray, IntArray
from ...data.rows import Rows, SparseRows
from ...problem import Problem

# Fold the scale into the vector when it is this small, long before it underflows.
SMALLEST_SCALE = 1e-200


def moving_features(problem: Problem, w: FloatArray) -> IntArray:
    """The features that a method starting at w ever moves: empty ones at zero stay there."""
    return np.flatnonzero((problem.features.counts > 0) | (w != 0))


@kernel
def combine(moving, out, a, u, b, v):  # type: ignore[no-untyped-def]
    """out ← a u + b v in the coordinates that move; ``out`` may be one of the two."""
    for i in moving:
        out[i] = a * u[i] + b * v[i]


def row_begin(rows: Rows, i: int) -> int:
    """The position of the first entry of row_i."""
    return _sparse_begin(rows, i) if isinstance(rows, SparseRows) else _dense_begin(rows, i)


def row_end(rows: Rows, i: int) -> int:
    """The position after the last entry of row_i."""
    return _sparse_end(rows, i) if isinstance(rows, SparseRows) else _dense_end(rows, i)


def row_column(rows: Rows, i: int, k: int) -> int:
    """The column of the entry of row_i at position k."""
    return _sparse_column(rows, i, k) if isinstance(rows, SparseRows) else _dense_column(rows, i, k)


def row_value(rows: Rows, i: int, k: int) -> float:
    """The value of the entry of row_i at position k."""
    return _sparse_value(rows, i, k) if isinstance(rows, SparseRows) else _dense_value(rows, i, k)


# Positions and columns are unsigned, as in ``primaldual.data.rows``: signed ones are slower.


def _sparse_begin(rows: Any, i: Any) -> Any:
    return np.uint64(rows.indptr[i])


def _dense_begin(rows: Any, i: Any) -> Any:
    return np.uint64(0)


def _sparse_end(rows: Any, i: Any) -> Any:
    return np.uint64(rows.indptr[i + 1])


def _dense_end(rows: Any, i: Any) -> Any:
    return np.uint64(rows.values.shape[1])


def _sparse_column(rows: Any, i: Any, k: Any) -> Any:
    return np.uint64(rows.indices[k])


def _dense_column(rows: Any, i: Any, k: Any) -> Any:
    return k


def _sparse_value(rows: Any, i: Any, k: Any) -> Any:
    return np.float64(rows.values[k])


def _dense_value(rows: Any, i: Any, k: Any) -> Any:
    return np.float64(rows.values[i, k])


def _choose(rows: Any, when_sparse: Any, when_dense: Any) -> Any:
    """The function for the storage, told by the type of the rows when a kernel is compiled."""
    if isinstance(rows, types.BaseNamedTuple):
        return when_sparse if issubclass(rows.instance_class, SparseRows) else when_dense


@for_rows(row_begin)
def _row_begin(rows: Any, i: Any) -> Any:
    return _choose(rows, _sparse_begin, _dense_begin)


@for_rows(row_end)
def _row_end(rows: Any, i: Any) -> Any:
    return _choose(rows, _sparse_end, _dense_end)


@for_rows(row_column)
def _row_column(rows: Any, i: Any, k: Any) -> Any:
    return _choose(rows, _sparse_column, _dense_column)


@for_rows(row_value)
def _row_value(rows: Any, i: Any, k: Any) -> Any:
    return _choose(rows, _sparse_value, _dense_value)
