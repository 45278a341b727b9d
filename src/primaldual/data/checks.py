"""The data checked where it comes in: a matrix of finite numbers, stored as kernels want it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._numba.compile import kernel
from .pieces import ONE_CALL
from .rows import DenseRows, EvenRows, Rows, SparseRows, UnitRows

# Of fewer sparse values it does not matter whether they are read, and kernels need not be compiled
# once more for rows whose values are known.
MANY_VALUES = 10_000


_PLAIN = 0x001 | 0x100  # NumPy's C_CONTIGUOUS and ALIGNED: one look instead of two


def plain(values: Any, dtype: Any = None) -> Any:
    """The values as an array, contiguous and aligned, copied only if they are not."""
    array = np.asarray(values, dtype=dtype)
    if array.flags.num & _PLAIN == _PLAIN:
        return array
    return array.copy()


def frozen(values: Any, dtype: Any = None) -> Any:
    """A read-only view: kernels see one array type, whatever the caller's flags are."""
    view = plain(values, dtype).view()
    view.setflags(write=False)
    return view


class Stored(NamedTuple):
    """A sound matrix as it is stored."""

    rows: Rows
    by: str  # what the rows are: "example" or "feature"
    shape: tuple[int, int]
    nnz: int | None = None  # if known


def sparse_rows(indptr: Any, indices: Any, values: Any) -> SparseRows:
    """Sparse rows of three arrays."""
    return SparseRows(frozen(indptr, np.int64), frozen(indices), frozen(values))


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


def checked_dense(X: Any) -> Stored:
    """The rows of an array, or of what can be made one."""
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
    if min(array.shape) == 0:
        raise ValueError(_NO_ENTRIES.format(array.shape))
    shape, by, array = array.shape, "example", real_values(array, "X")
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        array, by = array.T, "feature"
    array = frozen(array)
    nonzeros = finite_nonzeros(array)
    if nonzeros < 0:
        raise _not_finite(array)
    return Stored(DenseRows(array), by, shape, nonzeros)


def checked_sparse(X: Any) -> Stored:
    """The rows of a SciPy matrix in canonical form; dense ones if it has no zeros."""
    shape, form = X.shape, X.format
    if len(shape) != 2:
        raise ValueError(f"X must have two dimensions (examples, features), got shape {shape}.")
    if min(shape) == 0:
        raise ValueError(_NO_ENTRIES.format(shape))
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
    rows = sparse_rows(indptr, indices, data)
    verdict, nonzeros, likeness = inspect(rows, length, width)
    if verdict == BROKEN:
        raise ValueError(_BROKEN_MATRIX)
    if nonzeros >= 0 and (verdict == NOT_CANONICAL or nonzeros < rows.indptr[-1]):
        made = sparse.csr_array if by == "example" else sparse.csc_array
        copy = made((data, indices, indptr), shape=shape, copy=True)
        copy.sum_duplicates()
        copy.eliminate_zeros()
        rows = sparse_rows(copy.indptr, copy.indices, copy.data)
        verdict, nonzeros, likeness = inspect(rows, length, width)  # a sum may have overflowed
    if nonzeros < 0:
        raise _not_finite(rows.values[: rows.indptr[-1]])
    # More may be stored behind the last row.
    indptr, indices, values = rows.indptr, rows.indices[:nonzeros], rows.values[:nonzeros]
    if nonzeros == length * width:
        return Stored(DenseRows(values.reshape(length, width)), by, shape, nonzeros)
    kind = (SparseRows, EvenRows, UnitRows)[likeness if nonzeros >= MANY_VALUES else _UNLIKE]
    return Stored(kind(indptr, indices, values), by, shape, nonzeros)


_NO_ENTRIES = "X must have at least one example and one feature, got shape {}."
_BROKEN_MATRIX = (
    "X is not a valid sparse matrix: an index lies outside the matrix or the row pointers "
    "do not increase. Build it again from its entries."
)
CANONICAL, NOT_CANONICAL, BROKEN = 0, 1, 2
_UNLIKE, _EVEN, _UNIT = 0, 1, 2  # how alike the stored values are


@kernel
def inspect(rows, length, width):  # type: ignore[no-untyped-def]
    """Check the structure: valid at all, sorted, no duplicates.

    Return that, the number of nonzeros as ``_nonzeros`` does, and how alike the values are. Plain
    loops over whole arrays, one thing at a time, run in vector registers.
    """
    indptr, indices = rows.indptr, rows.indices
    if indptr.size != length + 1 or indptr[0] != 0 or indptr[length] > indices.size:
        return BROKEN, 0, _UNLIKE
    for i in range(length):
        if indptr[i + 1] < indptr[i]:
            return BROKEN, 0, _UNLIKE
    stored = indptr[length]
    if stored == 0:
        return CANONICAL, 0, _UNLIKE
    before, after = indices[: stored - 1], indices[1:stored]
    low, high = np.int64(indices[0]), np.int64(indices[0])
    not_rising = 0
    for k in range(after.size):
        low, high = min(low, np.int64(after[k])), max(high, np.int64(after[k]))
        not_rising += after[k] <= before[k]
    if low < 0 or high >= width:
        return BROKEN, 0, _UNLIKE
    # Where a row begins, the column may well be smaller than the last one of the row before.
    for i in range(1, length):
        first = indptr[i]
        if 0 < first < indptr[i + 1]:
            not_rising -= indices[first] <= indices[first - 1]
    values, verdict = rows.values[:stored], NOT_CANONICAL if not_rising else CANONICAL
    return verdict, _nonzeros(values), _likeness(indptr, values)


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
