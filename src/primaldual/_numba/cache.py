"""Where compiled kernels are kept between processes.

Numba compiles a cached kernel again when the kernel's own file changes, but not when a loss or a
row primitive in another file does. The kernels of a file are therefore kept in a folder named
after a hash of that file and of all project files that it imports, directly or through others;
of ``losses`` and ``data`` all files count.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
# Folders that count as a whole: kernels reach their files by the type of an argument, without an
# import.
WHOLE = ("losses", "data")
# The module whose imports cover what kernels outside the package can call.
DOOR = "kernels"
# An import of project modules on the first level of a file: dots, module, the rest of the line.
_IMPORT = re.compile(rb"^from (\.+)([\w.]*) import (.*)$", re.MULTILINE)


def cache_root() -> Path:
    """The folder of all cached kernels: ``PRIMALDUAL_CACHE``, or ~/.cache/primaldual.

    ``NUMBA_CACHE_DIR`` is honoured as well. Cache files are pickles: do not share the folder.
    """
    base = os.environ.get("PRIMALDUAL_CACHE") or os.environ.get("NUMBA_CACHE_DIR")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "primaldual"


def cache_folder(module: str) -> Path:
    """The folder for the compiled kernels of a module, by its full name.

    For a module outside the package, it depends on all that ``primaldual.kernels`` imports.
    """
    inside = module.removeprefix("primaldual.") if module.startswith("primaldual.") else DOOR
    return cache_root() / f"{inside}-{_stamp(inside)}"


@cache
def _stamp(inside: str) -> str:
    """A hash of all that the kernels of a module are made of."""
    digest = hashlib.sha256()
    for file in sorted(sources(_file(inside.split(".")))):
        digest.update(file.relative_to(PACKAGE).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def usable_folder(module: str) -> str:
    """The folder as Numba wants it, or "" to let Numba choose when it cannot be written."""
    folder = cache_folder(module)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder)


def sources(file: Path) -> set[Path]:
    """The file and all project files that it imports, directly or through others."""
    found, waiting = {file}, [file]
    while waiting:
        file = waiting.pop()
        new = (_imported(file) | _beside(file)) - found
        found |= new
        waiting.extend(new)
    return found


def _beside(file: Path) -> set[Path]:
    """The files of the same folder, where that counts as a whole."""
    whole = file.relative_to(PACKAGE).parts[0] in WHOLE
    return set(file.parent.glob("*.py")) if whole else set()


@cache
def _imported(file: Path) -> frozenset[Path]:
    """The project files that a file imports when it is loaded."""
    folder = file.relative_to(PACKAGE).parts[:-1]
    files = set()
    for dots, module, names in _IMPORT.findall(file.read_bytes()):
        parts = [*folder[: len(folder) + 1 - len(dots)], *module.decode().split(".")]
        parts = [part for part in parts if part]
        files.add(_file(parts))
        # Names that are modules themselves, as in ``from . import nsync``.
        for name in re.findall(r"\w+", names.decode()):
            inner = PACKAGE.joinpath(*parts, f"{name}.py")
            if inner.exists():
                files.add(inner)
    return frozenset(files)


def _file(parts: list[str]) -> Path:
    """The file of a module of this package."""
    path = PACKAGE.joinpath(*parts)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
