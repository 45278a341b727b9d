"""The operations of a loss as functions of the prediction z, for kernels and plain Python.

Each runs the method of the loss that it names. What stands in its body is for losses without it.
"""

from __future__ import annotations

import math
from typing import Any

from .._numba.operation import operation


@operation("value")
def loss_value(loss: Any, z: float, y: float) -> float:
    """φ(z; y)."""
    raise NotImplementedError


@operation("derivative")
def loss_derivative(loss: Any, z: float, y: float) -> float:
    """φ'(z; y)."""
    raise NotImplementedError


@operation("second_derivative")
def loss_second_derivative(loss: Any, z: float, y: float) -> float:
    """φ''(z; y), almost everywhere."""
    raise NotImplementedError


@operation("slopes")
def loss_slopes(loss: Any, z: float, y: float) -> tuple[float, float]:
    """φ'(z; y) and φ''(z; y)."""
    return loss_derivative(loss, z, y), loss_second_derivative(loss, z, y)


@operation("local_smoothness")
def loss_local_smoothness(loss: Any, z: float, a: float, y: float) -> float:
    """A Lipschitz constant of φ' between z and where φ' = -a, for a smooth loss with β = ∞."""
    return math.inf


# For loops over many examples: in vector registers where the loss can do that.


@operation("loop_value", "value")
def loss_loop_value(loss: Any, z: float, y: float) -> float:
    """φ(z; y), for loops."""
    raise NotImplementedError


@operation("loop_derivative", "derivative")
def loss_loop_derivative(loss: Any, z: float, y: float) -> float:
    """φ'(z; y), for loops."""
    raise NotImplementedError


@operation("loop_slopes", "slopes")
def loss_loop_slopes(loss: Any, z: float, y: float) -> tuple[float, float]:
    """φ'(z; y) and φ''(z; y), for loops."""
    return loss_derivative(loss, z, y), loss_second_derivative(loss, z, y)
