"""The command line. Heavy imports happen inside the commands, so that --help is quick."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from types import FrameType

import typer

import primaldual

from . import ask, care, info, path, shard, train, use, warmup
from .groups import expanded
from .options import Command, Group
from .terminal import INTERRUPTED, Interrupted, guarded, say

_CODES = (
    "Exit codes: 0 done · 1 a fault in primaldual itself · 2 wrong usage, or a file that cannot be "
    "used · 3 done, but the gap is above --tol · 130 interrupted."
)
_MORE = "--version prints the version; --install-completion sets up completion in the shell."

# Typer loads Pydantic to parse its options about completion, and Rich to print help: both take
# longer than all the rest.
_COMPLETION = ("--install-completion", "--show-completion")
_completes = "_PRIMALDUAL_COMPLETE" in os.environ or any(word in sys.argv for word in _COMPLETION)

app = typer.Typer(
    cls=Group,
    help="Primal or dual? Train linear models on the cheaper side, with a certificate.",
    epilog=f"{_CODES} {_MORE}",
    no_args_is_help=True,
    add_completion=_completes,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Options of the command itself: none, so that none has to be parsed before the help."""


for _command in (
    ask.advise,
    ask.faceoff,
    train.fit,
    shard.shard,
    use.predict,
    use.score,
    info.info,
    path.path,
    warmup.warmup,
    care.doctor,
    care.reproduce,
):
    app.command(cls=Command, epilog=_CODES)(guarded(expanded(_command)))


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def _occupy(number: int) -> None:
    """Let a stream that was closed be /dev/null, so that no file that is opened takes its place."""
    try:
        os.fstat(number)
    except OSError:
        handle = os.open(os.devnull, os.O_RDWR)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)


def main() -> None:
    """Entry point of the ``primaldual`` command."""
    for number in range(3):
        with contextlib.suppress(OSError):
            _occupy(number)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has enough ends us quietly
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        if sys.argv[1:] == ["--version"]:
            say(f"primaldual {primaldual.__version__}")
        else:
            app()
    except (Interrupted, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    finally:
        gc.freeze()  # the modules need no collecting at the end, which would take longer than all
