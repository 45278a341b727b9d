"""Numbers in prose are those of the tables beside them, and commands run as they are pasted."""

from __future__ import annotations

import math
import re
import shlex
import shutil
from pathlib import Path

import pytest
from command_server import Server
from commands import ENVIRONMENT

ROOT = Path(__file__).parents[2]
BENCHMARKS = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def ratios():
    """Ours over the best peer's at the three levels, of every task in the large table."""
    pattern = r"^\| [\w.\-]+ \| (?:logistic|squared hinge|squared) \|([^|]+)\|([^|]+)\|([^|]+)\|"
    rows = re.findall(pattern, BENCHMARKS, re.MULTILINE)
    columns = zip(*rows, strict=True)
    numbers = r" *[0-9.]+ *"
    return [[float(cell) for cell in column if re.fullmatch(numbers, cell)] for column in columns]


def test_the_means_in_the_text_are_those_of_the_table():
    columns = ratios()
    means = [math.exp(sum(map(math.log, column)) / len(column)) for column in columns]
    said = "{:.2f} at 1e-3, {:.2f} at 1e-6, {:.2f} at 1e-9".format(*means)
    assert said in BENCHMARKS
    behind = sum(ratio > 1 for ratio in columns[1])
    assert f"behind the best peer on {behind} of {len(columns[1])} tasks" in BENCHMARKS
    far = sum(ratio > 1.2 for ratio in columns[1])
    assert f"more than 20 % on {far}." in BENCHMARKS


def test_the_front_page_has_the_counts_of_the_last_table():
    row = re.search(r"^\| all \|.*\| (\d+) of (\d+) \| \d+ \|",
                    BENCHMARKS, re.MULTILINE)  # fmt: skip
    behind, tasks = int(row[1]), int(row[2])
    assert f"on {tasks - behind} of {tasks} tasks" in README


def test_the_commands_of_the_front_page_run_as_they_are_pasted(tmp_path):
    pytest.importorskip("polars")
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    block = README.split("## Command line")[1].split("## ")[0]
    commands = re.findall(r"^    primaldual (.*)$", block, re.MULTILINE)
    assert len(commands) >= 6
    server = Server(ENVIRONMENT)
    for command in commands:
        done = server.run(*shlex.split(command, comments=True), cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    server.close()
    assert (tmp_path / "race.html").exists()


def test_the_install_line_has_everything_that_the_commands_need():
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert extras["all"] == ["primaldual[dask,io,plots]"]
    assert "pip install '.[all]'" in README
