"""The default: start with what should be cheapest, watch it, and change horses if it is slow."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from .._types import FloatArray, Side
from ..complexity import Complexity
from ..methods.base import Method
from ..methods.engine import ENGINE
from ..methods.engine.dual_cd import DualCD
from ..methods.engine.newton_cg import NewtonCG
from ..methods.engine.primal_cd import INNER_EPOCHS
from ..methods.engine.second_order import is_small, slopes
from ..problem import Problem
from ..samplings import Draws, Sampling
from .choice import (
    HOPE,
    TRIAL_EPOCHS,
    TRIAL_PRICE,
    first_choice,
    trial_length,
    well_stored,
)
from .prices import (
    CORNER_STEPS,
    active_price,
    bends,
    cg_price,
    corner_price,
    direct_prices,
    dual_bound,
    epoch_price,
    expected_epochs,
    newton_price,
    product_price,
    rescue_prices,
    transpose_price,
    truncated_price,
)

# Where T_D is at most so many passes, or where they cost next to nothing compared with it, an epoch
# or two on the dual come before Newton's method, which then costs about this part of what it would
# from zero. With more than so many examples for a feature, its own start on samples is better.
GOOD_START = 50.0
CHEAP_START = 0.1
MANY_EXAMPLES = 200
REST_OF_NEWTON = 0.7
# Rounds without progress after which a second-order method is given up for another one, and the
# most nanoseconds that one may be predicted to take.
STUCK_ROUNDS = 6
MOST_RESCUE = 30e9
# Alternatives are priced once a method has taken so many nanoseconds.
LOOK_PRICE = 1e6
# A prediction from the observed contraction is often this many times too long.
TRUST = 2.0
# Rounds to be assumed for the primal before it is taken instead of the dual; with n < d for every
# digit of the gap that is to go.
ASSUMED_ROUNDS, ROUNDS_PER_DIGIT = 8, 7
# Truncated Newton is looked at after so many products, where it is the first choice.
# On the squared loss, in its one long step, what is left then takes so many times longer than by
# the fall seen so far.
FIRST_PRODUCTS = 12
SLOWS = 2.0
# Conjugate gradients on the squared loss suit the features where so much of P(0) is left.
MUCH_LEFT = 0.2
# So many times the products that are priced are needed where many examples are on a flat side.
CHANGES = 0.7
# Rounds of descent whose estimate is at the target after which it is no longer believed, and the
# least part of all its rounds.
UNPROVED_ROUNDS, UNPROVED_PART = 8, 0.25
UNPROVED = "the small gap that coordinate descent tells is not proved"
# Rounds in which a gap that does not fall is taken for one of its jumps. ``dual_cd`` makes fewer in
# its first call.
PATIENCE = 16
# Rounds that descent is assumed to need, to price conjugate gradients, where its gap does not fall.
UNKNOWN_ROUNDS = 1000
# No gap is smaller, where its logarithm is taken.
TINIEST = sys.float_info.min
# Truncated Newton costs no less than this part of what it does from zero.
LEAST_PART = 0.3
# The part of the data that an epoch visits is averaged over about so many.
SHARE_EPOCHS = 4
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
    wakes: list[int] = field(default_factory=list)  # of these, the first after some have rested
    prices: dict[str, float] = field(default_factory=dict)  # of the rescues, in nanoseconds
    planned: bool = False  # whether coordinate descent is but a start for Newton's method
    share: float = 1.0  # a round's work, in whole rounds: the last one's, or a mean on the dual
    awake: float = 1.0  # the part of the examples that the last epoch visited
    active: float = 1.0  # that of the last one in which some rested
    visited: float = 1.0  # and the part of the nonzeros
    longest: float = 0.0  # the most rounds that it ever seemed to need in all
    longer: int = 0  # how often in a row it seemed to need more than ever
    below: int = 0  # rounds of descent whose estimate was at the target, but no proof came of it
    next_watch: int = TRIAL_EPOCHS  # the round from which the contraction is looked at again
    next_look: int = TRIAL_EPOCHS  # the round from which the curvature may be looked at
    tried: set[str] = field(default_factory=set)
    left_behind: dict[str, float] = field(default_factory=dict)  # nanoseconds they had to go
    log: list[str] = field(default_factory=list)  # which method, and why


class Auto(Method):
    """Choose among the engine's methods by predicted cost, and again by observed contraction.

    First comes what should be cheapest: Newton's method where its matrix is small (``newton``,
    ``gram_newton``), often after an epoch on the dual for a start; truncated Newton
    (``newton_cg``) with n ≥ d where a few products with the data may be enough; otherwise
    coordinate descent, on the dual if n < d or if T_D promises few epochs, else on the primal.
    When the observed contraction predicts more work than another method would need, that one takes
    over from the current iterate; also ``ssnal``, with n < d, where many examples rest on a flat
    side of the loss. A loss with corners leaves two methods: ``dual_cd`` and ``ssnal``.

    Parameters
    ----------
    tol : float
        The relative gap the run aims at, to predict the work that is left.
    advised : (str, str), optional
        The method to start with and why, where that is known already.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = True
    smooth_only: ClassVar[bool] = False

    def __init__(self, tol: float = 1e-6, advised: tuple[str, str] | None = None) -> None:
        self.tol = tol
        self.advised = advised

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
        problem = well_stored(problem)
        name, why = self._first(problem)
        planned = w is None and alpha is None and self._wants_a_start(problem, name)
        if planned:
            name, why = "dual_cd", f"a few epochs, to give {name} a start ({why})"
        method: Any = self._first_method(name)
        if planned:
            method = DualCD(self.tol, most_epochs=2)  # few at a time
        inner = method.start(problem, None, w=w, alpha=alpha, rng=rng)
        state = State(problem, rng, method, name, inner, tried={name}, log=[f"{name}: {why}"])
        state.next_watch = trial_length(name)
        if planned:
            # The fall from P(0), the gap at zero, to the first epoch's tells how it will go on.
            state.planned, state.next_watch, state.gaps = True, 2, [problem.primal_at_zero]
        return state

    def _first(self, problem: Problem) -> tuple[str, str]:
        """The method to start with, and why."""
        return first_choice(problem, self.tol) if self.advised is None else self.advised

    def _first_method(self, name: str) -> Any:
        """The method of that name; truncated Newton is but tried at first."""
        if name == "newton_cg":
            return NewtonCG(self.tol, FIRST_PRODUCTS)
        return engine_method(name, self.tol)

    def _wants_a_start(self, problem: Problem, name: str) -> bool:
        """Whether a few epochs on the dual lead Newton's method faster to where it converges.

        They may also turn out to be all that was needed.
        """
        if name != "newton" or is_small(problem) or problem.loss.quadratic:
            return False
        if not problem.matrix.is_sparse:
            return False
        if problem.n > MANY_EXAMPLES * problem.d:
            return False
        cheap = epoch_price(problem, "dual_cd") <= CHEAP_START * newton_price(problem)
        return cheap or dual_bound(problem) <= GOOD_START

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One round of the current method, and a change of methods if it pays."""
        work = state.method.advance(state.inner, None)
        # Several epochs of a small problem are one call.
        told = state.inner.gaps.tolist() if state.name in DESCENT else [self.gap_estimate(state)]
        if not state.gaps and state.tried == {"newton_cg"}:
            state.gaps.append(state.inner.began)  # its trial is judged by the fall from there
        if state.name in DESCENT:
            target = self.tol * state.problem.primal_at_zero
            state.below += sum(gap <= target for gap in told)
        if state.name == "dual_cd":
            self._watch_rest(state, work / max(state.problem.matrix.nnz, 1))
        else:
            # A round on the primal is three passes.
            state.share = work / (3 * len(told) * max(state.problem.matrix.nnz, 1))
        state.gaps.extend(told)
        successor = self._successor(state)
        if successor is not None:
            name, why = successor
            _hand_over(state, name, engine_method(name, self.tol), why)
        return work

    def _watch_rest(self, state: State, passes: float) -> None:
        """Note how much of the data epochs on the dual visit, and where all of it is again."""
        if len(state.inner.parts) == 1 and passes < 1.0:
            state.visited = passes
        for k, part in enumerate(state.inner.parts.tolist(), start=len(state.gaps)):
            if part == 1.0 and state.awake < 1.0:
                state.wakes.append(k)
            state.awake = part
            if part < 1.0:
                state.active = part
            state.share += (part - state.share) / SHARE_EPOCHS

    def gap_estimate(self, state: State) -> float:
        """The current method's estimate."""
        gap = state.method.gap_estimate(state.inner)
        assert gap is not None  # every method of the engine has one
        return gap

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
        if state.tried == {"newton_cg"}:
            return self._instead_of_cg(state)
        if state.name not in DESCENT:
            return self._fallback(state)
        if self._is_unproved(state):
            return self._second_order(state, UNPROVED)
        if len(state.gaps) < state.next_watch:
            return None
        if not state.planned and len(state.gaps) * epoch_price(p, state.name) < LOOK_PRICE:
            return None
        state.next_watch = len(state.gaps) + max(1, len(state.gaps) // TRIAL_EPOCHS)
        left = epochs_left(state.gaps, self.tol * p.primal_at_zero, state.wakes)
        ahead = left * epoch_price(p, state.name) * state.share
        if state.planned:
            state.next_watch = len(state.gaps) + 1
            if ahead <= REST_OF_NEWTON * newton_price(p):
                return None
            return "newton", f"dual_cd would need about {left:.0f} more rounds"
        trust = self._trust(state, left)
        ahead /= trust
        if not state.prices:
            state.prices = rescue_prices(p, p.beta, ahead)
        if state.name == "dual_cd":
            # A gap that does not fall says nothing of conjugate gradients.
            rounds = left if left < math.inf else UNKNOWN_ROUNDS
            state.prices["gram_newton_cg"] = cg_price(p, rounds / trust, self._fall(state))
            state.prices["ssnal"] = active_price(p, state.active, ahead)
        else:
            observed = cg_price(p, INNER_EPOCHS * left / trust, self._fall(state))
            state.prices["newton_cg"] = min(state.prices["newton_cg"], observed)
        self._price_other_side(state)
        # A look at the curvature costs a pass: only where it could decide, and not too often.
        part = self._newton_part(state)
        rescue = _cheapest(state, part)
        if ahead <= min(rescue[1], SMALLEST_SHARE * part * state.prices["newton_cg"]):
            return None
        if len(state.gaps) >= state.next_look:
            state.next_look = 2 * len(state.gaps)
            z = p.matrix.times(state.method.iterate(state.inner)[0])
            state.prices.update(rescue_prices(p, float(slopes(p, z)[1].mean()), ahead))
            rescue = _cheapest(state, part)
        if ahead <= rescue[1]:
            return None
        state.left_behind[state.name] = ahead
        name = rescue[0]
        if name == "gram_newton_cg" and self._suits_features(state):
            name = "newton_cg"
        return name, f"{state.name} would need about {left:.0f} more rounds"

    def _target(self, p: Problem) -> float:
        """The gap to be reached, or the smallest one that has a logarithm."""
        return max(self.tol * p.primal_at_zero, TINIEST)

    def _fall(self, state: State) -> float:
        """The logarithm of the factor by which the gap has to fall."""
        return math.log(max(state.gaps[-1] / self._target(state.problem), 1.0))

    def _newton_part(self, state: State) -> float:
        """What truncated Newton costs from here, as a part of what it would from zero.

        Its steps are fewer where part of the way is made. Where the loss has flat sides, who is on
        them may still change.
        """
        p = state.problem
        if not bends(p):
            return 1.0
        way = math.log(max(p.primal_at_zero / self._target(p), 2.0))
        return min(max(self._fall(state) / way, LEAST_PART), 1.0)

    def _suits_features(self, state: State) -> bool:
        """Whether conjugate gradients should run on the features, not on the examples.

        The squared loss has one spectrum for both. Measured on text, the features need fewer
        products where much of P is left, and far more where the model explains nearly everything.
        """
        p = state.problem
        if not p.loss.quadratic or "newton_cg" in state.tried:
            return False
        alpha = state.method.iterate(state.inner)[1]
        return alpha is not None and p.dual(alpha) >= MUCH_LEFT * p.primal_at_zero

    def _trust(self, state: State, left: float) -> float:
        """How many times too long the rounds that seem to be left may be.

        Not at all where there are more and more of them, twice in a row since gaps jump: then
        descent becomes slower and slower. Where the loss bends all the way that is often not so.
        """
        total = len(state.gaps) + left
        longer = 0.0 < state.longest < total
        state.longer = state.longer + 1 if longer else 0
        if total < math.inf:
            state.longest = max(state.longest, total)
        slows_down = state.longer >= 2 and not bends(state.problem)
        return 1.0 if slows_down else TRUST

    def _price_other_side(self, state: State) -> None:
        """What coordinate descent on the other side may cost, where it has not been tried.

        With n < d the primal is worth a try only where the loss bends all the way: its curvature at
        the optimum is then far below β. If that was wrong, the way back costs what was left.
        """
        p = state.problem
        if state.name == "dual_cd" and "primal_cd" not in state.tried:
            if p.n >= p.d:
                state.prices["primal_cd"] = ASSUMED_ROUNDS * epoch_price(p, "primal_cd")
            elif bends(p):
                rounds = ROUNDS_PER_DIGIT * max(self._fall(state) / math.log(10.0), 1.0)
                price = transpose_price(p) + rounds * epoch_price(p, "primal_cd")
                state.prices["primal_cd"] = price
        elif state.name == "primal_cd" and "dual_cd" in state.left_behind:
            state.prices["dual_cd"] = state.left_behind["dual_cd"]
        elif state.name == "primal_cd" and "dual_cd" not in state.tried:
            state.prices["dual_cd"] = expected_epochs(p, self.tol) * epoch_price(p, "dual_cd")

    def _instead_of_cg(self, state: State) -> tuple[str, str] | None:
        """What is cheaper than to go on with truncated Newton, if that was the first choice."""
        p, (before, now) = state.problem, state.gaps[-2:]
        target = self._target(p)
        if now <= target:
            return None
        fall = math.log(before / now) if now < before < np.inf else 0.0
        products = 1.5 * state.share  # a round counts as three passes, a product as two
        slows = SLOWS if p.loss.quadratic else 1.0
        left = slows * products * math.log(now / target) / fall if fall else math.inf
        ahead = product_price(p) * left
        if ahead <= TRIAL_PRICE:
            return None
        # A matrix goes on from here, and its price is known better than what conjugate gradients
        # have left, which may be more.
        others = {
            name: HOPE * REST_OF_NEWTON * price for name, price in direct_prices(p, ahead).items()
        }
        others["dual_cd"] = expected_epochs(p, self.tol) * epoch_price(p, "dual_cd")
        name = min(others, key=lambda other: others[other])
        if ahead <= others[name]:
            return None
        return name, "the features are too alike for conjugate gradients"

    def _corner_successor(self, state: State) -> tuple[str, str] | None:
        """The other one of the two methods for a loss with corners, if this one is slow."""
        if state.name == "ssnal":
            recent, earlier = state.gaps[-CORNER_STEPS:], state.gaps[:-CORNER_STEPS]
            stuck = bool(earlier) and min(recent) > 0.9 * min(earlier)
            return ("dual_cd", "ssnal is stuck") if stuck and "dual_cd" not in state.tried else None
        if "ssnal" not in state.tried and self._is_unproved(state):
            return "ssnal", UNPROVED
        if "ssnal" in state.tried or len(state.gaps) < state.next_watch:
            return None
        state.next_watch = len(state.gaps) + max(1, len(state.gaps) // TRIAL_EPOCHS)
        target = self.tol * state.problem.primal_at_zero
        left = epochs_left(state.gaps, target, state.wakes)
        ahead = left * epoch_price(state.problem, "dual_cd") * state.share / TRUST
        price = corner_price(state.problem)
        if ahead <= price or price > MOST_RESCUE:
            return None
        return "ssnal", f"dual_cd would need about {left:.0f} more rounds"

    def _is_unproved(self, state: State) -> bool:
        """Whether the estimates have long been at the target: a certificate has not agreed.

        A free intercept moves slowly where features can stand in for it, and what it is off is not
        in the gap that dual coordinate descent tells.
        """
        return state.below >= max(UNPROVED_ROUNDS, UNPROVED_PART * len(state.gaps))

    def _fallback(self, state: State) -> tuple[str, str] | None:
        """Another second-order method, once, if the current one has long not got anywhere."""
        recent, earlier = state.gaps[-STUCK_ROUNDS:], state.gaps[:-STUCK_ROUNDS]
        # An infinite estimate comes with a shortened step, which is progress.
        if not earlier or max(recent) == np.inf or min(recent) < 0.9 * min(earlier):
            return None
        return self._second_order(state, f"{state.name} is stuck")

    def _second_order(self, state: State, why: str) -> tuple[str, str] | None:
        """The cheapest second-order method that has not been tried."""
        others = {
            name: price
            for name, price in rescue_prices(state.problem, state.problem.beta).items()
            if name not in state.tried and price <= MOST_RESCUE
        }
        if not others:
            return None
        return min(others, key=lambda name: others[name]), why


DESCENT = ("dual_cd", "primal_cd")  # coordinate descent, which tells the gap of every round

TOLD = ("dual_cd", "primal_cd", "newton", "newton_cg", "gram_newton_cg")


def engine_method(name: str, tol: float) -> Any:
    """One of the engine's methods; those that save work on the way are told the aim."""
    kind: Any = ENGINE[name]
    return kind(tol) if name in TOLD else kind()


def epochs_left(gaps: list[float], target: float, wakes: Sequence[int] = ()) -> float:
    """Rounds until the gap is at the target, by the contraction over the later half of them.

    A gap seen along an epoch jumps up and down: a line through its logarithms evens that out. In
    the rounds ``wakes`` it may jump far up, because examples that have rested count again: where
    parallel lines between them fall faster than one line, they are believed.
    """
    target = max(target, TINIEST)
    if gaps[-1] <= target:
        return 0.0
    later = max(len(gaps) - max(TRIAL_EPOCHS, len(gaps) // 2), 0)
    fall = max(_fall(gaps, later, ()), _fall(gaps, later, wakes))
    if fall <= 0 and len(gaps) < PATIENCE:
        fall = _fall(gaps, 0, ())
    return math.log(gaps[-1] / target) / fall if fall > 0 else math.inf


def _fall(gaps: list[float], first: int, wakes: Sequence[int]) -> float:
    """By how much the logarithm of the gap falls in a round, by a fit of parallel lines."""
    edges = [first, *(wake for wake in wakes if wake > first), len(gaps)]
    moment, squares = 0.0, 0.0
    for start, end in pairwise(edges):
        middle = (start + end - 1) / 2
        for k in range(start, end):
            moment += (k - middle) * math.log(max(gaps[k], TINIEST))
            squares += (k - middle) ** 2
    return -moment / squares if squares else 0.0


def _cheapest(state: State, part: float) -> tuple[str, float]:
    """The rescue with the lowest price, and that, where this part of truncated Newton is to go.

    The products of ``newton_cg`` leave out examples on a flat side of the loss. Those that rest are
    there, and have no part in the curvature.
    """
    prices = dict(state.prices)
    prices["newton_cg"] *= part
    if state.visited < 1.0:
        p = state.problem
        bent = truncated_price(p, state.visited * p.beta)
        prices["newton_cg"] = min(prices["newton_cg"], CHANGES * state.active * bent)
    return min(prices.items(), key=lambda item: item[1])


def _hand_over(state: State, name: str, method: Method, why: str) -> None:
    """Let another method go on from the current iterate: nothing is thrown away."""
    w, alpha = state.method.iterate(state.inner)
    state.method = method
    state.inner = state.method.start(state.problem, None, w=w, alpha=alpha, rng=state.rng)
    state.name = name
    state.tried.add(name)
    state.gaps, state.wakes, state.prices, state.planned, state.below = [], [], {}, False, 0
    state.share = state.awake = state.active = state.visited = 1.0
    state.longest, state.longer = 0.0, 0
    state.next_watch, state.next_look = trial_length(name), TRIAL_EPOCHS
    state.log.append(f"{name}: {why}")
