"""What to expect of a solve, and of each side, before it starts: passes and seconds.

The method is the one that ``choose`` names, so a forecast describes what ``solve`` will do. Its
seconds come from the prices of ``costs`` and, where coordinate descent is priced, from a closer
look at the data than a solve can afford.
"""

from __future__ import annotations

import math
import time
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._types import Side
from ..data.matrix import Matrix
from ..methods.engine import ENGINE
from ..methods.engine.primal_cd import INNER_EPOCHS
from ..problem import Problem
from ..problem.multinomial import Multinomial
from .costs import EPOCHS_PER_BOUND, FREE_BOUND, KINK_STEPS, LEAST_EPOCHS, Costs, digits
from .look import has_data, is_crowded, smallest_eigenvalue, spectrum_cost
from .rules import TRIAL_EPOCHS, Choice, SoftmaxFacts, choose
from .watch import is_descent

# Passes of coordinate descent to six digits: BOUND_PASSES times the root of T/‖X‖₀, fewer where
# that is small, or BY_SPECTRUM times this power of one over the smallest eigenvalue of the Hessian
# in unit diagonal. Measured on 900 problems, within a factor of two or three.
BOUND_PASSES = 10.4
BY_SPECTRUM, PASSES_POWER = 8.0, 0.7
# On the primal it takes this many passes at best, and CROWDED times more where the features have
# enough nonzeros to overlap.
AT_BEST = 8.0
CROWDED = {"sparse": 10.0, "dense": 2.0}
# The eigenvalue is looked for where that takes at most this fraction of the descent in question.
LOOK = 0.3

# The product that is timed on this machine: examples, nonzeros of each, and how often.
PROBE, PROBE_ROW, PROBES = 2000, 20, 20
# The seconds that it takes on the machine of ``machine`` (benchmarks/verdict.py).
PROBE_SECONDS = 2.25e-5


class Spread(NamedTuple):
    """How the seconds of ``solve`` compare with what ``costs`` says, for one kind of choice."""

    factor: float  # measured over priced, without CALL
    low: float  # the ends of the interval that holds 80 % of unseen problems, over the forecast
    high: float


# Seconds that any call takes, and by the kind of choice how prices become seconds: found by
# ``python -m benchmarks.verdict`` on 624 problems, fitted on half of the data sets and scored on
# the other half.
CALL = 6e-5
SPREAD = {
    "dual_cd, n < d": Spread(1.06, 0.5, 3.1),
    "dual_cd, n ≥ d": Spread(0.61, 0.5, 2.0),
    "gram_newton": Spread(0.64, 0.5, 2.0),
    "newton": Spread(0.59, 0.5, 2.0),
    "newton, small": Spread(0.09, 0.5, 2.0),
    "newton_cg": Spread(0.24, 0.5, 4.9),
    "newton_cg, brief": Spread(0.17, 0.5, 4.8),
    "newton_cg, strong": Spread(0.69, 0.35, 2.0),
}
# For kinds that no problem was chosen for, such as a loss with kinks.
UNSEEN = Spread(1.0, 0.3, 4.0)
# The fraction of problems on which the chosen side was right, where the other one should take at
# least this many times as long (from the same run).
RIGHT = ((3.0, 0.98), (1.2, 0.96), (0.0, 0.75))


class Expected(NamedTuple):
    """What a solve should need, on one side or on whichever side is chosen."""

    side: Side
    method: str  # that it starts with; "none" where the side has no method for the loss
    why: str
    passes: float  # over the data; a step of Newton's method counts as many
    price: float  # seconds per pass
    seconds: float
    kind: str  # of choice, by which prices become seconds

    def here(self) -> Expected:
        """The same in seconds of this machine, not of the common one."""
        factor = slowness()
        return self._replace(price=factor * self.price, seconds=factor * self.seconds)


def expected(
    problem: Problem | Multinomial,
    tol: float = 1e-6,
    side: str = "auto",
    choice: Choice | None = None,
) -> Expected:
    """What ``solve`` should need with that ``side``, on the common machine; infinity without one.

    Coordinate descent that turns out slow is left for a second-order method: it is never expected
    to take longer than a trial and the cheapest of those.
    """
    if side == "primal" and not problem.is_smooth:
        none = "a loss with kinks has no coordinate steps on the primal"
        return Expected("primal", "none", none, math.inf, math.inf, math.inf, "none")
    choice = choice or choose(problem, tol, side)
    if isinstance(choice.facts, SoftmaxFacts):
        return _softmax(choice, choice.facts)
    costs = choice.facts.costs
    if is_descent(choice.method):
        passes, cost = _descent(choice, costs, tol)
        rescue = TRIAL_EPOCHS * costs.epoch(choice.method) + _rescue(costs, side)
        if rescue < cost:
            passes, cost = passes * rescue / cost, rescue
    else:
        passes, cost = _steps(choice, costs), choice.facts.cost(choice.method)
    return _priced(choice, passes, cost, kind_of(choice.method, costs))


def kind_of(method: str, costs: Costs) -> str:
    """The kind of choice that a method is on a problem."""
    if method == "dual_cd":
        return f"dual_cd, n {'≥' if costs.tall else '<'} d"
    if method == "newton" and costs.small:
        return "newton, small"
    if method == "newton_cg" and (costs.brief or costs.is_strong):
        return "newton_cg, brief" if costs.brief else "newton_cg, strong"
    return method


def _priced(choice: Choice, passes: float, nanoseconds: float, kind: str) -> Expected:
    """The forecast in seconds."""
    priced = SPREAD.get(kind, UNSEEN).factor * nanoseconds
    seconds = CALL + 1e-9 * priced
    price = seconds / passes
    return Expected(choice.side, choice.method, choice.why, passes, price, seconds, kind)


def _softmax(choice: Choice, facts: SoftmaxFacts) -> Expected:
    """What a method should need for all classes at once."""
    passes = facts.costs.passes(choice.method, facts.tol)
    return _priced(choice, passes, facts.cost(choice.method), f"softmax {choice.method}")


def _descent(choice: Choice, costs: Costs, tol: float) -> tuple[float, float]:
    """Passes of coordinate descent, and its nanoseconds."""
    name = choice.method
    if name == "dual_cd":
        epochs = costs.expected_epochs(tol)
        if costs.tall and costs.problem.is_smooth:
            epochs = min(epochs, digits(tol) / math.log(1e6) * _passes_by_bound(costs.dual_bound))
        return epochs, epochs * costs.epoch(name)
    passes = digits(tol) / math.log(1e6) * _primal_passes(costs)
    return passes, costs.primal(passes / INNER_EPOCHS)


def _primal_passes(costs: Costs) -> float:
    """Passes of primal coordinate descent to six digits.

    With n < d they follow from T_P. Else the examples make P better conditioned than T_P says: the
    smallest eigenvalue of the Hessian in unit diagonal tells, where it is cheap to find.
    """
    problem = costs.problem
    if not costs.tall:
        return _passes_by_bound(costs.primal_bound)
    guess = AT_BEST
    if is_crowded(problem):
        guess *= CROWDED["sparse" if costs.sparse else "dense"]
    cheap = spectrum_cost(costs) <= LOOK * costs.primal(guess / INNER_EPOCHS)
    if not (cheap and has_data(problem)):
        return guess
    return BY_SPECTRUM * smallest_eigenvalue(problem, "feature") ** -PASSES_POWER


def _passes_by_bound(bound: float) -> float:
    """Passes to six digits where T/‖X‖₀ is ``bound``: with its root, or in proportion if fewer."""
    short = 1.0 + EPOCHS_PER_BOUND * math.log(1e6) * (bound - FREE_BOUND)
    return max(LEAST_EPOCHS, min(short, BOUND_PASSES * math.sqrt(bound)))


def _rescue(costs: Costs, side: str) -> float:
    """The cheapest second-order method that may take over on that side, in nanoseconds."""
    offers = [math.inf]
    if not costs.problem.is_smooth:
        return costs.kinks()
    if side != "dual":
        offers += [costs.newton(), costs.truncated(costs.problem.curvature)]
    if side != "primal":
        offers.append(costs.gram())
    return min(offers)


def _steps(choice: Choice, costs: Costs) -> float:
    """Passes that the steps of a second-order method count as."""
    name, problem = choice.method, costs.problem
    nnz = max(problem.matrix.nnz, 1)
    if name == "newton_cg":
        return 2.0 * choice.facts.cost(name) / costs.product
    steps = KINK_STEPS if name == "ssnal" else costs.steps
    return max(steps * ENGINE[name]().complexity(problem, None).cost / nnz, 1.0)


def interval(found: Expected) -> tuple[float, float]:
    """Where the seconds of 80 % of the problems are for which these were expected."""
    spread = SPREAD.get(found.kind, UNSEEN)
    return spread.low * found.seconds, spread.high * found.seconds


def confidence(found: Expected, other: Expected) -> float:
    """How often the side was right on problems whose sides differed by as much as these."""
    if other.seconds == math.inf:
        return 1.0  # there is no other side
    factor = other.seconds / found.seconds
    return next(right for least, right in RIGHT if factor >= least)


@cache
def slowness() -> float:
    """Seconds that a fixed product takes here, over those that it takes on the common machine.

    Found once per process, in about two milliseconds. It moves forecasts to this machine, and does
    not change the method chosen: the same seed gives the same bits everywhere.
    """
    columns = (np.arange(PROBE * PROBE_ROW) * 7919) % PROBE  # 7919 is prime: they are scattered
    rows = np.arange(PROBE + 1) * PROBE_ROW
    probe = Matrix(sparse.csr_array((np.ones(len(columns)), columns, rows), shape=(PROBE, PROBE)))
    w, took = np.ones(PROBE), math.inf
    for _ in range(PROBES):
        began = time.perf_counter()
        probe.transposed_times(probe.times(w))
        took = min(took, time.perf_counter() - began)
    return took / PROBE_SECONDS
