"""The loop around every method: advance, check, and stop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from .._types import FloatArray
from ..checkpoints import Entry
from ..result import Result, Status
from ..samplings import Sampling
from .drawn import Drawn
from .own_order import OwnOrder
from .run import Run


class Start(NamedTuple):
    """Where a solve starts; None for what is not given.

    A start is certified before the first step, which costs about a pass over the data and ends the
    solve if it meets ``tol``. A guess, of which that is not expected, is certified only if the
    solve ends without convergence.
    """

    w: FloatArray | None = None
    alpha: FloatArray | None = None
    is_guess: bool = False


def solved(
    run: Run, sampling: Sampling | None, rng: Generator, start: Start, entry: Entry | None = None
) -> Result:
    """Run the method to its end, from where the entry was saved if it was; the best pair."""
    # What overflows is not finite, and is reported as such by the certificate.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        _loop(run, sampling, rng, start, entry)
        if start.is_guess and run.status is not Status.CONVERGED:
            run.best.look(start.w, start.alpha)  # the result is never worse than the start
    return run.result()


def _loop(
    run: Run, sampling: Sampling | None, rng: Generator, start: Start, entry: Entry | None
) -> None:
    """Advance and check until the run has a status."""
    saved = None if entry is None else entry.earlier()
    if saved is None:
        with run.clock:
            # Draws and the method's own choices come from two generators.
            own = rng if sampling is None else rng.spawn(1)[0]
            run.state = run.method.start(
                run.problem, sampling, w=start.w, alpha=start.alpha, rng=own
            )
    else:
        run.go_on(saved)
    ahead = OwnOrder(run) if sampling is None else Drawn(run, sampling, rng)
    if saved is not None:
        ahead.go_on(saved)
    if entry is not None:
        entry.rehearse(_snapshot(run, ahead))
        ahead.pause = lambda: entry.offer(lambda: _snapshot(run, ahead))
    run.trace.notes = getattr(run.state, "log", [])
    try:
        given = start.w is not None or start.alpha is not None
        at_limit = not (run.limits.max_passes and run.limits.max_iter)
        # A method that orders its own steps needs no certificate before the first of them.
        expected = sampling is not None or at_limit or (given and not start.is_guess)
        if saved is None and expected:
            run.check()
        while run.status is None:
            ahead.to_next_check()
            run.check()
    except KeyboardInterrupt:
        run.callback = None  # it may have been the one to interrupt
        run.check()
        run.status = Status.INTERRUPTED
    if entry is not None and run.status is Status.MAX_TIME:
        entry.save(_snapshot(run, ahead))  # with more time it can go on


def _snapshot(run: Run, ahead: OwnOrder | Drawn) -> dict[str, object]:
    """All that the rest of a run depends on, at a moment between two rounds."""
    return {**run.position(), **ahead.position()}
