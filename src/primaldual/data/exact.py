"""Products of the data with two vectors in twice the working precision.

For certificates, where sums cancel until rounding would decide what is proved.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from .._numba.compile import inlined_in_loops, kernel
from .._types import FloatArray
from .matrix import Matrix
from .pieces import blocks, row_ranges
from .rows import SparseRows, row_begin, row_column, row_end, row_value

# Half the distance from 1 to the next float64: what rounding adds, relative to a result.
UNIT = 2.0**-53

# Nonzeros of a call: some 20 ns each.
ONE_CALL = 1 << 24


class Sum(NamedTuple):
    """Sums, each with a bound on its error."""

    value: FloatArray
    error: FloatArray


class Parts(NamedTuple):
    """Sums in two parts, and the sum of the absolute values of their terms."""

    high: FloatArray
    low: FloatArray
    size: FloatArray


def exact_products(matrix: Matrix, w: FloatArray, alpha: FloatArray) -> tuple[Sum, Sum]:
    """X w and Xᵀ α, each rounded about once."""
    rows, by_example = matrix.stored, matrix.stored_by == "example"
    along, across = (w, alpha) if by_example else (alpha, w)
    dots, sums = _parts(len(across)), _parts(len(along))
    if isinstance(rows, SparseRows):
        ranges = row_ranges(rows.indptr, ONE_CALL)
    else:
        ranges = ((part.start, part.stop) for part in blocks(rows.values, ONE_CALL))
    for first, last in ranges:
        _add_products(rows, first, last, along, across, dots, sums)
    one, other = _joined(dots, len(along)), _joined(sums, len(across))
    return (one, other) if by_example else (other, one)


def _parts(size: int) -> Parts:
    return Parts(np.zeros(size), np.zeros(size), np.zeros(size))


def _joined(parts: Parts, terms: int) -> Sum:
    """The sums as numbers: T. Ogita, S. Rump, S. Oishi, "Accurate sum and dot product", 2005."""
    value = parts.high + parts.low
    return Sum(value, UNIT * np.abs(value) + ((terms + 2) * UNIT) ** 2 * parts.size)


@intrinsic
def _multiply_add(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """A b + c, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.DoubleType()
        kind = ir.FunctionType(number, [number] * 3)
        return builder.call(builder.module.declare_intrinsic("llvm.fma", [number], kind), arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@inlined_in_loops
def _added(high: float, low: float, a: float, b: float) -> tuple[float, float]:
    """The sum high + low, plus a b: what rounding takes off the high part goes to the low one."""
    term = a * b
    total = high + term
    other = total - high
    lost = (high - (total - other)) + (term - other)
    return total, low + (lost + _multiply_add(a, b, -term))


@kernel
def _add_products(rows, first, last, along, across, dots, sums):  # type: ignore[no-untyped-def]
    """dots_i = ⟨row_i, along⟩, and sums += across_i · row_i."""
    for i in range(first, last):
        high, low, size, scale = 0.0, 0.0, 0.0, across[i]
        for k in range(row_begin(rows, i), row_end(rows, i)):
            j, x = row_column(rows, i, k), row_value(rows, i, k)
            high, low = _added(high, low, x, along[j])
            size += abs(x * along[j])
            sums.high[j], sums.low[j] = _added(sums.high[j], sums.low[j], x, scale)
            sums.size[j] += abs(x * scale)
        dots.high[i], dots.low[i], dots.size[i] = high, low, size
