"""What the engine starts with: the method that should be cheapest for a problem, and why."""

from __future__ import annotations

import numpy as np

from .._numba.compile import kernel
from ..data.rows import hessian_product
from ..methods.engine.second_order import is_small
from ..problem import Problem
from .prices import (
    BRIEF_PRODUCT,
    FEW_EPOCHS_DENSE,
    FEWEST_PRODUCTS,
    bends,
    corner_price,
    direct_prices,
    dual_bound,
    epoch_price,
    expected_epochs,
    few_products_price,
    gram_price,
    least_direct_price,
    newton_price,
    newton_steps,
    product_price,
    product_work,
    transpose_price,
)

# Sparse data with more than this share of nonzeros is copied into dense rows, if not too large.
DENSE_SHARE = 0.25
DENSE_PLACES = 50_000_000

# With n ≥ d the bound T_D is nearly exact, since XXᵀ is singular, while T_P knows nothing of the
# curvature that so many examples give P: if the dual needs longer than so many rounds on the
# primal, these are tried.
FEW_ROUNDS = 10
# What may be good or bad is tried if it costs at best this part of the next best choice.
HOPE = 0.7
# The one step of dense data on the squared loss is cheap, and few products are seldom enough.
HOPE_FOR_ONE_STEP = 0.05
# Rounds before the observed contraction of a method is trusted. They have to be worth so many
# nanoseconds, or looking costs as much as doing.
TRIAL_EPOCHS, TRIAL_ROUNDS = 4, 2
TRIAL_PRICE = 500_000.0
# A trial that costs less than this part of any matrix is made whatever the bounds say, and so is
# one of so few nanoseconds.
NEARLY_FREE = 0.15
TINY = 150_000.0
# Of small problems with more features than this, Newton's method need not be priced.
FEW_FEATURES = 200
# On them truncated Newton is not far from the best unless the features overlap; what should replace
# it then has to cost at most this part of it, less where the loss bends all the way: then it takes
# fewer products.
MUCH_LESS, MUCH_LESS_IF_BENT = 0.8, 0.5
# Rounds on the primal where the features hardly overlap: where the sum of their squared cosines is
# at most this, counted for each of them.
LEAST_ROUNDS = 4
LITTLE_OVERLAP = 0.5
# The data is looked at in a sample of so many examples for a feature, at least so many, and only if
# that costs at most this part of what is to be decided.
SAMPLE_PER_FEATURE, LEAST_SAMPLE = 4, 1000
LOOK = 0.15
# Epochs to be assumed for ``dual_cd`` on a loss with corners, by whether there are more features
# than examples; if not, ``ssnal`` is taken in any case where it costs no more than this.
CORNER_EPOCHS = {True: 30, False: 200}
CHEAP_CORNERS = 40e6


def dense_pays(problem: Problem) -> bool:
    """Whether sparse data is so full that dense rows are faster and not much larger."""
    places = problem.n * problem.d
    full = problem.matrix.is_sparse and problem.matrix.nnz > DENSE_SHARE * places
    return full and places <= DENSE_PLACES


def well_stored(problem: Problem) -> Problem:
    """The problem with its data stored as the engine would have it."""
    return problem.densified() if dense_pays(problem) else problem


def first_choice(problem: Problem, tol: float = 1e-6) -> tuple[str, str]:
    """The method to start with, and why."""
    if not problem.is_smooth:
        return corner_choice(problem)
    if is_small(problem):
        return "newton", "few features and few examples"
    if problem.n >= problem.d and product_work(problem) <= BRIEF_PRODUCT:
        return small_choice(problem, tol)
    if TRIAL_EPOCHS * epoch_price(problem, "dual_cd") <= TINY:
        return "dual_cd", "so small that to choose would take longer than to try"
    if problem.n < problem.d and trial_price(problem) <= NEARLY_FREE * least_direct_price(problem):
        return descent_choice(problem, tol)
    few_epochs = FEW_EPOCHS_DENSE * epoch_price(problem, "dual_cd")
    if problem.n < problem.d and not problem.matrix.is_sparse and gram_price(problem) <= few_epochs:
        return "gram_newton", "few examples: a matrix of that size costs less than any epochs"
    descent = expected_epochs(problem, tol) * epoch_price(problem, "dual_cd")
    direct, price = min(direct_prices(problem, descent).items(), key=lambda item: item[1])
    if problem.n >= problem.d:
        hope = few_products_price(problem)
        if not problem.matrix.is_sparse:
            best = few_products_price(problem, FEWEST_PRODUCTS)
            if best < min(price, descent) and overlaps_little(problem, best):
                return "newton_cg", "n ≥ d, and the features hardly overlap"
        best = min(price, descent, hope)
        if rounds_price(problem) <= HOPE * best and overlaps_little(problem, best):
            return "primal_cd", "n ≥ d, and the features hardly overlap"
        one_step = newton_steps(problem) == 1 and not problem.matrix.is_sparse
        if hope < (HOPE_FOR_ONE_STEP if one_step else HOPE) * min(price, descent):
            return "newton_cg", "n ≥ d: a few products with the data may be enough"
    if price <= descent:
        small = "few features" if direct == "newton" else "few examples"
        return direct, f"{small}: a matrix of that size costs less than a few epochs"
    return descent_choice(problem, tol)


def small_choice(problem: Problem, tol: float) -> tuple[str, str]:
    """The same where n ≥ d and truncated Newton makes all its steps in one call."""
    if problem.d <= FEW_FEATURES and newton_price(problem) <= few_products_price(problem):
        return "newton", "few features: a matrix of that size costs less than a few products"
    if crowded(problem):
        much_less = MUCH_LESS_IF_BENT if bends(problem) else MUCH_LESS
        epochs = expected_epochs(problem, tol) * epoch_price(problem, "dual_cd")
        if epochs <= much_less * few_products_price(problem):
            return descent_choice(problem, tol)
    return "newton_cg", "n ≥ d, and so small that to choose would take longer than to try"


def rounds_price(problem: Problem) -> float:
    """Coordinate descent on the primal where the features hardly overlap."""
    return transpose_price(problem) + LEAST_ROUNDS * epoch_price(problem, "primal_cd")


def crowded(problem: Problem) -> bool:
    """Whether features as full as these overlap if they were filled at random."""
    return (problem.matrix.nnz / problem.n) ** 2 / problem.d > LITTLE_OVERLAP


def overlaps_little(problem: Problem, best: float) -> bool:
    """Whether the features hardly overlap, by a sample of the examples.

    No, if to look would cost a good part of ``best``, what the best choice so far should cost.
    """
    look = 2 * product_price(problem) * min(sample_size(problem) / problem.n, 1.0)
    return look <= LOOK * best and feature_overlap(sampled(problem)) <= LITTLE_OVERLAP


def sample_size(problem: Problem) -> int:
    """The examples that are enough to see how the features overlap."""
    return max(SAMPLE_PER_FEATURE * problem.d, LEAST_SAMPLE)


def sampled(problem: Problem) -> Problem:
    """The problem on some of the examples, where there are many for a feature."""
    step = problem.n // sample_size(problem)
    return problem.take(np.arange(0, problem.n, step)) if step > 1 else problem


def feature_overlap(problem: Problem) -> float:
    """About Σ_k cos²(X_:i, X_:k) over the features k ≠ i, for an average feature i.

    With S the scaled matrix of inner products, 1 on its diagonal, ‖S g‖² has the mean ‖S‖_F² for
    random signs g. One draw may cancel what is alike; equal signs do not, where the entries of X
    have one sign. The larger of the two counts.
    """
    scale = problem.matrix.squared_norms("feature")
    np.divide(1.0, np.sqrt(scale), out=scale, where=scale > 0)
    return float(_overlap(problem.matrix.by_example, scale, problem.n))


@kernel
def _overlap(examples, scale, n):  # type: ignore[no-untyped-def]
    used, largest = 0, 0.0
    signed, image = np.empty(scale.size), np.empty(scale.size)
    ones, dots = np.ones(n), np.empty(n)
    for random in (True, False):
        state, used = np.uint64(88172645463325252), 0
        for i in range(scale.size):
            # Marsaglia's xorshift64: the highest bit is the sign.
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            signed[i] = -scale[i] if random and state >> np.uint64(63) else scale[i]
            used += scale[i] > 0.0
        image[:] = 0.0
        hessian_product(examples, ones, signed, 0.0, dots, image)
        square = 0.0
        for i in range(scale.size):
            square += (scale[i] * image[i]) ** 2
        largest = max(largest, square / max(used, 1) - 1.0)
    return largest


def trial_price(problem: Problem) -> float:
    """What it costs to see how coordinate descent on the dual gets on."""
    return max(TRIAL_PRICE, TRIAL_EPOCHS * epoch_price(problem, "dual_cd"))


def trial_length(name: str) -> int:
    """The rounds after which a method's contraction is looked at."""
    return TRIAL_ROUNDS if name == "primal_cd" else TRIAL_EPOCHS


def descent_choice(problem: Problem, tol: float = 1e-6) -> tuple[str, str]:
    """The side on which coordinate descent should be faster, as its method, and why."""
    if not problem.is_smooth:
        return "dual_cd", "the loss has corners, so only the dual has coordinate steps"
    if problem.n < problem.d:
        return "dual_cd", "n < d: the examples are spread out, so the dual is well conditioned"
    bound = dual_bound(problem)
    dual = expected_epochs(problem, tol) * epoch_price(problem, "dual_cd")
    if dual > transpose_price(problem) + FEW_ROUNDS * epoch_price(problem, "primal_cd"):
        return "primal_cd", f"n ≥ d, and the dual may need {bound:.2g} passes per factor e"
    return "dual_cd", f"the dual needs at most {bound:.2g} passes per factor e"


def corner_choice(problem: Problem) -> tuple[str, str]:
    """The method to start with for a loss with corners, and why."""
    price, epochs = corner_price(problem), CORNER_EPOCHS[problem.n < problem.d]
    if problem.n >= problem.d and price <= CHEAP_CORNERS:
        return "ssnal", "a loss with corners and few features: Newton steps are cheap"
    if price <= epochs * epoch_price(problem, "dual_cd"):
        return "ssnal", f"a loss with corners: Newton steps cost less than {epochs} epochs"
    return "dual_cd", "a loss with corners: the dual has exact coordinate steps"
