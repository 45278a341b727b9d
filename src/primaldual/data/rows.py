"""How data is stored, and nothing else.

With ``gram`` and ``matrix``, which stand on it, the only code that knows sparse from dense. A side
of the problem is a list of rows: the features (primal) or the examples (dual). Methods read rows
through three primitives, ``row_dot``, ``row_add`` and ``row_slope``, so each method has one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .._numba.compile import for_kernels, for_rows, inlined_in_loops
from .._types import FloatArray, IntArray
from ..losses import loss_derivative

# Indices are cast to unsigned integers inside the primitives: for signed ones the compiler has
# to emit code for negative indices, which costs 10-40 %.

# Products with more entries are made of several calls, so that Ctrl-C is heard between them.
ONE_CALL = 1 << 26

# In a random order a row is asked for so many visits before its own; where it begins, and what
# belongs to it, twice so many. Data of no more nonzeros than CACHED is in a near cache anyway, that
# of more than FAR in none.
AHEAD = 4
CACHED, FAR = 100_000, 2_500_000
# So many entries of a row are asked for; the processor sees the rest coming by itself. It does not
# see what they look up: of a vector, so many; a model is asked for along the way.
PREFETCHED, TARGETS = 128, 2048
# A core's own cache holds a vector of so many entries: what a row looks up in a larger one is asked
# for, one visit before.
CACHED_VECTOR = 130_000
# Where a vector has more entries than this, it pays to ask for those that the next row looks up
# even if rows are read in order.
FAR_VECTOR = 500_000
# Where a model has more numbers than this, a long row asks for them along the way.
FAR_MODEL = 200_000


def prefetch(array: Any, i: int) -> None:
    """Ask the memory for entry i of a contiguous array: a hint, which changes no number."""


def prefetch_far(array: Any, i: int) -> None:
    """The same, but only into the second cache: it can wait for more entries at a time."""


def _prefetch_entries(rows: Any, first: Any, last: Any, vector: Any) -> None:
    """Ask the memory for the entries of ``vector``, or its rows, that some stored values meet."""


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
        """Ask the memory for row_i, line by line, and for where row ``later`` begins."""
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
        """Ask for row_i, line by line, into the first cache."""
        first = self.indptr[i]
        last = min(self.indptr[i + 1], first + PREFETCHED)
        for k in range(first, row_valued(self, first, last), 8):
            prefetch(self.values, k)
        for k in range(first, last, 16):
            prefetch(self.indices, k)

    def prefetch_targets(self, i: int, vector: FloatArray) -> None:
        """Ask the memory for the entries of ``vector``, or its rows, that row_i looks up."""
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
        # Block by block, the next one's entries of the model asked for before.
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

    def dot(self, i: int, vector: FloatArray) -> float:
        """⟨row_i, vector⟩."""
        total = 0.0
        for j in range(np.uint64(self.values.shape[1])):
            total += np.float64(self.values[i, j]) * vector[j]
        return total

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
        """Ask the memory for row_i, line by line."""
        width = self.values.shape[1]
        for j in range(0, min(width, PREFETCHED), 8):
            prefetch(self.values, i * width + j)

    def prefetch_near(self, i: int) -> None:
        """Nothing: it has been asked for already."""

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


def row_entry(self: SparseRows, first: Any, k: Any) -> float:
    """The value at place k of the sparse row whose places begin at ``first``."""
    return self.entry(first, k)


def row_valued(self: SparseRows, first: Any, last: Any) -> Any:
    """Where the places end whose values are read of a sparse row."""
    return self.valued(first, last)


def row_dot(self: Rows, i: int, vector: FloatArray) -> float:
    """⟨row_i, vector⟩."""
    return self.dot(i, vector)


def row_add(self: Rows, i: int, scale: float, out: FloatArray) -> None:
    """Out += scale · row_i."""
    self.add(i, scale, out)


def row_add_back(self: Rows, i: int, scale: float, out: FloatArray) -> None:
    """Out += scale · row_i, where row_i was just read."""
    self.add_back(i, scale, out)


def row_slope(self: Rows, i: int, loss: Any, z: FloatArray, y: FloatArray, c: FloatArray) -> float:
    """Σ_j c_j φ'(z_j; y_j) · row_i[j]."""
    return self.slope(i, loss, z, y, c)


def prefetch_row(self: Rows, i: int, later: int) -> None:
    """Ask the memory for row_i, which will be read soon, and for where row ``later`` begins."""
    self.prefetch(i, later)


def prefetch_row_near(self: Rows, i: int) -> None:
    """Ask for row_i into the first cache, where ``prefetch_row`` asked only for the second one."""
    self.prefetch_near(i)


def prefetch_targets(self: Rows, i: int, vector: FloatArray) -> None:
    """Ask the memory for what row_i will look up in ``vector`` soon."""
    self.prefetch_targets(i, vector)


def row_add_model(
    self: Rows, i: int, first: float, second: float, slope: FloatArray, curvature: FloatArray
) -> None:
    """Slope += first · row_i, curvature += second · row_i²."""
    self.add_model(i, first, second, slope, curvature)


def rows_products(
    self: Rows, first: int, last: int, vector: FloatArray, scales: FloatArray,
    dots: FloatArray, out: FloatArray
) -> None:  # fmt: skip
    """dots_i = ⟨row_i, vector⟩ and out += scales_i · row_i for a range of rows, read once."""
    self.products(first, last, vector, scales, dots, out)


def hessian_product(
    self: Rows, h: FloatArray, vector: FloatArray, shift: float, dots: FloatArray, out: FloatArray
) -> float:
    """Out += Σ_i h_i dots_i row_i with dots_i = ⟨row_i, vector⟩ + shift; return Σ_i h_i dots_i².

    Rows with h_i = 0 may be left out, and then their dots_i too.
    """
    return self.hessian_product(h, vector, shift, dots, out)


def add_four(
    self: DenseRows, i: int, a: float, b: float, c: float, e: float, out: FloatArray
) -> None:
    """Add four rows, beginning at row_i, to ``out``."""
    self.add_four(i, a, b, c, e, out)


def model_slope(self: Rows, i: int, model: FloatArray) -> tuple[float, float]:
    """Slope and curvature along row_i of a quadratic model with those (slope, curvature) rows."""
    return self.model_slope(i, model)


def model_add(self: Rows, i: int, scale: float, model: FloatArray) -> None:
    """Move a quadratic model by scale · row_i."""
    self.model_add(i, scale, model)


# Dense dot products may be summed in any order, which lets the compiler use vector registers.
_reordered = partial(
    overload,
    jit_options={
        "error_model": "numpy",
        "forceinline": True,
        "fastmath": {"reassoc", "contract"},
    },
    strict=False,
)


@for_rows(row_entry)
def _row_entry(self: Any, first: Any, k: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.entry


@for_rows(row_valued)
def _row_valued(self: Any, first: Any, last: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.valued


@for_rows(row_dot)
def _row_dot(self: Any, i: Any, vector: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple) and issubclass(self.instance_class, SparseRows):
        return self.instance_class.dot


@_reordered(row_dot)
def _dense_row_dot(self: Any, i: Any, vector: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple) and self.instance_class is DenseRows:
        return self.instance_class.dot


@_reordered(model_slope)
def _model_slope(self: Any, i: Any, model: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.model_slope


@for_rows(model_add)
def _model_add(self: Any, i: Any, scale: Any, model: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.model_add


@for_rows(row_add)
def _row_add(self: Any, i: Any, scale: Any, out: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.add


@for_rows(row_add_back)
def _row_add_back(self: Any, i: Any, scale: Any, out: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.add_back


@for_rows(row_add_model)
def _row_add_model(self: Any, i: Any, first: Any, second: Any, slope: Any, curvature: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.add_model


@for_rows(rows_products)
def _rows_products(
    self: Any, first: Any, last: Any, vector: Any, scales: Any, dots: Any, out: Any
) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.products


@for_rows(hessian_product)
def _hessian_product(self: Any, h: Any, vector: Any, shift: Any, dots: Any, out: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.hessian_product


@for_rows(add_four)
def _add_four(self: Any, i: Any, a: Any, b: Any, c: Any, e: Any, out: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.add_four


@for_rows(prefetch_row)
def _prefetch_row(self: Any, i: Any, later: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.prefetch


@for_rows(prefetch_row_near)
def _prefetch_row_near(self: Any, i: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.prefetch_near


@for_kernels(prefetch_targets)
def _prefetch_targets(self: Any, i: Any, vector: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.prefetch_targets


def _hint(locality: int) -> Any:
    """The processor's own instruction: 3 asks into all caches, 2 into all but the first."""

    @intrinsic
    def prefetched(typing: Any, array: Any, i: Any) -> Any:

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
            # To be read, into which cache, data.
            builder.call(hint, [place, *(ir.Constant(number, v) for v in (0, locality, 1))])
            return context.get_dummy_value()

        return types.void(array, types.intp), generate

    return prefetched


_into_first, _into_second = _hint(3), _hint(2)


@for_rows(prefetch)
def _prefetch(array: Any, i: Any) -> Any:
    def ask(array, i):  # type: ignore[no-untyped-def]
        _into_first(array, i)

    return ask


@for_rows(prefetch_far)
def _prefetch_far(array: Any, i: Any) -> Any:
    def ask(array, i):  # type: ignore[no-untyped-def]
        _into_second(array, i)

    return ask


@for_kernels(_prefetch_entries)
def _prefetched_entries(rows: Any, first: Any, last: Any, vector: Any) -> Any:
    def ask(rows, first, last, vector):  # type: ignore[no-untyped-def]
        width = vector.size // vector.shape[0]
        for k in range(first, last):
            prefetch_far(vector, width * rows.indices[k])

    return ask


@for_rows(row_slope)
def _row_slope(self: Any, i: Any, loss: Any, z: Any, y: Any, c: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.slope


# --------------------------------------------------------------------------------------------
# In pieces, so that Ctrl-C is heard between them


def blocks(values: FloatArray, entries: int = 1 << 20) -> Iterator[slice]:
    """Slices of whole rows with about ``entries`` numbers each."""
    step = max(1, entries // max(1, values.shape[1]))
    for first in range(0, len(values), step):
        yield slice(first, min(first + step, len(values)))


def row_ranges(before: IntArray, most: int = ONE_CALL) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about that much work, so that Ctrl-C is heard between them.

    ``before`` is the work before each row, as ``indptr`` counts the nonzeros.
    """
    first, length = 0, len(before) - 1
    while first < length:
        last = length
        if before[-1] - before[first] > most:
            last = max(first + 1, int(np.searchsorted(before, before[first] + most)) - 1)
        yield first, last
        first = last
