"""A whole Newton solve as one compiled call, for small problems: there, calls cost most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._numba.compile import kernel, reordered_kernel
from ...data.gram import HESSIAN_BLOCK, add_to_hessian, put_by_feature
from ...data.rows import row_add, row_dot
from .second_order import SHORT, set_slopes, solve_in_place, take_step

# Newton steps in one call, at most: a run that takes more than these does not converge.
MOST_STEPS = 30
# A gap that no longer halves is as small as rounding allows, if it is this near the target.
NEAR = 1e4


class Found(NamedTuple):
    """Where a call of ``newton_steps`` has ended."""

    steps: int  # made
    b: float  # the intercept then
    gap: float  # n times the gap of w and α, as computed along the way
    finished: bool  # False: no definite Hessian, or a poor model; another solver should go on


@kernel
def newton_steps(rows, by_feature, loss, y, c, lam_n, fit_intercept, enough, w, b, z, alpha):  # type: ignore[no-untyped-def]
    """Newton's method from w, b and their margins z, in place, until the gap is ``enough``.

    Without margins (z is empty) the loss is taken for its own model: one step, which reads the
    examples block by block, since a vector of their length would take longer than the step.
    ``rows`` are the dense data by feature; by example they may be for that one step.
    """
    d, one_step, before = w.size, z.size == 0, np.inf
    size = d + 1 if fit_intercept else d
    H, g = np.empty((size, size)), np.empty(size)
    first, second, change = np.empty(z.size), np.empty(z.size), np.empty(z.size)
    set_slopes(loss, z, y, c, first, second)
    for step in range(MOST_STEPS):
        _set_system(rows, by_feature, loss, y, c, lam_n, fit_intercept, w, b, first, second, H, g)
        if not solve_in_place(H, g):
            return Found(step, b, before, False)
        shift = -g[d] if fit_intercept else 0.0  # g now holds −δ
        if one_step:
            for i in range(d):
                w[i] -= g[i]
            return Found(1, b + shift, 0.0, True)
        slope, along, square = _set_change(rows, lam_n, w, g, shift, first, change)
        s, gap = take_step(loss, y, c, z, change, first, second, slope, along, square, alpha)
        for i in range(d):
            w[i] -= s * g[i]
        b += s * shift
        if s < SHORT:
            return Found(step + 1, b, before if s == 0.0 else np.inf, False)
        if gap <= enough or (gap <= NEAR * enough and gap >= 0.5 * before):
            return Found(step + 1, b, gap, True)
        before = gap
    return Found(MOST_STEPS, b, before, True)


@kernel
def _set_change(features, lam_n, w, g, shift, first, change):  # type: ignore[no-untyped-def]
    """Fill in the change of the margins along δ = −g; return n⟨∇P, δ⟩, λn⟨w, δ⟩ and λn‖δ‖²."""
    change[:] = shift
    along, square = 0.0, 0.0
    for i in range(w.size):
        row_add(features, i, -g[i], change)
        along -= lam_n * w[i] * g[i]
        square += lam_n * g[i] * g[i]
    slope = along
    for j in range(change.size):
        slope += first[j] * change[j]
    return slope, along, square


@kernel
def _set_system(  # type: ignore[no-untyped-def]
    rows, by_feature, loss, y, c, lam_n, fit_intercept, w, b, first, second, H, g
):
    """The lower triangle of the Hessian, and the gradient, block by block of the examples.

    Slopes that are not known (``first`` is empty) are computed for one block at a time.
    """
    n, d = y.size, w.size
    H[:], g[:] = 0.0, 0.0
    block = np.empty((0 if by_feature else d, HESSIAN_BLOCK))
    weighted, room = np.empty(HESSIAN_BLOCK), 0 if first.size else HESSIAN_BLOCK
    own_first, own_second = np.empty(room), np.empty(room)
    for start in range(0, n, HESSIAN_BLOCK):
        last = min(start + HESSIAN_BLOCK, n)
        if first.size:
            one, two = first[start:last], second[start:last]
        else:
            one, two = own_first[: last - start], own_second[: last - start]
            _set_margins(rows, by_feature, w, b, start, one)
            set_slopes(loss, one, y[start:last], c[start:last], one, two)
        if by_feature:
            _add_block(rows.values, start, one, two, weighted, fit_intercept, H, g)
        else:
            put_by_feature(rows, start, last, block)
            _add_block(block, 0, one, two, weighted, fit_intercept, H, g)
    for i in range(d):
        g[i] += lam_n * w[i]
        H[i, i] += lam_n


@kernel
def _set_margins(rows, by_feature, w, b, start, z):  # type: ignore[no-untyped-def]
    """Fill in the margins of as many examples as there is room for, from one on."""
    z[:] = b
    if not w.any():
        return
    for k in range(z.size):
        if by_feature:
            for i in range(w.size):
                z[k] += w[i] * rows.values[i, start + k]
        else:
            z[k] += row_dot(rows, start + k, w)


@kernel
def _add_block(features, start, first, second, weighted, fit_intercept, H, g):  # type: ignore[no-untyped-def]
    """Add what some examples, from one on, give to the Hessian and the gradient."""
    add_to_hessian(features, start, first, second, weighted, H, g)
    if fit_intercept:
        _add_intercept(features, start, first, second, H, g)


@reordered_kernel
def _add_intercept(features, start, first, second, H, g):  # type: ignore[no-untyped-def]
    """The same for the intercept, whose row and entry are the last."""
    d, size = features.shape[0], np.uint64(first.size)
    for i in range(d):
        row, total = features[i, start : start + first.size], 0.0
        for j in range(size):
            total += second[j] * row[j]
        H[d, i] += total
    slope, curvature = 0.0, 0.0
    for j in range(size):
        slope += first[j]
        curvature += second[j]
    g[d] += slope
    H[d, d] += curvature
