"""LIBSVM's text format, also called svmlight: ``label index:value index:value …``, a line each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .._types import FloatArray
from .sources import CHUNK, UTF8_MARK, Source, shown
from .table import FileError
from .tokens import (
    BAD_INDEX,
    BAD_LABEL,
    BAD_QID,
    DONE,
    DUPLICATE,
    Parsed,
    parse_lines,
)

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_svmlight(
    source: Source, *, n_features: int | None, zero_based: bool | None, drop: bool
) -> tuple[sparse.csr_array, FloatArray, bool, int]:
    """Read a stream in pieces of whole lines.

    Parameters
    ----------
    source
        The stream.
    n_features
        Number of columns; ``None`` for the largest index.
    zero_based
        Whether the first feature has index 0; ``None`` to say so if an index 0 occurs.
    drop
        Leave out what lies beyond ``n_features`` and count it, instead of refusing it.

    Returns
    -------
    X, y, zero_based, dropped
        Rows have sorted indices, of 32 bits where they fit; ``dropped`` counts what was left out.
    """
    reader = _Reader(source, n_features, zero_based, drop)
    _feed(source, reader)
    return reader.finish()


def _feed(source: Source, reader: _Reader) -> None:
    """Hand whole lines to the reader: what is behind the last newline waits for the next piece."""
    if source.head.startswith(UTF16_MARKS):
        raise source.error("is UTF-16 text. Save it as UTF-8.", line=1)
    if source.head.startswith(UTF8_MARK):
        source.readinto(memoryview(bytearray(len(UTF8_MARK))))
    largest = source.limits.line + 2  # with its newline, and room for a last one
    buffer = bytearray(min(CHUNK, largest))
    filled = 0
    while got := source.readinto(memoryview(buffer)[filled:-1]):
        newline = buffer.rfind(b"\n", filled, filled + got)
        filled += got
        if newline >= 0:
            reader.parse(buffer, newline + 1)
            left = buffer[newline + 1 : filled]
            buffer[: len(left)] = left
            filled = len(left)
        if filled > source.limits.line:
            raise source.error(
                f"the line is longer than {source.limits.line:,} bytes. If it is right, raise "
                "Limits(line=…)."
            )
        if filled + 1 == len(buffer):
            buffer = buffer + bytearray(min(len(buffer), largest - len(buffer)))
    if filled:
        buffer[filled] = ord("\n")
        reader.parse(buffer, filled + 1)


def each_piece(source: Source, entries: int, consume: Callable[[Any, FloatArray], None]) -> None:
    """Hand a stream over in pieces of about that many entries, X and y each.

    Indices are those of the file: whether they begin at 0 or 1 is known at its end.
    """
    reader = _Pieces(source, entries, consume)
    _feed(source, reader)
    reader.flush()


class _Growing:
    """An array that is made larger in place as parts are added, without a second copy of it."""

    def __init__(self, dtype: Any) -> None:
        self._array = np.empty(0, dtype=dtype)
        self._size = 0

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._size

    def append(self, part: Any) -> None:
        """Add elements."""
        size = self._size + len(part)
        if size > len(self._array):
            self._array.resize(max(size, int(1.25 * len(self._array))), refcheck=False)
        self._array[self._size : size] = part
        self._size = size

    def finish(self) -> Any:
        """The array; nothing can be added any more."""
        self._array.resize(self._size, refcheck=False)
        return self._array


class _Reader:
    """Collects what `parse_lines` finds, piece by piece, and words what it refuses."""

    def __init__(
        self, source: Source, n_features: int | None, zero_based: bool | None, drop: bool
    ) -> None:
        self.source = source
        self.n_features = n_features
        self.zero_based = zero_based
        self.drop = drop
        features = source.limits.features if n_features is None else n_features
        self.least = 1 if zero_based is False else 0
        self.most = features - 1 if zero_based else features
        self.kind = np.int32 if self.most < 2**31 - 1 else np.int64

        self.lines = self.entries = self.dropped = 0
        self.lowest, self.highest, self.highest_line = self.most, -1, 0
        self.labels = _Growing(np.float64)
        self.ends = _Growing(np.int64)
        self.indices = _Growing(self.kind)
        self.values = _Growing(np.float64)
        self._make_room(0, 0)
        source.line = 1

    def _make_room(self, rows: int, entries: int) -> None:
        """Arrays for what `parse_lines` writes."""
        self.room = rows, entries
        self.row_arrays = (
            np.empty(rows),
            np.empty(rows, dtype=np.int64),
            np.empty(rows, dtype=np.int64),
            np.empty(rows, dtype=np.bool_),
        )
        self.entry_arrays = np.empty(entries, dtype=np.int64), np.empty(entries)
        self.waiting = np.empty((rows + entries, 3), dtype=np.int64)

    def parse(self, buffer: bytearray, stop: int) -> None:
        """Take the lines before ``stop``."""
        rows, entries = buffer.count(b"\n", 0, stop), buffer.count(b":", 0, stop)
        if rows > self.room[0] or entries > self.room[1]:
            self._make_room(max(rows, self.room[0]), max(entries, self.room[1]))
        parsed = parse_lines(
            np.frombuffer(buffer, dtype=np.uint8),
            stop,
            self.least,
            self.most,
            self.drop,
            *self.row_arrays,
            *self.entry_arrays,
            self.waiting,
        )
        self._round(buffer, parsed)
        if parsed.code != DONE:
            raise self._refusal(parsed, _token(buffer, parsed.start))
        self._sort(parsed)
        self._keep(parsed)

    def _round(self, buffer: bytearray, parsed: Parsed) -> None:
        """Let Python round the numbers with many digits or a large exponent."""
        labels, _, _, _ = self.row_arrays
        _, values = self.entry_arrays
        for place, start, end in self.waiting[: parsed.waiting].tolist():
            number = float(buffer[start:end])
            if math.isinf(number):
                raise self.source.error(
                    f"{shown(buffer[start:end])} is too large for a floating-point number.",
                    line=self._line(-1 - place if place < 0 else self._row_of(place, parsed)),
                )
            if place < 0:
                labels[-1 - place] = number
            else:
                values[place] = number

    def _row_of(self, entry: int, parsed: Parsed) -> int:
        """The row of an entry, which may be one that was not finished."""
        _, ends, _, _ = self.row_arrays
        return int(np.searchsorted(ends[: parsed.rows], entry, side="right"))

    def _line(self, row: int) -> int:
        """The line of a row of this piece, counted from 1."""
        _, _, lines, _ = self.row_arrays
        return self.lines + int(lines[row]) + 1

    def _sort(self, parsed: Parsed) -> None:
        """Put the entries of unsorted rows in order."""
        _, ends, _, unsorted = self.row_arrays
        indices, values = self.entry_arrays
        for row in np.flatnonzero(unsorted[: parsed.rows]).tolist():
            start = int(ends[row - 1]) if row else 0
            part = slice(start, int(ends[row]))
            order = np.argsort(indices[part], kind="stable")
            indices[part], values[part] = indices[part][order], values[part][order]
            twice = np.flatnonzero(np.diff(indices[part]) == 0)
            if twice.size:
                raise self._twice(int(indices[part][twice[0]]), self._line(row))

    def _keep(self, parsed: Parsed) -> None:
        """Copy what was found out of the arrays that the next piece will overwrite."""
        labels, ends, _, _ = self.row_arrays
        indices, values = self.entry_arrays
        self.labels.append(labels[: parsed.rows])
        self.ends.append(ends[: parsed.rows] + self.entries)
        self.indices.append(indices[: parsed.entries])
        self.values.append(values[: parsed.entries])
        if parsed.highest > self.highest:
            self.highest = parsed.highest
            self.highest_line = self.lines + parsed.highest_line + 1
        self.lowest = min(self.lowest, parsed.lowest)
        self.entries += parsed.entries
        self.dropped += parsed.dropped
        self.lines += parsed.line
        self.source.line = self.lines + 1

    def finish(self) -> tuple[sparse.csr_array, FloatArray, bool, int]:
        """Make the matrix."""
        y = self.labels.finish()
        if y.size == 0:
            raise self.source.error("has no examples: it is empty, or holds only comments.", line=1)
        zero_based = self.zero_based
        if zero_based is None:
            zero_based = self.highest >= 0 and self.lowest == 0
        if zero_based and self.highest > self.most - (self.zero_based is None):
            raise self._beyond(str(self.highest), self.highest_line)
        shift = 0 if zero_based else 1
        width = self.highest + 1 - shift if self.n_features is None else self.n_features

        small = self.kind is np.int32 and self.entries < 2**31
        starts = np.zeros(len(y) + 1, dtype=np.int32 if small else np.int64)
        starts[1:] = self.ends.finish()
        values, indices = self.values.finish(), self.indices.finish()
        indices -= shift
        if not small:
            indices = indices.astype(np.int64, copy=False)
        X = sparse.csr_array((values, indices, starts), shape=(len(y), max(width, 0)))
        X.has_canonical_format = True
        return X, y, zero_based, self.dropped

    # ---- what is refused

    def _refusal(self, parsed: Parsed, token: bytes) -> FileError:
        line = self.lines + parsed.line + 1
        text = shown(token)
        if parsed.code == BAD_LABEL:
            return self.source.error(_about_label(token, text), line)
        if parsed.code == BAD_QID:
            return self.source.error(f"expected qid:NUMBER, got {text}.", line)
        if parsed.code == DUPLICATE:
            return self._twice(int(token.partition(b":")[0]), line)
        if parsed.code == BAD_INDEX:
            return self._beyond(token.partition(b":")[0].decode(), line)
        return self.source.error(_about_pair(token, text), line)

    def _twice(self, index: int, line: int) -> FileError:
        return self.source.error(
            f"index {index} stands twice in one line. Keep one of the two.", line
        )

    def _beyond(self, index: str, line: int) -> FileError:
        if int(index[:20]) < self.least:
            message = f"index {index} in a file whose first feature has index {self.least}."
        elif self.n_features is not None:
            message = f"index {index:.40} is beyond the last of {self.n_features} features."
        else:
            limit = self.source.limits.features
            message = (
                f"index {index:.40} is beyond the limit of {limit:,} features. If it is right, "
                "raise Limits(features=…)."
            )
        return self.source.error(message, line)


class _Pieces(_Reader):
    """A reader that hands over what it has as soon as that is enough."""

    def __init__(
        self, source: Source, size: int, consume: Callable[[Any, FloatArray], None]
    ) -> None:
        super().__init__(source, None, True, False)
        self.size, self.consume = size, consume

    def parse(self, buffer: bytearray, stop: int) -> None:
        """Take the lines before ``stop``."""
        super().parse(buffer, stop)
        if self.entries >= self.size:
            self.flush()

    def flush(self) -> None:
        """Hand over what is there, and begin again."""
        if self.labels.size == 0:
            return
        X, y, _, _ = self.finish()
        self.entries, self.highest, self.lowest = 0, -1, self.most
        self.labels, self.ends = _Growing(np.float64), _Growing(np.int64)
        self.indices, self.values = _Growing(self.kind), _Growing(np.float64)
        self.consume(X, y)


def _token(buffer: bytearray, start: int) -> bytes:
    """The token at a place: up to the next white space."""
    piece = bytes(buffer[start : start + 200])
    return re.match(rb"[^\s#]*", piece)[0] or piece[:1]  # type: ignore[index]


def _is_not_finite(text: bytes) -> bool:
    return text.lower().lstrip(b"+-") in {b"nan", b"inf", b"infinity"}


def _about_label(token: bytes, text: str) -> str:
    if _is_not_finite(token):
        return f"label {text} is not a finite number. Leave the line out, or correct it."
    if re.fullmatch(rb"[^,:]*,[^:]*", token):
        return f"several labels in one line, {text}. Keep one: multi-label data is not supported."
    if b":" in token:
        return f"the label is missing: the line begins with {text}, not with a number."
    return f"expected a number as label, got {text}. A line is: label index:value index:value …"


def _about_pair(token: bytes, text: str) -> str:
    index, colon, value = token.partition(b":")
    if index == b"qid":
        return f"{text} must stand right after the label."
    if not colon or not re.fullmatch(rb"-?[0-9]+", index):
        return f"expected index:value, got {text}."
    if index.startswith(b"-"):
        return f"negative index in {text}. Indices count from 1, or from 0."
    if not value:
        return f"the value is missing in {text}. No white space may surround the colon."
    if _is_not_finite(value):
        return f"the value in {text} is not a finite number. Leave the entry out, or correct it."
    return f"the value in {text} is not a number."
