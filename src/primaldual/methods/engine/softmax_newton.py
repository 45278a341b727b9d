"""Newton's method for the softmax loss: few features and classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, IntArray, Side
from ...complexity import Complexity
from ...data.columns import times, transposed_times
from ...problem.base import LinearProblem
from ...problem.multinomial import Multinomial
from ...problem.softmax_sums import move
from ...samplings import Draws, Sampling
from ..base import Method
from .second_order import solve_in_place

# Up to this many unknowns, all steps on dense data may be made in one compiled call.
FEW_UNKNOWNS = 400
# Steps in a call, at most, and multiply-adds after which it ends (some 30 ms).
MOST_STEPS, CALL_WORK = 30, 100_000_000
# Halvings of a step, at most.
MOST_HALVINGS = 40
# A step is taken if P falls by this fraction of what its slope promises, up to rounding.
ENOUGH, ROUNDING = 1e-4, 1e-15


@dataclass
class NewtonState:
    """Where a Newton method stands. The last of the ``width`` rows is that of the intercepts."""

    problem: Multinomial
    w: FloatArray  # Wᵀ, and b where it is free: (width, K)
    scores: FloatArray  # with the intercepts, (n, K)
    alpha: FloatArray  # the dual point, (n, K)
    gradient: FloatArray  # of n P, (width, K)
    sums: FloatArray  # Σ_j α_jk and Σ_j |α_jk|, (2, K)
    loss: float = math.inf  # Σ_j c_j φ_j
    # For conjugate gradients: the relative residual at which they stop, the matrix that
    # preconditions them, and the products of the last step.
    forcing: float = 0.0
    solve: Callable[[FloatArray], FloatArray] | None = None
    products: int = 0


class Data(NamedTuple):
    """What the kernel knows of a problem."""

    X: FloatArray
    codes: IntArray
    c: FloatArray
    lam_n: float
    fit_intercept: bool


class Point(NamedTuple):
    """The state's arrays, for the kernel."""

    w: FloatArray
    scores: FloatArray
    alpha: FloatArray
    gradient: FloatArray
    sums: FloatArray


class SoftmaxNewton(Method):
    r"""Newton's method on all classes at once, its linear system solved by Cholesky.

    Algorithm
    ---------
    ::

        repeat
            p_j = softmax(z_j),   H_kl = Σ_j c_j p_jk (δ_kl − p_jl) x_j x_jᵀ + λn δ_kl I
            solve  H δ = −n ∇P(W, b)
            (W, b) += s δ,   s from a line search on P

    The gap of W with α_j = c_j (e_{y_j} − p_j) is ‖∇P(W)‖²/(2λ) where b is the best one.

    Parameters
    ----------
    tol : float
        The relative gap at which a call that makes all steps ends.
    """

    side: ClassVar[Side] = "primal"
    samplings: ClassVar[tuple[str, ...]] = ()
    free_intercept: ClassVar[bool] = True
    name = "newton"

    def __init__(self, tol: float = 0.0) -> None:
        self.tol = tol

    def start(
        self,
        problem: Multinomial,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> NewtonState:
        """The state at ``w``, at W(α), or at zero, with the best intercepts."""
        p, (classes, d) = problem, problem.shape
        if w is None and alpha is not None:
            w = p.primal_point(alpha)
        at = np.zeros((d + p.fit_intercept, classes))
        scores = np.zeros((p.n, classes))
        if w is not None:
            at[:d] = w.T
            scores[:] = times(p.matrix, at[:d])
        if p.fit_intercept:
            at[d] = p.best_intercept(scores) if w is not None else p.priors()
            scores += at[d]
        state = NewtonState(
            p, at, scores, np.empty_like(scores), np.empty_like(at), np.empty((2, classes))
        )
        _move(state, scores, 0.0)
        _set_gradient(state)
        return state

    def advance(self, state: NewtonState, draws: Draws | None = None) -> float:
        """Newton steps until the gap is at ``tol``, or until the call has been long enough."""
        p = state.problem
        target = self.tol * p.primal_at_zero * 2 * p.lam * p.n**2
        work = work_of_hessian(p)
        most = min(max(int(CALL_WORK / (work * len(p.classes) + 1)), 1), MOST_STEPS)
        values = p.matrix.densified().by_example.values
        data = Data(values, p.codes, p.sample_weight, p.lam * p.n, p.fit_intercept)
        at = Point(state.w, state.scores, state.alpha, state.gradient, state.sums)
        steps, state.loss = _all_steps(most, target, data, state.loss, at)
        return float(steps) * (work + 2.0 * p.matrix.nnz)

    def gap_estimate(self, state: NewtonState) -> float:
        """‖∇P‖²/(2λ), and what the intercepts may add to it."""
        p = state.problem
        square = float(np.vdot(state.gradient[: p.d], state.gradient[: p.d]))
        gap = square / (2 * p.lam * p.n**2)
        if p.fit_intercept:
            # Σ_j |α_jk| is no less than the curvature in b_k, and near the optimum about twice it.
            sums, sizes = state.sums
            gap += float(sums @ (sums / np.maximum(sizes, 1e-300))) / p.n
        return gap

    def iterate(self, state: NewtonState) -> tuple[FloatArray, None]:
        """The current W; the certificate makes its own dual point."""
        p = state.problem
        if p.fit_intercept:
            p.near = state.w[p.d] - state.w[p.d].mean()
        return np.ascontiguousarray(state.w[: p.d].T), None

    def label(self, state: NewtonState) -> str:
        """The name of the method."""
        return self.name

    def complexity(self, problem: Multinomial, sampling: Sampling | None = None) -> Complexity:
        """One step: Newton's rate does not depend on K."""
        size = float(problem.d * len(problem.classes))
        return Complexity(1.0, problem.n * size * size / 2, problem.matrix.nnz)


def is_one_call(problem: LinearProblem) -> bool:
    """Whether the data is dense and the unknowns are few."""
    classes, d = problem.shapes[0]
    return classes * (d + 1) <= FEW_UNKNOWNS and not problem.matrix.is_sparse


def work_of_hessian(p: Multinomial) -> float:
    """Multiply-adds of a Hessian, per class."""
    pairs = (len(p.classes) - 1) / 2  # of different classes, per class
    return pairs * p.n * (p.d + 1) * (p.d + 2) / 2


def product(p: Multinomial, delta: FloatArray) -> FloatArray:
    """The scores' change along a direction."""
    change = times(p.matrix, delta[: p.d])
    if p.fit_intercept:
        change += delta[p.d]
    return change


def _move(state: NewtonState, change: FloatArray, s: float) -> None:
    """Move the scores by ``s`` times a change; loss and dual point there."""
    p = state.problem
    state.loss = float(
        move(state.scores, change, s, p.codes, p.sample_weight, state.alpha, state.sums)
    )


def _set_gradient(state: NewtonState) -> None:
    p = state.problem
    np.multiply(state.w[: p.d], p.lam * p.n, out=state.gradient[: p.d])
    state.gradient[: p.d] -= transposed_times(p.matrix, state.alpha)
    if p.fit_intercept:
        state.gradient[p.d] = -state.sums[0]


def step_along(state: NewtonState, delta: FloatArray, change: FloatArray, slope: float) -> None:
    """Move by s δ, s ≤ 1 with enough decrease of P along the scores' change."""
    p = state.problem
    half, d = 0.5 * p.lam * p.n, p.d
    along = 2.0 * half * float(np.vdot(state.w[:d], delta[:d]))
    square = half * float(np.vdot(delta[:d], delta[:d]))
    here = state.loss
    slack = ROUNDING * (abs(here) + half * float(np.vdot(state.w[:d], state.w[:d])))
    s, moved = 1.0, 0.0
    for _ in range(MOST_HALVINGS):
        _move(state, change, s - moved)
        moved = s
        if state.loss + s * along + s * s * square <= here + ENOUGH * s * slope + slack:
            break
        s *= 0.5
    state.w += moved * delta
    _set_gradient(state)


# --------------------------------------------------------------------------------------------
# A small problem, in one call


@kernel
def _all_steps(most, target, data, loss, at):  # type: ignore[no-untyped-def]
    """Newton steps until ‖gradient‖² is at the target, at least one; their number and the loss."""
    width, classes = at.w.shape
    H, delta = np.empty((width * classes, width * classes)), np.empty(width * classes)
    diagonal, change = np.empty(width * classes), np.empty(at.scores.shape)
    steps = 0
    while steps < most:
        _fill(data, at.alpha, H)
        for k in range(classes):
            for i in range(width):
                delta[k * width + i] = -at.gradient[i, k]
        for i in range(delta.size):
            diagonal[i] = H[i, i]
        if not solve_in_place(H, delta):
            # Not positive definite by rounding: down the gradient, in units of the curvature.
            for k in range(classes):
                for i in range(width):
                    here = k * width + i
                    delta[here] = -at.gradient[i, k] / (delta.size * diagonal[here])
        steps += 1
        loss, fell = _line(data, loss, delta, at, change)
        square = _gradient(data, at)
        if square <= target or not fell:
            break
    return steps, loss


@kernel
def _fill(data, alpha, H):  # type: ignore[no-untyped-def]
    """The lower triangle of the Hessian in (w_1, b_1, …, w_K, b_K); without b if there is none.

    Its blocks add up to 0 over the classes, but for λ: two different classes have
    −Σ_j c_j q_jk q_jm x_j x_jᵀ, and what one class shares with itself is minus the sum of those.
    """
    (n, d), classes = data.X.shape, alpha.shape[1]
    width = H.shape[0] // classes
    H[:] = 0.0
    x, h = np.ones(width), np.empty(classes)
    for j in range(n):
        weight = data.c[j]
        if weight == 0.0:
            continue
        for i in range(d):
            x[i] = data.X[j, i]
        for k in range(classes):
            h[k] = -alpha[j, k]
        h[data.codes[j]] += weight
        for k in range(1, classes):
            for m in range(k):
                share = h[k] * h[m] / weight
                for i in range(width):
                    line, along = H[k * width + i, m * width : m * width + i + 1], share * x[i]
                    for t in range(i + 1):
                        line[t] -= along * x[t]
    _share(data, H, width, classes)


@kernel
def _share(data, H, width, classes):  # type: ignore[no-untyped-def]
    """What each class shares with itself, λ, and the upper halves of the other blocks."""
    for k in range(1, classes):
        for m in range(k):
            for i in range(width):
                for t in range(i + 1):
                    shared = H[k * width + i, m * width + t]
                    H[k * width + i, k * width + t] -= shared
                    H[m * width + i, m * width + t] -= shared
                    H[k * width + t, m * width + i] = shared
    d, trace = data.X.shape[1], 1e-300
    for k in range(classes):
        for i in range(d):
            H[k * width + i, k * width + i] += data.lam_n
        trace += H[k * width + width - 1, k * width + width - 1]
    if data.fit_intercept:  # the loss does not change along equal intercepts
        for k in range(classes):
            for m in range(k + 1):
                H[k * width + d, m * width + d] += trace / classes**2


@kernel
def _line(data, loss, delta, at, change):  # type: ignore[no-untyped-def]
    """Move along delta by a step that lowers P enough; the loss there, and whether one did."""
    d, (width, classes), lam_n = data.X.shape[1], at.w.shape, data.lam_n
    slope, along, square, here = 0.0, 0.0, 0.0, 0.0
    for k in range(classes):
        for i in range(width):
            each = delta[k * width + i]
            slope += at.gradient[i, k] * each
            if i < d:
                along += lam_n * at.w[i, k] * each
                square += 0.5 * lam_n * each * each
                here += 0.5 * lam_n * at.w[i, k] ** 2
    for j in range(data.X.shape[0]):
        for k in range(classes):
            total = delta[k * width + d] if width > d else 0.0
            for i in range(d):
                total += data.X[j, i] * delta[k * width + i]
            change[j, k] = total
    s, moved, value, fell = 1.0, 0.0, loss, False
    for _ in range(MOST_HALVINGS):
        value = move(at.scores, change, s - moved, data.codes, data.c, at.alpha, at.sums)
        moved = s
        bound = loss + ENOUGH * s * slope + ROUNDING * (abs(loss) + here)
        if value + s * along + s * s * square <= bound:
            fell = True
            break
        s *= 0.5
    for k in range(classes):
        for i in range(width):
            at.w[i, k] += moved * delta[k * width + i]
    return value, fell


@kernel
def _gradient(data, at):  # type: ignore[no-untyped-def]
    """The gradient of n P; its square, the intercepts' part in the units of the weights."""
    d, classes, square = data.X.shape[1], at.w.shape[1], 0.0
    for i in range(d):
        for k in range(classes):
            at.gradient[i, k] = data.lam_n * at.w[i, k]
    for j in range(data.X.shape[0]):
        for i in range(d):
            for k in range(classes):
                at.gradient[i, k] -= data.X[j, i] * at.alpha[j, k]
    for i in range(d):
        for k in range(classes):
            square += at.gradient[i, k] ** 2
    if data.fit_intercept:
        for k in range(classes):
            at.gradient[d, k] = -at.sums[0, k]
            square += 2.0 * data.lam_n * at.sums[0, k] ** 2 / max(at.sums[1, k], 1e-300)
    return square
