"""When a running method is left, and for which: rules on what is observed of it.

Going on has an expected cost, from the contraction so far. Each rule offers another method at its
cost; the cheapest takes over if it costs less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ..methods.base import Method
from ..methods.engine import ENGINE
from ..methods.engine.second_order import slopes
from ..problem import Problem
from .costs import KINK_STEPS, Costs
from .rules import HOPE, TRIAL_EPOCHS, trial_length
from .watch import MOST_RESCUE, State, Watch, is_descent

# Epochs on the dual come before Newton's method where T_D is at most this many passes, or where an
# epoch costs at most this fraction of it; Newton's method then costs this fraction of what it does
# from zero (medians on sparse data). With more examples per feature than this, its own start on
# samples is better.
GOOD_START, CHEAP_START = 50.0, 0.1
REST_OF_NEWTON = 0.7
MANY_EXAMPLES = 200
# A second-order method is stuck if the gap has not fallen to this fraction in this many rounds: a
# few more than the longest pause seen before a method went on.
STUCK_ROUNDS, PROGRESS = 6, 0.9
# Alternatives are priced once a method has taken this many nanoseconds: 1 ms.
LOOK_COST = 1e6
# Rounds of descent whose estimate is at the target without a proof, after which the estimate is no
# longer believed: at least this many, and this fraction of all rounds.
UNPROVED_ROUNDS, UNPROVED_FRACTION = 8, 0.25
# The mean curvature is hardly ever smaller than β times the square of this.
SMALLEST_CURVATURE = 0.2


class Rule(NamedTuple):
    """A method that may take over, when, and at what cost in nanoseconds."""

    method: str
    when: Callable[[Watch], bool]
    cost: Callable[[Watch], float]


def _smooth(w: Watch) -> bool:
    return w.problem.is_smooth


def _from_dual(w: Watch) -> bool:
    return w.problem.is_smooth and w.name == "dual_cd"


def _from_primal(w: Watch) -> bool:
    return w.name == "primal_cd"


def _kinks(w: Watch) -> bool:
    return not w.problem.is_smooth and w.untried("ssnal")


def _hoped(w: Watch, cost: float) -> float:
    """The cost of conjugate gradients, which may turn out far higher.

    On dense data and the squared loss they compete with one Newton step, which is priced exactly.
    """
    return cost / HOPE if w.costs.quadratic and not w.costs.sparse else cost


HAND_OVER = {
    # Truncated Newton was the first choice, and its first products lower the gap too little.
    "trial": (
        Rule("newton", _smooth, lambda w: HOPE * REST_OF_NEWTON * w.costs.newton()),
        Rule(
            "gram_newton",
            _smooth,
            lambda w: HOPE * REST_OF_NEWTON * w.costs.gram(w.ahead("trial")),
        ),
        Rule("dual_cd", _smooth, lambda w: w.costs.dual(w.tol)),
    ),
    # A second-order method is stuck, or the small gap of descent is not proved.
    "failed": (
        Rule(
            "newton",
            lambda w: _smooth(w) and w.untried("newton"),
            lambda w: w.costs.newton(),
        ),
        Rule(
            "gram_newton",
            lambda w: _smooth(w) and w.untried("gram_newton"),
            lambda w: w.costs.gram(),
        ),
        Rule(
            "newton_cg",
            lambda w: _smooth(w) and w.untried("newton_cg"),
            lambda w: w.costs.truncated(w.problem.beta),
        ),
        Rule("ssnal", _kinks, lambda w: w.costs.kinks()),
        Rule(
            "dual_cd",
            lambda w: not _smooth(w) and w.untried("dual_cd"),
            lambda w: w.costs.dual(w.tol),
        ),
    ),
    # The epochs that were to be a start for Newton's method do not get far.
    "start": (Rule("newton", _smooth, lambda w: REST_OF_NEWTON * w.costs.newton()),),
    # Coordinate descent is slow.
    "slow": (
        Rule("newton", _smooth, lambda w: w.costs.newton()),
        Rule("gram_newton", _smooth, lambda w: w.costs.gram(w.ahead("slow"))),
        Rule("newton_cg", _smooth, lambda w: _hoped(w, w.truncated())),
        Rule("gram_newton_cg", _from_dual, lambda w: _hoped(w, w.conjugate())),
        Rule(
            "ssnal",
            _from_dual,
            lambda w: w.costs.active(w.state.active_set, w.ahead("slow")),
        ),
        Rule(
            "primal_cd",
            lambda w: _from_dual(w) and w.may_try_primal() and w.untried("primal_cd"),
            Watch.primal,
        ),
        Rule(
            "dual_cd",
            _from_primal,
            lambda w: w.state.left_behind.get("dual_cd", w.costs.dual(w.tol)),
        ),
        Rule(
            "ssnal",
            lambda w: _kinks(w) and w.costs.kinks() <= MOST_RESCUE,
            lambda w: w.costs.kinks(),
        ),
    ),
}


def successor(state: State, tol: float, side: str = "auto") -> tuple[str, str] | None:
    """The method that should take over, and why; None to go on."""
    phase = _phase(state)
    if phase is None:
        return None
    watch = Watch(state, tol)
    ahead = watch.ahead(phase)
    if not ahead > 0:
        return None
    best = _cheapest(watch, phase, side)
    if phase == "slow" and _look(watch, min(ahead, best[1]) < ahead, ahead):
        best = _cheapest(watch, phase, side)
    name, cost = best
    if ahead <= cost:
        return None
    if phase == "slow":
        state.left_behind[state.name] = ahead
    if name == "gram_newton_cg" and side == "auto" and watch.suits_features():
        name = "newton_cg"
    return name, _why(watch, phase)


def _phase(state: State) -> str | None:
    """What is the matter with the running method, if it is to be looked at now."""
    rounds = len(state.gaps)
    if not is_descent(state.name):
        if state.problem.is_smooth and state.tried == {"newton_cg"}:
            return "trial"
        return "failed" if _is_stuck(state) else None
    if state.unproved >= max(UNPROVED_ROUNDS, UNPROVED_FRACTION * rounds):
        return "failed"
    if rounds < state.next_watch:
        return None
    if state.is_start:
        state.next_watch = rounds + 1
        return "start"
    if rounds * Costs(state.problem).epoch(state.name) < LOOK_COST:
        return None
    state.next_watch = rounds + max(1, rounds // TRIAL_EPOCHS)
    return "slow"


def _is_stuck(state: State) -> bool:
    """Whether a second-order method has long made no progress.

    An infinite estimate comes with a shortened step, which is progress.
    """
    patience = STUCK_ROUNDS if state.problem.is_smooth else KINK_STEPS
    recent, earlier = state.gaps[-patience:], state.gaps[:-patience]
    if not earlier or max(recent) == math.inf:
        return False
    return min(recent) >= PROGRESS * min(earlier)


def _cheapest(watch: Watch, phase: str, side: str) -> tuple[str, float]:
    """The method with the lowest cost among those offered, and that cost."""
    offers = [
        (rule.cost(watch), rule.method)
        for rule in HAND_OVER[phase]
        if side in ("auto", ENGINE[rule.method].side) and rule.when(watch)
    ]
    cost, name = min(offers, default=(math.inf, ""))
    return name, cost


def _look(watch: Watch, pays: bool, ahead: float) -> bool:
    """Look at the curvature, which costs a pass: where it could decide, and not too often."""
    state, p = watch.state, watch.problem
    if not p.is_smooth or len(state.gaps) < state.next_look:
        return False
    if not pays and ahead <= SMALLEST_CURVATURE * watch.truncated():
        return False
    state.next_look = 2 * len(state.gaps)
    z = p.matrix.times(state.method.iterate(state.inner)[0])
    state.curvature = float(slopes(p, z)[1].mean())
    return True


def _why(watch: Watch, phase: str) -> str:
    """What made the rules look for another method."""
    if phase == "trial":
        return "the features are too alike for conjugate gradients"
    if phase == "failed" and is_descent(watch.name):
        return "the small gap that coordinate descent estimates is not proved"
    if phase == "failed":
        return f"{watch.name} is stuck"
    return f"{watch.name} would need about {watch.left:.0f} more rounds"


def wants_start(problem: Problem, name: str) -> bool:
    """Whether a few epochs on the dual lead Newton's method faster to where it converges.

    They may also turn out to be all that was needed.
    """
    if name != "newton" or not problem.matrix.is_sparse:
        return False
    if problem.loss.quadratic or problem.n > MANY_EXAMPLES * problem.d:
        return False
    costs = Costs(problem)
    cheap = costs.epoch("dual_cd") <= CHEAP_START * costs.newton()
    return cheap or costs.dual_bound <= GOOD_START


def hand_over(state: State, name: str, method: Method, why: str) -> State:
    """The state of another method that goes on from the current iterate: nothing is lost."""
    w, alpha = state.method.iterate(state.inner)
    state.method, state.name = method, name
    state.inner = method.start(state.problem, None, w=w, alpha=alpha, rng=state.rng)
    state.tried.add(name)
    state.curvature, state.is_start = state.problem.beta, False
    state.gaps, state.reactivated, state.unproved = [], [], 0
    state.work = state.active = state.active_set = state.active_nonzeros = 1.0
    state.longest, state.longer = 0.0, 0
    state.next_watch, state.next_look = trial_length(name), TRIAL_EPOCHS
    state.log.append(f"{name}: {why}")
    return state
