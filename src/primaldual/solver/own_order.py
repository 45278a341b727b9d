"""Methods that order their own steps: how far to go before the next check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .drawn import CHECKS_PER_DOUBLING
from .run import Run

# A method with a gap estimate is certified after this many rounds even if the estimate is large.
FIRST_CHECK = 16
# A round of at most CHEAP_PASSES passes costs no more than a check, which reads the data twice:
# then at most one round in CHEAP_ROUNDS is checked.
CHEAP_PASSES = 4
CHEAP_ROUNDS = 16
# A round that visits a fraction of the data counts as that fraction of a round, at least this.
LEAST_ROUND = 0.1
# The method's estimate of its gap is multiplied by the error found at the last check, between
# these bounds.
LEAST_FACTOR, MOST_FACTOR = 0.3, 100.0


class OwnOrder:
    """Advances a method that orders its own steps, from one check to the next.

    A certificate costs about as much as an epoch. Where the method estimates its gap along the
    way, it is made only when the gap is about to be small enough, and now and then.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.pause: Callable[[], None] | None = None  # called where the run can be saved
        self.expected = np.inf  # the relative gap estimated before the last check
        self.factor = 1.0  # what that check found, over what was expected
        self.checked = False  # whether there was one since the last round
        self.rounds = 0.0
        self.due = 1.0 if run.callback is not None else float(FIRST_CHECK)

    def to_next_check(self) -> None:
        """Advance until it is time for a check."""
        run = self.run
        if self.checked and 0 < self.expected < np.inf:
            found = run.best.relative_gap / self.expected
            self.factor = min(max(found, LEAST_FACTOR), MOST_FACTOR)
        self.checked = False
        while True:
            if self.pause is not None:
                self.pause()
            work = run.advance()
            estimate = run.method.gap_estimate(run.state)
            cheap = estimate is not None and work <= CHEAP_PASSES * run.nnz
            self.rounds += min(max(work / run.nnz, LEAST_ROUND), 1.0) if cheap else 1.0
            if estimate is None:
                break
            self.expected = run.problem.relative(estimate)
            reached = self.expected * self.factor <= run.limits.tol
            if reached or self.rounds >= self.due or run.limit() is not None:
                break
        self.checked = True
        every = CHEAP_ROUNDS if cheap and run.callback is None else 1
        self.due = max(self.due, self.rounds + max(every, self.rounds / CHECKS_PER_DOUBLING))

    def position(self) -> dict[str, Any]:
        """What to save beside the run."""
        return {"own_order": (self.expected, self.factor, self.checked, self.rounds, self.due)}

    def go_on(self, saved: dict[str, Any]) -> None:
        """Go back to a saved position."""
        self.expected, self.factor, self.checked, self.rounds, self.due = saved["own_order"]
