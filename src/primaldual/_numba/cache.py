"""What a compiled kernel depends on: the name of the folder that keeps it.

Numba compiles a cached kernel again when the kernel's own file changes, but not when a loss or a
row primitive in another file does. The kernels of a file are therefore kept in a folder named
after a hash of that file and of all project files that it imports, directly or through others;
of ``losses`` and ``data`` all files count.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
# Folders that count as a whole: kernels reach their files by the type of an argument, without an
# import.
WHOLE = ("losses", "data")
# Files that decide where kernels are kept and when they are compiled, not what is in them.
POLICY = {
    PACKAGE / "_numba" / f"{name}.py"
    for name in ("announce", "cache", "disk", "folders", "interrupts", "locks", "shipped")
}
# When this process began to import the package, in seconds since 1970.
BEGAN = time.time()
# The module whose imports cover what kernels outside the package can call.
DOOR = "kernels"
# An import of project modules on the first level of a file: dots, module, the rest of the line.
_IMPORT = re.compile(rb"^from (\.+)([\w.]*) import (.*)$", re.MULTILINE)


def folder_name(function: Callable[..., Any]) -> str | None:
    """The name of the folder for the compiled kernels of a function's module.

    For a function outside the package, it depends on its file and on all that
    ``primaldual.kernels`` imports. None where there is no file: at the prompt, with
    ``python -c``, in a notebook; and where a file of the package has changed since this process
    began, as in an upgrade: what was imported before must not be kept as what is there now.
    """
    module = function.__module__ or ""
    try:
        if module.startswith("primaldual."):
            inside = module.removeprefix("primaldual.")
            return f"{inside}-{_stamp(inside)}"
        return f"{DOOR}-{_stamp(DOOR)}-{_file_stamp(function.__code__.co_filename)}"
    except OSError:
        return None


@cache
def _file_stamp(file: str) -> str:
    """A hash of a file's path and contents; OSError if it is not a file."""
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(file)
    return hashlib.sha256(str(path.resolve()).encode() + path.read_bytes()).hexdigest()[:16]


@cache
def _stamp(inside: str) -> str:
    """A hash of all that the kernels of a module are made of."""
    digest = hashlib.sha256()
    for file in sorted(sources(_file(inside.split("."))) - POLICY):
        if file.stat().st_ctime > BEGAN:
            raise OSError(f"{file} has changed since this process began")
        digest.update(file.relative_to(PACKAGE).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


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
