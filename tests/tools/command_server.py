"""Start primaldual commands as real processes without paying for the imports each time.

Run as a script this file is a server: it imports the library once, and forks a process for every
command that it is sent. ``Server`` is the client's side, for tests.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path


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

    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            _, status = os.waitpid(order["wait"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork() or become(order)
        print(json.dumps(answer), flush=True)


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
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env=environment,
        )  # fmt: skip

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def ask(self, **order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def start(self, *arguments, cwd=".", stdin=os.devnull, stdout=os.devnull, stderr=os.devnull):
        """The process number of a command that begins now."""
        places = {"cwd": cwd, "stdin": stdin, "stdout": stdout, "stderr": stderr}
        return self.ask(
            arguments=[str(argument) for argument in arguments],
            **{name: os.path.abspath(place) for name, place in places.items()},
        )

    def wait(self, number):
        """The exit code of a command, negative if a signal ended it."""
        return self.ask(wait=number)

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
