"""NumPy's and SciPy's own files: a matrix, with or without labels.

Sizes that a file declares are held against the bytes it has before anything is allocated.
"""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .sources import FREE, Source, shown
from .table import FileError


def read_npy(source: Source) -> Any:
    """Read one array."""
    return _guarded(source, lambda: _array(source, source.read_all()))


def read_npz(source: Source) -> tuple[Any, Any]:
    """Read X and y, or a matrix that :func:`scipy.sparse.save_npz` wrote; y may be ``None``."""
    content = source.read_all()
    arrays = _guarded(source, lambda: _members(source, content))
    y = arrays.get("y")
    if "X" in arrays:
        return arrays["X"], y
    if "format" in arrays and "shape" in arrays:
        return _guarded(source, lambda: _sparse(source, arrays)), y
    raise source.error(
        f"holds {', '.join(map(shown, arrays)) or 'nothing'}; expected X and y, or what "
        "scipy.sparse.save_npz writes."
    )


def require_matrix(source: Source, X: Any) -> Any:
    """X with two axes and finite numbers of float64 or float32; CSR if sparse."""
    if X.ndim != 2:
        raise source.error(f"has shape {X.shape}; expected rows and columns.")
    if X.dtype not in (np.float32, np.float64):
        if X.dtype.kind not in "biuf":
            raise source.error(f"holds {X.dtype}; expected numbers.")
        X = X.astype(np.float64)
    values = X.data if sparse.issparse(X) else X
    if not np.isfinite(values).all():
        place = np.argmax(~np.isfinite(values))
        if sparse.issparse(X):
            row, column = np.searchsorted(X.indptr, place, side="right") - 1, X.indices[place]
        else:
            row, column = np.unravel_index(place, X.shape)
        raise source.error(
            f"row {row}, column {column} (from 0): the value is not finite. Correct or replace it."
        )
    if sparse.issparse(X):
        X.sum_duplicates()
        if max(X.nnz, *X.shape) < 2**31 and X.indices.dtype != np.int32:
            parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
            X = sparse.csr_array(parts, shape=X.shape)
    return X


def split_column(source: Source, X: Any, column: int) -> tuple[Any, Any]:
    """X without a column, and that column."""
    width = X.shape[1]
    if not -width <= column < width:
        raise source.error(f"has {width} columns, and none with number {column} for the target.")
    y = X[:, [column]]
    kept = np.delete(np.arange(width), column)
    return X[:, kept], y.toarray() if sparse.issparse(y) else y


def require_labels(source: Source, y: Any, rows: int) -> Any:
    """Labels as a vector, one a row: finite numbers, or words."""
    y = np.asarray(y).ravel()
    if len(y) != rows:
        raise source.error(f"has {rows} rows, but there are {len(y)} labels.")
    if y.dtype.kind in "SU":
        return _guarded(source, lambda: _text(y))
    if y.dtype.kind not in "biuf":
        raise source.error(f"the labels are {y.dtype}; expected numbers or words.")
    y = y.astype(np.float64)
    if not np.isfinite(y).all():
        raise source.error(f"label {np.argmax(~np.isfinite(y))} (from 0) is not finite.")
    return y


def _text(words: Any) -> Any:
    """Words that can be printed; NumPy itself would hold any bits."""
    decoded = [word.decode() if isinstance(word, bytes) else word for word in words.tolist()]
    for word in decoded:
        word.encode()
    return np.array(decoded, dtype=np.str_)


def _guarded(source: Source, read: Callable[[], Any]) -> Any:
    """What a library's parser returns, its many exceptions as one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except FileError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise source.error(f"is damaged or not what its name says: {reason.rstrip('.')}.") from None


def _array(source: Source, content: bytes | bytearray, name: str = "the array") -> Any:
    """An array in NumPy's format."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        raise source.error(
            f"{name} has version {version} of NumPy's format; known are 1.0 and 2.0."
        )
    shape, fortran, dtype = read_header(stream)
    if dtype.hasobject:
        raise source.error(f"{name} holds Python objects, which are not read: they could run code.")
    count, start = math.prod(shape), stream.tell()
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(content) - start:
        raise source.error(
            f"{name} has shape {shape} and type {dtype}, {count * dtype.itemsize:,} bytes, but "
            f"{len(content) - start:,} bytes follow."
        )
    array = np.frombuffer(content, dtype=dtype, offset=start, count=count)
    return array.reshape(shape, order="F" if fortran else "C")


def _members(source: Source, content: bytearray) -> dict[str, Any]:
    """The arrays of a zip archive."""
    arrays, produced = {}, 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            produced += info.file_size
            if produced > max(FREE, source.limits.ratio * len(content)):
                raise source.error(
                    f"the archive unpacks to more than {source.limits.ratio:g} times its size, "
                    "which real data hardly does. If it is right, raise Limits(ratio=…)."
                )
            if info.filename.endswith(".npy"):
                with archive.open(info) as member:
                    data = bytearray(member.read(info.file_size))
                name = info.filename.removesuffix(".npy")
                arrays[name] = _array(source, data, shown(info.filename))
    return arrays


def _sparse(source: Source, arrays: dict[str, Any]) -> sparse.csr_array:
    """The matrix of SciPy's format: csr, csc or coo."""
    kind = arrays["format"].item()
    kind = kind.decode() if isinstance(kind, bytes) else kind
    shape = tuple(int(size) for size in arrays["shape"])
    if len(shape) != 2 or not 0 <= min(shape) <= max(shape) <= source.limits.features:
        raise source.error(
            f"has shape {shape}; expected two numbers up to {source.limits.features:,}. If it is "
            "right, raise Limits(features=…)."
        )
    values = arrays["data"].ravel()
    if kind == "coo":
        rows = _indices(source, arrays, "row", len(values), 0, shape[0] - 1)
        columns = _indices(source, arrays, "col", len(values), 0, shape[1] - 1)
        return sparse.csr_array((values, (rows, columns)), shape=shape)
    if kind not in ("csr", "csc"):
        raise source.error(f"holds a sparse matrix of kind {kind!r}; known are csr, csc and coo.")
    lines, width = shape if kind == "csr" else shape[::-1]
    indices = _indices(source, arrays, "indices", len(values), 0, width - 1)
    starts = _indices(source, arrays, "indptr", lines + 1, 0, len(values))
    if starts[0] != 0 or starts[-1] != len(values) or (np.diff(starts) < 0).any():
        raise source.error(f"indptr must rise from 0 to {len(values)}, the number of entries.")
    layout = sparse.csr_array if kind == "csr" else sparse.csc_array
    return sparse.csr_array(layout((values, indices, starts), shape=shape))


def _indices(
    source: Source, arrays: dict[str, Any], name: str, size: int, least: int, most: int
) -> Any:
    """Whole numbers within bounds: SciPy trusts them, and crashes on others."""
    numbers = arrays[name]
    if numbers.dtype.kind not in "iu" or numbers.shape != (size,):
        raise source.error(
            f"{name} is {numbers.dtype} of shape {numbers.shape}; expected {size} integers."
        )
    if size and not least <= numbers.min() <= numbers.max() <= most:
        raise source.error(f"{name} must lie between {least} and {most}.")
    return numbers.astype(np.int64)
