"""What threads are worth here: ``python -m benchmarks.threads --threads 2``.

Ours with one thread and with several, in turn, in one process. The least time of each counts, and
the processor time says what sharing costs: on a machine that is busy, only that can be trusted. The
first line is a loop that only computes, the most that the cores of this machine give.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from statistics import geometric_mean
from typing import Any

import numpy as np
from scipy import sparse

from primaldual import Problem, solve
from primaldual._threads import for_each, one_blas_thread, using
from primaldual.data.matrix import Matrix
from primaldual.estimators import LogisticRegression, LogisticRegressionCV
from primaldual.kernels import kernel

LAM = 1e-5
METHODS = {"dense": ("newton", "newton_cg"), "sparse": ("newton_cg", "dual_cd")}
STEPS = 10_000_000  # of the loop that only computes, in each of eight parts


@kernel
def _spin(steps):  # type: ignore[no-untyped-def]
    state = np.uint64(1)
    for _ in range(steps):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
    return state


def tasks(scale: float) -> dict[str, Callable[[], Any]]:
    """Parts of a fit, and fits, each of some 0.1 s at scale 1."""
    rng = np.random.default_rng(0)
    n = int(200_000 * scale)
    data = {
        "dense": rng.standard_normal((n, 50)),
        "sparse": sparse.random(n // 2, 20_000, density=0.002, format="csr", random_state=0),
    }
    wide = rng.standard_normal((int(2000 * scale), 3000))
    found: dict[str, Callable[[], Any]] = {
        "a loop that only computes": partial(for_each, _spin, [int(STEPS * scale)] * 8),
        "dense: Gram matrix of the examples": Matrix(wide).gram_of_examples,
    }
    half = np.full(n, 0.5)
    found["dense: Hessian"] = partial(Matrix(data["dense"]).gram_of_features, half)
    for name, X in data.items():
        w, a = rng.random(X.shape[1]), rng.random(X.shape[0])
        y = np.where(X @ (w - 0.5) + rng.standard_normal(len(a)) > 0, 1.0, -1.0)
        labels = np.where(y > 0, rng.integers(1, 4, len(y)), 0)
        problem = Problem(X, y, "logistic", LAM)
        found[f"{name}: both products, 10 times"] = partial(_products, Matrix(X), w, a)
        for method in METHODS[name]:
            found[f"{name}: {method}"] = partial(solve, problem, method, seed=0)
        rest = LogisticRegression(multi_class="ovr", tol=1e-6)
        found[f"{name}: one against the rest, 4 classes"] = partial(rest.fit, X, labels)
        search = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], cv=4, tol=1e-6)
        found[f"{name}: 4 folds, 3 values of C"] = partial(search.fit, X, y)
    return found


def _products(matrix: Matrix, w: Any, a: Any) -> None:
    for _ in range(10):
        matrix.products(w, a)


def measured(task: Callable[[], Any], threads: int, repeats: int) -> list[tuple[float, float]]:
    """(seconds, processor seconds) with one thread and with several, the least of each."""
    task()
    least = [(np.inf, np.inf)] * 2
    for _ in range(repeats):
        for place, count in enumerate((1, threads)):
            with using(count), one_blas_thread():
                began, spent = time.perf_counter(), time.process_time()
                task()
                taken = time.perf_counter() - began, time.process_time() - spent
            least[place] = min(least[place][0], taken[0]), min(least[place][1], taken[1])
    return least


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of the data, 1")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; times in ms")
    print(f"{'':40}{'1 thread':>10}{options.threads:>4} threads{'faster':>8}{'work':>7}")
    gains = []
    for name, task in tasks(options.scale).items():
        one, several = measured(task, options.threads, options.repeats)
        gains.append(one[0] / several[0])
        print(
            f"{name:40}{1e3 * one[0]:10.1f}{1e3 * several[0]:12.1f}{gains[-1]:8.2f}"
            f"{several[1] / one[1]:7.2f}",
            flush=True,
        )
    print(f"geometric mean without the first: {geometric_mean(gains[1:]):.2f}")


if __name__ == "__main__":
    main()
