"""What the commands share: exit codes, lines and plots for the terminal, live progress."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import shutil
import signal
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import typer

WRONG = 2  # usage, or a file that cannot be used
NOT_REACHED = 3  # everything was done, but the gap is above --tol
INTERRUPTED = 130

_BAR = 32  # characters
_MOST_BINS = 12


class Interrupted(BaseException):
    """Ctrl-C in a command that has nothing to save: no solver takes it for its own."""


# --- lines ----------------------------------------------------------------------------------------


def say(text: str = "", bold: bool = False) -> None:
    """Print lines of the answer to stdout; on a terminal sentences are broken between words."""
    for line in text.split("\n"):
        is_sentence = "  " not in line.strip()
        if is_sentence and sys.stdout.isatty():
            line = textwrap.fill(line, shutil.get_terminal_size().columns)
        typer.secho(line, bold=bold)


def remark(text: str) -> None:
    """Print a line about the work to stderr, where it does not mix with the answer."""
    typer.echo(text, err=True)


def fail(text: str, code: int = WRONG) -> NoReturn:
    """End the command with an error on stderr."""
    remark(f"Error: {text}")
    raise typer.Exit(code)


def say_json(content: Any) -> None:
    """Print JSON as every reader takes it: numbers it does not have become null."""
    typer.echo(json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def printable(text: Any, length: int = 60) -> str:
    """A name from a file, without what could steer the terminal, and not too long."""
    clean = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))
    return clean if len(clean) <= length else clean[: length - 1] + "…"


def whole(number: float) -> str:
    """A whole number in groups of three digits."""
    return f"{round(number):,}".replace(",", " ")


def short(number: float) -> str:
    """Three digits, or all of a number up to six."""
    if not math.isfinite(number):
        return "–"  # noqa: RUF001
    return whole(number) if 100 <= abs(number) < 1e6 else f"{number:.3g}"


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02} min".replace(",", " ")


def in_options(reason: str) -> str:
    """Why a solve stopped, in the words of the command line."""
    reason = re.sub(r"\bmax_(iter|passes)\b", "--max-passes", reason)
    return reason.replace("max_time", "--max-time").replace(" tol.", " --tol.")


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with its errors as one line on stderr and an exit code."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        warnings.showwarning = _warn
        try:
            return command(*arguments, **options)
        except (Interrupted, KeyboardInterrupt):
            fail("interrupted.", INTERRUPTED)
        except OSError as error:
            if error.filename is not None and error.strerror:
                fail(f"{error.filename}: {error.strerror}")
            fail(str(error))
        except (ValueError, ModuleNotFoundError, MemoryError) as error:
            if os.environ.get("PRIMALDUAL_TRACEBACK"):
                raise
            fail(str(error) or type(error).__name__)

    return run


def _warn(message: Warning | str, *where: Any, **more: Any) -> None:
    """A warning as a line on stderr, without the place in the code."""
    remark(f"Warning: {message}")


# --- plots ----------------------------------------------------------------------------------------


def histogram(counts: Any, what: str) -> list[str]:
    """How many rows have how many nonzeros: a title, and a bar for each power of two."""
    import numpy as np

    counts = np.asarray(counts)
    least, most = int(counts.min()), int(counts.max())
    if least == most:
        return [f"nonzeros per {what}: {whole(least)} in each of {whole(len(counts))}"]
    title = (
        f"nonzeros per {what}: {whole(least)} to {whole(most)}, median {short(np.median(counts))}, "
        f"mean {short(counts.mean())}"
    )
    bins = _bins(least, most)
    found = [int(((counts >= low) & (counts <= high)).sum()) for low, high in bins]
    names = [whole(low) if low == high else f"{whole(low)}–{whole(high)}" for low, high in bins]  # noqa: RUF001
    wide = max(map(len, names))
    return [
        title,
        *(
            f"  {name:>{wide}}  {_bar(number / max(found)):{_BAR}}  {whole(number)}"
            for name, number in zip(names, found, strict=True)
        ),
    ]


def _bins(least: int, most: int) -> list[tuple[int, int]]:
    """Ranges of counts between powers of 2, or of 4, 8, … if those would be too many."""
    bins = [(0, 0)] if least == 0 else []
    low = max(least, 1)
    step = 1
    while math.log2(most / low) / step > _MOST_BINS:
        step += 1
    edge = 1 << step
    while low <= most:
        while edge <= low:
            edge <<= step
        bins.append((low, min(edge - 1, most)))
        low = edge
    return bins


def _bar(share: float) -> str:
    """A bar of that share of the width, to an eighth of a character; never empty for some."""
    eighths = math.ceil(share * _BAR * 8)
    return "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of right-aligned columns; the first column is aligned to the left."""
    wide = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = []
    for first, *others in (heads, *rows):
        cells = [f"{cell:>{width}}" for cell, width in zip(others, wide[1:], strict=True)]
        lines.append("  ".join([f"{first:{wide[0]}}", *cells]))
    return lines


# --- live -----------------------------------------------------------------------------------------


def is_live() -> bool:
    """Whether somebody watches: progress is shown on a terminal only."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


class Race:
    """Live lines, one for each solve: digits of the gap, passes, seconds and the time left."""

    def __init__(self, tol: float, max_passes: float) -> None:
        self.tol = tol
        self.max_passes = max_passes
        self.bars: Any = None
        self.tasks: dict[str, Any] = {}
        self.running = ""
        self.line = ""
        self.seen: list[tuple[float, float, float]] = []  # clock, gap and passes at each check

    def __enter__(self) -> Race:
        if is_live():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self.bars = Progress(
                TextColumn("{task.description:12}", markup=False),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[line]}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
            self.bars.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.bars is not None:
            self.bars.stop()

    def add(self, name: str) -> None:
        """A line for a solve that has not begun."""
        if self.bars is not None and name not in self.tasks:
            digits = max(-math.log10(self.tol), 1.0)
            self.tasks[name] = self.bars.add_task(name, total=digits, line="waiting")

    def show(self, name: str, progress: Any) -> None:
        """Show a check of one solve."""
        if self.bars is None:
            return
        gap, passes = progress.relative_gap, progress.passes
        if name != self.running or (self.seen and passes < self.seen[-1][2]):  # another solve
            if self.running and "done" not in self.line:
                self.bars.update(self.tasks[self.running], line=f"{self.line}stopped")
            self.running = name
            self.seen.clear()
        self.add(name)
        self.seen.append((time.perf_counter(), gap, passes))
        method = "" if progress.method == name else f"{progress.method}  "
        used = duration(progress.seconds)
        self.line = f"{method}gap {gap:.1e}  {passes:6.0f} passes  {used:>6}  "
        left = time_left(self.seen, self.tol, self.max_passes)
        last = "done" if gap <= self.tol else f"ETA {duration(left)}"
        digits = -math.log10(min(max(gap, self.tol), 1.0))
        self.bars.update(self.tasks[name], completed=digits, line=self.line + last)
        self.line = self.line + last if last == "done" else self.line


def time_left(seen: Sequence[tuple[float, float, float]], tol: float, max_passes: float) -> float:
    """Seconds until the gap is at most ``tol``, if it goes on falling as in the last half.

    Or until ``max_passes``, if those come first.
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
    return min(math.log(gap / tol) / math.log(wider / gap) * (now - before), to_limit)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner while something takes its time; yields a function that changes its text."""
    if not is_live():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(what)) as status:
        yield lambda text: status.update(escape(text))


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
