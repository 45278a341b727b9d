"""Extrapolation of coordinate descent on the dual: the best point in the span of its last epochs.

Where descent is slow, its epochs go on in nearly the same few directions. D is maximised over all
combinations of the last moves of α at the price of a few vectors, without a look at the data: the
moves of w = w(α) belong to them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._compile import kernel, reordered_kernel
from .._types import FloatArray
from ..losses import loss_conjugate_slopes, loss_nearest_dual
from ..problem import Problem
from ..rows import row_add
from .newton import solve_in_place

# The moves of so many epochs are combined; fewer where so many points would take more than this
# part of the data's memory, and more than a few bytes.
MOVES, FEWEST_MOVES = 5, 2
MEMORY, FEW_BYTES = 0.4, 4e6
# Of the way to an end of its domain at which a conjugate is infinitely steep, only this part.
INSIDE = 0.9
# Shorter steps that are tried, each half of the one before.
TRIES = 3
# Moves smaller than this part of α, and combinations with larger numbers than this, would carry
# their rounding errors into w.
SMALLEST_MOVE, LARGEST_SHARE = 1e-9, 1e3


class Past(NamedTuple):
    """The points after the last epochs; row 0 is the oldest."""

    alphas: FloatArray
    ws: FloatArray


def no_past() -> Past:
    """Room for nothing: there is no extrapolation."""
    return Past(np.empty((0, 0)), np.empty((0, 0)))


def room_for_past(problem: Problem) -> Past:
    """Room for as many points as fit."""
    if not hasattr(type(problem.loss), "conjugate_slopes"):
        return no_past()
    n, d = problem.n, problem.d
    bytes_of_data = problem.matrix.nnz * (problem.matrix.dtype.itemsize + 4.0)
    points = int(max(MEMORY * bytes_of_data, FEW_BYTES) // (8 * (n + d)))
    points = min(points, MOVES + 1)
    return (
        Past(np.empty((points, n)), np.empty((points, d))) if points > FEWEST_MOVES else no_past()
    )


@kernel
def remember(past, known, alpha, w):  # type: ignore[no-untyped-def]
    """Keep a point behind those that are known; return how many are known now."""
    past.alphas[known] = alpha
    past.ws[known] = w
    return known + 1


@kernel
def extrapolate(past, examples, loss, y, c, lam_n, alpha, w, bias, shift):  # type: ignore[no-untyped-def]
    """Move α and w to about the best point in the span of the moves, if that is better.

    F(α) = Σ_j c_j φ*(−α_j/c_j) + (λn/2) ‖w(α)‖², and the intercept's part, is what −nD is. One
    Newton step in the span, then into the domain of φ*. By convexity the new point α' is better if
    ⟨F'(α'), α' − α⟩ ≤ 0. The moves are left in ``past``. Return whether α has moved.
    """
    moves = past.alphas.shape[0] - 1
    for k in range(moves):
        for j in range(alpha.size):
            past.alphas[k, j] = past.alphas[k + 1, j] - past.alphas[k, j]
        for i in range(w.size):
            past.ws[k, i] = past.ws[k + 1, i] - past.ws[k, i]
    if not np.abs(past.alphas[moves - 1]).sum() > SMALLEST_MOVE * np.abs(alpha).sum():
        return False
    H, g = np.zeros((moves, moves)), np.zeros(moves)
    _system(past, loss, y, c, lam_n, alpha, w, bias, shift, H, g)
    if not (solve_in_place(H, g) and np.abs(g).max() <= LARGEST_SHARE):
        return False
    # The last rows are free: there goes the new point.
    new, new_w = past.alphas[moves], past.ws[moves]
    for _ in range(TRIES):
        new_w[:] = w
        new[:] = alpha
        for k in range(moves):
            _add(past.ws[k], -g[k], new_w)
            _add(past.alphas[k], -g[k], new)
        slope, total = 0.0, 0.0
        for j in range(alpha.size):
            aim = new[j]
            if aim != alpha[j]:
                new[j] = c[j] * loss_nearest_dual(loss, aim / c[j], y[j])
                first = loss_conjugate_slopes(loss, new[j] / c[j], y[j])[0]
                if not abs(first) < np.inf:
                    new[j] = alpha[j] + INSIDE * (new[j] - alpha[j])
                    first = loss_conjugate_slopes(loss, new[j] / c[j], y[j])[0]
                slope += first * (new[j] - alpha[j])
                if new[j] != aim:
                    row_add(examples, j, (new[j] - aim) / lam_n, new_w)
            total += new[j]
        slope += (bias[0] + shift * total) * (total - bias[1])
        for i in range(w.size):
            slope += lam_n * new_w[i] * (new_w[i] - w[i])
        if slope <= 0.0:
            alpha[:] = new
            w[:] = new_w
            bias[1] = total
            return True
        g *= 0.5
    return False


@kernel
def _system(past, loss, y, c, lam_n, alpha, w, bias, shift, H, g):  # type: ignore[no-untyped-def]
    """Gradient and Hessian of F in the span of the moves; of the latter the lower triangle."""
    moves = g.size
    first, second = np.zeros(alpha.size), np.zeros(alpha.size)
    for j in range(alpha.size):
        if c[j] > 0.0:
            one, two = loss_conjugate_slopes(loss, alpha[j] / c[j], y[j])
            if abs(one) < np.inf and two < np.inf:
                first[j], second[j] = one + bias[0] + shift * bias[1], two / c[j]
    for k in range(moves):
        sum_k = past.alphas[k].sum()
        bent = second * past.alphas[k]
        g[k] = lam_n * _dot(past.ws[k], w) + _dot(past.alphas[k], first)
        for m in range(k + 1):
            H[k, m] = lam_n * _dot(past.ws[k], past.ws[m]) + _dot(bent, past.alphas[m])
            H[k, m] += shift * sum_k * past.alphas[m].sum()


@reordered_kernel
def _dot(one, two):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(one.size):
        total += one[i] * two[i]
    return total


@kernel
def _add(row, scale, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] += scale * row[i]
