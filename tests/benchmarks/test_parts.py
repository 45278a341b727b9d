"""python -m benchmarks.parts: rounds are printed, and what larger clusters should take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments):
    """What ``python -m benchmarks.parts`` prints."""
    command = [sys.executable, "-m", "benchmarks.parts", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    ).stdout


def test_rounds_and_the_agreement_with_memory_are_printed():
    line = run("--data", "digits", "--workers", "", "--parts", "2").splitlines()[1]
    name, n, d, fits, count, rounds, expected, _, gap, apart = line.split()[:10]
    assert (name, n, d, fits, count) == ("digits", "1797", "64", "10", "2")
    assert expected == "(9"  # rounds, by the advice on the problem
    assert int(rounds) <= 15 and float(gap) <= 1e-6 and float(apart) <= 1e-6


def test_the_model_says_where_more_workers_stop_to_help():
    rows = [[float(cell) for cell in line.split()] for line in run("--model").splitlines()[2:]]
    seconds = {int(row[0]): row[1:] for row in rows}
    assert seconds[1000][0] < seconds[16][0] < seconds[1][0]  # 1e5 features
    assert seconds[1000][-1] > seconds[16][-1]  # 1e8 features
