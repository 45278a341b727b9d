"""Which side of coordinate descent should be faster: for ``advise``, which may look closer.

The engine has no time for it; what it does before its first step is in ``choice``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, eigh_tridiagonal

from .._types import FloatArray
from ..problem import Problem
from .choice import descent_choice, sampled
from .prices import (
    EPOCHS_PER_BOUND,
    FREE_BOUND,
    LEAST_EPOCHS,
    bound_in_passes,
    dual_bound,
    epoch_price,
)

# Coordinate descent takes about so many passes to six digits: this times the root of T/‖X‖₀, fewer
# where that is small, or this times that power of one over the smallest eigenvalue of the Hessian
# in unit diagonal. Measured on 900 problems, within a factor of two or three. The curvature of a
# loss that is not quadratic is about this part of β.
BOUND_PASSES = 10.4
PRIMAL_PASSES, DUAL_PASSES, PASSES_POWER = 8.0, 1.5, 0.7
TYPICAL_CURVATURE = 0.4
# Up to so many coordinates all eigenvalues can be had; else by so many steps of Lanczos.
DENSE_SPECTRUM, LANCZOS_STEPS = 500, 60
# No eigenvalue is taken for smaller, nor looked for where the diagonal is larger than this.
TINIEST, HUGE = 1e-15, 1e300


class Likely(NamedTuple):
    """The side of coordinate descent that should be faster."""

    method: str
    why: str
    factor: float  # by which it should be; infinite if the other side was not looked at


def likely_side(problem: Problem, tol: float = 1e-6) -> Likely:
    """As ``descent_choice``, from a closer look at the data than a solve can afford.

    Passes of coordinate descent follow the condition of its side: on the side with more
    coordinates than the data has dimensions that is T, on the other one the smallest eigenvalue of
    the Hessian scaled to unit diagonal. With n < d the latter is of use for dense data and the
    squared loss alone: else the dual is faster than its eigenvalue says.
    """
    quadratic = bool(getattr(problem.loss, "quadratic", False))
    tall = problem.n >= problem.d
    few = problem.n <= DENSE_SPECTRUM and quadratic and not problem.matrix.is_sparse
    if not problem.is_smooth or not (tall or few):
        return Likely(*descent_choice(problem, tol), math.inf)
    digits = math.log(1.0 / min(max(tol, 1e-15), 0.1)) / math.log(1e6)
    smallest = smallest_eigenvalue(problem, "feature" if tall else "example")
    if tall:
        dual = digits * _passes_by_bound(dual_bound(problem))
        primal = digits * PRIMAL_PASSES * smallest**-PASSES_POWER
    else:
        dual = digits * DUAL_PASSES * smallest**-PASSES_POWER
        primal = digits * _passes_by_bound(bound_in_passes(problem.features, dense=True))
    costs = {"primal_cd": primal * epoch_price(problem, "primal_cd") / 3}
    costs["dual_cd"] = dual * epoch_price(problem, "dual_cd")
    name = min(costs, key=lambda method: costs[method])
    why = (
        f"about {dual:.2g} passes on the dual, by {'T_D' if tall else 'its spectrum'}, "
        f"and {primal:.2g} on the primal, by {'its spectrum' if tall else 'T_P'}"
    )
    return Likely(name, why, max(costs.values()) / costs[name])


def _passes_by_bound(bound: float) -> float:
    """Passes to six digits where T/‖X‖₀ is ``bound``: with its root, or in proportion if fewer."""
    short = 1.0 + EPOCHS_PER_BOUND * math.log(1e6) * (bound - FREE_BOUND)
    return max(LEAST_EPOCHS, min(short, BOUND_PASSES * math.sqrt(bound)))


def smallest_eigenvalue(problem: Problem, by: str) -> float:
    """Of h Xᵀ Diag(c) X + λn I, or of its twin by example, scaled to unit diagonal.

    h is a typical φ''. The former is taken from a sample of the examples; with many features some
    steps of Lanczos find the eigenvalue, or a larger number.
    """
    some = sampled(problem) if by == "feature" else problem
    scale = problem.n / some.n * problem.beta
    if not getattr(problem.loss, "quadratic", False):
        scale *= TYPICAL_CURVATURE
    lam_n = problem.lam * problem.n
    side = some.features if by == "feature" else some.examples
    diagonal = scale * side.squared_norms + lam_n
    if not diagonal.max() < HUGE:
        return TINIEST  # numbers whose squares are not: nothing is known
    roots = 1.0 / np.sqrt(diagonal)
    if side.size <= DENSE_SPECTRUM:
        if by == "feature":
            gram = some.matrix.gram_of_features(some.sample_weight)
        else:
            gram = some.matrix.gram_of_examples()
        gram *= scale * np.outer(roots, roots)
        gram[np.diag_indices(side.size)] = 1.0
        found = eigh(gram, lower=True, eigvals_only=True, subset_by_index=[0, 0])[0]
    else:
        found = _lanczos(some, scale, lam_n, roots)
    return float(max(found, lam_n / float(diagonal.max()), TINIEST))


def _lanczos(problem: Problem, scale: float, lam_n: float, roots: FloatArray) -> float:
    """The smallest Ritz value after some steps from a random vector."""
    before, v = np.zeros(problem.d), np.random.default_rng(0).standard_normal(problem.d)
    v /= np.linalg.norm(v)
    along: list[float] = []
    beside: list[float] = []
    for _ in range(min(LANCZOS_STEPS, problem.d)):
        z = problem.matrix.times(roots * v)
        u = roots * (scale * problem.matrix.transposed_times(problem.sample_weight * z))
        u += lam_n * roots**2 * v
        along.append(float(u @ v))
        u -= along[-1] * v + (beside[-1] * before if beside else 0.0)
        beside.append(float(np.linalg.norm(u)))
        if beside[-1] <= 1e-10:
            break
        before, v = v, u / beside[-1]
    return float(eigh_tridiagonal(along, beside[: len(along) - 1], eigvals_only=True)[0])
