"""The methods of the default engine: what ``solve(problem)`` chooses from."""

from __future__ import annotations

from inspect import signature
from typing import Any

from ..base import Method
from .dual_cd import DualCD
from .gram_newton import GramNewton
from .gram_newton_cg import GramNewtonCG
from .newton import Newton
from .newton_cg import NewtonCG
from .primal_cd import PrimalCD
from .ssnal import SSNAL

# The one list of them, in the order the documentation has.
ENGINE: dict[str, type[Method]] = {
    "dual_cd": DualCD,
    "primal_cd": PrimalCD,
    "newton": Newton,
    "gram_newton": GramNewton,
    "newton_cg": NewtonCG,
    "gram_newton_cg": GramNewtonCG,
    "ssnal": SSNAL,
}

# Those that take the tolerance, to save work on the way.
_AIMED = {name for name, kind in ENGINE.items() if "tol" in signature(kind).parameters}


def engine_method(name: str, tol: float) -> Any:
    """The method of that name, on its way to the relative gap ``tol``."""
    kind: Any = ENGINE[name]
    return kind(tol) if name in _AIMED else kind()


__all__ = ["ENGINE", "engine_method"]
