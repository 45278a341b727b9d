"""The library under test: everything after the arrays are in memory is timed."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse

from primaldual import Problem, solve
from primaldual.methods import ENGINE

from .. import THREADS
from ..cases import LOSSES, Task
from .base import Fit, Solver, decades


def solvers() -> list[Solver]:
    """``solve`` with its default method, limited by time; with one thread, too, if it has more.

    That is then a peer like the others.
    """
    counts = {"primaldual": THREADS} | ({"primaldual 1 thread": 1} if THREADS > 1 else {})
    return [
        Solver(name, LOSSES, decades(-1, -13), partial(_prepare, threads))
        for name, threads in counts.items()
    ]


def _prepare(threads: int, task: Task) -> Fit:
    _load_kernels(task.loss, task.is_sparse)

    def fit(tol: float) -> Any:
        problem = Problem(task.X, task.y, loss=task.loss, lam=task.lam)
        limits: dict[str, float] = {"max_passes": math.inf, "max_time": task.seconds}
        result = solve(problem, tol=tol, seed=0, threads=threads, **limits)
        return result.w

    return fit


@cache
def _load_kernels(loss: str, is_sparse: bool) -> None:
    """Run every method once, on toys of two sizes: the smaller is solved in fewer, longer calls."""
    for n, d in ((60, 50), (20_000, 50)):
        X: Any = np.where(np.random.default_rng(0).random((n, d)) < 0.2, 1.0, 0.0)
        y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
        for data in (sparse.csr_array(X), X) if is_sparse else (X,):
            for method in ENGINE if n == 60 else ("dual_cd", "newton_cg", "newton"):
                solve(Problem(data, y, loss=loss, lam=1 / n), method, tol=1e-3, max_passes=9)
            # Slow epochs are extrapolated.
            solve(Problem(data, y, loss=loss, lam=1e-4 / n), "dual_cd", tol=1e-9, max_passes=12)
