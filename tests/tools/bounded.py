"""Processes that end: within a time that is given, and with all that they have started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

# Seconds: less than the limit of a test, so that what the process has said is seen.
PATIENCE = 200.0


def run(command, timeout=PATIENCE, check=False, input=None, **options):
    """As ``subprocess.run`` with the output; when the time is over, the whole group is killed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    if input is not None:
        pipes["stdin"] = subprocess.PIPE
    with started(command, **{**pipes, **options}) as process:
        said, in_time = (), False
        with contextlib.suppress(subprocess.TimeoutExpired):
            said, in_time = process.communicate(input, timeout=timeout), True
        if not in_time:
            end(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                said = process.communicate(timeout=5.0)
    assert in_time, f"not done after {timeout} s: {command}, which said {said}"
    assert not (check and process.returncode), f"code {process.returncode}: {command}, {said}"
    return subprocess.CompletedProcess(command, process.returncode, *said)


@contextlib.contextmanager
def started(command, **options):
    """A process in a group of its own, which is killed at the end, and which hears Ctrl-C."""
    process = _start(command, {"stdin": subprocess.DEVNULL, "start_new_session": True, **options})
    try:
        yield process
    finally:
        end(process)
        with contextlib.suppress(OSError), process:  # close its pipes
            pass


def _start(command, options):
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        return subprocess.Popen(command, **options)
    # As in a background job: its children would inherit that, and would not notice Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return subprocess.Popen(command, **options)
    finally:
        signal.signal(signal.SIGINT, before)


def end(process):
    """Kill a process and what it has started."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
