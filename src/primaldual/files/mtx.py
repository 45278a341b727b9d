"""Matrix Market: a header, the sizes, and an entry or a number a line."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._types import FloatArray, IntArray
from .sources import FREE, Source, shown
from .tokens import BAD_NUMBER, DONE, parse_numbers

FIELDS = {b"real": 3, b"double": 3, b"integer": 3, b"pattern": 2}  # numbers an entry
SIGNS = {b"general": 0.0, b"symmetric": 1.0, b"skew-symmetric": -1.0}  # of the mirrored entry

POINTER = 8  # bytes that a row of a sparse matrix takes even if it is empty


class Header(NamedTuple):
    """What the first lines say."""

    is_sparse: bool
    columns: int  # numbers a line
    sign: float
    shape: tuple[int, int]
    entries: int  # lines that follow
    at: int  # where they begin, in bytes
    lines: int  # before them


def read_mtx(source: Source) -> Any:
    """Read a sparse or dense matrix of real numbers."""
    content = source.read_all()
    if not content.endswith(b"\n"):
        content += b"\n"
    header = _header(source, content)
    numbers, lines = _body(source, content, header)
    if header.is_sparse:
        return _sparse(source, header, numbers, lines)
    return _dense(header, numbers[:, 0])


def _header(source: Source, content: bytearray) -> Header:
    """Check the first lines, and the sizes in them against the limits and the bytes that follow."""
    at = content.find(b"\n") + 1
    words = bytes(content[:at]).lower().split()
    if len(words) != 5 or words[:2] != [b"%%matrixmarket", b"matrix"]:
        raise source.error("expected a first line %%MatrixMarket matrix …", line=1)
    layout, field, symmetry = words[2:]
    is_sparse = layout == b"coordinate"
    known = is_sparse or (layout == b"array" and field != b"pattern")
    if not known or field not in FIELDS or symmetry not in SIGNS:
        text = " ".join(shown(word)[1:-1] for word in words[2:])
        raise source.error(
            f"holds a matrix that is {text}; known are coordinate and array, {_listed(FIELDS)}, "
            f"{_listed(SIGNS)}.",
            line=1,
        )

    lines, line = 1, b""
    while at < len(content) and (not line.strip() or line.startswith(b"%")):
        end = content.find(b"\n", at) + 1
        line = bytes(content[at:end])
        at, lines = end, lines + 1
    words = line.split()
    if len(words) != (3 if is_sparse else 2) or not all(word.isdigit() for word in words):
        wanted = "rows, columns and entries" if is_sparse else "rows and columns"
        raise source.error(f"expected {wanted}, got {shown(line.strip())}.", line=lines)
    if max(len(word) for word in words) > 18:
        raise source.error(f"sizes {shown(line.strip())} are too large.", line=lines)
    rows, columns, *rest = map(int, words)
    _require_sizes(source, rows, columns, len(content) if is_sparse else None, lines)
    sign = SIGNS[symmetry]
    if sign and rows != columns:
        raise source.error(f"has shape {rows} × {columns}, which cannot be symmetric.", line=lines)
    # Of a dense symmetric matrix one triangle is stored, of a skew one without the diagonal.
    triangle = rows * (rows + int(sign)) // 2
    count = rest[0] if is_sparse else triangle if sign else rows * columns
    numbers = FIELDS[field] if is_sparse else 1
    if 2 * numbers * count > len(content) - at:  # "1 1\n"
        raise source.error(
            f"declares {count:,} entries, but only {len(content) - at:,} bytes follow.", line=lines
        )
    return Header(is_sparse, numbers, sign, (rows, columns), count, at, lines)


def _require_sizes(source: Source, rows: int, columns: int, size: int | None, line: int) -> None:
    """Refuse sizes beyond the limits, and rows that a sparse file of ``size`` bytes cannot have."""
    if max(rows, columns) > source.limits.features:
        raise source.error(
            f"has shape {rows} × {columns}, beyond the limit of {source.limits.features:,}. If it "
            "is right, raise Limits(features=…).",
            line=line,
        )
    if size is None:
        return
    most = max(FREE, source.limits.ratio * size)
    if POINTER * rows > most:
        raise source.error(
            f"declares {rows:,} rows, which take more than {source.limits.ratio:g} times the "
            f"{size:,} bytes of the file. If it is right, raise Limits(ratio=…).",
            line=line,
        )


def _listed(names: dict[bytes, Any]) -> str:
    return ", ".join(name.decode() for name in names)


def _body(source: Source, content: bytearray, header: Header) -> tuple[FloatArray, IntArray]:
    """The numbers after the header, a row a line, and the lines they stand on, from 1."""
    numbers = np.empty((header.entries, header.columns))
    lines = np.empty(header.entries, dtype=np.int64)
    waiting = np.empty((header.entries * header.columns, 3), dtype=np.int64)
    text = np.frombuffer(content, dtype=np.uint8)
    parsed = parse_numbers(text, header.at, numbers, lines, waiting)
    lines += header.lines + 1
    line = header.lines + parsed.line + 1
    if parsed.code == BAD_NUMBER:
        end = content.index(b"\n", parsed.start)
        raise source.error(
            f"expected {header.columns} numbers a line, got {shown(content[parsed.start : end])}.",
            line=line,
        )
    if parsed.code != DONE or parsed.rows != header.entries:
        some = "more" if parsed.code != DONE else f"{parsed.rows:,}"
        raise source.error(f"declares {header.entries:,} entries, but {some} follow.", line=line)
    for place, start, end in waiting[: parsed.waiting].tolist():
        numbers.flat[place] = float(content[start:end])
    if not np.isfinite(numbers).all():
        row = int(np.argmax(~np.isfinite(numbers).all(axis=1)))
        raise source.error("a number is too large for floating point.", line=int(lines[row]))
    return numbers, lines


def _sparse(
    source: Source, header: Header, numbers: FloatArray, lines: IntArray
) -> sparse.csr_array:
    """Entries (row, column, value), counted from 1; those of one place are added."""
    places, values = (
        numbers[:, :2],
        numbers[:, 2] if header.columns == 3 else np.ones(header.entries),
    )
    wrong = (places != np.floor(places)) | (places < 1) | (places > header.shape)
    if wrong.any():
        row = int(np.argmax(wrong.any(axis=1)))
        first, second = places[row]
        raise source.error(
            f"row {first:g}, column {second:g} is not in a matrix of {header.shape[0]} × "
            f"{header.shape[1]}.",
            line=int(lines[row]),
        )
    rows, columns = (places.T - 1).astype(np.int32 if max(header.shape) < 2**31 else np.int64)
    if header.sign:
        off = np.flatnonzero(rows != columns)
        rows, columns = (
            np.concatenate([rows, columns[off]]),
            np.concatenate([columns, rows[off]]),
        )
        values = np.concatenate([values, header.sign * values[off]])
    return sparse.csr_array((values, (rows, columns)), shape=header.shape)


def _dense(header: Header, values: FloatArray) -> FloatArray:
    """Numbers column by column; of a symmetric matrix those on and below the diagonal."""
    if not header.sign:
        return values.reshape(header.shape, order="F")
    X = np.zeros(header.shape)
    columns, rows = np.triu_indices(header.shape[0], k=0 if header.sign > 0 else 1)
    X[columns, rows] = header.sign * values
    X[rows, columns] = values
    return X
