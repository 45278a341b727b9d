"""The proof of accuracy: P(w), D(α) and their gap, from ``w`` and ``alpha`` alone.

The gap contains a bound on its own rounding error. Where that is more than a hundredth of it, the
products with the data are made again, in twice the precision.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._numba.compile import kernel, reordered_kernel
from .._threads import for_each
from .._types import FloatArray
from ..data.exact import UNIT, exact_products
from ..data.pieces import Cut, example_parts
from ..losses.custom import is_custom
from ..losses.sums import compensated_sum, largest_curvature, sum_values_and_gaps
from ..parts.tree import tree_sum
from .rounding import Norms, Rounding, by_norm, by_products, by_rows, excess, is_small

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


# Distance of z from y beyond which the slope of the logistic loss and its like is next to its
# limit: it differs by about exp(-10), and the square of a rounding divided by that is nothing.
SATURATED = 10.0

# Rounding moves a margin; where φ'' grows like an exponential, by far less than this factor.
NEARBY = 1.001


# The relative gap of which a rounding of all dual variables, 2^-53 each, may be 1 %.
ROUNDING_MATTERS = 2e-14
# Roundings of an entry of scaled data, and of a coefficient in its units.
ROUNDINGS = 3.0


class Sums(NamedTuple):
    """What a certificate is made of."""

    losses: float  # Σ_j c_j φ(z_j)
    gaps: float  # Σ_j c_j [φ(z_j) + φ*(−a_j) + a_j z_j]
    noise: float  # the sizes of those terms of it that cancel
    size: float = 0.0  # ‖w‖²
    apart: float = 0.0  # ‖w − w(α)‖²
    beta: float = math.inf  # β, or what serves at these margins and dual variables


def certify(
    problem: Problem,
    w: FloatArray | None,
    alpha: FloatArray | None,
    intercept: float | None,
    tol: float,
) -> Certificate:
    """What w, α and the intercept prove; those that are missing are filled in."""
    if w is None or alpha is None:
        # A point that has run away overflows: then the gap is infinite, and no warning is needed.
        with np.errstate(over="ignore", invalid="ignore"):
            w, alpha, b, sums = _completed(problem, w, alpha, intercept)
    else:
        z, product = problem.matrix.products(w, alpha)
        b = _shift(problem, z, intercept)
        sums = _pair_sums(problem, z, alpha, w, product)
    gap = sum_of_gaps(problem, alpha, b, _total(alpha) if b else 0.0, sums)
    if gap < math.inf:
        shift = _shift_size(problem, b)
        error = by_norm(problem, _norms(problem), sums.size, float(alpha @ alpha), shift)
        more = rounding_of(problem, sums, error)
        if not is_small(problem, more, gap, tol):
            with np.errstate(over="ignore", invalid="ignore"):
                more = rounding_of(problem, sums, by_rows(problem, w, alpha, shift))
                if not is_small(problem, more, gap, tol):
                    b, sums, error = _exactly(problem, w, alpha, intercept)
                    gap = sum_of_gaps(problem, alpha, b, _total(alpha), sums)
                    more = rounding_of(problem, sums, error)
        gap += more + _rounded_duals(problem, w, alpha, b, gap)
    return proof(problem, w, alpha, b, primal_value(problem, sums), gap)


def _rounded_duals(
    problem: Problem, w: FloatArray, alpha: FloatArray, b: float, gap: float
) -> float:
    """What the rounding of α_j/c_j adds to a tiny gap.

    The gap of an example changes with it by z_j less the margin that belongs to it: by no more than
    |z_j| + |y_j| where the loss is straight, and by next to nothing where it is curved.
    """
    if not problem.is_weighted or problem.loss.quadratic:
        return 0.0
    if gap > ROUNDING_MATTERS * problem.primal_at_zero:
        return 0.0
    sizes = np.abs(problem.margins(w, b)) + np.abs(problem.y)
    return UNIT * float(np.abs(alpha) @ sizes) / problem.n


def proof(
    problem: Any, w: FloatArray, alpha: Any, b: float, primal: float, gap: float
) -> Certificate:
    """The certificate for P(w) and a gap, which may be NaN where numbers have overflowed."""
    gap = gap if gap < math.inf else math.inf
    dual = primal - gap if gap < math.inf else -math.inf
    return Certificate(primal, dual, gap, problem.relative(gap), w, alpha, b)


def _norms(problem: Problem) -> Norms:
    """The norms of the data, without a look at its rows."""
    square = problem.matrix.squared_norm
    heaviest = float(problem.sample_weight.max()) if problem.is_weighted else 1.0
    return Norms(square, heaviest * square, *problem.matrix.longest)


def primal_value(problem: Any, sums: Sums) -> float:
    """P(w)."""
    return sums.losses / problem.n + 0.5 * problem.lam * sums.size


def _total(alpha: FloatArray) -> float:
    """Σ_j α_j, which nearly cancels, rounded about once."""
    return float(compensated_sum(alpha))


def sum_of_gaps(problem: Any, alpha: Any, b: float, total: float, sums: Sums) -> float:
    """The gap that the sums give, as if they were exact; infinite where nothing is proved."""
    if not (math.isfinite(primal_value(problem, sums)) and problem.balanced(alpha)):
        return math.inf
    gap = sums.gaps / problem.n + 0.5 * problem.lam * sums.apart
    if b:
        gap += abs(b * total) / problem.n
    return gap


def rounding_of(problem: Any, sums: Sums, error: Rounding) -> float:
    """What to add to that gap for rounding errors."""
    n = problem.n
    return excess(problem, sums.beta, sums.gaps / n, sums.apart, sums.noise / n, error)


def _exactly(
    problem: Problem, w: FloatArray, alpha: FloatArray, intercept: float | None
) -> tuple[float, Sums, Rounding]:
    """The intercept and the sums by products in twice the precision, and what is left of errors."""
    z, product = exact_products(problem.matrix, w, alpha)
    margins = z.value.copy()
    b = _shift(problem, margins, intercept)
    sums = _pair_sums(problem, margins, alpha, w, product.value.copy())
    shift = _shift_size(problem, b)
    error = by_products(problem, z, product, shift)
    if problem.is_scaled:  # entries, and w, were rounded before
        more, terms = by_rows(problem, w, alpha, 0.0), problem.matrix.longest
        error = Rounding(
            error.margins + ROUNDINGS * more.margins / terms[0],
            error.point + ROUNDINGS * more.point / terms[1],
        )
    return b, sums, error


def _shift_size(problem: Problem, b: float) -> float:
    """The size of what is added to the products before the loss: the intercept and the targets.

    With kinks, a residual that is rounded changes the gap by no more than that relative error.
    """
    size = abs(b) + problem.offset_size + (problem.target_size if problem.is_smooth else 0.0)
    return size * math.sqrt(max(problem.mean_weight, 1.0))


def _completed(
    problem: Problem, w: FloatArray | None, alpha: FloatArray | None, intercept: float | None
) -> tuple[FloatArray, FloatArray, float, Sums]:
    """A pair of which one half is made from the other, its intercept and its sums."""
    if w is None:
        assert alpha is not None
        w = problem.primal_point(alpha)
    z = problem.matrix.times(w)
    b = _shift(problem, z, intercept)
    if alpha is not None:
        return w, alpha, b, _loss_sums(problem, z, alpha)._replace(size=float(w @ w))
    alpha = problem.dual_point(z)
    if not problem.balanced(alpha):
        # A subgradient at the best intercept need not be the balanced one, nor need rounded slopes
        # at a rounded intercept.
        alpha = problem.rebalanced(alpha)
        sums = _loss_sums(problem, z, alpha)
    elif is_custom(problem.loss) or problem.beta == math.inf:
        # The gap is 0 only if its functions belong together and the slopes are not rounded.
        sums = _loss_sums(problem, z, alpha)
    else:
        losses = problem.sum_of_losses(z)
        sums = Sums(losses, 0.0, _saturated(problem, z, alpha), beta=problem.beta)
    size, apart = _distance(w, problem.primal_point(alpha))
    return w, alpha, b, sums._replace(size=size, apart=apart)


def _saturated(problem: Problem, z: FloatArray, alpha: FloatArray) -> float:
    """The sizes of dual variables that are rounded where the slope has nearly reached its limit.

    Elsewhere the rounding of α_j = −c_j φ'(z_j) leaves a gap of its square.
    """
    if problem.loss.quadratic or not problem.loss.strictly_convex:
        return 0.0
    return float(np.abs(alpha[np.abs(z - problem.y) > SATURATED]).sum())


def _loss_sums(problem: Problem, z: FloatArray, alpha: FloatArray) -> Sums:
    """The part of the sums that the losses make."""
    found = sum_values_and_gaps(problem.loss, z, alpha, problem.y, problem.sample_weight)
    losses, gaps, noise = found
    return Sums(losses, gaps, noise, beta=_beta_at(problem, z, alpha))


def _beta_at(problem: Problem, z: FloatArray, alpha: FloatArray) -> float:
    """β, or a Lipschitz constant of every φ' between its margin and where it is −α_j/c_j."""
    if problem.beta < math.inf or not problem.is_smooth:
        return problem.beta
    largest = largest_curvature(problem.loss, z, alpha, problem.y, problem.sample_weight)
    return NEARBY * float(largest)


def _shift(problem: Problem, z: FloatArray, intercept: float | None) -> float:
    """The intercept, or the best one, added to the margins."""
    b = problem.best_intercept(z) if intercept is None else float(intercept)
    if b:
        z += b
    return b


def _pair_sums(
    problem: Problem, z: FloatArray, alpha: FloatArray, w: FloatArray, product: FloatArray
) -> Sums:
    """The sums for margins z and Xᵀα, which is overwritten."""
    y, c, lam_n = problem.y, problem.sample_weight, problem.lam * problem.n

    def part(cut: Cut) -> tuple[float, ...]:
        some, most = slice(*cut), None if cut[0] == 0 else 0  # the first part looks at w
        found: tuple[float, ...] = _sums(
            problem.loss, z[some], y[some], c[some], alpha[some], w[:most], product[:most], lam_n
        )
        return found

    sums = Sums(*tree_sum(for_each(part, example_parts(problem.n))))
    return sums._replace(beta=_beta_at(problem, z, alpha))


@kernel
def _sums(loss, z, y, c, alpha, w, product, lam_n):  # type: ignore[no-untyped-def]
    """All sums over some examples in one call, for w(α) = product/(λn)."""
    losses, gaps, noise = sum_values_and_gaps(loss, z, alpha, y, c)
    for i in range(product.size):
        product[i] /= lam_n
    size, apart = _distance(w, product)
    return losses, gaps, noise, size, apart


@reordered_kernel
def _distance(w, other):  # type: ignore[no-untyped-def]
    """‖w‖² and ‖w − other‖²."""
    size, apart = 0.0, 0.0
    for i in range(w.size):
        size += w[i] * w[i]
        apart += (w[i] - other[i]) * (w[i] - other[i])
    return size, apart
