"""Fits without a penalty: ``C=inf``, ``alpha=0``, ``penalty=None``.

Without λ there is no strongly concave dual, and perhaps no optimum. What is solved is the problem
with a λ so small that it moves the coefficients by about the rounding error of a factorisation. Its
dual bound holds for every w', and P_λ(w') = P(w') + (λ/2)‖w'‖², so that

    P(w') ≥ D_λ(α) − (λ/2) R²      for all ‖w'‖ ≤ R = REACH ‖w‖.

That is what ``dual_gap_`` certifies: no coefficients up to REACH times as long have an objective
lower by more than ``dual_gap_`` times its value at zero. Where a loss bounded below by 0 is closer
to 0 than that (separable classes), 0 is the bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..problem import Problem
from ..result import Result

# λ in units of the smallest variance of a feature: it moves a coefficient by this fraction divided
# by the smallest eigenvalue in the same units, 1e-8 where features are correlated by 0.9999.
TINY = 1e-12
# λ in units of the mean variance, at least: below that it is lost in the rounding of XᵀX.
LEAST = 1e-17
# The certificate speaks of coefficients up to this many times as long as the fitted ones.
REACH = 10.0
# The rank is found by a decomposition where the smaller side of X is at most this long, and X
# has at most this many entries.
MOST_RANK_SIDE, MOST_RANK_ENTRIES = 1000, 10_000_000


def tiny_lam(X: Any) -> float:
    """A λ that is next to nothing for this data."""
    if sparse.issparse(X):
        squares = X.multiply(X).mean(axis=0)
        variances = np.ravel(squares) - np.ravel(X.mean(axis=0)) ** 2
    else:
        variances = X.var(axis=0, dtype=np.float64)
    known = variances[variances > 0]
    return max(TINY * float(known.min()), LEAST * float(known.mean())) if len(known) else TINY


def relative_gap(result: Result) -> float:
    """The certified gap of the unpenalised problem, in units of P(0)."""
    problem, proof = result.problem, result.certificate
    penalty = 0.5 * problem.lam * float(np.vdot(result.w, result.w))
    gap = proof.gap + (REACH**2 - 1.0) * penalty
    if problem.is_smooth:  # all losses that come here are at least 0
        gap = min(gap, max(proof.primal - penalty, 0.0))
    return problem.relative(gap)


def obstacle(X: Any, result: Result, fit_intercept: bool) -> str | None:
    """Why the unpenalised optimum does not exist or is not unique, in a sentence; None if neither.

    Classes are found separable exactly; the rank only where a decomposition is cheap.
    """
    if _separates(result):
        return (
            "The classes are separable, or one is from the others: without a penalty coefficients "
            "grow without limit, and there is no optimum. Those of a tiny penalty are kept."
        )
    if _is_deficient(X, fit_intercept):
        return (
            "X is rank deficient: without a penalty the optimum is not unique. The coefficients of "
            "smallest norm among the best are kept."
        )
    return None


def _separates(result: Result) -> bool:
    """Whether w separates the classes, or one of them from all others."""
    problem: Any = result.problem
    if isinstance(problem, Problem):
        if problem.classes is None:
            return False
        lead = problem.y * (problem.margins(result.w) + result.intercept)
        return bool((lead[problem.sample_weight > 0] > 0).all())
    present = problem.sample_weight > 0
    z, codes = (problem.margins(result.w) + result.intercept)[present], problem.codes[present]
    every = np.arange(len(z))
    own = z[every, codes].copy()
    z[every, codes] = -np.inf
    wins = own > z.max(axis=1)
    for k in range(len(problem.classes)):
        mine = codes == k
        if wins[mine].all() and (z[~mine, k] < own[~mine]).all():
            return True
    return False


def _is_deficient(X: Any, fit_intercept: bool) -> bool:
    """Whether the columns of X, and 1 if there is an intercept, are linearly dependent."""
    n, d = X.shape
    if d + fit_intercept > n:
        return True
    if d > MOST_RANK_SIDE or n * d > MOST_RANK_ENTRIES:
        return False
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    if fit_intercept:
        dense = dense - dense.mean(axis=0)
    sizes = np.linalg.norm(dense, axis=0)
    if not (sizes > 0).all():
        return True
    return int(np.linalg.matrix_rank(dense / sizes)) < d
