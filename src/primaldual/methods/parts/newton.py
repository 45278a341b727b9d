"""Newton's method on parts: one sum of Hessians per step."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from ..._types import FloatArray, Layout, Side
from ...complexity import Complexity
from ...problem.on_parts import PartsProblem
from ...problem.one_part import Part
from ...problem.recipe import Dual
from ..base import Method
from ..engine.second_order import bordered_direction, cholesky_solver
from .point import State, gap_at, is_lower, iterate, shorter, start_state, work


class Model(NamedTuple):
    """What one round brings: P, the proof of the last step, and the next quadratic model."""

    value: float  # Σ_j c_j φ(z_j)
    gaps: float  # Σ_j c_j [φ(z_j) + φ*(−a_j) + a_j z_j] for the linearised α
    outside: float  # parts on which that α had to be moved into its domain
    gradient: FloatArray  # Σ_j c_j φ'_j x_j
    slope: float  # Σ_j c_j φ'_j
    hessian: FloatArray  # Σ_j h_j x_j x_jᵀ, h_j = c_j φ''_j
    column: FloatArray  # Σ_j h_j x_j
    curvature: float  # Σ_j h_j


class PartsNewton(Method):
    r"""Newton's method whose Hessian is a sum over parts; a round per step.

    Algorithm
    ---------
    ::

        repeat
            sum over the parts, at w + δ:
                P,   ∇P,   H = XᵀDiag(h)X,   and the gap of w + δ with
                α_j = −c_j φ'_j(z_j) − h_j ⟨x_j, δ⟩                 so that w + δ = w(α)
            w += δ,   or w += s δ where P did not fall
            solve  (H + λn I) δ = −n ∇P(w)                         at the driver

    Rate
    ----
    That of ``newton``: 5 to 12 rounds, whatever the number of parts.

    Cost
    ----
    A message of d² numbers per part and round.

    When to use
    -----------
    Up to a few thousand features.
    """

    side: ClassVar[Side] = "primal"
    layout: ClassVar[Layout] = "by_example"
    free_intercept: ClassVar[bool] = True

    def start(
        self,
        problem: PartsProblem,
        sampling: Any = None,
        w: FloatArray | None = None,
        alpha: Any = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, or at zero; ``extra`` is the step to be tried next."""
        return start_state(problem, w)

    def advance(self, state: State, draws: Any = None) -> float:
        """One round, and one or two more where the step was too long."""
        p, step = state.problem, state.extra
        before = p.parts.meter.rounds
        if step is None:
            self._take(state, _summed(p, Dual(state.w, state.intercept)), None)
            return work(p, before)
        assert state.gradient is not None
        slope, dual = float(state.gradient @ step), _recipe(state, step)
        model = _summed(p, dual)
        if is_lower(state, _value(p, model, state.point + step), slope):
            self._take(state, model, dual if model.outside == 0 else None, step)
            return work(p, before)
        step = shorter(state, step) * step
        self._take(state, _summed(p, _recipe(state, step)), None, step)
        return work(p, before)

    def _take(
        self, state: State, model: Model, dual: Dual | None, step: FloatArray | None = None
    ) -> None:
        """Take the point the model was made at, and solve for the next step."""
        p, lam_n = state.problem, state.problem.lam * state.problem.n
        state.point = state.point if step is None else state.point + step
        state.value, state.dual = _value(p, model, state.point), dual
        gradient = model.gradient + lam_n * state.w
        slope = model.slope if p.fit_intercept else 0.0
        state.gradient, state.curvature = np.append(gradient, slope), model.curvature
        state.gap = gap_at(state) if dual is None else model.gaps / p.n
        solve = cholesky_solver(model.hessian, lam_n)
        if p.fit_intercept:
            delta, delta_b = bordered_direction(
                solve, gradient, model.column, slope, model.curvature
            )
        else:
            delta, delta_b = solve(-gradient), 0.0
        state.extra = np.append(delta, delta_b)

    def iterate(self, state: State) -> tuple[FloatArray, Any]:
        """The current w and the recipe of its α."""
        return iterate(state)

    def gap_estimate(self, state: State) -> float:
        """The gap of the last round's pair."""
        return state.gap

    def label(self, state: State) -> str:
        """The name of the method."""
        return "parts_newton"

    def complexity(self, problem: Any, sampling: Any = None) -> Complexity:
        """One step, at the cost of one Hessian."""
        nnz = problem.matrix.nnz
        return Complexity(1.0, nnz * problem.d / 2, nnz)


def _recipe(state: State, step: FloatArray) -> Dual:
    return Dual(state.w.copy(), state.intercept, step[:-1], float(step[-1]))


def _value(p: PartsProblem, model: Model, point: FloatArray) -> float:
    """N P at the point of a model."""
    return model.value + 0.5 * p.lam * p.n * float(point[:-1] @ point[:-1])


def _summed(p: PartsProblem, dual: Dual) -> Model:
    return p.parts.sum(newton_model, dual)


def newton_model(part: Part, dual: Dual) -> Model:
    """The sums of one part at the end of the recipe's step, and the gap of its α there."""
    z, gaps, outside = part.margins(dual.w, dual.b), 0.0, 0.0
    if dual.delta is None:
        value = part.value(z)
    else:
        first, second = part.slopes(z)
        change = part.margins(dual.delta, dual.delta_b)
        alpha, inside = part.linearised(first, second, change)
        z += change
        value, gaps, _ = part.gaps(z, alpha)
        outside = float(not inside)
    first, second = part.slopes(z)
    matrix = part.matrix
    return Model(
        value, gaps, outside, matrix.transposed_times(first), float(first.sum()),
        matrix.gram_of_features(second), matrix.transposed_times(second), float(second.sum()),
    )  # fmt: skip
