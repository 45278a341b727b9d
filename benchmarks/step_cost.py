"""Measure whether a step is as cheap as its nonzeros: ``python -m benchmarks.step_cost``.

For every method, processor time per number touched, relative to the paper's method of the same
side on the same data. What a step touches are its coordinates and their nonzeros, the latter as
many times as the method says it reads them (``Method.advance``). Ratios near 1 mean that no step
hides work that grows with the number of features.

Coordinates count because a step along an empty feature still shrinks its weight. Where most
features are empty, most steps of the primal methods are of this kind; the columns on nonzeros alone
leave them out.
"""

from __future__ import annotations

import argparse
import gc
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from primaldual import METHODS, Problem, datasets
from primaldual.methods import Method
from primaldual.methods.base import coordinates
from primaldual.samplings import Sampling

D = 1_000_000
ROW = 20  # nonzeros of an example, in the mean
REFERENCE = {"primal": "nsync", "dual": "quartz"}
# These factor a d × d or n × n matrix: their cost is not counted in nonzeros.
LEFT_OUT = ("newton", "gram_newton")


@dataclass
class Contender:
    """A method in progress, and what its repeats took."""

    name: str
    method: Method
    sampling: Sampling | None
    state: Any
    rng: np.random.Generator
    seconds: list[float] = field(default_factory=list)  # of each repeat
    nonzeros: list[float] = field(default_factory=list)  # visited
    drawn: list[float] = field(default_factory=list)  # coordinates

    def repeat(self, problem: Problem, passes: float) -> None:
        """About ``passes`` passes, the draws made beforehand."""
        side = coordinates(problem, self.method.side)
        draws, rounds = None, max(1, round(passes))
        if self.sampling is not None:
            cost = float(self.sampling.probabilities() @ side.counts)
            draws, rounds = self.sampling.draw(self.rng, round(passes * side.nnz / cost)), 1
        before = time.process_time()
        seen = sum(self.method.advance(self.state, draws) for _ in range(rounds))
        self.seconds.append(time.process_time() - before)
        self.nonzeros.append(seen)
        # A method that orders its own steps goes through all coordinates in a pass.
        own = seen / side.nnz * side.size
        self.drawn.append(own if draws is None else len(draws.coordinates))

    def per_nonzero(self) -> float:
        """Nanoseconds, the median over the repeats."""
        return 1e9 * median(np.divide(self.seconds, self.nonzeros))

    def per_touch(self) -> float:
        """Nanoseconds per nonzero or coordinate, the median over the repeats."""
        return 1e9 * median(np.divide(self.seconds, np.add(self.nonzeros, self.drawn)))


def measure(problem: Problem, names: list[str], repeats: int, passes: float) -> list[Contender]:
    """All methods in turn, so that a busy moment of the machine hits all of them."""
    contenders = [_started(problem, name) for name in names]
    gc.disable()
    for _ in range(repeats + 1):
        for contender in contenders:
            contender.repeat(problem, passes)
    gc.enable()
    for contender in contenders:  # the first one compiles and warms up
        del contender.seconds[0], contender.nonzeros[0], contender.drawn[0]
    return contenders


def _started(problem: Problem, name: str) -> Contender:
    method, rng = METHODS[name](), np.random.default_rng(0)
    sampling = method.plan(problem) if method.samplings else None
    state = method.start(problem, sampling, rng=rng.spawn(1)[0])
    return Contender(name, method, sampling, state, rng)


def table(contenders: list[Contender]) -> str:
    """One line per method."""
    found = {contender.name: contender for contender in contenders}
    lines = [
        f"{'':16}{'side':8}{'ns/touched':>11}{'ratio':>8}{'ns/nonzero':>13}{'ratio':>8}"
        f"{'drawn/nonzero':>15}"
    ]
    for name, this in found.items():
        base = found[REFERENCE[this.method.side]]
        drawn = sum(this.drawn) / sum(this.nonzeros)
        lines.append(
            f"{name:16}{this.method.side:8}"
            f"{this.per_touch():>11.2f}{this.per_touch() / base.per_touch():>8.2f}"
            f"{this.per_nonzero():>13.2f}{this.per_nonzero() / base.per_nonzero():>8.2f}"
            f"{drawn:>15.3f}"
        )
    return "\n".join(lines)


def sparse_problem(n: int, loss: str = "logistic") -> Problem:
    """D features, ROW nonzeros an example at random places; empty features are kept."""
    X = datasets.normalize_average(datasets.random_matrix(D, n, ROW / D, "normal", seed=0))
    return Problem(X, datasets.random_labels(n, seed=0), loss=loss, lam=1 / n)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.step_cost", description=__doc__)
    parser.add_argument("--n", type=int, nargs="+", default=[2000, 100_000], help="examples")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), help="names in METHODS")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--passes", type=float, default=3.0, help="of each repeat")
    parser.add_argument("--loss", default="logistic")
    options = parser.parse_args()
    chosen = [*REFERENCE.values(), *options.methods]
    names = [name for name in METHODS if name in chosen and name not in LEFT_OUT]
    for n in options.n:
        problem = sparse_problem(n, options.loss)
        empty = float(np.mean(problem.features.counts == 0))
        nnz = problem.matrix.nnz
        print(f"n = {n:,}, d = {D:,}, {nnz:,} nonzeros, {empty:.0%} of the features empty")
        print(table(measure(problem, names, options.repeats, options.passes)), end="\n\n")


if __name__ == "__main__":
    main()
