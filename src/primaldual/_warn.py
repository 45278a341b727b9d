"""Warnings that point to the line of the user, through whatever libraries it came."""

from __future__ import annotations

import inspect
import sysconfig
import warnings
from pathlib import Path

_OURS = str(Path(__file__).parent)
# Libraries through which a call may come that the user has made.
_BETWEEN = tuple(
    str(Path(sysconfig.get_path(place)) / name)
    for place in ("purelib", "platlib")
    for name in ("sklearn", "joblib")
)


def users_level() -> int:
    """The ``stacklevel`` for a warning by the caller that names the first line outside libraries.

    In a worker thread no line of the user's is left: then the caller itself is named.
    """
    frame, level = inspect.currentframe(), 0
    while frame is not None:
        if not frame.f_code.co_filename.startswith((_OURS, *_BETWEEN)):
            return level
        frame, level = frame.f_back, level + 1
    return 1


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn of something at the line of the user that led to it."""
    warnings.warn(message, category, stacklevel=users_level())
