"""Live progress on a terminal: what is read, compiled and solved, and how long it will take."""

from __future__ import annotations

import itertools
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from .terminal import duration, is_quiet, plural

# Newton's method doubles the digits of the gap with every step near the solution.
NEWTON_GROWTH = 2.0
# Steps after which a forecast is given up: the gap does not fall by a tenth of a per cent a step.
MOST_STEPS = 10_000


def is_live() -> bool:
    """Whether somebody watches: progress is shown on a terminal only."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    return watched and os.environ.get("TERM") != "dumb" and not is_quiet()


def is_compiling() -> bool:
    """Whether a kernel is being compiled now; False where no compiler is loaded."""
    module = sys.modules.get("primaldual._numba.compile")
    return module is not None and module.COMPILER.depth > 0


def _compiled() -> float:
    """Seconds spent compiling so far."""
    module = sys.modules.get("primaldual._numba.compile")
    return 0.0 if module is None else float(module.COMPILER.seconds)


COMPILING = "compiling, once on this machine"


@dataclass
class Track:
    """One solve as its live line shows it."""

    name: str
    state: str = "waiting"
    method: str = ""
    gap: float = math.inf
    passes: float = 0.0
    seconds: float = 0.0  # of the solve, at the last check
    left: float = math.inf  # seconds to go, at the last check
    at: float = 0.0  # the clock at the last check, or at the start

    def text(self, now: float) -> str:
        """The line at a moment, which may be long after the last check."""
        if self.state == "waiting":
            return "waiting"
        since = max(now - self.at, 0.0) if self.state == "running" else 0.0
        if self.state == "running" and is_compiling():
            return f"{COMPILING}  {duration(since)}"
        if not math.isfinite(self.gap):
            return f"first steps  {duration(since)}"
        method = "" if self.method == self.name else f"{self.method}  "
        line = f"{method}gap {self.gap:.1e}  {plural(self.passes, 'pass', 'passes'):>11}  "
        line += f"{duration(self.seconds + since):>6}  "
        if self.state != "running":
            return line + self.state
        return f"{line}ETA {duration(max(self.left - since, 0.0))}"


class Race:
    """Live lines, one for each solve: digits of the gap, passes, seconds and the time left."""

    def __init__(
        self, tol: float, max_passes: float, max_time: float | None = None, count: str = "passes"
    ) -> None:
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = math.inf if max_time is None else max_time
        self.count = count  # what max_passes limits: "passes" or "iterations" of a Progress
        self.bars: Any = None
        self.tasks: dict[str, Any] = {}
        self.tracks: dict[str, Track] = {}
        self.running = ""
        self.began = 0.0  # the clock at the start of the running solve, compiling left out
        self.seen: list[tuple[float, float, float]] = []  # clock, gap and passes at each check

    def __enter__(self) -> Race:
        if is_live():
            self.bars = _bars()
            self.bars.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.bars is not None:
            self.bars.stop()

    def add(self, name: str) -> None:
        """A line for a solve that has not begun."""
        if self.bars is not None and name not in self.tasks:
            digits = max(-math.log10(self.tol), 1.0)
            self.tracks[name] = Track(name)
            self.tasks[name] = self.bars.add_task(name, total=digits, track=self.tracks[name])

    def begin(self, name: str) -> None:
        """Notice that a solve begins; the one before it has ended."""
        if self.bars is None:
            return
        self.add(name)
        if self.running and self.tracks[self.running].state == "running":
            self.tracks[self.running].state = "stopped"
        self.running = name
        self.seen.clear()
        track = self.tracks[name]
        track.state, track.at, track.gap = "running", time.perf_counter(), math.inf
        self.began = time.perf_counter() - _compiled()

    def show(self, name: str, progress: Any) -> None:
        """Show a check of one solve."""
        if self.bars is None:
            return
        gap, passes = progress.relative_gap, getattr(progress, self.count)
        if name != self.running or (self.seen and passes < self.seen[-1][2]):  # another solve
            self.begin(name)
        now = time.perf_counter()
        self.seen.append((now, gap, passes))
        track = self.tracks[name]
        track.method, track.gap, track.passes = progress.method, gap, passes
        track.seconds, track.at = progress.seconds, now
        left = time_left(self.seen, self.tol, self.max_passes, _is_newton(progress.method))
        used = now - _compiled() - self.began
        track.left = min(left, max(self.max_time - used, 0.0))
        track.state = "done" if gap <= self.tol else "running"
        digits = -math.log10(min(max(gap, self.tol), 1.0))
        self.bars.update(self.tasks[name], completed=digits)


def _bars() -> Any:
    """Rich's progress bars, with lines that are made anew ten times a second."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
    from rich.text import Text

    class Line(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(task.fields["track"].text(time.perf_counter()))

    return Progress(
        TextColumn("{task.description:12}", markup=False),
        BarColumn(bar_width=20),
        Line(),
        console=Console(stderr=True),
        transient=True,
    )


def _is_newton(method: str) -> bool:
    """Whether a method converges faster than linearly: one of the engine's that is no descent."""
    from ..engine.watch import is_descent
    from ..methods import ENGINE

    return method.startswith("softmax_newton") or (method in ENGINE and not is_descent(method))


def time_left(
    seen: Sequence[tuple[float, float, float]], tol: float, max_passes: float, newton: bool = False
) -> float:
    """Seconds until the gap is at most ``tol``, if it goes on falling as in the last half.

    Newton's method is expected to fall ever faster, as its last steps did. Or until
    ``max_passes``, if those come first.
    """
    now, gap, passes = seen[-1]
    if gap <= tol:
        return 0.0
    before, wider, fewer = seen[len(seen) // 2] if len(seen) > 2 else seen[0]
    if now <= before or passes <= fewer:
        return math.inf
    to_limit = (max_passes - passes) * (now - before) / (passes - fewer)
    if not 0 < gap < wider < math.inf:
        return to_limit
    if newton:
        steps = newton_steps([entry[1] for entry in seen], tol)
        return min(steps * (seen[-1][0] - seen[-2][0]), to_limit)
    return min(math.log(gap / tol) / math.log(wider / gap) * (now - before), to_limit)


def newton_steps(gaps: Sequence[float], tol: float) -> float:
    """Steps until ``tol`` if the fall in digits grows from step to step as it did last."""
    falls = [math.log(a / b) for a, b in itertools.pairwise(gaps) if 0 < b < a < math.inf]
    if not falls:
        return math.inf
    growth = NEWTON_GROWTH if len(falls) < 2 else min(max(falls[-1] / falls[-2], 1.0), 2.0)
    fall, left, steps = falls[-1], math.log(gaps[-1] / tol), 0
    while left > 0 and steps < MOST_STEPS:
        fall *= growth
        left -= fall
        steps += 1
    return float(steps)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner while something takes its time; yields a function that changes its text."""
    if not is_live():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.text import Text

    began, shown = time.perf_counter(), [what]

    class Now:
        def __rich__(self) -> Text:
            doing = f" ({COMPILING})" if is_compiling() else ""
            return Text(f"{shown[0]}{doing}  {duration(time.perf_counter() - began)}")

    def change(text: str) -> None:
        shown[0] = text

    with Console(stderr=True).status(Now()):
        yield change


class Stopper:
    """Ctrl-C while a model is trained: the solver stops and keeps its best iterate.

    ``check`` in a callback stops the solves that follow the interrupted one.
    """

    def __init__(self) -> None:
        self.stopped = False

    def __enter__(self) -> Stopper:
        self.before = signal.getsignal(signal.SIGINT)
        if self.before is not signal.SIG_IGN:  # a background job is not stopped by Ctrl-C
            signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(self, *exception: Any) -> None:
        signal.signal(signal.SIGINT, self.before)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopped = True
        raise KeyboardInterrupt

    def ignore(self) -> None:
        """From here on what is done is not to be stopped: it is quick."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def check(self) -> None:
        """Stop this solve too if an earlier one was interrupted."""
        if self.stopped:
            raise KeyboardInterrupt
