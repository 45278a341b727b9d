"""The proof of accuracy: P(w), D(α) and their gap, from ``w`` and ``alpha`` alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._numba.compile import kernel, reordered_kernel
from .._types import FloatArray
from ..losses.sums import sum_values, sum_values_and_gaps

if TYPE_CHECKING:
    from .problem import Problem


class Certificate(NamedTuple):
    """A proof of accuracy: P(w) ≥ P* ≥ D(α), computed from ``w`` and ``alpha`` alone."""

    primal: float
    dual: float
    gap: float
    relative_gap: float  # gap / P(0)
    w: FloatArray
    alpha: FloatArray
    intercept: float = 0.0

    def __repr__(self) -> str:
        """The numbers without the vectors."""
        return (
            f"Certificate(primal={self.primal}, dual={self.dual}, gap={self.gap}, "
            f"relative_gap={self.relative_gap})"
        )


class Sums(NamedTuple):
    """What a certificate is made of."""

    losses: float  # Σ_j c_j φ(z_j)
    gaps: float  # Σ_j c_j [φ(z_j) + φ*(−a_j) + a_j z_j]
    size: float  # ‖w‖²
    apart: float  # ‖w − w(α)‖²


def certify(
    problem: Problem, w: FloatArray | None, alpha: FloatArray | None, intercept: float | None
) -> Certificate:
    """What w, α and the intercept prove; those that are missing are filled in."""
    if w is None or alpha is None:
        # A point that has run away overflows: then the gap is infinite, and no warning is needed.
        with np.errstate(over="ignore", invalid="ignore"):
            return _completed(problem, w, alpha, intercept)
    z, product = problem.matrix.products(w, alpha)
    b = _shift(problem, z, intercept)
    sums = _sums(
        problem.loss, z, problem.y, problem.sample_weight, alpha, w, product,
        problem.lam * problem.n,
    )  # fmt: skip
    return _proof(problem, w, alpha, b, sums)


def _completed(
    problem: Problem, w: FloatArray | None, alpha: FloatArray | None, intercept: float | None
) -> Certificate:
    """What a pair proves of which one half is made from the other."""
    if w is None:
        assert alpha is not None
        w = problem.primal_point(alpha)
    z = problem.matrix.times(w)
    b = _shift(problem, z, intercept)
    y, c = problem.y, problem.sample_weight
    if alpha is not None:
        losses, gaps = sum_values_and_gaps(problem.loss, z, alpha, y, c)
        return _proof(problem, w, alpha, b, Sums(losses, gaps, float(w @ w), 0.0))
    alpha = problem.dual_point(z)
    if not problem.is_smooth:
        # A subgradient at the best intercept need not be the balanced one.
        alpha = problem.rebalanced(alpha)
        losses, gaps = sum_values_and_gaps(problem.loss, z, alpha, y, c)
    else:
        losses, gaps = sum_values(problem.loss, z, y, c), 0.0
    size, apart = _distance(w, problem.primal_point(alpha))
    return _proof(problem, w, alpha, b, Sums(losses, gaps, size, apart))


def _shift(problem: Problem, z: FloatArray, intercept: float | None) -> float:
    """The intercept, or the best one, added to the margins."""
    b = problem.best_intercept(z) if intercept is None else float(intercept)
    if b:
        z += b
    return b


def _proof(problem: Problem, w: FloatArray, alpha: FloatArray, b: float, sums: Sums) -> Certificate:
    """What the sums prove."""
    losses, gaps, size, apart = sums
    primal, gap = losses / problem.n + 0.5 * problem.lam * size, math.inf
    if math.isfinite(primal) and problem.balanced(alpha):
        gap = gaps / problem.n + 0.5 * problem.lam * apart
        if b:
            gap += abs(b * float(alpha.sum())) / problem.n
    dual = primal - gap if gap < math.inf else -math.inf
    return Certificate(primal, dual, gap, problem.relative(gap), w, alpha, b)


@kernel
def _sums(loss, z, y, c, alpha, w, product, lam_n):  # type: ignore[no-untyped-def]
    """All four sums in one call, for w(α) = product/(λn)."""
    losses, gaps = sum_values_and_gaps(loss, z, alpha, y, c)
    for i in range(product.size):
        product[i] /= lam_n
    size, apart = _distance(w, product)
    return losses, gaps, size, apart


@reordered_kernel
def _distance(w, other):  # type: ignore[no-untyped-def]
    """‖w‖² and ‖w − other‖²."""
    size, apart = 0.0, 0.0
    for i in range(w.size):
        size += w[i] * w[i]
        apart += (w[i] - other[i]) * (w[i] - other[i])
    return size, apart
