"""What to expect of each side before a solve: for people, who may look closer than the engine.

The engine has no time for it; what it does before its first step is in ``rules``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..methods.engine import ENGINE
from ..problem import Problem
from .costs import EPOCHS_PER_BOUND, FREE_BOUND, KINK_STEPS, LEAST_EPOCHS, Costs
from .look import DENSE_SPECTRUM, is_crowded, smallest_eigenvalue, spectrum_cost
from .rules import choose, choose_descent
from .watch import is_descent

# Passes of coordinate descent to six digits: BOUND_PASSES times the root of T/‖X‖₀, fewer where
# that is small, or BY_SPECTRUM times this power of one over the smallest eigenvalue of the Hessian
# in unit diagonal. Measured on 900 problems, within a factor of two or three.
BOUND_PASSES = 10.4
BY_SPECTRUM, PASSES_POWER = {"primal": 8.0, "dual": 1.5}, 0.7
# At best it takes this many; on the dual, where the examples are not nearly orthogonal. On the
# primal it may be this many times more, where the features have enough nonzeros to overlap.
AT_BEST = {"primal": 8.0, "dual": 15.0}
CROWDED = {"sparse": 10.0, "dense": 2.0}
# The eigenvalue is worth at most this fraction of the geometric mean of what the side with the
# bound should cost and the other one at best, and this many times the latter.
LOOK, DEAREST_LOOK = 0.3, 1.2


class Likely(NamedTuple):
    """The side of coordinate descent that should be faster."""

    method: str
    why: str
    # By which it should be; infinite if there is no question, NaN if the data was not looked at.
    factor: float


def likely_side(problem: Problem, tol: float = 1e-6, closely: bool = False) -> Likely:
    """As ``choose_descent``, from a closer look at the data than a solve can afford.

    Passes of coordinate descent follow the condition of its side: on the side with more
    coordinates than the data has dimensions that is T, on the other one the smallest eigenvalue of
    the Hessian scaled to unit diagonal. With n < d the latter is of use for dense data and the
    squared loss alone: else the dual is faster than its eigenvalue says. The eigenvalue is looked
    at where it can decide and costs little beside what is at stake, or ``closely`` in any case.
    """
    costs = Costs(problem)
    tall = costs.tall
    few = problem.n <= DENSE_SPECTRUM and costs.quadratic and not costs.sparse
    if not problem.is_smooth or not (tall or (few and not costs.nearly_orthogonal())):
        return _unseen(problem, tol, math.inf)
    digits = math.log(1.0 / min(max(tol, 1e-15), 0.1)) / math.log(1e6)
    prices = {"primal": costs.epoch("primal_cd") / 3, "dual": costs.epoch("dual_cd")}
    # The passes of one side follow from its bound; the other one needs these, or more.
    bounded, seen = ("dual", "primal") if tall else ("primal", "dual")
    bound = costs.dual_bound if tall else problem.features.bound
    at_best = AT_BEST[seen]
    if not tall:
        at_best = min(at_best, _passes_by_bound(costs.dual_bound))
    passes = {bounded: digits * _passes_by_bound(bound), seen: digits * at_best}
    needed = {side: passes[side] * prices[side] for side in passes}
    about = f"about {passes[bounded]:.2g} passes on the {bounded} side, by its T, and"
    if tall and needed[bounded] <= needed[seen]:
        why = f"{about} no fewer than {passes[seen]:.2g} on the {seen} side"
        return Likely(f"{bounded}_cd", why, math.inf)
    stake = LOOK * math.sqrt(needed[bounded]) * math.sqrt(needed[seen])
    if not closely and spectrum_cost(costs) > min(stake, DEAREST_LOOK * needed[seen]):
        if not tall:
            return _unseen(problem, tol, math.nan)
        if is_crowded(problem):
            passes[seen] *= CROWDED["sparse" if problem.matrix.is_sparse else "dense"]
        name = min(passes, key=lambda side: passes[side] * prices[side])
        why = f"{about} perhaps {passes[seen]:.2g} on the {seen} side; to look would take too long"
        return Likely(f"{name}_cd", why, math.nan)
    smallest = smallest_eigenvalue(problem, "feature" if tall else "example")
    passes[seen] = digits * BY_SPECTRUM[seen] * smallest**-PASSES_POWER
    needed[seen] = passes[seen] * prices[seen]
    name = min(needed, key=lambda side: needed[side])
    why = f"{about} {passes[seen]:.2g} on the {seen} side, by its spectrum"
    return Likely(f"{name}_cd", why, max(needed.values()) / needed[name])


def _unseen(problem: Problem, tol: float, factor: float) -> Likely:
    """The side that the engine would take, without a look."""
    choice = choose_descent(problem, tol)
    return Likely(choice.method, choice.why, factor)


def _passes_by_bound(bound: float) -> float:
    """Passes to six digits where T/‖X‖₀ is ``bound``: with its root, or in proportion if fewer."""
    short = 1.0 + EPOCHS_PER_BOUND * math.log(1e6) * (bound - FREE_BOUND)
    return max(LEAST_EPOCHS, min(short, BOUND_PASSES * math.sqrt(bound)))


class Expected(NamedTuple):
    """What a solve on one side should need."""

    method: str  # that it starts with
    passes: float  # over the data
    seconds: float


def expected(problem: Problem, side: str, tol: float) -> Expected:
    """What a solve on one side should need; no method and infinity where it has none.

    For coordinate descent the passes come from the theory's bounds, or from the cost of the
    second-order method of that side that would take over, if that is less.
    """
    if side == "primal" and not problem.is_smooth:
        return Expected("none", math.inf, math.inf)
    choice = choose(problem, tol, side)
    name, costs = choice.method, choice.facts.costs
    problem = costs.problem
    if not is_descent(name):
        steps = costs.steps if problem.is_smooth else KINK_STEPS
        return Expected(name, float(steps), choice.seconds)
    if not problem.is_smooth:
        return Expected(name, math.inf, math.inf)
    least = min(max(tol, 1e-15), 0.5)
    passes = ENGINE[name]().complexity(problem, None).passes(least)
    if name == "dual_cd" and problem.n >= problem.d:
        passes = min(passes, costs.expected_epochs(tol))
    seconds = passes * costs.epoch(name) * 1e-9
    if side == "primal":
        most = min(costs.newton(), costs.truncated(problem.beta))
    else:
        most = min(costs.gram(), costs.conjugate(passes, math.log(1.0 / least)))
    part = min(most * 1e-9 / seconds, 1.0) if seconds > 0 else 1.0
    return Expected(name, part * passes, part * seconds)
