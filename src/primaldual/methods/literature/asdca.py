"""Accelerated mini-batch stochastic dual coordinate ascent (ASDCA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, Side
from ...complexity import Complexity
from ...data.rows import row_add, row_dot
from ...losses import loss_derivative
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_alpha, visited
from .sdca import batch_size, largest_square


@dataclass
class State:
    """Where the method stands: the primal iterate is mean + scale · apart."""

    problem: Problem
    theta: float  # θ, the weight of the new in every average
    alpha: FloatArray  # dual iterate
    mean: FloatArray  # w̄ = w(α) = (1/λn) Σ_j α_j x_j, kept up to date
    scale: FloatArray  # one number, (1 − θ)^k
    apart: FloatArray  # w − w̄, divided by scale


class ASDCA(Method):
    r"""Mini-batch SDCA with Nesterov's acceleration: between SDCA and accelerated gradient.

    Algorithm
    ---------
    ::

        w = w̄ = (1/λn) X α
        repeat
            u = (1 − θ) w + θ w̄
            draw a subset S of m examples
            for j in S:   α_j ← (1 − θ) α_j − θ φ'_j(⟨x_j, u⟩)
            w̄ = (1/λn) X α
            w ← (1 − θ) w + θ w̄

    with g = λn/(βR²), R² = max_j ‖x_j‖², θ = ¼ min{1, √(g/m), g, g^⅔/m^⅓}. The expected gap
    contracts by 1 − θm/n per iteration: K = n/(θm). The batch size m is that of the sampling; for
    m = 1 there is no acceleration.

    w is kept as w̄ + scale · apart, so a step costs only the nonzeros of its rows.

    Rate
    ----
    K = n/(θm), θ = ¼ min{1, √(g/m), g, g^⅔/m^⅓}, g = λn/(βR²).

    Cost
    ----
    W = 2m‖X‖₀/n: two vectors are kept up to date.

    When to use
    -----------
    Mini-batches of examples and small λ; its constants are large, so elsewhere SDCA is faster.

    References
    ----------
    .. [1] S. Shalev-Shwartz, T. Zhang. "Accelerated mini-batch stochastic dual coordinate
       ascent", NIPS 2013.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ("tau_nice", "uniform")

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
        mean = problem.primal_point(alpha)
        theta = _theta(problem, batch_size(sampling))
        return State(problem, theta, alpha, mean, np.ones(1), np.zeros(problem.d))

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        _advance(
            draws.starts, draws.coordinates, p.examples.rows, p.loss, p.y, p.sample_weight,
            p.lam * p.n, state.theta, state.alpha, state.mean, state.scale, state.apart,
        )  # fmt: skip
        return 2 * visited(p.examples, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and α, with w(α) recomputed so that rounding does not pile up."""
        state.mean = state.problem.primal_point(state.alpha)
        return state.mean + state.scale[0] * state.apart, state.alpha

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = n/(θm); a step reads its rows twice."""
        n, m, nnz = problem.n, batch_size(sampling), problem.matrix.nnz
        return Complexity(n / (_theta(problem, m) * m), 2 * m * nnz / n, nnz)


def _theta(problem: Problem, m: int) -> float:
    steepness = problem.beta * largest_square(problem)
    g = problem.lam * problem.n / steepness if steepness > 0 else np.inf
    return float(0.25 * min(1.0, np.sqrt(g / m), g, np.cbrt(g * g / m)))


@kernel
def _advance(  # type: ignore[no-untyped-def]
    starts, coordinates, examples, loss, y, c, lam_n, theta, alpha, mean, scale, apart
):  # fmt: skip
    delta = np.empty(alpha.size)
    for k in range(starts.size - 1):
        S = coordinates[starts[k] : starts[k + 1]]
        scale[0] *= 1.0 - theta  # from here mean + scale · apart is u
        for s, j in enumerate(S):
            z = row_dot(examples, j, mean) + scale[0] * row_dot(examples, j, apart)
            delta[s] = -theta * (c[j] * loss_derivative(loss, z, y[j]) + alpha[j])
        for s, j in enumerate(S):
            alpha[j] += delta[s]
            row_add(examples, j, delta[s] / lam_n, mean)
            # w − w̄ after the step is (1 − θ) times what w was above the new w̄.
            row_add(examples, j, -(1.0 - theta) * delta[s] / (lam_n * scale[0]), apart)
        if scale[0] < 1e-100:
            apart *= scale[0]
            scale[0] = 1.0
