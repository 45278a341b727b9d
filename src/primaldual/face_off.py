"""The face-off itself: several methods on one problem, one clock, one certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ._types import Side
from .advice import Advice, advise, stated_complexity
from .complexity import Complexity
from .methods import METHODS
from .problem import Problem
from .result import Progress, Result
from .samplings import Sampling
from .solver import require_usable, solve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The name of the engine, which picks a method and may change it: no theory states its work.
ENGINE = "auto"
_UNSTATED = Complexity(math.inf, math.inf, 1)


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
    def rivals(self) -> list[str]:
        """The contenders that stand for a side: all but the engine, which may change sides."""
        return [name for name in self.results if name != ENGINE] or list(self.results)

    def side_of(self, name: str) -> Side:
        """The side of a contender; of the engine, that of the method it ended with."""
        last = self.results[name][0].trace.methods[-1]
        return METHODS[last if name == ENGINE else name].side

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
        """The side of the fastest contender, the engine aside."""
        return self.side_of(self.fastest_of(self.rivals))

    @property
    def predicted(self) -> bool:
        """Whether the theory, which is about the paper's two methods, named the winning side."""
        return self.winner == self.advice.theory.side

    def __str__(self) -> str:
        wide = max(len(name) for name in self.results) + 2
        heads = ("predicted", "passes", "seconds", "gap")
        lines = [f"{'':{wide}}{'side':8}" + "".join(f"{head:>11}" for head in heads)]
        for name, runs in self.results.items():
            predicted = "–"  # noqa: RUF001
            if 0 < self.tol < 1 and np.isfinite(self.predictions[name].total):
                predicted = f"{self.predictions[name].passes(self.tol):.3g}"
            gap = np.mean([run.certificate.relative_gap for run in runs])
            fewest = name == self.fastest and np.isfinite(self.passes(name))
            mark = "   ← fewest passes" if fewest else ""
            lines.append(
                f"{name:{wide}}{self.side_of(name):8}{predicted:>11}"
                f"{np.mean([run.passes for run in runs]):>11.3g}"
                f"{np.mean([run.seconds for run in runs]):>11.3g}{gap:>11.1e}{mark}"
            )
        return "\n".join(lines)

    def plot(self) -> Figure:
        """The gap of every contender against passes and seconds, as a matplotlib figure."""
        from .report import faceoff_figure

        return faceoff_figure(self)

    def _repr_html_(self) -> str:
        from .report import faceoff_html

        return faceoff_html(self)


def faceoff(
    problem: Problem,
    methods: Sequence[str] = ("nsync", "quartz"),
    sampling: str | Sampling | None = None,
    tol: float = 1e-6,
    max_passes: float = 1000,
    max_time: float | None = None,
    seeds: Sequence[int] = (0,),
    callback: Callable[[str, Progress], Any] | None = None,
    starting: Callable[[str], Any] | None = None,
) -> FaceOff:
    """Run several methods on one problem to the same certified gap.

    Parameters
    ----------
    problem : Problem
    methods : sequence of str
        Names in ``METHODS``, or "auto" for the engine.
    sampling : str or Sampling, optional
        For all contenders but the engine; by default each method's own.
    tol, max_passes, max_time
        As in ``solve``, for each run.
    seeds : sequence of int
        One run of every method per seed.
    callback : callable, optional
        Called as callback(method, progress) after every check.
    starting : callable, optional
        Called as starting(method) before every run.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, faceoff
    >>> X = np.random.default_rng(0).standard_normal((6, 30))
    >>> outcome = faceoff(Problem(X, [1, -1, 1, -1, 1, -1], lam=0.1), tol=1e-4)
    >>> sorted(outcome.results)
    ['nsync', 'quartz']
    """
    unknown = [name for name in methods if name not in METHODS and name != ENGINE]
    if unknown or not len(methods):
        known = ", ".join((ENGINE, *METHODS))
        raise ValueError(f"methods must be names among {known}, got {list(methods)}.")
    if not len(seeds):
        raise ValueError("seeds must hold at least one seed.")
    for name in methods:
        if name != ENGINE:
            require_usable(problem, name, METHODS[name](), sampling)
    results: dict[str, list[Result]] = {name: [] for name in methods}
    for seed in seeds:
        for name in results:
            if starting is not None:
                starting(name)
            own = None if name == ENGINE else sampling
            results[name].append(
                solve(
                    problem, name, own, tol, max_passes, max_time, seed,
                    callback=None if callback is None else _named(callback, name),
                )
            )  # fmt: skip
    predictions = {
        name: _UNSTATED if name == ENGINE else stated_complexity(problem, name, sampling)
        for name in results
    }
    settings = {
        "sampling": sampling,
        "max_passes": max_passes,
        "max_time": max_time,
        "seeds": tuple(seeds),
    }
    return FaceOff(advise(problem), tol, predictions, results, settings)


def _named(callback: Callable[[str, Progress], Any], name: str) -> Callable[[Progress], Any]:
    return lambda progress: callback(name, progress)
