"""A file, an archive or standard input as one stream of bytes: counted, bounded, sniffed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import stat
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from .memory import ADVICE, available, in_words
from .table import INSTALL, FileError, Limits

Progress: TypeAlias = Callable[[int, int | None], object]

STDIN = "-"
UTF8_MARK = b"\xef\xbb\xbf"
# Bytes looked at to tell one format from another, and bytes read at a time.
HEAD = 1 << 16
CHUNK = 1 << 20
# Bytes that an archive may unpack to whatever its own size.
FREE = 1 << 26


def _zstd(stream: Any) -> Any:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise ModuleNotFoundError(
            f"Reading .zst files needs backports.zstd before Python 3.14: {INSTALL}."
        ) from None
    return zstd.ZstdFile(stream)


# Ending: first bytes, and how to unpack.
ARCHIVES: dict[str, tuple[bytes, Callable[[Any], Any]]] = {
    ".gz": (b"\x1f\x8b", lambda stream: gzip.GzipFile(fileobj=stream)),
    ".bz2": (b"BZh", bz2.BZ2File),
    ".xz": (b"\xfd7zXZ\x00", lzma.LZMAFile),
    ".zst": (b"\x28\xb5\x2f\xfd", _zstd),
}


class _Replayed(io.RawIOBase):
    """A stream whose first bytes were already read, and which counts what is taken from it."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self._head, self._stream = head, stream
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        if self._head:
            size = min(len(view), len(self._head))
            view[:size], self._head = self._head[:size], self._head[size:]
        else:
            size = self._stream.readinto(view) or 0
        self.count += size
        return size


class Source:
    """The bytes of a file, unpacked.

    Attributes
    ----------
    name
        As shown in messages.
    ending
        Of the name, in small letters, without that of an archive: ``".svm"``.
    head
        The first bytes; reading starts with them.
    line
        Set by a reader that knows where it is, for messages.
    """

    def __init__(
        self, path: str | os.PathLike[str], limits: Limits, progress: Progress | None = None
    ) -> None:
        self.line: int | None = None
        self.name = "<stdin>" if path == STDIN else os.fspath(path)
        self.limits = limits
        self._progress = progress
        self._size: int | None = None
        self._produced = 0
        self._failure: str | None = None
        self._stack = ExitStack()
        try:
            self._open(path)
        except BaseException:
            self._stack.close()
            raise

    def _open(self, path: str | os.PathLike[str]) -> None:
        endings = [ending.lower() for ending in Path(self.name).suffixes]
        packed = endings.pop() if endings and endings[-1] in ARCHIVES else None
        self.ending = endings[-1] if endings else ""
        try:
            if path == STDIN:
                if sys.stdin is None:
                    raise OSError("standard input is closed; give a file")
                file: Any = sys.stdin.buffer
            else:
                file = self._stack.enter_context(open(path, "rb"))  # noqa: SIM115
            self._size = self._size_of(file)
            head = file.read(HEAD)
        except FileError:
            raise
        except (OSError, ValueError) as error:  # a name with a null character is a ValueError
            reason = getattr(error, "strerror", None) or str(error)
            raise self.error(f"cannot be opened: {reason}.") from None
        self._raw = _Replayed(head, file)
        self._stream: Any = self._raw
        self._packed = False
        for ending, (magic, unpack) in ARCHIVES.items():
            if head.startswith(magic):
                buffered = io.BufferedReader(self._raw, 1 << 16)
                self._stream = self._stack.enter_context(unpack(buffered))
                self._packed = True
                break
            if ending == packed:
                raise self.error(
                    f"is named {ending}, but begins with {head[:6]!r} instead of {magic!r}: it is "
                    "damaged or was never packed. Download it again, or rename it."
                )
        self._left = b""
        view = memoryview(bytearray(HEAD))
        self._left = self.head = bytes(view[: self.readinto(view)])

    def _size_of(self, file: Any) -> int | None:
        """The bytes of a regular file; a device that never ends is refused."""
        try:
            status = os.fstat(file.fileno())
        except (OSError, AttributeError):  # not a file of the system
            return None
        device = stat.S_ISCHR(status.st_mode) and not file.isatty()
        if device and status.st_rdev != os.stat(os.devnull).st_rdev:
            raise self.error("is a device, which has no end. Give a file, or pipe a part of it.")
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    @property
    def size(self) -> int | None:
        """The bytes of the file, packed if it is; ``None`` for a pipe."""
        return self._size

    @property
    def is_packed(self) -> bool:
        """Whether the file is an archive."""
        return self._packed

    def readinto(self, view: memoryview) -> int:
        """Fill a view; less than full only before the end, 0 at the end.

        What was unpacked before a damaged place is handed out first, so that the error names the
        line that a reader has come to.
        """
        size = 0
        while size < len(view) and (got := self._step(view[size:], may_fail=size == 0)):
            size += got
        if self._progress is not None:
            self._progress(self._raw.count, self._size)
        return size

    def read_all(self) -> bytearray:
        """Everything; of a source without an end no more than half of the memory there is."""
        there = available() if self._size is None or self._packed else None
        most = math.inf if there is None else there / 2
        content = bytearray()
        view = memoryview(bytearray(CHUNK))
        while got := self.readinto(view):
            content += view[:got]
            if len(content) > most:
                raise self.error(
                    f"gives more than {in_words(most)}, half of the memory there is, and has not "
                    f"ended. {ADVICE}"
                )
        return content

    def _step(self, view: memoryview, may_fail: bool) -> int:
        """Read a piece, within the limits."""
        if self._left:
            size = min(len(view), len(self._left))
            view[:size], self._left = self._left[:size], self._left[size:]
            return size
        if self._failure is None:
            # From an archive as much as one step unpacks: the rest may be damaged.
            read = self._stream.readinto1 if self._packed else self._stream.readinto
            try:
                size = read(view) or 0
                self._produced += size
            except Exception as error:  # every archive has exceptions of its own
                what = "the archive is damaged or cut short" if self._packed else "cannot be read"
                self._failure = f"{what}: {str(error) or type(error).__name__}."
        if self._packed and self._produced > max(FREE, self.limits.ratio * self._raw.count):
            self._failure = (
                f"the archive unpacks to more than {self.limits.ratio:g} times its size, which "
                "real data hardly does. If it is right, raise Limits(ratio=…)."
            )
        if self._failure is None:
            return size
        if may_fail:
            raise self.error(self._failure)
        return 0

    def error(self, message: str, line: int | None = None) -> FileError:
        """An error that names this file, and the line."""
        line = line or self.line
        return FileError(
            f"{self.name}: {message}" if line is None else f"{self.name}:{line}: {message}"
        )

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()


def shown(token: bytes | bytearray | str, width: int = 60) -> str:
    """A piece of a file in quotes, short and printable."""
    text = token if isinstance(token, str) else token.decode("utf-8", "backslashreplace")
    text = text.encode("ascii", "backslashreplace").decode() if not text.isprintable() else text
    return repr(text if len(text) <= width else text[:width] + "…")
