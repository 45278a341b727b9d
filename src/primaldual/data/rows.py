"""How data is stored: sparse or dense rows, and the operations of a row.

A side of the problem is a list of rows: the features (primal) or the examples (dual). Methods read
rows by the operations below (``row_dot``, ``row_add``, ``row_slope``, …), which are chosen by the
storage while a kernel is compiled, so each method has one kernel. Only this folder asks how rows
are stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._numba.compile import inlined, inlined_in_loops, reordered_in_loops
from .._types import FloatArray, IntArray
from ..losses import loss_derivative
from .prefetch import FAR, FAR_MODEL, FAR_VECTOR, PREFETCHED, TARGETS, prefetch, prefetch_far
from .row_operations import (
    add_four,
    hessian_product,
    model_add,
    model_slope,
    prefetch_row,
    prefetch_row_near,
    prefetch_targets,
    row_add,
    row_add_back,
    row_add_model,
    row_begin,
    row_column,
    row_dot,
    row_end,
    row_entry,
    row_slope,
    row_value,
    row_valued,
    rows_products,
)

__all__ = [
    "DenseRows",
    "EvenRows",
    "Rows",
    "SparseRows",
    "UnitRows",
    "add_four",
    "hessian_product",
    "model_add",
    "model_slope",
    "prefetch_row",
    "prefetch_row_near",
    "prefetch_targets",
    "row_add",
    "row_add_back",
    "row_add_model",
    "row_begin",
    "row_column",
    "row_dot",
    "row_end",
    "row_entry",
    "row_slope",
    "row_value",
    "row_valued",
    "rows_products",
]

# Indices are cast to unsigned integers inside the operations: for signed ones the compiler has
# to emit code for negative indices, which costs 10-40 %.


@inlined_in_loops
def _span(indptr: IntArray, i: int) -> tuple[Any, Any]:
    """Where row_i begins and ends."""
    row = np.uint64(i)
    return np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])


@inlined_in_loops
def _dot_and_add(
    rows: SparseRows, i: Any, vector: FloatArray, scale: float, out: FloatArray
) -> float:
    """⟨row_i, vector⟩ and out += scale · row_i, from one reading of the row.

    No branches: with one, Numba counts references to all arrays in every call.
    """
    first, last = _span(rows.indptr, i)
    k, one, two = first, 0.0, 0.0
    while k + np.uint64(2) <= last:
        j, m = np.uint64(rows.indices[k]), np.uint64(rows.indices[k + np.uint64(1)])
        x, y = row_entry(rows, first, k), row_entry(rows, first, k + np.uint64(1))
        one += x * vector[j]
        two += y * vector[m]
        out[j] += scale * x
        out[m] += scale * y
        k += np.uint64(2)
    while k < last:
        j, x = np.uint64(rows.indices[k]), row_entry(rows, first, k)
        one += x * vector[j]
        out[j] += scale * x
        k += np.uint64(1)
    return one + two


@inlined
def _prefetch_entries(rows: SparseRows, first: Any, last: Any, vector: FloatArray) -> None:
    """Prefetch the entries of ``vector``, or its rows, that some stored values meet."""
    width = vector.size // vector.shape[0]
    for k in range(first, last):
        prefetch_far(vector, width * rows.indices[k])


@reordered_in_loops
def _dense_dot(values: FloatArray, i: int, vector: FloatArray) -> float:
    """⟨row_i, vector⟩, summed in any order, which lets it use vector registers."""
    total = 0.0
    for j in range(np.uint64(values.shape[1])):
        total += np.float64(values[i, j]) * vector[j]
    return total


class SparseRows(NamedTuple):
    """Rows stored as CSR: row i has values[indptr[i]:indptr[i+1]] at columns indices[…]."""

    indptr: IntArray
    indices: IntArray
    values: FloatArray

    def entry(self, first: Any, k: Any) -> float:
        """The stored value at place k of the row that begins at ``first``."""
        return np.float64(self.values[k])

    def valued(self, first: Any, last: Any) -> Any:
        """Where the values end that ``entry`` reads of the row from ``first`` to ``last``."""
        return last

    def begin(self, i: int) -> Any:
        """The position of the first entry of row_i."""
        return np.uint64(self.indptr[i])

    def end(self, i: int) -> Any:
        """The position after the last entry of row_i."""
        return np.uint64(self.indptr[i + 1])

    def column(self, i: int, k: Any) -> Any:
        """The column of the entry at position k."""
        return np.uint64(self.indices[k])

    def value(self, i: int, k: Any) -> float:
        """The entry at position k."""
        return np.float64(self.values[k])

    def dot(self, i: int, vector: FloatArray) -> float:
        """⟨row_i, vector⟩, as four sums: one would wait for each addition before the next."""
        first, last = _span(self.indptr, i)
        k, one, two, three, four = first, 0.0, 0.0, 0.0, 0.0
        while k + np.uint64(4) <= last:
            j, m, q = k + np.uint64(1), k + np.uint64(2), k + np.uint64(3)
            one += row_entry(self, first, k) * vector[np.uint64(self.indices[k])]
            two += row_entry(self, first, j) * vector[np.uint64(self.indices[j])]
            three += row_entry(self, first, m) * vector[np.uint64(self.indices[m])]
            four += row_entry(self, first, q) * vector[np.uint64(self.indices[q])]
            k += np.uint64(4)
        while k < last:
            one += row_entry(self, first, k) * vector[np.uint64(self.indices[k])]
            one, two, three = two, three, one  # each to another sum
            k += np.uint64(1)
        return (one + two) + (three + four)

    def add(self, i: int, scale: float, out: FloatArray) -> None:
        """Out += scale · row_i."""
        first, last = _span(self.indptr, i)
        for k in range(first, last):
            out[np.uint64(self.indices[k])] += scale * row_entry(self, first, k)

    def add_back(self, i: int, scale: float, out: FloatArray) -> None:
        """Out += scale · row_i from its end, which is nearest where the row was just read."""
        first, k = _span(self.indptr, i)
        while k > first:
            k -= np.uint64(1)
            out[np.uint64(self.indices[k])] += scale * row_entry(self, first, k)

    def add_model(
        self, i: int, first: float, second: float, slope: FloatArray, curvature: FloatArray
    ) -> None:
        """Slope += first · row_i, curvature += second · row_i²."""
        begin, end = _span(self.indptr, i)
        for k in range(begin, end):
            j, x = np.uint64(self.indices[k]), row_entry(self, begin, k)
            slope[j] += first * x
            curvature[j] += second * x * x

    def products(
        self, first: int, last: int, vector: FloatArray, scales: FloatArray,
        dots: FloatArray, out: FloatArray
    ) -> None:  # fmt: skip
        """dots_i = ⟨row_i, vector⟩ and out += scales_i · row_i, one row after the other."""
        large = vector.size > FAR_VECTOR
        for i in range(np.uint64(first), np.uint64(last)):
            following: Any = i + np.uint64(1)
            if large and following < np.uint64(last):
                prefetch_targets(self, following, vector)
                prefetch_targets(self, following, out)
            if scales[i] != 0.0:
                dots[i] = _dot_and_add(self, i, vector, scales[i], out)
            else:
                dots[i] = row_dot(self, i, vector)

    def hessian_product(
        self, h: FloatArray, vector: FloatArray, shift: float, dots: FloatArray, out: FloatArray
    ) -> float:
        """Out += Σ_i h_i dots_i row_i, dots_i = ⟨row_i, vector⟩ + shift; zero h_i are skipped."""
        energy, large = 0.0, vector.size > FAR_VECTOR
        for i in range(np.uint64(h.size)):
            if h[i] != 0.0:
                following: Any = i + np.uint64(1)
                if large and following < np.uint64(h.size):
                    prefetch_targets(self, following, vector)
                    prefetch_targets(self, following, out)
                dot = row_dot(self, i, vector) + shift
                scale = h[i] * dot
                energy += scale * dot
                row_add_back(self, i, scale, out)
                dots[i] = dot  # at last: where the row is would be looked up again behind it
        return energy

    def prefetch(self, i: int, later: int) -> None:
        """Prefetch row_i, line by line, and where row ``later`` begins."""
        prefetch(self.indptr, later)
        if self.values.size <= FAR:
            prefetch_row_near(self, i)
            return
        first = self.indptr[i]
        last = min(self.indptr[i + 1], first + PREFETCHED)
        for k in range(first, row_valued(self, first, last), 8):
            prefetch_far(self.values, k)
        for k in range(first, last, 16):
            prefetch_far(self.indices, k)

    def prefetch_near(self, i: int) -> None:
        """Prefetch row_i, line by line, into the first cache."""
        first = self.indptr[i]
        last = min(self.indptr[i + 1], first + PREFETCHED)
        for k in range(first, row_valued(self, first, last), 8):
            prefetch(self.values, k)
        for k in range(first, last, 16):
            prefetch(self.indices, k)

    def prefetch_targets(self, i: int, vector: FloatArray) -> None:
        """Prefetch the entries of ``vector``, or its rows, that row_i looks up."""
        most = np.uint64(TARGETS if vector.ndim == 1 else PREFETCHED)
        first = np.uint64(self.indptr[i])
        last = min(np.uint64(self.indptr[i + 1]), first + most)
        _prefetch_entries(self, first, last, vector)

    def slope(self, i: int, loss: Any, z: FloatArray, y: FloatArray, c: FloatArray) -> float:
        """Σ_j c_j φ'(z_j; y_j) · row_i[j]."""
        total = 0.0
        first, last = _span(self.indptr, i)
        for k in range(first, last):
            j = np.uint64(self.indices[k])
            total += c[j] * loss_derivative(loss, z[j], y[j]) * row_entry(self, first, k)
        return total

    def model_slope(self, i: int, model: FloatArray) -> tuple[float, float]:
        """Σ_j model[j, 0] · row_i[j] and Σ_j model[j, 1] · row_i[j]²."""
        slope, curvature = 0.0, 0.0
        # Block by block; those entries of the model that the next one meets are prefetched.
        first, last = _span(self.indptr, i)
        block = np.uint64(PREFETCHED) if model.size > FAR_MODEL else last - first
        start = first
        while start < last:
            stop = min(start + block, last)
            _prefetch_entries(self, stop, min(stop + block, last), model)
            for k in range(start, stop):
                j, x = np.uint64(self.indices[k]), row_entry(self, first, k)
                slope += model[j, 0] * x
                curvature += model[j, 1] * x * x
            start = stop
        return slope, curvature

    def model_add(self, i: int, scale: float, model: FloatArray) -> None:
        """model[j, 0] += scale · model[j, 1] · row_i[j]."""
        first, last = _span(self.indptr, i)
        for k in range(first, last):
            j = np.uint64(self.indices[k])
            model[j, 0] += scale * model[j, 1] * row_entry(self, first, k)


class EvenRows(SparseRows):
    """Sparse rows within each of which all values are equal: only the first one is read.

    So are counts and indicators that were scaled to length 1. A value takes twice the memory of an
    index: where the data comes from memory, most of the traffic is saved.
    """

    __slots__ = ()

    def entry(self, first: Any, k: Any) -> float:
        """The row's value."""
        return np.float64(self.values[first])

    def valued(self, first: Any, last: Any) -> Any:
        """Behind the first."""
        return first + 1


class UnitRows(SparseRows):
    """Sparse rows all of whose values are 1, as categories make them: none is read."""

    __slots__ = ()

    def entry(self, first: Any, k: Any) -> float:
        """1."""
        return 1.0

    def valued(self, first: Any, last: Any) -> Any:
        """At once."""
        return first


class DenseRows(NamedTuple):
    """Rows stored as a C-contiguous array."""

    values: FloatArray

    def begin(self, i: int) -> Any:
        """0."""
        return np.uint64(0)

    def end(self, i: int) -> Any:
        """The number of columns."""
        return np.uint64(self.values.shape[1])

    def column(self, i: int, k: Any) -> Any:
        """Return k."""
        return k

    def value(self, i: int, k: Any) -> float:
        """The entry at column k, which may be zero."""
        return np.float64(self.values[i, k])

    def dot(self, i: int, vector: FloatArray) -> float:
        """⟨row_i, vector⟩."""
        return _dense_dot(self.values, i, vector)

    def add(self, i: int, scale: float, out: FloatArray) -> None:
        """Out += scale · row_i."""
        for j in range(np.uint64(self.values.shape[1])):
            out[j] += scale * np.float64(self.values[i, j])

    def add_back(self, i: int, scale: float, out: FloatArray) -> None:
        """The same: a dense row is read as fast from its beginning."""
        for j in range(np.uint64(self.values.shape[1])):
            out[j] += scale * np.float64(self.values[i, j])

    def add_model(
        self, i: int, first: float, second: float, slope: FloatArray, curvature: FloatArray
    ) -> None:
        """Slope += first · row_i, curvature += second · row_i²."""
        for j in range(np.uint64(self.values.shape[1])):
            x = np.float64(self.values[i, j])
            slope[j] += first * x
            curvature[j] += second * x * x

    def add_four(self, i: int, a: float, b: float, c: float, e: float, out: FloatArray) -> None:
        """Out += a row_i + b row_{i+1} + …: four rows for one reading and writing of ``out``."""
        one, two = self.values[i], self.values[i + 1]
        three, four = self.values[i + 2], self.values[i + 3]
        for j in range(np.uint64(self.values.shape[1])):
            out[j] += (a * one[j] + b * two[j]) + (c * three[j] + e * four[j])

    def products(
        self, first: int, last: int, vector: FloatArray, scales: FloatArray,
        dots: FloatArray, out: FloatArray
    ) -> None:  # fmt: skip
        """dots_i = ⟨row_i, vector⟩ and out += scales_i · row_i, four rows at a time.

        Dot products go row by row, as memory is read fastest; then the four are in cache.
        """
        whole = first + (last - first) // 4 * 4
        for i in range(first, whole, 4):
            for k in range(i, i + 4):
                dots[k] = row_dot(self, k, vector)
            add_four(self, i, scales[i], scales[i + 1], scales[i + 2], scales[i + 3], out)
        for i in range(whole, last):
            dots[i] = row_dot(self, i, vector)
            row_add(self, i, scales[i], out)

    def hessian_product(
        self, h: FloatArray, vector: FloatArray, shift: float, dots: FloatArray, out: FloatArray
    ) -> float:
        """Out += Σ_i h_i dots_i row_i, dots_i = ⟨row_i, vector⟩ + shift; zero h_i are skipped."""
        energy, i, size = 0.0, 0, h.size
        while i < size:
            if h[i] == 0.0:
                i += 1
                continue
            last = min(i + 4, size)
            for k in range(i, last):
                dots[k] = row_dot(self, k, vector) + shift
                energy += h[k] * dots[k] * dots[k]
            if last == i + 4:
                add_four(
                    self, i, h[i] * dots[i], h[i + 1] * dots[i + 1], h[i + 2] * dots[i + 2],
                    h[i + 3] * dots[i + 3], out,
                )  # fmt: skip
            else:
                for k in range(i, last):
                    row_add(self, k, h[k] * dots[k], out)
            i = last
        return energy

    def prefetch(self, i: int, later: int) -> None:
        """Prefetch row_i, line by line."""
        width = self.values.shape[1]
        for j in range(0, min(width, PREFETCHED), 8):
            prefetch(self.values, i * width + j)

    def prefetch_near(self, i: int) -> None:
        """Nothing: it is prefetched already."""

    def prefetch_targets(self, i: int, vector: FloatArray) -> None:
        """Nothing: a dense row reads the vector from end to end."""

    def slope(self, i: int, loss: Any, z: FloatArray, y: FloatArray, c: FloatArray) -> float:
        """Σ_j c_j φ'(z_j; y_j) · row_i[j]."""
        total = 0.0
        for j in range(np.uint64(self.values.shape[1])):
            x = np.float64(self.values[i, j])
            if x != 0.0:
                total += c[j] * loss_derivative(loss, z[j], y[j]) * x
        return total

    def model_slope(self, i: int, model: FloatArray) -> tuple[float, float]:
        """Σ_j model[j, 0] · row_i[j] and Σ_j model[j, 1] · row_i[j]²."""
        slope, curvature = 0.0, 0.0
        for j in range(np.uint64(self.values.shape[1])):
            x = np.float64(self.values[i, j])
            slope += model[j, 0] * x
            curvature += model[j, 1] * x * x
        return slope, curvature

    def model_add(self, i: int, scale: float, model: FloatArray) -> None:
        """model[j, 0] += scale · model[j, 1] · row_i[j]."""
        for j in range(np.uint64(self.values.shape[1])):
            model[j, 0] += scale * model[j, 1] * np.float64(self.values[i, j])


Rows = SparseRows | DenseRows
