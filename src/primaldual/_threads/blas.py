"""BLAS with one thread: the order of sums inside it depends on the number of its threads."""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any


class _Held:
    """How many computations hold BLAS to one thread, and what it had before the first of them."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """A forked child has only the thread that forked."""
        self.lock = threading.Lock()

    count = 0
    before: tuple[int, ...] = ()


_HELD = _Held()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_HELD.forget)


@cache
def _libraries() -> tuple[Any, ...]:
    """The BLAS libraries of this process; finding them takes milliseconds, once."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


class one_blas_thread:
    """Inside, BLAS has one thread, until the last of the computations that ask for it has ended.

    It takes some ten microseconds, half of them at the end.
    """

    def __init__(self, wanted: bool = True) -> None:
        self.wanted = wanted

    def __enter__(self) -> None:
        if not self.wanted:
            return
        libraries = _libraries()
        with _HELD.lock:
            _HELD.count += 1
            if _HELD.count == 1:
                _HELD.before = tuple(library.num_threads for library in libraries)
                if max(_HELD.before, default=1) > 1:
                    for library in libraries:
                        library.set_num_threads(1)

    def __exit__(self, *error: object) -> None:
        if not self.wanted:
            return
        with _HELD.lock:
            _HELD.count -= 1
            if _HELD.count == 0 and max(_HELD.before, default=1) > 1:
                for library, count in zip(_libraries(), _HELD.before, strict=True):
                    library.set_num_threads(count)
