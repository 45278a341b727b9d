"""Accelerated primal coordinate descent with non-uniform sampling (NU-ACDM)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, Side
from ...complexity import Complexity
from ...data.rows import row_add
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_w, visited
from .approx import root_importance, row_slope_between

# The scale is folded into B before ρ^k leaves the range of floating-point numbers.
SMALLEST_SCALE = 1e-100


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    L: FloatArray  # L_i = (β/n) ‖X_i:‖² + λ, the smoothness of P along coordinate i
    long: FloatArray  # η/(p_i (1 + ηλ)), the step of z
    tau: float  # τ, the weight of z in x; 1/K
    rho: float  # (1 − τ)/(1 + ηλ), the factor of y − z per step
    mix: float  # m_z = τ/(c + τ), and m_y = 1 − m_z
    scale: FloatArray  # one number, ρ^k
    A: FloatArray  # y = A + m_z scale B,  z = A − m_y scale B
    B: FloatArray  # (y − z)/scale
    r_A: FloatArray  # margins XᵀA + b, kept up to date
    r_B: FloatArray  # margins XᵀB, kept up to date
    # With a free intercept:
    intercept: float  # b, solved exactly at every restart
    period: int  # steps between restarts; 0 for a model without intercept
    age: int  # steps since the last restart


class NUACDM(Method):
    r"""Accelerated primal RCD for strongly convex P, serial, p_i ∝ √L_i.

    Algorithm
    ---------
    ::

        L_i = (β/n) ‖X_i:‖² + λ,   S = max_i √L_i/p_i,   τ = 2/(1 + √(4S²/λ + 1)),   η = 1/(τS²)
        repeat
            x = τ z + (1 − τ) y
            draw i with probability p_i
            y = x − (1/L_i) ∇_i P(x) e_i
            z = ( z + ηλ x − (η/p_i) ∇_i P(x) e_i ) / (1 + ηλ)

    The default p_i ∝ √L_i gives the smallest S, Σ_i √L_i. The expected error contracts by about
    1 − τ per iteration: K = 1/τ, about S/√λ = Σ_i √((β ‖X_i:‖² + λn)/(λn)).

    No vector is touched as a whole. With c = ηλ(1 − τ)/(1 + ηλ), m_y = c/(c + τ),
    m_z = τ/(c + τ), a step without gradient leaves A = m_y y + m_z z as it is and multiplies
    y − z by ρ = (1 − τ)/(1 + ηλ), so that with B = (y − z)/ρ^k ::

        x = A + (m_z − τ) ρ^k B,   Δy = −∇_i P(x)/L_i,   Δz = −(η/p_i) ∇_i P(x)/(1 + ηλ)
        A_i += m_y Δy + m_z Δz,   B_i += (Δy − Δz)/ρ^{k+1},   and the same for the margins

    A step reads its row for two vectors, and counts it twice.

    A free intercept is not sampled: every ⌈(1 + ln 2) K⌉ steps, in which P falls by about the
    factor e towards its minimum over w, the method restarts from y with the best intercept.

    Rate
    ----
    K = ½ + √(S²/λ + ¼), S = max_i √L_i/p_i, about Σ_i √((β‖X_i:‖² + λn)/(λn)).

    Cost
    ----
    W = 2 Σ_i p_i ‖X_i:‖₀: two vectors are kept up to date.

    When to use
    -----------
    The first choice among accelerated primal methods: small λ, and no restarts to tune.

    References
    ----------
    .. [1] Z. Allen-Zhu, Z. Qu, P. Richtárik, Y. Yuan. "Even faster accelerated coordinate descent
       using non-uniform sampling", ICML 2016.
    """

    side: ClassVar[Side] = "primal"
    free_intercept: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ("importance", "uniform")

    def plan(self, problem: Problem) -> Sampling:
        """p_i ∝ √L_i."""
        return root_importance(problem)

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        w = first_w(problem, w, alpha)
        L, tau, eta = _parameters(problem, sampling)
        shrink = 1 / (1 + eta * problem.lam)
        c = eta * problem.lam * (1 - tau) * shrink
        period = math.ceil((1 + math.log(2)) / tau) if problem.fit_intercept else 0
        state = State(
            problem, L, eta * shrink / sampling.probabilities(), tau, (1 - tau) * shrink,
            tau / (c + tau), np.ones(1), w, np.zeros(problem.d),
            problem.matrix.times(w), np.zeros(problem.n), 0.0, period, 0,
        )  # fmt: skip
        _restart(state)
        return state

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``, with the restarts that fall among them."""
        p, order = state.problem, draws.coordinates
        first = 0
        while True:
            last = len(order)
            if state.period:
                last = min(last, first + state.period - state.age)
            _advance(
                order[first:last], p.features.rows, p.loss, p.y, p.sample_weight, p.lam, state.L,
                state.long, state.tau, state.rho, state.mix,
                state.scale, state.A, state.B, state.r_A, state.r_B,
            )  # fmt: skip
            state.age += last - first
            if state.period and state.age == state.period:
                _restart(state)
            first = last
            if first == len(order):
                return 2 * visited(p.features, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current y, with the margins recomputed so that rounding does not pile up."""
        state.r_A = state.problem.margins(state.A, state.intercept)
        state.r_B = state.problem.margins(state.B)
        return state.A + state.mix * state.scale[0] * state.B, None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = 1/τ; a step reads its row for two vectors."""
        _, tau, _ = _parameters(problem, sampling)
        features = problem.features
        cost = 2 * float(sampling.probabilities() @ features.counts)
        return Complexity(1 / tau, cost, features.nnz)


def _parameters(problem: Problem, sampling: Sampling) -> tuple[FloatArray, float, float]:
    """L, τ and η."""
    features = problem.features
    L = features.curvature(sampling.eso(features)) / problem.n
    S = float((np.sqrt(L) / sampling.probabilities()).max())
    tau = 2 / (1 + math.sqrt(4 * S**2 / problem.lam + 1))
    return L, tau, 1 / (tau * S**2)


def _restart(state: State) -> None:
    """Forget z, and solve for the intercept."""
    forward = state.mix * state.scale[0]
    state.A += forward * state.B
    state.r_A += forward * state.r_B
    state.B[:] = 0.0
    state.r_B[:] = 0.0
    state.scale[0] = 1.0
    state.age = 0
    change = state.problem.best_intercept(state.r_A)
    if change:
        state.r_A += change
        state.intercept += change


@kernel
def _advance(  # type: ignore[no-untyped-def]
    coordinates, features, loss, y, c, lam, L, long, tau, rho, mix, scale, A, B, r_A, r_B
):  # fmt: skip
    n = y.size
    for i in coordinates:
        a = (mix - tau) * scale[0]  # x = A + a B
        slope = row_slope_between(features, i, loss, r_A, a, r_B, y, c)
        gradient = slope / n + lam * (A[i] + a * B[i])
        scale[0] *= rho
        dy = -gradient / L[i]
        dz = -long[i] * gradient
        both = (1.0 - mix) * dy + mix * dz
        apart = (dy - dz) / scale[0]
        A[i] += both
        row_add(features, i, both, r_A)
        B[i] += apart
        row_add(features, i, apart, r_B)
        if scale[0] < SMALLEST_SCALE:
            B *= scale[0]
            r_B *= scale[0]
            scale[0] = 1.0
