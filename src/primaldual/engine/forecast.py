"""Which side of coordinate descent should be faster: for ``advise``, which may look closer.

The engine has no time for it; what it does before its first step is in ``choice``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, eigh_tridiagonal

from .._types import FloatArray
from ..methods.engine.second_order import hessian_work
from ..problem import Problem
from .choice import crowded, descent_choice, sample_size, sampled
from .prices import (
    EPOCHS_PER_BOUND,
    FLOP,
    FREE_BOUND,
    LEAST_EPOCHS,
    SCATTERED,
    dual_bound,
    epoch_price,
    nearly_orthogonal,
    product_price,
)

# Coordinate descent takes about so many passes to six digits: this times the root of T/‖X‖₀, fewer
# where that is small, or this times that power of one over the smallest eigenvalue of the Hessian
# in unit diagonal. Measured on 900 problems, within a factor of two or three. The curvature of a
# loss that is not quadratic is about this part of β.
BOUND_PASSES = 10.4
BY_SPECTRUM, PASSES_POWER = {"primal": 8.0, "dual": 1.5}, 0.7
# At best it takes so many; on the dual, where the examples are not nearly orthogonal. On the primal
# it may be so many times more, where the features are so full that they should overlap.
AT_BEST = {"primal": 8.0, "dual": 15.0}
CROWDED = {"sparse": 10.0, "dense": 2.0}
TYPICAL_CURVATURE = 0.4
# Up to so many coordinates all eigenvalues can be had; else by so many steps of Lanczos.
DENSE_SPECTRUM, LANCZOS_STEPS = 500, 60
# They are worth at most this part of the geometric mean of what the side with the bound should cost
# and the other one at best, and about the latter. Beside making the matrix they take so many
# nanoseconds for a call, for an entry, and times the cube of its size.
LOOK, DEAREST_LOOK = 0.3, 1.2
EIGEN_CALL, EIGEN_ENTRY, EIGEN_FLOP = 250_000.0, 3.0, 0.07
# No eigenvalue is taken for smaller, nor looked for where the diagonal is larger than this.
TINIEST, HUGE = 1e-15, 1e300


class Likely(NamedTuple):
    """The side of coordinate descent that should be faster."""

    method: str
    why: str
    # By which it should be; infinite if there is no question, NaN if the data was not looked at.
    factor: float


def likely_side(problem: Problem, tol: float = 1e-6, closely: bool = False) -> Likely:
    """As ``descent_choice``, from a closer look at the data than a solve can afford.

    Passes of coordinate descent follow the condition of its side: on the side with more
    coordinates than the data has dimensions that is T, on the other one the smallest eigenvalue of
    the Hessian scaled to unit diagonal. With n < d the latter is of use for dense data and the
    squared loss alone: else the dual is faster than its eigenvalue says. The eigenvalue is looked
    at where it can decide and costs little beside what is at stake, or ``closely`` in any case.
    """
    quadratic = problem.loss.quadratic
    tall = problem.n >= problem.d
    few = problem.n <= DENSE_SPECTRUM and quadratic and not problem.matrix.is_sparse
    if not problem.is_smooth or not (tall or (few and not nearly_orthogonal(problem))):
        return Likely(*descent_choice(problem, tol), math.inf)
    digits = math.log(1.0 / min(max(tol, 1e-15), 0.1)) / math.log(1e6)
    prices = {"primal": epoch_price(problem, "primal_cd") / 3}
    prices["dual"] = epoch_price(problem, "dual_cd")
    # The passes of one side follow from its bound; the other one needs these, or more.
    bounded, seen = ("dual", "primal") if tall else ("primal", "dual")
    bound = dual_bound(problem) if tall else problem.features.bound
    at_best = AT_BEST[seen]
    if not tall:
        at_best = min(at_best, _passes_by_bound(dual_bound(problem)))
    passes = {bounded: digits * _passes_by_bound(bound), seen: digits * at_best}
    costs = {side: passes[side] * prices[side] for side in passes}
    about = f"about {passes[bounded]:.2g} passes on the {bounded} side, by its T, and"
    if tall and costs[bounded] <= costs[seen]:
        why = f"{about} no fewer than {passes[seen]:.2g} on the {seen} side"
        return Likely(f"{bounded}_cd", why, math.inf)
    stake = LOOK * math.sqrt(costs[bounded]) * math.sqrt(costs[seen])
    if not closely and _look_price(problem) > min(stake, DEAREST_LOOK * costs[seen]):
        if not tall:
            return Likely(*descent_choice(problem, tol), math.nan)
        if crowded(problem):
            passes[seen] *= CROWDED["sparse" if problem.matrix.is_sparse else "dense"]
        name = min(passes, key=lambda side: passes[side] * prices[side])
        why = f"{about} perhaps {passes[seen]:.2g} on the {seen} side; to look would take too long"
        return Likely(f"{name}_cd", why, math.nan)
    smallest = smallest_eigenvalue(problem, "feature" if tall else "example")
    passes[seen] = digits * BY_SPECTRUM[seen] * smallest**-PASSES_POWER
    costs[seen] = passes[seen] * prices[seen]
    name = min(costs, key=lambda side: costs[side])
    why = f"{about} {passes[seen]:.2g} on the {seen} side, by its spectrum"
    return Likely(f"{name}_cd", why, max(costs.values()) / costs[name])


def _look_price(problem: Problem) -> float:
    """What ``smallest_eigenvalue`` costs, by feature with n ≥ d and by example otherwise."""
    if problem.n >= problem.d:
        size, part, work = problem.d, sample_size(problem) / problem.n, hessian_work(problem)
    else:
        size, part, work = problem.n, 1.0, float(problem.n) ** 2 * problem.d / 2
    part = min(part, 1.0)
    if size > DENSE_SPECTRUM:
        return LANCZOS_STEPS * part * product_price(problem)
    matrix = part * work * (SCATTERED if problem.matrix.is_sparse else FLOP)
    return matrix + EIGEN_CALL + EIGEN_ENTRY * size**2 + EIGEN_FLOP * size**3


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
    if not problem.loss.quadratic:
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
