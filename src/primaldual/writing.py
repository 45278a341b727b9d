"""Writing files: the whole new file, or the old one as it was."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def replacing(
    path: str | os.PathLike[str], mode: str = "w", *, devices: bool = False, **options: Any
) -> Iterator[IO[Any]]:
    """A new file that takes the name ``path`` when it is complete and on disk.

    Until then an old file of that name stays as it is, and it stays if writing fails: a full disk,
    a kill, an error in the block. Permissions of an old file are kept.

    Parameters
    ----------
    path : path
        A regular file, a link to one, or nothing yet.
    mode : {"w", "wb"}
    devices : bool
        Write to something that is no regular file, such as /dev/stdout, as it is.
    options
        Of ``open``: encoding, newline.

    Raises
    ------
    OSError
        If the file cannot be written; it names ``path``.
    """
    target = Path(os.path.realpath(path))
    partial: Path | None = None
    try:
        if target.exists() and not target.is_file():
            if not devices or target.is_dir():
                raise OSError(f"{path}: expected a regular file to replace, found something else.")
            with open(path, mode, **options) as file:
                yield file
            return
        before, after = _around(target)
        partial = target.with_name(f"{before}{secrets.token_hex(4)}{after}")
        with open(partial, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(partial, stat.S_IMODE(target.stat().st_mode))
        os.replace(partial, target)
    except BaseException as error:
        if partial is not None:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and _is_about(error, partial):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise
    _sync_folder(target.parent)


def _is_about(error: OSError, partial: Path | None) -> bool:
    """Whether an error names no file, or the one that was to take the other's place."""
    return error.filename is None or partial is None or str(error.filename) == str(partial)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a string as UTF-8: all of it, or the old file stays as it was."""
    with replacing(path, encoding="utf-8", newline="", devices=True) as file:
        file.write(text)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what killed writes to ``path`` have left; no process may be writing it now."""
    target = Path(os.path.realpath(path))
    before, after = _around(target)
    for entry in os.scandir(target.parent):
        if entry.name.startswith(before) and entry.name.endswith(after):
            Path(entry.path).unlink(missing_ok=True)


def _around(target: Path) -> tuple[str, str]:
    """What comes before and after a random part in the name of a file that is not complete."""
    return f".{target.name}.", ".tmp"


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a loss of power, where the system can."""
    if os.name != "posix":
        return
    with suppress(OSError):  # the file is there; some file systems sync no folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
