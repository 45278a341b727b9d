"""The benchmarks on growth and memory run, and a solve keeps its promise on memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def run(module, *arguments):
    """What ``python -m benchmarks.module`` prints."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_growth_measures_every_size_and_draws(tmp_path):
    numbers, figure = tmp_path / "growth.json", tmp_path / "growth.svg"
    options = ("--smallest", 1e4, "--largest", 3e4, "--seconds", 0)
    options = (*options, "--json", numbers, "--plot", figure)
    printed = run("growth", *options)
    found = json.loads(numbers.read_text())
    assert found.pop("last_cache") >= 0
    for lines in found.values():
        assert [line["nonzeros"] for line in lines] == [10_000, 30_000]
        for what in ("dual_cd", "primal_cd", "certificate", "transpose"):
            assert all(line[what] > 0 for line in lines)
    assert [[line["d"] for line in lines] for lines in found.values()] == [
        [200, 200],
        [200, 600],
        [200, 600],
    ]
    assert printed.count("growth beyond the last cache") == len(found)
    assert printed.count("growth beyond twice the last cache") == len(found)
    assert "round of primal_cd" in figure.read_text()
    # Kept numbers are shown again as they are.
    assert run("growth", *options) == printed


@needs_linux
@pytest.mark.parametrize(("kind", "dtype"), [("sparse", "float64"), ("dense", "float32")])
def test_memory_beside_the_input_is_as_promised(kind, dtype):
    def extra(method):
        return float(run("memory", "--megabytes", 40, "--case", kind, dtype, method))

    # Small vectors only, far from a copy of the data.
    assert extra("dual_cd") < 0.5
    # One copy, which cannot be had for nothing: the measurement sees it.
    assert 0.9 < extra("primal_cd") < 1.6
