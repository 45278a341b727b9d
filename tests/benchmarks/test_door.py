"""python -m benchmarks --door: both libraries' estimators are timed on the same objective."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    """What was printed, kept and written into a page, for a few small tasks."""
    folder = tmp_path_factory.mktemp("door")
    page, numbers = folder / "page.md", folder / "door.json"
    page.write_text("before\n<!-- door: begin -->\nold\n<!-- door: end -->\nafter\n")
    command = [sys.executable, "-m", "benchmarks", "--door", "--repeats", "1", "--targets", "1e-6"]
    command += ["--quick", "--cases", "^(Ridge|RidgeCV|LinearSVR squared.*) on diabetes$"]
    command += ["--json", numbers, "--into", page]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(numbers.read_text())["lines"], page.read_text()


def test_fits_matched_fits_and_jobs_are_timed(door):
    printed, lines, _ = door
    assert {line["part"] for line in lines} == {"fits", "matched", "jobs"}
    assert all(line["ours"] > 0 and line["theirs"] > 0 for line in lines)
    assert "fits: geometric mean" in printed and "jobs: geometric mean" in printed


def test_both_objectives_are_compared_and_ours_is_certified(door):
    fits = [line for line in door[1] if line["part"] != "jobs"]
    assert all(line["excess"] <= 1e-6 for line in fits)


def test_the_tables_replace_those_of_the_page(door):
    page = door[2]
    assert page.startswith("before\n<!-- door: begin -->\n\n| tasks |")
    assert page.endswith("<!-- door: end -->\nafter\n") and "old" not in page
    assert "- Ridge: diabetes" in page
