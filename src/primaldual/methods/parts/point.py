"""What the methods on parts share: a point, P and its gradient there, and a line search in a round.

Vectors have d + 1 entries: the coefficients, and the intercept behind them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._types import FloatArray
from ...losses.sums import sum_values
from ...problem.on_parts import PartsProblem
from ...problem.one_part import Part
from ...problem.recipe import Dual
from ...problem.slopes import set_slopes

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
    point: FloatArray  # (w, b)
    value: float = math.inf  # n P there
    gradient: FloatArray | None = None  # n ∇P there, if known
    curvature: float = 0.0  # Σ_j c_j φ''_j there
    gap: float = math.inf  # of the point and a dual point, without a certificate
    dual: Dual | None = None  # that dual point, if it is not the one at the point itself
    extra: Any = None  # what one of the methods keeps

    @property
    def w(self) -> FloatArray:
        """The coefficients."""
        return self.point[:-1]

    @property
    def intercept(self) -> float:
        """The intercept."""
        return float(self.point[-1])


def start_state(problem: PartsProblem, w: FloatArray | None) -> State:
    """The state at ``w``, or at zero."""
    point = np.zeros(problem.d + 1)
    if w is not None:
        point[:-1] = w
        point[-1] = problem.near[0]
    return State(problem, point)


def iterate(state: State) -> tuple[FloatArray, Any]:
    """w, and a recipe of α that knows the intercept."""
    if state.dual is not None:
        return state.w, state.dual
    made = Dual(state.w.copy(), state.intercept)
    if state.problem.fit_intercept and state.gradient is not None and state.curvature > 0:
        made.delta_b = -float(state.gradient[-1]) / state.curvature
    return state.w, made


def gap_at(state: State) -> float:
    """‖∇P‖²/(2λ), and what it costs to move α into the plane of the free intercept."""
    p = state.problem
    assert state.gradient is not None
    square = float(state.gradient[:-1] @ state.gradient[:-1]) / (2 * p.lam * p.n)
    if p.fit_intercept and state.curvature > 0:
        square += float(state.gradient[-1]) ** 2 / (2 * state.curvature)
    return square / p.n


def work(problem: PartsProblem, rounds_before: int) -> float:
    """The nonzeros that were read since: every round reads all of them."""
    return float((problem.parts.meter.rounds - rounds_before) * problem.matrix.nnz)


# --------------------------------------------------------------------------------------------
# Sums


def slopes_at(part: Part, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """c_j φ'_j and c_j φ''_j."""
    first, second = np.empty(part.n), np.empty(part.n)
    set_slopes(part.loss, z, part.y, part.sample_weight, first, second)
    return first, second


def value_and_gradient(part: Part, point: FloatArray) -> tuple[float, FloatArray, float]:
    """Σ_j c_j φ_j, its gradient, and Σ_j c_j φ''_j."""
    z = part.margins(point[:-1], float(point[-1]))
    first, second = slopes_at(part, z)
    gradient = np.append(part.matrix.transposed_times(first), first.sum())
    value = float(sum_values(part.loss, z, part.y, part.sample_weight))
    return value, gradient, float(second.sum())


def values_along(
    part: Part, point: FloatArray, step: FloatArray, lengths: FloatArray
) -> FloatArray:
    """Σ_j c_j φ_j at several points along a step."""
    z = part.margins(point[:-1], float(point[-1]))
    change = part.margins(step[:-1], float(step[-1]))
    return np.array(
        [sum_values(part.loss, z + s * change, part.y, part.sample_weight) for s in lengths]
    )


def measure(state: State, point: FloatArray) -> tuple[float, FloatArray, float]:
    """n P, n ∇P and Σ_j c_j φ''_j at a point, in a round."""
    p = state.problem
    value, gradient, curvature = p.parts.sum(value_and_gradient, point)
    ridge = p.lam * p.n * point[:-1]
    gradient[:-1] += ridge
    if not p.fit_intercept:
        gradient[-1] = 0.0
    return value + 0.5 * float(ridge @ point[:-1]), gradient, curvature


def move_to(state: State, measured: tuple[float, FloatArray, float], point: FloatArray) -> None:
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
    values = values + 0.5 * p.lam * p.n * np.einsum("ij,ij->i", points[:, :-1], points[:, :-1])
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
