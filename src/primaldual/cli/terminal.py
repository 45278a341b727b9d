"""What the commands share: exit codes, lines, JSON and plots for the terminal."""

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
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
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


class _Talk:
    """What a command has said besides its answer, and whether it may say it."""

    def __init__(self) -> None:
        self.quiet = False
        self.careful = False
        self.broken: OSError | None = None  # what happened to an answer while careful
        self.remarks: list[str] = []


_talk = _Talk()


def begin(quiet: bool) -> None:
    """Begin the answer of a command."""
    _talk.quiet = quiet
    _talk.remarks.clear()


def is_quiet() -> bool:
    """Whether only answers and errors are wanted."""
    return _talk.quiet


def say(text: str = "", bold: bool = False) -> None:
    """Print lines of the answer to stdout; on a terminal sentences are broken between words."""
    from .._text import visible

    for line in map(visible, text.split("\n")):
        is_sentence = "  " not in line.strip()
        if is_sentence and sys.stdout is not None and sys.stdout.isatty():
            line = textwrap.fill(line, shutil.get_terminal_size().columns)
        _print(typer.style(line, bold=True) if bold else line, sys.stdout)


def _print(text: str, stream: Any) -> None:
    """Print a line, if there is a stream to print to."""
    if stream is None or (_talk.broken is not None and stream is sys.stdout):
        return
    try:
        typer.echo(text, file=stream)
    except OSError as error:
        _abandon(stream)
        if stream is sys.stderr:
            return  # there is no place to say so
        if not _talk.careful:
            raise
        _talk.broken = error


def _abandon(stream: Any) -> None:
    """Let what is left in the stream's buffer go nowhere: Python writes it again as it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def careful() -> Iterator[None]:
    """Inside, a reader of the answer that went away does not end the work; afterwards it does."""
    piped = getattr(signal, "SIGPIPE", None)
    before = None if piped is None else signal.signal(piped, signal.SIG_IGN)
    _talk.careful = True
    try:
        yield
    finally:
        _talk.careful = False
        if piped is not None:
            signal.signal(piped, before)
    if isinstance(_talk.broken, BrokenPipeError):
        raise typer.Exit(0)
    if _talk.broken is not None:
        raise OSError(f"standard output: {_talk.broken.strerror}, but all work was done.")


def _plain(text: str) -> str:
    """Lines without what could steer a terminal."""
    from .._text import visible_lines

    return visible_lines(text)


def remark(text: str) -> None:
    """Print a line about the work to stderr, where it does not mix with the answer."""
    _talk.remarks.append(text)
    if not _talk.quiet:
        _print(_plain(text), sys.stderr)


def fail(text: str, code: int = WRONG) -> NoReturn:
    """End the command with an error on stderr."""
    _print(_plain(f"Error: {text}"), sys.stderr)
    raise typer.Exit(code)


def say_json(content: Any) -> None:
    """Print JSON as every reader takes it: numbers it does not have become null.

    An object gets what was said on stderr so far as ``remarks``.
    """
    from .._text import visible_json

    if isinstance(content, dict):
        content = {**content, "remarks": list(_talk.remarks)}
    text = json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False)
    _print(visible_json(text), sys.stdout)


def plural(number: float, one: str, several: str) -> str:
    """A number and what it counts: 1 pass, 2 passes, 1 200 passes."""
    shown = whole(number) if number >= 100 or number == round(number) else f"{number:.3g}"
    return f"{shown} {one if shown == '1' else several}"


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
    from .._text import visible

    clean = visible(text)
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
        _say_when_compiling()
        try:
            return command(*arguments, **options)
        except (Interrupted, KeyboardInterrupt):
            fail("interrupted.", INTERRUPTED)
        except OSError as error:
            if error.filename is not None and error.strerror:
                fail(f"{error.filename}: {error.strerror}")
            fail(str(error))
        except MemoryError as error:
            if _wants_traceback():
                raise
            from ..files.memory import ADVICE

            fail(f"not enough memory{f' ({error})' if str(error) else ''}. {ADVICE}")
        except ImportError as error:
            if "failed to map" in str(error):  # the address space is used up
                from ..files.memory import ADVICE

                fail(f"not enough memory to load the libraries. {ADVICE}")
            if not isinstance(error, ModuleNotFoundError) or _wants_traceback():
                raise
            fail(str(error))
        except ValueError as error:
            if _wants_traceback():
                raise
            fail(str(error) or type(error).__name__)

    return run


def _say_when_compiling() -> None:
    """One line on stderr if kernels have to be compiled, which takes seconds."""
    import logging

    class ToStderr(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            remark(f"{record.getMessage().capitalize()}.")

    logger = logging.getLogger("primaldual")
    if not any(type(handler).__name__ == ToStderr.__name__ for handler in logger.handlers):
        logger.addHandler(ToStderr(logging.INFO))
        logger.setLevel(logging.INFO)
        logger.propagate = False


def _wants_traceback() -> bool:
    return bool(os.environ.get("PRIMALDUAL_TRACEBACK"))


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
    bins = bins_of(counts)
    found = [entry["count"] for entry in bins]
    ends = [(entry["from"], entry["to"]) for entry in bins]
    names = [whole(low) if low == high else f"{whole(low)}–{whole(high)}" for low, high in ends]  # noqa: RUF001
    wide = max(map(len, names))
    return [
        title,
        *(
            f"  {name:>{wide}}  {bar(number / max(found)):{_BAR}}  {whole(number)}"
            for name, number in zip(names, found, strict=True)
        ),
    ]


def bins_of(counts: Any) -> list[dict[str, int]]:
    """The bars of a histogram: from, to, and how many rows."""
    bins = _bins(int(counts.min()), int(counts.max()))
    return [
        {"from": low, "to": high, "count": int(((counts >= low) & (counts <= high)).sum())}
        for low, high in bins
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


def bar(share: float, wide: int = _BAR) -> str:
    """A bar of that share of the width, to an eighth of a character; never empty for some."""
    eighths = math.ceil(share * wide * 8)
    return "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of right-aligned columns; the first column is aligned to the left."""
    wide = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = []
    for first, *others in (heads, *rows):
        cells = [f"{cell:>{width}}" for cell, width in zip(others, wide[1:], strict=True)]
        lines.append("  ".join([f"{first:{wide[0]}}", *cells]))
    return lines
