"""The original Quartz: dual coordinate descent with an averaged primal iterate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray
from ...complexity import Complexity
from ...data.rows import row_add, row_dot
from ...problem import Problem
from ...samplings import Draws, Sampling
from .. import quartz
from ..base import visited
from ..dual_step import dual_step

# The scale below which it is multiplied into ``apart``, far from underflow.
SMALLEST_SCALE = 1e-100


@dataclass
class State(quartz.State):
    """Where the method stands; the primal iterate is w + scale · apart."""

    theta: float  # θ = min_j q_j λn/(β v_j + λn)
    scale: FloatArray  # one number, (1 − θ)^k
    apart: FloatArray  # the difference of the two primal vectors, divided by scale
    b_apart: FloatArray  # one number, the same for the intercept


class AveragedQuartz(quartz.Quartz):
    r"""Dual RCD with an arbitrary sampling, and an average of w(α) as primal iterate.

    Algorithm
    ---------
    ::

        w̃ = w = (1/λn) X α
        repeat
            draw S from the sampling
            w̃ ← (1 − θ) w̃ + θ w
            for j in S:   Δ_j as in Quartz;  inexact:  Δ_j = −(θ/q_j)(φ'_j(⟨x_j, w̃⟩) + α_j)
            for j in S:   α_j += Δ_j,   w += (1/λn) Δ_j x_j

    with θ = min_j q_j λn/(β v_j + λn). This is Quartz as it was published; Algorithm 2 of the paper
    leaves the average out. With it the expected gap itself contracts by 1 − θ. The average is kept
    as w + scale · apart, so a step costs only the nonzeros of its rows.

    Rate
    ----
    K = max_j (β v_j + λn)/(q_j λn), eq. (9).

    Cost
    ----
    W = 2 Σ_j q_j ‖x_j‖₀: two vectors are kept up to date.

    When to use
    -----------
    Where the gap must contract at the rate of the theorem, not only the dual error; ``Quartz``
    needs half the work.

    Parameters
    ----------
    step : {"exact", "inexact"}

    References
    ----------
    .. [1] Z. Qu, P. Richtárik, T. Zhang. "Quartz: Randomized dual coordinate ascent with
       arbitrary sampling", NIPS 2015.
    """

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``alpha``, at the dual point of ``w``, or at zero."""
        plain = super().start(problem, sampling, w, alpha)
        theta = self._theta(problem, sampling)
        return State(
            **vars(plain),
            theta=theta,
            scale=np.ones(1),
            apart=np.zeros(problem.d),
            b_apart=np.zeros(1),
        )

    def step_lengths(self, problem: Problem, sampling: Sampling) -> FloatArray:
        """θ/q_j of the inexact step."""
        return self._theta(problem, sampling) / sampling.probabilities()

    def _theta(self, problem: Problem, sampling: Sampling) -> float:
        return float((sampling.probabilities() * super().step_lengths(problem, sampling)).min())

    def advance(self, state: quartz.State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        assert isinstance(state, State)
        p = state.problem
        _advance(
            draws.starts, draws.coordinates, p.examples.rows, state.loss, p.y, p.sample_weight,
            p.lam * p.n, state.kappa, state.alpha, state.w, state.intercept,
            self.step == "inexact", state.theta, state.scale, state.apart, state.b_apart,
        )  # fmt: skip
        quartz.move_centre(state, draws)
        return 2 * visited(p.examples, draws)

    def iterate(self, state: quartz.State) -> tuple[FloatArray, FloatArray | None]:
        """The average of w(α) and α, with w(α) recomputed so that rounding does not pile up."""
        assert isinstance(state, State)
        w, alpha = super().iterate(state)
        return w + state.scale[0] * state.apart, alpha

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K_D, eq. (9); a step reads its rows twice."""
        stated = super().complexity(problem, sampling)
        return replace(stated, cost=2 * stated.cost)


@kernel
def _advance(  # type: ignore[no-untyped-def]
    starts, coordinates, examples, loss, y, c, lam_n, kappa, alpha, w, intercept,
    at_average, theta, scale, apart, b_apart,
):  # fmt: skip
    delta = np.empty(alpha.size)
    for k in range(starts.size - 1):
        S = coordinates[starts[k] : starts[k + 1]]
        scale[0] *= 1.0 - theta
        for s, j in enumerate(S):
            z = row_dot(examples, j, w) + intercept.value()
            if at_average:
                z += scale[0] * (row_dot(examples, j, apart) + b_apart[0])
            delta[s] = dual_step(loss, c[j], alpha[j], z, y[j], kappa[j])
        for s, j in enumerate(S):
            alpha[j] += delta[s]
            intercept.add(delta[s])
            row_add(examples, j, delta[s] / lam_n, w)
            b_apart[0] -= intercept.shift * delta[s] / scale[0]
            row_add(examples, j, -delta[s] / (lam_n * scale[0]), apart)
        if scale[0] < SMALLEST_SCALE:
            apart *= scale[0]
            b_apart *= scale[0]
            scale[0] = 1.0
