"""Products of the data with one vector or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._numba.compile import kernel
from .._types import FloatArray
from .pieces import ONE_CALL, blocks, row_ranges
from .prefetch import FAR_VECTOR
from .rows import DenseRows, Rows, SparseRows, prefetch_targets, row_add, row_dot, rows_products

if TYPE_CHECKING:
    from .matrix import Matrix

# Entries up to which BLAS multiplies fastest; beyond the caches, rows that are read in order do.
BLAS_ENTRIES = 4_000_000


def product(matrix: Matrix, by: str, vector: FloatArray) -> FloatArray:
    """One number per example or per feature, accumulated in float64.

    It is ⟨row_i, vector⟩ for every row, or Σ_i vector_i row_i: of the layout that the data came in,
    also where the other one has been built, so that earlier solves change no sum.
    """
    along, rows = by == matrix.stored_by, matrix.stored
    size = matrix.shape[0] if by == "example" else matrix.shape[1]
    if isinstance(rows, DenseRows):
        return _dense_product(rows.values, vector, along)
    out, multiply = np.zeros(size), _gather if along else _scatter
    if rows.values.size <= ONE_CALL:
        multiply(rows, vector, 0, len(rows.indptr) - 1, out)
        return out
    for first, last in row_ranges(rows.indptr):
        multiply(rows, vector, first, last, out)
    return out


def two_products(
    rows: Rows, vector: FloatArray, scales: FloatArray, dots: FloatArray, out: FloatArray
) -> None:
    """dots_i = ⟨row_i, vector⟩ and out += Σ_i scales_i row_i, from one reading of the rows."""
    if rows.values.size <= ONE_CALL:
        _products(rows, 0, len(dots), vector, scales, dots, out)
        return
    if isinstance(rows, SparseRows):
        ranges = row_ranges(rows.indptr)
    else:
        ranges = ((part.start, part.stop) for part in blocks(rows.values, ONE_CALL))
    for first, last in ranges:
        _products(rows, first, last, vector, scales, dots, out)


def _dense_product(values: FloatArray, vector: FloatArray, along: bool) -> FloatArray:
    """Values @ vector, or its transpose, in float64 without a float64 copy of float32 data."""
    if values.dtype == np.float64 and values.size <= BLAS_ENTRIES:
        return values @ vector if along else vector @ values
    if values.dtype == np.float64:
        rows, out = DenseRows(values), np.zeros(values.shape[0 if along else 1])
        for block in blocks(values, ONE_CALL):
            (_gather if along else _scatter)(rows, vector, block.start, block.stop, out)
        return out
    out = np.zeros(values.shape[0] if along else values.shape[1])
    for block in blocks(values):
        part = values[block].astype(np.float64)
        if along:
            out[block] = part @ vector
        else:
            out += vector[block] @ part
    return out


@kernel
def _gather(rows, vector, first, last, out):  # type: ignore[no-untyped-def]
    large = vector.size > FAR_VECTOR
    for i in range(first, last):
        if large and i + 1 < last:
            prefetch_targets(rows, i + 1, vector)
        out[i] = row_dot(rows, i, vector)


@kernel
def _scatter(rows, vector, first, last, out):  # type: ignore[no-untyped-def]
    large = out.size > FAR_VECTOR
    for i in range(first, last):
        if large and i + 1 < last:
            prefetch_targets(rows, i + 1, out)
        if vector[i] != 0.0:
            row_add(rows, i, vector[i], out)


@kernel
def _products(rows, first, last, vector, scales, dots, out):  # type: ignore[no-untyped-def]
    rows_products(rows, first, last, vector, scales, dots, out)
