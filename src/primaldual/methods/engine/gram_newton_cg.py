"""Truncated Newton in the space of the examples: the rescue where examples are the fewer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.clock import look_at_clock
from ..._types import FloatArray, Side
from ...complexity import Complexity
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_alpha
from .gram_newton import FLAT, move, not_too_far
from .second_order import (
    ENOUGH,
    LEAST_GAP,
    MOST_STEPS,
    SHORT,
    next_forcing,
    slopes,
    temper,
    truncated_complexity,
)

Operator = Callable[[FloatArray], FloatArray]


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    a: FloatArray  # the primal iterate as w = w(a)
    intercept: float
    z: FloatArray  # its margins
    alpha: FloatArray  # the dual point of the last step
    forcing: float = 0.1  # the relative residual at which the inner iteration stops
    gap: float = np.inf  # of the last step's pair, without a certificate


class GramNewtonCG(Method):
    r"""Newton's method on the Gram matrix, which is never built: the twin of ``NewtonCG``.

    Algorithm
    ---------
    ::

        K = X Xᵀ/(λn)
        repeat
            z = K a + b,   h_j = c_j φ''_j(z_j)
            γ ≈ (I + √h K √h)⁻¹ √h (z − c φ'/h − b⁺),   α = √h γ,   with b⁺ from Σ_j α_j = 0,
                  by conjugate residuals preconditioned by √Diag(1 + h_j K_jj), to residual η_k
            a += s (α − a),   s = 1 or from a line search on P
            η_{k+1} = min(η_k, max(η_k², fall of the gap))

    Half the squared residual of that system is n times the duality gap, up to the error of the
    quadratic model: the inner iteration reduces the very thing that is to be certified. Its
    preconditioner makes it less sensitive to the length of the examples: the root, since all of
    the diagonal would give the shortest as much weight as the longest.

    Rate
    ----
    K = √(1 + βR²/λ) products with the Hessian, R² = max_j ‖x_j‖².

    Cost
    ----
    W = 2‖X‖₀ per product.

    When to use
    -----------
    Large data with more features than examples that is too badly conditioned for coordinate
    descent, as with word counts of texts of all lengths.

    References
    ----------
    .. [1] O. Chapelle. "Training a support vector machine in the primal", Neural Computation 2007.
    .. [2] Y. Saad. "Iterative methods for sparse linear systems", SIAM 2003, section 6.8.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = True
    needs_beta: ClassVar[bool] = False
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
        """The state at ``alpha``, at the dual point of ``w``, or at zero, not too far out."""
        alpha = first_alpha(problem, w, alpha)
        z = problem.matrix.times(problem.primal_point(alpha))
        return State(problem, *not_too_far(problem, alpha, z))

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One truncated Newton step."""
        p = state.problem
        first, second = slopes(p, state.z)
        quadratic = p.loss.quadratic
        enough = 2 * p.n * ENOUGH * max(self.tol, LEAST_GAP) * p.primal_at_zero
        direction, b, products = _newton_direction(
            state, first, second, 0.0 if quadratic else state.forcing, enough
        )
        moved = p.matrix.times(p.primal_point(direction))
        before = state.gap
        if move(state, first, state.a + direction, b, direction, moved) >= SHORT:
            state.forcing = next_forcing(state.forcing, state.gap, before)
        else:
            state.forcing *= SHORT  # too rough to lead downhill
        return (2 * products + 2.0) * p.matrix.nnz

    def gap_estimate(self, state: State) -> float:
        """The gap of the last step's pair, as computed along the way."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and the dual point of the last step; the margins are made afresh."""
        w = state.problem.primal_point(state.a)
        state.z = state.problem.margins(w, state.intercept)
        # Moved into its domain, α may have left the plane Σ_j α_j = 0 of a free intercept.
        return w, state.alpha if state.problem.balanced(state.alpha) else None

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """√κ products with the data."""
        return truncated_complexity(problem)


def _newton_direction(
    state: State, first: FloatArray, second: FloatArray, forcing: float, enough: float
) -> tuple[FloatArray, float, int]:
    """δ = α − a of the Newton step, its intercept b⁺, and the number of products with K.

    Examples without curvature (B) have α_j = −c_j φ'_j. For the others, δ_j = √h_j γ_j with
    (I + √h K √h) γ = −(c φ' + a)/√h − √h (K δ_B + b⁺ − b).
    """
    p = state.problem
    curved = second > FLAT * second.max(initial=0.0)
    direction = np.where(curved, 0.0, -first - state.a)
    if not curved.any():
        return direction, state.intercept, 0
    root = np.where(curved, np.sqrt(second), 0.0)
    residual = np.zeros(p.n)
    np.divide(-(first + state.a), root, out=residual, where=curved)
    products = 0
    if direction.any():
        residual -= root * p.matrix.times(p.primal_point(direction))
        products += 1

    def hessian(vector: FloatArray) -> FloatArray:
        return vector + root * p.matrix.times(p.primal_point(root * vector))

    diagonal = 1.0 + root**2 * p.examples.squared_norms / (p.lam * p.n)
    temper(diagonal)
    inverse = 1.0 / diagonal
    if not p.fit_intercept:
        gamma, steps, _ = _conjugate_residuals(
            hessian, lambda r: inverse * r, lambda r: r, residual, forcing, enough
        )
        return direction + root * gamma, 0.0, products + steps
    # b⁺ is the multiplier of Σ_j α_j = 0: the iteration is kept to that plane.
    normal = inverse * root
    squares = float(root @ normal)
    gamma = -(float(state.a.sum() + direction.sum()) / squares) * normal
    if gamma.any():
        residual -= hessian(gamma)
        products += 1

    def into_plane(r: FloatArray) -> FloatArray:
        return r - (float(normal @ r) / squares) * root

    more, steps, residual = _conjugate_residuals(
        hessian, lambda r: inverse * into_plane(r), into_plane, residual, forcing, enough
    )
    b = state.intercept + float(normal @ residual) / squares
    return direction + root * (gamma + more), b, products + steps


def _conjugate_residuals(
    matrix: Operator,
    precondition: Operator,
    relevant: Operator,
    residual: FloatArray,
    forcing: float,
    enough: float,
) -> tuple[FloatArray, int, FloatArray]:
    """The solution of matrix(x) = residual, the number of products, and the residual left.

    It stops when the ``relevant`` part of the residual has shrunk to ``forcing``, or when its
    square is ``enough``.
    """
    solution = np.zeros(len(residual))
    residual = residual.copy()
    seen = relevant(residual)
    small = max(forcing**2 * float(seen @ seen), enough)
    u = precondition(residual)
    direction, image = u.copy(), matrix(u)
    image_of_u, products = image.copy(), 1
    energy = float(u @ image)
    while products < MOST_STEPS and energy > 0:
        look_at_clock()
        scaled = precondition(image)
        size = float(image @ scaled)
        if not size > 0:
            break
        length = energy / size
        solution += length * direction
        residual -= length * image
        u -= length * scaled
        seen = relevant(residual)
        if float(seen @ seen) <= small:
            break
        image_of_u = matrix(u)
        products += 1
        energy, before = float(u @ image_of_u), energy
        direction *= energy / before
        direction += u
        image *= energy / before
        image += image_of_u
    return solution, products, residual
