"""The expected work of the engine's methods on a problem, priced in nanoseconds.

What a unit of work costs is in ``machine``; here is how many units a method needs. Only this
module reads ``MACHINE``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

import numpy as np

from .._cached import cached_property
from .._threads import PART
from ..data.pieces import MOST_PARTS
from ..methods.engine.newton import starts_on_samples
from ..methods.engine.newton_cg import product_work
from ..methods.engine.second_order import hessian_work, is_small
from ..problem import Coordinates, Problem
from ..problem.base import LinearProblem
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
# the first ones are made on samples; more on a Gram matrix for a curved loss (``Costs.curved``).
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
# Where the regularisation is strong, T_D at most STRONG passes, a (1 + β‖X‖_F²/(λn))^b products
# whatever the data, models included: fitted on half of 36 data sets, within a factor 2 on 82 % of
# the problems of the other half, within 3 on 97 %.
# (a, b) for a quadratic loss, for one with flat sides, and for a curved one.
STRONG = 2.0
STRONG_PRODUCTS = {"quadratic": (2.3, 0.27), "flat": (1.7, 0.41), "curved": (3.4, 0.24)}
# Or about this times √(epochs · fall), where coordinate descent on the same side needs that number
# of epochs to lower the gap by a factor e^fall: descent needs κ · fall, conjugate gradients
# √κ · fall. A fall of less than SHORTEST_FALL costs as much as that one, and a loss that is not
# quadratic NOT_QUADRATIC times more products. Measured on text, for the dual.
PRODUCTS_PER_ROOT, SHORTEST_FALL = 2.7, 8.0
NOT_QUADRATIC = 5.0

# The softmax loss: products with the data in truncated Newton to 1e-6, preconditioned by a matrix
# or by a diagonal, medians over sets with several classes; the most epochs of dual descent, which
# is left where it is slower; and its nanoseconds per example and class (a block of 20 classes).
SOFTMAX_PRODUCTS, MOST_SOFTMAX_EPOCHS, SOFTMAX_BLOCK = (30, 120), 60.0, 300.0
# A matrix preconditions if it costs at most this many products, up to this many entries (80 MB).
PRECONDITIONER, MOST_ENTRIES = 10.0, 10_000_000

# ``ssnal`` on a smooth loss with flat sides, once descent has found the active examples: its steps,
# and the largest active fraction for which it is worth trying.
ACTIVE_STEPS, MOST_ACTIVE = 6, 0.7
# On a loss with kinks: its steps, and the fraction of a whole Hessian that one builds on average.
KINK_STEPS, KINK_FRACTION = 40, 0.15
# Products with the data in one of its steps.
SSNAL_PRODUCTS = 1.5


# What each thread adds to the speed of work that threads share.
SHARE = 0.8

_threads: ContextVar[int] = ContextVar("primaldual_priced_threads", default=1)


@contextmanager
def priced_for(threads: int) -> Iterator[None]:
    """Inside, prices are those with that number of threads.

    A fit is priced for one: the method that it takes must not depend on the machine, or its bits
    would.
    """
    token = _threads.set(threads)
    try:
        yield
    finally:
        _threads.reset(token)


def shared(nanoseconds: float) -> float:
    """What work takes that threads share, cut into parts that take some time each."""
    threads = min(_threads.get(), MOST_PARTS, nanoseconds / (PART * MACHINE.product_sparse))
    return nanoseconds / max(SHARE * threads, 1.0)


def well_stored(problem: Problem) -> Problem:
    """The problem with its data stored as the engine would have it.

    Sparse data that is full enough becomes dense rows, which are faster and not much larger.
    """
    matrix, entries = problem.matrix, problem.n * problem.d
    if not matrix.is_sparse or matrix.nnz <= DENSE_FRACTION * entries or entries > DENSE_ENTRIES:
        return problem
    return problem.densified()


def digits(tol: float) -> float:
    """log(1/tol), for tolerances within reason."""
    return math.log(1.0 / min(max(tol, 1e-15), 0.1))


class SoftmaxCosts:
    """What the methods for the softmax loss should cost on one problem, in nanoseconds.

    A row that is read serves all K classes: a visit costs K multiply-adds.

    Attributes
    ----------
    product : float
        A step of conjugate gradients: a product with X, the curvature, one with the transpose.
    """

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.classes, self.d = problem.shapes[0]
        self.n, self.sparse = problem.n, problem.matrix.is_sparse
        self.tall = self.n >= self.d
        visit = MACHINE.columns_sparse if self.sparse else MACHINE.columns_dense
        scores = self.n * self.classes
        self.reading = visit * problem.matrix.nnz * self.classes
        self.product = self.reading + MACHINE.columns_class * scores + MACHINE.columns_call
        self.point = MACHINE.softmax_class * scores

    @property
    def preconditioner(self) -> float:
        """The price of a d × d matrix for all classes in products, infinite if it is too high."""
        price = self.matrix() / self.product
        return price if price <= PRECONDITIONER and self.d**2 <= MOST_ENTRIES else math.inf

    def matrix(self) -> float:
        """To make and factor one matrix of the features' inner products."""
        nnz, d = self.problem.matrix.nnz, float(self.d)
        if self.sparse:
            gram = MACHINE.scattered * nnz**2 / self.n / 2  # if rows are about equally long
        else:
            gram = MACHINE.flop * self.n * d**2 / 2 + MACHINE.scaled * nnz
        return gram + MACHINE.flop * d**3 / 3 + MACHINE.entry * d**2

    def epochs(self, tol: float) -> float:
        """Epochs of dual descent."""
        fall = digits(tol)
        epochs = 1.0 + EPOCHS_PER_BOUND * fall * (self.problem.examples.bound - FREE_BOUND)
        return max(min(epochs, MOST_SOFTMAX_EPOCHS), LEAST_EPOCHS)

    def products(self, tol: float) -> float:
        """Products of truncated Newton."""
        some = SOFTMAX_PRODUCTS[self.preconditioner == math.inf]
        return some * (1.0 + digits(tol) / math.log(1e6)) / 2

    def cost(self, method: str, tol: float) -> float:
        """What that method should cost."""
        if method == "dual_cd":
            block = SOFTMAX_BLOCK * self.n * self.classes
            return self.epochs(tol) * (self.reading + block)
        if method == "newton_cg":
            steps = NEWTON_STEPS * (self.product + 2 * self.point + MACHINE.softmax_step)
            if self.preconditioner < math.inf:
                steps += NEWTON_STEPS * self.matrix()
            return self.products(tol) * self.product + steps
        pairs, width = self.n * self.classes * (self.classes - 1) / 2, self.d + 1.0
        factor = MACHINE.scattered * (width * self.classes) ** 3 / 6
        step = pairs * (MACHINE.softmax_pair + MACHINE.outer * width * (width + 1) / 2) + factor
        return NEWTON_STEPS * (step + 3 * self.point + self.reading)

    def passes(self, method: str, tol: float) -> float:
        """Passes over the data that it counts as."""
        if method == "dual_cd":
            return self.epochs(tol)
        if method == "newton_cg":
            return 2.0 * (self.products(tol) + NEWTON_STEPS)
        pairs = (self.classes - 1) / 2
        return NEWTON_STEPS * (pairs * self.d / 2 + 2.0)


class Costs:
    """What the engine's methods should cost on one problem, in nanoseconds.

    They are found when they are asked for: a small problem is solved while all are computed.

    Attributes
    ----------
    curved : bool
        Whether the loss is strictly convex, but not quadratic, as the logistic one: it has no flat
        side, and its curvature at the optimum is far below β.
    small : bool
        Whether one call makes all Newton steps in a few milliseconds at most.
    brief : bool
        Whether truncated Newton is over in one call, if a few products are enough.
    examples : float
        The scalar work for all examples.
    """

    def __init__(self, problem: Problem) -> None:
        matrix, loss = problem.matrix, problem.loss
        self.problem = problem
        self.n, self.d, self.nnz, self.sparse = problem.n, problem.d, matrix.nnz, matrix.is_sparse
        self.tall = self.n >= self.d
        self.quadratic = loss.quadratic
        self.curved = loss.strictly_convex and not loss.quadratic
        self.small = is_small(problem)
        self.local = problem.is_smooth and problem.beta == math.inf  # φ'' has no bound
        self.brief = product_work(problem) <= BRIEF_PRODUCT
        self.examples = (MACHINE.example if self.curved else MACHINE.example_closed) * self.n

    @cached_property
    def steps(self) -> int:
        """Newton steps on all the data: one if the loss is its own quadratic model."""
        if self.quadratic:
            return 1
        return STEPS_AFTER_SAMPLES if starts_on_samples(self.problem) else NEWTON_STEPS

    @cached_property
    def product(self) -> float:
        """A product with X and one with its transpose, from one reading."""
        if self.sparse:
            near = self.d <= NEAR_VECTOR
            visits = (MACHINE.product_sparse if near else MACHINE.product_sparse_far) * self.nnz
            example = MACHINE.product_example_sparse
        else:
            entries = self.n * self.d
            near = entries <= NEAR_ENTRIES
            visits = (MACHINE.product_dense if near else MACHINE.product_dense_far) * entries
            example = MACHINE.product_example
        return shared(visits + example * self.n) + MACHINE.product_call

    # ---- coordinate descent

    @cached_property
    def dual_bound(self) -> float:
        """T_D in passes over the data, by a typical φ'' where β is infinite."""
        return self._bound(self.problem.examples)

    @cached_property
    def primal_bound(self) -> float:
        """T_P in the same way."""
        return self._bound(self.problem.features)

    def _bound(self, side: Coordinates) -> float:
        return (replace(side, beta=self.problem.curvature) if self.local else side).bound

    def nearly_orthogonal(self) -> bool:
        """Whether the examples are, by a sample of their angles."""
        return self.n * self.problem.matrix.squared_cosine() <= ORTHOGONAL

    def expected_epochs(self, tol: float) -> float:
        """Epochs of dual coordinate descent, before it has run."""
        if not self.problem.is_smooth:
            return KINK_EPOCHS if self.tall else KINK_EPOCHS_WIDE
        fall = digits(tol)
        epochs = 1.0 + EPOCHS_PER_BOUND * fall * (self.dual_bound - FREE_BOUND)
        if self.tall:
            return max(epochs, LEAST_EPOCHS * fall / math.log(1e6))
        if self.sparse:
            return min(epochs, MOST_EPOCHS_SPARSE)
        if epochs <= FEW_EPOCHS_DENSE:
            return epochs
        most = MOST_EPOCHS_CURVED if self.curved else MOST_EPOCHS_DENSE
        return min(epochs, FEW_EPOCHS_DENSE if self.nearly_orthogonal() else most)

    def epoch(self, name: str) -> float:
        """One round of coordinate descent, ``dual_cd`` or ``primal_cd``."""
        dual = name == "dual_cd"
        if self.sparse:
            rows, vector = (self.n, self.d) if dual else (self.d, 2 * self.n)
            visit = MACHINE.visit_sparse if vector <= NEAR_VECTOR else MACHINE.visit_sparse_far
            visits = visit * self.nnz
            if self.nnz > NEAR_NONZEROS:
                visits += MACHINE.row_far * rows
        else:
            near = self.n * self.d <= NEAR_ENTRIES
            visits = self.n * self.d * (MACHINE.visit_dense if near else MACHINE.visit_dense_far)
        if not dual:
            passes = MACHINE.round_sparse if self.sparse else MACHINE.round_dense
            return passes * visits + MACHINE.example_of_model * self.n
        if self.sparse and self.nnz <= NEAREST_NONZEROS and not self.curved:
            return visits + MACHINE.example_near * self.n
        return visits + self.examples

    def dual(self, tol: float) -> float:
        """Coordinate descent on the dual."""
        return self.expected_epochs(tol) * self.epoch("dual_cd")

    def primal(self, rounds: float = FEW_ROUNDS) -> float:
        """Coordinate descent on the primal, with the copy of the data by feature that it reads."""
        copy = MACHINE.copy * self.nnz + MACHINE.step
        return copy + rounds * self.epoch("primal_cd")

    # ---- Newton's method with a matrix

    def newton(self, most: float = math.inf) -> float:
        """Newton's method with a d × d matrix; infinite if it surely costs more than ``most``."""
        d, problem = float(self.d), self.problem
        if self.small:
            work = hessian_work(problem) * MACHINE.scattered + d**3 / 3
            return self.steps * (work + self.examples)
        step = MACHINE.flop * d**3 / 3 + MACHINE.entry * d**2 + MACHINE.step + self.examples
        if self.steps * shared(step) > most:
            return math.inf
        if self.sparse:
            step += MACHINE.scattered * hessian_work(problem)
        else:
            step += MACHINE.flop * hessian_work(problem) + MACHINE.scaled * self.n * d
        return self.steps * shared(step)

    def gram(self, most: float = math.inf) -> float:
        """Newton's method with an n × n matrix; infinite if it surely costs more than ``most``."""
        n, d, cost = float(self.n), float(self.d), self._gram_steps()
        if cost > most:
            return math.inf
        cost += 2 * MACHINE.entry * n * n + MACHINE.gram_call
        if not self.sparse:
            return shared(n * n * d / 2 * MACHINE.flop) + cost
        cost += MACHINE.copy * self.nnz
        # Σ_i ‖X_:i‖₀² is no less than this, by Cauchy and Schwarz; to know it takes a pass.
        least = float(self.nnz) ** 2 / d
        if cost + MACHINE.scattered * least / 2 > most:
            return math.inf
        return cost + shared(MACHINE.scattered * self._pairs_of_features())

    def least_direct(self) -> float:
        """No method that factors a matrix costs less: found without the pairs of features."""
        return min(self.newton(), self._gram_steps())

    def _gram_steps(self) -> float:
        """The steps of Newton's method once its n × n matrix is there."""
        n = float(self.n)
        step = shared(MACHINE.flop * n**3 / 3 + MACHINE.entry * n**2 + self.examples)
        step += MACHINE.step
        if self.quadratic:
            return step
        return (GRAM_STEPS if self.curved else NEWTON_STEPS) * step

    def _pairs_of_features(self) -> float:
        """Multiply-adds of X Xᵀ for sparse data: half of Σ_i ‖X_:i‖₀²."""
        counts = self.problem.features.counts.astype(np.float64)
        return float(counts @ counts) / 2

    # ---- Newton's method by conjugate gradients

    def few_products(self, products: tuple[int, int] = FEW_PRODUCTS) -> float:
        """Truncated Newton with n ≥ d where the features are not nearly collinear."""
        return self._truncated_steps(products[self.steps > 1])

    def truncated(self, curvature: float) -> float:
        """Truncated Newton, where φ'' is ``curvature`` on average."""
        p = self.problem
        squares = float(p.examples.squared_norms.sum())
        factor = PRODUCTS_CURVED if self.curved and not self.tall else PRODUCTS
        products = factor * math.sqrt(curvature * squares / (p.lam * p.n)) + MORE_PRODUCTS
        return self._truncated_steps(products)

    def strong(self) -> float:
        """Truncated Newton where the regularisation is strong, infinite where it is not."""
        p = self.problem
        if not self.dual_bound <= STRONG:
            return math.inf
        kind = "quadratic" if self.quadratic else "curved" if self.curved else "flat"
        factor, power = STRONG_PRODUCTS[kind]
        size = p.beta * float(p.examples.squared_norms.sum()) / (p.lam * p.n)
        return factor * (1.0 + size) ** power * self.product + MACHINE.step

    @cached_property
    def is_strong(self) -> bool:
        """Whether truncated Newton is priced by the strength of the regularisation."""
        return not self.brief and self.strong() < self.few_products()

    def conjugate(self, epochs: float, fall: float) -> float:
        """Truncated Newton, where descent on its side needs ``epochs`` for a factor e^fall."""
        products = PRODUCTS_PER_ROOT * math.sqrt(epochs * max(fall, SHORTEST_FALL))
        return self._truncated_steps(products * (NOT_QUADRATIC if self.steps > 1 else 1.0))

    def _truncated_steps(self, products: float) -> float:
        """The steps of truncated Newton with that number of products in all."""
        step = MACHINE.compiled_step if self.brief else MACHINE.step
        step += self.product + shared(MACHINE.example_of_step * self.n)
        return products * self.product + self.steps * step

    # ---- semismooth Newton

    def kinks(self) -> float:
        """``ssnal``, for a loss with kinks."""
        n, d = float(self.n), float(self.d)
        operation = MACHINE.scattered if self.sparse else MACHINE.flop
        gram = KINK_FRACTION * min(n / d, 1.0) * hessian_work(self.problem) * operation
        factor = MACHINE.flop * (min(n, d) / 2) ** 3 / 3
        step = shared(gram + factor + MACHINE.example * n) + MACHINE.step
        return KINK_STEPS * (SSNAL_PRODUCTS * self.product + step)

    def active(self, active: float, most: float = math.inf) -> float:
        """``ssnal`` on a smooth loss with n < d, where a fraction ``active`` is on no flat side.

        For sparse data: else ``gram_newton`` is better, which makes its matrix once and for all.
        Infinite if it surely costs more than ``most``.
        """
        step = MACHINE.cholesky * (active * self.n) ** 3 / 3 + MACHINE.step
        fits = self.sparse and not self.tall and active <= MOST_ACTIVE
        if not fits or ACTIVE_STEPS * step > most:
            return math.inf
        step += MACHINE.scattered * active**2 * self._pairs_of_features()
        step += SSNAL_PRODUCTS * self.product + self.examples
        return ACTIVE_STEPS * step

    # ---- a look at the data

    def eigenvalue(self, size: int, work: float) -> float:
        """The smallest eigenvalue of a matrix of that size, made with ``work`` multiply-adds."""
        operation = MACHINE.scattered if self.sparse else MACHINE.flop
        lapack = MACHINE.eigen_call + MACHINE.eigen_entry * size**2 + MACHINE.eigen_cube * size**3
        return work * operation + lapack
