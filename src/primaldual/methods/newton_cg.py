"""Truncated Newton: the rescue when coordinate descent contracts too slowly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from .._types import FloatArray, Side
from ..complexity import Complexity
from ..problem import Problem
from ..rows import Matrix
from ..samplings import Draws, Sampling
from .newton import line_search, linearised_dual, near_gaps, slopes, starting_point

# Conjugate-gradient steps in one Newton step, at most.
MOST_STEPS = 1000
# On a quadratic loss they stop when the gap ‖∇P‖²/(2λ) has this part of its target, or of this
# part of P(0) if the target is smaller.
ENOUGH = 0.5
LEAST_GAP = 1e-20
# Where the loss is curved on no more than this part of the examples, products leave out the rest.
MOST_CURVED = 0.6


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    w: FloatArray  # primal iterate
    intercept: float
    z: FloatArray  # its margins
    alpha: FloatArray | None = None  # the dual point of the last step
    forcing: float = 0.1  # the relative residual at which conjugate gradients stop
    gap: float = np.inf  # of the last step's pair, without a certificate


class NewtonCG:
    r"""Newton's method whose linear systems are solved by preconditioned conjugate gradients.

    Algorithm
    ---------
    ::

        repeat
            H = XᵀDiag(c ∘ φ''(z))X + λn I,   M = Diag(H)
            δ ≈ −H⁻¹ n ∇P(w)      by conjugate gradients preconditioned by M, to residual η_k
            w += s δ,   s = 1 or from a line search on P(w + s δ)
            η_{k+1} = min(η_k, max(η_k², squared fall of the gradient))

    The diagonal preconditioner makes it indifferent to the units of the features. Near the end η
    falls like the gradient's norm squared, so that the linearised dual point closes the gap.

    Rate
    ----
    K = √(1 + βR²/λ) products with the Hessian, R² = max_j ‖x_j‖².

    Cost
    ----
    W = 2‖X‖₀ per product.

    When to use
    -----------
    Large data that is too badly conditioned for coordinate descent, as with features in different
    units.

    References
    ----------
    .. [1] C.-Y. Hsia, W.-L. Chiang, C.-J. Lin. "Preconditioned conjugate gradient methods in
       truncated Newton frameworks for large-scale linear classification", ACML 2018.
    """

    side: ClassVar[Side] = "primal"
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
        return State(problem, *starting_point(problem, w, alpha))

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One truncated Newton step."""
        p, lam_n = state.problem, state.problem.lam * state.problem.n
        first, second = slopes(p, state.z)
        gradient = p.matrix.transposed_times(first) + lam_n * state.w
        slope_b = float(first.sum()) if p.fit_intercept else 0.0
        enough = np.inf
        if getattr(p.loss, "quadratic", False):
            # The model is the function itself: go on until the gradient is small enough.
            enough = 2 * lam_n * p.n * ENOUGH * max(self.tol, LEAST_GAP) * p.primal_at_zero
        delta, delta_b, change, visits = _conjugate_gradients(
            p, second, gradient, slope_b, state.forcing, enough
        )
        slope = float(gradient @ delta) + slope_b * delta_b
        after = np.empty(p.n), np.empty(p.n)
        s = line_search(
            p.loss, state.z, change, p.y, p.sample_weight, slope,
            lam_n * float(state.w @ delta), lam_n * float(delta @ delta), *after,
        )  # fmt: skip
        state.w = state.w + s * delta
        state.intercept += s * delta_b
        state.z = state.z + s * change
        state.alpha = np.empty(p.n)
        linearised_dual(p.loss, p.y, p.sample_weight, first, second, change, state.alpha)
        gaps = near_gaps(p.loss, state.z, state.alpha, p.y, p.sample_weight, *after)
        state.forcing = next_forcing(state.forcing, gaps / p.n, state.gap)
        state.gap = gaps / p.n
        return visits + 2.0 * p.matrix.nnz

    def gap_estimate(self, state: State) -> float:
        """The gap of the last step's pair, as computed along the way."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w; its margins are recomputed so that rounding does not pile up."""
        state.z = state.problem.margins(state.w, state.intercept)
        return state.w, None

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """√κ products with the data, κ = 1 + β max ‖x_j‖²/λ bounding the condition number."""
        largest = float(problem.examples.squared_norms.max())
        kappa = 1 + problem.beta * largest / problem.lam
        return Complexity(float(np.sqrt(kappa)), 2 * problem.matrix.nnz, problem.matrix.nnz)


def next_forcing(forcing: float, gap: float, before: float) -> float:
    """The relative residual for the next step: it falls with the gap, but not too fast."""
    fall = gap / before if 0 < before < np.inf else 1.0
    return max(min(forcing, max(fall, forcing**2)), 1e-12)


def _conjugate_gradients(
    p: Problem,
    second: FloatArray,
    gradient: FloatArray,
    slope_b: float,
    forcing: float,
    enough: float,
) -> tuple[FloatArray, float, FloatArray, float]:
    """δ, its intercept part, X δ + δ_b, and the nonzeros visited."""
    lam_n = p.lam * p.n
    matrix, h = curved_part(p.matrix, second)
    diagonal = matrix.squared_norms("feature", h) + lam_n
    corner = float(h.sum()) if p.fit_intercept else 1.0
    precondition = 1.0 / np.append(diagonal, corner if corner > 0 else 1.0)
    residual = -np.append(gradient, slope_b)
    delta = np.zeros(p.d + 1)
    change = np.zeros(len(h))
    direction = precondition * residual
    energy = first_energy = float(residual @ direction)
    products = 0
    while products < MOST_STEPS:
        products += 1
        moved = matrix.times(direction[:-1])
        if p.fit_intercept:
            moved += direction[-1]
        weighted = h * moved
        product = np.append(matrix.transposed_times(weighted) + lam_n * direction[:-1], 0.0)
        if p.fit_intercept:
            product[-1] = weighted.sum()
        curvature = float(direction @ product)
        if not curvature > 0:
            break
        length = energy / curvature
        delta += length * direction
        change += length * moved
        residual -= length * product
        following = precondition * residual
        energy, before = float(residual @ following), energy
        small = energy <= forcing**2 * first_energy
        if small if enough == np.inf else float(residual @ residual) <= enough:
            break
        direction = following + (energy / before) * direction
    visits = 2.0 * products * matrix.nnz
    if matrix is not p.matrix:
        change = p.matrix.times(delta[:-1]) + delta[-1]
        visits += p.matrix.nnz
    return delta[:-1], float(delta[-1]), change, visits


def curved_part(matrix: Matrix, second: FloatArray) -> tuple[Matrix, FloatArray]:
    """The examples on which the loss is curved, where they are few, and their curvatures.

    The others do not enter the Hessian: a hinge is flat on most examples.
    """
    curved = np.flatnonzero(second)
    if len(curved) > MOST_CURVED * len(second):
        return matrix, second
    return matrix.take(curved), second[curved]
