"""How far rounding may put a certificate off: bounds on the errors of its sums.

Let e_j bound the error of the margin z_j, and u that of w(α). For a β-smooth loss a gap
g_j = φ(z_j) + φ*(−a_j) + a_j z_j has (a_j + φ'(z_j))² ≤ 2β g_j, so that at z_j ± e_j it is at most
(√g_j + √(β/2) e_j)². By Minkowski's inequality the gap of exact arithmetic is at most

    (√G + √(β/2) E)² + (λ/2) (‖w − w(α)‖ + ‖u‖)²,   G = Σ c_j g_j/n,   E² = Σ c_j e_j²/n.

For a smooth loss whose φ'' has no bound, β is a bound of it between each z_j and the point where
φ' = −a_j. For a loss with kinks whose slopes span L, it is at most G + L E + ….
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._types import FloatArray
from ..data.exact import UNIT, Sum

if TYPE_CHECKING:
    from .base import LinearProblem

# What is accepted of rounding: this fraction of the gap, or this fraction of the tolerance; below
# LEAST_TOLERANCE the tolerance counts as that.
ACCEPTED, ACCEPTED_OF_TOLERANCE = 0.01, 0.1
LEAST_TOLERANCE = 1e-15
# The relative gap to be proved where none is given: that of a problem solved to rounding.
CERTIFIED_TOLERANCE = 1e-12
# Roundings of a loss, its conjugate and a product, in units of the sum of their sizes: about two
# of each.
SCALAR = 4.0


class Rounding(NamedTuple):
    """Bounds on the errors of what a certificate is made of."""

    margins: float  # E
    point: float  # ‖u‖


class Norms(NamedTuple):
    """The size of the data."""

    square: float  # Σ_j ‖x_j‖²
    weighted: float  # Σ_j c_j ‖x_j‖², or more
    example: int  # the most entries of an example
    feature: int  # the most entries of a feature


def by_norm(problem: Any, norms: Norms, w_square: float, alpha_square: float, b: float) -> Rounding:
    """The bounds by the Frobenius norm of the data, which cost nothing.

    A sum of m terms, made in any order, is off by at most about m UNIT times the sum of their
    sizes; that sum is bounded by Cauchy's inequality.
    """
    sizes = math.sqrt(norms.weighted / problem.n) * math.sqrt(w_square) + b
    points = math.sqrt(norms.square) * math.sqrt(alpha_square) / (problem.lam * problem.n)
    return Rounding((norms.example + 4) * UNIT * sizes, (norms.feature + 4) * UNIT * points)


def by_rows(problem: LinearProblem, w: FloatArray, alpha: FloatArray, b: float) -> Rounding:
    """The bounds by the norms of all rows and columns: they do not suffer from different units.

    Σ_i ‖X_i‖ |w_i| bounds the norm of all Σ_i |x_ji w_i|, by the triangle inequality.
    """
    terms = problem.matrix.longest
    columns, rows = problem.features.squared_norms, problem.examples.squared_norms
    sizes = np.sqrt(columns) @ np.abs(w).T  # one number, or one per class
    points = np.sqrt(rows) @ np.abs(alpha)
    return Rounding(
        (terms[0] + 4) * UNIT * (float(np.linalg.norm(sizes)) / math.sqrt(problem.n) + b),
        (terms[1] + 4) * UNIT * float(np.linalg.norm(points)) / (problem.lam * problem.n),
    )


def by_products(problem: LinearProblem, z: Sum, product: Sum, b: float) -> Rounding:
    """The bounds where both products were made in twice the precision."""
    c = problem.sample_weight if z.error.ndim == 1 else problem.sample_weight[:, None]
    margins = math.sqrt(float(np.sum(c * np.square(z.error + UNIT * (np.abs(z.value) + b)))))
    lam_n = problem.lam * problem.n
    point = float(np.linalg.norm(product.error + 3 * UNIT * np.abs(product.value))) / lam_n
    return Rounding(margins / math.sqrt(problem.n), point)


def excess(
    problem: Any, beta: float, losses: float, apart: float, noise: float, rounding: Rounding
) -> float:
    """What to add to a gap for its rounding errors.

    The gap is made of the losses' part Σ c_j g_j/n, of ‖w − w(α)‖² and of what else was rounded.
    """
    E, u = rounding
    if problem.is_smooth:
        t = math.sqrt(0.5 * beta) * E
        added = t * (2.0 * math.sqrt(losses) + t)
    else:
        added = E * problem.slope_range
    return added + 0.5 * problem.lam * u * (2.0 * math.sqrt(apart) + u) + SCALAR * UNIT * noise


def is_small(problem: LinearProblem, excess: float, gap: float, tol: float) -> bool:
    """Whether that is little beside the gap, or beside the tolerance; not if it is NaN."""
    enough = ACCEPTED_OF_TOLERANCE * max(tol, LEAST_TOLERANCE) * problem.primal_at_zero
    return excess <= max(ACCEPTED * gap, enough)
