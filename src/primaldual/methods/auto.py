"""The default: start with what should be cheapest, watch it, and change horses if it is slow."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from .._types import FloatArray, Side
from ..complexity import Complexity, importance_complexity
from ..problem import Problem
from ..samplings import Draws, Sampling
from .base import Method
from .dual_cd import DualCD
from .gram_newton import GramNewton
from .gram_newton_cg import GramNewtonCG
from .newton import Newton, hessian_work, is_small, slopes
from .newton_cg import NewtonCG
from .primal_cd import INNER_EPOCHS, PrimalCD
from .ssnal import SSNAL

# Nanoseconds per unit of work on a common machine. Only their ratios matter, and only roughly:
# the observed contraction corrects a wrong first choice.
VISIT_SPARSE = 6.0  # a nonzero in coordinate descent, its row met in random order
VISIT_DENSE = 1.2
VISIT_STREAMED = 1.2  # a nonzero in a product with the whole matrix
EXAMPLE = 100.0  # the scalar work for one example: exponentials, the one-dimensional problem
SCATTERED = 1.2  # a multiply-add into a Hessian of sparse rows
FLOP = 0.08  # a multiply-add in BLAS
STEP = 60_000.0  # the fixed price of a Newton step
PRODUCT = 20_000.0  # the fixed price of two products with the data

# Sparse data with more than this share of nonzeros is copied into dense rows, if not too large.
DENSE_SHARE = 0.25
DENSE_PLACES = 50_000_000

NEWTON_STEPS = 6
# With n ≥ d the bound T_D is nearly exact, since XXᵀ is singular, while T_P knows nothing of the
# curvature that so many examples give P: if T_D promises more passes than this, try the primal.
MANY_PASSES = 8.0
# Rounds to be assumed for the other side's coordinate descent before it has run.
ASSUMED_ROUNDS = {"primal_cd": 8, "dual_cd": 12}
# The epochs to be assumed for coordinate descent before it has run, when a factored matrix is the
# other choice: fewer where examples are few, since D is then well conditioned.
ASSUMED_EPOCHS = {"newton": 12, "gram_newton": 5}
# Conjugate gradients need about this times √(h ‖X‖_F²/(λn)) products with the data, h being the
# mean curvature of the loss; measured on text, where it held within a factor 2 over λ.
PRODUCTS = 1.6
# They need about this times √epochs products where coordinate descent on the same side needs that
# many epochs; so many times more if the loss is not quadratic. Measured on text, for the dual.
PRODUCTS_PER_ROOT = 10.0
NOT_QUADRATIC = 5.0
# Rounds without progress after which a second-order method is given up for another one, and the
# most nanoseconds that one may be predicted to take.
STUCK_ROUNDS = 6
MOST_RESCUE = 30e9
# Epochs before the observed contraction is trusted, and how far: a prediction this many times
# too long is common.
TRIAL_EPOCHS = 4
TRUST = 2.0
# Rounds in which a gap that does not fall is taken for one of its jumps.
PATIENCE = 12
# For a loss with corners: the steps that ``ssnal`` takes about, the part of a Hessian of all
# examples that one of them builds on average, and the epochs to be assumed for ``dual_cd``, by
# whether there are more features than examples.
CORNER_STEPS = 40
CORNER_SHARE = 0.15
CORNER_EPOCHS = {True: 30, False: 200}
# The mean curvature is hardly ever smaller than β times the square of this.
SMALLEST_SHARE = 0.2


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    rng: Generator
    method: Method  # the one that runs now
    name: str
    inner: Any  # its state
    gaps: list[float] = field(default_factory=list)  # its estimates so far
    prices: dict[str, float] = field(default_factory=dict)  # of the rescues, in nanoseconds
    share: float = 1.0  # the last round's work, in whole rounds
    next_watch: int = TRIAL_EPOCHS  # the round from which the contraction is looked at again
    next_look: int = TRIAL_EPOCHS  # the round from which the curvature may be looked at
    tried: set[str] = field(default_factory=set)
    log: list[str] = field(default_factory=list)  # which method, and why


class Auto:
    """Choose among the engine's methods by predicted cost, and again by observed contraction.

    Direct methods (``newton``, ``gram_newton``) are taken at once where their matrices are small;
    otherwise coordinate descent starts on the dual, or on the primal where there are more examples
    than features and the dual's bound is large. When its observed contraction predicts more work
    than another method would need, that one takes over from the current iterate. A loss with
    corners leaves two methods: ``dual_cd`` and ``ssnal``.

    Parameters
    ----------
    tol : float
        The relative gap the run aims at, to predict the work that is left.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = True
    corners: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tol: float = 1e-6) -> None:
        self.tol = tol

    def start(
        self,
        problem: Problem,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The cheapest method's state at the given point."""
        rng = np.random.default_rng(0) if rng is None else rng
        if dense_pays(problem):
            problem = problem.densified()
        name, why = self._first(problem)
        method = self._method(name)
        inner = method.start(problem, None, w=w, alpha=alpha, rng=rng)
        return State(problem, rng, method, name, inner, tried={name}, log=[f"{name}: {why}"])

    def _first(self, problem: Problem) -> tuple[str, str]:
        """The method to start with, and why."""
        return first_choice(problem)

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One round of the current method, and a change of methods if it pays."""
        work = state.method.advance(state.inner, None)
        state.share = work / (1 if state.name == "dual_cd" else 3) / state.problem.matrix.nnz
        state.gaps.append(self.gap_estimate(state))
        successor = self._successor(state)
        if successor is not None:
            name, why = successor
            _hand_over(state, name, self._method(name), why)
        return work

    def _method(self, name: str) -> Any:
        """One of the engine's methods; the one that saves work on the way is told the aim."""
        return ENGINE[name](self.tol) if name in TOLD else ENGINE[name]()

    def gap_estimate(self, state: State) -> float:
        """The current method's estimate."""
        return float(state.method.gap_estimate(state.inner))  # type: ignore[attr-defined]

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current method's iterate."""
        return state.method.iterate(state.inner)

    def label(self, state: State) -> str:
        """The name of the current method, for the trace."""
        return state.name

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """That of the method it would start with."""
        return ENGINE[first_choice(problem)[0]]().complexity(problem, None)

    def _successor(self, state: State) -> tuple[str, str] | None:
        """The method that should take over, and why; None to go on."""
        p = state.problem
        if not p.is_smooth:
            return self._corner_successor(state)
        if state.name not in ("dual_cd", "primal_cd"):
            return self._fallback(state)
        if len(state.gaps) < state.next_watch:
            return None
        state.next_watch = len(state.gaps) + max(1, len(state.gaps) // TRIAL_EPOCHS)
        left = epochs_left(state.gaps, self.tol * p.primal_at_zero)
        ahead = left * epoch_cost(p, state.name) * state.share / TRUST
        if not state.prices:
            state.prices = rescues(p, p.beta)
        if state.name == "dual_cd":
            state.prices["gram_newton_cg"] = cg_price(p, left / TRUST)
        else:
            observed = cg_price(p, INNER_EPOCHS * left / TRUST)
            state.prices["newton_cg"] = min(state.prices["newton_cg"], observed)
        other = "primal_cd" if state.name == "dual_cd" else "dual_cd"
        if other not in state.tried and (p.n >= p.d) == (other == "primal_cd"):
            state.prices[other] = ASSUMED_ROUNDS[other] * epoch_cost(p, other)
        # A look at the curvature costs a pass: only where it could decide, and not too often.
        if ahead <= min(min(state.prices.values()), SMALLEST_SHARE * state.prices["newton_cg"]):
            return None
        if len(state.gaps) >= state.next_look:
            state.next_look = 2 * len(state.gaps)
            z = p.matrix.times(state.method.iterate(state.inner)[0])
            state.prices.update(rescues(p, float(slopes(p, z)[1].mean())))
        rescue = min(state.prices.items(), key=lambda item: item[1])
        if ahead <= rescue[1]:
            return None
        return rescue[0], f"{state.name} would need about {left:.0f} more rounds"

    def _corner_successor(self, state: State) -> tuple[str, str] | None:
        """The other one of the two methods for a loss with corners, if this one is slow."""
        if state.name == "ssnal":
            recent, earlier = state.gaps[-CORNER_STEPS:], state.gaps[:-CORNER_STEPS]
            stuck = bool(earlier) and min(recent) > 0.9 * min(earlier)
            return ("dual_cd", "ssnal is stuck") if stuck and "dual_cd" not in state.tried else None
        if "ssnal" in state.tried or len(state.gaps) < state.next_watch:
            return None
        state.next_watch = len(state.gaps) + max(1, len(state.gaps) // TRIAL_EPOCHS)
        left = epochs_left(state.gaps, self.tol * state.problem.primal_at_zero)
        ahead = left * epoch_cost(state.problem, "dual_cd") * state.share / TRUST
        price = corner_price(state.problem)
        if ahead <= price or price > MOST_RESCUE:
            return None
        return "ssnal", f"dual_cd would need about {left:.0f} more rounds"

    def _fallback(self, state: State) -> tuple[str, str] | None:
        """Another second-order method, once, if the current one has long not got anywhere."""
        recent, earlier = state.gaps[-STUCK_ROUNDS:], state.gaps[:-STUCK_ROUNDS]
        # An infinite estimate comes with a shortened step, which is progress.
        if not earlier or max(recent) == np.inf or min(recent) < 0.9 * min(earlier):
            return None
        others = {
            name: price
            for name, price in rescues(state.problem, state.problem.beta).items()
            if name not in state.tried and price <= MOST_RESCUE
        }
        if not others:
            return None
        return min(others, key=lambda name: others[name]), f"{state.name} is stuck"


ENGINE: dict[str, Any] = {
    "dual_cd": DualCD,
    "primal_cd": PrimalCD,
    "newton": Newton,
    "gram_newton": GramNewton,
    "newton_cg": NewtonCG,
    "gram_newton_cg": GramNewtonCG,
    "ssnal": SSNAL,
}

TOLD = ("dual_cd", "newton", "newton_cg", "gram_newton_cg")  # those whose start takes ``tol``


def dense_pays(problem: Problem) -> bool:
    """Whether sparse data is so full that dense rows are faster and not much larger."""
    places = problem.n * problem.d
    full = problem.matrix.is_sparse and problem.matrix.nnz > DENSE_SHARE * places
    return full and places <= DENSE_PLACES


def first_choice(problem: Problem) -> tuple[str, str]:
    """The method to start with, and why."""
    if not problem.is_smooth:
        return corner_choice(problem)
    if is_small(problem):
        return "newton", "few features and few examples"
    direct, price = min(direct_prices(problem).items(), key=lambda item: item[1])
    epoch = epoch_cost(problem, "dual_cd")
    if price <= ASSUMED_EPOCHS[direct] * epoch:
        small = "few features" if direct == "newton" else "few examples"
        return direct, f"{small}: a matrix of that size costs less than a few epochs"
    return descent_choice(problem)


def descent_choice(problem: Problem) -> tuple[str, str]:
    """The side on which coordinate descent should be faster, as its method, and why."""
    if not problem.is_smooth:
        return "dual_cd", "the loss has corners, so only the dual has coordinate steps"
    if problem.n < problem.d:
        return "dual_cd", "n < d: the examples are spread out, so the dual is well conditioned"
    bound = dual_bound(problem)
    if bound > MANY_PASSES:
        return "primal_cd", f"n ≥ d, and the dual may need {bound:.2g} passes per factor e"
    return "dual_cd", f"the dual needs at most {bound:.2g} passes per factor e"


def corner_choice(problem: Problem) -> tuple[str, str]:
    """The method to start with for a loss with corners, and why."""
    epochs = CORNER_EPOCHS[problem.n < problem.d]
    if corner_price(problem) <= epochs * epoch_cost(problem, "dual_cd"):
        return "ssnal", f"a loss with corners: Newton steps cost less than {epochs} epochs"
    return "dual_cd", "a loss with corners: the dual has exact coordinate steps"


def corner_price(problem: Problem) -> float:
    """Predicted nanoseconds of ``ssnal``."""
    n, d = float(problem.n), float(problem.d)
    operation = SCATTERED if problem.matrix.is_sparse else FLOP
    gram = CORNER_SHARE * min(n / d, 1.0) * hessian_work(problem) * operation
    factor = FLOP * (min(n, d) / 2) ** 3 / 3
    return CORNER_STEPS * (1.5 * _product_cost(problem) + gram + factor + EXAMPLE * n + STEP)


def dual_bound(problem: Problem) -> float:
    """T_D in passes over the data."""
    return importance_complexity(problem.examples).total / max(problem.matrix.nnz, 1)


def rescues(problem: Problem, curvature: float) -> dict[str, float]:
    """What can take over from coordinate descent, with its predicted nanoseconds."""
    squares = float(problem.examples.squared_norms.sum())
    products = PRODUCTS * math.sqrt(curvature * squares / (problem.lam * problem.n)) + 20
    truncated = products * _product_cost(problem) + _steps(problem) * STEP
    return {**direct_prices(problem), "newton_cg": truncated}


def cg_price(problem: Problem, epochs: float) -> float:
    """Predicted nanoseconds of truncated Newton where descent on its side needs so many epochs."""
    steps = _steps(problem)
    products = PRODUCTS_PER_ROOT * math.sqrt(epochs) * (NOT_QUADRATIC if steps > 1 else 1.0)
    return products * _product_cost(problem) + steps * STEP


def _product_cost(problem: Problem) -> float:
    """Predicted nanoseconds of a product with X and one with its transpose."""
    return 2 * VISIT_STREAMED * problem.matrix.nnz + 0.2 * EXAMPLE * problem.n + PRODUCT


def direct_prices(problem: Problem) -> dict[str, float]:
    """Predicted nanoseconds of the methods that factor a matrix."""
    n, d = float(problem.n), float(problem.d)
    operation = SCATTERED if problem.matrix.is_sparse else FLOP
    newton = hessian_work(problem) * operation + FLOP * d**3 / 3 + EXAMPLE * n + STEP
    if is_small(problem):
        newton = hessian_work(problem) * SCATTERED + d**3 / 3 + EXAMPLE * n
    gram = n * problem.matrix.nnz / 2 * operation
    if problem.matrix.is_sparse:
        gram = float(problem.features.counts.astype(np.float64) @ problem.features.counts) / 2
        gram = gram * SCATTERED + 10 * problem.matrix.nnz
    steps = FLOP * n**3 / 3 + 4 * FLOP * n**2 + EXAMPLE * n + STEP
    newton_steps = _steps(problem)
    return {"newton": newton_steps * newton, "gram_newton": gram + newton_steps * steps}


def _steps(problem: Problem) -> int:
    """Newton steps to be expected: one if the loss is its own quadratic model."""
    return 1 if getattr(problem.loss, "quadratic", False) else NEWTON_STEPS


def epoch_cost(problem: Problem, name: str) -> float:
    """Predicted nanoseconds of one round of coordinate descent."""
    visit = VISIT_SPARSE if problem.matrix.is_sparse else VISIT_DENSE
    passes = 1 if name == "dual_cd" else 3
    return passes * visit * problem.matrix.nnz + EXAMPLE * problem.n


def epochs_left(gaps: list[float], target: float) -> float:
    """Rounds until the gap is at the target, by the contraction over the later half of them.

    A gap seen along an epoch jumps up and down: a line through its logarithms evens that out.
    """
    target = max(target, np.finfo(float).tiny)
    if gaps[-1] <= target:
        return 0.0
    fall = _fall(gaps[-max(TRIAL_EPOCHS, len(gaps) // 2) :])
    if fall <= 0 and len(gaps) < PATIENCE:
        fall = _fall(gaps)
    return math.log(gaps[-1] / target) / fall if fall > 0 else math.inf


def _fall(gaps: list[float]) -> float:
    """By how much the logarithm of the gap falls in a round: the slope of a fitted line."""
    rounds = np.arange(len(gaps)) - (len(gaps) - 1) / 2
    logs = np.log(np.maximum(gaps, np.finfo(float).tiny))
    return -float(rounds @ logs) / float(rounds @ rounds)


def _hand_over(state: State, name: str, method: Method, why: str) -> None:
    """Let another method go on from the current iterate: nothing is thrown away."""
    w, alpha = state.method.iterate(state.inner)
    state.method = method
    state.inner = state.method.start(state.problem, None, w=w, alpha=alpha, rng=state.rng)
    state.name = name
    state.tried.add(name)
    state.gaps, state.prices = [], {}
    state.next_watch = state.next_look = TRIAL_EPOCHS
    state.log.append(f"{name}: {why}")
