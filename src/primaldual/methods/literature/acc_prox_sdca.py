"""Accelerated Prox-SDCA: SDCA inside an accelerated proximal point method (Catalyst)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, Side
from ...complexity import Complexity
from ...data.rows import row_add
from ...losses.sums import sum_fenchel_gaps
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_alpha, visited
from .sdca import EXACT, largest_square, sdca_steps

# Inner gaps below this part of P(0) are rounding noise: there is nothing left to wait for.
SMALLEST_TARGET = 1e-15


@dataclass
class State:
    """Where the method stands. All primal points are w(a) = (1/λn) Σ_j a_j x_j for some a."""

    problem: Problem
    pull: float  # ϰ, the strength of the proximal term
    eta: float  # η, by half of which the targets fall
    kappa: FloatArray  # c_j ‖x_j‖²/((λ + ϰ)n), the curvature of the inner steps
    alpha: FloatArray  # dual iterate, of the inner problem and of the whole one
    w: FloatArray  # the inner problem's primal point of α, kept up to date
    centre: FloatArray  # y = w(centre), the centre of the proximal term
    previous: FloatArray  # w(previous) is the w at the end of the last inner problem
    target: float  # the inner gap at which the centre moves
    steps: int  # taken since the inner gap was last looked at


class AccProxSDCA(Method):
    r"""SDCA on better conditioned problems, whose centres move with momentum.

    Algorithm
    ---------
    ::

        y = w = (1/λn) X α,   ε = (η/2)(P(w) − D(α))
        repeat
            by SDCA from α, minimise P(w) + (ϰ/2)‖w − y‖² to a gap of ε:
                w = (Σ_j α_j x_j/n + ϰ y)/(λ + ϰ),   exact steps on the α_j
            y = w + ((1 − η)/(1 + η)) (w − the last inner problem's w)
            ε ← (1 − η/2) ε

    with ϰ = max(βR²/n − λ, 0), R² = max_j ‖x_j‖² and η = √((λ/2)/(λ/2 + ϰ)). The inner gap is
    (1/n) Σ_j G_j, the sum of the Fenchel gaps at ⟨x_j, w⟩: it is looked at after every 2n steps,
    in which it falls by e on average. A look costs one pass, a new centre another.

    K = n + √(nβR²/λ) up to logarithms and constants. The method pays where βR²/λ is ten times n
    or more; for βR²/λ ≤ n it is SDCA.

    Rate
    ----
    K = n + √(nβR²/λ), up to logarithms and constants.

    Cost
    ----
    W = Σ_j q_j ‖x_j‖₀ + ‖X‖₀/n for the looks at the gap.

    When to use
    -----------
    Badly conditioned problems, βR²/λ ten times n or more, where plain SDCA crawls.

    References
    ----------
    .. [1] S. Shalev-Shwartz, T. Zhang. "Accelerated proximal stochastic dual coordinate ascent
       for regularized loss minimization", Mathematical Programming 2016.
    .. [2] H. Lin, J. Mairal, Z. Harchaoui. "A universal catalyst for first-order optimization",
       NIPS 2015.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ("uniform", "permutation", "importance")

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
        pull = max(problem.beta * largest_square(problem) / problem.n - problem.lam, 0.0)
        eta = math.sqrt(problem.lam / (problem.lam + 2 * pull))
        squares = problem.sample_weight * problem.examples.squared_norms
        kappa = squares / ((problem.lam + pull) * problem.n)
        target = 0.5 * eta * problem.certify(w, alpha).gap
        return State(problem, pull, eta, kappa, alpha, w, alpha.copy(), alpha.copy(), target, 0)

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``, and what comes between inner problems."""
        p = state.problem
        cost, first = visited(p.examples, draws), 0
        while True:
            last = min(first + 2 * p.n - state.steps, draws.steps)
            sdca_steps(
                draws.coordinates[first:last], p.examples.rows, p.loss, p.y, p.sample_weight,
                p.beta, (p.lam + state.pull) * p.n, state.kappa, EXACT, state.alpha, state.w,
            )  # fmt: skip
            state.steps += last - first
            if state.steps == 2 * p.n:
                cost += _look(state)
            if last == draws.steps:
                return cost
            first = last

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and α, with w recomputed so that rounding does not pile up."""
        p = state.problem
        state.w = p.primal_point(_inner_point(state))
        return state.w, state.alpha

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = n + √(nβR²/λ), without its logarithms; every 2n steps a look and a new centre."""
        n, nnz = problem.n, problem.matrix.nnz
        condition = problem.beta * largest_square(problem) / problem.lam
        cost = float(sampling.probabilities() @ problem.examples.counts) + nnz / n
        return Complexity(n + math.sqrt(n * condition), cost, nnz)


def _inner_point(state: State) -> FloatArray:
    """The a with w = w(a): (Σ_j α_j x_j/n + ϰ y)/(λ + ϰ) = w((λα + ϰ centre)/(λ + ϰ))."""
    lam, pull = state.problem.lam, state.pull
    return (lam * state.alpha + pull * state.centre) / (lam + pull)


def _look(state: State) -> float:
    """Go on to the next inner problem if this one is solved well enough; the nonzeros visited."""
    p = state.problem
    state.steps = 0
    z = p.matrix.times(state.w)
    gap = float(sum_fenchel_gaps(p.loss, z, state.alpha, p.y, p.sample_weight)) / p.n
    if gap > max(state.target, SMALLEST_TARGET * p.primal_at_zero):
        return float(p.matrix.nnz)
    point = _inner_point(state)
    centre = point + ((1 - state.eta) / (1 + state.eta)) * (point - state.previous)
    share = state.pull / (p.lam + state.pull)
    _move(p.examples.rows, share / (p.lam * p.n) * (centre - state.centre), state.w)
    state.previous, state.centre = point, centre
    state.target *= 1 - state.eta / 2
    return 2.0 * p.matrix.nnz


@kernel
def _move(examples, change, w):  # type: ignore[no-untyped-def]
    """w += Σ_j change_j x_j, without touching more of w than the examples do."""
    for j in range(change.size):
        row_add(examples, j, change[j], w)
