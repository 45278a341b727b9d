"""One process compiles a kernel, the others wait for it.

A lock is one of the system on a file, which ends with the process that holds it: a process that
dies leaves no lock behind. Where there are no such locks, processes do not wait.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from .interrupts import let_through

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

# Seconds to wait for another process before compiling as well: several times what the slowest
# kernel takes with all that it calls (5 s), on a machine that many processes share.
LONGEST_WAIT = 60.0
# Seconds between two looks at a lock that is held.
PAUSE = 0.02


class Lock:
    """The right to compile one kernel; held or not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.handle: int | None = None

    def take(self) -> bool:
        """Take the lock, if need be after waiting; whether another process has held it."""
        if fcntl is None:
            return False
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        has_waited, until = False, time.monotonic() + LONGEST_WAIT
        try:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    has_waited = True
                    if time.monotonic() > until:
                        os.close(handle)
                        return True
                    time.sleep(PAUSE)
                    let_through()
                else:
                    self.handle = handle
                    return has_waited
        except OSError:  # a file system without locks
            os.close(handle)
            return has_waited
        except BaseException:  # an interrupt
            os.close(handle)
            raise

    def release(self) -> None:
        """Give the lock back."""
        if self.handle is not None:
            with contextlib.suppress(OSError):  # a file that stays is in no one's way
                self.path.unlink(missing_ok=True)
            os.close(self.handle)
            self.handle = None
