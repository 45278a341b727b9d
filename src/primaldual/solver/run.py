"""One solve in progress: its limits, what has been done, and what has been proved."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

from numpy.random import Generator

from .._numba.clock import Until, now
from .._threads import current
from .._types import FloatArray
from ..methods import METHODS, Method
from ..methods.parts import ON_PARTS
from ..result import Progress, Result, Status, Trace
from .best import Best

# Checks in a row without a fall of the gap by 1 % after which it is taken to have stopped falling.
STALL_CHECKS = 12
# The same on a non-smooth loss, on which coordinate descent has no rate: five times as many.
STALL_CHECKS_NON_SMOOTH = 60
# Passes that a call of a method counts at most which factors a matrix: about the readings of the
# data in a step. Its multiply-adds, d for every entry, would use up max_passes in seconds.
FACTORED_PASSES = 4.0

Callback = Callable[[Progress], Any]


class Start(NamedTuple):
    """Where a solve starts; None for what is not given.

    A start is certified before the first step, which costs about a pass over the data and ends the
    solve if it meets ``tol``. A guess, of which that is not expected, is certified only if the
    solve ends without convergence.
    """

    w: FloatArray | None = None
    alpha: FloatArray | None = None
    is_guess: bool = False

    @property
    def is_given(self) -> bool:
        """Whether there is one."""
        return self.w is not None or self.alpha is not None


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
        self.passes = 0.0  # over the data
        self.iterations = 0.0  # passes of coordinate descent, steps of other methods
        self.seconds = 0.0  # in the method, without checks and without compiling kernels
        self.began = now()
        self.end = self.began + limits.max_time
        self.best = Best(problem, limits.tol)
        self.trace = Trace()
        self.status: Status | None = None

    def advance(self, draws: Any = None) -> float:
        """Let the method take its next steps; return the nonzeros visited."""
        running = METHODS.get(self.method.label(self.state) or self.name, self.method)
        # What a sampling draws comes in pieces. A method's own round may be long: it is left, as
        # it would be by Ctrl-C, when the time is over.
        entered = now()
        try:
            if draws is None and self.limits.max_time < math.inf:
                with Until(self.end):
                    work = self.method.advance(self.state, draws)
            else:
                work = self.method.advance(self.state, draws)
        finally:
            self.seconds += now() - entered
        self.visited += min(work, FACTORED_PASSES * self.nnz) if running.factors else work
        self.passes = self.visited / self.nnz
        # The passes of coordinate descent are its iterations.
        self.iterations += work / self.nnz if running.samplings or running.descends else 1.0
        return work

    def begin(self, sampling: Any, start: Start, rng: Generator) -> None:
        """Let the method start."""
        entered = now()
        try:
            with Until(self.end) if self.limits.max_time < math.inf else nullcontext():
                self.state = self.method.start(
                    self.problem, sampling, w=start.w, alpha=start.alpha, rng=rng
                )
        finally:
            self.seconds += now() - entered

    def limit(self) -> Status | None:
        """The limit that is reached, if one is."""
        if self.end < math.inf and now() > self.end:
            return Status.MAX_TIME
        if self.passes >= self.limits.max_passes:
            return Status.MAX_PASSES
        return Status.MAX_ITER if self.iterations >= self.limits.max_iter else None

    def check(self) -> None:
        """Certify the iterate, record it, call the callback, and decide whether to stop."""
        label, best, tol = self.method.label(self.state) or self.name, self.best, self.limits.tol
        seen = best.look(*self.method.iterate(self.state))
        entry = self._record(seen.primal, label)
        asked = self.callback is not None and self.callback(entry._replace(proof=seen)) is True
        if not math.isfinite(seen.primal):
            self.status = Status.NOT_FINITE
        elif best.relative_gap <= tol and best.certificate().relative_gap <= tol:
            self.status = Status.CONVERGED
        elif asked:
            self.status = Status.STOPPED
        elif self._is_stalled(label):
            self.status = Status.STALLED
        else:
            self.status = self.limit()

    def settle(self, start: Start) -> None:
        """Let the start and zero be candidates, where a run ends without convergence."""
        if start.is_given:
            self.best.look(start.w, start.alpha)
        self.best.look_at_zero()
        if not self.trace.entries:  # it ended before the method had an iterate
            assert self.best.upper is not None
            self._record(self.best.upper.primal, self.name)

    def _record(self, primal: float, label: str) -> Progress:
        """Note what is known now."""
        best = self.best
        entry = Progress(
            self.passes, self.seconds, primal, best.dual, best.relative_gap, label, self.iterations
        )
        self.trace.entries.append(entry)
        return entry

    def _is_stalled(self, name: str) -> bool:
        """Whether the gap of one of the engine's methods has long not fallen."""
        checks = STALL_CHECKS if self.problem.is_smooth else STALL_CHECKS_NON_SMOOTH
        known = METHODS.get(name) or ON_PARTS.get(name)
        if len(self.trace) <= checks or known is None or known.samplings:
            return False
        earlier = self.trace.entries[-1 - checks]
        return earlier.method == name and self.best.relative_gap > 0.99 * earlier.relative_gap

    def result(self) -> Result:
        """The best pair, certified."""
        proof = self.best.certificate()
        status = Status.CONVERGED if proof.relative_gap <= self.limits.tol else self.status
        assert status is not None
        pair = (proof.w, proof.intercept, proof.alpha)
        threads = current().used
        return Result(*pair, proof, status, self.name, self.trace, self.problem, threads)

    def position(self) -> dict[str, Any]:
        """What to save of the run: what was done, and the best so far."""
        return {
            "state": self.state,
            "done": (self.visited, self.iterations, self.seconds, now() - self.began),
            "best": (self.best.upper, self.best.lower),
            "entries": self.trace.entries,
        }

    def go_on(self, saved: dict[str, Any]) -> None:
        """Go back to a saved position; the time that was spent before counts."""
        self.state = saved["state"]
        self.visited, self.iterations, self.seconds, elapsed = saved["done"]
        self.passes = self.visited / self.nnz
        self.began = now() - elapsed
        self.end = self.began + self.limits.max_time
        self.best.upper, self.best.lower = saved["best"]
        self.trace.entries = saved["entries"]
