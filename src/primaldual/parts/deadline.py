"""A deadline for calls that have none of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def within(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call in another thread, which is left alone after that many seconds.

    Ctrl-C ends the wait at once.

    Examples
    --------
    >>> within(10.0, max, 1, 2)
    2
    >>> within(0.01, threading.Event().wait)
    Traceback (most recent call last):
    TimeoutError: no answer within 0.01 seconds
    """
    ended, answers, errors = threading.Event(), [], []

    def run() -> None:
        try:
            answers.append(function(*arguments))
        except BaseException as error:
            errors.append(error)
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    if not ended.wait(seconds):
        raise TimeoutError(f"no answer within {seconds:g} seconds")
    if errors:
        raise errors[0]
    return answers[0]
