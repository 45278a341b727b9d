"""When a running method is left, and for which, by what is observed of it.

Going on has an expected cost, from the contraction so far. Other methods are offered, each at its
cost; the cheapest takes over if it costs less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ..methods.base import Method
from ..methods.engine import ENGINE
from ..methods.engine.second_order import slopes
from .costs import KINK_STEPS, Costs
from .rules import HOPE, LOOK_COST, TRIAL_EPOCHS, trial_length
from .watch import State, Watch

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
# Rounds of descent whose estimate is at the target without a proof, after which the estimate is no
# longer believed: at least this many, and this fraction of all rounds.
UNPROVED_ROUNDS, UNPROVED_FRACTION = 8, 0.25
# Conjugate gradients on the squared loss suit the features where D is at least this fraction of
# P(0); measured on text.
MUCH_LEFT = 0.2
# The mean curvature is hardly ever smaller than β times the square of this.
SMALLEST_CURVATURE = 0.2


class Offer(NamedTuple):
    """A method that may take over, and at what cost in nanoseconds."""

    method: str
    cost: Callable[[Watch], float]
    left: str | None = None  # the only method that it takes over from
    once: bool = False  # whether only if it has not run yet


SMOOTH = {
    # Truncated Newton was the first choice, and its first products lower the gap too little.
    "trial": (
        Offer("newton", lambda w: HOPE * REST_OF_NEWTON * w.costs.newton()),
        Offer("gram_newton", lambda w: HOPE * REST_OF_NEWTON * w.costs.gram(w.ahead)),
        Offer("dual_cd", lambda w: w.costs.dual(w.tol)),
    ),
    # A second-order method is stuck, or the small gap of descent is not proved.
    "failed": (
        Offer("newton", lambda w: w.costs.newton(), once=True),
        Offer("gram_newton", lambda w: w.costs.gram(), once=True),
        Offer("newton_cg", lambda w: w.costs.truncated(w.problem.curvature), once=True),
    ),
    # The epochs that were to be a start for Newton's method do not get far.
    "start": (Offer("newton", lambda w: REST_OF_NEWTON * w.costs.newton()),),
    # Coordinate descent is slow.
    "slow": (
        Offer("newton", lambda w: w.costs.newton()),
        Offer("gram_newton", lambda w: w.costs.gram(w.ahead)),
        Offer("newton_cg", lambda w: w.truncated() / w.hope),
        Offer("gram_newton_cg", lambda w: w.conjugate() / w.hope, "dual_cd"),
        Offer("ssnal", lambda w: w.costs.active(w.state.active_set, w.ahead), "dual_cd"),
        Offer("primal_cd", Watch.primal, "dual_cd", once=True),
        Offer(
            "dual_cd",
            lambda w: w.state.left_behind.get("dual_cd", w.costs.dual(w.tol)),
            "primal_cd",
        ),
    ),
}
# The same on a loss with kinks, on which there are two methods.
KINKS = {
    "failed": (
        Offer("ssnal", lambda w: w.costs.kinks(), once=True),
        Offer("dual_cd", lambda w: w.costs.dual(w.tol), once=True),
    ),
    "slow": (Offer("ssnal", lambda w: w.kinks(), once=True),),
}


def successor(state: State, tol: float, side: str = "auto") -> tuple[str, str] | None:
    """The method that should take over, and why; None to go on."""
    phase = _phase(state)
    if phase is None:
        return None
    watch = Watch(state, tol, phase)
    ahead = watch.ahead
    if not ahead > (LOOK_COST if phase == "slow" else 0.0):
        return None
    cost, name = _cheapest(watch, side)
    if phase == "slow" and _look(watch, cost < ahead):
        cost, name = _cheapest(watch, side)
    if ahead <= cost:
        return None
    if phase == "slow":
        state.left_behind[state.name] = ahead
    if name == "gram_newton_cg" and side == "auto" and suits_features(state):
        name = "newton_cg"
    return name, _why(watch)


def _phase(state: State) -> str | None:
    """What is the matter with the running method, if it is to be looked at now."""
    rounds = len(state.gaps)
    if not state.method.descends:
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
    if rounds * state.costs.epoch(state.name) < LOOK_COST:
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


def _cheapest(watch: Watch, side: str) -> tuple[float, str]:
    """The lowest cost among those offered, and the method."""
    offers = (SMOOTH if watch.problem.is_smooth else KINKS).get(watch.phase, ())
    priced = [
        (offer.cost(watch), offer.method)
        for offer in offers
        if side in ("auto", ENGINE[offer.method].side)
        and offer.left in (None, watch.name)
        and not (offer.once and offer.method in watch.state.tried)
    ]
    return min(priced, default=(math.inf, ""))


def _look(watch: Watch, pays: bool) -> bool:
    """Look at the curvature, which costs a pass: where it could decide, and not too often."""
    state, p = watch.state, watch.problem
    if not p.is_smooth or len(state.gaps) < state.next_look:
        return False
    if not pays and watch.ahead <= SMALLEST_CURVATURE * watch.truncated():
        return False
    state.next_look = 2 * len(state.gaps)
    z = p.matrix.times(state.method.iterate(state.inner)[0])
    state.curvature = float(slopes(p, z)[1].mean())
    return True


def suits_features(state: State) -> bool:
    """Whether conjugate gradients should run on the features, not on the examples.

    The squared loss has one spectrum for both. Measured on text, the features need fewer
    products where much of P is left, and far more where the model explains nearly everything.
    """
    p = state.problem
    if not p.loss.quadratic or "newton_cg" in state.tried:
        return False
    alpha = state.method.iterate(state.inner)[1]
    return alpha is not None and p.dual(alpha) >= MUCH_LEFT * p.primal_at_zero


def _why(watch: Watch) -> str:
    """What made the rules look for another method."""
    if watch.phase == "trial":
        return "the features are too alike for conjugate gradients"
    if watch.phase == "failed" and watch.state.method.descends:
        return "the small gap that coordinate descent estimates is not proved"
    if watch.phase == "failed":
        return f"{watch.name} is stuck"
    return f"{watch.name} would need about {watch.left:.0f} more rounds"


def wants_start(costs: Costs) -> bool:
    """Whether a few epochs on the dual lead Newton's method faster to where it converges.

    They may also turn out to be all that was needed.
    """
    if not costs.sparse or costs.quadratic or costs.n > MANY_EXAMPLES * costs.d:
        return False
    cheap = costs.epoch("dual_cd") <= CHEAP_START * costs.newton()
    return cheap or costs.dual_bound <= GOOD_START


def hand_over(state: State, name: str, method: Method, why: str) -> State:
    """The state of another method that goes on from the current iterate: nothing is lost."""
    w, alpha = state.method.iterate(state.inner)
    # Until the start is made, which may be interrupted, the old method's state is the one to show.
    inner = method.start(state.problem, None, w=w, alpha=alpha, rng=state.rng)
    state.method, state.name, state.inner = method, name, inner
    state.tried.add(name)
    state.curvature, state.is_start = state.problem.curvature, False
    state.gaps, state.reactivated, state.unproved = [], [], 0
    state.work = state.active = state.active_set = state.active_nonzeros = 1.0
    state.longest, state.longer = 0.0, 0
    state.next_watch, state.next_look = trial_length(name), TRIAL_EPOCHS
    state.log.append(f"{name}: {why}")
    return state
