"""A loss of class labels at margins with a known part: φ(z + o; y), o and y in one number."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .._numba.compile import inlined
from .gaps import loss_loop_gap, loss_value_and_gap
from .numerical import (
    loss_conjugate,
    loss_conjugate_slopes,
    loss_dual_step,
    loss_nearest_dual,
    loss_quick_step,
)
from .operations import loss_derivative, loss_second_derivative, loss_slopes, loss_value
from .traits import TRAITS

# Offsets are at most this large: exp of it is still a number.
LARGEST_OFFSET = 700.0


@inlined
def label(t: float) -> float:
    """y of the target t = y exp(o)."""
    return 1.0 if t > 0.0 else -1.0


@inlined
def offset(t: float) -> float:
    """o of the target t = y exp(o), right to about one rounding of 1 + |o|."""
    return math.log(abs(t))


class Shifted(NamedTuple):
    """A loss for classification with an offset: the target is y exp(o) for the label y = ±1.

    The conjugate of φ(z + o) is φ* plus a o.
    """

    loss: Any

    @property
    def smoothness(self) -> float:
        """That of the loss."""
        return float(self.loss.smoothness)

    def value(self, z: float, t: float) -> float:
        """φ(z + o; y)."""
        return loss_value(self.loss, z + offset(t), label(t))

    def derivative(self, z: float, t: float) -> float:
        """φ'(z + o; y)."""
        return loss_derivative(self.loss, z + offset(t), label(t))

    def second_derivative(self, z: float, t: float) -> float:
        """φ''(z + o; y)."""
        return loss_second_derivative(self.loss, z + offset(t), label(t))

    def slopes(self, z: float, t: float) -> tuple[float, float]:
        """Both derivatives."""
        return loss_slopes(self.loss, z + offset(t), label(t))

    def conjugate(self, a: float, t: float) -> float:
        """φ*(-a) + a o."""
        return loss_conjugate(self.loss, a, label(t)) + a * offset(t)

    def value_and_gap(self, z: float, a: float, t: float) -> tuple[float, float]:
        """φ and the gap at z + o."""
        return loss_value_and_gap(self.loss, z + offset(t), a, label(t))

    def loop_gap(self, z: float, a: float, t: float) -> tuple[float, float]:
        """The gap at z + o, for loops."""
        return loss_loop_gap(self.loss, z + offset(t), a, label(t))

    def dual_step(self, a: float, z: float, t: float, kappa: float) -> float:
        """The step at z + o."""
        return loss_dual_step(self.loss, a, z + offset(t), label(t), kappa)

    def quick_step(
        self, a: float, z: float, t: float, kappa: float, first: float, second: float
    ) -> float:
        """The quick step at z + o."""
        return loss_quick_step(self.loss, a, z + offset(t), label(t), kappa, first, second)

    def conjugate_slopes(self, a: float, t: float) -> tuple[float, float]:
        """The first one and o, and the second one."""
        first, second = loss_conjugate_slopes(self.loss, a, label(t))
        return first + offset(t), second

    def nearest_dual(self, a: float, t: float) -> float:
        """That of the loss."""
        return loss_nearest_dual(self.loss, a, label(t))


def _delegated(name: str) -> property:
    return property(lambda self: getattr(self.loss, name))


for _name in (*TRAITS, "smooth", "targets"):
    setattr(Shifted, _name, _delegated(_name))
