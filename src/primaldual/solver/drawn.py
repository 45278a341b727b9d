"""Methods that are given draws of a sampling: how many before the next check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from ..methods.base import CHUNK, coordinates
from ..result import Status
from ..samplings import Draws, Sampling
from .run import Run

# Checks come after every pass at first; later, after 1/20 of all passes made so far.
CHECKS_PER_DOUBLING = 20


class Drawn:
    """Advances a method by draws from its sampling, from one check to the next."""

    def __init__(self, run: Run, sampling: Sampling, rng: Generator) -> None:
        self.run, self.sampling, self.rng = run, sampling, rng
        self.pause: Callable[[], None] | None = None  # called where the run can be saved
        self.side = coordinates(run.problem, run.method.side)
        cost = float(sampling.probabilities() @ self.side.counts)  # W, eqs. (10), (11)
        self.pass_steps = self.side.nnz / cost if cost > 0 else float(self.side.size)
        self.is_compiled = False
        self.steps = 0  # taken before the last check
        self.draws: Draws | None = None  # for the steps until the next check
        self.at = 0  # how many of them are taken
        self.origin: Any = None  # the generator's state before they were drawn

    def to_next_check(self) -> None:
        """Advance until it is time for a check."""
        run = self.run
        if self.pause is not None:
            self.pause()
        if not self.is_compiled:
            run.method.advance(run.state, self.sampling.draw(self.rng, 0))  # outside the clock
            self.is_compiled = True
        if self.draws is None:
            if self.pause is not None:
                self.origin = self.rng.bit_generator.state
            count = max(1, round(self.pass_steps * self._passes_ahead()))
            self.draws = self.sampling.draw(self.rng, count)
        for chunk in _chunks(self.draws, self.side.counts, self.at):
            run.advance(chunk)
            self.at += chunk.steps
            if run.limit() is Status.MAX_TIME:
                break
            if self.pause is not None:
                self.pause()
        self.steps += self.draws.steps
        self.draws, self.at = None, 0
        # A method may visit more than the rows it draws: learn from what it has visited.
        if run.passes > 0:
            self.pass_steps = self.steps / max(run.passes, 1e-300)

    def _passes_ahead(self) -> float:
        """How many passes to make before the next check."""
        run, limits = self.run, self.run.limits
        left = min(limits.max_passes - run.passes, limits.max_iter - run.iterations)
        return min(max(1.0, run.passes / CHECKS_PER_DOUBLING), left)

    def position(self) -> dict[str, Any]:
        """What to save beside the run; the draws are made again."""
        pending = None if self.draws is None else (self.origin, self.draws.steps, self.at)
        return {"drawn": (self.pass_steps, self.is_compiled, self.steps), "pending": pending}

    def go_on(self, saved: dict[str, Any]) -> None:
        """Go back to a saved position."""
        self.pass_steps, self.is_compiled, self.steps = saved["drawn"]
        if saved["pending"] is not None:
            self.origin, count, self.at = saved["pending"]
            self.rng.bit_generator.state = self.origin
            self.draws = self.sampling.draw(self.rng, count)


def _chunks(draws: Draws, counts: Any, first: int) -> Iterator[Draws]:
    """The draws from a step on, in pieces of whole steps that visit about CHUNK nonzeros each."""
    work = np.concatenate([[0], np.cumsum(counts[draws.coordinates])])[draws.starts]
    while first < draws.steps:
        last = int(np.searchsorted(work, work[first] + CHUNK, side="right")) - 1
        last = min(max(last, first + 1), draws.steps)
        offset = draws.starts[first]
        yield Draws(
            draws.starts[first : last + 1] - offset,
            draws.coordinates[offset : draws.starts[last]],
        )
        first = last
