"""Truncated Newton for the softmax loss: many features or classes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..._numba.clock import look_at_clock
from ..._types import FloatArray
from ...complexity import Complexity
from ...data.columns import squared_times, transposed_times
from ...problem.multinomial import SMOOTHNESS, Multinomial
from ...problem.softmax_sums import curve, mean_curvature, spread
from ...samplings import Draws, Sampling
from .second_order import cholesky_solver
from .softmax_newton import NewtonState, SoftmaxNewton, product, step_along

# Conjugate-gradient steps in one Newton step, at most.
MOST_STEPS = 250
# The relative residual of a step at first: on scikit-learn's sets and one-hot tables 0.25 and 0.1
# take up to 1.5 times the products.
LOOSEST = 0.5
# The classes' mean curvature is taken from about this many examples.
SAMPLE = 4000
# It counts as at least this fraction of its largest eigenvalue, per class.
LEAST_CURVATURE = 1e-3
# A diagonal is raised by this fraction of its mean: that of the intercepts may be singular.
TINY_RIDGE = 1e-12


class SoftmaxNewtonCG(SoftmaxNewton):
    """Newton's method whose system is solved by preconditioned conjugate gradients.

    Algorithm
    ---------
    ::

        H δ:   u_j = (⟨x_j, δ_k⟩)_k,   t_j = c_j (p_j ∘ u_j − p_j ⟨p_j, u_j⟩),   Σ_j t_j x_jᵀ + λn δ
        H  ≈   A ⊗ G + λn I,   A = mean of c_j (Diag(p_j) − p_j p_jᵀ),
                               G = Σ_j (h_j/h) x_j x_jᵀ,   h_j = tr c_j (Diag(p_j) − p_j p_jᵀ)

    At W = 0 and for all p_j alike the second line is an equation. With A = U Diag(s) Uᵀ and s the
    geometric mean, the preconditioner is one factorisation of s G + λn I for all classes, between
    U √(s/s_k) and its transpose; G is replaced by its diagonal where a matrix of that size costs
    too much.

    Parameters
    ----------
    tol : float
        The relative gap aimed at.
    price : float
        To make and factor G, in products with the data. It is made again after a step that took
        as many products; if infinite, its diagonal is used.
    """

    name = "newton_cg"

    def __init__(self, tol: float = 0.0, price: float = math.inf) -> None:
        super().__init__(tol)
        self.price = price

    def start(
        self,
        problem: Multinomial,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> NewtonState:
        """The state at ``w``, at W(α), or at zero, with the best intercepts."""
        state = super().start(problem, sampling, w, alpha, rng)
        state.forcing = LOOSEST
        return state

    def advance(self, state: NewtonState, draws: Draws | None = None) -> float:
        """One truncated Newton step; the next one is solved more exactly as the gap falls."""
        p, before = state.problem, self.gap_estimate(state)
        delta, change, slope, products = conjugate_gradients(state, self.price)
        step_along(state, delta, change, slope)
        fall = np.sqrt(self.gap_estimate(state) / before) if before > 0 else 0.0
        state.forcing = max(min(state.forcing, max(fall, state.forcing**2)), 1e-10)
        return 2.0 * (products + 1.0) * p.matrix.nnz

    def complexity(self, problem: Multinomial, sampling: Sampling | None = None) -> Complexity:
        """√κ products with the data, κ = 1 + β max ‖x_j‖²/λ."""
        kappa = 1 + SMOOTHNESS * float(problem.examples.squared_norms.max()) / problem.lam
        classes = len(problem.classes)
        return Complexity(
            float(np.sqrt(kappa)), 2.0 * classes * problem.matrix.nnz, problem.matrix.nnz
        )


def conjugate_gradients(
    state: NewtonState, price: float
) -> tuple[FloatArray, FloatArray, float, int]:
    """The step that solves H δ = −n ∇P up to the forcing, the scores' change, slope, products."""
    p, d = state.problem, state.problem.d
    lam_n = p.lam * p.n
    precondition = preconditioner(state, price)
    residual = -state.gradient
    delta, change = np.zeros_like(residual), np.zeros_like(state.scores)
    applied, image, sums = np.empty_like(residual), np.empty_like(change), np.empty(len(p.classes))
    step = precondition(residual)
    energy = first = float(np.vdot(residual, step))
    slope, products = 0.0, 0
    while products < MOST_STEPS and energy > 0:
        look_at_clock()
        products += 1
        moved = product(p, step)
        curve(moved, state.alpha, p.codes, p.sample_weight, image, sums)
        applied[:d] = transposed_times(p.matrix, image)
        applied[:d] += lam_n * step[:d]
        if p.fit_intercept:
            applied[d] = sums
        curved = float(np.vdot(step, applied))
        if not curved > 0:
            break
        length = energy / curved
        slope -= length * energy  # ⟨n ∇P, δ⟩: residuals are orthogonal to earlier directions
        delta += length * step
        moved *= length
        change += moved
        del moved  # before the next one is made
        applied *= length
        residual -= applied
        ahead = precondition(residual)
        energy, before = float(np.vdot(residual, ahead)), energy
        if energy <= state.forcing**2 * first:
            break
        step *= energy / before
        step += ahead
    state.products = products
    return delta, change, slope, products


def preconditioner(state: NewtonState, price: float) -> Callable[[FloatArray], FloatArray]:
    """About the inverse of the Hessian, applied to a matrix of the shape (width, K)."""
    p, alpha = state.problem, state.alpha
    classes = len(p.classes)
    among = np.empty((classes, classes))
    every = max(p.n // SAMPLE, 1)
    mean_curvature(alpha, p.codes, p.sample_weight, every, among)
    among *= every / p.n
    s, U = np.linalg.eigh(among)
    s = np.maximum(s, max(LEAST_CURVATURE / classes * s[-1], 1e-300))
    s[0] = s[1]  # equal scores of all classes change nothing
    mean = float(np.exp(np.log(s).mean()))
    if state.solve is None or price == math.inf or state.products >= price:
        h = np.empty(p.n)
        spread(alpha, p.codes, p.sample_weight, h)
        h *= mean / max(float(h.mean()), 1e-300)
        state.solve = factored(p, h) if price < math.inf else divided(p, h)
    solve, into, back = state.solve, U * (mean / s), U.T
    return lambda right: np.ascontiguousarray(solve(right @ into) @ back)


def factored(p: Multinomial, h: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Division by Σ_j h_j x_j x_jᵀ + λn I, the intercept's row and column included."""
    d = p.d
    G = p.matrix.gram_of_features(h)
    G[np.diag_indices(d)] += p.lam * p.n
    if p.fit_intercept:
        bordered = np.zeros((d + 1, d + 1))
        bordered[:d, :d] = G
        bordered[d, :d] = transposed_times(p.matrix, h[:, None])[:, 0]
        bordered[d, d] = h.sum() * (1.0 + TINY_RIDGE) + 1e-300
        G = bordered
    return cholesky_solver(G, 0.0)


def divided(p: Multinomial, h: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Division by the diagonal of the same."""
    diagonal = squared_times(p.matrix, h[:, None]) + p.lam * p.n
    if p.fit_intercept:
        diagonal = np.append(diagonal, [[max(h.sum(), 1e-300)]], axis=0)
    return lambda right: right / diagonal
