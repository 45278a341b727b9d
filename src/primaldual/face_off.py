"""The face-off itself: several methods on one problem, one clock, one certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._types import Side
from .advice import Advice, advise, stated_complexity
from .complexity import Complexity
from .methods import METHODS
from .problem import Problem
from .result import Progress, Result
from .samplings import Sampling
from .solver import require_usable, solve


@dataclass(frozen=True)
class FaceOff:
    """How each contender did; ``results[name]`` has one ``Result`` per seed."""

    advice: Advice
    tol: float
    predictions: dict[str, Complexity]  # what theory states for each contender
    results: dict[str, list[Result]]
    settings: dict[str, Any] = field(default_factory=dict)  # the other arguments of ``faceoff``

    @property
    def problem(self) -> Problem:
        """What the contenders solved."""
        return next(iter(self.results.values()))[0].problem

    def passes(self, name: str) -> float:
        """Mean passes over the seeds; infinite if a run did not reach ``tol``."""
        return self._mean(name, "passes")

    def seconds(self, name: str) -> float:
        """Mean seconds over the seeds, checks not counted; infinite like ``passes``."""
        return self._mean(name, "seconds")

    def _mean(self, name: str, what: str) -> float:
        runs = self.results[name]
        if not all(run.converged for run in runs):
            return np.inf
        return float(np.mean([getattr(run, what) for run in runs]))

    @property
    def fastest(self) -> str:
        """The contender with the fewest passes; by the gap reached where none arrived."""
        return self.fastest_of(list(self.results))

    def fastest_of(self, names: Sequence[str]) -> str:
        """The one of these contenders with the fewest passes."""
        return min(names, key=self._order)

    def _order(self, name: str) -> tuple[float, float]:
        gaps = [run.certificate.relative_gap for run in self.results[name]]
        return self.passes(name), float(np.mean(gaps))

    @property
    def winner(self) -> Side:
        """The side of the fastest contender."""
        return METHODS[self.fastest].side

    @property
    def predicted(self) -> bool:
        """Whether the advice named the winning side."""
        return self.winner == self.advice.side

    def __str__(self) -> str:
        wide = max(len(name) for name in self.results) + 2
        heads = ("predicted", "passes", "seconds", "gap")
        lines = [f"{'':{wide}}{'side':8}" + "".join(f"{head:>11}" for head in heads)]
        for name, runs in self.results.items():
            predicted = "–"  # noqa: RUF001
            if 0 < self.tol < 1 and np.isfinite(self.predictions[name].total):
                predicted = f"{self.predictions[name].passes(self.tol):.3g}"
            gap = np.mean([run.certificate.relative_gap for run in runs])
            mark = "   ← fewest passes" if name == self.fastest else ""
            lines.append(
                f"{name:{wide}}{METHODS[name].side:8}{predicted:>11}"
                f"{np.mean([run.passes for run in runs]):>11.3g}"
                f"{np.mean([run.seconds for run in runs]):>11.3g}{gap:>11.1e}{mark}"
            )
        return "\n".join(lines)


def faceoff(
    problem: Problem,
    methods: Sequence[str] = ("nsync", "quartz"),
    sampling: str | Sampling | None = None,
    tol: float = 1e-6,
    max_passes: float = 1000,
    max_time: float | None = None,
    seeds: Sequence[int] = (0,),
    callback: Callable[[str, Progress], Any] | None = None,
) -> FaceOff:
    """Run several methods on one problem to the same certified gap.

    Parameters
    ----------
    problem : Problem
    methods : sequence of str
        Names in ``METHODS``.
    sampling : str or Sampling, optional
        For all contenders; by default each method's own.
    tol, max_passes, max_time
        As in ``solve``, for each run.
    seeds : sequence of int
        One run of every method per seed.
    callback : callable, optional
        Called as callback(method, progress) after every check.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, faceoff
    >>> X = np.random.default_rng(0).standard_normal((6, 30))
    >>> outcome = faceoff(Problem(X, [1, -1, 1, -1, 1, -1], lam=0.1), tol=1e-4)
    >>> sorted(outcome.results)
    ['nsync', 'quartz']
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown or not len(methods):
        raise ValueError(f"methods must be names among {', '.join(METHODS)}, got {list(methods)}.")
    if not len(seeds):
        raise ValueError("seeds must hold at least one seed.")
    for name in methods:
        require_usable(problem, name, METHODS[name](), sampling)
    results: dict[str, list[Result]] = {name: [] for name in methods}
    for seed in seeds:
        for name in results:
            results[name].append(
                solve(
                    problem, name, sampling, tol, max_passes, max_time, seed,
                    callback=None if callback is None else _named(callback, name),
                )
            )  # fmt: skip
    predictions = {name: stated_complexity(problem, name, sampling) for name in results}
    settings = {
        "sampling": sampling,
        "max_passes": max_passes,
        "max_time": max_time,
        "seeds": tuple(seeds),
    }
    return FaceOff(advise(problem), tol, predictions, results, settings)


def _named(callback: Callable[[str, Progress], Any], name: str) -> Callable[[Progress], Any]:
    return lambda progress: callback(name, progress)
