"""The parts that Newton-type methods share: model, factorisation, line search and dual point."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dpotrs

from ..._numba.clock import look_at_clock
from ..._numba.compile import kernel, kernel_part, reordered_kernel
from ..._threads import for_each
from ..._types import FloatArray
from ...complexity import Complexity
from ...data.pieces import Cut, example_parts
from ...losses import loss_loop_slopes, loss_quick_gap
from ...problem import Problem
from ...problem.base import LinearProblem
from ...problem.slopes import linearised_dual, set_slopes

# A problem is small if its data is dense and a whole Newton solve is one compiled call of a few ms:
# n d² is at most SMALL_WORK multiply-adds (a Hessian takes half as many), with no more than
# SMALL_FEATURES features; beyond that BLAS or conjugate gradients are faster.
SMALL_WORK, SMALL_FEATURES = 16_000_000, 40

# A step shorter than this fraction of the full one says that the model is poor.
SHORT = 0.1

# Points that a line search tries, at most: 41 halvings leave 5e-13 of a bracket.
LINE_STEPS = 41
# A slope has risen evenly if its derivative is this fraction of the average so far, or 1 over it.
EVEN = 0.5

# Multiply-adds that BLAS does (0.05 ns each) while coordinate descent visits one nonzero (0.8 ns).
BLAS = 16

# A pivot below this is rounding: a sum of 40 products of a unit diagonal is off by up to 1e-14.
LEAST_PIVOT = 1e-13
# Rows of the blocks in which matrices of more than 4 BLOCK rows are factored: one takes about 1 ms.
BLOCK = 512

# The relative residual of a truncated Newton step at first, and where the gap does not fall: that
# of LIBLINEAR's trust region method.
LOOSEST = 0.1
# Its products with the data, at most: where they do not reduce the residual enough, the next model
# is worth more.
MOST_STEPS = 1000
# It ends when the gap of the model is this fraction of the target: the model's error takes the
# rest. A target is at least LEAST_GAP · P(0), far below what rounding lets a gradient prove.
ENOUGH, LEAST_GAP = 0.5, 1e-20
# The widest range of a diagonal whose root preconditions.
WIDEST = 1e12


def is_small(problem: LinearProblem) -> bool:
    """Whether the data is dense and a whole Newton solve is one compiled call of a few ms."""
    unknowns = math.prod(problem.shapes[0])
    few = unknowns <= SMALL_FEATURES and problem.n * unknowns**2 <= SMALL_WORK
    return few and not problem.matrix.is_sparse


def hessian_work(problem: Problem) -> float:
    """The multiply-adds of XᵀDiag(h)X."""
    if problem.matrix.is_sparse:
        return problem.examples.pairs
    return problem.n * problem.d * (problem.d + 1) / 2


def starting_point(
    problem: Problem, w: FloatArray | None, alpha: FloatArray | None = None
) -> tuple[FloatArray, float, FloatArray]:
    """w, or w(α), its best intercept and margins; zero if that is better.

    Far out, losses have next to no curvature, and a Newton step from there can be worthless.
    """
    if w is None and alpha is not None:
        w = problem.primal_point(alpha)
    if w is not None and w.any():
        z = problem.matrix.times(w)
        b = problem.best_intercept(z)
        z += b
        if problem.primal_value(w, z) <= problem.primal_at_zero:
            return w.copy(), b, z
    z = np.zeros(problem.n)
    b = problem.best_intercept(z)
    if b:
        z += b
    return np.zeros(problem.d), b, z


def slopes(problem: Problem, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """c_j φ'_j(z_j) and c_j φ''_j(z_j)."""
    first, second = np.empty(problem.n), np.empty(problem.n)
    y, c = problem.y, problem.sample_weight

    def part(cut: Cut) -> None:
        some = slice(*cut)
        set_slopes(problem.loss, z[some], y[some], c[some], first[some], second[some])

    for_each(part, example_parts(problem.n))
    return first, second


def newton_direction(
    p: Problem,
    solve: Callable[[FloatArray], FloatArray],
    gradient: FloatArray,
    first: FloatArray,
    second: FloatArray,
) -> tuple[FloatArray, float]:
    """δ and its intercept part, where ``solve`` divides by XᵀDiag(h)X + λn I."""
    if not p.fit_intercept:
        return solve(-gradient), 0.0
    column = p.matrix.transposed_times(second)
    return bordered_direction(solve, gradient, column, float(first.sum()), float(second.sum()))


def bordered_direction(
    solve: Callable[[FloatArray], FloatArray],
    gradient: FloatArray,
    column: FloatArray,
    slope: float,
    curvature: float,
) -> tuple[FloatArray, float]:
    """The same from the sums that belong to the intercept: Xᵀh, Σ_j c_j φ'_j and Σ_j h_j."""
    delta, back, delta_b = solve(-gradient), solve(column), 0.0
    pivot = curvature - float(column @ back)
    if pivot > 0:
        delta_b = -(slope + float(column @ delta)) / pivot
        delta -= delta_b * back
    return delta, delta_b


def cholesky_solver(
    hessian: FloatArray, ridge: float, block: int = BLOCK
) -> Callable[[FloatArray], FloatArray]:
    """Solve (hessian + ridge I) δ = right by Cholesky, in units that make the diagonal 1.

    The right side is one vector, or several as the columns of a matrix.

    Matrices of more than four blocks of rows are factored block by block.
    """
    diagonal = np.einsum("ii->i", hessian)
    diagonal += ridge
    scale = 1.0 / np.sqrt(diagonal)
    scaled, more = np.empty_like(hessian), 0.0
    while True:
        np.multiply(hessian, scale, out=scaled)
        scaled *= scale[:, None]
        np.einsum("ii->i", scaled)[:] += more
        # LAPACK's Fortran order makes the lower triangle the upper one of the transpose.
        if len(scaled) > 4 * block:
            factor, failed = _factored(scaled, block)
        else:
            factor, failed = dpotrf(scaled.T, lower=0, overwrite_a=1, clean=0)
        if not failed or not more < 1.0:  # numbers that are not finite have no factor
            break
        more = max(100 * more, 1e-14)  # not positive definite by rounding: a little more ridge

    def solve(right: FloatArray) -> FloatArray:
        unit = scale if right.ndim == 1 else scale[:, None]
        return np.asarray(unit * dpotrs(factor, unit * right, lower=0)[0])

    return solve


def _factored(hessian: FloatArray, block: int) -> tuple[FloatArray, bool]:
    """The Cholesky factor as LAPACK gives it, in Fortran order, and whether there is none.

    It takes the place of the lower triangle. Made of calls that take a moment each: Ctrl-C is
    heard, and the clock is looked at, between them.
    """
    L, size = hessian, len(hessian)
    for first in range(0, size, block):
        own = slice(first, first + block)
        look_at_clock()
        L[own, own] -= L[own, :first] @ L[own, :first].T
        diagonal, failed = dpotrf(L[own, own].T, lower=0)
        if failed:
            return L.T, True
        L[own, own] = diagonal.T
        for_each(partial(_below, L, diagonal, own, block), range(first + block, size, block))
    return L.T, False


def _below(L: FloatArray, diagonal: FloatArray, own: slice, block: int, start: int) -> None:
    """A block of the factor below the diagonal."""
    rows = slice(start, start + block)
    some = L[rows, own] - L[rows, : own.start] @ L[own, : own.start].T
    L[rows, own] = dtrsm(1.0, diagonal, some.T, lower=0, trans_a=1).T


@kernel
def solve_in_place(H, g):  # type: ignore[no-untyped-def]
    """Overwrite g by H⁻¹ g through the Cholesky factor of the lower triangle, in unit diagonal."""
    size = g.size
    scale = np.empty(size)
    for i in range(size):
        if not 0.0 < H[i, i] < np.inf:
            return False
        scale[i] = 1.0 / math.sqrt(H[i, i])
    for i in range(size):
        for k in range(i + 1):
            total = H[i, k] * scale[i] * scale[k]
            for m in range(k):
                total -= H[i, m] * H[k, m]
            if i == k:
                if not total > LEAST_PIVOT:
                    return False
                H[i, i] = math.sqrt(total)
            else:
                H[i, k] = total / H[k, k]
    for i in range(size):
        total = g[i] * scale[i]
        for k in range(i):
            total -= H[i, k] * g[k]
        g[i] = total / H[i, i]
    for i in range(size - 1, -1, -1):
        total = g[i]
        for k in range(i + 1, size):
            total -= H[k, i] * g[k]
        g[i] = total / H[i, i]
    for i in range(size):
        g[i] *= scale[i]
    return True


@kernel_part
def take_step(loss, y, c, z, change, first, second, slope, along, square, alpha):  # type: ignore[no-untyped-def]
    """A Newton step along ``change``, by a line search; return its length s and n times the gap.

    z, and c_j φ'_j and c_j φ''_j at it, are moved in place. α becomes the linearised dual point,
    with w + δ = w(α); the gap is infinite unless that holds and s = 1. The other arguments are
    those of ``line_search``.
    """
    after_first, after_second = np.empty(z.size), np.empty(z.size)
    s = line_search(loss, z, change, y, c, slope, along, square, after_first, after_second)
    consistent = linearised_dual(loss, y, c, first, second, change, alpha)
    for j in range(z.size):
        z[j] += s * change[j]
        first[j], second[j] = after_first[j], after_second[j]
    if consistent and s == 1.0:
        return s, near_gaps(loss, z, alpha, y, c, first, second)
    return s, np.inf


class Search(NamedTuple):
    """Where a line search stands."""

    at_zero: float  # the slope at s = 0
    along: float  # λn ⟨w, δ⟩
    square: float  # λn ‖δ‖²
    low: float  # the bracket
    high: float
    s: float  # the point to be looked at
    slope_low: float  # the slopes at its ends
    slope_high: float
    unit: float  # that of all slopes


@kernel
def line_search(loss, z, change, y, c, at_zero, along, square, first, second, share=0.5):  # type: ignore[no-untyped-def]
    """s ≥ 0 that about minimises Σ c_j φ(z_j + s change_j) + (λn/2)‖w + s δ‖².

    ``at_zero`` is its slope at s = 0, ``along`` is λn ⟨w, δ⟩ and ``square`` is λn ‖δ‖². The full
    step is taken if it leads down and leaves at most that share of the slope; otherwise Newton's
    method on the slope, in a bracket. Slopes that overflow are measured in a larger unit.
    c_j φ'_j and c_j φ''_j after the step are left in ``first`` and ``second``.
    """
    search = first_point(at_zero, along, square)
    for k in range(LINE_STEPS):
        slope, curvature = slopes_along(
            loss, z, change, y, c, search.s, 1.0 / search.unit, first, second
        )
        if search.unit == 1.0 and not curvature < np.inf:
            search = in_larger_unit(search, change)
            slope, curvature = _along(first, second, change, 1.0 / search.unit)
        following, found = next_point(search, slope, curvature, share)
        if found or k + 1 == LINE_STEPS:
            break
        search = following
    return search.s


@kernel
def first_point(at_zero, along, square):  # type: ignore[no-untyped-def]
    """Before the first point, which is the full step."""
    if at_zero < 0.0:
        return Search(at_zero, along, square, 0.0, np.inf, 1.0, at_zero, np.inf, 1.0)
    # Not a way down: rounding has the better of the direction.
    return Search(at_zero, along, square, 0.0, 0.0, 0.0, at_zero, np.inf, 1.0)


@kernel
def slopes_along(loss, z, change, y, c, s, scale, first, second):  # type: ignore[no-untyped-def]
    """``scale`` times slope and curvature of the losses at s; c_j φ'_j and c_j φ''_j are left."""
    for j in range(z.size):
        one, two = loss_loop_slopes(loss, z[j] + s * change[j], y[j])
        first[j], second[j] = c[j] * one, c[j] * two
    return _along(first, second, change, scale)


@kernel
def in_larger_unit(search, change):  # type: ignore[no-untyped-def]
    """The same search with slopes in units of the largest change."""
    unit = 0.0
    for j in range(change.size):
        unit = max(unit, abs(change[j]))
    return Search(
        search.at_zero / unit, search.along / unit, search.square / unit, search.low, search.high,
        search.s, search.slope_low / unit, search.slope_high, unit,
    )  # fmt: skip


@kernel
def next_point(search, slope, curvature, share):  # type: ignore[no-untyped-def]
    """The search with its next point, or as it is and True where this point is good enough.

    ``slope`` and ``curvature`` are those of the losses at this one.
    """
    at_zero, along, square, low, high, s, slope_low, slope_high, unit = search
    slope, curvature = along + s * square + slope, square + curvature
    if high == 0.0:
        return search, True
    # A positive slope that rose early and then stayed the same has led uphill: it did not if it
    # rose all the way, as that of a quadratic does, or if there was more way down before.
    rise = s * curvature / (slope - at_zero) if slope > 0.0 else 1.0
    down = EVEN <= rise <= 1.0 / EVEN or low * slope_low + (s - low) * slope <= 0.0
    if abs(slope) <= share * abs(at_zero) and down:
        return search, True
    if slope > 0:
        high, slope_high = s, slope
    else:
        low, slope_low = s, slope
    s -= slope / curvature
    if not (low < s < high):
        s = 0.5 * (low + high) if high < np.inf else 2.0 * low
        # Bisection would take a thousand steps: the secant, unless the slope has overflown.
        if unit != 1.0 and high < np.inf and slope_high < np.inf:
            s = min(s, low - slope_low * (high - low) / (slope_high - slope_low))
    return Search(at_zero, along, square, low, high, s, slope_low, slope_high, unit), False


@reordered_kernel
def _along(first, second, change, scale):  # type: ignore[no-untyped-def]
    """``scale`` times Σ_j first_j change_j and Σ_j second_j change_j²."""
    slope, curvature = 0.0, 0.0
    for j in range(change.size):
        scaled = scale * change[j]
        slope += first[j] * scaled
        curvature += second[j] * scaled * change[j]
    return slope, curvature


@reordered_kernel
def near_gaps(loss, z, alpha, y, c, first, second):  # type: ignore[no-untyped-def]
    """About Σ_j c_j [φ(z_j) + φ*(−a_j) + a_j z_j], where c_j φ'_j and c_j φ''_j are known."""
    total = 0.0
    for j in range(z.size):
        if c[j] > 0.0:
            each = 1.0 / c[j]
            total += c[j] * loss_quick_gap(
                loss, z[j], each * alpha[j], y[j], each * first[j], each * second[j]
            )
    return total


def gap_after(s: float, gap: float, before: float) -> float:
    """The gap of the pair after a full step; unknown after a shorter one, unchanged after none."""
    return gap if s == 1.0 else before if s == 0.0 else np.inf


@kernel
def next_forcing(forcing, gap, before):  # type: ignore[no-untyped-def]
    """The relative residual for the next step: it falls with the gap, but not too fast.

    Where the gap does not fall, more digits of a model that is wrong are of no use.
    """
    fall = gap / before if 0.0 < before < np.inf else 1.0
    if fall >= 1.0:
        return LOOSEST
    return max(min(forcing, max(fall, forcing**2)), 1e-12)


@kernel
def temper(diagonal):  # type: ignore[no-untyped-def]
    """Replace a diagonal by its root, which preconditions better where most features are rare.

    All of it gives them the weight of frequent ones: on word counts that takes two to four times as
    many products. Where units differ too much, all of it is needed.
    """
    low, high = np.inf, 0.0
    for i in range(diagonal.size):
        low, high = min(low, diagonal[i]), max(high, diagonal[i])
    if high <= WIDEST * low:
        for i in range(diagonal.size):
            diagonal[i] = math.sqrt(diagonal[i])


def truncated_complexity(problem: Problem) -> Complexity:
    """√κ products with the data, κ = 1 + β max ‖x_j‖²/λ bounding the condition number."""
    largest = float(problem.examples.squared_norms.max())
    kappa = 1 + problem.beta * largest / problem.lam
    return Complexity(math.sqrt(kappa), 2 * problem.matrix.nnz, problem.matrix.nnz)
