"""What each side of a problem should cost, predicted before it is solved."""

from __future__ import annotations

from typing import Any

from ..advice import advise
from ..problem import Problem


def estimated(problem: Problem, tol: float, problems: int) -> dict[str, Any]:
    """What both sides should need for that many problems of this kind, and the engine's choice."""
    advice = advise(problem, tol=tol)
    sides: dict[str, Any] = {name: side._asdict() for name, side in advice.sides.items()}
    for cost in sides.values():
        cost["seconds"] *= problems
    return {**sides, "side": advice.verdict.side, "method": advice.verdict.method}
