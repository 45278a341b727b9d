"""Primal randomized coordinate descent (NSync), Algorithm 1 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from .._compile import kernel
from .._types import FloatArray, Side
from ..complexity import Complexity, complexity
from ..problem import Problem
from ..rows import row_add, row_slope
from ..samplings import Draws, Sampling
from .base import ANY_SAMPLING, visited


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    step: FloatArray  # n / (β u_i + λn), from the ESO parameters u of the sampling
    w: FloatArray  # primal iterate
    z: FloatArray  # margins Xᵀw + b, kept up to date
    intercept: float  # b, solved exactly after every call of advance


class NSync:
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
    is not sampled: it is minimised over exactly between calls.

    References
    ----------
    .. [1] P. Richtárik, M. Takáč. "On optimal probabilities in stochastic coordinate descent
       methods", Optimization Letters 2016.
    """

    side: ClassVar[Side] = "primal"
    samplings: ClassVar[tuple[str, ...]] = ANY_SAMPLING

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        if w is None:
            w = np.zeros(problem.d) if alpha is None else problem.primal_point(alpha)
        features = problem.features
        step = problem.n / features.curvature(sampling.eso(features))
        state = State(problem, step, w.copy(), problem.matrix.times(w), 0.0)
        _move_intercept(state)
        return state

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        _advance(
            draws.starts, draws.coordinates, p.features.rows, p.loss, p.y, p.sample_weight,
            p.lam, state.step, state.w, state.z,
        )  # fmt: skip
        _move_intercept(state)
        return visited(p.features, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w, with the margins recomputed so that rounding does not pile up."""
        state.z = state.problem.margins(state.w, state.intercept)
        return state.w, None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K_P, eq. (8)."""
        return complexity(problem.features, sampling)


def _move_intercept(state: State) -> None:
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
