"""What the engine's methods should cost: predicted nanoseconds, by which ``auto`` chooses.

Nanoseconds per unit of work on a common machine, the same everywhere so that the same seed gives
the same bits everywhere. Only their ratios matter, and only roughly: the observed contraction
corrects a wrong first choice.
"""

from __future__ import annotations

import math

import numpy as np

from ..methods.engine.newton import starts_on_samples
from ..methods.engine.newton_cg import product_work
from ..methods.engine.second_order import hessian_work, is_small
from ..problem import Problem

# A nonzero in coordinate descent, its row met in random order, by whether what it looks up is in a
# near cache: with more than so many numbers it is not.
VISIT_SPARSE, VISIT_SPARSE_FAR = 1.6, 2.6
VECTOR_FAR = 30_000
VISIT_DENSE, VISIT_DENSE_FAR = 0.45, 0.8  # an entry of dense rows, from a cache or from memory
PRODUCT_SPARSE, PRODUCT_SPARSE_FAR = 1.0, 1.8  # a nonzero in a product with X and its transpose
PRODUCT_DENSE, PRODUCT_DENSE_FAR = 0.22, 0.42  # an entry in one, from a cache or from memory
FAR = 2_000_000  # more entries than this are not in a near cache
PRODUCT_EXAMPLE, PRODUCT_EXAMPLE_SPARSE = 3.0, 6.0  # an example in one, by storage
# A row that is met in random order and comes from memory: with more nonzeros than this they do.
ROW_FAR, SPARSE_FAR = 100.0, 2_500_000
# The scalar work for one example, where the one-dimensional problem takes exponentials or not.
EXAMPLE, EXAMPLE_CLOSED = 70.0, 30.0
# The latter in an epoch on the dual over sparse data of no more nonzeros than this, all of which is
# in a near cache.
EXAMPLE_NEAR, SPARSE_NEAR = 12.0, 100_000
EXAMPLE_OF_STEP = 18.0  # the same in a step of truncated Newton, where it is in vector registers
VISITS_OF_MODEL, VISITS_OF_MODEL_DENSE = 3.5, 8.0  # three passes on the primal, in visits
EXAMPLE_OF_MODEL = 25.0  # the same where it is only put into a quadratic model
SCATTERED = 0.8  # a multiply-add into a Hessian of sparse rows
FLOP = 0.05  # a multiply-add in BLAS
SCALED = 0.8  # an entry of dense rows that are weighted for a Hessian
COPY = 10.0  # a nonzero in a transposed copy
CHOLESKY = 0.032  # a multiply-add in the factorisation of a large matrix, its making included
ENTRY = 6.0  # an entry of a matrix that is made, scaled and copied before it is factored
STEP = 70_000.0  # the fixed price of a Newton step
COMPILED_STEP = 5_000.0  # where all steps are one call
BRIEF_PRODUCT = 100_000  # nonzeros of a product with which truncated Newton is tried unpriced
GRAM = 200_000.0  # the fixed price of a Gram matrix
PRODUCT = 2_000.0  # the fixed price of two products with the data

# Newton steps to be expected, fewer on all the data where the first ones are made on samples.
NEWTON_STEPS = 6
STEPS_AFTER_SAMPLES = 4
GRAM_STEPS = 8  # on the Gram matrix, where the loss bends all the way

# With n ≥ d dual coordinate descent takes about 1 + a (T_D/‖X‖₀ − b) log(1/tol) epochs on nearly
# all data measured, within a factor 1.5, but hardly ever fewer than so many to six digits; fewer
# only where the examples can be separated.
EPOCHS_PER_BOUND, FREE_BOUND, LEAST_EPOCHS = 0.45, 0.6, 5.5
# With n < d, D is better conditioned than its bound knows, by any factor. So many epochs are worth
# a try before a matrix is built: sparse examples hardly overlap. Dense ones do, unless n times
# their mean squared cosine is less than this: then they are nearly orthogonal. Fewer where the loss
# bends all the way, as the logistic one does.
MOST_EPOCHS_SPARSE, MOST_EPOCHS_DENSE, FEW_EPOCHS_DENSE = 6.0, 15.0, 4.0
BENT_EPOCHS_DENSE = 9.0
ORTHOGONAL = 0.3

# Products with the data that truncated Newton needs with n ≥ d where the features are not too
# alike, and where they hardly overlap: in one step, or in several.
FEW_PRODUCTS, FEWEST_PRODUCTS = (10, 24), (5, 14)

# Conjugate gradients need about this times √(h ‖X‖_F²/(λn)) products with the data, h being the
# mean curvature of the loss; measured on text, where it held within a factor 2 over λ. Fewer with
# n < d where the loss bends all the way.
PRODUCTS, PRODUCTS_IF_BENT = 1.6, 1.0
# They need about this times √(epochs · fall) products where coordinate descent on the same side
# needs so many epochs to bring the gap down by a factor e^fall: the one is κ · fall, the other
# √κ · fall. They do not need fewer for a fall of less than this, and so many times more if the
# loss is not quadratic. Measured on text, for the dual.
PRODUCTS_PER_ROOT, SHORTEST_FALL = 2.7, 8.0
NOT_QUADRATIC = 5.0

# The steps that ``ssnal`` takes about on a smooth loss with flat sides, once coordinate descent has
# found out who is on them, and the largest part of the examples that may not be.
ACTIVE_STEPS, MOST_ACTIVE = 6, 0.7

# For a loss with corners: the steps that ``ssnal`` takes about, and the part of a Hessian of all
# examples that one of them builds on average.
CORNER_STEPS = 40
CORNER_SHARE = 0.15


def dual_bound(problem: Problem) -> float:
    """T_D in passes over the data."""
    if not problem.is_smooth:
        return math.inf
    return problem.examples.bound


def expected_epochs(problem: Problem, tol: float) -> float:
    """Epochs that dual coordinate descent is given before it has run."""
    digits = math.log(1.0 / min(max(tol, 1e-15), 0.1))
    epochs = 1.0 + EPOCHS_PER_BOUND * digits * (dual_bound(problem) - FREE_BOUND)
    if problem.n >= problem.d:
        return max(epochs, LEAST_EPOCHS * digits / math.log(1e6))
    if problem.matrix.is_sparse:
        return min(epochs, MOST_EPOCHS_SPARSE)
    if epochs <= FEW_EPOCHS_DENSE:
        return epochs
    most = BENT_EPOCHS_DENSE if bends(problem) else MOST_EPOCHS_DENSE
    return min(epochs, FEW_EPOCHS_DENSE if nearly_orthogonal(problem) else most)


def bends(problem: Problem) -> bool:
    """Whether φ'' > 0 changes along the whole line, as that of the logistic loss does."""
    return problem.loss.strictly_convex and not problem.loss.quadratic


def nearly_orthogonal(problem: Problem) -> bool:
    """Whether the examples are, by a sample of their angles."""
    return problem.n * problem.matrix.squared_cosine() <= ORTHOGONAL


def epoch_price(problem: Problem, name: str) -> float:
    """One round of coordinate descent."""
    if problem.matrix.is_sparse:
        rows, vector = (problem.n, problem.d) if name == "dual_cd" else (problem.d, 2 * problem.n)
        visit = VISIT_SPARSE if vector <= VECTOR_FAR else VISIT_SPARSE_FAR
        visits = visit * problem.matrix.nnz
        if problem.matrix.nnz > SPARSE_FAR:
            visits += ROW_FAR * rows
    else:
        entries = problem.n * problem.d
        visits = entries * (VISIT_DENSE if entries <= FAR else VISIT_DENSE_FAR)
    if name == "dual_cd":
        near = problem.matrix.is_sparse and problem.matrix.nnz <= SPARSE_NEAR
        if near and not bends(problem):
            return visits + EXAMPLE_NEAR * problem.n
        return visits + _examples(problem)
    model = VISITS_OF_MODEL if problem.matrix.is_sparse else VISITS_OF_MODEL_DENSE
    return model * visits + EXAMPLE_OF_MODEL * problem.n


def transpose_price(problem: Problem) -> float:
    """The copy of the data by feature that methods on the primal need."""
    return COPY * problem.matrix.nnz + STEP


def newton_price(problem: Problem) -> float:
    """Newton's method with a d × d matrix."""
    d = float(problem.d)
    if is_small(problem):
        return newton_steps(problem) * (
            hessian_work(problem) * SCATTERED + d**3 / 3 + _examples(problem)
        )
    if problem.matrix.is_sparse:
        hessian = SCATTERED * hessian_work(problem)
    else:
        hessian = FLOP * hessian_work(problem) + SCALED * problem.n * d
    step = hessian + FLOP * d**3 / 3 + ENTRY * d**2 + STEP
    return newton_steps(problem) * (step + _examples(problem))


def gram_price(problem: Problem, most: float = math.inf) -> float:
    """Newton's method with an n × n matrix; infinite if it surely costs more than ``most``."""
    n, d, steps = float(problem.n), float(problem.d), _gram_steps(problem)
    if steps > most:
        return math.inf
    steps += 2 * ENTRY * n * n + GRAM
    if not problem.matrix.is_sparse:
        return n * n * d / 2 * FLOP + steps
    steps += 10 * problem.matrix.nnz
    # No less, by Cauchy and Schwarz; to know it exactly takes a pass over the data.
    least = float(problem.matrix.nnz) ** 2 / d
    if steps + SCATTERED * least / 2 > most:
        return math.inf
    counts = problem.features.counts.astype(np.float64)
    return float(counts @ counts) / 2 * SCATTERED + steps


def least_direct_price(problem: Problem) -> float:
    """No method that factors a matrix costs less: found without a pass over the data."""
    return min(newton_price(problem), _gram_steps(problem))


def direct_prices(problem: Problem, most: float = math.inf) -> dict[str, float]:
    """The methods that factor a matrix."""
    return {"newton": newton_price(problem), "gram_newton": gram_price(problem, most)}


def rescue_prices(problem: Problem, curvature: float, most: float = math.inf) -> dict[str, float]:
    """What can take over from coordinate descent, where φ'' is ``curvature`` on average."""
    prices = direct_prices(problem, most)
    return {**prices, "newton_cg": truncated_price(problem, curvature)}


def truncated_price(problem: Problem, curvature: float) -> float:
    """Truncated Newton, where φ'' is ``curvature`` on average."""
    squares = float(problem.examples.squared_norms.sum())
    factor = PRODUCTS_IF_BENT if problem.n < problem.d and bends(problem) else PRODUCTS
    products = factor * math.sqrt(curvature * squares / (problem.lam * problem.n)) + 20
    return products * product_price(problem) + cg_steps_price(problem)


def few_products_price(problem: Problem, products: tuple[int, int] = FEW_PRODUCTS) -> float:
    """Truncated Newton with n ≥ d where the features are not too alike."""
    return products[newton_steps(problem) > 1] * product_price(problem) + cg_steps_price(problem)


def cg_price(problem: Problem, epochs: float, fall: float) -> float:
    """Truncated Newton, where descent on its side needs so many epochs for a factor e^fall."""
    steps = newton_steps(problem)
    products = PRODUCTS_PER_ROOT * math.sqrt(epochs * max(fall, SHORTEST_FALL))
    products *= NOT_QUADRATIC if steps > 1 else 1.0
    return products * product_price(problem) + cg_steps_price(problem)


def corner_price(problem: Problem) -> float:
    """``ssnal``, for a loss with corners."""
    n, d = float(problem.n), float(problem.d)
    operation = SCATTERED if problem.matrix.is_sparse else FLOP
    gram = CORNER_SHARE * min(n / d, 1.0) * hessian_work(problem) * operation
    factor = FLOP * (min(n, d) / 2) ** 3 / 3
    return CORNER_STEPS * (1.5 * product_price(problem) + gram + factor + EXAMPLE * n + STEP)


def active_price(problem: Problem, part: float, most: float = math.inf) -> float:
    """``ssnal`` on a smooth loss with n < d, where so many of the examples are on no flat side.

    For sparse data: else ``gram_newton`` is better, which makes its matrix once and for all.
    Infinite if it surely costs more than ``most``.
    """
    active = part * problem.n
    step = CHOLESKY * active**3 / 3 + STEP
    fits = problem.matrix.is_sparse and problem.n < problem.d and part <= MOST_ACTIVE
    if not fits or ACTIVE_STEPS * step > most:
        return math.inf
    counts = problem.features.counts.astype(np.float64)
    step += SCATTERED * part**2 * float(counts @ counts) / 2
    return ACTIVE_STEPS * (step + 1.5 * product_price(problem) + _examples(problem))


def newton_steps(problem: Problem) -> int:
    """Newton steps to be expected: one if the loss is its own quadratic model."""
    if problem.loss.quadratic:
        return 1
    return STEPS_AFTER_SAMPLES if starts_on_samples(problem) else NEWTON_STEPS


def _gram_steps(problem: Problem) -> float:
    """The steps of Newton's method once its n × n matrix is there."""
    n = float(problem.n)
    step = FLOP * n**3 / 3 + ENTRY * n**2 + _examples(problem) + STEP
    if newton_steps(problem) == 1:
        return step
    return (GRAM_STEPS if bends(problem) else NEWTON_STEPS) * step


def product_price(problem: Problem) -> float:
    """A product with X and one with its transpose, from one reading."""
    if problem.matrix.is_sparse:
        near = problem.d <= VECTOR_FAR
        visits = (PRODUCT_SPARSE if near else PRODUCT_SPARSE_FAR) * problem.matrix.nnz
        return visits + PRODUCT_EXAMPLE_SPARSE * problem.n + PRODUCT
    entries = problem.n * problem.d
    visits = entries * (PRODUCT_DENSE if entries <= FAR else PRODUCT_DENSE_FAR)
    return visits + PRODUCT_EXAMPLE * problem.n + PRODUCT


def cg_steps_price(problem: Problem) -> float:
    """What the steps of truncated Newton cost beside their products."""
    step = COMPILED_STEP if product_work(problem) <= BRIEF_PRODUCT else STEP
    return newton_steps(problem) * (product_price(problem) + EXAMPLE_OF_STEP * problem.n + step)


def _examples(problem: Problem) -> float:
    """The scalar work for all examples."""
    return (EXAMPLE if bends(problem) else EXAMPLE_CLOSED) * problem.n
