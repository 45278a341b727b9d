"""What one side costs: iterations K, nonzeros per iteration W, and their product T.

Written once for coordinates, so every function here serves both sides: C_P(X) = C_D(Xᵀ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ._types import FloatArray
from .problem import Coordinates
from .samplings import Sampling


@dataclass(frozen=True)
class Complexity:
    """Iterations and cost of one side, without the factor log(1/ε)."""

    iterations: float  # K: the error falls by (1 − 1/K) per iteration                (8), (9)
    cost: float  # W: nonzeros visited per iteration                                (10), (11)
    nnz: int  # ‖X‖₀, the nonzeros of one pass

    @property
    def total(self) -> float:
        """T = K W: nonzeros visited while the error falls by a factor e, eqs. (12), (13)."""
        return self.iterations * self.cost if self.cost else 0.0  # K may be infinite

    def passes(self, eps: float) -> float:
        """Predicted passes over the data until the relative error is at most ``eps``."""
        if not 0 < eps < 1:
            raise ValueError(f"eps must be between 0 and 1, got {eps!r}.")
        return self.total * math.log(1 / eps) / max(self.nnz, 1)

    def numbers(self) -> dict[str, float]:
        """K, W and T by name."""
        return {"iterations": self.iterations, "cost": self.cost, "total": self.total}


def complexity(side: Coordinates, sampling: Sampling, v: FloatArray | None = None) -> Complexity:
    """K = max_i (β v_i + λn)/(p_i λn) and W = Σ_i p_i ‖row_i‖₀ of any sampling.

    ``v`` are ESO parameters of the sampling; by default the sampling's own.
    """
    p = sampling.probabilities()
    v = sampling.eso(side) if v is None else v
    iterations = (side.curvature(v) / (p * side.lam_n)).max()  # eqs. (8), (9)
    return Complexity(float(iterations), float(p @ side.counts), side.nnz)


def uniform_complexity(side: Coordinates) -> Complexity:
    """The closed form for serial uniform sampling: T = ‖X‖₀ (1 + β max_i v_i/(λn))."""
    v = side.squared_norms + side.constant
    iterations = side.size * side.curvature(v).max() / side.lam_n
    return Complexity(float(iterations), side.nnz / side.size, side.nnz)


def importance_complexity(side: Coordinates) -> Complexity:
    """The closed form for serial importance sampling: T = ‖X‖₀ + (β/(λn)) C, eq. (15)."""
    if side.beta == math.inf:
        return unbounded(side)
    s = side.curvature(side.squared_norms + side.constant)
    total = s.sum()
    return Complexity(float(total / side.lam_n), float(s @ side.counts / total), side.nnz)


def unbounded(side: Coordinates) -> Complexity:
    """What theory says of a non-smooth loss: no rate. W is that of uniform sampling."""
    return Complexity(math.inf, side.nnz / side.size, side.nnz)


def accelerated_complexity(side: Coordinates) -> Complexity:
    """Accelerated coordinate descent: K = Σ_i √(s_i/(λn)), T = Σ_i ‖row_i‖₀ √(s_i/(λn)).

    An accelerated step costs about twice a plain one, because it keeps two vectors up to date;
    the count here is in nonzeros of the data, as everywhere.
    """
    root = np.sqrt(side.curvature(side.squared_norms + side.constant) / side.lam_n)
    iterations = root.sum()
    return Complexity(float(iterations), float(root @ side.counts / iterations), side.nnz)


def structure_cost(side: Coordinates) -> float:
    """Σ_i ‖row_i‖₀ · ‖row_i‖²: the part of T that depends on where the nonzeros are.

    This is C_P(X) on the features and C_D(X) on the examples, eq. (16); the side with the
    smaller one wins when λ is small (Theorem 3 bounds the ratio).
    """
    norms = side.squared_norms
    if side.multipliers is not None:
        norms = norms * side.multipliers
    return float(side.counts @ norms)


def structure_bounds(side: Coordinates) -> tuple[float, float]:
    """‖X‖_F² ≤ C ≤ (length of a row) · ‖X‖_F², Theorem 3, for data without zero rows."""
    norms = side.squared_norms
    if side.multipliers is not None:
        norms = norms * side.multipliers
    frobenius = float(norms.sum())
    return frobenius, side.width * frobenius


def ratio_bounds(d: int, n: int) -> tuple[float, float]:
    """1/d ≤ C_P/C_D ≤ n, Theorem 3; the same bounds hold for T_P/T_D."""
    return 1.0 / d, float(n)
