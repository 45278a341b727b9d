"""The expected work of the engine's methods, priced in nanoseconds: pure functions of a problem.

What a unit of work costs is in ``machine``; here is how many units a method needs. Only this
module reads ``MACHINE``.
"""

from __future__ import annotations

import math

import numpy as np

from ..methods.engine.newton import starts_on_samples
from ..methods.engine.newton_cg import product_work
from ..methods.engine.second_order import hessian_work, is_small
from ..problem import Problem
from .machine import MACHINE

# Numbers that fit in a cache: a vector in the second level (256 kB), dense rows in the last level
# (16 MB), sparse rows in the last level (30 MB) or in the second one, by their nonzeros.
NEAR_VECTOR = 30_000
NEAR_ENTRIES = 2_000_000
NEAR_NONZEROS = 2_500_000
NEAREST_NONZEROS = 100_000

# Sparse data with more than this fraction of nonzeros is copied into dense rows, which are then
# faster in every kernel (benchmarks/step_cost.py), up to this many entries (400 MB).
DENSE_FRACTION = 0.25
DENSE_ENTRIES = 50_000_000

# Up to this many nonzeros per product, examples counted too, truncated Newton is over in one call,
# and with n ≥ d it is hardly ever far from the best: pricing all else would take as long.
BRIEF_PRODUCT = 100_000

# Newton steps: the medians on the benchmark's data to a gap of 1e-6. Fewer on all the data where
# the first ones are made on samples; more on a Gram matrix for a curved loss (``is_curved``).
NEWTON_STEPS = 6
STEPS_AFTER_SAMPLES = 4
GRAM_STEPS = 8

# With n ≥ d dual coordinate descent takes about 1 + a (T_D/‖X‖₀ − b) log(1/tol) epochs, within a
# factor 1.5 on nearly all data measured (benchmarks/growth.py), and hardly ever fewer than
# LEAST_EPOCHS to six digits.
EPOCHS_PER_BOUND, FREE_BOUND, LEAST_EPOCHS = 0.45, 0.6, 5.5
# With n < d, D is better conditioned than T_D says, by any factor: at most this many epochs are
# assumed, fewer for a curved loss, and fewest for dense examples that are nearly orthogonal: n
# times their mean squared cosine is at most ORTHOGONAL. Medians on the benchmark's data.
MOST_EPOCHS_SPARSE, MOST_EPOCHS_DENSE, MOST_EPOCHS_CURVED = 6.0, 15.0, 9.0
FEW_EPOCHS_DENSE = 4.0
ORTHOGONAL = 0.3
# Epochs assumed on a loss with kinks, where there is no bound: with n < d, and else.
KINK_EPOCHS_WIDE, KINK_EPOCHS = 30, 200

# Rounds of primal coordinate descent with n ≥ d: assumed in general, and where features hardly
# overlap.
FEW_ROUNDS, LEAST_ROUNDS = 10, 4

# Products with the data in truncated Newton with n ≥ d, on a quadratic loss and on others: where
# features are not nearly collinear, and where they hardly overlap.
FEW_PRODUCTS, FEWEST_PRODUCTS = (10, 24), (5, 14)
# In general about this times √(h ‖X‖_F²/(λn)) products, h being the mean curvature of the loss, and
# some more; it held within a factor 2 over λ on text. Fewer with n < d for a curved loss.
PRODUCTS, PRODUCTS_CURVED, MORE_PRODUCTS = 1.6, 1.0, 20
# Or about this times √(epochs · fall), where coordinate descent on the same side needs that number
# of epochs to lower the gap by a factor e^fall: descent needs κ · fall, conjugate gradients
# √κ · fall. A fall of less than SHORTEST_FALL costs as much as that one, and a loss that is not
# quadratic NOT_QUADRATIC times more products. Measured on text, for the dual.
PRODUCTS_PER_ROOT, SHORTEST_FALL = 2.7, 8.0
NOT_QUADRATIC = 5.0

# ``ssnal`` on a smooth loss with flat sides, once descent has found the active examples: its steps,
# and the largest active fraction for which it is worth trying.
ACTIVE_STEPS, MOST_ACTIVE = 6, 0.7
# On a loss with kinks: its steps, and the fraction of a whole Hessian that one builds on average.
KINK_STEPS, KINK_FRACTION = 40, 0.15
# Products with the data in one of its steps.
SSNAL_PRODUCTS = 1.5


# --------------------------------------------------------------------------------------------
# What decides about a problem


def dense_pays(problem: Problem) -> bool:
    """Whether sparse data is full enough for dense rows to be faster and not much larger."""
    entries = problem.n * problem.d
    full = problem.matrix.is_sparse and problem.matrix.nnz > DENSE_FRACTION * entries
    return full and entries <= DENSE_ENTRIES


def well_stored(problem: Problem) -> Problem:
    """The problem with its data stored as the engine would have it."""
    return problem.densified() if dense_pays(problem) else problem


def is_curved(problem: Problem) -> bool:
    """Whether the loss is strictly convex, but not quadratic, as the logistic one.

    Then it has no flat side, and its curvature at the optimum is far below β.
    """
    return problem.loss.strictly_convex and not problem.loss.quadratic


def is_brief(problem: Problem) -> bool:
    """Whether truncated Newton is over in one call, if a few products are enough."""
    return product_work(problem) <= BRIEF_PRODUCT


def dual_bound(problem: Problem) -> float:
    """T_D in passes over the data."""
    return problem.examples.bound if problem.is_smooth else math.inf


def nearly_orthogonal(problem: Problem) -> bool:
    """Whether the examples are, by a sample of their angles."""
    return problem.n * problem.matrix.squared_cosine() <= ORTHOGONAL


def digits(tol: float) -> float:
    """log(1/tol), for tolerances within reason."""
    return math.log(1.0 / min(max(tol, 1e-15), 0.1))


# --------------------------------------------------------------------------------------------
# Coordinate descent


def expected_epochs(problem: Problem, tol: float) -> float:
    """Epochs of dual coordinate descent, before it has run."""
    if not problem.is_smooth:
        return KINK_EPOCHS_WIDE if problem.n < problem.d else KINK_EPOCHS
    fall = digits(tol)
    epochs = 1.0 + EPOCHS_PER_BOUND * fall * (dual_bound(problem) - FREE_BOUND)
    if problem.n >= problem.d:
        return max(epochs, LEAST_EPOCHS * fall / math.log(1e6))
    if problem.matrix.is_sparse:
        return min(epochs, MOST_EPOCHS_SPARSE)
    if epochs <= FEW_EPOCHS_DENSE:
        return epochs
    most = MOST_EPOCHS_CURVED if is_curved(problem) else MOST_EPOCHS_DENSE
    return min(epochs, FEW_EPOCHS_DENSE if nearly_orthogonal(problem) else most)


def dual_cost(problem: Problem, tol: float) -> float:
    """Coordinate descent on the dual."""
    return expected_epochs(problem, tol) * epoch_cost(problem, "dual_cd")


def primal_cost(problem: Problem, rounds: float = FEW_ROUNDS) -> float:
    """Coordinate descent on the primal, with the copy of the data by feature that it reads."""
    return transpose_cost(problem) + rounds * epoch_cost(problem, "primal_cd")


def epoch_cost(problem: Problem, name: str) -> float:
    """One round of coordinate descent."""
    if problem.matrix.is_sparse:
        rows, vector = (problem.n, problem.d) if name == "dual_cd" else (problem.d, 2 * problem.n)
        visit = MACHINE.visit_sparse if vector <= NEAR_VECTOR else MACHINE.visit_sparse_far
        visits = visit * problem.matrix.nnz
        if problem.matrix.nnz > NEAR_NONZEROS:
            visits += MACHINE.row_far * rows
    else:
        entries = problem.n * problem.d
        near = entries <= NEAR_ENTRIES
        visits = entries * (MACHINE.visit_dense if near else MACHINE.visit_dense_far)
    if name == "dual_cd":
        near = problem.matrix.is_sparse and problem.matrix.nnz <= NEAREST_NONZEROS
        if near and not is_curved(problem):
            return visits + MACHINE.example_near * problem.n
        return visits + _examples(problem)
    passes = MACHINE.round_sparse if problem.matrix.is_sparse else MACHINE.round_dense
    return passes * visits + MACHINE.example_of_model * problem.n


def transpose_cost(problem: Problem) -> float:
    """The copy of the data by feature that methods on the primal need."""
    return MACHINE.copy * problem.matrix.nnz + MACHINE.step


# --------------------------------------------------------------------------------------------
# Newton's method with a matrix


def newton_steps(problem: Problem) -> int:
    """Newton steps on all the data: one if the loss is its own quadratic model."""
    if problem.loss.quadratic:
        return 1
    return STEPS_AFTER_SAMPLES if starts_on_samples(problem) else NEWTON_STEPS


def newton_cost(problem: Problem, most: float = math.inf) -> float:
    """Newton's method with a d × d matrix; infinite if it surely costs more than ``most``."""
    d, steps = float(problem.d), newton_steps(problem)
    if is_small(problem):
        work = hessian_work(problem) * MACHINE.scattered + d**3 / 3
        return steps * (work + _examples(problem))
    step = MACHINE.flop * d**3 / 3 + MACHINE.entry * d**2 + MACHINE.step + _examples(problem)
    if steps * step > most:
        return math.inf
    if problem.matrix.is_sparse:
        step += MACHINE.scattered * hessian_work(problem)
    else:
        step += MACHINE.flop * hessian_work(problem) + MACHINE.scaled * problem.n * d
    return steps * step


def gram_cost(problem: Problem, most: float = math.inf) -> float:
    """Newton's method with an n × n matrix; infinite if it surely costs more than ``most``."""
    n, d, cost = float(problem.n), float(problem.d), _gram_steps(problem)
    if cost > most:
        return math.inf
    cost += 2 * MACHINE.entry * n * n + MACHINE.gram_call
    if not problem.matrix.is_sparse:
        return n * n * d / 2 * MACHINE.flop + cost
    cost += MACHINE.copy * problem.matrix.nnz
    # Σ_i ‖X_:i‖₀² is no less than this, by Cauchy and Schwarz; to know it takes a pass.
    least = float(problem.matrix.nnz) ** 2 / d
    if cost + MACHINE.scattered * least / 2 > most:
        return math.inf
    return cost + MACHINE.scattered * _pairs_of_features(problem)


def least_direct_cost(problem: Problem) -> float:
    """No method that factors a matrix costs less: found without the pairs of features."""
    return min(newton_cost(problem), _gram_steps(problem))


def _gram_steps(problem: Problem) -> float:
    """The steps of Newton's method once its n × n matrix is there."""
    n = float(problem.n)
    step = MACHINE.flop * n**3 / 3 + MACHINE.entry * n**2 + _examples(problem) + MACHINE.step
    if problem.loss.quadratic:
        return step
    return (GRAM_STEPS if is_curved(problem) else NEWTON_STEPS) * step


def _pairs_of_features(problem: Problem) -> float:
    """Multiply-adds of X Xᵀ for sparse data: half of Σ_i ‖X_:i‖₀²."""
    counts = problem.features.counts.astype(np.float64)
    return float(counts @ counts) / 2


# --------------------------------------------------------------------------------------------
# Newton's method by conjugate gradients


def product_cost(problem: Problem) -> float:
    """A product with X and one with its transpose, from one reading."""
    n, nnz, sparse = problem.n, problem.matrix.nnz, problem.matrix.is_sparse
    if sparse and problem.d <= NEAR_VECTOR:
        visits = MACHINE.product_sparse * nnz
    elif sparse:
        visits = MACHINE.product_sparse_far * nnz
    else:
        entries = n * problem.d
        near = entries <= NEAR_ENTRIES
        visits = entries * (MACHINE.product_dense if near else MACHINE.product_dense_far)
    example = MACHINE.product_example_sparse if sparse else MACHINE.product_example
    return visits + example * n + MACHINE.product_call


def _cg_steps(problem: Problem) -> float:
    """What the steps of truncated Newton cost beside their products."""
    step = MACHINE.compiled_step if is_brief(problem) else MACHINE.step
    step += product_cost(problem) + MACHINE.example_of_step * problem.n
    return newton_steps(problem) * step


def few_products_cost(problem: Problem, products: tuple[int, int] = FEW_PRODUCTS) -> float:
    """Truncated Newton with n ≥ d where the features are not nearly collinear."""
    expected = products[newton_steps(problem) > 1]
    return expected * product_cost(problem) + _cg_steps(problem)


def truncated_cost(problem: Problem, curvature: float) -> float:
    """Truncated Newton, where φ'' is ``curvature`` on average."""
    squares = float(problem.examples.squared_norms.sum())
    factor = PRODUCTS_CURVED if problem.n < problem.d and is_curved(problem) else PRODUCTS
    products = factor * math.sqrt(curvature * squares / (problem.lam * problem.n)) + MORE_PRODUCTS
    return products * product_cost(problem) + _cg_steps(problem)


def cg_cost(problem: Problem, epochs: float, fall: float) -> float:
    """Truncated Newton, where descent on its side needs ``epochs`` for a factor e^fall."""
    products = PRODUCTS_PER_ROOT * math.sqrt(epochs * max(fall, SHORTEST_FALL))
    products *= NOT_QUADRATIC if newton_steps(problem) > 1 else 1.0
    return products * product_cost(problem) + _cg_steps(problem)


# --------------------------------------------------------------------------------------------
# Semismooth Newton


def kink_cost(problem: Problem) -> float:
    """``ssnal``, for a loss with kinks."""
    n, d = float(problem.n), float(problem.d)
    operation = MACHINE.scattered if problem.matrix.is_sparse else MACHINE.flop
    gram = KINK_FRACTION * min(n / d, 1.0) * hessian_work(problem) * operation
    factor = MACHINE.flop * (min(n, d) / 2) ** 3 / 3
    step = gram + factor + MACHINE.example * n + MACHINE.step
    return KINK_STEPS * (SSNAL_PRODUCTS * product_cost(problem) + step)


def active_cost(problem: Problem, active: float, most: float = math.inf) -> float:
    """``ssnal`` on a smooth loss with n < d, where a fraction ``active`` is on no flat side.

    For sparse data: else ``gram_newton`` is better, which makes its matrix once and for all.
    Infinite if it surely costs more than ``most``.
    """
    step = MACHINE.cholesky * (active * problem.n) ** 3 / 3 + MACHINE.step
    fits = problem.matrix.is_sparse and problem.n < problem.d and active <= MOST_ACTIVE
    if not fits or ACTIVE_STEPS * step > most:
        return math.inf
    step += MACHINE.scattered * active**2 * _pairs_of_features(problem)
    step += SSNAL_PRODUCTS * product_cost(problem) + _examples(problem)
    return ACTIVE_STEPS * step


# --------------------------------------------------------------------------------------------
# A look at the data


def eigenvalue_cost(problem: Problem, size: int, work: float) -> float:
    """The smallest eigenvalue of a matrix of that size, made with ``work`` multiply-adds."""
    operation = MACHINE.scattered if problem.matrix.is_sparse else MACHINE.flop
    lapack = MACHINE.eigen_call + MACHINE.eigen_entry * size**2 + MACHINE.eigen_cube * size**3
    return work * operation + lapack


def _examples(problem: Problem) -> float:
    """The scalar work for all examples."""
    return (MACHINE.example if is_curved(problem) else MACHINE.example_closed) * problem.n
