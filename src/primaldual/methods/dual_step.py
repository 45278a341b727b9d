"""The change of one α_j: exact, or in closed form, for examples of any weight."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._numba.compile import inlined
from ..losses import loss_derivative, loss_dual_step


@inlined
def dual_step(loss, c, a, z, y, kappa):  # type: ignore[no-untyped-def]
    """Δ = argmax_h −cφ*(−(a + h)/c) − h z − (κ/2c) h², the dual step of an example of weight c.

    The loss of the example is cφ, so α_j/c is the dual variable of φ and κ = c v_j/(λn). An
    example of weight 0 does not move.
    """
    if c == 0.0:
        return 0.0
    return c * loss_dual_step(loss, a / c, z, y, kappa)


class Inexact(NamedTuple):
    """A loss whose dual step is part of the way from a to −φ'(z): Δ = −η (φ'(z) + a).

    It stands for the loss in ``dual_step``, with η in the place of κ. Nothing is solved, and with
    η = λn/(β v_j + λn) the step has the same guarantee as the exact one.
    """

    loss: Any

    def dual_step(self, a, z, y, eta):  # type: ignore[no-untyped-def]
        """Δ = −η (φ'(z) + a)."""
        return -eta * (loss_derivative(self.loss, z, y) + a)
