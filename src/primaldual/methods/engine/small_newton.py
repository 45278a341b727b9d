"""A whole Newton solve as one compiled call, for small problems: there, calls cost most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._numba.compile import kernel, kernel_part, reordered_kernel
from ...data.gram import HESSIAN_BLOCK, add_to_hessian
from ...data.rows import row_add
from .second_order import SHORT, set_slopes, solve_in_place, take_step

# Newton steps in one call, at most: a run that takes more than these does not converge.
MOST_STEPS = 30
# A gap that no longer halves is as small as rounding allows, if it is this near the target.
NEAR = 1e4


class Found(NamedTuple):
    """Where a call has ended; compiled code returns it as a plain tuple, which is quicker."""

    steps: int  # made
    b: float  # the intercept then
    gap: float  # n times the gap of w and α, as computed along the way
    finished: bool  # False: no definite Hessian, or a poor model; another solver should go on


@kernel
def newton_steps(features, loss, y, c, lam_n, fit_intercept, enough, w, b, z, alpha):  # type: ignore[no-untyped-def]
    """Newton's method from w, b and their margins z, in place, until the gap is ``enough``.

    The data is dense and stored by feature. Return the fields of ``Found``.
    """
    d, before = w.size, np.inf
    size = d + 1 if fit_intercept else d
    H, g = np.empty((size, size)), np.empty(size)
    first, second, change = np.empty(z.size), np.empty(z.size), np.empty(z.size)
    weighted = np.empty(HESSIAN_BLOCK)
    set_slopes(loss, z, y, c, first, second)
    for step in range(MOST_STEPS):
        _set_ridge(lam_n, w, H, g)
        for start in range(0, z.size, HESSIAN_BLOCK):
            last = min(start + HESSIAN_BLOCK, z.size)
            one, two = first[start:last], second[start:last]
            add_to_hessian(features.values, start, one, two, weighted, H, g)
            if fit_intercept:
                _add_intercept(features.values, start, one, two, H, g)
        if not solve_in_place(H, g):
            return step, b, before, False
        shift = -g[d] if fit_intercept else 0.0  # g now holds −δ
        slope, along, square = _set_change(features, lam_n, w, g, shift, first, change)
        s, gap = take_step(loss, y, c, z, change, first, second, slope, along, square, alpha)
        for i in range(d):
            w[i] -= s * g[i]
        b += s * shift
        if s < SHORT:
            return step + 1, b, before if s == 0.0 else np.inf, False
        if gap <= enough or (gap <= NEAR * enough and gap >= 0.5 * before):
            return step + 1, b, gap, True
        before = gap
    return MOST_STEPS, b, before, True


@kernel
def quadratic_step(rows, by_feature, loss, y, c, lam_n, fit_intercept, w, b):  # type: ignore[no-untyped-def]
    """The one Newton step from w and b, in place, on a loss that is its own model.

    It reads the examples block by block: a vector of their length would take longer than the step.
    Return the fields of ``Found``.
    """
    n, d, size = y.size, w.size, w.size + 1 if fit_intercept else w.size
    H, g = np.empty((size, size)), np.empty(size)
    first, second = np.empty(HESSIAN_BLOCK), np.empty(HESSIAN_BLOCK)
    block, weighted = np.empty((d, HESSIAN_BLOCK)), np.empty(HESSIAN_BLOCK)
    _set_ridge(lam_n, w, H, g)
    for start in range(0, n, HESSIAN_BLOCK):
        last = min(start + HESSIAN_BLOCK, n)
        one, two = first[: last - start], second[: last - start]
        for k in range(one.size):
            one[k] = b
        for i in range(d):
            for k in range(one.size):
                j = start + k
                block[i, k] = rows.values[i, j] if by_feature else rows.values[j, i]
                one[k] += w[i] * block[i, k]
        set_slopes(loss, one, y[start:last], c[start:last], one, two)
        add_to_hessian(block, 0, one, two, weighted, H, g)
        if fit_intercept:
            _add_intercept(block, 0, one, two, H, g)
    if not solve_in_place(H, g):
        return 0, b, np.inf, False
    for i in range(d):
        w[i] -= g[i]
    return 1, b - g[d] if fit_intercept else b, 0.0, True


@kernel_part
def _set_ridge(lam_n, w, H, g):  # type: ignore[no-untyped-def]
    """The Hessian and the gradient of (λn/2) ‖w‖²."""
    for i in range(g.size):
        for k in range(g.size):
            H[i, k] = 0.0
        g[i] = 0.0
    for i in range(w.size):
        g[i], H[i, i] = lam_n * w[i], lam_n


@kernel_part
def _set_change(features, lam_n, w, g, shift, first, change):  # type: ignore[no-untyped-def]
    """Fill in the change of the margins along δ = −g; return n⟨∇P, δ⟩, λn⟨w, δ⟩ and λn‖δ‖²."""
    for j in range(change.size):
        change[j] = shift
    along, square = 0.0, 0.0
    for i in range(w.size):
        row_add(features, i, -g[i], change)
        along -= lam_n * w[i] * g[i]
        square += lam_n * g[i] * g[i]
    slope = along
    for j in range(change.size):
        slope += first[j] * change[j]
    return slope, along, square


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
