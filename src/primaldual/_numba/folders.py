"""Which folders compiled kernels may be read from, and where new ones are kept.

Cached kernels are code. A folder is used only if it and its parents up to the cache's root belong
to the user or to root, and no one else can write there. In this order:

1. the user's folder (``PRIMALDUAL_CACHE``, ``NUMBA_CACHE_DIR``, or the system's folder for caches),
   read and written;
2. the same folder if it is read-only, such as a cache baked into an image: it is read, and new
   kernels go to
3. a private folder among the temporary files;
4. without any of them, kernels live as long as the process.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

_VARIABLES = ("PRIMALDUAL_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR")
# Write permission for the group or for others.
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Places(NamedTuple):
    """Folders of cached kernels."""

    read: tuple[Path, ...]  # where kernels may be found, the first first
    write: Path | None  # where new ones are kept
    why: str  # why the user's folder is not written, if it is not


def cache_root() -> Path | None:
    """The user's folder of cached kernels: ``PRIMALDUAL_CACHE``, or ~/.cache/primaldual.

    ``NUMBA_CACHE_DIR`` is honoured as well. None for a user without a home.
    """
    named = os.environ.get("PRIMALDUAL_CACHE") or os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return Path(named).absolute()
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return (base / "primaldual").absolute()


def places() -> Places:
    """The folders to use now; found out once, and again when the environment names others."""
    return _places(tuple(os.environ.get(name, "") for name in _VARIABLES))


@cache
def _places(environment: tuple[str, ...]) -> Places:
    read: list[Path] = []
    root, why = cache_root(), "this user has no home folder"
    if root is not None:
        is_named = bool(environment[0] or environment[1])
        why = _prepared(root, tighten=not is_named)
        if not why:
            return Places((root,), root, "")
        danger = why_unsafe(root, root)
        if not danger:
            read.append(root)
        elif root.is_dir():
            warnings.warn(
                f"cached kernels in {root} are not used: {danger}. Take away the write permission "
                "of others, or set PRIMALDUAL_CACHE to a folder that only you can write.",
                RuntimeWarning,
                stacklevel=2,
            )
    temporary = _temporary()
    if temporary is not None:
        read.append(temporary)
    return Places(tuple(read), temporary, why)


def _temporary() -> Path | None:
    """A private folder among the temporary files, the same one for all processes of the user."""
    owner = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    try:
        folder = Path(tempfile.gettempdir()).absolute() / f"primaldual-{owner}"
    except OSError:  # there is no folder for temporary files
        return None
    return None if _prepared(folder) else folder


def _prepared(folder: Path, tighten: bool = False) -> str:
    """Make a folder if need be; why it cannot be used for writing, or ""."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        is_open = stat.S_ISDIR(found.st_mode) and found.st_mode & OTHERS_WRITE
        if tighten and is_open and hasattr(os, "getuid") and found.st_uid == os.getuid():
            folder.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS_WRITE)
        danger = why_unsafe(folder, folder)
        if danger:
            return danger
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return f"{error.strerror or error}: {folder}"


def why_unsafe(folder: Path, root: Path) -> str:
    """Why a folder below a root is not to be trusted; "" if it is.

    Where the system knows no owners of this kind, as on Windows, every folder is trusted.
    """
    if not hasattr(os, "getuid"):
        return ""
    try:
        real, top = Path(os.path.realpath(folder)), Path(os.path.realpath(root))
        for place in (real, *real.parents):
            found = place.lstat()
            if place == top or top in place.parents:
                if not stat.S_ISDIR(found.st_mode):
                    return f"{place} is not a folder"
                if found.st_uid not in (os.getuid(), 0):
                    return f"{place} belongs to another user"
                if found.st_mode & OTHERS_WRITE:
                    return f"others can write to {place}"
            elif found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
                return f"everyone can exchange what is in {place}"
    except OSError as error:
        return f"{error.strerror or error}: {folder}"
    return ""


def is_trusted(handle: int) -> bool:
    """Whether an open file is a regular one of the user or of root that no one else can write."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True
    return found.st_uid in (os.getuid(), 0) and not found.st_mode & OTHERS_WRITE


def warn_of_no_cache(why: str) -> None:
    """Say, once in a process, that kernels are not kept."""
    if _warned:
        return
    _warned.append(why)
    warnings.warn(
        f"compiled kernels cannot be kept ({why}), so that every process compiles them again. Set "
        "PRIMALDUAL_CACHE to a folder that only you can write.",
        RuntimeWarning,
        stacklevel=2,
    )


_warned: list[str] = []
