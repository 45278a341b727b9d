"""Truncated Newton: for features that are not too alike, and where descent is too slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from .._compile import kernel
from .._types import FloatArray, Side
from ..complexity import Complexity
from ..problem import Problem
from ..rows import row_add, row_dot
from ..samplings import Draws, Sampling
from .base import CHUNK
from .newton import line_search, slopes, starting_point

# Conjugate-gradient steps in one Newton step, at most. Where the first ones are to be short, each
# may take so many times more than the one before.
MOST_STEPS, MORE_STEPS = 1000, 3
# They stop when the gap ‖∇P‖²/(2λ) of the model has this part of its target, or of this part of
# P(0) if the target is smaller.
ENOUGH = 0.5
LEAST_GAP = 1e-20


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    w: FloatArray  # primal iterate
    intercept: float
    z: FloatArray  # its margins
    slopes: tuple[FloatArray, FloatArray]  # c_j φ'_j and c_j φ''_j at them
    gradient: FloatArray  # n ∇P(w), and behind it the intercept's part
    most: int  # conjugate-gradient steps in the next Newton step
    forcing: float = 0.1  # the relative residual at which they stop
    gap: float = np.inf  # ‖∇P(w)‖²/(2λ)


class NewtonCG:
    r"""Newton's method whose linear systems are solved by preconditioned conjugate gradients.

    Algorithm
    ---------
    ::

        repeat
            H = XᵀDiag(c ∘ φ''(z))X + λn I,   M = Diag(H)
            δ ≈ −H⁻¹ n ∇P(w)      by conjugate gradients preconditioned by M, to residual η_k
            w += s δ,   s = 1 or from a line search on P(w + s δ)
            η_{k+1} = min(η_k, max(η_k², fall of the gap)),   gap = ‖∇P(w)‖²/(2λ)

    The diagonal preconditioner makes it indifferent to the units of the features. A product reads
    every example once, and leaves out those on which the loss is flat.

    Rate
    ----
    K = √(1 + βR²/λ) products with the Hessian, R² = max_j ‖x_j‖².

    Cost
    ----
    W = 2‖X‖₀ per product.

    When to use
    -----------
    More examples than features that are not too alike; or data too badly conditioned for
    coordinate descent, as with features in different units.

    References
    ----------
    .. [1] C.-Y. Hsia, W.-L. Chiang, C.-J. Lin. "Preconditioned conjugate gradient methods in
       truncated Newton frameworks for large-scale linear classification", ACML 2018.
    """

    side: ClassVar[Side] = "primal"
    free_intercept: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tol: float = 0.0, most: int = MOST_STEPS) -> None:
        self.tol = tol
        self.most = most  # in the first Newton step

    def start(
        self,
        problem: Problem,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        w, b, z = starting_point(problem, w, alpha)
        first, second = slopes(problem, z)
        gradient = _gradient(problem, w, first)
        state = State(problem, w, b, z, (first, second), gradient, self.most)
        state.gap = _gap(state)
        return state

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One truncated Newton step."""
        p, lam_n = state.problem, state.problem.lam * state.problem.n
        second = state.slopes[1]
        enough = 2 * lam_n * p.n * ENOUGH * max(self.tol, LEAST_GAP) * p.primal_at_zero
        quadratic = getattr(p.loss, "quadratic", False)
        delta, products, reached = _newton_direction(
            p, second, state.gradient, 0.0 if quadratic else state.forcing, enough, state.most
        )
        change = p.matrix.times(delta[:-1]) + delta[-1]
        along = lam_n * float(state.w @ delta[:-1])
        after = np.empty(p.n), np.empty(p.n)
        s = line_search(
            p.loss, state.z, change, p.y, p.sample_weight, float(state.gradient @ delta),
            along, lam_n * float(delta[:-1] @ delta[:-1]), *after,
        )  # fmt: skip
        state.w = state.w + s * delta[:-1]
        state.intercept += s * float(delta[-1])
        state.z = state.z + s * change
        state.slopes, state.gradient = after, _gradient(p, state.w, after[0])
        before, state.gap = state.gap, _gap(state)
        state.most = min(MORE_STEPS * state.most, MOST_STEPS)
        if reached:
            state.forcing = next_forcing(state.forcing, state.gap, before)
        return (2.0 * products + 2.0) * p.matrix.nnz

    def gap_estimate(self, state: State) -> float:
        """‖∇P‖²/(2λ), as computed along the way."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w; what belongs to it is computed afresh, so that rounding does not pile up.

        Only where there is a next step: a check that proves enough is the last.
        """
        p = state.problem
        if state.gap > self.tol * p.primal_at_zero or self.tol == 0.0:
            state.z = p.margins(state.w, state.intercept)
            state.slopes = slopes(p, state.z)
            state.gradient = _gradient(p, state.w, state.slopes[0])
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


def _gradient(p: Problem, w: FloatArray, first: FloatArray) -> FloatArray:
    """n ∇P(w), and the intercept's part of it behind."""
    features = p.matrix.transposed_times(first) + p.lam * p.n * w
    return np.append(features, float(first.sum()) if p.fit_intercept else 0.0)


def _gap(state: State) -> float:
    """‖∇P(w)‖²/(2λ)."""
    slopes, p = state.gradient[:-1], state.problem
    return float(slopes @ slopes) / (2 * p.lam * p.n**2)


def _newton_direction(
    p: Problem, h: FloatArray, gradient: FloatArray, forcing: float, enough: float, most: int
) -> tuple[FloatArray, int, bool]:
    """About −H⁻¹ n ∇P, the number of products with H, and whether that was accurate enough."""
    lam_n = p.lam * p.n
    diagonal = p.matrix.squared_norms("feature", h) + lam_n
    corner = float(h.sum()) if p.fit_intercept else 1.0
    inverse = 1.0 / np.append(diagonal, corner if corner > 0 else 1.0)
    residual = -gradient
    direction = inverse * residual
    delta, product = np.zeros(p.d + 1), np.empty(p.d + 1)
    energies = np.full(2, float(residual @ direction))  # at the start, and now
    products, done = 0, 0
    # A call makes as many as take a moment, so that Ctrl-C is heard between two.
    some = max(1, CHUNK // max(p.matrix.nnz, 1))
    while not done and products < most:
        steps, done = _conjugate_gradients(
            min(some, most - products), p.examples.rows, h, lam_n, p.fit_intercept, inverse,
            forcing, enough, delta, residual, direction, product, energies,
        )  # fmt: skip
        products += steps
    return delta, products, bool(done)


@kernel
def _conjugate_gradients(  # type: ignore[no-untyped-def]
    most, examples, h, lam_n, fit_intercept, inverse, forcing, enough,
    delta, residual, direction, product, energies
):  # fmt: skip
    """Some steps of preconditioned conjugate gradients; their number, and 1 if they are done.

    A product reads every example once: ⟨x_j, v⟩, then its share of the result. Examples on which
    the loss is flat are left out.
    """
    d = product.size - 1
    for step in range(most):
        shift = direction[d] if fit_intercept else 0.0
        curvature, corner = 0.0, 0.0
        for i in range(d):
            product[i] = lam_n * direction[i]
            curvature += product[i] * direction[i]
        for j in range(h.size):
            if h[j] != 0.0:
                moved = row_dot(examples, j, direction) + shift
                weighted = h[j] * moved
                curvature += weighted * moved
                corner += weighted
                row_add(examples, j, weighted, product)
        product[d] = corner if fit_intercept else 0.0
        if not curvature > 0.0:
            return step + 1, 1
        length, energy, square = energies[1] / curvature, 0.0, 0.0
        for i in range(d + 1):
            delta[i] += length * direction[i]
            residual[i] -= length * product[i]
            energy += inverse[i] * residual[i] * residual[i]
            square += residual[i] * residual[i]
        if energy <= forcing * forcing * energies[0] or square <= enough:
            return step + 1, 1
        ratio, energies[1] = energy / energies[1], energy
        for i in range(d + 1):
            direction[i] = inverse[i] * residual[i] + ratio * direction[i]
    return most, 0
