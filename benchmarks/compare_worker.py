"""What ``benchmarks.compare`` times, and the process that times it for one revision.

The tasks use public names alone, so that they run on revisions whose insides differ. The process
reads one JSON command a line and answers with one line each; ``first NAME`` is one first fit.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import primaldual
from primaldual import Problem, solve
from primaldual.datasets import labels, worst_case, zipf_text

from .cases import all_cases

Data = tuple[Any, ...]  # X, y and perhaps the examples' weights
Make = Callable[[], Data]


@dataclass(frozen=True)
class Task:
    """Something a user waits for: ``call(*make())``, of which only the call is timed."""

    name: str
    make: Make
    call: Callable[..., Any]
    quick: bool = False  # whether it is among the few of ``--quick``


class Missing(Exception):
    """The data of a task is not there."""


# ---- data


def real(name: str) -> Make:
    """A file of the data folder."""
    return lambda: _real(name)


@lru_cache(maxsize=2)
def _real(name: str) -> Data:
    case = all_cases().get(name)
    if case is None:
        raise Missing(f"no file of {name} in the data folder")
    return case.load()


def dense(n: int, d: int, *, classes: int = 2, dtype: str = "float64") -> Make:
    """Independent normal features; labels of a linear model, real numbers for ``classes=0``."""

    def make() -> Data:
        X = np.random.default_rng(0).standard_normal((n, d))
        return X.astype(dtype), _labels(X, classes)

    return make


def text(n: int, d: int, words: float = 100.0, *, classes: int = 2, dtype: str = "float64") -> Make:
    """Documents of words as unevenly frequent as in a language."""

    def make() -> Data:
        X = zipf_text(d, n, words, seed=0)
        return X.astype(dtype), _labels(X, classes)

    return make


def correlated(n: int, d: int, rho: float = 0.95) -> Make:
    """Features in a chain, each with correlation ρ to the one before."""

    def make() -> Data:
        X = np.random.default_rng(0).standard_normal((n, d))
        for i in range(1, d):
            X[:, i] = rho * X[:, i - 1] + np.sqrt(1 - rho**2) * X[:, i]
        return X, _labels(X, 2)

    return make


def worst(size: int, side: Any) -> Make:
    """A matrix on which one side needs nearly as much more work as is possible."""

    def make() -> Data:
        X = worst_case(size, size, side)
        return X, _labels(X, 2)

    return make


def bundled(name: str) -> Make:
    """A data set that comes with scikit-learn, its features of unit variance."""

    def make() -> Data:
        from sklearn import datasets, preprocessing

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return preprocessing.scale(X), y

    return make


def weighted(make: Make) -> Make:
    """The same examples, some of more weight than others."""

    def with_weights() -> Data:
        X, y = make()
        return X, y, np.random.default_rng(2).uniform(0.5, 2.0, len(y))

    return with_weights


def _labels(X: Any, classes: int) -> Any:
    """Of a linear model with noise: real numbers, ±1, or the largest of several scores."""
    if classes == 0:
        return labels(X, seed=1, task="regression")
    if classes == 2:
        return labels(X, seed=1)
    rng = np.random.default_rng(1)
    scores = X @ rng.standard_normal((X.shape[1], classes))
    noise = rng.standard_normal(scores.shape)
    return np.argmax(scores + 0.5 * scores.std() * noise, axis=1)


# ---- calls


def solved(loss: str, lam_n: float, tol: float = 1e-6, **options: Any) -> Callable[..., Any]:
    """``solve(Problem(…))`` with λ = lam_n/n: all that happens once the arrays are there."""

    def call(X: Any, y: Any, weights: Any = None) -> Any:
        lam = lam_n / len(y)
        problem = Problem(X, y, loss=loss, lam=lam, sample_weight=weights, **options)
        return solve(problem, tol=tol, seed=0)

    return call


def fitted(name: str, **parameters: Any) -> Callable[..., Any]:
    """The fit of an estimator."""

    def call(X: Any, y: Any, weights: Any = None) -> Any:
        return getattr(primaldual, name)(**parameters).fit(X, y, sample_weight=weights)

    return call


def walked(loss: str, count: int) -> Callable[..., Any]:
    """A path of ``count`` λ."""

    def call(X: Any, y: Any) -> Any:
        return primaldual.path(X, y, np.logspace(1, -2, count) / len(y), loss)

    return call


# ---- the tasks

LOG, SQ, SVM = "logistic", "squared", "squared_hinge"

TASKS = [
    # small: the way into the library counts as much as its loops
    Task("logistic dense 100x5", dense(100, 5), solved(LOG, 1), quick=True),
    Task("squared dense 100x5", dense(100, 5, classes=0), solved(SQ, 1)),
    Task("squared_hinge dense 100x5", dense(100, 5), solved(SVM, 1)),
    Task("hinge dense 100x5", dense(100, 5), solved("hinge", 1)),
    Task("LogisticRegression dense 100x5", dense(100, 5), fitted("LogisticRegression")),
    Task("Ridge dense 100x5", dense(100, 5, classes=0), fitted("Ridge"), quick=True),
    Task("LinearSVC dense 200x10", dense(200, 10), fitted("LinearSVC")),
    Task("logistic dense 50x400", dense(50, 400), solved(LOG, 1)),
    Task("logistic text 200x500", text(200, 500, 20.0), solved(LOG, 1), quick=True),
    Task("LogisticRegression iris", bundled("iris"), fitted("LogisticRegression")),
    Task(
        "LogisticRegression breast_cancer", bundled("breast_cancer"), fitted("LogisticRegression")
    ),
    Task("Ridge diabetes", bundled("diabetes"), fitted("Ridge")),
    # dense
    Task("logistic dense 2000x20", dense(2000, 20), solved(LOG, 1), quick=True),
    Task("probit dense 2000x20", dense(2000, 20), solved("probit", 1)),
    Task("log_cosh dense 2000x20", dense(2000, 20, classes=0), solved("log_cosh", 1)),
    Task("HuberRegressor dense 2000x20", dense(2000, 20, classes=0), fitted("HuberRegressor")),
    Task(
        "epsilon_insensitive dense 500x20",
        dense(500, 20, classes=0),
        solved("epsilon_insensitive", 1, 1e-3),
    ),
    Task("logistic dense 10000x50", dense(10_000, 50), solved(LOG, 10)),
    Task("logistic dense 10000x50 float32", dense(10_000, 50, dtype="float32"), solved(LOG, 10)),
    Task("logistic dense 10000x50 weights", weighted(dense(10_000, 50)), solved(LOG, 1)),
    Task("squared_hinge dense 100000x100", dense(100_000, 100), solved(SVM, 1)),
    Task("Ridge dense 100000x100", dense(100_000, 100, classes=0), fitted("Ridge")),
    Task("logistic correlated 1000x500", correlated(1000, 500), solved(LOG, 0.1)),
    Task("squared correlated 500x1000 1e-9", correlated(500, 1000), solved(SQ, 0.1, 1e-9)),
    # sparse
    Task("logistic text 5000x12000", text(5000, 12_000), solved(LOG, 1)),
    Task(
        "squared_hinge text 5000x12000 intercept",
        text(5000, 12_000),
        solved(SVM, 0.1, fit_intercept=True),
    ),
    Task("logistic text 20000x47000 1e-3", text(20_000, 47_000), solved(LOG, 1, 1e-3)),
    Task("logistic worst dual 1000", worst(1000, "dual"), solved(LOG, 1)),
    Task("squared worst primal 1000", worst(1000, "primal"), solved(SQ, 1)),
    # real
    Task("logistic a1a", real("a1a"), solved(LOG, 1), quick=True),
    Task("logistic a9a", real("a9a"), solved(LOG, 1)),
    Task("logistic a9a 1e-9", real("a9a"), solved(LOG, 0.1, 1e-9)),
    Task("hinge a1a 1e-3", real("a1a"), solved("hinge", 1, 1e-3)),
    Task("LinearSVC a9a", real("a9a"), fitted("LinearSVC")),
    Task("LogisticRegression w8a", real("w8a"), fitted("LogisticRegression")),
    Task("squared w8a", real("w8a"), solved(SQ, 10)),
    Task("logistic leu", real("leu"), solved(LOG, 1)),
    Task("squared_hinge colon-cancer", real("colon-cancer"), solved(SVM, 0.1)),
    Task("logistic madelon 1e-3", real("madelon"), solved(LOG, 1, 1e-3)),
    Task("RidgeClassifier mushrooms", real("mushrooms"), fitted("RidgeClassifier")),
    Task("LinearSVC farm-ads", real("farm-ads"), fitted("LinearSVC")),
    Task("logistic farm-ads", real("farm-ads"), solved(LOG, 10)),
    Task("Ridge cadata", real("cadata"), fitted("Ridge")),
    Task("LinearSVR housing", real("housing_scale"), fitted("LinearSVR", tol=1e-3)),
    Task("huber abalone", real("abalone_scale"), solved("huber", 1)),
    Task("logistic news20-rebuilt 1e-3", real("news20-rebuilt"), solved(LOG, 10, 1e-3)),
    # many problems in one call
    Task("LogisticRegression digits", bundled("digits"), fitted("LogisticRegression")),
    Task(
        "LogisticRegression text 2000x5000 5 classes",
        text(2000, 5000, classes=5),
        fitted("LogisticRegression"),
    ),
    Task("LogisticRegressionCV dense 500x20", dense(500, 20), fitted("LogisticRegressionCV")),
    Task("RidgeCV dense 500x20", dense(500, 20, classes=0), fitted("RidgeCV")),
    Task("path logistic a1a 10", real("a1a"), walked(LOG, 10)),
    Task("path squared dense 2000x20 10", dense(2000, 20, classes=0), walked(SQ, 10)),
]

# Timed in a process that finds no compiled kernels, from the start of Python to the end of the fit.
FIRST = [
    Task("first LogisticRegression dense 100x5", dense(100, 5), fitted("LogisticRegression")),
    Task("first solve logistic text 2000x5000", text(2000, 5000), solved(LOG, 1)),
    Task("first LinearSVC dense 200x10", dense(200, 10), fitted("LinearSVC")),
]


def named(tasks: list[Task], name: str) -> Task:
    return next(task for task in tasks if task.name == name)


# ---- outcomes


def outcome(found: Any) -> list[Any]:
    """The arrays by which two outcomes are compared: coefficients, intercepts, dual variables."""
    if isinstance(found, list):
        return [array for one in found for array in outcome(one)]
    names = ("w", "intercept", "alpha") if hasattr(found, "w") else ("coef_", "intercept_")
    parts = [getattr(found, name) for name in (*names, "dual_coef_") if hasattr(found, name)]
    return [np.ascontiguousarray(part) for part in parts]


def digest(arrays: list[Any]) -> str:
    """SHA-256 of the arrays' bytes, shapes and types."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.shape}{array.dtype}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def _input_digest(data: Data) -> str:
    parts: list[Any] = []
    for part in data:
        parts += [part.data, part.indices, part.indptr] if sparse.issparse(part) else [part]
    return digest(parts)


# ---- the process


class Worker:
    """One revision: prepares a task, and runs it on command."""

    def __init__(self) -> None:
        self.task: Task | None = None
        self.data: Data = ()

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """What came of a command, or why nothing did."""
        try:
            return getattr(self, f"_{command.pop('do')}")(**command)
        except Missing as reason:
            return {"missing": str(reason)}
        except Exception as error:  # whatever a revision raises is a result of the comparison
            return {"error": f"{type(error).__name__}: {error}"}

    def _tasks(self) -> dict[str, Any]:
        """All names, and from where the library was loaded."""
        return {
            "tasks": [[task.name, task.quick] for task in TASKS],
            "first": [task.name for task in FIRST],
            "library": str(Path(primaldual.__file__).parent),
        }

    def _prepare(self, task: str, save: str) -> dict[str, Any]:
        """Make the data, compile, and keep the outcome in a file."""
        self.task = named(TASKS, task)
        self.data = self.task.make()
        arrays = outcome(self.task.call(*self.data))
        np.savez(save, *arrays)
        gc.collect()
        gc.freeze()  # no collection walks through the libraries' objects
        seconds = min(self._time(1)["wall"] for _ in range(2))
        return {"seconds": seconds, "data": _input_digest(self.data), "outcome": digest(arrays)}

    def _move(self) -> dict[str, Any]:
        """Copy the data: some places in memory are better for the caches than others."""
        self.data = tuple(part.copy() for part in self.data)
        return {}

    def _time(self, calls: int) -> dict[str, Any]:
        """Seconds per call of a series, of the clock and of the processor."""
        assert self.task is not None
        call, data = self.task.call, self.data
        gc.disable()
        try:
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(calls):
                call(*data)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        finally:
            gc.enable()
        return {"wall": wall / calls, "cpu": cpu / calls}


def first(name: str) -> dict[str, Any]:
    """One fit in a new process: processor seconds since Python started."""
    task = named(FIRST, name)
    try:
        arrays = outcome(task.call(*task.make()))
    except Exception as error:  # as above
        return {"error": f"{type(error).__name__}: {error}"}
    return {"cpu": time.process_time(), "outcome": digest(arrays)}


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    # Answers have a pipe of their own: nothing that a library prints may come between them.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if arguments:
        print(json.dumps(first(arguments[1])), file=answers, flush=True)
        return
    worker = Worker()
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
