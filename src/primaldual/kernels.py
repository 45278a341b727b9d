"""The door for people who write a loss, a sampling or a method: what compiled code may call.

``kernel`` compiles a function and keeps it on disk. The ``loss_*`` functions are the operations of
any loss, the ``row_*`` functions those of any storage; ``first_alpha`` and ``first_w`` are where a
method starts, ``Draws`` what a sampling draws.
"""

from __future__ import annotations

from ._numba.compile import inlined, kernel, reordered_kernel
from .data.rows import row_add, row_dot
from .losses import (
    loss_conjugate,
    loss_derivative,
    loss_dual_step,
    loss_fenchel_gap,
    loss_nearest_dual,
    loss_second_derivative,
    loss_slopes,
    loss_value,
)
from .methods.base import first_alpha, first_w
from .samplings import Draws

__all__ = [
    "Draws",
    "first_alpha",
    "first_w",
    "inlined",
    "kernel",
    "loss_conjugate",
    "loss_derivative",
    "loss_dual_step",
    "loss_fenchel_gap",
    "loss_nearest_dual",
    "loss_second_derivative",
    "loss_slopes",
    "loss_value",
    "reordered_kernel",
    "row_add",
    "row_dot",
]
