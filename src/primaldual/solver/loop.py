"""The loop around every method: advance, check, and stop."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numba.core.errors import NumbaError
from numpy.random import Generator

from .._numba.clock import TimeUp, heeding, pass_on_interrupt
from ..checkpoints import Entry
from ..losses.custom import explained
from ..result import Result, Status
from ..samplings import Sampling
from .drawn import Drawn
from .own_order import OwnOrder
from .run import Run, Start


def solved(
    run: Run, sampling: Sampling | None, rng: Generator, start: Start, entry: Entry | None = None
) -> Result:
    """Run the method to its end, from where the entry was saved if it was; the best pair."""
    # What overflows is not finite, and is reported as such by the certificate.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            _loop(run, sampling, rng, start, entry)
        except (KeyboardInterrupt, TimeUp) as left:
            run.callback = None  # it may have been the one to interrupt
            if isinstance(left, KeyboardInterrupt):
                pass_on_interrupt()
            if run.state is not None:
                with heeding(None):
                    run.check()
            run.status = Status.MAX_TIME if isinstance(left, TimeUp) else Status.INTERRUPTED
        except NumbaError as error:
            raise explained(run.problem.loss, error) from None
        if run.status is not Status.CONVERGED:
            with heeding(None):
                run.settle(start)
        return run.result()


def _loop(
    run: Run, sampling: Sampling | None, rng: Generator, start: Start, entry: Entry | None
) -> None:
    """Advance and check until the run has a status."""
    saved = None if entry is None else entry.earlier()
    if saved is None:
        # Draws and the method's own choices come from two generators.
        run.begin(sampling, start, rng if sampling is None else rng.spawn(1)[0])
    else:
        run.go_on(saved)
    ahead = OwnOrder(run) if sampling is None else Drawn(run, sampling, rng)
    if saved is not None:
        ahead.go_on(saved)
    if entry is not None:
        entry.rehearse(_snapshot(run, ahead))
        ahead.pause = lambda: entry.offer(lambda: _snapshot(run, ahead))
    run.trace.notes = getattr(run.state, "log", [])
    at_limit = not (run.limits.max_passes and run.limits.max_iter)
    # A method that orders its own steps needs no certificate before the first of them.
    expected = sampling is not None or at_limit or (start.is_given and not start.is_guess)
    if saved is None and expected:
        run.check()
    while run.status is None:
        with suppress(TimeUp):  # inside a round: what it has finished stands
            ahead.to_next_check()
        run.check()
    if entry is not None and run.status is Status.MAX_TIME:
        entry.save(_snapshot(run, ahead))  # with more time it can go on


def _snapshot(run: Run, ahead: OwnOrder | Drawn) -> dict[str, object]:
    """All that the rest of a run depends on, at a moment between two rounds."""
    return {**run.position(), **ahead.position()}
