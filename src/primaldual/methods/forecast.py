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
from .choice import descent_choice, sample_size, sampled
from .newton import hessian_work
from .prices import (
    EPOCHS_PER_BOUND,
    FLOP,
    FREE_BOUND,
    LEAST_EPOCHS,
    SCATTERED,
    dual_bound,
    epoch_price,
    product_price,
)

# Coordinate descent takes about so many passes to six digits: this times the root of T/‖X‖₀, fewer
# where that is small, or this times that power of one over the smallest eigenvalue of the Hessian
# in unit diagonal. Measured on 900 problems, within a factor of two or three. The curvature of a
# loss that is not quadratic is about this part of β.
BOUND_PASSES = 10.4
PRIMAL_PASSES, PASSES_POWER = 8.0, 0.7
TYPICAL_CURVATURE = 0.4
# Up to so many coordinates all eigenvalues can be had; else by so many steps of Lanczos.
DENSE_SPECTRUM, LANCZOS_STEPS = 500, 60
# They are worth at most this part of what the better side may cost. Beside making the matrix they
# take so many nanoseconds for a call, for an entry, and times the cube of its size.
LOOK = 0.1
EIGEN_CALL, EIGEN_ENTRY, EIGEN_FLOP = 100_000.0, 3.0, 0.07
# No eigenvalue is taken for smaller, nor looked for where the diagonal is larger than this.
TINIEST, HUGE = 1e-15, 1e300


class Likely(NamedTuple):
    """The side of coordinate descent that should be faster."""

    method: str
    why: str
    # By which it should be; infinite if there is no question, NaN if the data was not looked at.
    factor: float


def likely_side(problem: Problem, tol: float = 1e-6, look: float = LOOK) -> Likely:
    """As ``descent_choice``, from a closer look at the data than a solve can afford.

    Passes of coordinate descent follow the condition of its side: on the side with more
    coordinates than the data has dimensions that is T, on the other one the smallest eigenvalue of
    the Hessian scaled to unit diagonal. With n < d the dual is faster than its eigenvalue says. The
    eigenvalue is looked at where it can decide, and costs at most the part ``look`` of a solve.
    """
    if not problem.is_smooth or problem.n < problem.d:
        return Likely(*descent_choice(problem, tol), math.inf)
    digits = math.log(1.0 / min(max(tol, 1e-15), 0.1)) / math.log(1e6)
    dual = digits * _passes_by_bound(dual_bound(problem))
    costs = {"dual_cd": dual * epoch_price(problem, "dual_cd")}
    primal = digits * PRIMAL_PASSES  # at least
    primal_pass = epoch_price(problem, "primal_cd") / 3
    about = f"about {dual:.2g} passes on the dual, by T_D, and"
    if costs["dual_cd"] <= primal * primal_pass:
        return Likely("dual_cd", f"{about} at least {primal:.2g} on the primal", math.inf)
    if _look_price(problem) > look * primal * primal_pass:
        name, why = descent_choice(problem, tol)
        return Likely(name, f"{why}; a closer look would take too long", math.nan)
    primal *= smallest_eigenvalue(problem) ** -PASSES_POWER
    costs["primal_cd"] = primal * primal_pass
    name = min(costs, key=lambda method: costs[method])
    why = f"{about} {primal:.2g} on the primal, by its spectrum"
    return Likely(name, why, max(costs.values()) / costs[name])


def _look_price(problem: Problem) -> float:
    """What ``smallest_eigenvalue`` costs."""
    d, part = problem.d, min(sample_size(problem) / problem.n, 1.0)
    if d > DENSE_SPECTRUM:
        return LANCZOS_STEPS * part * product_price(problem)
    matrix = part * hessian_work(problem) * (SCATTERED if problem.matrix.is_sparse else FLOP)
    return matrix + EIGEN_CALL + EIGEN_ENTRY * d**2 + EIGEN_FLOP * d**3


def _passes_by_bound(bound: float) -> float:
    """Passes to six digits where T/‖X‖₀ is ``bound``: with its root, or in proportion if fewer."""
    short = 1.0 + EPOCHS_PER_BOUND * math.log(1e6) * (bound - FREE_BOUND)
    return max(LEAST_EPOCHS, min(short, BOUND_PASSES * math.sqrt(bound)))


def smallest_eigenvalue(problem: Problem) -> float:
    """Of h Xᵀ Diag(c) X + λn I scaled to unit diagonal, h being a typical φ''.

    It is taken from a sample of the examples; with many features some steps of Lanczos find it, or
    a larger number.
    """
    some = sampled(problem)
    scale = problem.n / some.n * problem.beta
    if not getattr(problem.loss, "quadratic", False):
        scale *= TYPICAL_CURVATURE
    lam_n = problem.lam * problem.n
    diagonal = scale * some.features.squared_norms + lam_n
    if not diagonal.max() < HUGE:
        return TINIEST  # numbers whose squares are not: nothing is known
    roots = 1.0 / np.sqrt(diagonal)
    if problem.d <= DENSE_SPECTRUM:
        gram = some.matrix.gram_of_features(some.sample_weight)
        gram *= scale * np.outer(roots, roots)
        gram[np.diag_indices(problem.d)] = 1.0
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
