"""The experiment of Section 7: the paper's two methods on one problem, error against passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primaldual import METHODS, Problem, Progress, Result, solve

from .record import Row

# Curves end where P(w) − P* is this part of P(0) − P*.
END = 1e-7


@dataclass(frozen=True)
class Curve:
    """One run: the error P(w) − P* by the number of passes."""

    passes: Any
    error: Any


@dataclass(frozen=True)
class Race:
    """Both methods on one problem, one curve per seed, and the optimum they are held against."""

    first_error: float  # P(0) − P*
    optimum: float  # P*
    optimum_gap: float  # how sure P* is
    curves: dict[str, list[Curve]]

    @property
    def floor(self) -> float:
        """The lowest error worth showing."""
        return 0.5 * END * self.first_error

    def passes_to(self, side: str, level: float) -> float:
        """Passes until the error is ``level`` of the first one, mean over the seeds.

        Infinite if a run did not get there. Between checks the logarithm of the error is taken
        to be linear.
        """
        return float(np.mean([_crossing(c, level * self.first_error) for c in self.curves[side]]))

    def ratio(self, level: float) -> float:
        """Passes of the primal over passes of the dual; NaN if neither arrived."""
        primal, dual = self.passes_to("primal", level), self.passes_to("dual", level)
        return primal / dual if np.isfinite(min(primal, dual)) else float("nan")

    def longest(self, side: str) -> float:
        """The passes that were made, at most."""
        return max(float(curve.passes[-1]) for curve in self.curves[side])

    def rows(self, **labels: Any) -> list[Row]:
        """The curves as a table."""
        return [
            {**labels, "side": side, "seed": seed, "passes": round(x, 4), "error": y}
            for side, curves in self.curves.items()
            for seed, curve in enumerate(curves)
            for x, y in zip(curve.passes.tolist(), curve.error.tolist(), strict=True)
        ]


def race(problem: Problem, max_passes: float, seeds: Sequence[int] = (0,)) -> Race:
    """NSync and the inexact variant of Algorithm 2, both with importance sampling, from zero.

    P* comes from a solve to rounding error by the library's default method.
    """
    quartz: Any = METHODS["quartz"]
    contenders = {"primal": METHODS["nsync"](), "dual": quartz(step="inexact")}
    tight = solve(problem, "auto", tol=1e-14, max_passes=20_000, max_time=120, seed=0)
    target = tight.certificate.primal
    first = problem.primal_at_zero - target

    def arrived(progress: Progress) -> bool:
        return progress.primal - target <= END * first

    runs = {
        side: [
            solve(
                problem, method, "importance", tol=1e-15, max_passes=max_passes, seed=seed,
                callback=arrived,
            )
            for seed in seeds
        ]
        for side, method in contenders.items()
    }  # fmt: skip
    optimum = min([target, *(float(r.trace.primal.min()) for rs in runs.values() for r in rs)])
    return Race(
        first_error=problem.primal_at_zero - optimum,
        optimum=optimum,
        optimum_gap=tight.certificate.gap,
        curves={side: [_curve(run, optimum) for run in rs] for side, rs in runs.items()},
    )


def _curve(run: Result, optimum: float) -> Curve:
    # Rounding may leave exact zeros, which a logarithmic axis cannot show.
    return Curve(run.trace.passes, np.maximum(run.trace.primal - optimum, 1e-17))


def _crossing(curve: Curve, target: float) -> float:
    below = np.flatnonzero(curve.error <= target)
    if not below.size:
        return float("inf")
    k = int(below[0])
    if k == 0:
        return 0.0
    high, low = np.log(curve.error[k - 1]), np.log(curve.error[k])
    part = (high - np.log(target)) / (high - low)
    return float(curve.passes[k - 1] + part * (curve.passes[k] - curve.passes[k - 1]))
