"""Two revisions are compared task by task, and what fails in one of them is not hidden."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

ROOT = Path(__file__).parents[2]
IN_GIT = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True).returncode
needs_git = pytest.mark.skipif(IN_GIT != 0, reason="not in a git checkout with a commit")


def run(*arguments):
    """The end of ``python -m benchmarks.compare``."""
    command = [sys.executable, "-m", "benchmarks.compare", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.fixture
def benchmarks(monkeypatch):
    """The two modules; the limits that the package sets on threads are for this test alone."""
    monkeypatch.syspath_prepend(ROOT)
    with mock.patch.dict(os.environ):
        from benchmarks import compare, compare_worker

        yield compare, compare_worker


def test_tasks_are_many_and_have_names_of_their_own(benchmarks):
    _, worker = benchmarks
    names = [task.name for task in [*worker.TASKS, *worker.FIRST]]
    assert len(worker.TASKS) >= 40
    assert len(set(names)) == len(names)
    assert any(task.quick for task in worker.TASKS)


def test_a_ratio_is_the_median_over_rounds(benchmarks):
    compare, _ = benchmarks
    # The machine is twice as fast in the second round, and head is interrupted in the last one.
    line = compare.Line(
        "task", cpu=[[2.0, 2.0, 1.0, 1.0, 2.0, 2.0], [2.4, 2.4, 1.2, 1.2, 9.0, 9.0]]
    )
    assert line.ratio == pytest.approx(1.2)
    assert line.slower and line.striking
    brief = compare.Line("task", cpu=[[1e-4, 1e-4], [1.2e-4, 1.2e-4]])
    assert not brief.slower


@pytest.mark.parametrize("which", [0, 1])
def test_a_task_that_raises_in_one_revision_is_a_failed_line(benchmarks, tmp_path, which):
    compare, _ = benchmarks

    class Worker:
        def __init__(self, fails):
            self.fails = fails
            self.tree = compare.Tree("bad" if fails else "good", tmp_path)

        def ask(self, do, **_):
            if self.fails:
                return {"error": "ValueError: no"}
            return {"seconds": 1.0, "data": "", "outcome": "", "wall": 1.0, "cpu": 1.0}

    line = compare.Line("task")
    compare.warm(line, [Worker(which == 0), Worker(which == 1)], 1, tmp_path)
    assert line.failed == "bad: ValueError: no"
    assert "FAILED: bad: ValueError: no" in compare.shown(line)
    assert "1 failed" in compare.summary(
        [line, compare.Line("other", cpu=[[1.0] * 2] * 2, wall=[[1.0] * 2] * 2)]
    )


@needs_git
def test_an_unknown_revision_is_an_error_message():
    done = run("no-such-revision")
    assert done.returncode == 1
    assert "no-such-revision" in done.stderr and "Traceback" not in done.stderr


@needs_git
@pytest.mark.slow
def test_a_revision_finds_the_same_bits_as_itself(tmp_path):
    numbers = tmp_path / "numbers.json"
    options = ("--only", "logistic dense 100x5", "--quick", "--repeat", 4, "--json", numbers)
    done = run("HEAD", "HEAD", *options)
    assert done.returncode == 0, done.stderr
    assert "same bits" in done.stdout and "of 1 tasks" in done.stdout
    (task,) = json.loads(numbers.read_text())["tasks"]
    assert task["name"] == "logistic dense 100x5" and task["same"] and task["ratio"] > 0
    assert all(len(times) >= 8 for times in [*task["cpu"], *task["wall"]])
