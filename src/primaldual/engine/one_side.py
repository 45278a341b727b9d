"""The engine restricted to the methods of one side."""

from __future__ import annotations

from ..losses.custom import loss_name
from ..methods import METHODS
from ..problem import Problem
from .auto import Auto, State
from .choice import corner_choice
from .prices import (
    corner_price,
    direct_prices,
    epoch_price,
    expected_epochs,
    newton_price,
    newton_steps,
)

SIDES = ("auto", "primal", "dual")

# The dual rescue factors an n × n matrix: with more examples that takes longer than
# anything it could save.
MOST_GRAM_EXAMPLES = 5000

# Newton steps and epochs of dual coordinate descent to be expected from a start that was
# extrapolated along a path.
WARM_STEPS, WARM_EPOCHS = 2, 12


def first_on(problem: Problem, side: str, tol: float = 1e-6) -> tuple[str, float]:
    """The method to start with on one side, and its predicted seconds if it is a direct one.

    Newton's method on the smaller matrix where that is cheap, coordinate descent otherwise.
    """
    if not problem.is_smooth:
        if side == "primal":
            raise ValueError(
                f"side must be 'auto' or 'dual' for loss {loss_name(problem.loss)!r}, got "
                "'primal'. The loss has corners, and methods on the primal need a smooth one."
            )
        name = corner_choice(problem)[0]
        return name, corner_price(problem) * 1e-9 if name == "ssnal" else float("nan")
    direct, descent = {
        "primal": ("newton", "primal_cd"),
        "dual": ("gram_newton", "dual_cd"),
    }[side]
    price = direct_prices(problem)[direct]
    fits = direct == "newton" or problem.n <= MOST_GRAM_EXAMPLES
    if fits and price <= expected_epochs(problem, tol) * epoch_price(problem, descent):
        return direct, price * 1e-9
    return descent, float("nan")


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


class OneSide(Auto):
    """The engine restricted to the methods of one side: its first choice and its rescue."""

    def __init__(self, side: str, tol: float = 1e-6) -> None:
        super().__init__(tol)
        self.only = side

    def _first(self, problem: Problem) -> tuple[str, str]:
        """The first choice on the one side."""
        return first_on(problem, self.only, self.tol)[0], f"asked for the {self.only} side"

    def _wants_a_start(self, problem: Problem, name: str) -> bool:
        """Never: the start would be on the dual."""
        return False

    def _successor(self, state: State) -> tuple[str, str] | None:
        """What the engine would change to, or this side's second-order method in its place."""
        found = super()._successor(state)
        if found is None:
            return None
        name, why = found
        if not is_on(name, self.only, state.problem):
            name = {"primal": "newton_cg", "dual": "gram_newton"}[self.only]
        if name in state.tried or not is_on(name, self.only, state.problem):
            return None
        return name, why


def is_on(name: str, side: str, problem: Problem) -> bool:
    """Whether the method is one of the side, and its matrix not too large."""
    fits = name != "gram_newton" or problem.n <= MOST_GRAM_EXAMPLES
    return fits and side in ("auto", METHODS[name].side)
