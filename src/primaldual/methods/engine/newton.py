"""Newton's method for few features: the Hessian is built, factored and used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._types import FloatArray, IntArray, Layout, Side
from ...complexity import Complexity
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method
from .long_steps import step_by_parts
from .second_order import (
    BLAS,
    SHORT,
    cholesky_solver,
    gap_after,
    hessian_work,
    is_small,
    newton_direction,
    slopes,
    starting_point,
)
from .small_newton import Found, newton_steps, quadratic_step

# A first solve on a random sample of the examples costs little and lands near the optimum. The
# smallest sample has this many examples per feature (of FEWEST_FEATURES at least), each next one
# SAMPLE_GROWTH times more, up to n/4: a step on each of them together costs 0.29 of one on all.
SAMPLE_PER_FEATURE, FEWEST_FEATURES, SAMPLE_GROWTH = 16, 8, 8
# On a sample of m examples accuracy beyond its own error, about d/m, is wasted: stop at a relative
# gap of this fraction of it, or after SAMPLE_STEPS steps.
SAMPLE_ACCURACY, SAMPLE_STEPS = 0.3, 12
# A small problem of fewer examples is solved in less time than a sample takes to be drawn.
SAMPLED_EXAMPLES = 10_000
# A compiled solve ends at this relative gap, if not earlier: rounding is near.
LEAST_GAP = 1e-11


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    w: FloatArray  # primal iterate
    intercept: float
    z: FloatArray  # its margins; empty if they are not known
    compiled: bool  # whether a call makes all steps
    samples: list[IntArray] = field(default_factory=list)  # to be solved first
    slopes: tuple[FloatArray, FloatArray] | None = None  # c_j φ'_j and c_j φ''_j at z, if known
    alpha: FloatArray | None = None  # the dual point of the last step, w = w(α) if it was full
    gap: float = np.inf  # of the last step's pair, without a certificate
    cautious: bool = False  # whether the next model takes β for every φ''


class Newton(Method):
    r"""Newton-Cholesky on the primal, with a dual point for free.

    Algorithm
    ---------
    ::

        repeat
            z = X w + b,   h_j = c_j φ''_j(z_j)
            solve  (XᵀDiag(h)X + λn I) δ = −n ∇P(w)                     by Cholesky
            w += s δ,   s = 1 or from a line search on P(w + s δ)
            α_j = −c_j φ'_j(z_j) − h_j ⟨x_j, δ⟩                        so that w + δ = w(α)

    The linearised dual point makes the duality gap of a full step as small as the error of the
    quadratic model: it converges quadratically, like w. With many examples per feature the first
    steps are made on growing random samples of the examples.

    Rate
    ----
    Quadratic near the optimum, so K = 1: a handful of steps to any accuracy.

    Cost
    ----
    XᵀDiag(h)X: nd²/2 multiply-adds, or Σ_j ‖x_j‖₀²/2 for sparse data.

    When to use
    -----------
    Up to a few thousand features, and whenever λ is small or many digits are wanted.

    References
    ----------
    .. [1] S. Boyd, L. Vandenberghe. "Convex Optimization", Cambridge 2004, section 9.5.
    """

    side: ClassVar[Side] = "primal"
    layout: ClassVar[Layout] = "by_example"
    free_intercept: ClassVar[bool] = True
    needs_beta: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ()
    factors: ClassVar[bool] = True

    def __init__(self, tol: float = 0.0, compiled: bool | None = None) -> None:
        self.tol = tol
        self.compiled = compiled  # whether one call makes all steps; by default if it is small

    def start(
        self,
        problem: Problem,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        compiled = is_small(problem) if self.compiled is None else self.compiled
        state = State(problem, *starting_point(problem, w, alpha), compiled)
        if starts_on_samples(problem) and not state.w.any():
            state.samples = _samples(problem, np.random.default_rng(0) if rng is None else rng)
        return state

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One Newton step, or all of a small problem; the first time, after those on samples."""
        work = 0.0
        for sample in state.samples:
            problem = state.problem.take(sample)
            part = State(problem, *starting_point(problem, state.w), state.compiled)
            enough = SAMPLE_ACCURACY * problem.d / problem.n
            for _ in range(SAMPLE_STEPS):
                work += _advance(part, enough)
                if problem.relative(part.gap) <= enough:
                    break
            state.w = part.w
        if state.samples:
            state.samples = []
            state.w, state.intercept, state.z = starting_point(state.problem, state.w)
        return work + _advance(state, self.tol)

    def gap_estimate(self, state: State) -> float:
        """The gap of the last step's pair, as computed along the way."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and the dual point of the last step."""
        return state.w, state.alpha

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """One step, at the cost of one Hessian: Newton's rate does not depend on K."""
        return Complexity(1.0, _step_work(problem), problem.matrix.nnz)


def starts_on_samples(problem: Problem) -> bool:
    """Whether the first steps are made on samples of the examples, because there are many.

    Not where the first step on all of them is the last.
    """
    if problem.loss.quadratic or _first_size(problem) * SAMPLE_GROWTH > 2 * problem.n:
        return False
    return problem.n >= SAMPLED_EXAMPLES or not is_small(problem)


def _samples(problem: Problem, rng: Generator) -> list[IntArray]:
    """Growing random samples, where there are many more examples than features."""
    sizes = []
    size = _first_size(problem)
    while size * SAMPLE_GROWTH <= 2 * problem.n:
        sizes.append(size)
        size *= SAMPLE_GROWTH
    if not sizes:
        return []
    order = rng.choice(problem.n, size=sizes[-1], replace=False, shuffle=True)
    # One is enough where steps cost little.
    return [np.sort(order[:size]) for size in (sizes[-1:] if is_small(problem) else sizes)]


def _first_size(problem: Problem) -> int:
    """The size of the smallest sample."""
    return SAMPLE_PER_FEATURE * max(problem.d, FEWEST_FEATURES)


def _advance(state: State, tol: float) -> float:
    """All steps of a small problem, or one step; return the work in visits of a nonzero."""
    p, work = state.problem, 0.0
    if state.compiled:
        # On a quadratic loss the first step should be the last: neither margins nor α are kept.
        alone = p.loss.quadratic and state.gap == np.inf
        found = _only_step(state) if alone else _steps(state, tol)
        state.intercept, state.gap, state.slopes = float(found.b), found.gap / p.n, None
        work = found.steps * _step_work(p)
        if found.finished:
            return work
    return work + _step(state)


def _only_step(state: State) -> Found:
    """The step on a quadratic loss."""
    p = state.problem
    state.alpha, state.z, state.w = None, np.empty(0), state.w.copy()
    by_feature = p.matrix.stored_by == "feature"  # not what an earlier solve has built
    found = quadratic_step(
        p.matrix.by_feature if by_feature else p.matrix.by_example, by_feature, p.loss, p.y,
        p.sample_weight, p.lam * p.n, p.fit_intercept, state.w, state.intercept,
    )  # fmt: skip
    return Found(*found)


def _steps(state: State, tol: float) -> Found:
    """All steps, in one call."""
    p = state.problem
    state.alpha, state.z, state.w = np.empty(p.n), _margins(state), state.w.copy()
    found = newton_steps(
        p.matrix.by_feature, p.loss, p.y, p.sample_weight, p.lam * p.n, p.fit_intercept,
        max(tol, LEAST_GAP) * p.primal_at_zero * p.n, state.w, state.intercept, state.z,
        state.alpha,
    )  # fmt: skip
    return Found(*found)


def _margins(state: State) -> FloatArray:
    """z, made afresh where it is not known."""
    return state.z if len(state.z) else state.problem.margins(state.w, state.intercept)


def _step(state: State) -> float:
    """One Newton step by BLAS and LAPACK; return the work in visits of a nonzero."""
    p, lam_n = state.problem, state.problem.lam * state.problem.n
    state.z = _margins(state)
    first, second = slopes(p, state.z) if state.slopes is None else state.slopes
    if p.beta < np.inf and (state.cautious or not second.any()):
        second = p.beta * p.sample_weight
    gradient = p.matrix.transposed_times(first) + lam_n * state.w
    solve = cholesky_solver(p.matrix.gram_of_features(second), lam_n)
    delta, delta_b = newton_direction(p, solve, gradient, first, second)
    change = p.matrix.times(delta)
    change += delta_b
    slope = float(gradient @ delta) + float(first.sum()) * delta_b
    state.alpha = np.empty(p.n)
    model = slope, lam_n * float(state.w @ delta), lam_n * float(delta @ delta)
    s, gaps = step_by_parts(p, state.z, change, first, second, model, state.alpha)
    # Where a loss is flat, φ'' says little: after a short step comes one with β in its place, which
    # cannot overshoot.
    state.cautious = s < SHORT and not state.cautious
    state.w = state.w + s * delta
    state.intercept += s * delta_b
    state.slopes = first, second
    state.gap = gap_after(s, gaps / p.n, state.gap)
    return _step_work(p)


def _step_work(problem: Problem) -> float:
    """The work of a step, in visits of a nonzero."""
    work = hessian_work(problem)
    return 3.0 * problem.matrix.nnz + (work if problem.matrix.is_sparse else work / BLAS)
