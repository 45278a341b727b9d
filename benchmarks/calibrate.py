"""Measure what a unit of work costs on this machine: ``python -m benchmarks.calibrate``.

Prints every field of ``primaldual.engine.machine.MACHINE`` beside what is measured here, by the
kernels that the engine runs. ``--write`` puts the measured numbers into ``engine/machine.py``;
``--check`` lists the benchmark's tasks on which another method would be started with, and how long
both take. Choices should hardly change, and none to something 1.1 times slower.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from primaldual import Problem, solve
from primaldual._threads import DISPATCH, PART, for_each, using
from primaldual.data.columns import times, transposed_times
from primaldual.data.rows import hessian_product
from primaldual.engine import Auto, choose, costs, machine
from primaldual.kernels import kernel
from primaldual.methods.engine import engine_method
from primaldual.methods.engine.newton_cg import NewtonCG
from primaldual.methods.engine.second_order import cholesky_solver, hessian_work
from primaldual.methods.engine.softmax_newton import SoftmaxNewton, work_of_hessian
from primaldual.methods.engine.softmax_newton_cg import SoftmaxNewtonCG, conjugate_gradients
from primaldual.problem.multinomial import Multinomial
from primaldual.problem.softmax_sums import curve, move

from .cases import Task, all_cases

# A measurement is repeated until it has taken this long, and at least this often; the least counts.
SECONDS, REPEATS = 0.2, 5
# Calls of coordinate descent that are timed from each start.
FIRST_CALLS = 3
LAMS = (0.1, 1.0, 10.0)
# Runs of a task, of which the shortest counts.
RUNS = 5


def nanoseconds(work: Callable[[], Any]) -> float:
    """Processor time of one call, the least of several; the first one compiles."""
    work()
    least, spent, runs = np.inf, 0.0, 0
    while runs < REPEATS or spent < SECONDS:
        began = time.process_time_ns()
        work()
        taken = time.process_time_ns() - began
        least, spent, runs = min(least, taken), spent + 1e-9 * taken, runs + 1
    return float(least)


# --------------------------------------------------------------------------------------------
# Problems of known size


@cache
def problem(n: int, d: int, row: int, loss: str = "squared") -> Problem:
    """Random data with ``row`` nonzeros per example, dense if that is all of them, and λn = 1."""
    rng = np.random.default_rng(0)
    if row == d:
        X: Any = rng.standard_normal((n, d))
    else:
        indices = rng.integers(0, d // row, (n, row)) + np.arange(row) * (d // row)
        indptr = np.arange(n + 1) * row
        X = sparse.csr_array((rng.random(n * row) + 0.5, indices.ravel(), indptr), shape=(n, d))
    return Problem(X, np.where(rng.random(n) < 0.5, 1.0, -1.0), loss=loss, lam=1.0 / n)


def rounds(name: str, p: Problem) -> float:
    """One round of coordinate descent, the median of the first ones; a call may make several.

    The first ones, again and again: near the solution examples take shorter steps, or none.
    """
    method, taken = engine_method(name, 0.0), []
    for seed in range(1 + REPEATS):
        state = method.start(p, None, rng=np.random.default_rng(seed))
        for _ in range(FIRST_CALLS):
            began = time.process_time_ns()
            method.advance(state, None)
            taken.append((time.process_time_ns() - began) / len(state.gaps))
    return float(np.median(taken[FIRST_CALLS:]))


def product(p: Problem) -> float:
    """A product with X and one with its transpose."""
    h, dots = np.ones(p.n), np.empty(p.n)
    vector, out = np.ones(p.d), np.zeros(p.d)
    return nanoseconds(lambda: _multiplied(p.matrix.by_example, h, vector, dots, out))


@kernel
def _multiplied(rows, h, vector, dots, out):  # type: ignore[no-untyped-def]
    """As kernels call it: from Python it would not be compiled."""
    return hessian_product(rows, h, vector, 0.0, dots, out)


def parts(cost: Callable[[Problem], float], *problems: Problem) -> tuple[float, float]:
    """What a nonzero and an example take, from two problems with rows of different lengths."""
    sizes = [[p.matrix.nnz, p.n] for p in problems]
    found = np.linalg.solve(np.array(sizes, dtype=float), [cost(p) for p in problems])
    return max(float(found[0]), 1e-3), max(float(found[1]), 1e-3)


# --------------------------------------------------------------------------------------------
# The measurements


def descent(found: dict[str, float]) -> dict[str, float]:
    """Epochs on the dual."""

    def epoch(p: Problem) -> float:
        return rounds("dual_cd", p)

    near, closed = parts(epoch, problem(60_000, 10_000, 10), problem(6_000, 10_000, 100))
    far, _ = parts(epoch, problem(60_000, 400_000, 10), problem(6_000, 400_000, 100))
    dense, _ = parts(epoch, problem(16_000, 50, 50), problem(2_000, 400, 400))
    dense_far, _ = parts(epoch, problem(80_000, 100, 100), problem(10_000, 800, 800))
    exponentials = problem(60_000, 10_000, 10, "logistic")
    same = problem(60_000, 10_000, 10)
    least = problem(5_000, 1_000, 10)
    large = problem(300_000, 10_000, 20)
    return {
        "visit_sparse": near,
        "visit_sparse_far": far,
        "visit_dense": dense,
        "visit_dense_far": dense_far,
        "row_far": max((epoch(large) - near * large.matrix.nnz) / large.n - closed, 0.0),
        "example": closed + (epoch(exponentials) - epoch(same)) / same.n,
        "example_closed": closed,
        "example_near": max((epoch(least) - near * least.matrix.nnz) / least.n, 1.0),
    }


def primal(found: dict[str, float]) -> dict[str, float]:
    """Rounds on the primal, in visits of the epochs on the dual."""

    def one(p: Problem) -> float:
        return rounds("primal_cd", p)

    data = (problem(12_000, 2_000, 10, "logistic"), problem(1_200, 2_000, 100, "logistic"))
    near, example = parts(one, *data)
    dense, _ = parts(one, problem(16_000, 50, 50, "logistic"), problem(2_000, 400, 400, "logistic"))
    return {
        "round_sparse": near / found["visit_sparse"],
        "round_dense": dense / found["visit_dense"],
        "example_of_model": example,
    }


def products(found: dict[str, float]) -> dict[str, float]:
    """Products with the data."""
    near, example = parts(product, problem(60_000, 10_000, 10), problem(6_000, 10_000, 100))
    far, _ = parts(product, problem(60_000, 400_000, 10), problem(6_000, 400_000, 100))
    dense, of_dense = parts(product, problem(16_000, 50, 50), problem(2_000, 400, 400))
    dense_far, _ = parts(product, problem(80_000, 100, 100), problem(10_000, 800, 800))
    return {
        "product_sparse": near,
        "product_sparse_far": far,
        "product_dense": dense,
        "product_dense_far": dense_far,
        "product_example": of_dense,
        "product_example_sparse": example,
        "product_call": product(problem(10, 20, 2)),
    }


def fresh(p: Problem) -> Problem:
    """The same problem, with nothing known of its data."""
    rows = p.matrix.sparse_rows("example")
    X = sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=(p.n, p.d))
    return Problem(X, p.y, loss=p.loss, lam=p.lam)


def factor(d: int) -> float:
    """A factorisation of a d × d matrix, and a solve with it."""
    root = np.random.default_rng(0).standard_normal((d, d)) / d
    H, g = np.asfortranarray(root @ root.T), np.ones(d)
    return nanoseconds(lambda: cholesky_solver(H.copy(order="F"), 1.0)(g))


def matrices(found: dict[str, float]) -> dict[str, float]:
    """Hessians, their factors, and what is fixed about them."""

    def hessian(p: Problem) -> float:
        return nanoseconds(lambda: p.matrix.gram_of_features(p.sample_weight))

    thin, dense = problem(20_000, 600, 30), [problem(8_000, d, d) for d in (50, 400)]
    sizes = [[hessian_work(p), p.matrix.nnz] for p in dense]
    flop, scaled = np.linalg.solve(np.array(sizes, dtype=float), [hessian(p) for p in dense])
    flop = max(float(flop), 1e-3)
    tiny = [fresh(problem(60, 80, 4)) for _ in range(40)]
    return {
        "scattered": hessian(thin) / hessian_work(thin),
        "flop": flop,
        "scaled": max(float(scaled), 0.01),
        "entry": max((factor(300) - flop * 300**3 / 3) / 300**2, 0.1),
        "cholesky": factor(2_000) / (2_000**3 / 3),
        "gram_call": once_each(tiny, lambda p: p.matrix.gram_of_examples()),
    }


def once_each(items: list[Any], work: Callable[[Any], Any]) -> float:
    """The least processor time of the work, which each item can do but once."""
    taken = []
    for item in items:
        began = time.process_time_ns()
        work(item)
        taken.append(time.process_time_ns() - began)
    return float(min(taken))


def steps(found: dict[str, float]) -> dict[str, float]:
    """Newton steps, without what grows with the data."""
    few = problem(200, 40, 4, "logistic")
    newton = engine_method("newton", 0.0)
    state = newton.start(few)
    many = problem(100_000, 10, 10, "logistic")
    single = NewtonCG(0.0, most=1, budget=1)
    whole = nanoseconds(lambda: NewtonCG(1e-6).advance(NewtonCG(1e-6).start(few), None))
    states = [single.start(many) for _ in range(REPEATS)]
    entries = found["product_dense"] * many.matrix.nnz + found["product_example"] * many.n
    first = once_each(states, lambda one: single.advance(one, None))
    return {
        "step": nanoseconds(lambda: newton.advance(state, None)),
        "compiled_step": whole / costs.NEWTON_STEPS,
        "example_of_step": max((first - 2 * entries) / many.n, 1.0),
    }


def spectra(found: dict[str, float]) -> dict[str, float]:
    """The smallest eigenvalue by LAPACK."""

    def smallest(size: int) -> float:
        root = np.random.default_rng(0).standard_normal((size, size))
        gram = root @ root.T
        return nanoseconds(
            lambda: eigh(gram, lower=True, eigvals_only=True, subset_by_index=[0, 0])
        )

    call, times = smallest(4), [smallest(size) - smallest(4) for size in (100, 500)]
    entry, cube = np.linalg.solve(np.array([[1e4, 1e6], [25e4, 125e6]]), times)
    return {
        "eigen_call": call,
        "eigen_entry": max(float(entry), 0.1),
        "eigen_cube": max(float(cube), 1e-3),
    }


def softmax(n: int, d: int, classes: int, density: float = 1.0) -> Multinomial:
    """A random problem with several classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) if density == 1.0 else None
    if X is None:
        X = sparse.random_array((n, d), density=density, format="csr", rng=rng)
    return Multinomial(X, np.arange(n) % classes, 1.0 / n, None, True)


def columns(found: dict[str, float]) -> dict[str, float]:
    """Products for all classes at once, and the steps of Newton's method for them."""

    def reading(p: Multinomial) -> float:
        w = np.ones((p.d, len(p.classes)))
        z = times(p.matrix, w)
        return nanoseconds(lambda: transposed_times(p.matrix, times(p.matrix, w) + z))

    def step(p: Multinomial, products: int) -> float:
        state = SoftmaxNewtonCG(0.0, 1.0).start(p)
        state.forcing = 1e-9 if products > 1 else 1.0
        taken = nanoseconds(lambda: conjugate_gradients(state, 1e9))
        return taken / max(state.products, 1) if products > 1 else taken

    dense, thin, few = softmax(4_000, 200, 10), softmax(4_000, 2_000, 10, 0.02), softmax(50, 4, 3)
    scores = dense.n * len(dense.classes)
    state = SoftmaxNewtonCG().start(dense)
    one, many = np.zeros_like(state.scores), np.empty(10)
    curved = nanoseconds(
        lambda: curve(one, state.alpha, dense.codes, dense.sample_weight, state.scores, many)
    )
    start = SoftmaxNewtonCG().start(dense)
    point = nanoseconds(
        lambda: move(one, one, 0.0, dense.codes, dense.sample_weight, start.alpha, start.sums)
    )

    def newton(p: Multinomial) -> float:
        method, each = SoftmaxNewton(0.0), work_of_hessian(p) + 2.0 * p.matrix.nnz
        states = [method.start(p) for _ in range(REPEATS)]
        steps = method.advance(method.start(p)) / each
        return once_each(states, method.advance) / steps

    sizes = 2_000 * 3 * np.array([[1.0, 6.0], [1.0, 231.0]])
    pair, outer = np.linalg.solve(sizes, [newton(softmax(2_000, d, 3)) for d in (2, 20)])
    return {
        "columns_sparse": reading(thin) / (thin.matrix.nnz * len(thin.classes)),
        "columns_dense": reading(dense) / (dense.matrix.nnz * len(dense.classes)),
        "columns_class": curved / scores,
        "columns_call": step(few, 9),
        "softmax_class": point / scores,
        "softmax_step": step(few, 1),
        "softmax_pair": max(float(pair), 1.0),
        "outer": max(float(outer), 0.01),
    }


def copies(found: dict[str, float]) -> dict[str, float]:
    """Transposed copies."""
    p = problem(30_000, 10_000, 20)
    items = [fresh(p) for _ in range(REPEATS + 1)]
    return {"copy": once_each(items, lambda one: one.matrix.by_feature) / p.matrix.nnz}


# What measures which fields, given those before.
GROUPS: tuple[tuple[Callable[..., dict[str, float]], tuple[str, ...]], ...] = (
    (descent, (
        "visit_sparse", "visit_sparse_far", "visit_dense", "visit_dense_far", "row_far", "example",
        "example_closed", "example_near",
    )),
    (primal, ("round_sparse", "round_dense", "example_of_model")),
    (products, (
        "product_sparse", "product_sparse_far", "product_dense", "product_dense_far",
        "product_example", "product_example_sparse", "product_call",
    )),
    (matrices, ("scattered", "flop", "scaled", "entry", "cholesky", "gram_call")),
    (steps, ("step", "compiled_step", "example_of_step")),
    (spectra, ("eigen_call", "eigen_entry", "eigen_cube")),
    (columns, (
        "columns_sparse", "columns_dense", "columns_class", "columns_call", "softmax_class",
        "softmax_step", "softmax_pair", "outer",
    )),
    (copies, ("copy",)),
)  # fmt: skip


def measured() -> Iterator[tuple[str, float]]:
    """Every field of the machine with its measurement."""
    found: dict[str, float] = {}
    for group, names in GROUPS:
        found.update(group(found))
        yield from ((name, found[name]) for name in names)


# --------------------------------------------------------------------------------------------
# What follows from them


def rounded(value: float) -> float:
    """Two digits: more are noise."""
    return float(f"{value:.2g}")


def write(found: dict[str, float], place: Path | None = None) -> None:
    """Put the numbers into the file that the engine reads."""
    place = Path(machine.__file__) if place is None else place
    text = place.read_text(encoding="utf-8")
    for name, value in found.items():
        text, times = re.subn(rf"(?m)^    {name}=.*,$", f"    {name}={rounded(value)!r},", text)
        if times != 1:
            raise ValueError(f"{place} has no number {name}.")
    place.write_text(text, encoding="utf-8")


def tasks() -> Iterator[Task]:
    """The tasks of the benchmark."""
    for case in all_cases().values():
        X, y = case.load()
        for loss in case.losses:
            yield from (Task(case.name, X, y, loss, lam_n) for lam_n in LAMS)


def started_with(task: Task, numbers: machine.Machine) -> str:
    """The method that would be started with, at these costs."""
    before, costs.MACHINE = costs.MACHINE, numbers
    try:
        return choose(task.problem).method
    finally:
        costs.MACHINE = before


def seconds(task: Task, first: str) -> float:
    """A solve that starts with this method, from the data to the proof."""
    taken = []
    for seed in range(RUNS):
        problem = Problem(task.X, task.y, loss=task.loss, lam=task.lam)
        began = time.process_time()
        solve(problem, Auto(1e-6, first=first), max_passes=1e7, max_time=10, seed=seed)
        taken.append(time.process_time() - began)
    return min(taken)


def check(new: machine.Machine) -> None:
    """Print the tasks whose first method the new numbers change."""
    count, changed, worst = 0, 0, 1.0
    for task in tasks():
        was, now = started_with(task, machine.MACHINE), started_with(task, new)
        count += 1
        if was != now:
            before, after = seconds(task, was), seconds(task, now)
            changed, worst = changed + 1, max(worst, after / before)
            label = f"{task.case} {task.loss} λn = {task.lam_n:g}"
            print(f"{label:44}{was:>14} {before:8.2g} s{now:>14} {after:8.2g} s", flush=True)
    print(
        f"{changed} of {count} tasks start with another method, at worst {worst:.2f} times slower"
    )


def threads() -> dict[str, tuple[float, float]]:
    """Nanoseconds of handing over a part, and of a part of a product: here and as assumed."""
    with using(2):
        pair = best(lambda: for_each(lambda k: None, range(2)))
    near = problem(PART // 100, 10_000, 100)
    return {
        "dispatch": (pair, float(DISPATCH)),
        "part": (product(near), PART * machine.MACHINE.product_sparse),
    }


def best(work: Callable[[], Any]) -> float:
    """Nanoseconds of one call on the clock, the least of several."""
    taken = []
    for _ in range(200):
        began = time.perf_counter_ns()
        work()
        taken.append(time.perf_counter_ns() - began)
    return float(min(taken))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibrate", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the numbers into the engine")
    parser.add_argument("--check", action="store_true", help="run the benchmark's choices")
    options = parser.parse_args(arguments)
    found: dict[str, float] = {}
    print(f"{'':26}{'now':>10}{'here':>10}{'ratio':>8}")
    for name, value in measured():
        found[name], now = rounded(value), getattr(machine.MACHINE, name)
        print(f"{name:26}{now:>10g}{found[name]:>10g}{value / now:>8.2f}", flush=True)
    print("two threads:")
    for name, (here, now) in threads().items():
        print(f"{name:26}{now:>10g}{here:>10g}{here / now:>8.2f}", flush=True)
    if options.check:
        check(machine.Machine(**found))
    if options.write:
        write(found)


if __name__ == "__main__":
    main()
