"""Which method a solve starts with: a list of rules, of which the first that applies decides.

A rule compares costs (``costs``) or looks at the data where that costs little (``look``). What it
gets wrong is corrected while the method runs (``hand_over``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

from .._cached import cached_property
from .._types import Side
from ..losses.custom import loss_name
from ..methods.engine import ENGINE
from ..methods.engine.softmax_newton import is_one_call
from ..problem import Problem
from ..problem.base import LinearProblem
from ..problem.multinomial import Multinomial
from .costs import FEW_EPOCHS_DENSE, FEWEST_PRODUCTS, LEAST_ROUNDS, Costs, SoftmaxCosts, well_stored
from .look import has_data, is_crowded, overlap_cost, overlaps_little

# Rounds before the observed contraction of a method is trusted, and the least such a trial is
# counted with, in nanoseconds: below, watching takes as long as solving.
TRIAL_EPOCHS, TRIAL_ROUNDS = 4, 2
TRIAL_COST = 500_000.0
# A trial of descent that costs less than this fraction of any factorisation is always made.
NEARLY_FREE = 0.15
# Nanoseconds that pricing the alternatives takes: a trial that costs less is made at once.
CHOOSING = 150_000.0
# Alternatives to a method are priced once it has taken this many nanoseconds, 1 ms, and only if it
# should take as many more: to price and to start another one takes a good part of that.
LOOK_COST = 1e6
# A method whose cost may also turn out far higher has to cost, at best, this fraction of the next
# best; the one Newton step on dense data is priced exactly, so there it has to be far cheaper.
HOPE, HOPE_FOR_ONE_STEP = 0.7, 0.05
# Products of truncated Newton before it is looked at, where it is the first choice: about half of
# what it needs where features are not nearly collinear.
FIRST_PRODUCTS = 12
# Where features have too few nonzeros to overlap much, this number of products is tried if it costs
# at most this fraction of all else: a look at the data costs as much, and its work is not kept.
LEAST_PRODUCTS, CHEAP_PRODUCTS = 3, 0.35
# Where the features may overlap, truncated Newton in one call is hardly ever far from the best.
# What replaces it has to cost at most this fraction of it, less for a curved loss.
MUCH_LESS, MUCH_LESS_IF_CURVED = 0.8, 0.5
# The data is looked at if that costs at most this fraction of what is to be decided.
LOOK = 0.15
# With n ≥ d, ``ssnal`` is always taken up to this cost: 40 ms.
CHEAP_KINKS = 40e6
# From a start near the solution Newton's method takes about this many steps, dual coordinate
# descent about this many epochs: medians along paths of λ.
WARM_STEPS, WARM_EPOCHS = 2, 12


SIDES = ("auto", "primal", "dual")


class Facts:
    """What the rules ask about a problem, found when first asked; costs are in nanoseconds.

    A method of the other side, where ``side`` is not "auto", costs infinitely much.

    Attributes
    ----------
    words : frozenset of str
        What is known without pricing anything: "tall" (n ≥ d) or "wide"; "dense" or "sparse";
        "small"; "one call" if truncated Newton is over in one, with n ≥ d; "warm" if the start is
        near the solution.
    """

    def __init__(self, problem: Problem, tol: float, side: str, warm: bool) -> None:
        self.problem, self.tol, self.side = problem, tol, side
        self.costs = costs = Costs(problem)
        words = ["tall" if costs.tall else "wide", "sparse" if costs.sparse else "dense"]
        if costs.small:
            words.append("small")
        if costs.tall and costs.brief:
            words.append("one call")
        if warm:
            words.append("warm")
        self.words = frozenset(words)

    @cached_property
    def epoch(self) -> float:
        """An epoch on the dual."""
        return self.costs.epoch("dual_cd")

    @cached_property
    def descent(self) -> float:
        """Coordinate descent, on the dual unless only the primal is allowed."""
        if self.side == "primal":
            return self.costs.expected_epochs(self.tol) * self.costs.epoch("primal_cd")
        return self.costs.dual(self.tol)

    @cached_property
    def newton(self) -> float:
        """Newton's method on the features."""
        return math.inf if self.side == "dual" else self.costs.newton()

    @cached_property
    def gram(self) -> float:
        """Newton's method on the examples; infinite if it surely costs more than descent."""
        return math.inf if self.side == "primal" else self.costs.gram(self.descent)

    @cached_property
    def products(self) -> float:
        """Truncated Newton, where a few products are enough."""
        return self.costs.few_products()

    @cached_property
    def trial(self) -> int:
        """The products of truncated Newton that are worth trying before anything else, up to 12."""
        least = min(self.newton, self.gram, self.descent)
        return min(int(CHEAP_PRODUCTS * least / self.costs.product), FIRST_PRODUCTS)

    @cached_property
    def kinks(self) -> float:
        """``ssnal`` on a loss with kinks."""
        return self.costs.kinks()

    def overlaps_little(self, stake: float) -> bool:
        """Whether features hardly overlap; no, if to look costs a good part of ``stake``.

        Nor if there is nothing to look at: advice on a fitted model has no data any more.
        """
        if overlap_cost(self.costs) > LOOK * stake or not has_data(self.problem):
            return False
        return overlaps_little(self.problem)

    def cost(self, method: str) -> float:
        """What that method should cost."""
        if method == "primal_cd":
            return self.costs.primal()
        if method == "gram_newton":
            return self.costs.gram()
        if method == "newton_cg":
            return self.costs.strong() if self.costs.is_strong else self.products
        known = {"newton": "newton", "ssnal": "kinks"}
        return float(getattr(self, known.get(method, "descent")))


class Rule(NamedTuple):
    """A method to start with, on which problems, at which costs, and why."""

    method: str
    where: frozenset[str]  # words that all have to be among those of the facts
    when: Callable[[Any], bool] | None  # asked if they are, of the facts; None for always
    why: Callable[[Any], str] | str


def _warm_newton(f: Facts) -> bool:
    steps = min(WARM_STEPS / f.costs.steps, 1.0)
    return steps * f.newton <= WARM_EPOCHS * f.epoch


def _descent_is_much_less(f: Facts) -> bool:
    if not is_crowded(f.problem):
        return False
    much_less = MUCH_LESS_IF_CURVED if f.costs.curved else MUCH_LESS
    return f.descent <= much_less * f.products


def _nearly_free_trial(f: Facts) -> bool:
    trial = max(TRIAL_COST, TRIAL_EPOCHS * f.epoch)
    return trial <= NEARLY_FREE * f.costs.least_direct()


def _rounds_hardly_overlap(f: Facts) -> bool:
    best = min(f.newton, f.gram, f.descent, f.products)
    return f.costs.primal(LEAST_ROUNDS) <= HOPE * best and f.overlaps_little(best)


def _products_hardly_overlap(f: Facts) -> bool:
    least = f.costs.few_products(FEWEST_PRODUCTS)
    return least < min(f.newton, f.gram, f.descent) and f.overlaps_little(least)


def _strong(f: Facts) -> bool:
    return f.costs.strong() < HOPE * min(f.newton, f.gram, f.descent)


def _few_products(f: Facts) -> bool:
    # Newton's method on dense data takes a single step if the loss is quadratic.
    hope = HOPE_FOR_ONE_STEP if f.costs.quadratic and not f.costs.sparse else HOPE
    return f.products < hope * min(f.newton, f.gram, f.descent)


HARDLY_OVERLAP = "n ≥ d, and the features hardly overlap"
NO_TIME = "so small that to choose would take longer than to try"

ANY: frozenset[str] = frozenset()
TALL, WIDE = frozenset({"tall"}), frozenset({"wide"})
ONE_CALL = frozenset({"one call"})

# Which side's coordinate descent. With n ≥ d the bound T_D is nearly exact, since XXᵀ is singular,
# while T_P knows nothing of the curvature that the examples give P.
DESCENT = (
    Rule("primal_cd", ANY, lambda f: f.side == "primal", "asked for the primal side"),
    Rule("dual_cd", ANY, lambda f: f.side == "dual", "asked for the dual side"),
    Rule(
        "dual_cd",
        WIDE,
        None,
        "n < d: the examples are spread out, so the dual is well conditioned",
    ),
    Rule(
        "primal_cd",
        TALL,
        lambda f: f.descent > f.costs.primal(),
        lambda f: f"n ≥ d, and the dual may need {f.costs.dual_bound:.2g} passes per factor e",
    ),
    Rule(
        "dual_cd",
        ANY,
        None,
        lambda f: f"the dual needs at most {f.costs.dual_bound:.2g} passes per factor e",
    ),
)

SMOOTH = (
    Rule(
        "newton",
        frozenset({"warm"}),
        _warm_newton,
        f"a start near the solution: about {WARM_STEPS} steps",
    ),
    Rule("newton", frozenset({"small"}), None, "few features and few examples"),
    # A thousand epochs of less than a microsecond may be over before they are looked at.
    Rule(
        "gram_newton",
        ANY,
        lambda f: f.side == "dual" and f.costs.gram() <= LOOK_COST,
        "asked for the dual side, and few examples",
    ),
    # n ≥ d, and truncated Newton is over in one call.
    Rule(
        "newton",
        ONE_CALL,
        lambda f: f.costs.newton(f.products) <= f.products,
        "few features: a matrix of that size costs less than a few products",
    ),
    Rule(
        "dual_cd",
        ONE_CALL,
        _descent_is_much_less,
        "the features overlap, and the dual needs few epochs",
    ),
    Rule("newton_cg", ONE_CALL, None, f"n ≥ d, and {NO_TIME}"),
    # Descent that costs next to nothing is tried first.
    Rule("dual_cd", WIDE, lambda f: TRIAL_EPOCHS * f.epoch <= CHOOSING, NO_TIME),
    Rule("newton_cg", ANY, _strong, "strong regularisation: a few products with the data"),
    Rule(
        "dual_cd",
        WIDE,
        _nearly_free_trial,
        "n < d: a few epochs cost next to nothing beside a matrix",
    ),
    # All else is priced.
    Rule(
        "gram_newton",
        frozenset({"wide", "dense"}),
        lambda f: f.costs.gram() <= FEW_EPOCHS_DENSE * f.epoch,
        "few examples: a matrix of that size costs less than any epochs",
    ),
    Rule(
        "newton_cg",
        TALL,
        lambda f: not is_crowded(f.problem) and f.trial >= LEAST_PRODUCTS,
        "n ≥ d: a few products with the data cost little beside all else",
    ),
    Rule("newton_cg", frozenset({"tall", "dense"}), _products_hardly_overlap, HARDLY_OVERLAP),
    Rule("primal_cd", TALL, _rounds_hardly_overlap, HARDLY_OVERLAP),
    Rule("newton_cg", TALL, _few_products, "n ≥ d: a few products with the data may be enough"),
    Rule(
        "newton",
        ANY,
        lambda f: f.newton <= min(f.gram, f.descent),
        "few features: a matrix of that size costs less than a few epochs",
    ),
    Rule(
        "gram_newton",
        ANY,
        lambda f: f.gram <= f.descent,
        "few examples: a matrix of that size costs less than a few epochs",
    ),
    *DESCENT,
)

KINKS = (
    Rule(
        "ssnal",
        TALL,
        lambda f: f.kinks <= CHEAP_KINKS,
        "a loss with kinks and few features: Newton steps are cheap",
    ),
    Rule(
        "ssnal",
        ANY,
        lambda f: f.kinks <= f.descent,
        "a loss with kinks: Newton steps cost less than the epochs to be expected",
    ),
    Rule("dual_cd", ANY, None, "a loss with kinks: only the dual has coordinate steps"),
)


class SoftmaxFacts:
    """What the rules ask about a problem with the softmax loss.

    Attributes
    ----------
    words : frozenset of str
        "small" if Newton's matrix is and the data is dense; "text" if the data is sparse with many
        features.
    """

    def __init__(self, problem: LinearProblem, tol: float, side: str) -> None:
        self.problem, self.tol, self.side = problem, tol, side
        self.costs = costs = SoftmaxCosts(problem)
        words = ["small"] if is_one_call(problem) else []
        if costs.sparse and costs.d > costs.n / 10:
            words.append("text")
        self.words = frozenset(words)

    def cost(self, method: str) -> float:
        """What that method should cost, in nanoseconds."""
        return self.costs.cost(method, self.tol)


SOFTMAX = (
    Rule(
        "newton",
        frozenset({"small"}),
        lambda f: f.cost("newton") <= f.cost("newton_cg"),
        "few features and classes: their matrix is small",
    ),
    Rule(
        "dual_cd",
        frozenset({"text"}),
        lambda f: f.side == "auto",
        "sparse data with many features: epochs on the dual cost little",
    ),
    Rule("newton_cg", ANY, None, "products with the data cost less than a matrix of that size"),
    Rule("dual_cd", ANY, None, "asked for the dual side"),
)


class Choice(NamedTuple):
    """A method to start with, and what is expected of it."""

    method: str
    why: str
    facts: Facts | SoftmaxFacts  # what decided

    @property
    def side(self) -> Side:
        """Whose coordinates the method moves."""
        return ENGINE[self.method].side

    @property
    def seconds(self) -> float:
        """What the method should take on a common machine, rough where it is iterative."""
        return 1e-9 * self.facts.cost(self.method)


def choose(
    problem: Problem | Multinomial, tol: float = 1e-6, side: str = "auto", warm: bool = False
) -> Choice:
    """The method that ``solve`` starts with, and why.

    Parameters
    ----------
    problem : Problem or Multinomial
    tol : float
        The relative gap to be reached.
    side : str
        "auto", or "primal" or "dual" to keep to the methods of one side.
    warm : bool
        Whether the start is near the solution.

    Returns
    -------
    Choice
        With ``method``, ``why``, ``side`` and the expected ``seconds``.
    """
    if not has_one_w(problem):
        return _first(SOFTMAX, SoftmaxFacts(problem, tol, side))
    return _choose(problem, tol, side, warm)


def _choose(problem: Problem, tol: float, side: str, warm: bool) -> Choice:
    if side == "primal" and not problem.is_smooth:
        raise ValueError(
            f"side must be 'auto' or 'dual' for loss {loss_name(problem.loss)!r}, got "
            "'primal'. The loss has kinks, and methods on the primal need a smooth one."
        )
    facts = Facts(well_stored(problem), tol, side, warm)
    return _first(SMOOTH if problem.is_smooth else KINKS, facts)


def chosen(problem: Problem | Multinomial, tol: float, method: str, why: str) -> Choice:
    """The choice of a method that is known already."""
    if has_one_w(problem):
        return Choice(method, why, Facts(problem, tol, "auto", False))
    return Choice(method, why, SoftmaxFacts(problem, tol, "auto"))


def has_one_w(problem: LinearProblem) -> TypeGuard[Problem]:
    """Whether w is a vector, not one per class; also of what is left of a fitted problem."""
    return len(problem.shapes[0]) == 1


def _first(rules: tuple[Rule, ...], facts: Any) -> Choice:
    """What the first rule that applies says, among those for the side."""
    for rule in rules:
        if not rule.where <= facts.words or facts.side not in ("auto", ENGINE[rule.method].side):
            continue
        if rule.when is None or rule.when(facts):
            why = rule.why if isinstance(rule.why, str) else rule.why(facts)
            return Choice(rule.method, why, facts)
    raise AssertionError("the last rule always applies")


def trial_length(name: str) -> int:
    """The rounds after which a method's contraction is looked at."""
    return TRIAL_ROUNDS if name == "primal_cd" else TRIAL_EPOCHS
