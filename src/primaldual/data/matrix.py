"""The data X, by example and by feature, checked where it comes in."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._cached import cached_property
from .._numba.compile import kernel, reordered_kernel
from .._types import FloatArray, IntArray
from .gram import dense_gram, gram
from .rows import (
    FAR_VECTOR,
    ONE_CALL,
    DenseRows,
    EvenRows,
    Rows,
    SparseRows,
    UnitRows,
    blocks,
    prefetch_targets,
    row_add,
    row_dot,
    row_ranges,
    rows_products,
)

# Up to so many entries BLAS multiplies fastest; beyond the caches, rows that are read in order do.
BLAS_ENTRIES = 4_000_000

# Examples whose angles are looked at, and in how many features, for an example of all.
SAMPLE = 8
SAMPLE_FEATURES = 16

# Of fewer sparse values it does not matter whether they are read, and kernels need not be compiled
# once more for rows whose values are known.
MANY_VALUES = 10_000

# Where both layouts are there, a product looks up the vector that is shorter by this factor.
MUCH_SHORTER = 8


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
        """Take over rows that are known to be sound."""
        self._major, self._by, self.shape = rows, by, shape
        self.is_sparse = isinstance(rows, SparseRows)
        if self.is_sparse:
            self.nnz = len(rows.values)

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
            for block in blocks(rows.values, 1 << 24):
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
        for block in blocks(values, 1 << 24):
            _count_nonzeros(values[block], along[block], across)
        return along, across

    def times(self, w: FloatArray) -> FloatArray:
        """X w, accumulated in float64."""
        return self._product("example", w)

    def transposed_times(self, alpha: FloatArray) -> FloatArray:
        """Xᵀ α, accumulated in float64."""
        return self._product("feature", alpha)

    def products(self, w: FloatArray, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """X w and Xᵀ α from one reading of the data."""
        margins, sums = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        by_example = self._by == "example"
        arrays = (w, alpha, margins, sums) if by_example else (alpha, w, sums, margins)
        rows = self._major
        if rows.values.size <= ONE_CALL:
            _products(rows, 0, len(arrays[2]), *arrays)
            return margins, sums
        if isinstance(rows, SparseRows):
            ranges = row_ranges(rows.indptr)
        else:
            ranges = ((part.start, part.stop) for part in blocks(rows.values, ONE_CALL))
        for first, last in ranges:
            _products(rows, first, last, *arrays)
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
        return _matrix(type(rows)(*_sparse_rows(indptr, indices, values)), "example", shape)

    def squared_cosine(self) -> float:
        """The mean squared cosine of the angle between two examples of dense data, by a sample."""
        values = self._major.values if self._by == "example" else self._major.values.T
        # Random entries would add one over their number: little, compared with 1/n.
        enough = SAMPLE_FEATURES * len(values)
        some = values[:: -(-len(values) // SAMPLE), :enough].astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):  # very large entries: seen below
            gram = some @ some.T
        squares = gram.diagonal().copy()
        if len(some) < 2 or not 1e-150 < squares.min() <= squares.max() < 1e150:
            return 1.0  # nothing is known
        gram /= np.sqrt(np.outer(squares, squares))
        return float(np.vdot(gram, gram) - len(some)) / (len(some) * (len(some) - 1))

    def gram_of_features(self, h: FloatArray) -> FloatArray:
        """Xᵀ Diag(h) X for h ≥ 0, the lower triangle of which is filled."""
        return gram(self.by_example, h, self.shape[1])

    def gram_of_examples(self) -> FloatArray:
        """X Xᵀ, the lower triangle of which is filled."""
        rows, (n, d) = self._major, self.shape
        if isinstance(rows, DenseRows) and self._by == "example":
            return dense_gram(rows.values)
        return gram(self.by_feature, np.ones(d), n)

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
        for first, last in row_ranges(rows.indptr):
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
    made = _sparse_rows(twin.indptr, twin.indices, twin.data)
    return UnitRows(*made) if isinstance(rows, UnitRows) else made


# --------------------------------------------------------------------------------------------
# At the door


def _frozen(array: Any) -> Any:
    """A read-only view: kernels see one array type, whatever the caller's flags are."""
    view = (array if type(array) is np.ndarray else np.asarray(array)).view()
    view.setflags(write=False)
    return view


def is_plain(array: Any) -> bool:
    """Whether an array is contiguous and aligned, as kernels want it."""
    return bool(array.flags.num & _PLAIN == _PLAIN)


_PLAIN = 0x001 | 0x100  # NumPy's C_CONTIGUOUS and ALIGNED: one look instead of two


def _plain(array: Any) -> Any:
    """``array`` contiguous and aligned, copied only if it is not."""
    return array if is_plain(array) else np.require(array, requirements=["C", "A"])


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
    shape, form = X.shape, X.format
    if len(shape) != 2:
        raise ValueError(f"X must have two dimensions (examples, features), got shape {shape}.")
    _require_entries(shape)
    by = "feature" if form == "csc" else "example"
    if form == "coo":
        for indices, size in zip(X.coords, shape, strict=True):
            if indices.size and (indices.min() < 0 or indices.max() >= size):
                raise ValueError(_BROKEN_MATRIX)
    if form not in ("csr", "csc"):
        X = X.tocsr()
    indptr, indices, data = X.indptr, X.indices, real_values(X.data, "X")
    if len(indices) != len(data):
        raise ValueError(
            f"X is not a valid sparse matrix: {len(indices)} indices for {len(data)} values. "
            "Build it again from its entries."
        )
    length, width = shape if by == "example" else shape[::-1]
    rows = _sparse_rows(indptr, _plain(indices), _plain(data))
    verdict, nonzeros = _inspect(rows, length, width)
    if verdict == _BROKEN:
        raise ValueError(_BROKEN_MATRIX)
    rows = _used(rows)
    if nonzeros >= 0 and (verdict == _NOT_CANONICAL or nonzeros < len(rows.values)):
        kind = sparse.csr_array if by == "example" else sparse.csc_array
        copy = kind((data, indices, indptr), shape=shape, copy=True)
        copy.sum_duplicates()
        copy.eliminate_zeros()
        rows = _used(_sparse_rows(copy.indptr, copy.indices, copy.data))
        nonzeros = finite_nonzeros(rows.values)  # a sum may have overflowed
    if nonzeros < 0:
        raise _not_finite(rows.values)
    if nonzeros >= MANY_VALUES:
        rows = (SparseRows, EvenRows, UnitRows)[_likeness(rows.indptr, rows.values)](*rows)
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
_UNLIKE, _EVEN, _UNIT = 0, 1, 2  # how alike the stored values are


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


@kernel
def _likeness(indptr, values):  # type: ignore[no-untyped-def]
    """Whether all values are 1, or equal within each row; mostly one row is enough to know."""
    if values[0] == 1.0:
        ones = 0
        for k in range(values.size):
            ones += values[k] == 1.0
        if ones == values.size:
            return _UNIT
    for i in range(indptr.size - 1):
        first, others = np.uint64(indptr[i]), 0
        for k in range(first, np.uint64(indptr[i + 1])):
            others += values[k] != values[first]
        if others:
            return _UNLIKE
    return _EVEN


def _require_entries(shape: tuple[int, ...]) -> None:
    if min(shape) == 0:
        raise ValueError(
            f"X must have at least one example and one feature, got shape {tuple(shape)}."
        )


def finite_nonzeros(values: Any) -> int:
    """How many of the values are not zero; -1 if one of them is NaN or infinite."""
    if values.ndim == 1 and values.size <= ONE_CALL:
        return int(_nonzeros(values))
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
