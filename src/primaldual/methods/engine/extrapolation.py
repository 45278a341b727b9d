"""Extrapolation of coordinate descent on the dual: the best point in the span of its last epochs.

Where descent is slow, its epochs go on in nearly the same few directions. D is maximised over all
combinations of the last moves of α at the price of a few vectors, without a look at the data: the
moves of w = w(α) belong to them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._numba.compile import kernel, kernel_part, reordered_kernel
from ..._types import FloatArray, IntArray
from ...data.rows import row_add
from ...losses import has_conjugate_slopes, loss_conjugate_slopes, loss_nearest_dual
from ...problem import Problem
from .second_order import solve_in_place

# Epochs whose moves are combined; at least FEWEST_MOVES, and no more than have room in the fraction
# MEMORY of the data's bytes, or in FEW_BYTES. With three moves 0 to 9 % fewer passes
# (benchmarks/constants.py).
MOVES, FEWEST_MOVES = 5, 2
MEMORY, FEW_BYTES = 0.4, 4e6
# Examples that are treated together: three vectors of them, 24 KB, stay in the first cache.
BLOCK = 1024
# The fraction of the way to an end of its domain that α_j goes, where its conjugate is infinitely
# steep there.
INSIDE = 0.9
# Steps that are tried, each half as long as the one before.
TRIES = 3
# Moves smaller than this fraction of α, and combinations with larger coefficients than this, would
# carry their rounding errors into w.
SMALLEST_MOVE, LARGEST_COEFFICIENT = 1e-9, 1e3


class Past(NamedTuple):
    """The points after the last epochs; row 0 is the oldest."""

    alphas: FloatArray
    ws: FloatArray
    moved: IntArray  # room for the examples that have moved
    known: IntArray  # one entry: the number of points; -1 while descent is fast


def room_for_past(problem: Problem, wanted: bool) -> Past:
    """Room for as many points as fit, none of them known yet; for none without extrapolation."""
    n, d, points = problem.n, problem.d, 0
    if wanted and has_conjugate_slopes(problem.loss):
        bytes_of_data = problem.matrix.nnz * (problem.matrix.dtype.itemsize + 4.0)
        points = min(int(max(MEMORY * bytes_of_data, FEW_BYTES) // (8 * (n + d))), MOVES + 1)
    if points <= FEWEST_MOVES:
        n, d, points = 0, 0, 0
    room = np.empty((points, n)), np.empty((points, d)), np.empty(n, dtype=np.int64)
    return Past(*room, np.array([-1]))


@kernel
def remember(past, alpha, w):  # type: ignore[no-untyped-def]
    """Keep a point behind those that are known."""
    known = max(past.known[0], 0)
    _copy(alpha, past.alphas[known])
    _copy(w, past.ws[known])
    past.known[0] = known + 1


@kernel
def extrapolate(past, examples, loss, y, c, lam_n, alpha, w, intercept):  # type: ignore[no-untyped-def]
    """Move α and w to about the best point in the span of the moves, if that is better.

    F(α) = Σ_j c_j φ*(−α_j/c_j) + (λn/2) ‖w(α)‖², and the intercept's part, is what −nD is. One
    Newton step in the span, then into the domain of φ*. By convexity the new point α' is better if
    ⟨F'(α'), α' − α⟩ ≤ 0. The moves are left in ``past``. Return whether α has moved.
    """
    moves = past.alphas.shape[0] - 1
    size = _to_moves(past.alphas, past.ws, past.moved)
    moved, deltas, new = past.moved[:size], past.alphas[:moves, :size], past.alphas[moves, :size]
    if not _size(deltas[moves - 1]) > SMALLEST_MOVE * _size(alpha):
        return False
    H, g = np.zeros((moves, moves)), np.zeros(moves)
    _system(moved, deltas, past.ws, loss, y, c, lam_n, alpha, w, intercept, H, g)
    if not (solve_in_place(H, g) and _size(g) <= LARGEST_COEFFICIENT):
        return False
    new_w = past.ws[moves]  # the last rows are free: there goes the new point
    for _ in range(TRIES):
        _copy(w, new_w)
        for i in range(size):
            new[i] = alpha[moved[i]]
        for k in range(moves):
            _add(past.ws[k], -g[k], new_w)
            _add(deltas[k], -g[k], new)
        slope, total = _into_domain(moved, examples, loss, y, c, lam_n, alpha, new, new_w)
        slope += (intercept.value() + intercept.shift * total) * total
        for i in range(w.size):
            slope += lam_n * new_w[i] * (new_w[i] - w[i])
        if slope <= 0.0:
            for i in range(size):
                alpha[moved[i]] = new[i]
            _copy(new_w, w)
            intercept.add(total)
            return True
        for k in range(moves):
            g[k] *= 0.5
    return False


@kernel_part
def _into_domain(moved, examples, loss, y, c, lam_n, alpha, new, new_w):  # type: ignore[no-untyped-def]
    """Move the new α into the domain of φ*, and w with it.

    Return the slope of Σ_j c_j φ*(−α_j/c_j) there along the whole move, and the sum of the move.
    """
    slope, total = 0.0, 0.0
    for i in range(moved.size):
        j, aim = moved[i], new[i]
        if aim != alpha[j]:
            new[i] = c[j] * loss_nearest_dual(loss, aim / c[j], y[j])
            first = loss_conjugate_slopes(loss, new[i] / c[j], y[j])[0]
            if not abs(first) < np.inf:
                new[i] = alpha[j] + INSIDE * (new[i] - alpha[j])
                first = loss_conjugate_slopes(loss, new[i] / c[j], y[j])[0]
            slope += first * (new[i] - alpha[j])
            if new[i] != aim:
                row_add(examples, j, (new[i] - aim) / lam_n, new_w)
            total += new[i] - alpha[j]
    return slope, total


@kernel_part
def _to_moves(alphas, ws, moved):  # type: ignore[no-untyped-def]
    """Turn points into moves, those of α only for the examples that have moved: ``moved``.

    Where few examples are active, most have not. Return the number of those that have.
    """
    moves, size = alphas.shape[0] - 1, 0
    has_moved = np.zeros(moved.size, dtype=np.bool_)
    for k in range(moves):
        before, after = alphas[k], alphas[k + 1]
        for j in range(moved.size):
            has_moved[j] |= after[j] != before[j]
    for j in range(moved.size):
        moved[size] = j
        size += has_moved[j]
    for k in range(moves):
        before, after = alphas[k], alphas[k + 1]
        for i in range(size):  # in place: i ≤ moved_i
            before[i] = after[moved[i]] - before[moved[i]]
        before, after = ws[k], ws[k + 1]
        for i in range(ws.shape[1]):
            before[i] = after[i] - before[i]
    return size


@kernel_part
def _system(moved, deltas, ws, loss, y, c, lam_n, alpha, w, intercept, H, g):  # type: ignore[no-untyped-def]
    """Gradient and Hessian of F in the span of the moves; of the latter the lower triangle."""
    moves = g.size
    for k in range(moves):
        g[k] = lam_n * _dot(ws[k], w)
        for m in range(k + 1):
            H[k, m] = lam_n * _dot(ws[k], ws[m])
    # Block by block: what is made of one stays in a cache.
    sums, most = np.zeros(moves), min(moved.size, BLOCK)
    first, second, scaled = np.empty(most), np.empty(most), np.empty(most)
    for start in range(0, moved.size, BLOCK):
        size = min(BLOCK, moved.size - start)
        for i in range(size):
            j, first[i], second[i] = moved[start + i], 0.0, 0.0
            if c[j] > 0.0:
                one, two = loss_conjugate_slopes(loss, alpha[j] / c[j], y[j])
                if abs(one) < np.inf and two < np.inf:
                    first[i], second[i] = one + intercept.value(), two / c[j]
        for k in range(moves):
            delta, total = deltas[k, start : start + size], 0.0
            for i in range(size):
                scaled[i] = second[i] * delta[i]
                total += delta[i]
            sums[k] += total
            g[k] += _dot(delta, first)
            for m in range(k + 1):
                H[k, m] += _dot(deltas[m, start : start + size], scaled)
    for k in range(moves):
        for m in range(k + 1):
            H[k, m] += intercept.shift * sums[k] * sums[m]


@reordered_kernel
def _dot(one, two):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(one.size):
        total += one[i] * two[i]
    return total


@reordered_kernel
def _size(one):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(one.size):
        total += abs(one[i])
    return total


@kernel
def _copy(row, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = row[i]


@kernel
def _add(row, scale, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] += scale * row[i]
