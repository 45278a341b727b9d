"""Compiled kernels on disk: one file for each kernel and types of arguments.

A file is a line that names the format, the SHA-256 of the rest, and the rest: a pickle of what
Numba needs to load the machine code. It is unpickled only if the file is trusted (``folders``) and
the digest fits, so that neither another user's file nor a damaged one is run. Whatever is wrong
with a file, or with the disk: the kernel is compiled.

A wheel may carry such files as well (``shipped``). They are read where the user's own cache has
none, and are never written.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import compiler
from numba.core.serialize import dumps

from . import folders, shipped
from .announce import announce
from .cache import folder_name
from .locks import Lock

_FORMAT = b"primaldual kernel 1\n"
_DIGEST = hashlib.sha256().digest_size


class KernelCache:
    """The files of one kernel, in the place of Numba's own cache."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.locks: list[Lock] = []  # of the versions that are being compiled
        self.is_enabled = True

    # --- what Numba calls -------------------------------------------------------------------------

    @property
    def cache_path(self) -> str | None:
        """The folder of new files; None without one."""
        folder = self._folder(folders.places().write)
        return None if folder is None else str(folder)

    def enable(self) -> None:
        """Use the files."""
        self.is_enabled = True

    def disable(self) -> None:
        """Use no files."""
        self.is_enabled = False

    def flush(self) -> None:
        """Forget nothing: a file is good or it is replaced."""

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled kernel from a file; None if it has to be compiled, which is announced."""
        context.refresh()
        name = self._name(signature, context.codegen())
        found = None if name is None else self._found(name, signature, context)
        if found is None and name is not None:
            found = self._shipped(signature, context)
        if found is None and name is not None and self._waited_for(name):
            found = self._found(name, signature, context)  # another process has compiled it
        if found is None:
            announce(self.function.__qualname__, folders.places().write if name else None)
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write a compiled kernel to a file, if it can be written."""
        name = self._name(signature, compiled.codegen)
        if name is None or compiled.library.has_dynamic_globals:
            return
        if any(not lifted.can_cache for lifted in compiled.lifted):
            return
        used = folders.places()
        folder = self._folder(used.write)
        if folder is None:
            inside = used.write and used.write / str(folder_name(self.function))
            unsafe = inside and folders.why_unsafe(inside, used.write or inside)
            folders.warn_of_no_cache(unsafe or used.why)
            return
        try:
            content = dumps((signature, compiled._reduce()))
            _write(folder / name, content)
        except (OSError, pickle.PicklingError, TypeError, AttributeError):
            pass  # a full disk, or something that cannot be kept: the kernel itself is there

    # --- locks ------------------------------------------------------------------------------------

    @contextmanager
    def locking(self) -> Iterator[None]:
        """Give back the locks that were taken in the block."""
        before = len(self.locks)
        try:
            yield
        finally:
            while len(self.locks) > before:
                self.locks.pop().release()

    def _waited_for(self, name: str) -> bool:
        """Take the right to compile a version; whether another process had it meanwhile."""
        folder = self._folder(folders.places().write)
        if folder is None:
            return False
        lock = Lock(folder / f"{name}.lock")
        has_waited = lock.take()
        self.locks.append(lock)
        return has_waited or (folder / name).exists()

    # --- files ------------------------------------------------------------------------------------

    def _folder(self, root: Path | None) -> Path | None:
        """The folder for new files of this kernel's module, made if need be."""
        name = folder_name(self.function)
        return None if root is None or name is None else _made(root, name)

    def _name(self, signature: Any, codegen: Any) -> str | None:
        """The name of the file of a version; None if it is not to be kept."""
        return self._named(signature, codegen.magic_tuple())

    def _named(self, signature: Any, target: tuple[str, ...]) -> str | None:
        """The same for a target: system, processor and its features."""
        if not self.is_enabled or not _is_ours(signature) or folder_name(self.function) is None:
            return None
        cells = self.function.__closure__ or ()
        try:
            closure = dumps(tuple(cell.cell_contents for cell in cells)) if cells else b""
        except Exception:  # whatever a value of the user's says to being pickled
            return None
        made_of = (
            _described(signature), target, numba.__version__, sys.version_info[:2],
            hashlib.sha256(self.function.__code__.co_code).hexdigest(),
            hashlib.sha256(closure).hexdigest(), self.function.__code__.co_firstlineno,
        )  # fmt: skip
        stem = self.function.__qualname__.replace("<", "").replace(">", "")
        return f"{stem}-{hashlib.sha256(repr(made_of).encode()).hexdigest()[:32]}.nbc"

    def _found(self, name: str, signature: Any, context: Any) -> Any:
        """The kernel from the first folder that has a good file of it."""
        for root in folders.places().read:
            folder = root / str(folder_name(self.function))
            content = _read(folder / name) if _is_safe(folder, root) else None
            found = _rebuilt(content, signature, context)
            if found is not None:
                return found
        return None

    def _shipped(self, signature: Any, context: Any) -> Any:
        """The kernel as it came with the wheel, if it did and this processor can run it."""
        target = shipped.target(context.codegen().magic_tuple())
        name = None if target is None else self._named(signature, target)
        folder = folder_name(self.function)
        if name is None or folder is None:
            return None
        # Whoever can write there can write this file too: nothing is asked but the digest.
        content = _read(shipped.FOLDER / folder / name, is_ours=True)
        return _rebuilt(content, signature, context)


def _rebuilt(content: bytes | None, signature: Any, context: Any) -> Any:
    """The kernel in a file; None if there is none for this signature."""
    if content is None:
        return None
    try:
        stored, payload = pickle.loads(content)
        if stored == signature:
            return compiler.CompileResult._rebuild(context, *payload)
    except Exception:
        pass  # of another version of a library: compile again
    return None


@cache
def _is_safe(folder: Path, root: Path) -> bool:
    """Whether the files in a folder may be used."""
    return not folders.why_unsafe(folder, root)


@cache
def _made(root: Path, name: str) -> Path | None:
    """A folder below the root, if it can be made and no one else can write to it."""
    try:
        (root / name).mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    _is_safe.cache_clear()  # it may not have been there before
    return root / name if _is_safe(root / name, root) else None


def _read(path: Path, is_ours: bool = False) -> bytes | None:
    """What is in a file, if it is undamaged and trusted, or part of this package."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(path, flags | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            whole = file.read() if is_ours or folders.is_trusted(file.fileno()) else b""
    except (OSError, MemoryError):
        return None
    begin = len(_FORMAT) + _DIGEST
    if len(whole) < begin or not whole.startswith(_FORMAT):
        return None
    content = memoryview(whole)[begin:]
    if hashlib.sha256(content).digest() != whole[len(_FORMAT) : begin]:
        return None
    return bytes(content)


def _write(path: Path, content: bytes) -> None:
    """Write a file as a whole, or leave things as they were."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(_FORMAT + hashlib.sha256(content).digest())
            file.write(content)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


# --- the types of a version -----------------------------------------------------------------------


def _is_ours(signature: Any) -> bool:
    """Whether all named tuples in the signature are classes of this package.

    A kernel compiled for a loss from a user's script refers to that script, which other processes
    do not have.
    """
    return all(map(_is_our_type, getattr(signature, "args", signature)))


def _is_our_type(kind: Any) -> bool:
    named = getattr(kind, "instance_class", None)
    if named is not None and not named.__module__.startswith("primaldual."):
        return False
    return all(map(_is_our_type, getattr(kind, "types", ())))  # the fields of a tuple


def _described(signature: Any) -> str:
    """The types in words, classes with their modules."""
    if isinstance(signature, tuple):
        return f"({', '.join(map(_described, signature))})"
    if hasattr(signature, "args") and hasattr(signature, "return_type"):
        return f"{_described(signature.args)} -> {signature.return_type}"
    named = getattr(signature, "instance_class", None)
    inside = ", ".join(map(_described, getattr(signature, "types", ())))
    home = "" if named is None else f"{named.__module__}.{named.__qualname__}"
    return f"{signature}{{{home}}}[{inside}]"
