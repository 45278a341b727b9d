"""Truncated Newton on parts: a round per product with the Hessian."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._types import FloatArray
from ..engine.second_order import next_forcing, temper
from .conjugate_gradients import conjugate_gradients
from .newton import PartsNewton
from .point import Hessian, State, advance_along, measure, move_to, work

# Products in one step, at most: each is a round.
MOST_PRODUCTS = 50
# The relative residual of the first step.
FIRST_FORCING = 0.1


class PartsNewtonCG(PartsNewton):
    r"""Newton's method whose systems are solved by conjugate gradients, a round per product.

    Algorithm
    ---------
    ::

        repeat
            g = n ∇P(w),   M = Diag(H) + λn, or its root with n < d          sum of 2 d numbers
            δ ≈ −(H + λn I)⁻¹ g    by conjugate gradients with M      a sum of d numbers a product
            w += s δ,   s = 1 or shorter if P did not fall

    Rate
    ----
    √κ products, whatever the parts are like.

    When to use
    -----------
    Where averaged directions make no progress: parts that do not resemble each other.
    """

    def advance(self, state: State, draws: Any = None) -> float:
        """One truncated step."""
        p, before = state.problem, state.problem.parts.meter.rounds
        if state.gradient is None:
            move_to(state, measure(state, state.point), state.point)
            return work(p, before)
        forcing = FIRST_FORCING if state.extra is None else state.extra
        ridge = p.ridge
        diagonal = p.parts.sum(hessian_diagonal, state.point) + ridge
        diagonal[~(diagonal > 0)] = 1.0  # of an intercept that is not there
        if p.n < p.d:
            temper(diagonal)

        def product(v: FloatArray) -> FloatArray:
            moved = p.parts.sum(hessian_times, state.point, v)
            return np.asarray(moved + ridge * v)

        assert state.gradient is not None
        step = conjugate_gradients(product, diagonal, -state.gradient, forcing, MOST_PRODUCTS)
        gap = state.gap
        advance_along(state, step)
        state.extra = float(next_forcing(forcing, state.gap, gap))
        return work(p, before)

    def label(self, state: State) -> str:
        """The name of the method."""
        return "parts_newton_cg"


def hessian_diagonal(part: Any, point: FloatArray) -> FloatArray:
    """The diagonal of one part's Hessian."""
    return Hessian(part, point).diagonal()


def hessian_times(part: Any, point: FloatArray, v: FloatArray) -> FloatArray:
    """The product of one part's Hessian with a vector."""
    return Hessian(part, point).times(v)
