"""Start primaldual commands as real processes without paying for the imports each time.

Run as a script this file is a server: it imports the library once, and forks a process for every
command that it is sent. ``Server`` is the client's side, for tests. Neither waits forever, and with
the server all of its commands end.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout, suppress
from pathlib import Path

import bounded

# Seconds that a command may take, and the server to start, which compiles some kernels.
LONGEST, START = 150.0, 250.0


def serve():
    """Read one JSON object a line: start a command, or wait for one and tell its exit code."""
    import primaldual.checkpoints
    import primaldual.cli
    import primaldual.files.svmlight
    import primaldual.models
    import primaldual.report  # noqa: F401

    # Kernels that are loaded here need not be loaded by every command.
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder, "tiny.svm")
        tiny.write_text("1 1:0.5 3:1\n-1 2:1\n1 3:2\n-1 1:1\n" * 9, encoding="utf-8")
        for side in ("primal", "dual"):
            rehearse("fit", tiny, "-o", f"{tiny}.model", "--side", side)
        rehearse("advise", tiny)
        rehearse("predict", f"{tiny}.model", tiny)

    running = set()
    print("ready", flush=True)
    try:
        for line in sys.stdin:
            order = json.loads(line)
            if "wait" in order:
                answer = ended(order["wait"])
                running.discard(order["wait"])
            else:
                answer = os.fork() or become(order)
                running.add(answer)
            print(json.dumps(answer), flush=True)
    finally:
        for number in running:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def ended(number):
    """The exit code of a command; None if it had to be killed after ``LONGEST``."""
    deadline, pause = time.monotonic() + LONGEST, 0.0005
    while os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > deadline:
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
            return None
        time.sleep(pause)
        pause = min(1.5 * pause, 0.02)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def rehearse(*arguments):
    """Run a command that must end well in this process, and throw away what it says."""
    from primaldual.cli import app

    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        app([str(argument) for argument in arguments], standalone_mode=False)


def become(order):
    """Be the command, in a process of its own; never returns."""
    from primaldual.cli import main

    os.chdir(order["cwd"])
    for handle, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(os.open(order[name], os.O_WRONLY if handle else os.O_RDONLY), handle)
    sys.argv = ["primaldual", *order["arguments"]]
    code = 1
    try:
        main()
        code = 0
    except SystemExit as exit:
        code = exit.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class Server:
    """Runs commands like ``subprocess``, through the server."""

    def __init__(self, environment):
        self.running = bounded.started(
            [sys.executable, __file__],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0,
        )  # fmt: skip
        self.process = self.running.__enter__()
        assert self.answer(START) == "ready"

    def close(self):
        self.running.__exit__(None, None, None)

    def ask(self, **order):
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        return json.loads(self.answer(LONGEST + 30.0))

    def answer(self, seconds):
        """The next line of the server."""
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        assert ready, f"the server of commands has not answered for {seconds} seconds"
        line = self.process.stdout.readline().decode().strip()
        assert line, "the server of commands has ended"
        return line

    def start(self, *arguments, cwd=".", stdin=os.devnull, stdout=os.devnull, stderr=os.devnull):
        """The process number of a command that begins now."""
        places = {"cwd": cwd, "stdin": stdin, "stdout": stdout, "stderr": stderr}
        return self.ask(
            arguments=[str(argument) for argument in arguments],
            **{name: os.path.abspath(place) for name, place in places.items()},
        )

    def wait(self, number):
        """The exit code of a command, negative if a signal ended it."""
        code = self.ask(wait=number)
        assert code is not None, f"a command has not ended in {LONGEST} seconds"
        return code

    def kill(self, number):
        os.kill(number, signal.SIGKILL)

    def run(self, *arguments, cwd=".", stdin=os.devnull):
        """Run a command to its end."""
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            out.touch()
            err.touch()
            number = self.start(*arguments, cwd=cwd, stdin=stdin, stdout=out, stderr=err)
            code = self.wait(number)
            texts = (place.read_text(encoding="utf-8") for place in (out, err))
            return subprocess.CompletedProcess(arguments, code, *texts)


if __name__ == "__main__":
    serve()
