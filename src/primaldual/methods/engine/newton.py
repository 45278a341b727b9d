"""Newton's method for few features: the Hessian is built, factored and used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, IntArray, Layout, Side
from ...complexity import Complexity
from ...data.gram import HESSIAN_BLOCK, add_to_hessian, dense_hessian, put_by_feature
from ...data.rows import row_add, row_dot
from ...losses import loss_loop_slopes
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method
from .second_order import (
    BLAS,
    SHORT,
    cholesky_solver,
    gap_after,
    hessian_work,
    is_small,
    line_search,
    linearised_dual,
    near_gaps,
    newton_direction,
    set_slopes,
    slopes,
    solve_in_place,
    starting_point,
)

# A first solve on a random sample of the examples costs little and lands near the optimum:
# samples start at this many examples per feature and grow by this factor.
SAMPLE_PER_FEATURE = 16
SAMPLE_GROWTH = 8
# On a sample of m examples, accuracy beyond the sample's own error d/m is wasted: stop when a step
# promises less than this part of it.
SAMPLE_ACCURACY = 0.3
SAMPLE_STEPS = 12

# With so many examples its first steps are made on a sample too.
SMALL_EXAMPLES = 10_000
SMALL_STEPS = 30
SMALL_ACCURACY = 1e-11


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    samples: list[IntArray]  # samples still to be solved before all examples are used
    w: FloatArray  # primal iterate
    intercept: float
    z: FloatArray  # its margins; empty if they are not known
    slopes: tuple[FloatArray, FloatArray] | None = None  # c_j φ'_j and c_j φ''_j at them, if known
    alpha: FloatArray | None = None  # the dual point of the last step, w = w(α) if it was full
    gap: float = np.inf  # of the last step's pair, without a certificate
    decrement: float = np.inf  # twice the decrease of P that the last quadratic model promised
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
    samplings: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tol: float = 0.0) -> None:
        self.tol = tol

    def start(
        self,
        problem: Problem,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        w, intercept, z = starting_point(problem, w, alpha)
        samples: list[IntArray] = []
        if starts_on_samples(problem) and not w.any():
            samples = _samples(problem, np.random.default_rng(0) if rng is None else rng)
        return State(problem, samples, w, intercept, z)

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One Newton step; the first time, after the steps on samples that pay."""
        work, small = 0.0, is_small(state.problem)
        for sample in state.samples:
            problem = state.problem.take(sample)
            part = State(problem, [], *starting_point(problem, state.w))
            enough = SAMPLE_ACCURACY * problem.d / problem.n
            if small:
                work += _small_steps(part, enough) * _step_work(problem)
            for _ in range(0 if small else SAMPLE_STEPS):
                work += _step(part)
                if part.decrement <= enough:
                    break
            state.w = part.w
        if state.samples:
            state.samples = []
            state.w, state.intercept, state.z = starting_point(state.problem, state.w)
        steps = _small_steps(state, self.tol) if small else 0
        return work + (steps * _step_work(state.problem) if steps else _step(state))

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
    """Whether there are so many examples that the first steps are made on a part of them.

    Not where the first step on all of them is the last.
    """
    if problem.loss.quadratic:
        return False
    if is_small(problem) and problem.n < SMALL_EXAMPLES:
        return False
    return _first_size(problem) * SAMPLE_GROWTH <= 2 * problem.n


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
    return SAMPLE_PER_FEATURE * max(problem.d, 8)


def _step(state: State) -> float:
    """One Newton step; return the multiply-adds it took."""
    p, lam_n = state.problem, state.problem.lam * state.problem.n
    first, second = slopes(p, state.z) if state.slopes is None else state.slopes
    if state.cautious or not second.any():
        second = p.beta * p.sample_weight
    gradient = p.matrix.transposed_times(first) + lam_n * state.w
    solve = cholesky_solver(p.matrix.gram_of_features(second), lam_n)
    delta, delta_b = newton_direction(p, solve, gradient, first, second)
    change = p.matrix.times(delta)
    change += delta_b
    slope = float(gradient @ delta) + float(first.sum()) * delta_b
    after = np.empty(p.n), np.empty(p.n)
    s = line_search(
        p.loss, state.z, change, p.y, p.sample_weight, slope,
        lam_n * float(state.w @ delta), lam_n * float(delta @ delta), *after,
    )  # fmt: skip
    state.decrement = -slope / p.n
    state.cautious = s < SHORT and not state.cautious
    state.w = state.w + s * delta
    state.intercept += s * delta_b
    state.z = state.z + s * change
    state.slopes, state.alpha = after, np.empty(p.n)
    consistent = linearised_dual(p.loss, p.y, p.sample_weight, first, second, change, state.alpha)
    gaps = near_gaps(p.loss, state.z, state.alpha, p.y, p.sample_weight, *after)
    state.gap = gap_after(s, gaps / p.n if consistent else np.inf, state.gap)
    return _step_work(p)


def _step_work(problem: Problem) -> float:
    """The work of a step, in visits of a nonzero."""
    work = hessian_work(problem)
    return 3.0 * problem.matrix.nnz + (work if problem.matrix.is_sparse else work / BLAS)


def _small_steps(state: State, tol: float) -> int:
    """All steps of a small problem in one call; how many there were, none if it failed."""
    p = state.problem
    quadratic = p.loss.quadratic
    w, b, alpha, gap = state.w.copy(), np.array([state.intercept]), None, 0.0
    if quadratic and not p.matrix.is_stored("feature"):
        steps = _one_step(
            p.matrix.by_example, p.loss, p.y, p.sample_weight, p.lam * p.n, p.fit_intercept, w, b
        )
        state.z = np.empty(0)
    else:
        if not len(state.z):
            state.z = p.margins(state.w, state.intercept)
        alpha = np.empty(p.n)
        enough = max(tol, SMALL_ACCURACY) * p.primal_at_zero * p.n
        steps, gap = _small_newton(
            p.matrix.by_feature, p.loss, p.y, p.sample_weight, p.lam * p.n, p.fit_intercept, enough,
            quadratic, w, b, state.z, alpha,
        )  # fmt: skip
    if steps:
        state.w, state.intercept, state.alpha = w, float(b[0]), alpha
        state.gap, state.samples = gap / p.n, []
    else:  # back to where it began
        state.z = p.margins(state.w, state.intercept)
    return int(steps)


@kernel
def _one_step(examples, loss, y, c, lam_n, fit_intercept, w, b):  # type: ignore[no-untyped-def]
    """The only step on a loss that is its own model; 1, or 0 if the Hessian is not definite.

    Block by block of the examples: where they are many, a vector of their length or a copy of them
    by feature would take longer than the step.
    """
    n, d = y.size, w.size
    unknowns = d + 1 if fit_intercept else d
    H, g = np.zeros((unknowns, unknowns)), np.zeros(unknowns)
    block, weighted = np.empty((d, HESSIAN_BLOCK)), np.empty(HESSIAN_BLOCK)
    first, second = np.empty(HESSIAN_BLOCK), np.empty(HESSIAN_BLOCK)
    moved = False
    for i in range(d):
        moved |= w[i] != 0.0
    for start in range(0, n, HESSIAN_BLOCK):
        size = min(HESSIAN_BLOCK, n - start)
        put_by_feature(examples, start, start + size, block)
        for k in range(size):
            j, z = start + k, b[0]
            if moved:
                z += row_dot(examples, j, w)
            one, two = loss_loop_slopes(loss, z, y[j])
            first[k], second[k] = c[j] * one, c[j] * two
        add_to_hessian(block, 0, first[:size], second[:size], weighted, H, g)
        if fit_intercept:
            for k in range(size):
                g[d] += first[k]
                H[d, d] += second[k]
                for i in range(d):
                    H[d, i] += second[k] * block[i, k]
    for i in range(d):
        g[i] += lam_n * w[i]
        H[i, i] += lam_n
    if not solve_in_place(H, g):
        return 0
    for i in range(d):
        w[i] -= g[i]
    if fit_intercept:
        b[0] -= g[d]
    return 1


@kernel
def _small_newton(  # type: ignore[no-untyped-def]
    features, loss, y, c, lam_n, fit_intercept, enough, quadratic, w, b, z, alpha
):
    """Newton's method as in ``_step``, compiled as a whole: for small problems calls cost most.

    It stops when the gap is small enough or no longer falls, and gives up (0 steps) where the
    Hessian is not positive definite or a step has to be shortened much.
    """
    n, d = z.size, w.size
    size = d + 1 if fit_intercept else d
    H, g = np.empty((size, size)), np.empty(size)
    first, second, change = np.empty(n), np.empty(n), np.empty(n)
    set_slopes(loss, z, y, c, first, second)
    later = 0 if quadratic else n  # new memory costs more than the work on it
    after_first, after_second, before = np.empty(later), np.empty(later), np.inf
    for step in range(1, SMALL_STEPS + 1):
        _small_system(features, lam_n, fit_intercept, first, second, w, H, g)
        if not solve_in_place(H, g):
            return 0, np.inf
        change[:] = -g[d] if fit_intercept else 0.0  # g now holds −δ
        along, square = 0.0, 0.0
        for i in range(d):
            row_add(features, i, -g[i], change)
            along -= lam_n * w[i] * g[i]
            square += lam_n * g[i] * g[i]
        if quadratic:  # the model is the function: the first step is the last
            for i in range(d):
                w[i] -= g[i]
            if fit_intercept:
                b[0] -= g[d]
            for j in range(n):
                z[j] += change[j]
                alpha[j] = -(first[j] + second[j] * change[j])
            return step, 0.0
        at_zero = along
        for j in range(n):
            at_zero += first[j] * change[j]
        s = line_search(loss, z, change, y, c, at_zero, along, square, after_first, after_second)
        if s < SHORT and not (s == 0.0 and step > 1):
            return 0, np.inf
        for i in range(d):
            w[i] -= s * g[i]
        if fit_intercept:
            b[0] -= s * g[d]
        consistent = linearised_dual(loss, y, c, first, second, change, alpha)
        for j in range(n):
            z[j] += s * change[j]
        first, after_first = after_first, first
        second, after_second = after_second, second
        gap = near_gaps(loss, z, alpha, y, c, first, second) if consistent else np.inf
        if s == 1.0 and (gap <= enough or (gap <= 1e4 * enough and gap >= 0.5 * before)):
            return step, gap
        before = gap if s == 1.0 else np.inf
    return step, before


@kernel
def _small_system(features, lam_n, fit_intercept, first, second, w, H, g):  # type: ignore[no-untyped-def]
    """The lower triangle of the Hessian, and the gradient."""
    n, d = first.size, w.size
    dense_hessian(features, first, second, H, g)
    for i in range(d):
        g[i] += lam_n * w[i]
        H[i, i] += lam_n
    if fit_intercept:
        for i in range(d):
            H[d, i] = row_dot(features, i, second)
        g[d], H[d, d] = 0.0, 0.0
        for j in range(n):
            g[d] += first[j]
            H[d, d] += second[j]
