"""Methods on data in parts: few rounds of sums, and no state but w."""

from __future__ import annotations

from .averaged_newton import AveragedNewton
from .newton import PartsNewton
from .newton_cg import PartsNewtonCG
from .regrouped import RegroupedDualCD
from .softmax_newton import PartsSoftmaxNewton
from .ssnal import PartsSSNAL

ON_PARTS = {
    "parts_newton": PartsNewton,
    "averaged_newton": AveragedNewton,
    "parts_newton_cg": PartsNewtonCG,
    "parts_softmax_newton": PartsSoftmaxNewton,
    "parts_ssnal": PartsSSNAL,
    "regrouped_dual_cd": RegroupedDualCD,
}

__all__ = [
    "ON_PARTS",
    "AveragedNewton",
    "PartsNewton",
    "PartsNewtonCG",
    "PartsSSNAL",
    "PartsSoftmaxNewton",
    "RegroupedDualCD",
]
