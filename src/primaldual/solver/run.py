"""One solve in progress: its limits, what has been done, and what has been proved."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..methods import METHODS, Method
from ..result import Progress, Result, Status, Trace
from .best import Best
from .clock import Clock

# Checks in a row without a fall of the gap by 1 % after which it is taken to have stopped falling.
STALL_CHECKS = 12
# The same on a non-smooth loss, on which coordinate descent has no rate: five times as many.
STALL_CHECKS_NON_SMOOTH = 60

Callback = Callable[[Progress], Any]


class Limits(NamedTuple):
    """When to stop."""

    tol: float  # relative gap
    max_passes: float = math.inf
    max_iter: float = math.inf
    max_time: float = math.inf  # seconds


class Run:
    """One solve in progress."""

    def __init__(
        self, problem: Any, name: str, method: Method, limits: Limits, callback: Callback | None
    ) -> None:
        self.problem, self.name, self.method = problem, name, method
        self.limits, self.callback = limits, callback
        self.state: Any = None  # the method's
        self.nnz = max(problem.matrix.nnz, 1)
        self.visited = 0.0  # nonzeros
        self.iterations = 0.0  # passes of coordinate descent, steps of other methods
        self.clock = Clock()
        self.best = Best(problem)
        self.trace = Trace()
        self.status: Status | None = None

    @property
    def passes(self) -> float:
        """Passes over the data so far."""
        return self.visited / self.nnz

    def advance(self, draws: Any = None) -> float:
        """Let the method take its next steps; return the nonzeros visited."""
        running = METHODS.get(self.method.label(self.state) or self.name, self.method)
        with self.clock:
            work = self.method.advance(self.state, draws)
        self.visited += work
        # The passes of coordinate descent are its iterations.
        self.iterations += work / self.nnz if running.samplings or running.descends else 1.0
        return work

    def is_over(self) -> bool:
        """Whether a limit is reached."""
        limits = self.limits
        return (
            self.passes >= limits.max_passes
            or self.iterations >= limits.max_iter
            or self.is_out_of_time()
        )

    def is_out_of_time(self) -> bool:
        """Whether max_time is over."""
        return self.limits.max_time < math.inf and self.clock.elapsed > self.limits.max_time

    def check(self) -> None:
        """Certify the iterate, record it, call the callback, and decide whether to stop."""
        label, best = self.method.label(self.state) or self.name, self.best
        seen = best.look(*self.method.iterate(self.state))
        entry = Progress(
            self.passes, self.clock.seconds, seen.primal, best.dual, best.relative_gap, label,
            self.iterations,
        )  # fmt: skip
        self.trace.entries.append(entry)
        asked = self.callback is not None and self.callback(entry._replace(proof=seen)) is True
        if not math.isfinite(seen.primal):
            self.status = Status.NOT_FINITE
        elif best.proves(self.limits.tol):
            self.status = Status.CONVERGED
        elif asked:
            self.status = Status.STOPPED
        elif self._is_stalled(label):
            self.status = Status.STALLED
        elif self.is_over():
            self.status = self._limit()

    def _is_stalled(self, name: str) -> bool:
        """Whether the gap of one of the engine's methods has long not fallen."""
        checks = STALL_CHECKS if self.problem.is_smooth else STALL_CHECKS_NON_SMOOTH
        if len(self.trace) <= checks or name not in METHODS or METHODS[name].samplings:
            return False
        earlier = self.trace.entries[-1 - checks]
        return earlier.method == name and self.best.relative_gap > 0.99 * earlier.relative_gap

    def _limit(self) -> Status:
        """The limit that was reached."""
        if self.is_out_of_time():
            return Status.MAX_TIME
        return Status.MAX_PASSES if self.passes >= self.limits.max_passes else Status.MAX_ITER

    def result(self) -> Result:
        """The best pair, certified."""
        proof = self.best.certificate()
        status = Status.CONVERGED if proof.relative_gap <= self.limits.tol else self.status
        assert status is not None
        pair = (proof.w, proof.intercept, proof.alpha)
        return Result(*pair, proof, status, self.name, self.trace, self.problem)

    def position(self) -> dict[str, Any]:
        """What to save of the run: what was done, and the best so far."""
        clock = self.clock
        return {
            "state": self.state,
            "done": (self.visited, self.iterations, clock.seconds, clock.elapsed),
            "best": (self.best.upper, self.best.lower),
            "entries": self.trace.entries,
        }

    def go_on(self, saved: dict[str, Any]) -> None:
        """Go back to a saved position; the time that was spent before counts."""
        self.state = saved["state"]
        self.visited, self.iterations, seconds, elapsed = saved["done"]
        self.clock.set_back(seconds, elapsed)
        self.best.upper, self.best.lower = saved["best"]
        self.trace.entries = saved["entries"]
