"""A Newton step on many examples: the same functions of the loss, each on parts of the examples."""

from __future__ import annotations

import numpy as np

from ..._numba.clock import look_at_clock
from ..._threads import for_each
from ..._types import FloatArray
from ...data.pieces import Cut, example_parts
from ...parts.tree import tree_sum
from ...problem import Problem
from ...problem.slopes import MOVED, into_dual
from .second_order import (
    LINE_STEPS,
    first_point,
    in_larger_unit,
    line_search,
    near_gaps,
    next_point,
    slopes_along,
    take_step,
)


def step_by_parts(
    p: Problem,
    z: FloatArray,
    change: FloatArray,
    first: FloatArray,
    second: FloatArray,
    model: tuple[float, float, float],
    alpha: FloatArray,
) -> tuple[float, float]:
    """``take_step``, whose ``slope``, ``along`` and ``square`` are the model."""
    y, c, cuts = p.y, p.sample_weight, example_parts(p.n)
    if len(cuts) == 1:
        s, gap = take_step(p.loss, y, c, z, change, first, second, *model, alpha)
        return float(s), float(gap)
    after = np.empty(p.n), np.empty(p.n)
    s = search_by_parts(p, z, change, model, after)

    def dual(cut: Cut) -> tuple[float, float]:
        at = slice(*cut)
        found: tuple[float, float] = into_dual(
            p.loss, y[at], c[at], first[at], second[at], change[at], alpha[at]
        )
        z[at] += s * change[at]
        first[at], second[at] = after[0][at], after[1][at]
        return found

    def gaps(cut: Cut) -> float:
        at = slice(*cut)
        return float(near_gaps(p.loss, z[at], alpha[at], y[at], c[at], first[at], second[at]))

    moved, size = tree_sum(for_each(dual, cuts))
    if moved <= MOVED * size and s == 1.0:
        return s, float(tree_sum(for_each(gaps, cuts)))
    return s, np.inf


def search_by_parts(
    p: Problem,
    z: FloatArray,
    change: FloatArray,
    model: tuple[float, float, float],
    after: tuple[FloatArray, FloatArray],
    share: float = 0.5,
) -> float:
    """``line_search``, whose ``at_zero``, ``along`` and ``square`` are the model."""
    y, c, cuts = p.y, p.sample_weight, example_parts(p.n)
    if len(cuts) == 1:
        return float(line_search(p.loss, z, change, y, c, *model, *after, share))
    search = first_point(*model)

    def sums() -> tuple[float, float]:
        s, scale = search.s, 1.0 / search.unit

        def part(cut: Cut) -> tuple[float, float]:
            at = slice(*cut)
            found: tuple[float, float] = slopes_along(
                p.loss, z[at], change[at], y[at], c[at], s, scale, after[0][at], after[1][at]
            )
            return found

        total: tuple[float, float] = tree_sum(for_each(part, cuts))
        return total

    for k in range(LINE_STEPS):
        look_at_clock()
        slope, curvature = sums()
        if search.unit == 1.0 and not curvature < np.inf:
            search = in_larger_unit(search, change)
            slope, curvature = sums()
        following, found = next_point(search, slope, curvature, share)
        if found or k + 1 == LINE_STEPS:
            break
        search = following
    return float(search.s)
