"""For losses with kinks: Newton's method on smoothed problems that close in on the true one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ..._types import FloatArray, Side
from ...problem.on_parts import PartsProblem
from ...problem.recipe import Dual
from ...problem.smoothed_parts import dual_at, smoothed
from .averaged_newton import AveragedNewton
from .newton import PartsNewton
from .point import State, start_state, work

# γ starts at FIRST · P(0), where all examples are at a rounded kink if w = 0. Each smoothed problem
# has SHRINK times the γ of the one before, but never less than LEAST · P(0): α carries rounding
# errors divided by γ. Rounds on a9a and on text, with SHRINK and ENOUGH 0.5: 71 and 176; with 0.3
# and 0.1: 127 and 264; with 0.7 and 1: 81 and 342.
FIRST, SHRINK, LEAST = 2.0, 0.5, 1e-4
# A smoothed problem is solved until its gap is this fraction of the last known true one.
ENOUGH = 0.5


@dataclass
class ProximalState:
    """Where the method stands."""

    problem: PartsProblem
    method: PartsNewton  # that solves the smoothed problems
    gamma: float  # γ of the smoothed problem
    alphas: list[Any]  # its α°, an array per part, which is also the dual iterate
    point: FloatArray  # the primal iterate
    inner: State | None = None  # where the method stands on the smoothed problem, between rounds
    gap: float = math.inf  # of that pair on the true problem, without a certificate


class PartsSSNAL(PartsNewton):
    r"""Semismooth Newton augmented Lagrangian method on parts, for losses with kinks.

    Algorithm
    ---------
    ::

        repeat
            φ*_γ(−a) = φ*(−a) + (γ/2) (a − α°_j)²                      smooth, β = 1/γ
            w = about argmin P_γ    by ``parts_newton``, or by ``averaged_newton`` for large d
            α_j = −φ'_γ(z_j),   moved into Σ_j α_j = 0                  n numbers to the driver
            α° = α,   γ = γ/2                                           n numbers to the parts

    The method of ``ssnal`` with sums over parts: proximal steps on the dual. α does not follow from
    w: it takes 8 bytes per example at the driver, and each part holds its own.

    Rate
    ----
    Linear in the proximal steps, the faster the smaller γ is.

    Cost
    ----
    The rounds of the smoothed problems, and one of n numbers there and back for each of them.

    When to use
    -----------
    For the hinge and the ε-insensitive loss.
    """

    side: ClassVar[Side] = "dual"
    smooth_only: ClassVar[bool] = False

    def __init__(self, method: PartsNewton | None = None) -> None:
        self.method = method

    def start(  # type: ignore[override]
        self,
        problem: PartsProblem,
        sampling: Any = None,
        w: FloatArray | None = None,
        alpha: Any = None,
        rng: Generator | None = None,
    ) -> ProximalState:
        """The state at ``w``, or at zero, with α = 0."""
        alphas = [np.zeros(fact.n) if fact.n else None for fact in problem.facts]
        unit = FIRST * (problem.primal_at_zero if problem.primal_at_zero > 0 else 1.0)
        method = self.method if self.method is not None else AveragedNewton()
        return ProximalState(problem, method, unit, alphas, start_state(problem, w).point)

    def advance(self, state: ProximalState, draws: Any = None) -> float:  # type: ignore[override]
        """One step on the smoothed problem, and the next one if this one is solved."""
        p = state.problem
        before = p.parts.meter.rounds
        if state.inner is None:
            state.inner = State(p, state.point)
        inner, rounded = state.inner, _rounded(state)
        inner.problem = rounded
        try:
            state.method.advance(inner)
        finally:
            inner.problem = p  # a checkpoint knows no other
        true = state.gap if state.gap < math.inf else p.primal_at_zero
        if inner.gap <= ENOUGH * true:
            state.alphas, gaps = dual_at(rounded, inner.point)
            state.point, state.inner = inner.point, None
            vars(state).pop("rounded")
            assert inner.gradient is not None
            apart = inner.gradient.reshape(-1, p.d + 1)[:, :-1]
            state.gap = (gaps + float(np.vdot(apart, apart)) / (2 * p.lam * p.n)) / p.n
            state.gamma = max(SHRINK * state.gamma, LEAST * p.primal_at_zero)
        return work(p, before)

    def iterate(self, state: ProximalState) -> tuple[FloatArray, Any]:  # type: ignore[override]
        """The primal and the dual iterate."""
        w, b = state.problem.parted(state.point)
        return w, Dual(w.copy(), b, given=state.alphas)

    def gap_estimate(self, state: ProximalState) -> float:  # type: ignore[override]
        """The gap of the last pair."""
        return state.gap

    def label(self, state: Any) -> str:
        """The name of the method."""
        return "parts_ssnal"


def _rounded(state: ProximalState) -> PartsProblem:
    """The smoothed problem; no field of the state, since it can be made again from those."""
    held = vars(state)
    if "rounded" not in held:
        held["rounded"] = smoothed(state.problem, state.gamma, state.alphas)
    return held["rounded"]
