"""The face-off before it starts: which side is cheaper for this problem, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._cached import cached_property
from ._types import Side
from .complexity import (
    Complexity,
    complexity,
    importance_complexity,
    structure_cost,
    unbounded,
)
from .engine import choose
from .engine.forecast import likely_side
from .losses.custom import loss_name
from .methods import METHODS
from .methods.base import coordinates
from .problem import Coordinates, Problem
from .samplings import Sampling, as_sampling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Ratios of T closer to 1 than this are called a tie in words; the smaller T still wins.
_TIE = 1.1


@dataclass(frozen=True)
class Practice:
    """Which side is faster with the methods of today, which use the curvature they meet.

    The theory's T bounds the paper's two methods. Coordinate descent in random order with exact
    or locally curved steps does better than its bound, most of all on the side where the data
    itself makes the problem well conditioned.
    """

    side: Side
    method: str  # what ``solve(method="auto")`` starts with, which may factor a matrix instead
    # The part of the problems of this kind, among those measured for the documentation, on which
    # that side's coordinate descent took at most 1.3 times as long as the other's.
    confidence: float
    evidence: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.side} (confidence {self.confidence:.0%}): {'; '.join(self.evidence)}."


# How sure the choice of coordinate descent's side is, by the factor between the two costs that are
# expected, or with n < d, or where the data was not looked at; counted on 1207 problems
# (docs/choose.md).
_CLOSE = 1.3
_CONFIDENCE = {"wide": 0.99, "clear": 0.97, "close": 0.92, "unseen": 0.87}
_CONFIDENCE["kinks"] = 1.0  # there is no other side


@dataclass(frozen=True)
class Bounds:
    """What the theory guarantees of both sides, and the side it therefore names."""

    primal: Complexity
    dual: Complexity
    side: Side
    reason: str


class Advice:
    """Which side to solve on, what each side costs, and why.

    ``primal`` and ``dual`` hold K (``iterations``), W (``cost``), T (``total``) and
    ``passes(eps)``. They are bounds: what the theory guarantees, not what is measured. ``practice``
    names the side that should be faster in seconds. Each is found out when it is first asked for:
    ``solve(problem, advice)`` asks for ``practice`` alone.
    """

    def __init__(
        self,
        problem: Problem | None,
        d: int,
        n: int,
        sampling: str = "importance",
        methods: Sequence[str] = (),
    ) -> None:
        self.problem = problem  # None where the data is no longer at hand
        self.d, self.n = d, n
        self.sampling = sampling
        self.methods = tuple(methods)

    @classmethod
    def kept(
        cls,
        d: int,
        n: int,
        sampling: str,
        bounds: Bounds,
        ranking: tuple[tuple[str, Complexity], ...],
    ) -> Advice:
        """An advice without its data, as a fitted or a loaded model has it."""
        advice = cls(None, d, n, sampling, [name for name, _ in ranking])
        advice.bounds, advice.ranking = bounds, ranking
        return advice

    def without_data(self) -> Advice:
        """The same bounds and ranking, without the problem and so without ``practice``."""
        return Advice.kept(self.d, self.n, self.sampling, self.bounds, self.ranking)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy or a pickle of a model must not carry the data it was trained on.
        return Advice.kept, (self.d, self.n, self.sampling, self.bounds, self.ranking)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Advice) and self.__reduce__() == other.__reduce__()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Advice({self.bounds}, d={self.d}, n={self.n}, sampling={self.sampling!r})"

    @cached_property
    def bounds(self) -> Bounds:
        """T of both sides and the cheaper one."""
        assert self.problem is not None
        return _bounds(self.problem, self.sampling)

    @cached_property
    def ranking(self) -> tuple[tuple[str, Complexity], ...]:
        """Methods by their T, where asked for."""
        if self.problem is None:
            return ()
        problem = self.problem
        stated = [(name, stated_complexity(problem, name)) for name in self.methods]
        return tuple(sorted(stated, key=lambda entry: entry[1].total))

    @property
    def primal(self) -> Complexity:
        """K, W and T on the primal."""
        return self.bounds.primal

    @property
    def dual(self) -> Complexity:
        """K, W and T on the dual."""
        return self.bounds.dual

    @property
    def side(self) -> Side:
        """The side with the smaller T."""
        return self.bounds.side

    @property
    def reason(self) -> str:
        """What about the data decides, in a sentence."""
        return self.bounds.reason

    @property
    def ratio(self) -> float:
        """T_P / T_D; 1 where both are infinite."""
        if self.primal.total == self.dual.total:
            return 1.0
        return self.primal.total / self.dual.total if self.dual.total else 1.0

    def __str__(self) -> str:
        head = f"{'':8}{'coordinates':>12}{'iterations K':>16}{'cost W':>12}{'total T':>12}"
        lines = [head]
        for name, size, costs in (
            ("primal", self.d, self.primal),
            ("dual", self.n, self.dual),
        ):
            row = (
                f"{name:8}{_thousands(size):>12}{_short(costs.iterations):>16}"
                f"{_short(costs.cost):>12}{_short(costs.total):>12}"
            )
            if name == self.side and costs.total == math.inf:
                row += "   ← the side with steps"
            elif name == self.side:
                factor = max(self.ratio, 1 / self.ratio) if self.ratio else 1.0
                row += (
                    f"   ← {_factor(factor)} less work" if factor >= _TIE else "   ← a close call"
                )
            lines.append(row)
        lines.append(f"{self.side}: {self.reason}")
        if self.practice is not None:
            lines.append(f"in practice {self.practice}")
        if self.ranking:
            lines.append(f"{'by stated T:':20}{'iterations K':>16}{'cost W':>12}{'total T':>12}")
        for name, costs in self.ranking:
            lines.append(
                f"  {name:18}{_short(costs.iterations):>16}"
                f"{_short(costs.cost):>12}{_short(costs.total):>12}"
            )
        return "\n".join(lines)

    @cached_property
    def practice(self) -> Practice | None:
        """The side that should be faster in seconds, with confidence and evidence.

        None where the data is no longer at hand, as in a model that was loaded from a file.
        """
        return None if self.problem is None else _practice(self.problem)

    def plot(self) -> Figure:
        """Where the nonzeros are and what each side may cost, as a matplotlib figure."""
        from .report import advice_figure

        return advice_figure(self)

    def _repr_html_(self) -> str | None:
        from .report import advice_html

        return advice_html(self)


def advise(problem: Problem, sampling: str = "importance", methods: Sequence[str] = ()) -> Advice:
    """Compare the two sides of ``problem``: by the theory's bounds, and by what to expect of them.

    Parameters
    ----------
    problem : Problem
    sampling : str
        The sampling both sides use; importance sampling is the best serial one (Theorem 2).
    methods : sequence of str
        Names in ``METHODS`` to be ranked by the T each states for itself.

    Returns
    -------
    Advice
        To be read, or to be followed: ``solve(problem, advice)``.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, advise
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> advice = advise(Problem(X, np.sign(X[:, 0]), loss="logistic", lam=1 / 50))
    >>> advice.side
    'dual'
    """
    advice = Advice(problem, problem.d, problem.n, sampling, methods)
    if sampling != "importance" or methods:
        _ = advice.bounds, advice.ranking  # a wrong name is refused here
    return advice


def _bounds(problem: Problem, sampling: str) -> Bounds:
    """T of both sides with that sampling, and what it says."""
    sides = (problem.features, problem.examples)
    if not problem.is_smooth:
        reason = (
            f"the loss {loss_name(problem.loss)!r} has kinks, so that β and with it both bounds "
            "are infinite; only the dual has coordinate steps."
        )
        return Bounds(unbounded(sides[0]), unbounded(sides[1]), "dual", reason)
    if sampling == "importance":
        primal, dual = map(importance_complexity, sides)
    else:
        primal, dual = (complexity(one, as_sampling(sampling, one)) for one in sides)
    side: Side = "primal" if primal.total <= dual.total else "dual"
    return Bounds(primal, dual, side, _reason(problem, primal, dual, side))


def _practice(problem: Problem) -> Practice:
    """What the engine would do, and how sure it can be."""
    name, why, factor = likely_side(problem)
    choice = choose(problem)
    if not problem.is_smooth:
        kind = "kinks"
    elif problem.n < problem.d:
        kind = "wide"
    elif math.isnan(factor):
        kind = "unseen"
    else:
        kind = "clear" if factor >= _CLOSE else "close"
    evidence = [why]
    if choice.method != name:
        evidence.append(f"solve starts with {choice.method} ({choice.why})")
    return Practice(METHODS[name].side, choice.method, _CONFIDENCE[kind], tuple(evidence))


def stated_complexity(
    problem: Problem, name: str, sampling: str | Sampling | None = None
) -> Complexity:
    """The K and W that the method of that name states, with its own sampling unless given one."""
    if name not in METHODS:
        raise ValueError(f"methods must be names among {', '.join(METHODS)}, got {name!r}.")
    method = METHODS[name]()
    if method.smooth_only and not problem.is_smooth:
        return unbounded(coordinates(problem, method.side))
    if not method.samplings:
        return method.complexity(problem, None)
    if sampling is None:
        return method.complexity(problem, method.plan(problem))
    return method.complexity(problem, as_sampling(sampling, coordinates(problem, method.side)))


def _reason(problem: Problem, primal: Complexity, dual: Complexity, side: Side) -> str:
    """One sentence a person can repeat: what about this data decides."""
    features, examples = problem.features, problem.examples
    winner, loser = (primal, dual) if side == "primal" else (dual, primal)
    if winner.total == 0 or loser.total / winner.total < _TIE:
        if max(primal.total, dual.total) < 2 * problem.matrix.nnz:
            return (
                "λ is so large that both sides need only a few passes; the choice hardly matters."
            )
        return (
            "the nonzeros are spread alike over features and examples; the choice hardly matters."
        )
    typical_feature, typical_example = _typical_count(features), _typical_count(examples)
    few, many = (
        (("feature", typical_feature), ("example", typical_example))
        if side == "primal"
        else (("example", typical_example), ("feature", typical_feature))
    )
    sentence = (
        f"the weight of the data sits in {few[0]}s with about {_short(few[1])} nonzeros each, "
        f"against {_short(many[1])} per {many[0]}"
    )
    by_shape: Side = "primal" if problem.d >= problem.n else "dual"
    if by_shape != side:
        heavy = features if side == "dual" else examples
        share = _heaviest_share(heavy)
        return (
            f"although {'d ≥ n' if by_shape == 'primal' else 'n > d'}, {sentence}: "
            f"the heaviest 1 % of {many[0]}s carry {share:.0%} of it."
        )
    return f"{sentence}, so its steps are cheap."


def _typical_count(side: Coordinates) -> float:
    """C/‖X‖_F²: the nonzeros of a row, averaged with the rows' squared norms as weights."""
    norms = side.squared_norms
    if side.multipliers is not None:
        norms = norms * side.multipliers
    total = float(norms.sum())
    return structure_cost(side) / total if total > 0 else 0.0


def _heaviest_share(side: Coordinates) -> float:
    """The part of ‖X‖_F² in the heaviest 1 % of the rows (at least one row)."""
    norms = side.squared_norms
    top = max(1, side.size // 100)
    return float(np.partition(norms, side.size - top)[side.size - top :].sum() / norms.sum())


def _thousands(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _short(number: float) -> str:
    """Whole numbers up to six digits with thin groups, three digits otherwise."""
    if 100 <= abs(number) < 1e6:
        return _thousands(round(number))
    return f"{number:.3g}"


def _factor(ratio: float) -> str:
    return f"{ratio:.1f}×" if ratio < 100 else f"{_short(ratio)}×"
