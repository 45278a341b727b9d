"""Time several methods on one problem, in turn: a slow moment of the machine hits them all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from primaldual import METHODS, Problem, Result, advise, solve
from primaldual import datasets as data
from primaldual.methods import ENGINE

from .record import Row

# These choose among the methods of the engine: ``solve``, and ``solve`` as ``advise`` advises.
CHOOSING = ("auto", "advise")
# Runs shorter than SHORT seconds are repeated, all contenders in turn, three times and until they
# have taken ENOUGH seconds each; the shortest counts. A contender that took BEATEN times as long as
# another is not repeated.
SHORT, ENOUGH, REPEATS, MOST_REPEATS, BEATEN = 0.3, 0.05, 3, 50, 5.0


class Contender:
    """One method on one problem: the quickest of its runs, from the data to the proof.

    The method "advise" asks for advice and follows it. Each run has a fresh problem: what it finds
    out about the data is part of its time, which is that of the processor.
    """

    best: Result
    seconds = math.inf  # of the best run

    def __init__(
        self, label: str, fresh: Callable[[], Problem], method: str, tol: float, max_time: float
    ) -> None:
        self.label, self.fresh, self.method = label, fresh, method
        self.tol, self.max_time = tol, max_time
        self.runs, self.spent, self.last = 0, 0.0, 0.0

    def run(self) -> None:
        """Run once more, with a seed of its own."""
        problem = self.fresh()
        began = time.process_time()
        chosen = advise(problem) if self.method == "advise" else _contender(self.method)
        result = solve(
            problem, chosen, tol=self.tol, max_passes=1e7, max_time=self.max_time, seed=self.runs
        )
        self.last = time.process_time() - began
        if not self.runs or (result.converged, -self.last) > (self.best.converged, -self.seconds):
            self.best, self.seconds = result, self.last
        self.runs, self.spent = self.runs + 1, self.spent + self.last

    @property
    def is_settled(self) -> bool:
        """Whether further runs would not change much."""
        if self.last > SHORT:
            return self.runs > 1 or self.method not in CHOOSING
        return self.runs >= MOST_REPEATS or (self.runs >= REPEATS and self.spent >= ENOUGH)

    def entries(self) -> Row:
        """What a row of the study says of it."""
        return {
            f"{self.label}passes": self.best.passes,
            f"{self.label}seconds": self.seconds,
            f"{self.label}arrived": self.best.converged,
        }


def in_turn(contenders: Sequence[Contender]) -> None:
    """Run all that are near the lead again and again, one after the other, until it is settled."""
    while True:
        lead = min(contender.seconds for contender in contenders)
        open_ones = [
            contender
            for contender in contenders
            # The first run may have loaded code that no toy has asked for.
            if not contender.is_settled
            and (contender.runs == 1 or contender.seconds <= BEATEN * lead)
        ]
        if not open_ones:
            return
        for contender in open_ones:
            contender.run()


def _contender(method: str) -> Any:
    """The method by its name; Algorithm 2 in the variant of the paper's experiments."""
    quartz: Any = METHODS["quartz"]
    return quartz(step="inexact") if method == "quartz" else method


@cache
def load_kernels(loss: str, method: str, is_sparse: bool) -> None:
    """Run once on a toy, so that no run that counts waits for compiled code."""
    X: Any = data.random_matrix(5, 8, seed=0)
    y = data.labels(X, seed=0)
    problem = Problem(X if is_sparse else X.toarray(), y, loss=loss, lam=0.1)
    names = [*ENGINE] if method in CHOOSING else [method]
    for name in names:
        solve(problem, _contender(name), tol=1e-3, max_passes=20, seed=0)
