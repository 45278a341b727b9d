"""Dual randomized coordinate descent (Quartz), Algorithm 2 of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from .._numba.compile import kernel
from .._types import FloatArray, Side
from ..complexity import Complexity, complexity
from ..data.rows import row_add, row_dot
from ..losses import loss_derivative, loss_dual_step
from ..problem import Problem
from ..samplings import Draws, Sampling
from .base import ANY_SAMPLING, first_alpha, visited


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    v: FloatArray  # ESO parameters of the sampling
    rate: FloatArray  # η_j of the inexact step; θ/q_j with averaging
    alpha: FloatArray  # dual iterate
    w: FloatArray  # w(α) = (1/λn) Σ_j α_j x_j, kept up to date
    shift: float  # 1/(λ_b n) with a free intercept, else 0
    bias: FloatArray  # the intercept's centre, Σ_j α_j, and the intercept's part of `apart`
    steps: int  # coordinates moved since the centre was last moved
    # With averaging, the primal iterate is w + scale · apart:
    theta: float  # θ = min_j q_j λn/(β v_j + λn)
    scale: FloatArray  # one number, (1 − θ)^k
    apart: FloatArray  # the difference of the two primal vectors, divided by scale


class Quartz:
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
    1 − 1/K_D per iteration, eq. (9).

    With averaging=True the primal iterate is the running average of the original Quartz,
    w̃ ← (1 − θ) w̃ + θ w(α) with θ = min_j q_j λn/(β v_j + λn), and the inexact step is
    Δ_j = −(θ/q_j)(φ'_j(⟨x_j, w̃⟩) + α_j); then the expected gap itself contracts by 1 − θ. The
    average is kept as w(α) + scale · apart, so a step still costs only the nonzeros of its rows.

    A free intercept is handled by the method of multipliers: a proximal term (λ_b/2)(b − centre)²
    makes it one more penalised feature, and the centre moves after every epoch.

    Rate
    ----
    K = max_j (β v_j + λn)/(q_j λn), eq. (9).

    Cost
    ----
    W = Σ_j q_j ‖x_j‖₀, eq. (11); twice that with averaging.

    When to use
    -----------
    Where ``advise`` says dual, as for dense data with more examples than features, and the rate
    should be that of the theorem.

    Parameters
    ----------
    step : {"exact", "inexact"}
    averaging : bool

    References
    ----------
    .. [1] Z. Qu, P. Richtárik, T. Zhang. "Quartz: Randomized dual coordinate ascent with
       arbitrary sampling", NIPS 2015.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ANY_SAMPLING

    def __init__(self, step: str = "exact", averaging: bool = False) -> None:
        if step not in ("exact", "inexact"):
            raise ValueError(f"step must be 'exact' or 'inexact', got {step!r}.")
        self.step = step
        self.averaging = averaging

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``alpha``, at the dual point of ``w``, or at zero."""
        examples = problem.examples
        v = sampling.eso(examples)
        rate = examples.lam_n / examples.curvature(v)
        theta = float((sampling.probabilities() * rate).min())
        if self.averaging:
            rate = theta / sampling.probabilities()
        alpha = first_alpha(problem, w, alpha)
        shift = 0.0
        if problem.fit_intercept:
            shift = 1 / (problem.intercept_strength * problem.n)
        bias = np.array([0.0, alpha.sum(), 0.0])
        w_of_alpha = problem.primal_point(alpha)
        if problem.fit_intercept:
            bias[0] = problem.best_intercept(problem.matrix.times(w_of_alpha)) - shift * bias[1]
        return State(
            problem, v, rate, alpha, w_of_alpha, shift, bias, 0,
            theta, np.ones(1), np.zeros(problem.d if self.averaging else 0),
        )  # fmt: skip

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        exact = self.step == "exact"
        shared = (
            draws.starts, draws.coordinates, p.examples.rows, p.loss, p.y, p.sample_weight,
            p.lam * p.n, state.v, state.rate, exact, state.alpha, state.w, state.bias, state.shift,
        )  # fmt: skip
        if self.averaging:
            _advance_averaging(*shared, state.theta, state.scale, state.apart)
        else:
            _advance(*shared)
        if p.fit_intercept:
            _move_centre(state, len(draws.coordinates))
        reads = 2.0 if self.averaging else 1.0
        return reads * visited(p.examples, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and α, with w(α) recomputed so that rounding does not pile up."""
        state.w = state.problem.primal_point(state.alpha)
        state.bias[1] = state.alpha.sum()
        w = state.w + state.scale[0] * state.apart if self.averaging else state.w
        # With a free intercept α is feasible only in the limit: let the certificate make one.
        return w, None if state.problem.fit_intercept else state.alpha

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K_D, eq. (9); a step with averaging reads its rows twice."""
        stated = complexity(problem.examples, sampling)
        return replace(stated, cost=2 * stated.cost) if self.averaging else stated


def _move_centre(state: State, steps: int) -> None:
    """One step of the method of multipliers per epoch: centre += Σ α_j/(λ_b n)."""
    state.steps += steps
    if state.steps >= state.problem.n:
        state.bias[0] += state.shift * state.bias[1]
        state.steps = 0


@kernel
def _advance(  # type: ignore[no-untyped-def]
    starts, coordinates, examples, loss, y, c, lam_n, v, rate, exact, alpha, w, bias, shift
):  # fmt: skip
    delta = np.empty(alpha.size)
    for k in range(starts.size - 1):
        S = coordinates[starts[k] : starts[k + 1]]
        for s, j in enumerate(S):
            z = row_dot(examples, j, w) + bias[0] + shift * bias[1]
            if c[j] == 0.0:
                delta[s] = 0.0
            elif exact:
                kappa = c[j] * v[j] / lam_n
                delta[s] = c[j] * loss_dual_step(loss, alpha[j] / c[j], z, y[j], kappa)
            else:
                delta[s] = -rate[j] * (c[j] * loss_derivative(loss, z, y[j]) + alpha[j])
        for s, j in enumerate(S):
            alpha[j] += delta[s]
            bias[1] += delta[s]
            row_add(examples, j, delta[s] / lam_n, w)


@kernel
def _advance_averaging(  # type: ignore[no-untyped-def]
    starts, coordinates, examples, loss, y, c, lam_n, v, rate, exact, alpha, w, bias, shift,
    theta, scale, apart,
):  # fmt: skip
    delta = np.empty(alpha.size)
    for k in range(starts.size - 1):
        S = coordinates[starts[k] : starts[k + 1]]
        scale[0] *= 1.0 - theta
        for s, j in enumerate(S):
            z = row_dot(examples, j, w) + bias[0] + shift * bias[1]
            if c[j] == 0.0:
                delta[s] = 0.0
            elif exact:
                kappa = c[j] * v[j] / lam_n
                delta[s] = c[j] * loss_dual_step(loss, alpha[j] / c[j], z, y[j], kappa)
            else:
                z += scale[0] * (row_dot(examples, j, apart) + bias[2])
                delta[s] = -rate[j] * (c[j] * loss_derivative(loss, z, y[j]) + alpha[j])
        for s, j in enumerate(S):
            alpha[j] += delta[s]
            bias[1] += delta[s]
            bias[2] -= shift * delta[s] / scale[0]
            row_add(examples, j, delta[s] / lam_n, w)
            row_add(examples, j, -delta[s] / (lam_n * scale[0]), apart)
        if scale[0] < 1e-100:
            for i in range(apart.size):
                apart[i] *= scale[0]
            bias[2] *= scale[0]
            scale[0] = 1.0
