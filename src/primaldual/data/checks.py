"""The data checked where it comes in: a matrix of finite numbers, stored as kernels want it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._numba.compile import kernel
from .pieces import ONE_CALL
from .rows import DenseRows, EvenRows, SparseRows, UnitRows

# Of fewer sparse values it does not matter whether they are read, and kernels need not be compiled
# once more for rows whose values are known.
MANY_VALUES = 10_000


def frozen(array: Any) -> Any:
    """A read-only view: kernels see one array type, whatever the caller's flags are."""
    view = (array if type(array) is np.ndarray else np.asarray(array)).view()
    view.setflags(write=False)
    return view


def is_plain(array: Any) -> bool:
    """Whether an array is contiguous and aligned, as kernels want it."""
    return bool(array.flags.num & _PLAIN == _PLAIN)


_PLAIN = 0x001 | 0x100  # NumPy's C_CONTIGUOUS and ALIGNED: one look instead of two


def plain(array: Any) -> Any:
    """``array`` contiguous and aligned, copied only if it is not."""
    return array if is_plain(array) else np.require(array, requirements=["C", "A"])


def sparse_rows(indptr: Any, indices: Any, values: Any) -> SparseRows:
    """Sparse rows of arrays that are contiguous and aligned."""
    return SparseRows(
        frozen(np.ascontiguousarray(indptr, dtype=np.int64)), frozen(indices), frozen(values)
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


def checked_dense(X: Any) -> tuple[DenseRows, str, int]:
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
    array = plain(array)
    nonzeros = finite_nonzeros(array)
    if nonzeros < 0:
        raise _not_finite(array)
    return DenseRows(frozen(array)), by, nonzeros


def checked_sparse(X: Any) -> tuple[SparseRows, str]:
    """The rows in canonical form, and whether they are examples or features."""
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
    rows = sparse_rows(indptr, plain(indices), plain(data))
    verdict, nonzeros = inspect(rows, length, width)
    if verdict == BROKEN:
        raise ValueError(_BROKEN_MATRIX)
    rows = _used(rows)
    if nonzeros >= 0 and (verdict == NOT_CANONICAL or nonzeros < len(rows.values)):
        kind = sparse.csr_array if by == "example" else sparse.csc_array
        copy = kind((data, indices, indptr), shape=shape, copy=True)
        copy.sum_duplicates()
        copy.eliminate_zeros()
        rows = _used(sparse_rows(copy.indptr, copy.indices, copy.data))
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
CANONICAL, NOT_CANONICAL, BROKEN = 0, 1, 2
_UNLIKE, _EVEN, _UNIT = 0, 1, 2  # how alike the stored values are


@kernel
def inspect(rows, length, width):  # type: ignore[no-untyped-def]
    """Check the structure: valid at all, sorted, no duplicates; and count as ``_nonzeros`` does.

    Plain loops over whole arrays, one thing at a time: they run in vector registers.
    """
    indptr, indices = rows.indptr, rows.indices
    if indptr.size != length + 1 or indptr[0] != 0 or indptr[length] > indices.size:
        return BROKEN, 0
    for i in range(length):
        if indptr[i + 1] < indptr[i]:
            return BROKEN, 0
    stored = indptr[length]
    if stored == 0:
        return CANONICAL, 0
    before, after = indices[: stored - 1], indices[1:stored]
    low, high = np.int64(indices[0]), np.int64(indices[0])
    not_rising = 0
    for k in range(after.size):
        low, high = min(low, np.int64(after[k])), max(high, np.int64(after[k]))
        not_rising += after[k] <= before[k]
    if low < 0 or high >= width:
        return BROKEN, 0
    # Where a row begins, the column may well be smaller than the last one of the row before.
    for i in range(1, length):
        first = indptr[i]
        if 0 < first < indptr[i + 1]:
            not_rising -= indices[first] <= indices[first - 1]
    return NOT_CANONICAL if not_rising else CANONICAL, _nonzeros(rows.values[:stored])


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
