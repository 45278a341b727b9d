"""How far a pair (z, a) of one example is from optimal: φ(z; y) + φ*(-a) + a z."""

from __future__ import annotations

import math
from typing import Any

from .._numba.compile import inlined
from .._numba.operation import operation
from .numerical import loss_conjugate
from .operations import loss_value

# The gap φ(z) + φ*(-a) + a z is (a + φ')²/(2 φ'') to within 10 % while (a + φ')/φ'' is this small.
NEAR = 0.25
# The logistic gap is summed as a series in (b - q)/q and (b - q)/(1 - q) while both are this small:
# the first term left out is then 1e-10 of the sum.
SERIES = 1.0 / 32.0


@operation("value_and_gap")
def loss_value_and_gap(loss: Any, z: float, a: float, y: float) -> tuple[float, float]:
    """φ(z; y), and ``loss_fenchel_gap``."""
    value = loss_value(loss, z, y)
    return value, value + loss_conjugate(loss, a, y) + a * z


@inlined
def value_and_gap_of_residual(loss: Any, z: float, a: float, y: float) -> tuple[float, float]:
    """The same at target 0, without the terms a y and a z that cancel for a large y."""
    value = loss_value(loss, z - y, 0.0)
    return value, value + loss_conjugate(loss, a, 0.0) + a * (z - y)


@inlined
def loss_fenchel_gap(loss: Any, z: float, a: float, y: float) -> float:
    """φ(z; y) + φ*(-a) + a z, which is zero exactly when a = -φ'(z; y) and else positive."""
    return loss_value_and_gap(loss, z, a, y)[1]


@operation("quick_gap")
def loss_quick_gap(loss: Any, z: float, a: float, y: float, first: float, second: float) -> float:
    """About φ(z; y) + φ*(-a) + a z, where φ' and φ'' at z are known.

    By default the gap of a quadratic where a is near -φ'(z; y), else the gap itself.
    """
    apart = a + first
    if abs(apart) <= NEAR * second:
        return 0.5 * apart * apart / second if apart != 0.0 else 0.0
    return max(0.0, loss_fenchel_gap(loss, z, a, y))


@operation("loop_gap")
def loss_loop_gap(loss: Any, z: float, a: float, y: float) -> tuple[float, float]:
    """``loss_fenchel_gap`` for loops over many examples, in vector registers; and a doubt.

    The gap is known only where the doubt is below ``SERIES``: never, if a loss has no such loop.
    """
    return 0.0, math.inf


@inlined
def has_loop_gap(loss: Any) -> bool:
    """Whether the loss ever knows it: a constant to the compiler."""
    return loss_loop_gap(loss, 0.0, 0.0, 1.0)[1] < math.inf
