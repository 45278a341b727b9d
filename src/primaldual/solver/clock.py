"""The clock of a solve: all of its seconds, and those that its method has used."""

from __future__ import annotations

import time

from .._numba.compile import COMPILER


def now() -> float:
    """Seconds since some moment, less what has gone into compiling kernels."""
    return time.perf_counter() - COMPILER.seconds


class Clock:
    """Counts from when it is made; what goes into compiling kernels is left out."""

    def __init__(self) -> None:
        self.began = now()
        self.seconds = 0.0  # inside ``with clock``: in the method, checks not counted
        self._entered = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was made, checks included."""
        return now() - self.began

    def __enter__(self) -> None:
        self._entered = now()

    def __exit__(self, *error: object) -> None:
        self.seconds += now() - self._entered

    def set_back(self, seconds: float, elapsed: float) -> None:
        """Go on from what another clock had counted."""
        self.seconds, self.began = seconds, now() - elapsed
