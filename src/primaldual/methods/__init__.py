"""The methods, one file each, in the order the documentation lists them."""

from __future__ import annotations

from .base import Method
from .dual_cd import DualCD
from .gram_newton import GramNewton
from .newton import Newton
from .newton_cg import NewtonCG
from .nsync import NSync
from .primal_cd import PrimalCD
from .quartz import Quartz

METHODS: dict[str, type[Method]] = {
    "nsync": NSync,
    "quartz": Quartz,
    "dual_cd": DualCD,
    "primal_cd": PrimalCD,
    "newton": Newton,
    "gram_newton": GramNewton,
    "newton_cg": NewtonCG,
}

__all__ = ["METHODS", "Method"]
