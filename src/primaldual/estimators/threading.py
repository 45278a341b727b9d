"""The threads of a fit: ``n_jobs`` holds for all that it does."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from sklearn.utils._param_validation import InvalidParameterError

from .._threads import current, tasks, using
from ..checkpoints import is_open

# Passes over the data that a problem takes, at least: with fewer nonzeros than a part's by this
# factor it is over before a thread has begun.
PASSES = 16


def threaded(fit: Callable[..., Any]) -> Callable[..., Any]:
    """The method ``fit`` with the threads that the estimator's ``n_jobs`` asks for."""

    @wraps(fit)
    def run(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            scope = using(getattr(self, "n_jobs", None), name="n_jobs")
        except ValueError as error:
            raise InvalidParameterError(str(error)) from None
        with scope:
            return fit(self, *arguments, **named)

    return run


def in_threads(
    step: Callable[[Any], Any], parts: Any, size: int, in_order: bool = False, keeps: bool = False
) -> list[Any]:
    """The step's results for all parts, made by threads at the same time.

    Each part is about data of that many entries. They are made one after the other if they are
    small or ``in_order`` is asked for, and inside a checkpoint: then threads share the work on
    each.
    """
    parts = list(parts)
    if len(parts) < 2 or in_order or PASSES * size < current().part or is_open():
        return [step(part) for part in parts]
    return tasks(step, parts, keeps)
