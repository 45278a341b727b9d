"""The stochastic primal-dual coordinate method (SPDC)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, IntArray, Side
from ...complexity import Complexity
from ...data.rows import row_add, row_dot
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_alpha, visited
from ..dual_step import dual_step
from .sdca import batch_size, largest_square


@dataclass
class State:
    """Where the method stands: the primal iterate is w(α) + scale · apart."""

    problem: Problem
    batch: int  # m, the number of examples of every batch
    tau: float  # τ, the primal step length
    sigma: float  # σ, the dual step length
    theta: float  # θ, how far x̄ is ahead of x
    alpha: FloatArray  # dual iterate
    ahead: FloatArray  # w(α) + θτ(1/m − 1/n) s, s the last step's Σ_j Δ_j x_j
    scale: FloatArray  # one number, (1 + λτ)^−k
    apart: FloatArray  # x − w(α), divided by scale
    last: IntArray  # the examples of the last step
    moved: FloatArray  # and their Δ_j
    count: IntArray  # one number: how many they are


class SPDC(Method):
    r"""Alternating steps on the saddle point: dual ascent on a batch, primal descent.

    Algorithm
    ---------
    ::

        x = x̄ = (1/λn) X α
        repeat
            draw a subset S of m examples
            for j in S:   Δ_j = argmax_h  −φ*_j(−(α_j + h)) − h⟨x_j, x̄⟩ − h²/(2σ)
            s = Σ_{j in S} Δ_j x_j
            x⁺ = (x + τ ((1/n) X α + s/m))/(1 + λτ)
            for j in S:   α_j += Δ_j
            x̄ = x⁺ + θ (x⁺ − x),   x = x⁺

    with R = max_j ‖x_j‖, γ = 1/β, τ = √(mγ/(nλ))/(2R), σ = √(nλ/(mγ))/(2R) and
    θ = 1 − 1/(n/m + 2R √(n/(mλγ))). The squared distances to the optimum contract by θ per
    iteration: K = n/m + 2R √(nβ/(mλ)). The batch size m is that of the sampling; permutations
    have no such bound.

    In place of x the scaled difference x − w(α) is kept, on which everything but the step of the
    batch acts as the factor 1/(1 + λτ); then x̄ = w(α) + θτ(1/m − 1/n) s + (1 − θλτ)(x − w(α)),
    and a step costs only the nonzeros of its rows and of those of the step before.

    Rate
    ----
    K = n/m + 2R √(nβ/(mλ)).

    Cost
    ----
    W = 2.5 m‖X‖₀/n.

    When to use
    -----------
    Small λ with mini-batches of examples, or a saddle-point method for comparison.

    References
    ----------
    .. [1] Y. Zhang, L. Xiao. "Stochastic primal-dual coordinate method for regularized empirical
       risk minimization", JMLR 2017.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ("uniform", "tau_nice", "permutation")

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
        n, d, lam, m = problem.n, problem.d, problem.lam, batch_size(sampling)
        R = _radius(problem)
        balance = math.sqrt(m / (problem.beta * n * lam))  # √(mγ/(nλ))
        tau, sigma = balance / (2 * R), 1 / (2 * R * balance)
        theta = 1 - 1 / self.complexity(problem, sampling).iterations
        return State(
            problem, m, tau, sigma, theta, alpha, problem.primal_point(alpha), np.ones(1),
            np.zeros(d), np.zeros(n, np.int64), np.zeros(n), np.zeros(1, np.int64),
        )  # fmt: skip

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        _advance(
            draws.starts, draws.coordinates, p.examples.rows, p.loss, p.y, p.sample_weight, p.lam,
            state.batch, state.tau, state.sigma, state.theta, state.alpha, state.ahead,
            state.scale, state.apart, state.last, state.moved, state.count,
        )  # fmt: skip
        # Two products and three additions with a row, where a plain dual step has one of each.
        return 2.5 * visited(p.examples, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current x and α, with w(α) recomputed so that rounding does not pile up."""
        p = state.problem
        w_of_alpha = p.primal_point(state.alpha)
        last = np.zeros(p.n)
        last[state.last[: state.count[0]]] = state.moved[: state.count[0]]
        state.ahead = w_of_alpha + _lead(state) * p.matrix.transposed_times(last)
        return w_of_alpha + state.scale[0] * state.apart, state.alpha

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = n/m + 2R √(nβ/(mλ)); a step costs 2.5 plain ones."""
        nnz, batches = problem.matrix.nnz, problem.n / batch_size(sampling)
        condition = math.sqrt(batches * problem.beta / problem.lam)
        return Complexity(batches + 2 * _radius(problem) * condition, 2.5 * nnz / batches, nnz)


def _radius(problem: Problem) -> float:
    """R, the largest norm; any bound will do where all are zero."""
    return math.sqrt(largest_square(problem)) or 1.0


def _lead(state: State) -> float:
    """θτ(1/m − 1/n), how much of the last step x̄ sees again."""
    return state.theta * state.tau * (1 / state.batch - 1 / state.problem.n)


@kernel
def _advance(  # type: ignore[no-untyped-def]
    starts, coordinates, examples, loss, y, c, lam, m, tau, sigma, theta, alpha, ahead, scale,
    apart, last, moved, count,
):  # fmt: skip
    n = y.size
    lam_n = lam * n
    shrink = 1.0 / (1.0 + lam * tau)
    lead = theta * tau * (1.0 / m - 1.0 / n)
    delta = np.empty(n)
    for k in range(starts.size - 1):
        S = coordinates[starts[k] : starts[k + 1]]
        part = (1.0 - theta * lam * tau) * scale[0]
        for s, j in enumerate(S):
            z = row_dot(examples, j, ahead) + part * row_dot(examples, j, apart)  # ⟨x_j, x̄⟩
            delta[s] = dual_step(loss, c[j], alpha[j], z, y[j], 1.0 / sigma)
        scale[0] *= shrink
        for s in range(count[0]):
            row_add(examples, last[s], -lead * moved[s], ahead)
        for s, j in enumerate(S):
            alpha[j] += delta[s]
            row_add(examples, j, delta[s] * (1.0 / lam_n + lead), ahead)
            row_add(examples, j, delta[s] * (shrink * tau / m - 1.0 / lam_n) / scale[0], apart)
            last[s], moved[s] = j, delta[s]
        count[0] = S.size
        if scale[0] < 1e-100:
            apart *= scale[0]
            scale[0] = 1.0
