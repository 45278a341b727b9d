"""How data is stored, and nothing else: the only code that knows sparse from dense.

A side of the problem is a list of rows: the features (primal) or the examples (dual). Methods
read rows through three primitives, ``row_dot``, ``row_add`` and ``row_slope``, so each
method has one kernel. ``Matrix`` owns both layouts of the data and builds the second one only
when it is asked for.
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
from scipy import sparse

from ._cached import cached_property
from ._compile import for_kernels, for_rows, inlined_in_loops, kernel, reordered_kernel
from ._types import FloatArray, IntArray
from .losses import loss_derivative

# Indices are cast to unsigned integers inside the primitives: for signed ones the compiler has
# to emit code for negative indices, which costs 10-40 %.

# Up to so many entries BLAS multiplies fastest; beyond the caches, rows that are read in order do.
BLAS_ENTRIES = 4_000_000

# Products with more entries are made of several calls, so that Ctrl-C is heard between them.
ONE_CALL = 1 << 26

# Dense Gram matrices are summed over at least this many rows at a time, in tiles this wide.
GRAM_DEPTH = 256
GRAM_TILE = 1024
# Those of no more rows than this in tiles of 4 × 4 inner products, along so many entries of the
# rows, which stay in a near cache: BLAS takes 1.1 to 2 times as long.
FEW_ROWS, ALONG = 200, 1024

# Examples whose angles are looked at, and in how many features, for an example of all.
SAMPLE = 8
SAMPLE_FEATURES = 16

# In a random order a row is asked for so many visits before its own; where it begins, and what
# belongs to it, twice so many. Data of no more nonzeros than CACHED is in a near cache anyway, that
# of more than FAR in none.
AHEAD = 4
CACHED, FAR = 100_000, 2_500_000
# So many entries of a row are asked for; the processor sees the rest coming by itself. It does not
# see what they look up: of that, so many.
FETCHED, TARGETS = 128, 2048
# A core's own cache holds a vector of so many entries: what a row looks up in a larger one is asked
# for, one visit before.
CACHED_VECTOR = 130_000
# Where a vector has more entries than this, it pays to ask for those that the next row looks up
# even if rows are read in order.
FAR_VECTOR = 500_000
# Where both layouts are there, a product looks up the vector that is shorter by this factor.
MUCH_SHORTER = 8
# Where a model has more numbers than this, a long row asks for them along the way.
FAR_MODEL = 200_000


def prefetch(array: Any, i: int) -> None:
    """Ask the memory for entry i of a contiguous array: a hint, which changes no number."""


def prefetch_far(array: Any, i: int) -> None:
    """The same, but only into the second cache: it can wait for more entries at a time."""


def _ask_for(rows: Any, first: Any, last: Any, vector: Any) -> None:
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
    k, last = _span(rows.indptr, i)
    one, two = 0.0, 0.0
    while k + np.uint64(2) <= last:
        j, m = np.uint64(rows.indices[k]), np.uint64(rows.indices[k + np.uint64(1)])
        x, y = np.float64(rows.values[k]), np.float64(rows.values[k + np.uint64(1)])
        one += x * vector[j]
        two += y * vector[m]
        out[j] += scale * x
        out[m] += scale * y
        k += np.uint64(2)
    while k < last:
        j, x = np.uint64(rows.indices[k]), np.float64(rows.values[k])
        one += x * vector[j]
        out[j] += scale * x
        k += np.uint64(1)
    return one + two


class SparseRows(NamedTuple):
    """Rows stored as CSR: row i has values[indptr[i]:indptr[i+1]] at columns indices[…]."""

    indptr: IntArray
    indices: IntArray
    values: FloatArray

    def dot(self, i: int, vector: FloatArray) -> float:
        """⟨row_i, vector⟩, as four sums: one would wait for each addition before the next."""
        k, last = _span(self.indptr, i)
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        while k + np.uint64(4) <= last:
            j, m, q = k + np.uint64(1), k + np.uint64(2), k + np.uint64(3)
            one += np.float64(self.values[k]) * vector[np.uint64(self.indices[k])]
            two += np.float64(self.values[j]) * vector[np.uint64(self.indices[j])]
            three += np.float64(self.values[m]) * vector[np.uint64(self.indices[m])]
            four += np.float64(self.values[q]) * vector[np.uint64(self.indices[q])]
            k += np.uint64(4)
        while k < last:
            one += np.float64(self.values[k]) * vector[np.uint64(self.indices[k])]
            one, two, three = two, three, one  # each to another sum
            k += np.uint64(1)
        return (one + two) + (three + four)

    def add(self, i: int, scale: float, out: FloatArray) -> None:
        """Out += scale · row_i."""
        first, last = _span(self.indptr, i)
        for k in range(first, last):
            out[np.uint64(self.indices[k])] += scale * np.float64(self.values[k])

    def add_model(
        self, i: int, first: float, second: float, slope: FloatArray, curvature: FloatArray
    ) -> None:
        """Slope += first · row_i, curvature += second · row_i²."""
        begin, end = _span(self.indptr, i)
        for k in range(begin, end):
            j, x = np.uint64(self.indices[k]), np.float64(self.values[k])
            slope[j] += first * x
            curvature[j] += second * x * x

    def both(
        self, first: int, last: int, vector: FloatArray, scales: FloatArray,
        dots: FloatArray, out: FloatArray
    ) -> None:  # fmt: skip
        """dots_i = ⟨row_i, vector⟩ and out += scales_i · row_i, one row after the other."""
        if vector.size <= FAR_VECTOR:
            for i in range(np.uint64(first), np.uint64(last)):
                if scales[i] != 0.0:
                    dots[i] = _dot_and_add(self, i, vector, scales[i], out)
                else:
                    dots[i] = row_dot(self, i, vector)
            return
        # What a row looks up in both lies side by side, and is asked for one row before.
        pairs = np.empty((vector.size, 2))
        pairs[:, 0], pairs[:, 1] = vector, 0.0
        for i in range(np.uint64(first), np.uint64(last)):
            following: Any = i + np.uint64(1)
            if following < np.uint64(last):
                fetch_targets(self, following, pairs)
            dots[i] = _dot_and_add(self, i, pairs[:, 0], scales[i], pairs[:, 1])
        out += pairs[:, 1]

    def bend(
        self, h: FloatArray, vector: FloatArray, shift: float, dots: FloatArray, out: FloatArray
    ) -> float:
        """Out += Σ_i h_i dots_i row_i, dots_i = ⟨row_i, vector⟩ + shift; rows with h_i = 0 rest."""
        energy, large = 0.0, vector.size > FAR_VECTOR
        for i in range(np.uint64(h.size)):
            if h[i] != 0.0:
                following: Any = i + np.uint64(1)
                if large and following < np.uint64(h.size):
                    fetch_targets(self, following, vector)
                    fetch_targets(self, following, out)
                dot = row_dot(self, i, vector) + shift
                scale = h[i] * dot
                energy += scale * dot
                row_add(self, i, scale, out)
                dots[i] = dot  # at last: where the row is would be looked up again behind it
        return energy

    def fetch(self, i: int, later: int) -> None:
        """Ask the memory for row_i, line by line, and for where row ``later`` begins."""
        prefetch(self.indptr, later)
        if self.values.size <= FAR:
            row_bring(self, i)
            return
        first = self.indptr[i]
        last = min(self.indptr[i + 1], first + FETCHED)
        for k in range(first, last, 8):
            prefetch_far(self.values, k)
        for k in range(first, last, 16):
            prefetch_far(self.indices, k)

    def bring(self, i: int) -> None:
        """Ask for row_i, line by line, into the first cache."""
        first = self.indptr[i]
        last = min(self.indptr[i + 1], first + FETCHED)
        for k in range(first, last, 8):
            prefetch(self.values, k)
        for k in range(first, last, 16):
            prefetch(self.indices, k)

    def fetch_targets(self, i: int, vector: FloatArray) -> None:
        """Ask the memory for the entries of ``vector``, or its rows, that row_i looks up."""
        first = np.uint64(self.indptr[i])
        last = min(np.uint64(self.indptr[i + 1]), first + np.uint64(TARGETS))
        _ask_for(self, first, last, vector)

    def slope(self, i: int, loss: Any, z: FloatArray, y: FloatArray, c: FloatArray) -> float:
        """Σ_j c_j φ'(z_j; y_j) · row_i[j]."""
        total = 0.0
        first, last = _span(self.indptr, i)
        for k in range(first, last):
            j = np.uint64(self.indices[k])
            total += c[j] * loss_derivative(loss, z[j], y[j]) * np.float64(self.values[k])
        return total

    def model_slope(self, i: int, model: FloatArray) -> tuple[float, float]:
        """Σ_j model[j, 0] · row_i[j] and Σ_j model[j, 1] · row_i[j]²."""
        slope, curvature = 0.0, 0.0
        # Block by block, the next one's entries of the model asked for before.
        first, last = _span(self.indptr, i)
        block = np.uint64(FETCHED) if model.size > FAR_MODEL else last - first
        while first < last:
            stop = min(first + block, last)
            _ask_for(self, stop, min(stop + block, last), model)
            for k in range(first, stop):
                j, x = np.uint64(self.indices[k]), np.float64(self.values[k])
                slope += model[j, 0] * x
                curvature += model[j, 1] * x * x
            first = stop
        return slope, curvature

    def model_add(self, i: int, scale: float, model: FloatArray) -> None:
        """model[j, 0] += scale · model[j, 1] · row_i[j]."""
        first, last = _span(self.indptr, i)
        for k in range(first, last):
            j = np.uint64(self.indices[k])
            model[j, 0] += scale * model[j, 1] * np.float64(self.values[k])


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

    def both(
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

    def bend(
        self, h: FloatArray, vector: FloatArray, shift: float, dots: FloatArray, out: FloatArray
    ) -> float:
        """Out += Σ_i h_i dots_i row_i, dots_i = ⟨row_i, vector⟩ + shift; rows with h_i = 0 rest."""
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

    def fetch(self, i: int, later: int) -> None:
        """Ask the memory for row_i, line by line."""
        width = self.values.shape[1]
        for j in range(0, min(width, FETCHED), 8):
            prefetch(self.values, i * width + j)

    def bring(self, i: int) -> None:
        """Nothing: it has been asked for already."""

    def fetch_targets(self, i: int, vector: FloatArray) -> None:
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


def row_dot(self: Rows, i: int, vector: FloatArray) -> float:
    """⟨row_i, vector⟩."""
    return self.dot(i, vector)


def row_add(self: Rows, i: int, scale: float, out: FloatArray) -> None:
    """Out += scale · row_i."""
    self.add(i, scale, out)


def row_slope(self: Rows, i: int, loss: Any, z: FloatArray, y: FloatArray, c: FloatArray) -> float:
    """Σ_j c_j φ'(z_j; y_j) · row_i[j]."""
    return self.slope(i, loss, z, y, c)


def row_fetch(self: Rows, i: int, later: int) -> None:
    """Ask the memory for row_i, which will be read soon, and for where row ``later`` begins."""
    self.fetch(i, later)


def row_bring(self: Rows, i: int) -> None:
    """Ask for row_i into the first cache, where ``row_fetch`` asked only for the second one."""
    self.bring(i)


def fetch_targets(self: Rows, i: int, vector: FloatArray) -> None:
    """Ask the memory for what row_i will look up in ``vector`` soon."""
    self.fetch_targets(i, vector)


def row_add_model(
    self: Rows, i: int, first: float, second: float, slope: FloatArray, curvature: FloatArray
) -> None:
    """Slope += first · row_i, curvature += second · row_i²."""
    self.add_model(i, first, second, slope, curvature)


def rows_both(
    self: Rows, first: int, last: int, vector: FloatArray, scales: FloatArray,
    dots: FloatArray, out: FloatArray
) -> None:  # fmt: skip
    """dots_i = ⟨row_i, vector⟩ and out += scales_i · row_i for a range of rows, read once."""
    self.both(first, last, vector, scales, dots, out)


def rows_bend(
    self: Rows, h: FloatArray, vector: FloatArray, shift: float, dots: FloatArray, out: FloatArray
) -> float:
    """Out += Σ_i h_i dots_i row_i with dots_i = ⟨row_i, vector⟩ + shift; return Σ_i h_i dots_i².

    Rows with h_i = 0 may be left out, and then their dots_i too.
    """
    return self.bend(h, vector, shift, dots, out)


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


@for_rows(row_dot)
def _row_dot(self: Any, i: Any, vector: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple) and self.instance_class is SparseRows:
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


@for_rows(row_add_model)
def _row_add_model(self: Any, i: Any, first: Any, second: Any, slope: Any, curvature: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.add_model


@for_rows(rows_both)
def _rows_both(
    self: Any, first: Any, last: Any, vector: Any, scales: Any, dots: Any, out: Any
) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.both


@for_rows(rows_bend)
def _rows_bend(self: Any, h: Any, vector: Any, shift: Any, dots: Any, out: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.bend


@for_rows(add_four)
def _add_four(self: Any, i: Any, a: Any, b: Any, c: Any, e: Any, out: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.add_four


@for_rows(row_fetch)
def _row_fetch(self: Any, i: Any, later: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.fetch


@for_rows(row_bring)
def _row_bring(self: Any, i: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.bring


@for_kernels(fetch_targets)
def _fetch_targets(self: Any, i: Any, vector: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return self.instance_class.fetch_targets


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


@for_kernels(_ask_for)
def _asked_for(rows: Any, first: Any, last: Any, vector: Any) -> Any:
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
# Both layouts of one matrix


class Matrix:
    """The data X (n examples, d features), by example and by feature.

    The layout the input came in is used as it is, without a copy; the other one is built on
    first use. Everything that can be known without the second layout (products, counts,
    squared norms of both sides) is computed from the first.

    Parameters
    ----------
    X : array or SciPy sparse matrix of shape (n, d)
        float64 and float32 values are kept as they are, other real types become float64.
    """

    def __init__(self, X: Any) -> None:
        rows: Rows
        if sparse.issparse(X):
            rows, by = _checked_sparse(X)
            if len(rows.values) == X.shape[0] * X.shape[1]:
                # Nothing is left out: the values are dense rows as they stand.
                rows = DenseRows(rows.values.reshape(len(rows.indptr) - 1, -1))
                self.nnz = rows.values.size
        else:
            rows, by, self.nnz = _checked_dense(X)
        self._hold(rows, by, (int(X.shape[0]), int(X.shape[1])))

    def _hold(self, rows: Rows, by: str, shape: tuple[int, int]) -> None:
        self._major, self._by, self.shape = rows, by, shape
        self.is_sparse = isinstance(rows, SparseRows)

    @property
    def stored(self) -> Rows:
        """The rows as they came, by example or by feature."""
        return self._major

    @property
    def in_one_call(self) -> bool:
        """Whether the data came by example and one product with it takes but a moment."""
        return self._by == "example" and self._major.values.size <= ONE_CALL

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values: float64 or float32."""
        return self._major.values.dtype

    @cached_property
    def by_example(self) -> Rows:
        """The n examples as rows."""
        return self._major if self._by == "example" else _transposed(self._major, self.shape[0])

    @cached_property
    def by_feature(self) -> Rows:
        """The d features as rows."""
        return self._major if self._by == "feature" else _transposed(self._major, self.shape[1])

    @cached_property
    def nnz(self) -> int:
        """‖X‖₀, the number of entries different from zero."""
        if isinstance(self._major, SparseRows):
            return len(self._major.values)
        return finite_nonzeros(self._major.values)

    def counts(self, by: str) -> IntArray:
        """‖row‖₀ of every example or feature."""
        if isinstance(self._major, DenseRows):
            return self._dense_counts[by != self._by]
        return np.diff(self._major.indptr) if by == self._by else self._across[0]

    def squared_norms(self, by: str, column_weights: FloatArray | None = None) -> FloatArray:
        """Σ_j c_j row_i[j]² for every example or feature; c = 1 unless given."""
        rows, along = self._major, by == self._by
        if isinstance(rows, SparseRows) and column_weights is None and not along:
            return self._across[1].copy()
        length = self.shape[0] if by == "example" else self.shape[1]
        # One number stands for equal weights: no vector to make, nothing to look up.
        weights = np.ones(1) if column_weights is None else column_weights
        out = np.zeros(length)
        if isinstance(rows, SparseRows):
            (_sparse_squares_along if along else _sparse_squares_across)(rows, weights, out)
        else:
            for block in _blocks(rows.values, 1 << 24):
                if along:
                    _dense_squares_along(rows.values[block], weights, out[block])
                else:
                    part = weights if column_weights is None else weights[block]
                    _dense_squares_across(rows.values[block], part, out)
        return out

    @cached_property
    def _across(self) -> tuple[IntArray, FloatArray]:
        """Counts and squared norms of the columns of sparse rows, in one pass."""
        pairs = np.zeros((self.shape[1] if self._by == "example" else self.shape[0], 2))
        _sparse_columns(self._major, pairs)
        return pairs[:, 0].astype(np.int64), pairs[:, 1].copy()

    @cached_property
    def _dense_counts(self) -> tuple[IntArray, IntArray]:
        """‖·‖₀ of the rows and of the columns of dense rows."""
        values = self._major.values
        along = np.zeros(values.shape[0], dtype=np.int64)
        across = np.zeros(values.shape[1], dtype=np.int64)
        for block in _blocks(values, 1 << 24):
            _count_nonzeros(values[block], along[block], across)
        return along, across

    def times(self, w: FloatArray) -> FloatArray:
        """X w, accumulated in float64."""
        return self._product("example", w)

    def transposed_times(self, alpha: FloatArray) -> FloatArray:
        """Xᵀ α, accumulated in float64."""
        return self._product("feature", alpha)

    def both_products(self, w: FloatArray, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """X w and Xᵀ α from one reading of the data."""
        margins, sums = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        by_example = self._by == "example"
        arrays = (w, alpha, margins, sums) if by_example else (alpha, w, sums, margins)
        rows = self._major
        if rows.values.size <= ONE_CALL:
            _both(rows, 0, len(arrays[2]), *arrays)
            return margins, sums
        if isinstance(rows, SparseRows):
            ranges = _row_ranges(rows.indptr)
        else:
            ranges = ((part.start, part.stop) for part in _blocks(rows.values, ONE_CALL))
        for first, last in ranges:
            _both(rows, first, last, *arrays)
        return margins, sums

    def densified(self) -> Matrix:
        """The same matrix stored as dense rows."""
        if not self.is_sparse:
            return self
        rows = self.sparse_rows(self._by)
        shape = self.shape if self._by == "example" else self.shape[::-1]
        values = np.zeros(shape)
        _fill_dense(rows, values)
        made = _matrix(DenseRows(_frozen(values)), self._by, self.shape)
        made.nnz = self.nnz
        return made

    def take(self, examples: IntArray) -> Matrix:
        """The matrix of some of the examples, as a copy."""
        shape = (len(examples), self.shape[1])
        if isinstance(self._major, DenseRows):
            whole = self._major.values if self._by == "example" else self._major.values.T
            return _matrix(DenseRows(_frozen(_plain(whole[examples]))), "example", shape)
        rows = self.sparse_rows("example")
        indptr = np.concatenate([[0], np.cumsum(np.diff(rows.indptr)[examples])])
        indices = np.empty(indptr[-1], dtype=rows.indices.dtype)
        values = np.empty(indptr[-1], dtype=rows.values.dtype)
        _copy_rows(rows, examples, indices, values)
        return _matrix(_sparse_rows(indptr, indices, values), "example", shape)

    def squared_cosine(self) -> float:
        """The mean squared cosine of the angle between two examples of dense data, by a sample."""
        values = self._major.values if self._by == "example" else self._major.values.T
        # Random entries would add one over their number: little, compared with 1/n.
        enough = SAMPLE_FEATURES * len(values)
        some = values[:: -(-len(values) // SAMPLE), :enough].astype(np.float64, copy=False)
        gram = some @ some.T
        squares = gram.diagonal().copy()
        if len(some) < 2 or not 1e-150 < squares.min() <= squares.max() < 1e150:
            return 1.0  # nothing is known
        gram /= np.sqrt(np.outer(squares, squares))
        return float(np.vdot(gram, gram) - len(some)) / (len(some) * (len(some) - 1))

    def gram_of_features(self, h: FloatArray) -> FloatArray:
        """Xᵀ Diag(h) X for h ≥ 0, the lower triangle of which is filled."""
        return _gram(self.by_example, h, self.shape[1])

    def gram_of_examples(self) -> FloatArray:
        """X Xᵀ, the lower triangle of which is filled."""
        rows, (n, d) = self._major, self.shape
        if isinstance(rows, DenseRows) and self._by == "example":
            if n <= FEW_ROWS:
                return _small_gram(rows.values)
            out = np.zeros((n, n))
            width = max(GRAM_DEPTH, (1 << 20) // n)
            for first in range(0, d, width):
                part = rows.values[:, first : first + width].astype(np.float64, copy=False)
                _add_gram(part.T, out)
            return out
        return _gram(self.by_feature, np.ones(d), n)

    def sparse_rows(self, by: str) -> SparseRows:
        """The examples or features as sparse rows, also where the data is dense."""
        rows = self.by_example if by == "example" else self.by_feature
        if isinstance(rows, SparseRows):
            return rows
        stored = sparse.csr_array(rows.values)
        return _sparse_rows(stored.indptr, stored.indices, stored.data)

    def is_stored(self, by: str) -> bool:
        """Whether the rows are there by example or by feature, so that no copy has to be made."""
        return by == self._by or f"by_{by}" in self.__dict__

    def _product(self, by: str, vector: FloatArray) -> FloatArray:
        """One number per example or per feature, from whichever layout exists."""
        size, other = self.shape if by == "example" else self.shape[::-1]
        along = self.is_stored(by)
        if along and by != self._by and MUCH_SHORTER * size < other:
            along = False  # rows that are added up look up a vector that is in a nearer cache
        rows = getattr(self, f"by_{by}") if along else self._major
        if isinstance(rows, DenseRows):
            return _dense_product(rows.values, vector, along)
        out = np.zeros(size)
        for first, last in _row_ranges(rows.indptr):
            (_gather if along else _scatter)(rows, vector, first, last, out)
        return out


def _matrix(rows: Rows, by: str, shape: tuple[int, int]) -> Matrix:
    """A matrix of rows that are known to be sound."""
    made = Matrix.__new__(Matrix)
    made._hold(rows, by, shape)
    return made


@kernel
def _fill_dense(rows, values):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            values[i, rows.indices[k]] = rows.values[k]


def _dense_product(values: FloatArray, vector: FloatArray, along: bool) -> FloatArray:
    """Values @ vector, or its transpose, in float64 without a float64 copy of float32 data."""
    if values.dtype == np.float64 and values.size <= BLAS_ENTRIES:
        return values @ vector if along else vector @ values
    if values.dtype == np.float64:
        rows, out = DenseRows(values), np.zeros(values.shape[0 if along else 1])
        for block in _blocks(values, ONE_CALL):
            (_gather if along else _scatter)(rows, vector, block.start, block.stop, out)
        return out
    out = np.zeros(values.shape[0] if along else values.shape[1])
    for block in _blocks(values):
        part = values[block].astype(np.float64)
        if along:
            out[block] = part @ vector
        else:
            out += vector[block] @ part
    return out


def _blocks(values: FloatArray, entries: int = 1 << 20) -> Iterator[slice]:
    """Slices of whole rows with about ``entries`` numbers each."""
    step = max(1, entries // max(1, values.shape[1]))
    for first in range(0, len(values), step):
        yield slice(first, min(first + step, len(values)))


def _row_ranges(before: IntArray, most: int = ONE_CALL) -> Iterator[tuple[int, int]]:
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


@kernel
def _gather(rows, vector, first, last, out):  # type: ignore[no-untyped-def]
    large = vector.size > FAR_VECTOR
    for i in range(first, last):
        if large and i + 1 < last:
            fetch_targets(rows, i + 1, vector)
        out[i] = row_dot(rows, i, vector)


@kernel
def _scatter(rows, vector, first, last, out):  # type: ignore[no-untyped-def]
    large = out.size > FAR_VECTOR
    for i in range(first, last):
        if large and i + 1 < last:
            fetch_targets(rows, i + 1, out)
        if vector[i] != 0.0:
            row_add(rows, i, vector[i], out)


@kernel
def _both(rows, first, last, vector, scales, dots, out):  # type: ignore[no-untyped-def]
    rows_both(rows, first, last, vector, scales, dots, out)


@kernel
def _count_nonzeros(values, along, across):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        total = 0
        for j in range(np.uint64(values.shape[1])):
            nonzero = np.int64(values[i, j] != 0.0)
            total += nonzero
            across[j] += nonzero
        along[i] = total


@reordered_kernel
def _dense_squares_along(values, weights, out):  # type: ignore[no-untyped-def]
    equal = weights.size == 1
    for i in range(values.shape[0]):
        total = 0.0
        if equal:
            for j in range(np.uint64(values.shape[1])):
                total += np.float64(values[i, j]) * np.float64(values[i, j])
            out[i] = weights[0] * total
        else:
            for j in range(np.uint64(values.shape[1])):
                total += weights[j] * np.float64(values[i, j]) * np.float64(values[i, j])
            out[i] = total


@kernel
def _dense_squares_across(values, weights, out):  # type: ignore[no-untyped-def]
    equal = weights.size == 1
    for i in range(values.shape[0]):
        c = weights[0] if equal else weights[i]
        for j in range(np.uint64(values.shape[1])):
            out[j] += c * np.float64(values[i, j]) * np.float64(values[i, j])


@reordered_kernel
def _sparse_squares_along(rows, weights, out):  # type: ignore[no-untyped-def]
    equal = weights.size == 1
    for i in range(out.size):
        total = 0.0
        low, high = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
        if equal:
            for k in range(low, high):
                total += np.float64(rows.values[k]) * np.float64(rows.values[k])
            out[i] = weights[0] * total
        else:
            for k in range(low, high):
                x = np.float64(rows.values[k])
                total += weights[np.uint64(rows.indices[k])] * x * x
            out[i] = total


@kernel
def _sparse_columns(rows, pairs):  # type: ignore[no-untyped-def]
    """Side by side, the number of entries of every column and the sum of their squares."""
    for k in range(np.uint64(rows.values.size)):
        x = np.float64(rows.values[k])
        j = np.uint64(rows.indices[k])
        pairs[j, 0] += 1.0
        pairs[j, 1] += x * x


@kernel
def _sparse_squares_across(rows, weights, out):  # type: ignore[no-untyped-def]
    equal = weights.size == 1
    for i in range(rows.indptr.size - 1):
        c = weights[0] if equal else weights[i]
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            x = np.float64(rows.values[k])
            out[np.uint64(rows.indices[k])] += c * x * x


def _gram(rows: Rows, h: FloatArray, width: int) -> FloatArray:
    """Σ_i h_i row_iᵀ row_i: by BLAS for dense rows, by scattered products for sparse ones."""
    out = np.zeros((width, width))
    if isinstance(rows, SparseRows):
        squares = np.append(0, np.cumsum(np.diff(rows.indptr) ** 2))
        for first, last in _row_ranges(squares, 1 << 28):
            _sparse_gram(rows, h, first, last, out)
        return out
    used = np.flatnonzero(h)
    values = rows.values if len(used) == len(h) else rows.values[used]
    root = np.sqrt(h if len(used) == len(h) else h[used])
    if values.dtype == np.float64 and np.all(root == 1.0):
        for block in _blocks(values, 1 << 22):
            _add_gram(values[block], out)
        return out
    # Small enough for the scaled copy to stay in cache, but not so that ``out`` is all the traffic.
    for block in _blocks(values, max(1 << 17, GRAM_DEPTH * width)):
        _add_gram(values[block] * root[block, None], out)
    return out


def _add_gram(part: FloatArray, out: FloatArray) -> None:
    """Add the lower triangle of partᵀ part, in tiles: Ctrl-C is heard between calls of BLAS."""
    width = len(out)
    for first in range(0, width, GRAM_TILE):
        tile = part[:, first : first + GRAM_TILE]
        last = first + tile.shape[1]
        if first:
            out[first:last, :first] += tile.T @ part[:, :first]
        out[first:last, first:last] += tile.T @ tile


def _small_gram(values: FloatArray) -> FloatArray:
    """The lower triangle of values valuesᵀ, for few rows."""
    n, d = values.shape
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
            x = h[i] * rows.values[k]
            for m in range(low, k + np.uint64(1)):
                line[np.uint64(rows.indices[m])] += x * rows.values[m]


# Examples that are taken together when a Hessian of few dense features is summed: their entries of
# two features stay in the nearest cache.
HESSIAN_BLOCK = 1024


@kernel
def dense_hessian(features, first, second, H, g):  # type: ignore[no-untyped-def]
    """The lower triangle of X Diag(second) Xᵀ and X first, for the features as dense rows."""
    values, d = features.values, features.values.shape[0]
    H[:d, :d], g[:d] = 0.0, 0.0
    weighted = np.empty(HESSIAN_BLOCK)
    for start in range(0, first.size, HESSIAN_BLOCK):
        last = min(start + HESSIAN_BLOCK, first.size)
        add_to_hessian(values, start, first[start:last], second[start:last], weighted, H, g)


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


@kernel
def put_by_feature(examples, start, last, block):  # type: ignore[no-untyped-def]
    """Copy some dense examples into the columns of ``block``."""
    for j in range(start, last):
        for i in range(block.shape[0]):
            block[i, j - start] = examples.values[j, i]


@kernel
def _copy_rows(rows, chosen, indices, values):  # type: ignore[no-untyped-def]
    at = 0
    for i in chosen:
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            indices[at] = rows.indices[k]
            values[at] = rows.values[k]
            at += 1


def _transposed(rows: Rows, length: int) -> Rows:
    """The same data with rows and columns exchanged; ``length`` is the new number of rows."""
    if isinstance(rows, DenseRows):
        return DenseRows(_frozen(np.ascontiguousarray(rows.values.T)))
    shape = (len(rows.indptr) - 1, length)
    # SciPy gives the twin the wider of the two index types, and writes nothing into these arrays.
    fits = max(len(rows.values), *shape) < 2**31
    indptr = rows.indptr.astype(rows.indices.dtype) if fits else rows.indptr
    twin = sparse.csr_array((rows.values, rows.indices, indptr), shape=shape).tocsc()
    return _sparse_rows(twin.indptr, twin.indices, twin.data)


# --------------------------------------------------------------------------------------------
# At the door


def _frozen(array: Any) -> Any:
    """A read-only view: kernels see one array type, whatever the caller's flags are."""
    view = (array if type(array) is np.ndarray else np.asarray(array)).view()
    view.setflags(write=False)
    return view


def _plain(array: Any) -> Any:
    """``array`` contiguous and aligned, copied only if it is not."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned:
        return array
    return np.require(array, requirements=["C", "A"])


def _sparse_rows(indptr: Any, indices: Any, values: Any) -> SparseRows:
    return SparseRows(
        _frozen(np.ascontiguousarray(indptr, dtype=np.int64)), _frozen(indices), _frozen(values)
    )


def real_values(array: Any, name: str) -> Any:
    """``array`` with float64 or float32 values in native byte order; copied only if it must be."""
    if array.dtype.char in "df" and array.dtype.isnative:
        return array
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError(f"{name} must be real, got complex numbers. Pass {name}.real if meant.")
    if kind not in "fiub":
        raise ValueError(
            f"{name} must hold numbers, got dtype {array.dtype}. "
            "Encode text and categories as numbers first, then convert with astype(float)."
        )
    if array.dtype == np.float32 or array.dtype == np.float16:
        return array.astype(np.float32, copy=False)
    return array.astype(np.float64, copy=False)


def _checked_dense(X: Any) -> tuple[DenseRows, str, int]:
    """The rows, whether they are examples or features, and the number of nonzeros."""
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(
            "X must be a matrix, got rows of different lengths. Every example needs the same "
            "number of features."
        ) from error
    if array.dtype == object:
        raise ValueError(
            "X must hold numbers, got dtype object (mixed types, or rows of different lengths). "
            "Convert it with astype(float) first."
        )
    if array.ndim != 2:
        raise ValueError(
            f"X must have two dimensions (examples, features), got shape {array.shape}. "
            "Use X.reshape(-1, 1) for a single feature."
        )
    _require_entries(array.shape)
    array = real_values(array, "X")
    by = "example"
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        array, by = array.T, "feature"
    array = _plain(array)
    nonzeros = finite_nonzeros(array)
    if nonzeros < 0:
        raise _not_finite(array)
    return DenseRows(_frozen(array)), by, nonzeros


def _checked_sparse(X: Any) -> tuple[SparseRows, str]:
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (examples, features), got shape {X.shape}.")
    _require_entries(X.shape)
    by = "feature" if X.format == "csc" else "example"
    if X.format == "coo":
        for indices, size in zip(X.coords, X.shape, strict=True):
            if indices.size and (indices.min() < 0 or indices.max() >= size):
                raise ValueError(_BROKEN_MATRIX)
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    data = real_values(X.data, "X")
    if len(X.indices) != len(data):
        raise ValueError(
            f"X is not a valid sparse matrix: {len(X.indices)} indices for {len(data)} values. "
            "Build it again from its entries."
        )
    indptr, indices = X.indptr, X.indices
    length, width = X.shape if by == "example" else X.shape[::-1]
    rows = _sparse_rows(indptr, _plain(indices), _plain(data))
    verdict, nonzeros = _inspect(rows, length, width)
    if verdict == _BROKEN:
        raise ValueError(_BROKEN_MATRIX)
    rows = _used(rows)
    if nonzeros >= 0 and (verdict == _NOT_CANONICAL or nonzeros < len(rows.values)):
        kind = sparse.csr_array if by == "example" else sparse.csc_array
        copy = kind((data, indices, indptr), shape=X.shape, copy=True)
        copy.sum_duplicates()
        copy.eliminate_zeros()
        rows = _used(_sparse_rows(copy.indptr, copy.indices, copy.data))
        nonzeros = finite_nonzeros(rows.values)  # a sum may have overflowed
    if nonzeros < 0:
        raise _not_finite(rows.values)
    return rows, by


def _used(rows: SparseRows) -> SparseRows:
    """The rows without what may be stored behind the last one."""
    stored = int(rows.indptr[-1])
    if stored == len(rows.values):
        return rows
    return SparseRows(rows.indptr, rows.indices[:stored], rows.values[:stored])


_BROKEN_MATRIX = (
    "X is not a valid sparse matrix: an index lies outside the matrix or the row pointers "
    "do not increase. Build it again from its entries."
)
_CANONICAL, _NOT_CANONICAL, _BROKEN = 0, 1, 2


@kernel
def _inspect(rows, length, width):  # type: ignore[no-untyped-def]
    """Check the structure: valid at all, sorted, no duplicates; and count as ``_nonzeros`` does.

    Plain loops over whole arrays, one thing at a time: they run in vector registers.
    """
    indptr, indices = rows.indptr, rows.indices
    if indptr.size != length + 1 or indptr[0] != 0 or indptr[length] > indices.size:
        return _BROKEN, 0
    for i in range(length):
        if indptr[i + 1] < indptr[i]:
            return _BROKEN, 0
    stored = indptr[length]
    if stored == 0:
        return _CANONICAL, 0
    before, after = indices[: stored - 1], indices[1:stored]
    low, high = np.int64(indices[0]), np.int64(indices[0])
    not_rising = 0
    for k in range(after.size):
        low, high = min(low, np.int64(after[k])), max(high, np.int64(after[k]))
        not_rising += after[k] <= before[k]
    if low < 0 or high >= width:
        return _BROKEN, 0
    # Where a row begins, the column may well be smaller than the last one of the row before.
    for i in range(1, length):
        first = indptr[i]
        if 0 < first < indptr[i + 1]:
            not_rising -= indices[first] <= indices[first - 1]
    return _NOT_CANONICAL if not_rising else _CANONICAL, _nonzeros(rows.values[:stored])


def _require_entries(shape: tuple[int, ...]) -> None:
    if min(shape) == 0:
        raise ValueError(
            f"X must have at least one example and one feature, got shape {tuple(shape)}."
        )


def finite_nonzeros(values: Any) -> int:
    """How many of the values are not zero; -1 if one of them is NaN or infinite."""
    flat, total = values.reshape(-1), 0
    for first in range(0, flat.size, ONE_CALL):
        found = _nonzeros(flat[first : first + ONE_CALL])
        if found < 0:
            return -1
        total += found
    return total


@kernel
def _nonzeros(values):  # type: ignore[no-untyped-def]
    nonzeros, finite = 0, 0
    for k in range(values.size):
        nonzeros += values[k] != 0.0
        finite += abs(values[k]) < np.inf
    return nonzeros if finite == values.size else -1


def _not_finite(values: Any) -> ValueError:
    bad = ~np.isfinite(values)
    what = "NaN" if np.isnan(values).any() else "infinite values"
    return ValueError(
        f"X must be finite, got {what} in {int(bad.sum())} entries. "
        "Drop or impute them first (for example with sklearn.impute.SimpleImputer)."
    )
