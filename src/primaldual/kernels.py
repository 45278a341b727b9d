"""The door for code that extends the library: all that a loss, sampling or method needs to import.

What each name is for:

- Compiled code. ``kernel`` compiles a function on its first call and keeps it on disk;
  ``reordered_kernel`` lets its sums be made in any order, for vector registers; ``inlined`` marks a
  small function that kernels and plain Python may both call.
- Losses. ``loss_value`` is φ(z), ``loss_derivative`` φ'(z), ``loss_second_derivative`` φ''(z),
  ``loss_slopes`` the last two at once; ``loss_conjugate`` φ*(−a), ``loss_fenchel_gap``
  φ(z) + φ*(−a) + a z, ``loss_nearest_dual`` the point nearest to a where φ*(−·) is finite;
  ``loss_dual_step`` the exact step on a, ``dual_step`` the same for a weighted example.
- Rows of data, dense or sparse. ``row_dot`` is ⟨row_i, vector⟩, ``row_add`` adds scale · row_i to a
  vector, ``row_slope`` is Σ_j c_j φ'(z_j; y_j) row_i[j].
- Samplings. ``Draws`` is what a sampling draws, ``Coordinates`` the side it draws from.
  ``column_counts`` (ω_j) and ``weighted_squares`` (Σ_j f_j X_ij²) are what ESO parameters are made
  of.
- Methods. ``Method`` is what a method is. ``first_w`` and ``first_alpha`` are where it starts,
  ``visited`` counts the nonzeros of its draws. ``Complexity`` is what its theory states;
  ``complexity`` and ``uniform_complexity`` compute that of Algorithms 1 and 2.
- Types. ``FloatArray`` and ``IntArray`` are arrays of float64 and of integers.
"""

from __future__ import annotations

from ._numba.compile import inlined, kernel, reordered_kernel
from ._types import FloatArray, IntArray
from .complexity import Complexity, complexity, uniform_complexity
from .data.rows import row_add, row_dot, row_slope
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
from .methods.base import Method, first_alpha, first_w, visited
from .methods.dual_step import dual_step
from .problem import Coordinates
from .samplings.draws import Draws
from .samplings.eso import column_counts, weighted_squares

__all__ = [
    "Complexity",
    "Coordinates",
    "Draws",
    "FloatArray",
    "IntArray",
    "Method",
    "column_counts",
    "complexity",
    "dual_step",
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
    "row_slope",
    "uniform_complexity",
    "visited",
    "weighted_squares",
]
