"""What the benchmark asks of a solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..cases import Task

# Trains with the given value of the stopping parameter and returns w.
Fit = Callable[[float], Any]


@dataclass(frozen=True)
class Solver:
    """A solver with its stopping parameter, the knob that is turned from loose to tight."""

    name: str
    losses: tuple[str, ...]
    knobs: tuple[float, ...]
    prepare: Callable[[Task], Fit]  # converts the data, which is not timed
    unfit: Callable[[Task], str] = lambda task: ""  # why it should not run on a task
    accuracy: float = 1e-5  # relative suboptimality it must reach on a small problem


def decades(first: int, last: int) -> tuple[float, ...]:
    """10^first, …, 10^last."""
    return tuple(10.0**power for power in range(first, last - 1, -1))


def needs_small_matrix(task: Task, most: int = 5000) -> str:
    """A reason against methods that factor a matrix of min(n, d) rows."""
    smaller = min(task.n, task.d)
    return f"factors a {smaller}×{smaller} matrix" if smaller > most else ""


def needs_few_features(task: Task, most: int = 2500) -> str:
    """A reason against methods that factor a matrix of d rows."""
    return f"factors a {task.d}×{task.d} matrix" if task.d > most else ""
