"""What is observed of a running method, and what it lets expect of others."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from numpy.random import Generator

from ..methods.base import Method
from ..methods.engine import ENGINE
from ..methods.engine.primal_cd import INNER_EPOCHS
from ..problem import Problem
from .costs import Costs
from .rules import HOPE, TRIAL_COST, TRIAL_EPOCHS

# The most that a method may be expected to take to replace one that failed: 30 s.
MOST_RESCUE = 30e9
# A prediction from the observed contraction is often this many times too long.
TRUST = 2.0
# Rounds assumed for the primal when the dual is slow; with n < d per digit that is left.
ASSUMED_ROUNDS, ROUNDS_PER_DIGIT = 8, 7
# On the squared loss, the products that truncated Newton still needs after its trial take this many
# times longer than by the fall seen so far.
SLOWS = 2.0
# The products of truncated Newton are this fraction of the priced ones where some examples are on a
# flat side, of those that are not; measured on text.
CHANGES = 0.7
# Rounds in which a gap that does not fall may be one of its jumps.
PATIENCE = 16
# Rounds assumed for descent whose gap does not fall, to price conjugate gradients.
UNKNOWN_ROUNDS = 1000
# The smallest gap whose logarithm is taken.
TINIEST = sys.float_info.min
# Truncated Newton costs no less than this fraction of what it does from zero.
LEAST_FRACTION = 0.3
# The work of a round is averaged over about this many.
AVERAGED_EPOCHS = 4


@dataclass
class State:
    """Where the engine stands, and what it has seen of the method that runs."""

    problem: Problem
    costs: Costs  # of all methods on it
    rng: Generator
    method: Method  # the one that runs now
    name: str
    inner: Any  # its state
    curvature: float  # the mean φ'', or β while it has not been looked at
    is_start: bool = False  # whether coordinate descent is but a start for Newton's method
    gaps: list[float] = field(default_factory=list)  # its estimates so far
    reactivated: list[int] = field(default_factory=list)  # rounds that again visited all examples
    work: float = 1.0  # of a round, in whole rounds: the last one's, or a mean on the dual
    active: float = 1.0  # the fraction of the examples that the last epoch visited
    active_set: float = 1.0  # that of the last epoch with inactive examples
    active_nonzeros: float = 1.0  # and its fraction of the nonzeros
    longest: float = 0.0  # the most rounds that it ever seemed to need in all
    longer: int = 0  # how often in a row it seemed to need more than ever
    unproved: int = 0  # rounds of descent with an estimate at the target that no proof confirmed
    next_watch: int = TRIAL_EPOCHS  # the round from which the contraction is looked at again
    next_look: int = TRIAL_EPOCHS  # the round from which the curvature may be looked at
    tried: set[str] = field(default_factory=set)
    left_behind: dict[str, float] = field(default_factory=dict)  # nanoseconds they had to go
    log: list[str] = field(default_factory=list)  # which method, and why


def observe(state: State, work: float, tol: float) -> None:
    """Note the last call's gaps, and how much of the data it visited."""
    nnz = max(state.problem.matrix.nnz, 1)
    if not state.method.descends:
        if not state.gaps and state.tried == {"newton_cg"}:
            state.gaps.append(state.inner.began)  # its trial is judged by the fall from there
        gap = state.method.gap_estimate(state.inner)
        assert gap is not None  # every method of the engine has an estimate
        gaps = [gap]
    else:
        gaps = state.inner.gaps.tolist()  # a call may make several epochs
        target = tol * state.problem.primal_at_zero
        state.unproved += sum(gap <= target for gap in gaps)
    if state.name == "dual_cd":
        _observe_active(state, work / nnz)
    else:
        state.work = work / (3 * len(gaps) * nnz)  # a round on the primal is three passes
    state.gaps.extend(gaps)


def _observe_active(state: State, passes: float) -> None:
    """Note how much of the data epochs on the dual visit, and where all of it is again."""
    fractions = state.inner.parts.tolist()
    if len(fractions) == 1 and passes < 1.0:
        state.active_nonzeros = passes
    for k, fraction in enumerate(fractions, start=len(state.gaps)):
        if fraction == 1.0 and state.active < 1.0:
            state.reactivated.append(k)
        state.active = fraction
        if fraction < 1.0:
            state.active_set = fraction
        state.work += (fraction - state.work) / AVERAGED_EPOCHS


def is_descent(name: str) -> bool:
    """Whether that method is coordinate descent, which has an estimate for every round."""
    return ENGINE[name].descends


def rounds_left(gaps: list[float], target: float, reactivated: Sequence[int] = ()) -> float:
    """Rounds until the gap is at the target, by the contraction over the later half of them.

    A gap seen along an epoch jumps up and down: a line through its logarithms evens that out. In
    the rounds ``reactivated`` it may jump far up, because inactive examples count again: where
    parallel lines between them fall faster than one line, they are believed.
    """
    target = max(target, TINIEST)
    if gaps[-1] <= target:
        return 0.0
    later = max(len(gaps) - max(TRIAL_EPOCHS, len(gaps) // 2), 0)
    fall = max(_fall(gaps, later, ()), _fall(gaps, later, reactivated))
    if fall <= 0 and len(gaps) < PATIENCE:
        fall = _fall(gaps, 0, ())
    return math.log(gaps[-1] / target) / fall if fall > 0 else math.inf


def _fall(gaps: list[float], first: int, cuts: Sequence[int]) -> float:
    """By how much the logarithm of the gap falls per round, by a fit of parallel lines."""
    edges = [first, *(cut for cut in cuts if cut > first), len(gaps)]
    moment, squares = 0.0, 0.0
    for start, end in pairwise(edges):
        middle = (start + end - 1) / 2
        for k in range(start, end):
            moment += (k - middle) * math.log(max(gaps[k], TINIEST))
            squares += (k - middle) ** 2
    return -moment / squares if squares else 0.0


class Watch:
    """What the offers ask about a running method.

    Attributes
    ----------
    phase : str
        Why it is looked at: a key of ``hand_over.SMOOTH``.
    target : float
        The gap to be reached.
    fall : float
        The logarithm of the factor by which the gap has to fall.
    left : float
        Rounds that descent still seems to need.
    trust : float
        How many times too long these may be.
    ahead : float
        The expected cost of going on, in nanoseconds; 0 if that is worth no change.
    hope : float
        The fraction that conjugate gradients, which may turn out far dearer, have to cost of what
        they compete with: one Newton step on dense data and the squared loss is priced exactly.
    """

    def __init__(self, state: State, tol: float, phase: str) -> None:
        self.state, self.problem, self.costs = state, state.problem, state.costs
        self.name, self.tol, self.phase = state.name, tol, phase
        self.target = max(tol * state.problem.primal_at_zero, TINIEST)
        self.fall = math.log(max(state.gaps[-1] / self.target, 1.0))
        self.hope = HOPE if self.costs.quadratic and not self.costs.sparse else 1.0
        self.left, self.trust = math.inf, TRUST
        if phase == "failed":
            self.ahead = MOST_RESCUE if self.problem.is_smooth else math.inf
        elif phase == "trial":
            self.ahead = self._products_ahead()
        else:
            self.left = rounds_left(state.gaps, self.target, state.reactivated)
            if phase == "slow" and self._is_ever_slower():
                self.trust = 1.0
            cost = self.left * self.costs.epoch(self.name) * state.work
            self.ahead = cost if phase == "start" else cost / self.trust

    def _is_ever_slower(self) -> bool:
        """Whether more and more rounds seem to be left, twice in a row since gaps jump.

        Then descent becomes slower and slower. For a curved loss that is often not so.
        """
        state, total = self.state, len(self.state.gaps) + self.left
        state.longer = state.longer + 1 if 0.0 < state.longest < total else 0
        if total < math.inf:
            state.longest = max(state.longest, total)
        return state.longer >= 2 and self.problem.is_smooth and not self.costs.curved

    def _products_ahead(self) -> float:
        """The cost of going on with truncated Newton, by the fall in its last round."""
        before, now = self.state.gaps[-2:]
        if now <= self.target:
            return 0.0
        fall = math.log(before / now) if now < before < math.inf else 0.0
        products = 1.5 * self.state.work  # a round counts as three passes, a product as two
        slows = SLOWS if self.problem.loss.quadratic else 1.0
        left = slows * products * math.log(now / self.target) / fall if fall else math.inf
        ahead = self.costs.product * left
        return ahead if ahead > TRIAL_COST else 0.0

    def truncated(self) -> float:
        """Truncated Newton on the features from here.

        For a curved loss its steps are fewer where part of the way is made. Its products leave out
        examples on a flat side of the loss, and so does the curvature: inactive ones are there.
        """
        p, state = self.problem, self.state
        cost = self.costs.truncated(state.curvature)
        if self.name == "primal_cd":
            cost = min(cost, self.costs.conjugate(INNER_EPOCHS * self.left / self.trust, self.fall))
        if self.costs.curved:
            way = math.log(max(p.primal_at_zero / self.target, 2.0))
            cost *= min(max(self.fall / way, LEAST_FRACTION), 1.0)
        if state.active_nonzeros < 1.0:
            partial = self.costs.truncated(state.active_nonzeros * p.curvature)
            cost = min(cost, CHANGES * state.active_set * partial)
        return cost

    def conjugate(self) -> float:
        """Truncated Newton on the examples: a gap that does not fall says nothing of it."""
        rounds = self.left if self.left < math.inf else UNKNOWN_ROUNDS
        return self.costs.conjugate(rounds / self.trust, self.fall)

    def primal(self) -> float:
        """Coordinate descent on the primal.

        With n < d only for a curved loss: its curvature at the optimum is then far below β.
        """
        if self.costs.tall:
            return ASSUMED_ROUNDS * self.costs.epoch("primal_cd")
        if not self.costs.curved:
            return math.inf
        rounds = ROUNDS_PER_DIGIT * max(self.fall / math.log(10.0), 1.0)
        return self.costs.primal(rounds)

    def kinks(self) -> float:
        """``ssnal`` on a loss with kinks, if that is not too long in any case."""
        cost = self.costs.kinks()
        return cost if cost <= MOST_RESCUE else math.inf
