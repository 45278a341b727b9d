"""What each side of a problem should cost, predicted before it is solved."""

from __future__ import annotations

import math
from typing import Any

from ..engine.choice import first_choice, well_stored
from ..engine.one_side import first_on, is_on
from ..engine.prices import (
    CORNER_STEPS,
    cg_price,
    epoch_price,
    expected_epochs,
    newton_steps,
    rescue_prices,
)
from ..methods import METHODS
from ..problem import Problem


def estimated(problem: Problem, tol: float, problems: int) -> dict[str, Any]:
    """What both sides should need for that many problems of this kind, and the engine's choice."""
    stored = well_stored(problem)
    sides: dict[str, Any] = {side: predicted(stored, side, tol) for side in ("primal", "dual")}
    for cost in sides.values():
        cost["seconds"] *= problems
    name = first_choice(stored, tol)[0]
    return {**sides, "side": METHODS[name].side, "method": name}


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
