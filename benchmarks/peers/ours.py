"""The library under test: everything after the arrays are in memory is timed."""

from __future__ import annotations

import math
from typing import Any

from primaldual import Problem, solve

from ..cases import LOSSES, Task
from .base import Fit, Solver, decades


def solvers() -> list[Solver]:
    """``solve`` with its default method, limited by time only."""
    return [Solver("primaldual", LOSSES, decades(-1, -13), _prepare)]


def _prepare(task: Task) -> Fit:
    def fit(tol: float) -> Any:
        problem = Problem(task.X, task.y, loss=task.loss, lam=task.lam)
        result = solve(problem, tol=tol, seed=0, max_passes=math.inf, max_time=task.seconds)
        return result.w

    return fit
