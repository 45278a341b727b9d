"""Truncated Newton for the softmax loss: many features or classes."""

from __future__ import annotations

import numpy as np

from ..._numba.clock import look_at_clock
from ..._types import FloatArray
from ...complexity import Complexity
from ...data.columns import squared_times, times, transposed_times
from ...problem.multinomial import SMOOTHNESS, Multinomial
from ...samplings import Draws, Sampling
from .softmax_newton import NewtonState, SoftmaxNewton

# Conjugate-gradient steps in one Newton step, at most.
MOST_STEPS = 250


class SoftmaxNewtonCG(SoftmaxNewton):
    """Newton's method whose system is solved by conjugate gradients with the diagonal of H.

    Algorithm
    ---------
    ::

        H δ:   u_j = (⟨x_j, δ_k⟩)_k,   t_j = c_j (p_j ∘ u_j − p_j ⟨p_j, u_j⟩),   Σ_j t_j x_jᵀ + λn δ
    """

    name = "newton_cg"

    def _direction(self, state: NewtonState) -> tuple[FloatArray, FloatArray, float]:
        p = state.problem
        delta, delta_b, products = conjugate_gradients(
            p, p.probabilities(state.alpha), -state.gradient.T,
            state.alpha.sum(axis=0) * p.fit_intercept, state.forcing,
        )  # fmt: skip
        return np.ascontiguousarray(delta.T), delta_b, 2.0 * products * p.matrix.nnz

    def advance(self, state: NewtonState, draws: Draws | None = None) -> float:
        """One truncated Newton step; the next one is solved more exactly as the gap falls."""
        before = self.gap_estimate(state)
        work = super().advance(state)
        fall = np.sqrt(self.gap_estimate(state) / before) if before > 0 else 0.0
        state.forcing = max(min(state.forcing, max(fall, state.forcing**2)), 1e-10)
        return work

    def complexity(self, problem: Multinomial, sampling: Sampling | None = None) -> Complexity:
        """√κ products with the data, κ = 1 + β max ‖x_j‖²/λ."""
        kappa = 1 + SMOOTHNESS * float(problem.examples.squared_norms.max()) / problem.lam
        classes = len(problem.classes)
        return Complexity(
            float(np.sqrt(kappa)), 2.0 * classes * problem.matrix.nnz, problem.matrix.nnz
        )


def conjugate_gradients(
    p: Multinomial,
    probabilities: FloatArray,
    residual: FloatArray,
    residual_b: FloatArray,
    forcing: float,
) -> tuple[FloatArray, FloatArray, int]:
    """The step in Wᵀ and b that solves H δ = residual up to ``forcing``, and its products."""
    lam_n, c = p.lam * p.n, p.sample_weight[:, None]
    curvature = c * probabilities * (1.0 - probabilities)
    diagonal = squared_times(p.matrix, curvature) + lam_n  # (d, K)
    diagonal_b = np.maximum(curvature.sum(axis=0), 1e-300)
    delta, delta_b = np.zeros_like(diagonal), np.zeros(len(diagonal_b))
    step, step_b = residual / diagonal, residual_b / diagonal_b
    energy = first = float(np.vdot(residual, step) + residual_b @ step_b)
    products = 0
    while products < MOST_STEPS and energy > 0:
        look_at_clock()
        products += 1
        moved = times(p.matrix, step) + step_b
        inner = (probabilities * moved).sum(axis=1, keepdims=True)
        moved = c * probabilities * (moved - inner)
        product = transposed_times(p.matrix, moved) + lam_n * step
        product_b = moved.sum(axis=0) * p.fit_intercept
        curved = float(np.vdot(step, product) + step_b @ product_b)
        if not curved > 0:
            break
        length = energy / curved
        delta += length * step
        delta_b += length * step_b
        residual = residual - length * product
        residual_b = residual_b - length * product_b
        ahead, ahead_b = residual / diagonal, residual_b / diagonal_b
        energy, before = float(np.vdot(residual, ahead) + residual_b @ ahead_b), energy
        if energy <= forcing**2 * first:
            break
        step, step_b = ahead + energy / before * step, ahead_b + energy / before * step_b
    return delta, delta_b, products
