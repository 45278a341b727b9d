"""Over all examples: the sums that P(w), D(α) and their gap are made of, and both derivatives.

The sums are compensated, so that many examples cost no digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._numba.compile import inlined, kernel, kernel_part, reordered_kernel
from .._types import FloatArray
from .gaps import SERIES, has_loop_gap, loss_loop_gap, loss_value_and_gap
from .numerical import loss_conjugate
from .operations import (
    loss_local_smoothness,
    loss_loop_derivative,
    loss_loop_value,
    loss_second_derivative,
)

# Sums are compensated from block to block of this number of terms. Inside one, a loss without
# exponentials is evaluated and summed in vector registers, and there is little to lose.
BLOCK = 128


@inlined
def _add(total: float, carry: float, term: float) -> tuple[float, float]:
    """Neumaier's addition: total + carry + term, where carry collects the rounding errors."""
    new = total + term
    if abs(total) >= abs(term):
        carry += (total - new) + term
    else:
        carry += (term - new) + total
    return new, carry


@inlined
def _sum(total: float, carry: float) -> float:
    return total + carry if math.isfinite(total) else total


@reordered_kernel
def _block_sum(terms: FloatArray) -> float:
    total = 0.0
    for k in range(terms.size):
        total += terms[k]
    return total


@kernel
def compensated_sum(terms: FloatArray) -> float:
    """Σ_j terms_j, rounded about once unless all but 1e-16 of the terms cancels."""
    total, carry = 0.0, 0.0
    for j in range(terms.size):
        total, carry = _add(total, carry, terms[j])
    return _sum(total, carry)


@kernel
def sum_values(loss: Any, z: FloatArray, y: FloatArray, c: FloatArray) -> float:
    """Σ_j c_j φ(z_j; y_j); one margin stands for all if there is only one."""
    total, carry, terms = 0.0, 0.0, np.empty(BLOCK)
    for first in range(0, y.size, BLOCK):
        size = np.uint64(min(BLOCK, y.size - first))
        ys, cs = y[first : first + BLOCK], c[first : first + BLOCK]
        if z.size == 1:
            for k in range(size):
                terms[k] = cs[k] * loss_loop_value(loss, z[0], ys[k])
        else:
            zs = z[first : first + BLOCK]
            for k in range(size):
                terms[k] = cs[k] * loss_loop_value(loss, zs[k], ys[k])
        total, carry = _add(total, carry, _block_sum(terms[:size]))
    return _sum(total, carry)


@kernel
def derivatives(loss: Any, z: FloatArray, y: FloatArray, c: FloatArray, out: FloatArray) -> None:
    """out_j = c_j φ'(z_j; y_j)."""
    for j in range(z.shape[0]):
        out[j] = c[j] * loss_loop_derivative(loss, z[j], y[j])


@kernel
def second_derivatives(
    loss: Any, z: FloatArray, y: FloatArray, c: FloatArray, out: FloatArray
) -> None:
    """out_j = c_j φ''(z_j; y_j)."""
    for j in range(z.shape[0]):
        out[j] = c[j] * loss_second_derivative(loss, z[j], y[j])


@kernel
def sum_conjugates(loss: Any, alpha: FloatArray, y: FloatArray, c: FloatArray) -> float:
    """Σ_j c_j φ*(-α_j/c_j), +inf outside the domain; an example of weight 0 must have α_j = 0."""
    total, carry = 0.0, 0.0
    for j in range(alpha.shape[0]):
        if c[j] == 0.0:
            if alpha[j] != 0.0:
                return math.inf
            continue
        term = c[j] * loss_conjugate(loss, alpha[j] / c[j], y[j])
        if term == math.inf:
            return math.inf
        total, carry = _add(total, carry, term)
    return _sum(total, carry)


@kernel
def largest_curvature(
    loss: Any, z: FloatArray, alpha: FloatArray, y: FloatArray, c: FloatArray
) -> float:
    """The largest ``local_smoothness`` of an example that counts, of a smooth loss with β = ∞."""
    largest = 0.0
    for j in range(z.shape[0]):
        if c[j] > 0.0:
            largest = max(largest, loss_local_smoothness(loss, z[j], alpha[j] / c[j], y[j]))
    return largest


def sum_fenchel_gaps(
    loss: Any, z: FloatArray, alpha: FloatArray, y: FloatArray, c: FloatArray
) -> float:
    """Σ_j c_j [φ(z_j; y_j) + φ*(-a_j) + a_j z_j] with a_j = α_j/c_j, each bracket at least 0."""
    return float(sum_values_and_gaps(loss, z, alpha, y, c)[1])


@kernel_part
def sum_values_and_gaps(
    loss: Any, z: FloatArray, alpha: FloatArray, y: FloatArray, c: FloatArray
) -> tuple[float, float, float]:
    """``sum_values`` and ``sum_fenchel_gaps``, which share φ(z_j; y_j), and what rounding may do.

    The third number is Σ_j c_j (|φ(z_j; y_j)| + |a_j z_j|) over the brackets whose terms cancel:
    their errors are a few units of it.
    """
    total, carry, gaps, gaps_carry, noise = 0.0, 0.0, 0.0, 0.0, 0.0
    values_here, gaps_here, doubts = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for k in range(BLOCK):
        doubts[k] = math.inf
    for first in range(0, z.shape[0], BLOCK):
        size = np.uint64(min(BLOCK, z.shape[0] - first))
        zs, alphas = z[first : first + BLOCK], alpha[first : first + BLOCK]
        ys, cs = y[first : first + BLOCK], c[first : first + BLOCK]
        if has_loop_gap(loss):  # loop by loop: all at once would not fit into vector registers
            for k in range(size):
                values_here[k] = cs[k] * loss_loop_value(loss, zs[k], ys[k])
            for k in range(size):
                gap, doubt = loss_loop_gap(loss, zs[k], alphas[k] / cs[k], ys[k])
                gaps_here[k], doubts[k] = cs[k] * gap, doubt
        for k in range(size):
            if not cs[k] > 0.0:
                values_here[k], gaps_here[k] = 0.0, 0.0 if alphas[k] == 0.0 else math.inf
            elif not doubts[k] < SERIES:
                value, gap = loss_value_and_gap(loss, zs[k], alphas[k] / cs[k], ys[k])
                # Not max(0, gap), which would hide a NaN.
                values_here[k], gaps_here[k] = cs[k] * value, 0.0 if gap < 0.0 else cs[k] * gap
                noise += cs[k] * abs(value) + abs(alphas[k] * zs[k])
        total, carry = _add(total, carry, _block_sum(values_here[:size]))
        gaps, gaps_carry = _add(gaps, gaps_carry, _block_sum(gaps_here[:size]))
    return _sum(total, carry), _sum(gaps, gaps_carry), noise
