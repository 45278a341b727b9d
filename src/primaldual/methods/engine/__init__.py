"""The methods of the default engine: what ``solve(problem)`` chooses from."""

from __future__ import annotations

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

__all__ = ["ENGINE"]
