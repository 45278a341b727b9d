"""One file of a JSON header and named arrays: what models and checkpoints are written in.

The layout, little-endian throughout::

    8 bytes   magic
    4 bytes   version of the layout
    8 bytes   length of the JSON text
    …         JSON: {"header": what the caller gave, "arrays": [{"name", "dtype", "shape"}, …]}
    …         the arrays, one after the other, in C order, no gaps
    32 bytes  SHA-256 of everything before

Nothing in it is executable. Reading believes no length before it was held against the length of
the file, so that a file never makes the reader allocate more than the file is long.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from .writing import replacing

VERSION = 1

# Like PNG's: a transfer in text mode, or one that drops the eighth bit, destroys it.
_MAGIC = b"\x89PRDL\r\n\x1a"
_START = struct.Struct("<8sIQ")
_DIGEST = hashlib.sha256().digest_size
_DTYPES = {
    name: np.dtype(name)
    for name in (
        *("<f8", "<f4", "<f2"),
        *("<i8", "<i4", "<i2", "|i1"),
        *("<u8", "<u4", "<u2", "|u1"),
        "|b1",
    )
}
_MOST_DIMENSIONS = 32
_MOST_ENTRIES = 1 << 48


class ContainerError(ValueError):
    """A file that is not a container, or is damaged, cut short or too new."""


def write(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write a header and arrays as one file: all of it, or the old file stays as it was.

    Parameters
    ----------
    path : path
        A regular file, or nothing yet. The new file is complete on disk before it takes the name.
    header : mapping
        What JSON can hold. Floats come back bit for bit; tuples come back as lists.
    arrays : mapping of str to array
        Of booleans, integers or floats of at most 8 bytes. They come back in C order and in the
        machine's byte order.

    Raises
    ------
    TypeError
        If an array or an entry of the header is of another kind.
    OSError
        If the file cannot be written.
    """
    given = {name: np.asarray(array) for name, array in arrays.items()}
    listed = [
        {"name": name, "dtype": _code(name, array), "shape": list(array.shape)}
        for name, array in given.items()
    ]
    text = json.dumps({"header": dict(header), "arrays": listed}).encode("ascii")
    with replacing(path, "wb") as file:
        digest = hashlib.sha256()
        for part in (_START.pack(_MAGIC, VERSION, len(text)), text):
            digest.update(part)
            file.write(part)
        for name, array in given.items():
            bits = np.asarray(array, dtype=_code(name, array), order="C").reshape(-1)
            digest.update(bits.view(np.uint8).data)
            file.write(bits.view(np.uint8).data)
        file.write(digest.digest())


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what ``write`` wrote: the header and the arrays.

    Parameters
    ----------
    path : path

    Returns
    -------
    header : dict
    arrays : dict of str to array

    Raises
    ------
    ContainerError
        If the file is not such a file, or not the same bytes that were written.
    OSError
        If the file cannot be opened or read.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ContainerError(f"{path}: expected a regular file.")
    with open(path, "rb") as file:
        return _Reader(str(path), file).read()


class _Reader:
    """One reading of one file: what is left of it, and the digest of what was read."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name = name
        self.file = file
        self.left = os.fstat(file.fileno()).st_size
        self.digest = hashlib.sha256()

    def read(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The whole file, checked."""
        if self.left < _START.size:
            beginning = self.file.read(_START.size)
            if beginning and _MAGIC.startswith(beginning[: len(_MAGIC)]):
                raise self.damaged("it ends within its first bytes")
            raise self.foreign()
        magic, version, length = _START.unpack(self.take(_START.size, "its first bytes"))
        if magic != _MAGIC:
            raise self.foreign()
        if version != VERSION:
            raise ContainerError(
                f"{self.name}: the file has layout version {version}, this primaldual reads "
                f"version {VERSION}. Upgrade primaldual, or write the file again."
            )
        header, listed = self.parsed(bytes(self.take(length, "the header")))
        needed = sum(math.prod(shape) * dtype.itemsize for _, dtype, shape in listed) + _DIGEST
        if needed != self.left:
            raise self.damaged(
                f"{needed} bytes should follow the header, {self.left} do: it was cut short or "
                "changed"
            )
        arrays = {name: self.array(dtype, shape) for name, dtype, shape in listed}
        expected = self.digest.digest()
        if self.take(_DIGEST, "the checksum") != expected:
            raise self.damaged("its SHA-256 is not the one written at its end")
        for name, array in arrays.items():
            if array.dtype == bool and (array.view(np.uint8) > 1).any():
                raise self.damaged(f"array {name!r} has booleans other than 0 and 1")
        return header, arrays

    def parsed(self, text: bytes) -> tuple[dict[str, Any], list[tuple[str, np.dtype[Any], Any]]]:
        """The caller's header, and name, dtype and shape of each array."""
        try:
            whole = json.loads(text.decode("ascii"))
            header = whole["header"]
            listed = [self.listed(entry) for entry in whole["arrays"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            if isinstance(error, ContainerError):
                raise
            raise self.damaged("its header cannot be read") from None
        if not isinstance(header, dict) or len({name for name, _, _ in listed}) != len(listed):
            raise self.damaged("its header cannot be read")
        return header, listed

    def listed(self, entry: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
        """Name, dtype and shape of one array, held against what can be."""
        name, dtype, shape = entry["name"], _DTYPES[entry["dtype"]], entry["shape"]
        fits = (
            isinstance(name, str)
            and isinstance(shape, list)
            and len(shape) <= _MOST_DIMENSIONS
            and all(type(length) is int and 0 <= length <= _MOST_ENTRIES for length in shape)
            and math.prod(length for length in shape if length) <= _MOST_ENTRIES
        )
        if not fits:
            raise self.damaged("its header describes an array that cannot be")
        return name, dtype, tuple(shape)

    def array(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
        """The next array."""
        bits = np.empty(math.prod(shape) * dtype.itemsize, dtype=np.uint8)
        self.fill(bits.data, "the arrays")
        stored = bits.view(dtype).reshape(shape)
        return stored.astype(dtype.newbyteorder("="), copy=False)

    def take(self, length: int, what: str) -> bytearray:
        """The next bytes, if the file is that long."""
        if length > self.left:
            raise self.damaged(f"it ends within {what}")
        taken = bytearray(length)
        self.fill(memoryview(taken), what)
        return taken

    def fill(self, place: memoryview, what: str) -> None:
        """Read exactly as many bytes as ``place`` has."""
        at = 0
        while at < len(place):
            count = self.file.readinto(place[at:])  # type: ignore[attr-defined]
            if not count:
                raise self.damaged(f"it ends within {what}")
            at += count
        self.left -= len(place)
        self.digest.update(place)

    def foreign(self) -> ContainerError:
        """The error for a file of another kind."""
        return ContainerError(
            f"{self.name}: this is not a file written by primaldual; expected a model or a "
            "checkpoint."
        )

    def damaged(self, how: str) -> ContainerError:
        """The error for a file that was one of ours."""
        return ContainerError(
            f"{self.name}: the file is damaged: {how}. Restore it from a copy, or write it again."
        )


def _code(name: str, array: np.ndarray) -> str:
    """The dtype as it is written."""
    code = array.dtype.newbyteorder("<").str
    if code not in _DTYPES:
        raise TypeError(
            f"array {name!r} must be of one of the dtypes {', '.join(_DTYPES)}, got {array.dtype}."
        )
    return code
