"""Dual-free SDCA and MISO: one update, two step lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._types import FloatArray, Side
from ...complexity import Complexity, complexity
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import ANY_SAMPLING, Method, first_alpha, visited
from ..dual_step import Inexact
from ..intercept import Intercept, first_intercept
from ..quartz import quartz_steps
from .sdca import largest_square


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    delta: FloatArray  # δ_j, the part of α_j that a step replaces
    alpha: FloatArray  # α_j: minus a mean of the φ'_j seen so far
    w: FloatArray  # w(α) = (1/λn) Σ_j α_j x_j, kept up to date
    intercept: Intercept  # none: it stays zero


class DfSDCA(Method):
    r"""Dual-free SDCA: no conjugate and no inner problem, any sampling.

    Algorithm
    ---------
    ::

        w = (1/λn) X α
        repeat
            draw S from the sampling
            for j in S:   Δ_j = −δ_j (φ'_j(⟨x_j, w⟩) + α_j)
            for j in S:   α_j += Δ_j,   w += (1/λn) Δ_j x_j

    with δ_j = θ/q_j and θ = min_j q_j λn/(β v_j + λn), q the probabilities and v the ESO
    parameters of the sampling: the inexact steps of Quartz with a δ_j that is never longer. The
    expected distance to the optimum, of w and of α, contracts by 1 − θ per iteration: K = 1/θ.
    ``MISO`` is the same update with another δ.

    Rate
    ----
    K = max_j (β v_j + λn)/(q_j λn), eq. (9).

    Cost
    ----
    W = Σ_j q_j ‖x_j‖₀.

    When to use
    -----------
    Losses without a cheap conjugate or dual step: only φ' is evaluated.

    References
    ----------
    .. [1] S. Shalev-Shwartz. "SDCA without duality, regularization, and individual convexity",
       ICML 2016.
    .. [2] D. Csiba, P. Richtárik. "Primal method for ERM with flexible mini-batching schemes and
       non-convex losses", arXiv:1506.02227, 2015.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ANY_SAMPLING

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
        delta, intercept = self._delta(problem, sampling), first_intercept(problem, alpha, w)
        return State(problem, delta, alpha, w, intercept)

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        quartz_steps(
            draws.starts, draws.coordinates, p.examples.rows, Inexact(p.loss), p.y,
            p.sample_weight, p.lam * p.n, state.delta, state.alpha, state.w, state.intercept,
        )  # fmt: skip
        return visited(p.examples, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and α, with w(α) recomputed so that rounding does not pile up."""
        state.w = state.problem.primal_point(state.alpha)
        return state.w, state.alpha

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = 1/θ, which is K_D, eq. (9)."""
        return complexity(problem.examples, sampling)

    def _delta(self, problem: Problem, sampling: Sampling) -> FloatArray:
        p, side = sampling.probabilities(), problem.examples
        theta = (p * side.lam_n / side.curvature(sampling.eso(side))).min()
        return np.asarray(theta / p)


class MISO(DfSDCA):
    r"""MISO, also known as Finito: surrogates of the losses, one of them renewed per step.

    Algorithm
    ---------
    Quadratic lower bounds of f_j(w) = φ_j(⟨x_j, w⟩) + (λ/2)‖w‖² with curvature λ are kept, and w
    minimises their mean. A step moves the bound of one uniformly drawn j a part δ of the way to
    the bound at the current w. For linear models the bounds are determined by numbers α_j and the
    algorithm is that of ``DfSDCA`` with one δ for all,

    ::

        α_j ← (1 − δ) α_j − δ φ'_j(⟨x_j, w⟩),   w = (1/λn) X α,   δ = min(1, λn/(2(L − λ)))

    with L = max_j β‖x_j‖² + λ. K = max(2n, 4L/λ): in the big-data regime n ≥ 2L/λ the step is
    full, δ = 1, which is Finito's. Permutations are usually faster, but have no such bound.

    Rate
    ----
    K = max(2n, 4L/λ), L = max_j β‖x_j‖² + λ.

    Cost
    ----
    W = ‖X‖₀/n.

    When to use
    -----------
    Big data, n ≥ 2L/λ, where its full step needs no step length.

    References
    ----------
    .. [1] J. Mairal. "Incremental majorization-minimization optimization with application to
       large-scale machine learning", SIAM Journal on Optimization 2015.
    .. [2] A. Defazio, T. Caetano, J. Domke. "Finito: a faster, permutable incremental gradient
       method for big data problems", ICML 2014.
    .. [3] H. Lin, J. Mairal, Z. Harchaoui. "A universal catalyst for first-order optimization",
       NIPS 2015.
    """

    samplings: ClassVar[tuple[str, ...]] = ("uniform", "permutation")

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = max(2n, 4L/λ)."""
        n, nnz = problem.n, problem.matrix.nnz
        condition = problem.beta * largest_square(problem) / problem.lam + 1
        return Complexity(max(2.0 * n, 4.0 * condition), nnz / n, nnz)

    def _delta(self, problem: Problem, sampling: Sampling) -> FloatArray:
        steepness = 2 * problem.beta * largest_square(problem)  # 2(L − λ)
        lam_n = problem.lam * problem.n
        return np.full(problem.n, lam_n / max(steepness, lam_n))
