"""ESO parameters: the parts that the formulas of several samplings share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from .._numba.compile import kernel
from .._types import FloatArray, IntArray
from ..problem import Coordinates
from .base import Sampling

# Rounds of p → s(p) → p for samplings whose ESO depends on p.
_PLANNING_ROUNDS = 5


def serial_eso(side: Coordinates) -> FloatArray:
    """v_i = ‖row_i‖², eq. (7), the entry shared by all rows included."""
    return side.squared_norms + side.constant if side.constant else side.squared_norms


def column_weights(side: Coordinates) -> FloatArray:
    """The weight of each column, 1 where there are none."""
    return np.ones(side.width) if side.column_weights is None else side.column_weights


def weighted_squares(side: Coordinates, factors: FloatArray, shared: float) -> FloatArray:
    """Σ_j factors_j X_ij², plus ``shared`` times the constant entry all rows may have."""
    weights = factors if side.column_weights is None else factors * side.column_weights
    return side.matrix.squared_norms(side.by, weights) + shared * side.constant


def column_counts(side: Coordinates) -> IntArray:
    """ω_j, the number of coordinates that meet column j."""
    return side.matrix.counts("example" if side.by == "feature" else "feature")


def _iterations(side: Coordinates, sampling: Sampling, v: FloatArray) -> float:
    """K = max_i (β v_i + λn)/(p_i λn), eqs. (8), (9)."""
    return float((side.curvature(v) / (sampling.probabilities() * side.lam_n)).max())


def best_bound(
    side: Coordinates, sampling: Sampling, bound: str, known: dict[str, Any]
) -> FloatArray:
    """The vector of the bound asked for; "best" is the whole vector with the smallest K."""
    if bound == "best":
        return min(
            (make() for make in known.values()), key=lambda v: _iterations(side, sampling, v)
        )
    if bound not in known:
        raise ValueError(f"bound must be one of {', '.join(known)} or best, got {bound!r}.")
    return known[bound]()


def planned(side: Coordinates, update: Any) -> Any:
    """Iterate p ← update(s(p)) from the serial s and keep the sampling with the smallest K."""
    best, smallest = None, math.inf
    s = side.curvature(serial_eso(side))
    for _ in range(_PLANNING_ROUNDS):
        sampling = update(s)
        v = sampling.eso(side)
        iterations = _iterations(side, sampling, v)
        if iterations < smallest:
            best, smallest = sampling, iterations
        s = side.curvature(v)
    return best


def water_filling(s: FloatArray, tau: float) -> FloatArray:
    """p_i = min(1, c s_i) with Σ p_i = tau (water-filling)."""
    order = np.argsort(-s)
    rest = np.cumsum(s[order][::-1])[::-1]  # Σ of s over what is left after k full ones
    full = np.arange(len(s))
    fits = s[order] * (tau - full) <= rest  # with k full ones, the next is not above 1
    k = int(np.argmax(fits)) if fits.any() else len(s)
    p = np.ones(len(s))
    if k < len(s):
        p[order[k:]] = s[order[k:]] * ((tau - k) / rest[k])
    return np.clip(p, np.finfo(float).tiny, 1.0)


def spectral_spread(side: Coordinates) -> float:
    """σ = λ_max(D^{-1/2} X Xᵀ D^{-1/2}), D = Diag(X Xᵀ), never underestimated.

    1 ≤ σ ≤ max_j ω_j; it says how strongly the coordinates interact. Small sides are solved
    exactly; on large ones the converged Lanczos estimate is raised by 1 %.
    """
    norms = serial_eso(side)
    if not norms.any():
        return 1.0
    scale = np.divide(1.0, np.sqrt(norms), out=np.zeros(side.size), where=norms > 0)
    weights = column_weights(side)
    times, transposed_times = side.matrix.times, side.matrix.transposed_times
    to_columns = times if side.by == "feature" else transposed_times
    to_rows = transposed_times if side.by == "feature" else times

    def product(h: FloatArray) -> FloatArray:
        h = scale * np.ravel(h)
        return scale * (to_rows(weights * to_columns(h)) + side.constant * h.sum())

    if side.size <= 64:
        gram = np.stack([product(e) for e in np.eye(side.size)])
        return max(1.0, float(np.linalg.eigvalsh((gram + gram.T) / 2)[-1]))
    operator = LinearOperator((side.size, side.size), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(side.size)
    estimate = eigsh(operator, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)
    most = float(column_counts(side).max()) if not side.constant else math.inf
    return max(1.0, min(1.01 * float(estimate[0]), most))


@kernel
def pattern_sums(rows, p, out):  # type: ignore[no-untyped-def]
    """out_j += Σ p_i over the rows i that have an entry in column j."""
    for i in range(p.size):
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            out[rows.indices[k]] += p[i]


@kernel
def groups_met(rows, group_of, order, out):  # type: ignore[no-untyped-def]
    """out_j = the number of groups with a row that has an entry in column j."""
    last = np.full(out.size, -1)
    for i in order:
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.indices[k]
            if last[j] != group_of[i]:
                last[j] = group_of[i]
                out[j] += 1


@kernel
def own_bucket_squares(rows, p, bucket_of, order, weights, out):  # type: ignore[no-untyped-def]
    """out_i = Σ_j δ_{j,B(i)} c_j X_ij², bucket by bucket; ``order`` lists rows by bucket."""
    mass = np.zeros(weights.size)  # δ_{j,B} of the current bucket
    first = 0
    while first < order.size:
        last = first
        while last < order.size and bucket_of[order[last]] == bucket_of[order[first]]:
            i = order[last]
            for k in range(rows.indptr[i], rows.indptr[i + 1]):
                mass[rows.indices[k]] += p[i]
            last += 1
        for i in order[first:last]:
            for k in range(rows.indptr[i], rows.indptr[i + 1]):
                j = rows.indices[k]
                x = np.float64(rows.values[k])
                out[i] += mass[j] * weights[j] * x * x
        for i in order[first:last]:
            for k in range(rows.indptr[i], rows.indptr[i + 1]):
                mass[rows.indices[k]] = 0.0
        first = last
