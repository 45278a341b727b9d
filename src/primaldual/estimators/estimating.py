"""What each side of a problem should cost, predicted before it is solved."""

from __future__ import annotations

from typing import Any

from ..engine import choose
from ..engine.forecast import expected
from ..problem import Problem


def estimated(problem: Problem, tol: float, problems: int) -> dict[str, Any]:
    """What both sides should need for that many problems of this kind, and the engine's choice."""
    sides: dict[str, Any] = {
        side: expected(problem, side, tol)._asdict() for side in ("primal", "dual")
    }
    for cost in sides.values():
        cost["seconds"] *= problems
    choice = choose(problem, tol)
    return {**sides, "side": choice.side, "method": choice.method}
