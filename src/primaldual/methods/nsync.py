"""Primal randomized coordinate descent (NSync), Algorithm 1 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from .._numba.compile import kernel
from .._types import FloatArray, Side
from ..complexity import Complexity, complexity
from ..data.rows import row_add, row_slope
from ..problem import Problem
from ..samplings import Draws, Sampling
from .base import ANY_SAMPLING, Method, first_w, visited


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    step: FloatArray  # n / (β u_i + λn), from the ESO parameters u of the sampling
    w: FloatArray  # primal iterate
    z: FloatArray  # margins Xᵀw + b, kept up to date
    intercept: float  # b, solved exactly after every call of advance


class NSync(Method):
    r"""Primal RCD with an arbitrary sampling.

    Algorithm
    ---------
    ::

        z = Xᵀ w
        repeat
            draw S from the sampling
            for i in S:   Δ_i = −n/(β u_i + λn) · ( (1/n) Σ_j φ'_j(z_j) X_ij + λ w_i )
            for i in S:   w_i += Δ_i,   z += Δ_i X_i:

    The expected error P(w) − P* contracts by 1 − 1/K_P per iteration, eq. (8). A free intercept
    is not sampled: it is minimised over exactly between calls. ``NSyncNewton`` takes longer steps.

    Rate
    ----
    K = max_i (β u_i + λn)/(p_i λn), eq. (8).

    Cost
    ----
    W = Σ_i p_i ‖X_i:‖₀, eq. (10).

    When to use
    -----------
    Where ``advise`` says primal, as for dense data with more features than examples, and the rate
    should be that of the theorem.

    References
    ----------
    .. [1] P. Richtárik, M. Takáč. "On optimal probabilities in stochastic coordinate descent
       methods", Optimization Letters 2016.
    """

    side: ClassVar[Side] = "primal"
    free_intercept: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ANY_SAMPLING

    def eso(self, problem: Problem, sampling: Sampling) -> FloatArray:
        """The ESO parameters u of the step: the sampling's own."""
        return sampling.eso(problem.features)

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
        step = problem.n / problem.features.curvature(self.eso(problem, sampling))
        state = State(problem, step, w, problem.matrix.times(w), 0.0)
        move_intercept(state)
        return state

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        _advance(
            draws.starts, draws.coordinates, p.features.rows, p.loss, p.y, p.sample_weight,
            p.lam, state.step, state.w, state.z,
        )  # fmt: skip
        move_intercept(state)
        return visited(p.features, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w, with the margins recomputed so that rounding does not pile up."""
        state.z = state.problem.margins(state.w, state.intercept)
        return state.w, None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K_P, eq. (8)."""
        return complexity(problem.features, sampling, self.eso(problem, sampling))


def move_intercept(state: Any) -> None:
    """Minimise over the free intercept, if there is one, and shift the margins."""
    change = state.problem.best_intercept(state.z)
    if change:
        state.z += change
        state.intercept += change


@kernel
def _advance(starts, coordinates, features, loss, y, c, lam, step, w, z):  # type: ignore[no-untyped-def]
    n = y.size
    delta = np.empty(w.size)
    for k in range(starts.size - 1):
        S = coordinates[starts[k] : starts[k + 1]]
        for s, i in enumerate(S):
            delta[s] = -step[i] * (row_slope(features, i, loss, z, y, c) / n + lam * w[i])
        for s, i in enumerate(S):
            w[i] += delta[s]
            row_add(features, i, delta[s], z)
