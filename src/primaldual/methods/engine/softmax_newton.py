"""Newton's method for the softmax loss: few features and classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._types import FloatArray, Side
from ...complexity import Complexity
from ...data.columns import transposed_times
from ...data.matrix import Matrix
from ...problem.multinomial import Multinomial
from ...samplings import Draws, Sampling
from ..base import Method
from .second_order import cholesky_solver


@dataclass
class NewtonState:
    """Where a Newton method stands."""

    problem: Multinomial
    w: FloatArray  # primal iterate, (K, d)
    b: FloatArray  # the best intercepts for it, (K,)
    scores: FloatArray  # its scores with the intercepts, (n, K)
    alpha: FloatArray  # its dual point, (n, K)
    gradient: FloatArray  # n ∇P, (K, d)
    forcing: float = 0.1  # the relative residual at which conjugate gradients stop


class SoftmaxNewton(Method):
    r"""Newton's method on all classes at once, its linear system solved by Cholesky.

    Algorithm
    ---------
    ::

        repeat
            p_j = softmax(z_j),   H_kl = Σ_j c_j p_jk (δ_kl − p_jl) x_j x_jᵀ + λn δ_kl I
            solve  H δ = −n ∇P(W)
            W += s δ,   s from a line search on P(W + s δ);   b = best intercepts

    The gap of W with α_j = c_j (e_{y_j} − p_j) is ‖∇P(W)‖²/(2λ).
    """

    side: ClassVar[Side] = "primal"
    samplings: ClassVar[tuple[str, ...]] = ()
    free_intercept: ClassVar[bool] = True
    name = "newton"

    def start(
        self,
        problem: Multinomial,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> NewtonState:
        """The state at ``w``, at W(α), or at zero."""
        if w is None and alpha is not None:
            w = problem.primal_point(alpha)
        w = np.zeros(problem.shape) if w is None else np.array(w, dtype=np.float64)
        empty = np.empty(0)
        state = NewtonState(problem, w, np.zeros(len(w)), problem.margins(w), empty, empty)
        settle(state)
        return state

    def advance(self, state: NewtonState, draws: Draws | None = None) -> float:
        """One Newton step."""
        p = state.problem
        delta, delta_b, work = self._direction(state)
        change = p.margins(delta) + delta_b
        s = _line_search(state, delta, change)
        state.w = state.w + s * delta
        state.b = state.b + s * delta_b
        state.scores += s * change
        settle(state)
        return work + 2.0 * p.matrix.nnz

    def _direction(self, state: NewtonState) -> tuple[FloatArray, FloatArray, float]:
        """The Newton direction in W and b, and the work, a nonzero visited for all classes."""
        p = state.problem
        hessian = _hessian(p, p.probabilities(state.alpha))
        classes, width = len(p.classes), hessian.shape[0] // len(p.classes)
        right = np.zeros((classes, width))
        right[:, : p.d] = -state.gradient
        if width > p.d:
            right[:, p.d] = state.alpha.sum(axis=0)
        delta = cholesky_solver(hessian, 0.0)(right.ravel()).reshape(classes, width)
        delta_b = delta[:, p.d] if width > p.d else np.zeros(classes)
        pairs = (classes - 1) / 2  # of different classes, per class
        return np.ascontiguousarray(delta[:, : p.d]), delta_b, pairs * p.matrix.nnz * p.d / 2

    def gap_estimate(self, state: NewtonState) -> float:
        """‖∇P‖²/(2λ)."""
        p = state.problem
        return float(np.vdot(state.gradient, state.gradient)) / (2 * p.lam * p.n**2)

    def iterate(self, state: NewtonState) -> tuple[FloatArray, None]:
        """The current W; the certificate makes its own dual point."""
        return state.w, None

    def label(self, state: NewtonState) -> str:
        """The name of the method."""
        return self.name

    def complexity(self, problem: Multinomial, sampling: Sampling | None = None) -> Complexity:
        """One step: Newton's rate does not depend on K."""
        size = float(problem.d * len(problem.classes))
        return Complexity(1.0, problem.n * size * size / 2, problem.matrix.nnz)


def settle(state: NewtonState) -> None:
    """The best intercepts, the dual point and the gradient at the state's scores."""
    p = state.problem
    bare = state.scores - state.b
    state.b = p.best_intercept(bare, state.b)
    state.scores = bare + state.b
    state.alpha = p.dual_point(state.scores)
    state.gradient = p.lam * p.n * (state.w - p.primal_point(state.alpha))


def _line_search(state: NewtonState, delta: FloatArray, change: FloatArray) -> float:
    """s ≤ 1 with enough decrease of P(W + s δ) along the scores' change."""
    p = state.problem
    half = 0.5 * p.lam
    squares = [
        float(np.vdot(a, b)) for a, b in ((state.w, state.w), (state.w, delta), (delta, delta))
    ]
    slope = float(np.vdot(state.gradient, delta)) / p.n
    here = p.loss(state.scores) + half * squares[0]
    s = 1.0
    for _ in range(40):
        ridge = half * (squares[0] + 2 * s * squares[1] + s * s * squares[2])
        if p.loss(state.scores + s * change) + ridge <= here + 1e-4 * s * slope + 1e-15 * abs(here):
            return s
        s *= 0.5
    return s


def _hessian(p: Multinomial, probabilities: FloatArray) -> FloatArray:
    """n ∇²P in (w_1, b_1, …, w_K, b_K), its lower triangle; without b if there is none."""
    hessian = hessian_of_losses(p.matrix, p.sample_weight, probabilities, p.fit_intercept)
    ridge = np.zeros((len(p.classes), p.d + p.fit_intercept))
    ridge[:, : p.d] = p.lam * p.n
    np.einsum("ii->i", hessian)[:] += ridge.ravel()
    return hessian


def hessian_of_losses(
    matrix: Matrix, c: FloatArray, probabilities: FloatArray, fit_intercept: bool
) -> FloatArray:
    """The same without λ.

    Its blocks add up to 0 over the classes: two different classes have
    −Σ_j c_j p_jk p_jm x_j x_jᵀ, and what one class shares with itself is minus the sum of those.
    """
    classes, d = probabilities.shape[1], matrix.shape[1]
    width = d + fit_intercept
    first, second = np.tril_indices(classes, -1)
    h = c[:, None] * np.maximum(probabilities[:, first] * probabilities[:, second], 0)
    shared = np.zeros((len(first), width, width))
    for pair in range(len(first)):
        shared[pair, :d, :d] = matrix.gram_of_features(np.ascontiguousarray(h[:, pair]))
    if fit_intercept:
        shared[:, d, :d] = transposed_times(matrix, h).T
        shared[:, d, d] = h.sum(axis=0)
    shared = np.tril(shared) + np.tril(shared, -1).swapaxes(1, 2)
    out = np.zeros((classes, width, classes, width))
    for k, m, block in zip(first, second, shared, strict=True):
        out[k, :, m] = -block
        out[k, :, k] += block
        out[m, :, m] += block
    if fit_intercept:
        # The loss does not change along equal intercepts: any curvature there will do.
        out[:, d, :, d] += max(np.trace(out[:, d, :, d]), 1e-300) / classes**2
    return out.reshape(classes * width, classes * width)
