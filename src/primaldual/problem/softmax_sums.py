"""Sums over the examples of the softmax loss, compiled: one reading of the scores each.

Scores are z_jk + b_k; q_j = softmax of them, and α_j = c_j (e_{y_j} − q_j).
"""

from __future__ import annotations

import math

import numpy as np

from .._numba.compile import inlined, kernel
from .._types import FloatArray
from ..losses.vector_math import exp_below_zero

# A dual point is taken as feasible if every q_jk is at least −LEAST_PROBABILITY and every Σ_k q_jk
# is 1 up to SUM_TOLERANCE: what rounding makes of a feasible one.
LEAST_PROBABILITY, SUM_TOLERANCE = 1e-14, 1e-12


@inlined
def exponentials(z: FloatArray, b: FloatArray, out: FloatArray) -> tuple[float, float]:
    """Fill in exp(z_k + b_k − top); the largest score, top, and the sum without its own 1."""
    top, at = z[0] + b[0], 0
    for k in range(1, z.size):
        if z[k] + b[k] > top:
            top, at = z[k] + b[k], k
    for k in range(z.size):
        out[k] = exp_below_zero(z[k] + b[k] - top)
    others = 0.0
    for k in range(at):
        others += out[k]
    for k in range(at + 1, z.size):
        others += out[k]
    return top, others


@kernel
def softmax_loss(z, b, codes, c):  # type: ignore[no-untyped-def]
    """Σ_j c_j [log Σ_k exp(z_jk + b_k) − z_j,y_j − b_y_j], by compensated summation."""
    total, carry, scratch = 0.0, 0.0, np.empty(z.shape[1])
    for j in range(z.shape[0]):
        top, others = exponentials(z[j], b, scratch)
        term = c[j] * (math.log1p(others) + (top - (z[j, codes[j]] + b[codes[j]])))
        new = total + term
        carry += (total - new) + term
        total = new
    return total + carry if total < np.inf else total


@inlined
def dual_row(exps: FloatArray, others: float, y: int, weight: float, sums: FloatArray) -> float:
    """Turn the exponentials of an example into α_j; add it to ``sums``, return α_j,y.

    The entry of y is the sum of the others, so that no digits are lost.
    """
    rest, unit = 0.0, weight / (1.0 + others)
    for k in range(y):
        rest += exps[k]
    for k in range(y + 1, exps.size):
        rest += exps[k]
    for k in range(exps.size):
        exps[k] *= -unit
    exps[y] = rest * unit
    for k in range(exps.size):
        sums[k] += exps[k]
    return rest * unit


@kernel
def softmax_dual(z, b, codes, c, alpha, sums):  # type: ignore[no-untyped-def]
    """α_j and, into ``sums``, Σ_j α_j; return Σ_jk |α_jk|."""
    size = 0.0
    sums[:] = 0.0
    for j in range(z.shape[0]):
        _, others = exponentials(z[j], b, alpha[j])
        size += 2.0 * dual_row(alpha[j], others, codes[j], c[j], sums)
    return size


@kernel
def move(z, change, step, codes, c, alpha, sums):  # type: ignore[no-untyped-def]
    """Add ``step`` times a change to the scores; α there, and return the loss.

    ``sums`` becomes Σ_j α_jk and Σ_j |α_jk|, of shape (2, K).
    """
    total, carry, none = 0.0, 0.0, np.zeros(z.shape[1])
    sums[:] = 0.0
    for j in range(z.shape[0]):
        mine = z[j]
        for k in range(mine.size):
            mine[k] += step * change[j, k]
        top, others = exponentials(mine, none, alpha[j])
        term = c[j] * (math.log1p(others) + (top - mine[codes[j]]))
        sums[1, codes[j]] += 2.0 * dual_row(alpha[j], others, codes[j], c[j], sums[0])
        new = total + term
        carry += (total - new) + term
        total = new
    for k in range(sums.shape[1]):
        sums[1, k] -= sums[0, k]  # only that of its own class is positive
    return total + carry if total < np.inf else total


@kernel
def curve(u, alpha, codes, c, out, sums):  # type: ignore[no-untyped-def]
    """c_j (q_j ∘ u_j − q_j ⟨q_j, u_j⟩), q_j that of ``alpha``, and the sums over all examples."""
    sums[:] = 0.0
    for j in range(u.shape[0]):
        mine, own, fill, y, weight = u[j], alpha[j], out[j], codes[j], c[j]
        if weight == 0.0:
            fill[:] = 0.0
            continue
        # −c_j q_jk is α_jk, but for the class of the example.
        mean = -weight * mine[y]
        for k in range(mine.size):
            mean += own[k] * mine[k]
        mean /= -weight
        for k in range(mine.size):
            fill[k] = -own[k] * (mine[k] - mean)
        fill[y] = (weight - own[y]) * (mine[y] - mean)
        for k in range(mine.size):
            sums[k] += fill[k]


@kernel
def spread(alpha, codes, c, out):  # type: ignore[no-untyped-def]
    """c_j Σ_k q_jk (1 − q_jk), for every example."""
    for j in range(alpha.shape[0]):
        mine, square, y = alpha[j], 0.0, codes[j]
        if c[j] == 0.0:
            out[j] = 0.0
            continue
        for k in range(mine.size):
            square += mine[k] * mine[k]
        # With p = 1 − q_jy: Σ q (1 − q) = 1 − (1 − p)² − Σ_{k≠y} q².
        p = mine[y] / c[j]
        out[j] = c[j] * max(2.0 * p - square / (c[j] * c[j]), 0.0)


@kernel
def mean_curvature(alpha, codes, c, every, out):  # type: ignore[no-untyped-def]
    """Σ_j c_j (Diag(q_j) − q_j q_jᵀ), q_j that of ``alpha``, of one example in ``every``."""
    q = np.empty(alpha.shape[1])
    out[:] = 0.0
    for j in range(0, alpha.shape[0], every):
        if c[j] > 0.0:
            mine, scale = alpha[j], -1.0 / c[j]
            for k in range(q.size):
                q[k] = scale * mine[k]
            q[codes[j]] += 1.0
            for k in range(q.size):
                line, x = out[k], c[j] * q[k]
                for m in range(k):
                    line[m] -= x * q[m]
                line[k] += x * (1.0 - q[k])
    for k in range(q.size):
        for m in range(k):
            out[m, k] = out[k, m]


@kernel
def softmax_divergence(alpha, ours, codes, c):  # type: ignore[no-untyped-def]
    """Σ_j c_j KL(q_j ‖ p_j), q_j of ``alpha`` and p_j of ``ours``; infinite outside the domain."""
    total = 0.0
    for j in range(alpha.shape[0]):
        if c[j] == 0.0:
            for k in range(alpha.shape[1]):
                if alpha[j, k] != 0.0:
                    return np.inf
            continue
        each, sum_q = 0.0, 0.0
        for k in range(alpha.shape[1]):
            own = 1.0 if k == codes[j] else 0.0
            q, p = own - alpha[j, k] / c[j], max(own - ours[j, k] / c[j], 1e-300)
            sum_q += q
            if not q >= -LEAST_PROBABILITY:
                return np.inf
            each += p if q <= 0.0 else q * math.log(q / p) - q + p
        if not abs(sum_q - 1.0) <= SUM_TOLERANCE:
            return np.inf
        total += c[j] * max(each, 0.0)
    return total
