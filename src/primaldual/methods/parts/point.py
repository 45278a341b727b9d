"""What the methods on parts share: a point, P and its gradient there, and a line search in a round.

A point is one vector: the coefficients and the intercept behind them, or with the softmax loss such
a row per class, one after the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._types import FloatArray
from ...problem.on_parts import PartsProblem
from ...problem.recipe import Dual

# The step lengths that one round of a line search tries: a step was too long, by 1000 at most.
LENGTHS = 0.5 ** np.arange(1, 11)
# A step has to lower P by this fraction of what its slope promises (Armijo's rule).
DECREASE = 1e-4
# Two values of P that differ by less than this fraction are the same up to rounding.
ROUNDING = 1e-14


@dataclass
class State:
    """Where a method on parts stands."""

    problem: PartsProblem
    point: FloatArray
    value: float = math.inf  # n P there
    gradient: FloatArray | None = None  # n ∇P there, if known
    curvature: Any = 0.0  # Σ_j c_j φ''_j there
    gap: float = math.inf  # of the point and a dual point, without a certificate
    dual: Dual | None = None  # that dual point, if it is not the one at the point itself
    extra: Any = None  # what one of the methods keeps

    @property
    def w(self) -> FloatArray:
        """The coefficients."""
        return self.problem.parted(self.point)[0]

    @property
    def intercept(self) -> Any:
        """The intercept, or one per class."""
        return self.problem.parted(self.point)[1]


def start_state(problem: PartsProblem, w: FloatArray | None) -> State:
    """The state at ``w``, or at zero."""
    return State(problem, problem.joined(w, 0.0 * problem.near if w is None else problem.near))


def iterate(state: State) -> tuple[FloatArray, Any]:
    """w, and a recipe of α that knows the intercept."""
    if state.dual is not None:
        return state.w, state.dual
    made = Dual(state.w.copy(), state.intercept)
    if state.problem.fit_intercept and state.gradient is not None:
        made.delta_b = -plane_step(state)
    return state.w, made


def plane_step(state: State) -> Any:
    """The change of the intercept that its gradient asks for."""
    _, slope = parted(state.problem, state.gradient)
    return state.problem.plane_step(slope, state.curvature)


def parted(problem: PartsProblem, gradient: Any) -> tuple[FloatArray, Any]:
    """The gradient in the coefficients and in the intercept."""
    rows = gradient.reshape(-1, problem.d + 1)
    slope = rows[:, -1] if len(problem.shapes[0]) > 1 else float(rows[0, -1])
    return rows[:, :-1], slope


def gap_at(state: State) -> float:
    """‖∇P‖²/(2λ), and what it costs to move α into the plane of the free intercept."""
    p = state.problem
    rows, slope = parted(p, state.gradient)
    square = float(np.vdot(rows, rows)) / (2 * p.lam * p.n)
    if p.fit_intercept:
        square += 0.5 * float(np.vdot(slope, plane_step(state)))
    return square / p.n


def work(problem: PartsProblem, rounds_before: int) -> float:
    """The nonzeros that were read since: every round reads all of them."""
    return float((problem.parts.meter.rounds - rounds_before) * problem.matrix.nnz)


# --------------------------------------------------------------------------------------------
# Sums


def value_and_gradient(part: Any, point: FloatArray) -> tuple[float, FloatArray, Any]:
    """Σ_j c_j φ_j, its gradient, and Σ_j c_j φ''_j."""
    z = part.scores(point)
    first, second = part.slopes(z)
    return part.value(z), part.gathered(first), part.curvature(second)


def values_along(part: Any, point: FloatArray, step: FloatArray, lengths: FloatArray) -> FloatArray:
    """Σ_j c_j φ_j at several points along a step."""
    z, change = part.scores(point), part.scores(step)
    return np.array([part.value(z + s * change) for s in lengths])


class Hessian:
    """The Hessian of the losses of one part at a point."""

    def __init__(self, part: Any, point: FloatArray) -> None:
        self.part = part
        self.second = part.slopes(part.scores(point))[1]

    def times(self, v: FloatArray) -> FloatArray:
        """H v."""
        change = self.part.scores(v)
        return np.asarray(self.part.gathered(self.part.curved(self.second, change)))

    def within(self, basis: FloatArray) -> FloatArray:
        """Vᵀ H V for the rows of a basis."""
        changes = [self.part.scores(v) for v in basis]
        moved = [self.part.curved(self.second, change) for change in changes]
        return np.array([[np.vdot(one, other) for other in moved] for one in changes])

    def diagonal(self) -> FloatArray:
        """The diagonal; 0 for intercepts that are not there."""
        return np.asarray(self.part.diagonal(self.second))


def measure(state: State, point: FloatArray) -> tuple[float, FloatArray, Any]:
    """n P, n ∇P and Σ_j c_j φ''_j at a point, in a round."""
    value, gradient, curvature = state.problem.parts.sum(value_and_gradient, point)
    pull = state.problem.ridge * point
    return value + 0.5 * float(pull @ point), gradient + pull, curvature


def move_to(state: State, measured: tuple[float, FloatArray, Any], point: FloatArray) -> None:
    """Take a point whose value and gradient are known."""
    state.point = point
    state.value, state.gradient, state.curvature = measured
    state.dual, state.gap = None, gap_at(state)


def is_lower(state: State, value: float, slope: float) -> bool:
    """Whether a step along which P falls by ``slope`` has led to a value that is low enough."""
    return value <= state.value + DECREASE * slope + ROUNDING * abs(state.value)


def shorter(state: State, step: FloatArray) -> float:
    """The best of several shorter lengths of a step, in a round."""
    p = state.problem
    values = p.parts.sum(values_along, state.point, step, LENGTHS)
    points = state.point + LENGTHS[:, None] * step
    values = values + 0.5 * (points * points) @ p.ridge
    best = int(np.nanargmin(values)) if np.isfinite(values).any() else len(values) - 1
    return float(LENGTHS[best])


def advance_along(state: State, step: FloatArray) -> float:
    """Go along a step that leads down, in a round if it is not too long; return its length."""
    assert state.gradient is not None
    slope = float(state.gradient @ step)
    measured, length = measure(state, state.point + step), 1.0
    if not is_lower(state, measured[0], slope):
        length = shorter(state, step)
        measured = measure(state, state.point + length * step)
        if not measured[0] < state.value:
            return 0.0
    move_to(state, measured, state.point + length * step)
    return length
