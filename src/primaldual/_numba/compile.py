"""The project's Numba decorators: their flags, and what may go into the disk cache."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event
from numba.extending import register_jitable

from .cache import usable_folder

# For all compiled code: division as in C, and no entry point for C, which would be a second copy.
COMMON: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
# What the compiler may do where sums may be made in any order.
REORDERED = {"reassoc", "contract"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on first call: cached on disk, without the GIL, division as in C."""
    return _compiled(function)


def reordered_kernel(function: Callable[..., Any]) -> Any:
    """A kernel whose sums may be made in any order, which lets them use vector registers."""
    return _compiled(function, fastmath=REORDERED)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = usable_folder(function.__module__) or before
    try:
        compiled = numba.njit(cache=True, nogil=True, **COMMON, **options)(function)
    finally:
        numba.config.CACHE_DIR = before
    _keep_others_out(getattr(compiled, "_cache", None))
    return compiled


def _keep_others_out(cache: Any) -> None:
    """Let the disk cache hold only what every process can read again.

    A kernel compiled for a loss from a user's script would put a reference to that script into
    the cache's index, and the next process could not load the index without it.
    """
    if cache is None:  # compilation is switched off
        return
    load, save = cache.load_overload, cache.save_overload

    def load_overload(signature: Any, context: Any) -> Any:
        if not _is_ours(signature):
            return None
        try:
            return load(signature, context)
        except (ImportError, AttributeError, EOFError, pickle.UnpicklingError):
            cache.flush()  # a damaged index: compile again
            return None

    def save_overload(signature: Any, data: Any) -> None:
        if _is_ours(signature):
            save(signature, data)

    cache.load_overload, cache.save_overload = load_overload, save_overload


def _is_ours(signature: Any) -> bool:
    """Whether all named tuples in the signature are classes of this package."""
    return all(map(_is_our_type, getattr(signature, "args", signature)))


def _is_our_type(kind: Any) -> bool:
    named = getattr(kind, "instance_class", None)
    if named is not None and not named.__module__.startswith("primaldual."):
        return False
    return all(map(_is_our_type, getattr(kind, "types", ())))  # the fields of a tuple


class _Stopwatch(event.Listener):
    """Seconds inside the compiler; one kernel's compilation may contain another's.

    As Numba's ``TimingListener``, but read by one attribute: a solve asks for it a dozen times.
    """

    def __init__(self) -> None:
        self.seconds = 0.0  # of compilations that have ended
        self.depth = 0
        self.began = 0.0

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.began = time.perf_counter()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self.began


# Of this process: seconds to be left out of measurements.
COMPILER = _Stopwatch()
event.register("numba:compile", COMPILER)


def seconds_compiling() -> float:
    """Seconds this process has spent in Numba's compiler, to be left out of measurements."""
    return COMPILER.seconds


# For small functions that are called from kernels and from plain Python alike.
inlined = register_jitable(**COMMON)
# The same for parts of loops that should run in vector registers: a call would keep them out.
inlined_in_loops = register_jitable(forceinline=True, **COMMON)
# The same for loops whose sums may be made in any order.
reordered_in_loops = register_jitable(forceinline=True, fastmath=REORDERED, **COMMON)
