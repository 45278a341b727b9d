"""How many threads: as asked for, or as many as the process may use cores."""

from __future__ import annotations

import math
import multiprocessing
import operator
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

# Overrides the default number of threads.
VARIABLE = "PRIMALDUAL_NUM_THREADS"
# Where Linux keeps the quota of a control group: "max 100000" or "150000 100000".
QUOTA = Path("/sys/fs/cgroup/cpu.max")
OLD_QUOTA = [Path("/sys/fs/cgroup/cpu", name) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]


def checked(name: str, asked: Any) -> int | None:
    """The number of threads that was asked for; None for the default.

    As in joblib, -1 stands for all cores of the process and -2 for all but one.
    """
    if asked is None:
        return None
    try:
        number = operator.index(asked)
    except TypeError:
        raise ValueError(_message(name, asked)) from None
    if number == 0 or isinstance(asked, bool):
        raise ValueError(_message(name, asked))
    return number if number > 0 else max(1, cores() + 1 + number)


def _message(name: str, asked: Any) -> str:
    return (
        f"{name} must be a positive number of threads, -1 for all cores, or None, got {asked!r}. "
        "Leave it out to use all cores that the process may use."
    )


def default_count() -> int:
    """The variable's number; 1 in a worker that shares the machine with others; else all cores."""
    given = os.environ.get(VARIABLE)
    if given:
        try:
            number = int(given)
        except ValueError:
            number = 0
        if number < 1:
            raise ValueError(
                f"{VARIABLE} must be a positive number of threads, got {given!r}. Unset it to use "
                "all cores that the process may use."
            )
        return number
    return 1 if is_worker() else cores()


def is_worker() -> bool:
    """Whether other workers like this one use the machine at the same time.

    So do the processes of multiprocessing, joblib and pytest-xdist, and the threads of joblib and
    dask.
    """
    if multiprocessing.parent_process() is not None or "PYTEST_XDIST_WORKER" in os.environ:
        return True
    if "Loky" in multiprocessing.current_process().name:
        return True
    joblib = sys.modules.get("joblib.parallel")
    if joblib is not None:
        backend = joblib.get_active_backend()[0]
        if (getattr(backend, "nesting_level", 0) or 0) > 0:
            return True
    dask = sys.modules.get("distributed.worker")
    return dask is not None and hasattr(dask.thread_state, "execution_state")


def cores() -> int:
    """The cores that this process may use, by its affinity and by its control group's quota."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return max(1, min(count, _quota()))


@cache
def _quota() -> int:
    """The cores of the control group, rounded up; as many as there are without a quota."""
    many = os.cpu_count() or 1
    try:
        if QUOTA.exists():
            quota, period = QUOTA.read_text().split()[:2]
        else:
            quota, period = (path.read_text().strip() for path in OLD_QUOTA)
        share = float(quota) / float(period)
    except (OSError, ValueError):  # no control group, or "max"
        return many
    return math.ceil(share) if share > 0 else many
