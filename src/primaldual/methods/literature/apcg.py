"""Accelerated proximal coordinate gradient (APCG) on the dual."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, Side
from ...complexity import Complexity
from ...data.rows import row_add, row_dot
from ...losses.sums import sum_conjugates
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_alpha, visited
from ..dual_step import dual_step
from .sdca import largest_square


@dataclass
class State:
    """Where the method stands: x = scale · fast + slow, z = −scale · fast + slow."""

    problem: Problem
    a: float  # √μ/n, by which the error contracts
    kappa: FloatArray  # κ_j = n²a L_j − γ, the curvature of the one-dimensional problems
    scale: FloatArray  # one number, ρ^k with ρ = (1 − a)/(1 + a)
    fast: FloatArray  # the half difference of x and z, divided by scale
    slow: FloatArray  # the mean of x and z
    fast_w: FloatArray  # w(fast) = (1/λn) Σ_j fast_j x_j, kept up to date
    slow_w: FloatArray  # w(slow), kept up to date


class APCG(Method):
    r"""Accelerated dual coordinate ascent.

    Algorithm
    ---------
    ::

        x = z = α
        repeat
            y = (x + a z)/(1 + a),   z̄ = (1 − a) z + a y
            draw j uniformly
            z⁺ = z̄, but z⁺_j = z̄_j + argmax_h  −φ*_j(−(z̄_j + h)) − h t − κ_j h²/2
                with t = ⟨x_j, w(y)⟩ + γ(y_j − z̄_j)
            x ← y + na (z⁺ − z) + na² (z − y),   z ← z⁺

    where w(y) = (1/λn) X y, γ = 1/β, L_j = (‖x_j‖² + λγn)/(λn²), μ = (γ/n)/max_j L_j, a = √μ/n
    and κ_j = n²a L_j − γ, or 0 where that is negative (a larger L_j is a valid one). The dual
    error of x contracts by 1 − a per step, K = n √(1 + βR²/(λn)) with R² = max_j ‖x_j‖².

    In the variables (x − z)/(2ρᵏ) and (x + z)/2, ρ = (1 − a)/(1 + a), a step changes one number
    of each, so it costs only the nonzeros of its row. x may leave the domain of φ*: the iterate
    shown is its nearest feasible point.

    Rate
    ----
    K = n √(1 + βR²/(λn)).

    Cost
    ----
    W = 2‖X‖₀/n: two vectors are kept up to date.

    When to use
    -----------
    The first choice among accelerated dual methods: small λ, and no inner loop to tune.

    References
    ----------
    .. [1] Q. Lin, Z. Lu, L. Xiao. "An accelerated randomized proximal coordinate gradient method
       and its application to regularized empirical risk minimization", SIAM Journal on
       Optimization 2015.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ("uniform",)

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
        n, lam_n, gamma = problem.n, problem.lam * problem.n, 1 / problem.beta
        n_L = problem.sample_weight * problem.examples.squared_norms / lam_n + gamma  # n L_j
        # At most 1/2, where ρ would be 0: one example without nonzeros.
        a = min(math.sqrt(gamma / float(n_L.max())) / n, 0.5)
        kappa = np.maximum(n * a * n_L - gamma, 0.0)
        return State(
            problem, a, kappa, np.ones(1), np.zeros(n), alpha, np.zeros(problem.d),
            problem.primal_point(alpha),
        )  # fmt: skip

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        _advance(
            draws.coordinates, p.examples.rows, p.loss, p.y, p.sample_weight, 1 / p.beta,
            p.lam * p.n, state.a, state.kappa, state.scale, state.fast, state.slow, state.fast_w,
            state.slow_w,
        )  # fmt: skip
        return 2 * visited(p.examples, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """w(α) and α, the feasible point nearest to x; w(·) is recomputed against rounding."""
        p = state.problem
        state.fast_w, state.slow_w = p.primal_point(state.fast), p.primal_point(state.slow)
        alpha = first_alpha(p, None, state.scale[0] * state.fast + state.slow)
        # Of a user's loss the domain may be unknown, and x outside.
        feasible = np.isfinite(sum_conjugates(p.loss, alpha, p.y, p.sample_weight))
        return p.primal_point(alpha), alpha if feasible else None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = n √(1 + βR²/(λn)); a step reads its row twice."""
        n, nnz = problem.n, problem.matrix.nnz
        condition = problem.beta * largest_square(problem) / (problem.lam * n)
        return Complexity(n * math.sqrt(1 + condition), 2 * nnz / n, nnz)


@kernel
def _advance(  # type: ignore[no-untyped-def]
    coordinates, examples, loss, y, c, gamma, lam_n, a, kappa, scale, fast, slow, fast_w, slow_w
):  # fmt: skip
    n = y.size
    rho = (1.0 - a) / (1.0 + a)
    for j in coordinates:
        scale[0] *= rho
        if scale[0] < 1e-100:
            fast *= scale[0]
            fast_w *= scale[0]
            scale[0] = 1.0
        if c[j] == 0.0:
            continue
        ahead = scale[0] * fast[j]
        y_j, z_j = slow[j] + ahead, slow[j] - ahead  # of y and z̄
        t = scale[0] * row_dot(examples, j, fast_w) + row_dot(examples, j, slow_w)
        t += gamma * (y_j - z_j) / c[j]
        h = dual_step(loss, c[j], z_j, t, y[j], kappa[j])
        to_fast = -0.5 * (1.0 - n * a) * h / scale[0]
        to_slow = 0.5 * (1.0 + n * a) * h
        fast[j] += to_fast
        slow[j] += to_slow
        row_add(examples, j, to_fast / lam_n, fast_w)
        row_add(examples, j, to_slow / lam_n, slow_w)
