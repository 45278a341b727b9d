"""Which method runs for ``side="auto"``, ``"primal"`` or ``"dual"``, and how its work counts."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from numpy.random import Generator

from .._types import FloatArray, Side
from ..complexity import Complexity
from ..engine.auto import Auto
from ..engine.choice import first_choice, well_stored
from ..engine.one_side import OneSide, first_on, is_on
from ..engine.prices import (
    CORNER_STEPS,
    cg_price,
    corner_price,
    direct_prices,
    epoch_price,
    expected_epochs,
    newton_price,
    newton_steps,
    rescue_prices,
)
from ..engine.softmax import softmax_choice
from ..methods import ENGINE, METHODS, Method
from ..methods.engine.softmax_newton import SoftmaxNewton
from ..problem import Problem
from ..problem.multinomial import Multinomial
from ..samplings import Draws

DESCENT = ("primal_cd", "dual_cd")

# Newton steps to be expected from a start that was extrapolated along a path.
WARM_STEPS = 2
# Epochs to be expected of dual coordinate descent from there.
WARM_EPOCHS = 12

# Problems that Newton's method should solve within this many nanoseconds are solved to machine
# precision: the last digits cost less than the bookkeeping around them.
SMALL = 3e6
SMALL_EXAMPLES = 2000
SMALL_GAP = 1e-15
SMALL_ROUNDS = 15
# The same for a loss with corners, which takes more steps.
SMALL_CORNERS = 10e6
SMALL_CORNER_ROUNDS = 200


def method_for(problem: Problem, side: str, tol: float, warm: bool = False) -> Auto:
    """The engine, free to choose or kept to one side; ``warm`` if it starts near the solution."""
    if side != "auto":
        return OneSide(side, tol)
    return WarmAuto(tol) if warm else Auto(tol)


def starts_with(problem: Problem, tol: float) -> str:
    """The method that a fit begins with where it may choose."""
    small = small_method(problem, "auto")
    return first_choice(well_stored(problem), tol)[0] if small is None else str(small.name)


def predicted(problem: Problem, side: str, tol: float) -> dict[str, Any]:
    """What one side should need: its first method, passes over the data, seconds."""
    if side == "primal" and not problem.is_smooth:
        return {"method": "none", "passes": float("inf"), "seconds": float("inf")}
    name, seconds = first_on(problem, side, tol)
    if name == "ssnal":
        return {"method": name, "passes": float(CORNER_STEPS), "seconds": seconds}
    if name in ("newton", "gram_newton"):
        return {"method": name, "passes": float(newton_steps(problem)), "seconds": seconds}
    if not problem.is_smooth:
        return {"method": name, "passes": float("inf"), "seconds": float("inf")}
    least = min(max(tol, 1e-15), 0.5)
    passes = METHODS[name]().complexity(problem, None).passes(least)
    if name == "dual_cd" and problem.n >= problem.d:
        passes = min(passes, expected_epochs(problem, tol))
    seconds = passes * epoch_price(problem, name) * 1e-9
    # Descent that is slower than this side's second-order methods would be left for one of them.
    others = rescue_prices(problem, problem.beta)
    others["gram_newton_cg"] = cg_price(problem, passes, math.log(1.0 / least))
    most = min(price for other, price in others.items() if is_on(other, side, problem)) * 1e-9
    part = min(most / seconds, 1.0) if seconds > 0 else 1.0
    return {"method": name, "passes": part * passes, "seconds": part * seconds}


def small_method(problem: Any, side: str) -> Any:
    """Newton's method where it takes a few milliseconds at most, otherwise None."""
    if isinstance(problem, Multinomial):
        small = softmax_choice(problem, side) == "newton" and problem.n <= SMALL_EXAMPLES
        return SoftmaxNewton() if small else None
    if not problem.is_smooth:
        small = corner_price(problem) <= SMALL_CORNERS and problem.n <= SMALL_EXAMPLES
        return _Named(ENGINE["ssnal"](), "ssnal") if small and side != "primal" else None
    prices = {
        name: price for name, price in direct_prices(problem).items() if is_on(name, side, problem)
    }
    cheap = sorted((price, name) for name, price in prices.items() if price <= SMALL)
    return _Named(ENGINE[cheap[0][1]](), cheap[0][1]) if cheap else None


class WarmAuto(Auto):
    """The engine started near the solution, where Newton's method takes a step or two."""

    def _first(self, problem: Problem) -> tuple[str, str]:
        """Newton's method where that many steps are cheap, otherwise the usual choice."""
        if not problem.is_smooth:
            return super()._first(problem)
        price = newton_price(problem) * min(WARM_STEPS / newton_steps(problem), 1.0)
        if price <= WARM_EPOCHS * epoch_price(problem, "dual_cd"):
            return "newton", f"a good start: about {WARM_STEPS} steps"
        return super()._first(problem)


class _Named:
    """A method that can tell its name."""

    def __init__(self, method: Any, name: str) -> None:
        self.method = method
        self.name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.method, attribute)

    def label(self, state: Any) -> str:
        """The name under which the method is known."""
        return self.name


class Counted(Method):
    """A method whose Newton steps count as one pass each; a pass of descent is a pass.

    The work in nonzeros visited, which is far more for a Newton step, is kept beside, one entry
    per check. A ``first`` pair (w, α) is where the method starts unless told otherwise; unlike the
    start of ``solve`` it is not certified, which costs as much as a round and is rarely enough.
    """

    side: ClassVar[Side] = "dual"
    samplings: ClassVar[tuple[str, ...]] = ()
    free_intercept: ClassVar[bool] = True

    def __init__(self, method: Any, first: tuple[Any, Any] = (None, None)) -> None:
        self.method = method
        self.first = first
        self.work = 0.0  # nonzeros visited
        self.passes: list[float] = []  # at each check
        self.w: Any = None  # the iterate of the last check
        self.problem: Any = None
        self.nnz = 1.0

    @property
    def smooth_only(self) -> bool:  # type: ignore[override]
        """Whether the loss has to be smooth."""
        return bool(self.method.smooth_only)

    def start(
        self,
        problem: Any,
        sampling: Any = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> Any:
        """The method's own state."""
        self.problem = problem
        self.nnz = float(max(problem.matrix.nnz, 1))
        if w is None and alpha is None:
            w, alpha = self.first
        return self.method.start(problem, None, w=w, alpha=alpha, rng=rng)

    def advance(self, state: Any, draws: Draws | None = None) -> float:
        """One round."""
        descends = self.label(state) in DESCENT
        work = float(self.method.advance(state, None))
        self.work += work
        return work if descends else self.nnz

    def gap_estimate(self, state: Any) -> float:
        """The method's own estimate."""
        return float(self.method.gap_estimate(state))

    def iterate(self, state: Any) -> tuple[FloatArray, FloatArray | None]:
        """The method's iterate, remembered."""
        w, alpha = self.method.iterate(state)
        if alpha is not None and isinstance(self.problem, Problem):
            alpha = self.problem.rebalanced(alpha)  # for methods that are only nearly feasible
        self.passes.append(self.work / self.nnz)
        self.w = w
        return w, alpha

    def label(self, state: Any) -> str:
        """The name of the method that runs."""
        return str(self.method.label(state))

    def complexity(self, problem: Any, sampling: Any = None) -> Complexity:
        """The method's own."""
        return self.method.complexity(problem, None)
