"""The primaldual command, through a real process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("primaldual")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, encoding="utf-8", env=environment, timeout=300
    )


def test_help_names_the_commands():
    done = run("--help")
    assert done.returncode == 0
    assert "faceoff" in done.stdout
    assert done.stderr == ""


def test_help_of_a_command_names_its_options():
    done = run("faceoff", "--help")
    assert done.returncode == 0
    for option in ("--tol", "--max-passes", "--seed"):
        assert option in done.stdout


def test_help_does_not_load_the_compiler():
    """The heavy imports wait for a command that needs them."""
    code = "import sys, primaldual.cli; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_faceoff_gives_a_verdict_on_every_embedded_problem():
    done = run("faceoff", "--tol", "1e-2")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    titles = (
        "The paper's worst case for the dual method",
        "The paper's worst case for the primal method",
        "Breast cancer",
    )
    for title in titles:
        assert sum(title in line for line in lines) == 1
    verdicts = [line for line in lines if line.startswith("The prediction ")]
    assert len(verdicts) == len(titles)
    for verdict in verdicts:
        assert re.match(r"The prediction (held|failed): (primal|dual) needs fewer passes", verdict)
        assert "primal/dual predicted" in verdict
        assert "in passes" in verdict
        assert "in seconds" in verdict
    assert sum("← fewest passes" in line for line in lines) == len(titles)


def test_faceoff_says_so_when_nobody_arrives():
    done = run("faceoff", "--max-passes", "0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("neither side arrived") >= 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-command",),
        ("faceoff", "--no-such-option"),
        ("faceoff", "--tol", "small"),
        ("faceoff", "--tol", "0"),
        ("faceoff", "--tol", "-1"),
        ("faceoff", "--tol", "2"),
        ("faceoff", "--max-passes", "-1"),
        ("faceoff", "--seed", "-1"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_a_message_instead_of_a_traceback(arguments):
    done = run(*arguments)
    assert "Traceback" not in done.stderr
    assert "Usage" in done.stderr or "Error" in done.stderr
    assert done.returncode == 2


def test_no_arguments_show_the_help():
    done = run()
    assert done.returncode in (0, 2)  # Click changed its mind about this code
    assert "faceoff" in done.stdout + done.stderr
