"""The time without waiting for kernels, and a deadline to look at between pieces of work."""

from __future__ import annotations

import math
import threading
import time

from .compile import WAITING


class TimeUp(Exception):
    """The deadline has passed; what was finished before stands."""


class Signal:
    """Whether tasks that run at the same time are to end."""

    is_set = False


class _Deadline(threading.local):
    """When the computation of this thread has to end: by ``now``, or by a signal."""

    moment = math.inf
    signal: Signal | None = None


_DEADLINE = _Deadline()


def now() -> float:
    """Seconds since some moment, less what has gone into compiling or loading kernels."""
    return time.perf_counter() - WAITING.seconds


class Until:
    """Inside, ``look_at_clock`` raises ``TimeUp`` after that moment.

    Every solve enters one: a generator would take a microsecond more.
    """

    def __init__(self, moment: float) -> None:
        self.moment, self.before = moment, math.inf

    def __enter__(self) -> None:
        self.before, _DEADLINE.moment = _DEADLINE.moment, self.moment

    def __exit__(self, *error: object) -> None:
        _DEADLINE.moment = self.before


class heeding:
    """Inside, ``look_at_clock`` raises ``KeyboardInterrupt`` once the signal is set.

    For parallel work: only the main thread hears Ctrl-C, and passes it on.
    """

    def __init__(self, signal: Signal | None) -> None:
        self.signal, self.before = signal, signal

    def __enter__(self) -> None:
        self.before, _DEADLINE.signal = _DEADLINE.signal, self.signal

    def __exit__(self, *error: object) -> None:
        _DEADLINE.signal = self.before


def pass_on_interrupt() -> None:
    """Interrupt the tasks that run beside this one, too."""
    if _DEADLINE.signal is not None:
        _DEADLINE.signal.is_set = True


def look_at_clock() -> None:
    """Raise ``TimeUp`` if the deadline of this thread has passed.

    For loops that may take long, where they could also be left by Ctrl-C: between two pieces.
    """
    if _DEADLINE.moment < math.inf and now() > _DEADLINE.moment:
        raise TimeUp
    if _DEADLINE.signal is not None and _DEADLINE.signal.is_set:
        raise KeyboardInterrupt
