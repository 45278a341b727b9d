"""Products of the data with one vector or two."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._numba.compile import kernel
from .._threads import for_each
from .._types import FloatArray
from .pieces import ONE_CALL, blocks, parts, row_ranges, summed
from .prefetch import FAR_VECTOR
from .rows import DenseRows, Rows, prefetch_targets, row_add, row_dot, rows_products

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
    if not along:
        return summed(partial(_multiplied, _scatter, rows, vector), parts(rows, size), size)
    out = np.zeros(size)
    for_each(lambda cut: _multiplied(_gather, rows, vector, *cut, out), parts(rows))
    return out


def _multiplied(
    multiply: Any, rows: Rows, vector: FloatArray, first: int, last: int, out: FloatArray
) -> None:
    """One part of a product, in calls that take a moment each."""
    for start, stop in _calls(rows, first, last):
        multiply(rows, vector, start, stop, out)


def _calls(rows: Rows, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Rows first … last − 1 in calls that take a moment each."""
    if rows.values.size <= ONE_CALL:
        yield first, last
        return
    if isinstance(rows, DenseRows):
        for block in blocks(rows.values[first:last], ONE_CALL):
            yield first + block.start, first + block.stop
        return
    for start, stop in row_ranges(rows.indptr[first : last + 1]):
        yield first + start, first + stop


def two_products(
    rows: Rows, vector: FloatArray, scales: FloatArray, dots: FloatArray, out: FloatArray
) -> None:
    """dots_i = ⟨row_i, vector⟩ and out += Σ_i scales_i row_i, from one reading of the rows."""

    def part(first: int, last: int, sums: FloatArray) -> None:
        for start, stop in _calls(rows, first, last):
            _products(rows, start, stop, vector, scales, dots, sums)

    cuts = parts(rows, len(out))
    if len(cuts) == 1:
        part(*cuts[0], out)
    else:
        out += summed(part, cuts, out.shape)


def _dense_product(values: FloatArray, vector: FloatArray, along: bool) -> FloatArray:
    """Values @ vector, or its transpose, in float64 without a float64 copy of float32 data."""
    rows, out = DenseRows(values), np.zeros(values.shape[0 if along else 1])
    cuts = parts(rows, 0 if along else len(out))
    if values.dtype == np.float64 and values.size <= BLAS_ENTRIES and len(cuts) == 1:
        return values @ vector if along else vector @ values

    def part(first: int, last: int, out: FloatArray) -> None:
        if values.dtype == np.float64:
            _multiplied(_gather if along else _scatter, rows, vector, first, last, out)
            return
        for block in blocks(values[first:last]):
            some = slice(first + block.start, first + block.stop)
            wide = values[some].astype(np.float64)
            if along:
                out[some] = wide @ vector
            else:
                out += vector[some] @ wide

    if not along:
        return summed(part, cuts, len(out))
    for_each(lambda cut: part(*cut, out), cuts)
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
