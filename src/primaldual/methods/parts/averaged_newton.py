"""Averaged local Newton directions, and a search in the span of the last moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._types import FloatArray
from ..engine.second_order import temper
from .conjugate_gradients import conjugate_gradients
from .newton import PartsNewton
from .point import Hessian, State, advance_along, measure, move_to, work

# Moves that are searched beside the new direction: simulated on text and census data, 5 save a
# third of the rounds, more save nothing.
MOVES = 5
# Local systems are solved to this relative residual, or for this many steps: they differ from the
# whole by more than that.
LOCAL_FORCING, LOCAL_STEPS = 1e-2, 20
# An intercept's curvature on a part is raised by this fraction of that on all, or its square times
# the largest that there can be: a part may have none.
STIFF = 1e-3
# Directions of the span whose curvature is a smaller fraction of the largest are rounding.
LEAST_CURVATURE = 1e-10


class AveragedNewton(PartsNewton):
    r"""Each part solves a Newton system of its own data for the gradient of all; the mean is taken.

    Algorithm
    ---------
    ::

        repeat
            g = n ∇P(w)                                                      sum of d numbers
            δ = Σ_k (n_k/n) δ_k,                                             sum of d numbers
                ((n/n_k) X_kᵀDiag(h)X_k + λn I) δ_k ≈ −g     by conjugate gradients on part k
            V = [δ, last five moves],   A = Vᵀ(H + λn I) V                   sum of 36 numbers
            w −= V A⁻¹ Vᵀg,   shorter if P did not fall

    Rate
    ----
    As good as the parts resemble each other: 10 to 20 rounds on text. Where features are rare and λ
    is small they do not; then ``parts_newton_cg`` goes on.

    Cost
    ----
    Three rounds per step, of d, d and 36 numbers per part.

    When to use
    -----------
    More features than a Hessian has room for.
    """

    def advance(self, state: State, draws: Any = None) -> float:
        """One step: a direction, a search in the span, and the gradient at the new point."""
        p, before = state.problem, state.problem.parts.meter.rounds
        if state.gradient is None:
            move_to(state, measure(state, state.point), state.point)
            state.extra = []
            return work(p, before)
        ridge = p.ridge
        damping = STIFF * max(float(np.max(state.curvature)), STIFF * p.beta * p.n)
        pair = (p.lam * p.n, damping * p.fit_intercept)
        delta = p.parts.sum(local_direction, state.point, state.gradient, p.n, pair)
        basis = np.stack([delta, *state.extra])
        curved = p.parts.sum(span_curvature, state.point, basis) + (basis * ridge) @ basis.T
        step = -basis.T @ _solved(curved, basis @ state.gradient)
        length = advance_along(state, step)
        state.extra = [length * step, *state.extra][:MOVES] if length else []
        return work(p, before)

    def label(self, state: State) -> str:
        """The name of the method."""
        return "averaged_newton"


def _solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """The solution of a small system whose rows may be nearly the same, in unit diagonal."""
    scale = 1.0 / np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
    values, vectors = np.linalg.eigh(matrix * scale * scale[:, None])
    inverse = np.zeros_like(values)
    kept = values > LEAST_CURVATURE * values[-1]
    inverse[kept] = 1.0 / values[kept]
    return np.asarray(scale * (vectors @ (inverse * (vectors.T @ (scale * right)))))


def local_direction(
    part: Any, point: FloatArray, gradient: FloatArray, n: int, pair: tuple[float, float]
) -> FloatArray:
    """(n_k/n) δ_k: the Newton direction by the curvature of one part."""
    hessian, scale = Hessian(part, point), n / part.n
    lam_n, damping = pair
    ridge = np.tile(np.append(np.full(part.d, lam_n), damping), len(point) // (part.d + 1))
    diagonal = scale * hessian.diagonal() + ridge
    diagonal[~(diagonal > 0)] = 1.0  # of an intercept that is not there
    if part.n < part.d:
        temper(diagonal)

    def product(v: FloatArray) -> FloatArray:
        return scale * hessian.times(v) + ridge * v

    found = conjugate_gradients(product, diagonal, -gradient, LOCAL_FORCING, LOCAL_STEPS)
    return found / scale


def span_curvature(part: Any, point: FloatArray, basis: FloatArray) -> FloatArray:
    """Vᵀ H V for the rows of a basis."""
    return Hessian(part, point).within(basis)
