"""The project's Numba decorators: their flags, and what may go into the disk cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event
from numba.extending import register_jitable

from .disk import KernelCache
from .interrupts import put_off

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


def kernel_part(function: Callable[..., Any]) -> Any:
    """A kernel whose code becomes part of the kernels that call it: one less to compile.

    For what has one caller. Called from Python it is compiled by itself.
    """
    return _compiled(function, inline="always")


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    compiled = numba.njit(nogil=True, **COMMON, **options)(function)
    if hasattr(compiled, "_cache"):  # not where compilation is switched off
        compiled._cache = KernelCache(function)
        compiled.compile = _guarded(compiled.compile, compiled._cache)
        compiled._compile_for_args = _guarded(compiled._compile_for_args, compiled._cache)
    return compiled


def _guarded(compiling: Callable[..., Any], cache: KernelCache) -> Callable[..., Any]:
    """The same where interrupts wait for a good moment, and locks are given back at the end.

    Whether the kernel is loaded or compiled: the time is counted.
    """

    def run(*arguments: Any, **names: Any) -> Any:
        WAITING.on_start(None)
        try:
            with put_off(), cache.locking():
                return compiling(*arguments, **names)
        finally:
            WAITING.on_end(None)

    return run


class _Stopwatch(event.Listener):
    """Seconds of what is started and ended; one kernel's compilation may contain another's.

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


# Of this process: seconds of compiling, and of waiting for kernels, which may also be loaded from a
# file. The latter are left out of measurements.
COMPILER, WAITING = _Stopwatch(), _Stopwatch()
event.register("numba:compile", COMPILER)


def seconds_compiling() -> float:
    """Seconds this process has spent in Numba's compiler."""
    return COMPILER.seconds


# For small functions that are called from kernels and from plain Python alike.
inlined = register_jitable(**COMMON)
# The same for parts of loops that should run in vector registers: a call would keep them out.
inlined_in_loops = register_jitable(forceinline=True, **COMMON)
# The same for loops whose sums may be made in any order.
reordered_in_loops = register_jitable(forceinline=True, fastmath=REORDERED, **COMMON)
