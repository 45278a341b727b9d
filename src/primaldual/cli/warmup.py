"""``warmup``: compile ahead, so that the first fit is as quick as the others.

Each job runs the library on tiny data, which compiles its kernels. Jobs are dealt to one process
per core; what two of them need is compiled by one, while the other waits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Annotated, Any

import typer

from .groups import Answer
from .live import working
from .options import Loss
from .terminal import duration, plural, say, say_json

# Losses whose methods are compiled without being asked for, and what only estimators need.
WARMED = (Loss.logistic, Loss.squared, Loss.squared_hinge)
BY_ESTIMATORS = (Loss.epsilon_insensitive, Loss.huber)
# Estimators that solve with a loss, by their defaults.
ESTIMATORS = {
    "logistic": ("LogisticRegression", "LogisticRegressionCV"),
    "squared": ("Ridge", "RidgeCV", "RidgeClassifier", "RidgeClassifierCV"),
    "squared_hinge": ("LinearSVC",),
    "epsilon_insensitive": ("LinearSVR",),
    "huber": ("HuberRegressor",),
}
# What a bar of the live line is made of, and how long it is.
FULL, EMPTY, LENGTH = "━", "╌", 24


def warmup(
    answer: Answer,
    loss: Annotated[
        list[Loss] | None,
        typer.Option("--loss", help="Only these losses; can be repeated."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All losses; takes some minutes.")
    ] = False,
) -> None:
    """Compile the kernels ahead, so that the first fit is as quick as the others."""
    losses = [one.value for one in (Loss if everything else loss or WARMED)]
    jobs = jobs_for(losses, with_estimators=not loss)
    began = time.perf_counter()
    with working(progress(0, len(jobs), jobs[0])) as say_now:
        from .._numba.folders import places

        compiled = _run(jobs, say_now)
    missing = left_out(losses, with_estimators=not loss)
    place = places().write
    if answer.as_json:
        facts = {"losses": losses, "seconds_compiling": compiled, "left_out": missing}
        say_json({**facts, "seconds": time.perf_counter() - began, "cache": str(place)})
        return
    took = time.perf_counter() - began
    say(f"Ready for {', '.join(losses)}: {duration(compiled)} of compiling in {duration(took)}.")
    if missing:
        say(f"Left out: {'; '.join(missing)}. --all compiles all losses.")
    say(f"Kernels are kept in {place}" if place else "Kernels are not kept: there is no cache.")


def jobs_for(losses: list[str], with_estimators: bool) -> list[str]:
    """The names of the jobs: losses, their estimators, and the reader of files."""
    jobs = [f"loss {one}" for one in losses]
    asked = [*losses, *(one.value for one in BY_ESTIMATORS if with_estimators)]
    jobs += [f"estimators {one}" for one in dict.fromkeys(asked) if one in ESTIMATORS]
    return [*jobs, "reader"]


def left_out(losses: list[str], with_estimators: bool) -> list[str]:
    """What still compiles on first use."""
    others = [one.value for one in Loss if one.value not in losses]
    half = [one.value for one in BY_ESTIMATORS if with_estimators and one.value in others]
    others = [one for one in others if one not in half]
    found = [f"the losses {', '.join(others)}"] if others else []
    if half:
        found.append(f"{' and '.join(half)} beyond its estimator")
    return [*found, "methods of the literature other than nsync and quartz"]


def progress(done: int, of: int, what: str) -> str:
    """A bar, and what is being compiled."""
    full = LENGTH * done // max(of, 1)
    return f"{FULL * full}{EMPTY * (LENGTH - full)} {done} of {plural(of, 'job', 'jobs')}: {what}"


def _run(jobs: list[str], say_now: Any) -> float:
    """Do all jobs, on as many cores as may be used; the seconds of compiling, added up."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    count = max(1, min(cores, len(jobs) - 1))
    if count == 1:
        total = 0.0
        for k, job in enumerate(jobs):
            say_now(progress(k, len(jobs), job))
            total += do(job)
        return total
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", f"import {__name__} as it; it.main()", *jobs[k::count]],
            stdout=subprocess.PIPE,
            text=True,
        )
        for k in range(count)
    ]
    try:
        return _watched(workers, len(jobs), say_now)
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()


def _watched(workers: list[Any], jobs: int, say_now: Any) -> float:
    """Listen to the workers until all are done."""
    from queue import SimpleQueue
    from threading import Thread

    news: SimpleQueue[Any] = SimpleQueue()

    def listen(worker: Any) -> None:
        for line in worker.stdout:
            news.put(json.loads(line))
        news.put(worker.wait())

    for worker in workers:
        Thread(target=listen, args=(worker,), daemon=True).start()
    total, done, running = 0.0, 0, len(workers)
    while running:
        found = news.get()
        if isinstance(found, dict):
            done += 1
            total += found["seconds"]
            say_now(progress(done, jobs, f"last {found['job']}"))
        else:
            running -= 1
            if found:
                raise RuntimeError(f"a process of warmup ended with code {found}; see above.")
    return total


def do(job: str) -> float:
    """Run one job; seconds of compiling."""
    from .._numba.compile import seconds_compiling

    before = seconds_compiling()
    kind, _, name = job.partition(" ")
    if kind == "reader":
        _compile_reader()
    elif kind == "estimators":
        _compile_estimators(name)
    else:
        _compile_for(name)
        _compile_storages(name)
        _compile_text(name)
    return seconds_compiling() - before


def _compile_reader() -> None:
    """Read a file of LIBSVM text."""
    import tempfile
    from pathlib import Path

    from .. import files
    from ..writing import write_text

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tiny.svm"
        write_text(place, "1 1:0.5\n-1 2:1\n")
        files.read(place)


def _allowed(y: Any, loss: str) -> Any:
    """Labels as targets that the loss takes."""
    from ..losses import LOSSES

    return y if LOSSES[loss]().targets == "any" else abs(y)


def _compile_for(loss: str) -> None:
    """Run the engine's methods and the paper's on tiny data, dense and sparse."""
    from ..advice import advise
    from ..methods import ENGINE, METHODS
    from ..methods.base import takes_loss
    from ..problem import Problem
    from ..solver import solve

    (dense, thin, *_), y = _tiny()
    for data in (dense, thin):
        for intercept in (False, True):
            problem = Problem(data, _allowed(y, loss), loss, lam=0.1, fit_intercept=intercept)
            advise(problem)
            for name in ("auto", *ENGINE, "nsync", "quartz"):
                kind = METHODS.get(name)
                if kind is not None and not takes_loss(kind, problem):
                    continue
                solve(problem, name, tol=1e-12, max_passes=3, seed=0, callback=lambda check: None)


def _compile_storages(loss: str) -> None:
    """The engine on float32, on sparse ones, and on more features than examples."""
    from ..methods import METHODS
    from ..methods.base import takes_loss
    from ..problem import Problem
    from ..solver import solve

    matrices, y = _tiny()
    for data in matrices[2:]:
        for intercept in (False, True):
            problem = Problem(data, _allowed(y, loss), loss, lam=0.1, fit_intercept=intercept)
            for name in ("auto", "dual_cd", "newton", "newton_cg"):
                kind = METHODS.get(name)
                if kind is None or takes_loss(kind, problem):
                    solve(problem, name, tol=1e-12, max_passes=3, seed=0)


def _compile_text(loss: str) -> None:
    """Advice and a solve on what texts look like: rows of many lengths, indices of 32 bits."""
    from ..advice import advise
    from ..datasets import labels, zipf_text
    from ..problem import Problem
    from ..solver import solve

    X = zipf_text(d=300, n=100, seed=0)
    for intercept in (False, True):
        problem = Problem(
            X, _allowed(labels(X, seed=1), loss), loss, lam=0.01, fit_intercept=intercept
        )
        str(advise(problem))
        solve(problem, seed=0)


def _compile_estimators(loss: str) -> None:
    """Fit the estimators of a loss by their defaults: dense and sparse, float64 and float32."""
    import warnings

    import numpy as np

    from .. import estimators

    matrices, y = _tiny()
    for name in ESTIMATORS[loss]:
        targets = [y if issubclass(getattr(estimators, name), _classifier()) else y + 0.1]
        if name in ("LogisticRegression", "LinearSVC"):
            targets.append(np.arange(len(y)) % 3)
        for target in targets:
            for data in matrices:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # such as those about data this small
                    getattr(estimators, name)().fit(data, target)
    if loss == "logistic":
        for data in matrices[:2]:
            for side in ("primal", "dual"):
                labels = np.arange(len(y)) % 3
                estimators.LogisticRegression(side=side, tol=1e-3).fit(data, labels)


def _classifier() -> Any:
    from sklearn.base import ClassifierMixin

    return ClassifierMixin


def _tiny() -> Any:
    """Matrices of all storages, dense and sparse in float64 first, and labels."""
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(0)
    dense = rng.standard_normal((40, 4))
    thin = sparse.random_array((40, 60), density=0.05, format="csr", rng=rng)
    ones, even = thin.copy(), thin.copy()
    ones.data[:] = 1.0
    even.data[:] = np.repeat(0.5 + np.arange(40), np.diff(even.indptr))
    single = [dense.astype(np.float32), thin.astype(np.float32)]
    return (dense, thin, ones, even, *single), np.where(dense[:, 0] > 0, 1.0, -1.0)


def main() -> None:
    """A worker: do the jobs named on the command line, and say so after each."""
    for one in sys.argv[1:]:
        print(json.dumps({"job": one, "seconds": do(one)}), flush=True)
