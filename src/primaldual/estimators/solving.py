"""How the problems of a fit are solved: each by one call of ``solve``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .._types import FloatArray
from ..engine import choose
from ..engine.costs import well_stored
from ..methods import METHODS
from ..methods.engine.second_order import is_small
from ..problem import Problem
from ..problem.on_parts import PartsProblem
from ..result import Progress, Result
from ..solver import Spawned, Start, solve
from .callbacks import Task, task_of
from .threading import in_threads

# The relative gap to which small problems are solved, on which Newton's method takes a few
# milliseconds at most: the last digits cost less than the bookkeeping around them. About ten times
# the rounding error of a certificate; with kinks a hundred times, as the last factor of ten may
# take as long as all before (a hinge on 569 x 30: 3 ms to 1e-12, 53 ms to 1e-15).
SMALL_GAP, SMALL_GAP_OF_KINKS = 1e-15, 1e-14


class Request(NamedTuple):
    """What an estimator asks for, by its parameters."""

    tol: float
    max_iter: float | None
    max_time: float | None
    side: str
    seed: Any
    n_jobs: int | None = None  # threads


def problems_on(
    first: Problem, lams: list[float], targets: list[FloatArray], side: str
) -> list[Problem]:
    """One problem per column of targets, on the data of the first."""
    layout = METHODS[choose(first, side=side).method].layout
    for name in (layout, "squared_norm"):
        getattr(first.matrix, name)  # made once, before they run in parallel
    return [first.related(lam, column) for lam, column in zip(lams, targets, strict=True)]


def solve_all(
    model: Any,
    request: Request,
    problems: list[Any],
    starts: list[Any],
    data: dict[str, Any],
    attributes: Callable[[FloatArray, Any], dict[str, Any]] | None,
    solved: Callable[..., Result],
) -> list[Result]:
    """The results of all problems, each by ``solved``; by threads at once if there are several."""
    deadline = None if request.max_time is None else time.perf_counter() + request.max_time
    task = task_of(model, data, len(problems))
    describe = attributes if len(problems) == 1 else None

    def run(k: int) -> Result:
        part = None if task is None else task.part("solve", k, None)
        if part is not None:
            part.begin()
        listen = listener(model, part, describe)
        result = solved(problems[k], request, Spawned(request.seed, k), deadline, starts[k], listen)
        if part is not None:
            part.end()
        return result

    if task is not None:
        task.begin()
    # Callbacks are called in order, unless ``n_jobs`` says that this does not matter.
    in_order = request.n_jobs is None and (task is not None or model.callback is not None)
    results: list[Result] = in_threads(
        run, range(len(problems)), problems[0].matrix.nnz, in_order, True
    )
    if task is not None:
        task.end()
    return results


def solve_one(
    problem: Any,
    request: Request,
    seed: Any,
    deadline: float | None,
    start: Any = None,
    listen: Callable[[Progress], bool] | None = None,
) -> Result:
    """One problem solved as asked for; a ``start`` that is a pair (w, α) is taken for a guess."""
    if start is not None and not isinstance(start, Start):
        start = Start(start[0], start[1], is_guess=True)
    stored = well_stored(problem) if isinstance(problem, Problem) else problem
    in_memory = not isinstance(problem, PartsProblem)
    to_rounding = in_memory and is_small(stored)
    least = SMALL_GAP if problem.is_smooth else SMALL_GAP_OF_KINKS
    return solve(
        problem,
        tol=min(request.tol, least) if to_rounding else request.tol,
        max_passes=math.inf,
        max_iter=request.max_iter,
        max_time=None if deadline is None else max(deadline - time.perf_counter(), 0.0),
        seed=seed,
        callback=listen,
        start=start,
        side=request.side,
    )


def listener(model: Any, task: Task | None, attributes: Any) -> Callable[[Progress], bool] | None:
    """One callback for the user's, scikit-learn's and the printed line; None without any."""
    verbose, callback = getattr(model, "verbose", 0), model.callback
    if callback is None and task is None and not verbose:
        return None

    def listen(progress: Progress) -> bool:
        if verbose:
            print(
                f"{type(model).__name__}: iteration {progress.iterations:.0f}, {progress.method}, "
                f"relative gap {progress.relative_gap:.2e}, {progress.seconds:.3g} s"
            )
        stop = callback is not None and callback(progress) is True
        if task is None:
            return stop
        proof: Any = progress.proof
        fitted = None if attributes is None else attributes(proof.w, proof.intercept)
        return task.check(lambda: fitted) or stop

    return listen
