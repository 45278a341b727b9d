"""For non-smooth losses: Newton's method on smoothed problems that close in on the true one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._types import FloatArray, IntArray, Side
from ...complexity import Complexity
from ...losses.sums import sum_fenchel_gaps
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_alpha
from .long_steps import search_by_parts
from .second_order import (
    BLAS,
    cholesky_solver,
    hessian_work,
    is_small,
    linearised_dual,
    newton_direction,
    slopes,
)
from .small_newton import Found, newton_steps

# γ starts at P(0), the unit of the margins; near the solution at NEAR times P(0) times the root of
# the relative gap, which is where it would be by then. Each smoothed problem has SHRINK times the γ
# of the one before, but never less than LEAST · P(0): α carries rounding errors divided by γ.
NEAR, SHRINK, LEAST = 4.0, 0.5, 1e-3
# A smoothed problem is solved until its gap is this fraction of the true one.
ENOUGH = 0.5
# A call that makes all steps of a small one aims at this fraction of the gap before it, which falls
# meanwhile, and has done enough within this factor of its aim.
ENOUGH_OF_CALL, NEAR_ENOUGH = 0.1, 4.0
# The line search reduces the slope along a step to this fraction: a step that stops before the
# kinks that it meets has to be made again.
ALONG = 0.01


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    gamma: float  # γ of the smoothed problem
    centre: FloatArray  # its α°
    w: FloatArray  # primal iterate
    intercept: float
    z: FloatArray  # its margins
    alpha: FloatArray  # dual iterate, feasible for the true problem as well
    distance: float = 0.0  # (λ/2) ‖w − w(α)‖²
    gap: float = np.inf  # of that pair on the true problem, without a certificate


class SSNAL(Method):
    r"""Semismooth Newton augmented Lagrangian method, for losses that are not smooth.

    Algorithm
    ---------
    ::

        repeat
            φ*_γ(−a) = φ*(−a) + (γ/2) (a − α°_j)²                      smooth, β = 1/γ
            repeat until the gap is half of the true problem's
                z = X w + b,   h_j = 1/γ where φ_γ is curved at z_j, else 0
                solve  (XᵀDiag(h)X + λn I) δ = −n ∇P_γ(w)
                w += s δ,   s by an exact line search
                α_j = −φ'_γ(z_j), linearised if s = 1
            α° = α,   γ = γ/2

    These are proximal steps on the dual, or an augmented Lagrangian of the primal. Since α° moves
    along, γ need not go to 0. Only the examples at a kink have h_j > 0. They soon are about as
    many as there are features, or fewer: the system is solved with the smaller of the two
    matrices. α is in the domain of φ* at all times, so that it proves the true gap. A smooth loss
    needs no smoothing: what is left is Newton's method.

    Rate
    ----
    Linear in the proximal steps, the faster the smaller γ is; finite in the Newton steps between.
    Stated as K = 1, as for Newton's method; some 30 to 100 steps in practice.

    Cost
    ----
    Three products with the data and, with A the examples at a kink, XᵀX or XXᵀ of their rows:
    at most nd²/2 multiply-adds, or Σ_j ‖x_j‖₀²/2 for sparse data.

    When to use
    -----------
    For the hinge and the ε-insensitive loss with up to a few thousand features or examples; for the
    squared hinge on sparse data with n < d where coordinate descent is slow.

    References
    ----------
    .. [1] X. Li, D. Sun, K.-C. Toh. "A highly efficient semismooth Newton augmented Lagrangian
       method for solving Lasso problems", SIAM Journal on Optimization 2018.
    .. [2] Y. Yan, Q. Li. "An efficient augmented Lagrangian method for support vector machine",
       Optimization Methods and Software 2020.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = True
    needs_beta: ClassVar[bool] = False
    smooth_only: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ()
    factors: ClassVar[bool] = True

    def start(
        self,
        problem: Problem,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``alpha``, at a dual point of ``w``, or at zero."""
        given = alpha is not None or w is None
        alpha = problem.rebalanced(first_alpha(problem, w, alpha))
        w = problem.primal_point(alpha) if given or w is None else w.copy()
        z = problem.matrix.times(w)
        b = problem.best_intercept(z)
        z += b
        state = State(problem, 0.0, alpha, w, b, z, alpha)
        state.gap = _gap(problem, state)
        part = min(max(NEAR * math.sqrt(state.gap / _unit(problem)), LEAST), 1.0)
        state.gamma = part * _unit(problem)
        return state

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One Newton step, or all of a small problem; then the next one, if that is solved."""
        p = state.problem
        if p.is_smooth:
            return _step(state, p)
        smoothed = p.smoothed(state.gamma, state.centre)
        work = _all_steps(state, smoothed) if is_small(p) else 0.0
        work = work or _step(state, smoothed)
        if _gap(smoothed, state) <= ENOUGH * state.gap:
            state.centre = state.alpha
            state.gamma = max(SHRINK * state.gamma, LEAST * _unit(p))
        return work

    def gap_estimate(self, state: State) -> float:
        """The gap of the last step's pair, as computed along the way."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and α."""
        return state.w, state.alpha

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """One step, at the cost of one matrix: the rate does not depend on K."""
        return Complexity(1.0, _work(problem, problem.n), problem.matrix.nnz)


def _unit(problem: Problem) -> float:
    """P(0), which has the unit of the margins; 1 if it is zero."""
    return problem.primal_at_zero if problem.primal_at_zero > 0 else 1.0


def _gap(p: Problem, state: State) -> float:
    """The gap of w and α on the true or on a smoothed problem."""
    gaps = sum_fenchel_gaps(p.loss, state.z, state.alpha, p.y, p.sample_weight)
    return float(gaps) / p.n + state.distance


def _all_steps(state: State, smoothed: Problem) -> float:
    """Newton's method on a small smoothed problem by one call; 0.0 where it does not get there."""
    p = state.problem
    w, z, alpha = state.w.copy(), state.z.copy(), np.empty(p.n)
    enough = ENOUGH_OF_CALL * state.gap * p.n
    found = Found(*newton_steps(
        p.matrix.by_feature, smoothed.loss, smoothed.y, p.sample_weight, p.lam * p.n,
        p.fit_intercept, enough, w, state.intercept, z, alpha,
    ))  # fmt: skip
    if not (found.finished and found.gap <= NEAR_ENOUGH * enough):
        return 0.0
    state.w, state.intercept, state.z = w, float(found.b), z
    _set_dual(state, alpha)
    return found.steps * _work(p, p.n)


def _step(state: State, p: Problem) -> float:
    """One Newton step on the smoothed problem; return the work in visits of a nonzero."""
    lam_n = p.lam * p.n
    first, second = slopes(p, state.z)
    curved = np.flatnonzero(second)
    gradient = p.matrix.transposed_times(first) + lam_n * state.w
    solve = _solver(p, curved, second)
    delta, delta_b = newton_direction(p, solve, gradient, first, second)
    change = p.matrix.times(delta)
    change += delta_b
    slope = float(gradient @ delta) + float(first.sum()) * delta_b
    after = np.empty(p.n)
    model = slope, lam_n * float(state.w @ delta), lam_n * float(delta @ delta)
    s = search_by_parts(p, state.z, change, model, (after, np.empty(p.n)), ALONG)
    state.w = state.w + s * delta
    state.intercept += s * delta_b
    state.z = state.z + s * change
    if s == 1.0:
        alpha = np.empty(p.n)
        linearised_dual(p.loss, p.y, p.sample_weight, first, second, change, alpha)
    else:
        alpha = -after
    _set_dual(state, alpha)
    return _work(p, len(curved))


def _set_dual(state: State, alpha: FloatArray) -> None:
    """Keep α, made feasible, and what the pair proves on the true problem."""
    p = state.problem
    state.alpha = p.rebalanced(alpha)
    apart = state.w - p.primal_point(state.alpha)
    state.distance = 0.5 * p.lam * float(apart @ apart)
    state.gap = _gap(p, state)


def _solver(p: Problem, curved: IntArray, second: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Solve (XᵀDiag(h)X + λn I) δ = right, with a matrix for the features or for those examples.

    The second way is Woodbury's identity: with B the rows of X at a kink, times √h,
    λn δ = right − Bᵀ (B Bᵀ + λn I)⁻¹ B right.
    """
    lam_n = p.lam * p.n
    if not len(curved):
        return lambda right: right / lam_n
    if len(curved) >= p.d:
        return cholesky_solver(p.matrix.gram_of_features(second), lam_n)
    rows, root = p.matrix.take(curved), np.sqrt(second[curved])
    gram = rows.gram_of_examples()
    gram *= root
    gram *= root[:, None]
    inside = cholesky_solver(gram, lam_n)

    def solve(right: FloatArray) -> FloatArray:
        return (right - rows.transposed_times(root * inside(root * rows.times(right)))) / lam_n

    return solve


def _work(problem: Problem, curved: int) -> float:
    """The work of a step with that many examples at a kink, in visits of a nonzero."""
    gram = curved / problem.n * min(curved / problem.d, 1.0) * hessian_work(problem)
    return 3.0 * problem.matrix.nnz + (gram if problem.matrix.is_sparse else gram / BLAS)
