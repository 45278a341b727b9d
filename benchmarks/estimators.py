"""Measure the estimators' promises: ``python -m benchmarks.estimators path|sides|memory``.

``path``    a 20-value λ path against 20 cold fits: the ratio of their processor times.
``sides``   ``side="auto"`` against ``"primal"`` and ``"dual"``, its own deciding time included.
``memory``  the peak memory of a fit, as a multiple of the size of its data.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from primaldual.estimators import LinearSVC, LogisticRegression, Ridge, path

from .cases import Case, all_cases

# The values of C that scikit-learn's LogisticRegressionCV(Cs=20) tries, and milder ranges.
RANGES = {"1e-4 … 1e4": (-4, 4), "1e-4 … 1e2": (-4, 2), "1e-2 … 1e1": (-2, 1)}
PATH_CASES = "a9a|news20-rebuilt"
SIDES = ("auto", "primal", "dual")
MODELS = {"logistic": LogisticRegression, "squared_hinge": LinearSVC, "squared": Ridge}
# Runs shorter than this are repeated: the shortest counts.
ENOUGH = 0.5
MEGABYTE = 1 << 20


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimators", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("path", help="a λ path against cold fits").add_argument
    add("--cases", type=re.compile, default=re.compile(PATH_CASES), metavar="REGEX")
    add("--range", choices=sorted(RANGES), default="1e-4 … 1e4", help="of the 20 values of C")
    add("--repeats", type=int, default=1)
    add = commands.add_parser("sides", help="auto against primal and dual").add_argument
    add("--cases", type=re.compile, default=re.compile(""), metavar="REGEX")
    add("--losses", type=re.compile, default=re.compile(""), metavar="REGEX")
    add("--seconds", type=float, default=10.0, help="limit of one fit, 10")
    add = commands.add_parser("memory", help="peak memory of a fit").add_argument
    add("--megabytes", type=int, default=200, help="size of the data, 200")
    add("--folder", type=Path, default=None, help="where the data may be written")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    {"path": measure_paths, "sides": measure_sides, "memory": measure_memory}[options.command](
        options
    )


# --------------------------------------------------------------------------------------------
# path


def measure_paths(options: argparse.Namespace) -> None:
    low, high = RANGES[options.range]
    values = np.logspace(low, high, 20)
    print(f"20 values of C, {options.range}, tol 1e-6, processor time\n")
    print("| data | intercept | 20 fits | one path | ratio | passes of the fits | of the path |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for case in _classifications(options.cases):
        X, y = case.load()
        for intercept in (True, False):
            _print_path(case.name, X, y, values, intercept, options.repeats)


def _print_path(name: str, X: Any, y: Any, values: Any, intercept: bool, repeats: int) -> None:
    lams = 1 / (values * len(y))
    passes = {"cold": 0.0, "warm": 0.0}

    def cold() -> None:
        passes["cold"] = 0.0
        for C in values:
            model = LogisticRegression(C=float(C), fit_intercept=intercept).fit(X, y)
            passes["cold"] += model.n_iter_

    def warm() -> None:
        results = path(X, y, lams, fit_intercept=intercept)
        passes["warm"] = sum(result.passes for result in results)

    LogisticRegression(fit_intercept=intercept).fit(X, y)  # compiles
    path(X, y, lams[:1], fit_intercept=intercept)
    pairs = [(_seconds(cold), _seconds(warm)) for _ in range(repeats)]
    fits, one = (min(column) for column in zip(*pairs, strict=True))
    print(
        f"| {name} | {'yes' if intercept else 'no'} | {fits:.2f} s | {one:.2f} s "
        f"| {fits / one:.1f} | {passes['cold']:.0f} | {passes['warm']:.0f} |",
        flush=True,
    )


def _classifications(pattern: Any) -> list[Case]:
    cases = all_cases().values()
    return [case for case in cases if not case.regression and pattern.fullmatch(case.name)]


def _seconds(work: Callable[[], Any]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


# --------------------------------------------------------------------------------------------
# sides


def measure_sides(options: argparse.Namespace) -> None:
    print("fit with C = alpha = 1, tol 1e-6; seconds of processor time, > where not reached\n")
    print("| data | loss | auto | primal | dual | auto / better | auto ran |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    worst: list[tuple[float, str]] = []
    for case in all_cases().values():
        if not options.cases.search(case.name):
            continue
        losses = [loss for loss in case.losses if options.losses.search(loss)]
        X, y = case.load() if losses else (None, None)
        for loss in losses:
            ratio = _print_sides(case.name, X, y, loss, options.seconds)
            worst.append((ratio, f"{case.name} {loss}"))
    slow = sorted((entry for entry in worst if entry[0] > 1.5), reverse=True)
    print(f"\n{len(worst)} rows, {len(slow)} with auto above 1.5 times the better side")
    for ratio, name in slow:
        print(f"  {ratio:.2f}  {name}")


def _print_sides(name: str, X: Any, y: Any, loss: str, limit: float) -> float:
    """Print a row; return the ratio of auto to the better side."""
    runs: dict[str, list[float]] = {side: [] for side in SIDES}
    models: dict[str, Any] = {}

    def fit(side: str) -> None:
        models[side] = MODELS[loss](side=side, max_time=limit, max_iter=None).fit(X, y)

    for side in SIDES:
        fit(side)  # compiles, and tells how long it takes
    spent, turn = 0.0, 0
    while spent < ENOUGH * len(SIDES) and len(runs["dual"]) < 20:
        # In turn, since the machine's speed changes; each after each, since what ran before has
        # filled the caches.
        turn += 1
        for side in SIDES[turn % 3 :] + SIDES[: turn % 3]:
            if models[side].dual_gap_ > models[side].tol and runs[side]:
                continue
            runs[side].append(_seconds(lambda side=side: fit(side)))
            spent += runs[side][-1]
    best = {side: min(seconds) for side, seconds in runs.items()}
    reached = {side: models[side].dual_gap_ <= models[side].tol for side in SIDES}
    better = min((best[s] for s in SIDES[1:] if reached[s]), default=np.inf)
    ratio = best["auto"] / better if reached["auto"] else np.inf
    ratio = 0.0 if better == np.inf else ratio
    ran = " → ".join(dict.fromkeys(str(method) for method in models["auto"].history_["method"]))
    columns = [f"{'' if reached[side] else '> '}{best[side]:.4f}" for side in SIDES]
    print(f"| {name} | {loss} | {' | '.join(columns)} | {ratio:.2f} | {ran} |", flush=True)
    return ratio


# --------------------------------------------------------------------------------------------
# memory

# One fit in a process of its own. The data is mapped from a file: its pages in memory belong to
# the file and count as the input; what the fit adds is anonymous memory.
FIT = """
import json, sys, warnings
from benchmarks.estimators import fit_and_watch
warnings.simplefilter("ignore")
print(json.dumps(fit_and_watch(*sys.argv[1:])))
"""


def measure_memory(options: argparse.Namespace) -> None:
    print(f"float32 data of {options.megabytes} MB; peak = (data + most memory added) / data\n")
    print("| data | side | shape | peak | added | seconds | method |")
    print("| --- | --- | --- | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for kind, write in (("dense", _write_dense), ("csr", _write_csr)):
            for wide in (False, True):
                size = write(Path(folder), options.megabytes * MEGABYTE, wide)
                for side in ("dual", "primal"):
                    _print_memory(folder, kind, side, size)


def _print_memory(folder: str, kind: str, side: str, size: int) -> None:
    arguments = [sys.executable, "-c", FIT, kind, side, folder]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the fit on {kind} data failed:\n{done.stderr}")
    seen = json.loads(done.stdout)
    print(
        f"| {kind} | {side} | {seen['shape']} | {1 + seen['added'] / size:.2f} "
        f"| {seen['added'] / MEGABYTE:.0f} MB | {seen['seconds']:.0f} | {seen['method']} |",
        flush=True,
    )


def fit_and_watch(kind: str, side: str, folder: str) -> dict[str, Any]:
    """Fit the data in the folder, and the most anonymous memory that added."""
    X, y = _read(Path(folder), kind)
    small = X[:200]
    LogisticRegression(side=side, max_iter=1).fit(small, y[:200])  # compiles
    before, most, over = _anonymous(), [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.002):
            most[0] = max(most[0], _anonymous() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    model = LogisticRegression(side=side, max_iter=5, tol=1e-4).fit(X, y)
    seconds = time.perf_counter() - began
    over.set()
    watcher.join()
    methods = dict.fromkeys(str(method) for method in model.history_["method"])
    return {
        "added": most[0],
        "seconds": seconds,
        "shape": f"{X.shape[0]} × {X.shape[1]}",
        "method": " → ".join(methods),
    }


def _anonymous() -> int:
    """Bytes of memory of this process that belong to no file."""
    with open("/proc/self/statm") as file:
        _, resident, shared, *_ = (int(part) for part in file.read().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def _write_dense(folder: Path, size: int, wide: bool) -> int:
    shape = (size // 4 // 1000, 1000) if not wide else (1000, size // 4 // 1000)
    rng = np.random.default_rng(0)
    X = np.memmap(folder / "X", dtype=np.float32, mode="w+", shape=shape)
    step = max(1, (1 << 22) // shape[1])
    for first in range(0, shape[0], step):
        part = X[first : first + step]
        part[:] = rng.standard_normal(part.shape, dtype=np.float32)
    X.flush()
    (folder / "shape").write_text(json.dumps(shape))
    np.save(folder / "y.npy", np.where(rng.random(shape[0]) < 0.5, -1.0, 1.0))
    return X.nbytes


def _write_csr(folder: Path, size: int, wide: bool) -> int:
    per_row = 100
    n = size // 8 // per_row
    d = n if wide else 2_000
    rng = np.random.default_rng(0)
    indices = np.memmap(folder / "indices", dtype=np.int32, mode="w+", shape=n * per_row)
    values = np.memmap(folder / "values", dtype=np.float32, mode="w+", shape=n * per_row)
    gap = d // per_row
    for first in range(0, n, 10_000):
        rows = min(10_000, n - first)
        # One column in each of per_row stretches: sorted and without duplicates.
        columns = np.arange(per_row) * gap + rng.integers(0, gap, (rows, per_row))
        part = slice(first * per_row, (first + rows) * per_row)
        indices[part] = columns.ravel()
        values[part] = rng.random(rows * per_row, dtype=np.float32) + 0.5
    indices.flush()
    values.flush()
    np.save(folder / "indptr.npy", np.arange(n + 1, dtype=np.int32) * per_row)
    (folder / "shape").write_text(json.dumps([n, d]))
    np.save(folder / "y.npy", np.where(rng.random(n) < 0.5, -1.0, 1.0))
    return indices.nbytes + values.nbytes


def _read(folder: Path, kind: str) -> tuple[Any, Any]:
    shape = tuple(json.loads((folder / "shape").read_text()))
    y = np.load(folder / "y.npy")
    if kind == "dense":
        return np.memmap(folder / "X", dtype=np.float32, mode="r", shape=shape), y
    indices = np.memmap(folder / "indices", dtype=np.int32, mode="r")
    values = np.memmap(folder / "values", dtype=np.float32, mode="r")
    X = sparse.csr_array((values, indices, np.load(folder / "indptr.npy")), shape=shape)
    return X, y


if __name__ == "__main__":
    main()
