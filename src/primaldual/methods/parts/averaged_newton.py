"""Averaged local Newton directions, and a search in the span of the last moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._types import FloatArray
from ...problem.one_part import Part
from ..engine.second_order import temper
from .conjugate_gradients import conjugate_gradients
from .newton import PartsNewton
from .point import State, advance_along, measure, move_to, slopes_at, work

# Moves that are searched beside the new direction: simulated on text and census data, 5 save a
# third of the rounds, more save nothing.
MOVES = 5
# Local systems are solved to this relative residual, or for this many steps: they differ from the
# whole by more than that.
LOCAL_FORCING, LOCAL_STEPS = 1e-2, 20
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
        lam_n = p.lam * p.n
        delta = p.parts.sum(local_direction, state.point, state.gradient, p.n, lam_n)
        basis = np.stack([delta, *state.extra])
        curved = p.parts.sum(span_curvature, state.point, basis)
        curved = curved + lam_n * (basis[:, :-1] @ basis[:, :-1].T)
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
    part: Part, point: FloatArray, gradient: FloatArray, n: int, lam_n: float
) -> FloatArray:
    """(n_k/n) δ_k: the Newton direction by the curvature of one part."""
    second = slopes_at(part, part.margins(point[:-1], float(point[-1])))[1]
    scale = n / part.n
    second *= scale
    ridge = np.append(np.full(part.d, lam_n), 0.0)
    diagonal = np.append(
        part.matrix.squared_norms("feature", second) + lam_n, max(second.sum(), 1e-300)
    )
    if not part.fit_intercept:
        diagonal[-1] = 1.0
    if part.n < part.d:
        temper(diagonal)

    def product(v: FloatArray) -> FloatArray:
        return times_hessian(part, second, v) + ridge * v

    found = conjugate_gradients(product, diagonal, -gradient, LOCAL_FORCING, LOCAL_STEPS)
    return found / scale


def times_hessian(part: Part, second: FloatArray, v: FloatArray) -> FloatArray:
    """Σ_j h_j (⟨x_j, v⟩ + v_b) (x_j, 1); the last entry is 0 without an intercept."""
    moved = second * part.margins(v[:-1], float(v[-1]))
    last = float(moved.sum()) if part.fit_intercept else 0.0
    return np.append(part.matrix.transposed_times(moved), last)


def span_curvature(part: Part, point: FloatArray, basis: FloatArray) -> FloatArray:
    """Vᵀ H V for the rows of a basis."""
    second = slopes_at(part, part.margins(point[:-1], float(point[-1])))[1]
    changes = np.stack([part.margins(v[:-1].copy(), float(v[-1])) for v in basis])
    return np.asarray((changes * second) @ changes.T)
