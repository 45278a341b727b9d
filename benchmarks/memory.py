"""Measure the memory a solve takes beside its input: ``python -m benchmarks.memory`` (Linux).

Every case runs in a process of its own: the largest resident memory while ``Problem(…)`` is made
and solved, less what was resident just before, over the bytes of the input. Kernels are compiled
before, on a small problem of the same kind. The promise is 1.2 times the input, and 2.2 times
where the side needs the transposed copy.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from primaldual import Problem, solve

from .growth import size_of, sparse_data

KINDS = ("sparse", "dense")
TYPES = ("float64", "float32")
# The data comes by example: the primal side, and whatever turns to it, needs the transposed copy.
PROMISES = {"dual_cd": 1.2, "primal_cd": 2.2, "auto": 2.2}
PASSES = 12.0
FEATURES = {"sparse": 100_000, "dense": 500}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--megabytes", type=float, default=300.0, help="of the input")
    parser.add_argument("--case", nargs=3, metavar=("KIND", "TYPE", "METHOD"), help="only one")
    options = parser.parse_args(arguments)
    if options.case:
        kind, dtype, method = options.case
        print(measure(kind, dtype, method, options.megabytes))
        return
    print("| data | values | method | extra memory / input | promised |")
    print("| --- | --- | --- | --: | --: |")
    for case in [(kind, dtype, name) for kind in KINDS for dtype in TYPES for name in PROMISES]:
        extra = in_own_process(*case, options.megabytes)
        print(f"| {' | '.join(case)} | {extra:.2f} | {PROMISES[case[2]]} |", flush=True)


def in_own_process(kind: str, dtype: str, method: str, megabytes: float) -> float:
    """The extra memory of one case, measured by a fresh process."""
    command = [sys.executable, "-m", "benchmarks.memory", "--megabytes", str(megabytes)]
    output = subprocess.check_output([*command, "--case", kind, dtype, method], text=True)
    return float(output)


def measure(kind: str, dtype: str, method: str, megabytes: float) -> float:
    """The largest extra memory of a solve, over the bytes of its input."""
    warnings.simplefilter("ignore")
    # Compiles. The second has more examples than features and needs many epochs, as large data may.
    for small, lam_n in ((0.1, 1.0), (4.0, 1e-4)):
        _solved(*_data(kind, dtype, small), method, lam_n)
    X, y = _data(kind, dtype, megabytes)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before = _kilobytes("VmRSS")
    _solved(X, y, method)
    return (_kilobytes("VmHWM") - before) * 1024 / size_of(X)


def _data(kind: str, dtype: str, megabytes: float) -> tuple[Any, Any]:
    """Input of about that size."""
    d, entry = FEATURES[kind], np.dtype(dtype).itemsize
    if kind == "sparse":
        n = max(20, int(megabytes * 1e6) // (50 * (entry + 4)))
        return sparse_data(n, d, dtype)
    n = max(20, int(megabytes * 1e6) // (d * entry))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32).astype(dtype, copy=False)
    return X, np.where(rng.random(n) < 0.5, -1.0, 1.0)


def _solved(X: Any, y: Any, method: str, lam_n: float = 1.0) -> Any:
    return solve(Problem(X, y, lam=lam_n / len(y)), method, max_passes=PASSES, seed=0)


def _kilobytes(name: str) -> int:
    """A line of the process's status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise RuntimeError(f"the system does not tell {name}: this needs Linux.")


if __name__ == "__main__":
    main()
