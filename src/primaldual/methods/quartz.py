"""Dual randomized coordinate descent (Quartz), Algorithm 2 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from .._numba.compile import kernel
from .._types import FloatArray, Side
from ..complexity import Complexity, complexity
from ..data.rows import row_add, row_dot
from ..problem import Problem
from ..samplings import Draws, Sampling
from .base import ANY_SAMPLING, Method, first_alpha, visited
from .dual_step import Inexact, dual_step
from .intercept import Intercept, first_intercept


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    loss: Any  # the loss, or ``Inexact`` of it
    kappa: FloatArray  # κ_j = c_j v_j/(λn) from the ESO parameters v; η_j of inexact steps
    alpha: FloatArray  # dual iterate
    w: FloatArray  # w(α) = (1/λn) Σ_j α_j x_j, kept up to date
    intercept: Intercept  # b, zero without a free intercept
    moved: int  # coordinates moved since the intercept's centre was


class Quartz(Method):
    r"""Dual RCD with an arbitrary sampling.

    Algorithm
    ---------
    ::

        w = (1/λn) X α
        repeat
            draw S from the sampling
            for j in S:   Δ_j = argmax_h  −φ*_j(−(α_j + h)) − h⟨x_j, w⟩ − v_j h² / (2λn)
            for j in S:   α_j += Δ_j,   w += (1/λn) Δ_j x_j

    with step="exact". With step="inexact", Δ_j = −η_j (φ'_j(⟨x_j, w⟩) + α_j) with
    η_j = λn/(β v_j + λn), which needs no inner solve and has the same guarantee. (The paper
    prints this step with the wrong sign and without 1/q_j.) The expected dual error contracts by
    1 − 1/K_D per iteration, eq. (9). ``AveragedQuartz`` is the original method of that name.

    A free intercept is handled by the method of multipliers: a proximal term (λ_b/2)(b − centre)²
    makes it one more penalised feature, and the centre moves after every epoch.

    Rate
    ----
    K = max_j (β v_j + λn)/(q_j λn), eq. (9).

    Cost
    ----
    W = Σ_j q_j ‖x_j‖₀, eq. (11).

    When to use
    -----------
    Where ``advise`` says dual, as for dense data with more examples than features, and the rate
    should be that of the theorem.

    Parameters
    ----------
    step : {"exact", "inexact"}

    References
    ----------
    .. [1] Z. Qu, P. Richtárik, T. Zhang. "Quartz: Randomized dual coordinate ascent with
       arbitrary sampling", NIPS 2015.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ANY_SAMPLING

    def __init__(self, step: str = "exact") -> None:
        if step not in ("exact", "inexact"):
            raise ValueError(f"step must be 'exact' or 'inexact', got {step!r}.")
        self.step = step

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``alpha``, at the dual point of ``w``, or at zero."""
        alpha = first_alpha(problem, w, alpha)
        w = problem.primal_point(alpha)
        intercept = first_intercept(problem, alpha, w)
        if self.step == "exact":
            v = sampling.eso(problem.examples)
            kappa = problem.sample_weight * v / problem.examples.lam_n
            return State(problem, problem.loss, kappa, alpha, w, intercept, 0)
        eta = self.step_lengths(problem, sampling)
        return State(problem, Inexact(problem.loss), eta, alpha, w, intercept, 0)

    def step_lengths(self, problem: Problem, sampling: Sampling) -> FloatArray:
        """η_j = λn/(β v_j + λn) of the inexact step."""
        side = problem.examples
        return side.lam_n / side.curvature(sampling.eso(side))

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        quartz_steps(
            draws.starts, draws.coordinates, p.examples.rows, state.loss, p.y, p.sample_weight,
            p.lam * p.n, state.kappa, state.alpha, state.w, state.intercept,
        )  # fmt: skip
        move_centre(state, draws)
        return visited(p.examples, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and α, with w(α) recomputed so that rounding does not pile up."""
        state.w = state.problem.primal_point(state.alpha)
        state.intercept.restart(state.alpha)
        # With a free intercept α is feasible only in the limit: let the certificate make one.
        return state.w, None if state.problem.fit_intercept else state.alpha

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K_D, eq. (9)."""
        return complexity(problem.examples, sampling)


def move_centre(state: State, draws: Draws) -> None:
    """Let the centre of the intercept follow it, once per epoch."""
    state.moved += len(draws.coordinates)
    if state.moved >= state.problem.n:
        state.intercept.move_centre()
        state.moved = 0


@kernel
def quartz_steps(  # type: ignore[no-untyped-def]
    starts, coordinates, examples, loss, y, c, lam_n, kappa, alpha, w, intercept
):  # fmt: skip
    """The steps of Algorithm 2 on weighted examples, from given draws."""
    delta = np.empty(alpha.size)
    for k in range(starts.size - 1):
        S = coordinates[starts[k] : starts[k + 1]]
        for s, j in enumerate(S):
            z = row_dot(examples, j, w) + intercept.value()
            delta[s] = dual_step(loss, c[j], alpha[j], z, y[j], kappa[j])
        for s, j in enumerate(S):
            alpha[j] += delta[s]
            intercept.add(delta[s])
            row_add(examples, j, delta[s] / lam_n, w)
