"""What changing a constant of coordinate descent costs.

``NUMBA_DISABLE_JIT=1 python -m benchmarks.constants`` prints, for each constant and each other
value, the passes to an estimated relative gap of 1e-6 over those with the value as it is: the
smallest and the largest ratio over small problems of generated text. Interpreted, since compiled
code has its constants built in.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numba
import numpy as np

from primaldual import Problem
from primaldual.datasets import labels, zipf_text
from primaldual.methods.engine import active_set, dual_cd, engine_method, extrapolation, primal_cd

TOL, MOST_PASSES, SEEDS = 1e-6, 400.0, 2


class Constant(NamedTuple):
    """A constant of one method, and the values that are tried in its place."""

    method: str
    module: Any
    name: str
    others: tuple[float, ...]


CONSTANTS = (
    Constant("dual_cd", dual_cd, "SLOW_BRIEF_EPOCH", (0.25, 0.75)),
    Constant("dual_cd", dual_cd, "STRONG", (1.0, 2.5)),
    Constant("dual_cd", dual_cd, "SLOW", (0.1, 0.4)),
    Constant("dual_cd", dual_cd, "STEADY", (0.25, 1.0)),
    Constant("dual_cd", extrapolation, "MOVES", (3, 8)),
    Constant("dual_cd", extrapolation, "TRIES", (1, 6)),
    Constant("dual_cd", active_set, "IDLE_VISITS", (1, 4)),
    Constant("dual_cd", active_set, "FULL_EVERY", (4, 16)),
    Constant("dual_cd", active_set, "MOST_ACTIVE", (0.6, 0.95)),
    Constant("primal_cd", primal_cd, "INNER_EPOCHS", (1, 4)),
    Constant("primal_cd", primal_cd, "EXACT_EPOCHS", (4, 16)),
)


def problems() -> Iterator[Problem]:
    """Small text, three losses, with and without an intercept, wide and tall."""
    for n, d in ((150, 200), (200, 60)):
        X = zipf_text(d, n, 8, seed=n)
        y = labels(X, seed=1)
        for loss in ("logistic", "squared_hinge", "squared"):
            yield Problem(X, y, loss=loss, lam=0.1 / n)
        yield Problem(X, y, loss="logistic", lam=0.1 / n, fit_intercept=True)


@contextmanager
def changed(constant: Constant, value: float) -> Iterator[None]:
    """The constant with another value, wherever it was imported."""
    places = [module for module in (dual_cd, primal_cd, extrapolation, active_set)
              if hasattr(module, constant.name)]  # fmt: skip
    before = getattr(constant.module, constant.name)
    try:
        for module in places:
            setattr(module, constant.name, value)
        yield
    finally:
        for module in places:
            setattr(module, constant.name, before)


def passes(problem: Problem, name: str, seed: int) -> float:
    """Passes until the method's own estimate of the gap is at the target."""
    method = engine_method(name, TOL)
    state = method.start(problem, None, rng=np.random.default_rng(seed))
    work, target = 0.0, TOL * problem.primal_at_zero
    while work < MOST_PASSES * problem.matrix.nnz:
        work += method.advance(state, None)
        if method.gap_estimate(state) <= target:
            break
    return work / problem.matrix.nnz


def ratios(constant: Constant, value: float, some: list[Problem], seeds: int) -> list[float]:
    """Passes with another value over those with the one that is there, on every problem."""
    found = []
    for problem in some:
        before = sum(passes(problem, constant.method, seed) for seed in range(seeds))
        with changed(constant, value):
            found.append(
                sum(passes(problem, constant.method, seed) for seed in range(seeds)) / before
            )
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.constants", description=__doc__)
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="constants with it")
    options = parser.parse_args(arguments)
    if not numba.config.DISABLE_JIT:
        print("Set NUMBA_DISABLE_JIT=1: compiled code has its constants built in.", file=sys.stderr)
        return 2
    some = list(problems())
    print(f"{'':28}{'is':>8}{'tried':>8}{'least':>8}{'most':>8}")
    for constant in CONSTANTS:
        for value in constant.others if options.only in constant.name else ():
            found = ratios(constant, value, some, SEEDS)
            label = f"{constant.method} {constant.name}"
            now = getattr(constant.module, constant.name)
            print(f"{label:28}{now:>8g}{value:>8g}{min(found):>8.2f}{max(found):>8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
