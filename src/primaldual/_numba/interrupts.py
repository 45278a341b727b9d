"""Ctrl-C while the compiler runs: put off to the end of the kernel at hand, and never lost.

An interrupt in the middle of Numba's or LLVM's work leaves objects half made, and the next call
of the same kernel fails. Kernels are compiled one by one, each within about a second; after each of
them, also after one that another needs, stopping is safe.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class _Waiting:
    """The interrupts of the main thread, which is the only one that gets them."""

    def __init__(self) -> None:
        self.depth = 0  # kernels that are being compiled, one for another
        self.handler: Any = None  # the one that was there before
        self.pending: list[tuple[int, FrameType | None]] = []

    def note(self, number: int, frame: FrameType | None) -> None:
        """Remember an interrupt."""
        self.pending.append((number, frame))

    def enter(self) -> None:
        """Begin to put off interrupts, unless they are handled outside Python."""
        if self.depth == 0:
            self.pending.clear()  # left behind if another one ended the last delivery
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                signal.signal(signal.SIGINT, self.note)
                self.handler = handler
        self.depth += 1

    def leave(self) -> None:
        """Let interrupts through again, those first that came meanwhile."""
        handler = self.handler
        self.depth -= 1
        if self.depth == 0 and handler is not None:
            signal.signal(signal.SIGINT, handler)
            self.handler = None
        self.deliver(handler)

    def deliver(self, handler: Any) -> None:
        """Give the last interrupt that came to the handler it was meant for."""
        if self.pending:
            last = self.pending[-1]
            self.pending.clear()
            handler(*last)


_waiting = _Waiting()


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def put_off() -> Iterator[None]:
    """Put interrupts off while the block runs; blocks may contain each other."""
    if not _is_main():
        yield
        return
    _waiting.enter()
    try:
        yield
    finally:
        _waiting.leave()


def let_through() -> None:
    """Inside such a block, at a moment at which stopping is safe: raise what was put off."""
    if _is_main():
        _waiting.deliver(_waiting.handler)
