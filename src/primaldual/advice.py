"""The face-off before it starts: which side ``solve`` will take, what it will cost, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, overload

from ._cached import cached_property
from ._threads import checked
from ._types import Side
from .complexity import Complexity, unbounded
from .engine import chosen
from .engine.costs import priced_for
from .engine.forecast import Expected, confidence, expected, interval
from .engine.forecast_on_parts import ExpectedOnParts, expected_on_parts
from .methods import METHODS
from .methods.base import coordinates, takes_loss
from .problem import Problem
from .problem.on_parts import PartsProblem
from .samplings import Sampling, as_sampling
from .theory import TIE, Theory, theory_of
from .wording import duration, finite, grouped, number, times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THEORY = "what the paper's bound says of the paper's two methods"


@dataclass(frozen=True)
class Verdict:
    """What ``solve`` will do, and what that should take on this machine."""

    side: Side
    method: str  # that it starts with
    seconds: float
    interval: tuple[float, float]  # that holds the seconds of 80 % of all problems like this one
    passes: float
    # The fraction of problems like this one, not seen when the forecast was made, on which this
    # side has the fastest method of all, or one that takes at most 1.2 times as long.
    confidence: float
    evidence: str  # one sentence

    def __str__(self) -> str:
        low, high = (duration(end) for end in self.interval)
        return (
            f"{self.side}, by {self.method}: about {duration(self.seconds)} ({low} to {high}), "
            f"{number(self.passes)} passes; confidence {self.confidence:.0%}"
        )


class Advice:
    """One verdict and two witnesses: what ``solve`` will do, and what each side would cost.

    Attributes
    ----------
    verdict : Verdict
        Side, method, expected seconds with an 80 % interval, expected passes, confidence and
        evidence of what ``solve(problem)`` does.
    sides : dict
        For "primal" and "dual" what ``solve(problem, side=...)`` should need: the method of that
        side, its passes, the price of a pass and their product, the seconds.
    theory : Theory
        K, W and T of both sides, and the side that the paper's bound names for the paper's methods.

    Each is found when it is first asked for: ``solve(problem, advice)`` asks for ``verdict`` alone.
    """

    def __init__(
        self,
        problem: Problem | None,
        d: int,
        n: int,
        sampling: str = "importance",
        methods: Sequence[str] = (),
        tol: float = 1e-6,
        threads: int = 1,
    ) -> None:
        self.threads = threads  # that prices are for
        self.problem = problem  # None where the data is no longer at hand
        self.d, self.n = d, n
        self.sampling = sampling
        self.methods = tuple(methods)
        self.tol = tol

    @classmethod
    def kept(
        cls,
        extent: tuple[int, int, str, float],
        forecasts: tuple[Expected, Expected],
        theory: Theory,
        ranking: tuple[tuple[str, Complexity], ...],
    ) -> Advice:
        """An advice without its data, as a fitted or a loaded model has it.

        ``extent`` is d, n, the sampling and ``tol``.
        """
        d, n, sampling, tol = extent
        advice = cls(None, d, n, sampling, [name for name, _ in ranking], tol)
        advice.forecasts, advice.theory, advice.ranking = forecasts, theory, ranking
        return advice

    def without_data(self) -> Advice:
        """The same advice without the problem."""
        kept, arguments = self.__reduce__()
        return kept(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy or a pickle of a model must not carry the data it was trained on.
        extent = (self.d, self.n, self.sampling, self.tol)
        return Advice.kept, (extent, self.forecasts, self.theory, self.ranking)

    def plain(self) -> dict[str, Any]:
        """The advice without its data in numbers, strings, lists and dicts, as files hold it."""
        return {
            "advice": {
                **{"d": self.d, "n": self.n, "sampling": self.sampling, "tol": self.tol},
                "ranking": [[name, asdict(costs)] for name, costs in self.ranking],
                "forecasts": [list(forecast) for forecast in self.forecasts],
                "side": self.theory.side,
                "reason": self.theory.reason,
            },
            "costs": {side: asdict(getattr(self, side)) for side in ("primal", "dual")},
        }

    @classmethod
    def of_plain(cls, plain: dict[str, Any]) -> Advice | None:
        """What ``plain`` gave; None if it was written before there was a verdict."""
        kept, costs = plain["advice"], plain["costs"]
        if "forecasts" not in kept:
            return None
        bounds = {side: Complexity(**costs[side]) for side in ("primal", "dual")}
        ranking = tuple((name, Complexity(**stated)) for name, stated in kept["ranking"])
        theory = Theory(**bounds, side=kept["side"], reason=kept["reason"])
        begun, other = (Expected(*stated) for stated in kept["forecasts"])
        extent = (kept["d"], kept["n"], kept["sampling"], kept["tol"])
        return cls.kept(extent, (begun, other), theory, ranking)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Advice) and self.__reduce__() == other.__reduce__()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Advice({self.verdict}, d={self.d}, n={self.n}, tol={self.tol:g})"

    @cached_property
    def forecasts(self) -> tuple[Expected, Expected]:
        """What ``solve`` does and what the other side would, in seconds of the common machine.

        The same everywhere, so that a model that keeps them is the same file everywhere.
        """
        assert self.problem is not None
        with priced_for(self.threads):
            return self._beside(expected(self.problem, self.tol))

    def beginning_with(self, method: str, why: str) -> Advice:
        """The advice to begin with that method, where it has begun already."""
        assert self.problem is not None
        choice = chosen(self.problem, self.tol, method, why)
        self.forecasts = self._beside(expected(self.problem, self.tol, choice=choice))
        return self

    def _beside(self, begun: Expected) -> tuple[Expected, Expected]:
        """A forecast, and that of the other side."""
        assert self.problem is not None
        other: Side = "primal" if begun.side == "dual" else "dual"
        return begun, expected(self.problem, self.tol, other)

    @cached_property
    def sides(self) -> dict[str, Expected]:
        """What each side should need here; on the side of the verdict, what the verdict says."""
        found = {forecast.side: forecast.here() for forecast in self.forecasts}
        return {side: found[side] for side in ("primal", "dual")}

    @cached_property
    def verdict(self) -> Verdict:
        """What ``solve`` will do, and what it should take."""
        begun, other = (self.sides[forecast.side] for forecast in self.forecasts)
        return Verdict(
            begun.side,
            begun.method,
            begun.seconds,
            interval(begun),
            begun.passes,
            confidence(begun, other),
            _evidence(begun, other),
        )

    @cached_property
    def theory(self) -> Theory:
        """T of both sides and the smaller one."""
        assert self.problem is not None
        return theory_of(self.problem, self.sampling)

    @cached_property
    def ranking(self) -> tuple[tuple[str, Complexity], ...]:
        """Methods by their T, where asked for."""
        if self.problem is None:
            return ()
        problem = self.problem
        stated = [(name, stated_complexity(problem, name)) for name in self.methods]
        return tuple(sorted(stated, key=lambda entry: entry[1].total))

    @property
    def side(self) -> Side:
        """The side of the verdict."""
        return self.verdict.side

    @property
    def reason(self) -> str:
        """The evidence of the verdict."""
        return self.verdict.evidence

    @property
    def primal(self) -> Complexity:
        """K, W and T on the primal, by the theory."""
        return self.theory.primal

    @property
    def dual(self) -> Complexity:
        """K, W and T on the dual, by the theory."""
        return self.theory.dual

    @property
    def ratio(self) -> float:
        """T_P / T_D, by the theory; 1 where both are infinite."""
        return self.theory.ratio

    def __str__(self) -> str:
        lines = [f"{self.verdict}", self.verdict.evidence, *self._witnesses(), *self._bounds()]
        if self.ranking:
            lines.append(f"{'by stated T:':20}{'iterations K':>16}{'cost W':>12}{'total T':>12}")
        for name, costs in self.ranking:
            lines.append(f"  {name:18}{_work(costs)}")
        return "\n".join(lines)

    def _witnesses(self) -> list[str]:
        """The table of both sides: passes times the price of a pass are the seconds."""
        lines = [f"{'':8}{'method':>16}{'passes':>12}{'per pass':>12}{'together':>12}"]
        for name, side in self.sides.items():
            mark = "   ← solve" if name == self.verdict.side else ""
            lines.append(
                f"{name:8}{side.method:>16}{number(side.passes):>12}"
                f"{duration(side.price):>12}{duration(side.seconds):>12}{mark}"
            )
        return lines

    def _bounds(self) -> list[str]:
        """The table of the theory, its side and why, and why the verdict overrules it."""
        theory = self.theory
        title = f"In theory, {THEORY}:"
        head = f"{'':8}{'coordinates':>12}{'iterations K':>16}{'cost W':>12}{'total T':>12}"
        lines = [title, head]
        for name, size, costs in (
            ("primal", self.d, theory.primal),
            ("dual", self.n, theory.dual),
        ):
            row = f"{name:8}{grouped(size):>12}{_work(costs)}"
            if name == theory.side and costs.total == math.inf:
                row += "   ← the side with steps"
            elif name == theory.side:
                factor = max(theory.ratio, 1 / theory.ratio) if theory.ratio else 1.0
                row += f"   ← {times(factor)} less work" if factor >= TIE else "   ← a close call"
            lines.append(row)
        lines.append(f"{theory.side}: {theory.reason}")
        if self.overruled:
            lines.append(self.overruled)
        return lines

    @property
    def overruled(self) -> str:
        """Why the verdict is not the theory's side, in a sentence; empty where it is."""
        chosen = self.sides[self.verdict.side]
        if self.theory.side == chosen.side:
            return ""
        return f"The verdict is the other side: {_beyond(chosen, self.n, self.d)}."

    def numbers(self) -> dict[str, Any]:
        """The same in numbers, as plain Python: what ``--json`` prints.

        Numbers that are infinite are None.
        """
        theory = self.theory
        sizes = {"primal": self.d, "dual": self.n}
        numbers: dict[str, Any] = finite(
            {
                "verdict": asdict(self.verdict),
                "sides": {name: side._asdict() for name, side in self.sides.items()},
                "theory": {
                    "side": theory.side,
                    "reason": theory.reason,
                    "ratio": theory.ratio,
                    "overruled": self.overruled,
                    **{
                        name: {"coordinates": size, **getattr(theory, name).numbers()}
                        for name, size in sizes.items()
                    },
                },
            }
        )
        return numbers

    def plot(self) -> Figure:
        """Where the nonzeros are and what each side may cost, as a matplotlib figure."""
        from .report import advice_figure

        return advice_figure(self)

    def _repr_html_(self) -> str:
        from .report import advice_html

        return advice_html(self)


@overload
def advise(problem: PartsProblem, *, tol: float = 1e-6) -> ExpectedOnParts: ...


@overload
def advise(
    problem: Problem,
    sampling: str = ...,
    methods: Sequence[str] = ...,
    tol: float = ...,
    threads: int | None = ...,
) -> Advice: ...


def advise(
    problem: Any,
    sampling: str = "importance",
    methods: Sequence[str] = (),
    tol: float = 1e-6,
    threads: int | None = None,
) -> Any:
    """Say which side of ``problem`` to solve on, and what each side should cost.

    Parameters
    ----------
    problem : Problem, Multinomial or PartsProblem
    sampling : str
        The sampling of both sides in the theory; importance sampling is the best serial one
        (Theorem 2).
    methods : sequence of str
        Names in ``METHODS`` to be ranked by the T each states for itself.
    tol : float
        The relative gap that the solve is to reach.
    threads : int, optional
        Price the methods with that number of threads; -1 stands for all cores of the process. Some
        methods share their work, others do not, so another one may be cheapest: follow the advice
        by ``solve(problem, advice, threads=threads)``. Without it, the method is the one that
        ``solve(problem)`` takes on every machine, priced with one thread.

    Returns
    -------
    Advice
        To be read, or to be followed: ``solve(problem, advice)``. On data in parts an
        ``ExpectedOnParts``: side, method, rounds, bytes and seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, advise
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> advice = advise(Problem(X, np.sign(X[:, 0]), loss="logistic", lam=1 / 50))
    >>> advice.verdict.side, advice.verdict.method
    ('primal', 'newton')
    >>> advice.theory.side
    'dual'
    """
    count = checked("threads", threads) or 1
    if isinstance(problem, PartsProblem):
        if threads is not None:
            raise ValueError(
                f"threads={threads} is not for data in parts, which bring their own. Leave it out."
            )
        return expected_on_parts(problem, tol)
    advice = Advice(problem, problem.d, problem.n, sampling, methods, tol, count)
    if sampling != "importance" or methods:
        _ = advice.theory, advice.ranking  # a wrong name is refused here
    return advice


def _evidence(chosen: Expected, other: Expected) -> str:
    """One sentence: why this method, and what the other side would take."""
    if other.seconds == math.inf:
        return f"{chosen.method}: {chosen.why}; the {other.side} has no method for this loss."
    against = f"{other.method} on the {other.side} should take {duration(other.seconds)}"
    return f"{chosen.method}: {chosen.why}; {against}."


def _beyond(chosen: Expected, n: int, d: int) -> str:
    """What the paper's bound cannot know here."""
    if METHODS[chosen.method].descends:
        if n < d:
            return "with n < d the examples are nearly orthogonal, which T does not know"
        if chosen.side == "primal":
            return "with n ≥ d the examples give P more curvature than λ, which T does not know"
        return "T counts nonzeros alike on both sides, and a visit on this side costs less"
    if chosen.method in ("newton_cg", "gram_newton_cg"):
        return "a few products with all of the data replace the coordinate steps that T counts"
    return "its matrix is small enough to be factored, and T is about coordinate steps"


def stated_complexity(
    problem: Problem, name: str, sampling: str | Sampling | None = None
) -> Complexity:
    """The K and W that the method of that name states, with its own sampling unless given one."""
    if name not in METHODS:
        raise ValueError(f"methods must be names among {', '.join(METHODS)}, got {name!r}.")
    method = METHODS[name]()
    if not takes_loss(method, problem):
        return unbounded(coordinates(problem, method.side))
    if not method.samplings:
        return method.complexity(problem, None)
    if sampling is None:
        return method.complexity(problem, method.plan(problem))
    return method.complexity(problem, as_sampling(sampling, coordinates(problem, method.side)))


def _work(costs: Complexity) -> str:
    """K, W and T in columns."""
    return f"{number(costs.iterations):>16}{number(costs.cost):>12}{number(costs.total):>12}"
