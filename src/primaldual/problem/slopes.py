"""The loss around given margins: its slopes, and the dual point of a linearised step."""

from __future__ import annotations

from .._numba.compile import kernel, kernel_part, reordered_kernel
from ..losses import loss_loop_slopes, loss_nearest_dual

# A move into the domain by less than this fraction of α is next to none.
MOVED = 1e-9


@kernel_part
def set_slopes(loss, z, y, c, first, second):  # type: ignore[no-untyped-def]
    """Fill in c_j φ'_j(z_j) and c_j φ''_j(z_j)."""
    for j in range(z.size):
        slope, curvature = loss_loop_slopes(loss, z[j], y[j])
        first[j], second[j] = c[j] * slope, c[j] * curvature


@kernel
def linearised_dual(loss, y, c, first, second, change, alpha):  # type: ignore[no-untyped-def]
    """α_j = −(c_j φ'_j + c_j φ''_j ⟨x_j, δ⟩), moved into its domain.

    Return whether that was next to no move, so that w + δ = w(α) still holds.
    """
    moved, size = into_dual(loss, y, c, first, second, change, alpha)
    return moved <= MOVED * size


@reordered_kernel
def into_dual(loss, y, c, first, second, change, alpha):  # type: ignore[no-untyped-def]
    """The same; return the size of the move and that of α."""
    moved, size = 0.0, 0.0
    for j in range(alpha.size):
        alpha[j] = 0.0
        if c[j] > 0.0:
            a = -(first[j] + second[j] * change[j]) / c[j]
            alpha[j] = c[j] * loss_nearest_dual(loss, a, y[j])
            moved += abs(alpha[j] - c[j] * a)
            size += abs(alpha[j])
    return moved, size
