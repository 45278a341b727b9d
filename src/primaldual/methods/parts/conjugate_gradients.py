"""Preconditioned conjugate gradients, where a product is a function: of one part, or a round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._types import FloatArray


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray],
    diagonal: FloatArray,
    right: FloatArray,
    forcing: float,
    most: int,
) -> FloatArray:
    """About the solution of H x = right: to the relative residual ``forcing``, or ``most`` steps.

    Examples
    --------
    >>> x = conjugate_gradients(lambda v: 2 * v, np.ones(2), np.array([2.0, 4.0]), 1e-10, 5)
    >>> x.tolist()
    [1.0, 2.0]
    """
    x, residual = np.zeros_like(right), right.copy()
    ahead = residual / diagonal
    direction, energy = ahead, float(residual @ ahead)
    enough = forcing**2 * energy
    for _ in range(most):
        if not energy > enough:
            break
        moved = product(direction)
        curved = float(direction @ moved)
        if not curved > 0:
            break
        length = energy / curved
        x += length * direction
        residual -= length * moved
        ahead = residual / diagonal
        energy, before = float(residual @ ahead), energy
        direction = ahead + (energy / before) * direction
    return x
