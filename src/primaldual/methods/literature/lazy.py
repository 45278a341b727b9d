"""What methods need whose vectors are not up to date in every coordinate.

``combine`` puts together vectors that are kept as scale · r + shift · G.
"""

from __future__ import annotations

import numpy as np

from ..._numba.compile import kernel
from ..._types import FloatArray, IntArray
from ...problem import Problem

# Fold the scale into the vector when it is this small, long before it underflows.
SMALLEST_SCALE = 1e-200


def moving_features(problem: Problem, w: FloatArray) -> IntArray:
    """The features that a method starting at w ever moves: empty ones at zero stay there."""
    return np.flatnonzero((problem.features.counts > 0) | (w != 0))


@kernel
def combine(moving, out, a, u, b, v):  # type: ignore[no-untyped-def]
    """out ← a u + b v in the coordinates that move; ``out`` may be one of the two."""
    for i in moving:
        out[i] = a * u[i] + b * v[i]
