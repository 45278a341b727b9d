"""The free intercept of dual methods, as a record that kernels read and update."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload_method

from .._types import FloatArray
from ..problem import Problem
from ..problem.intercept import intercept_strength


class Intercept(NamedTuple):
    """b = centre + shift · Σ_j α_j, which changes with every step on the dual.

    This is the method of multipliers: a proximal term (λ_b/2)(b − centre)² makes the free
    intercept one more penalised feature, equal to 1 in every example, and the centre follows b
    after every epoch. In the limit Σ_j α_j = 0, as the dual of a free intercept demands. Without
    one, shift and centre are 0, and so is b.
    """

    shift: float  # 1/(λ_b n), or 0 without a free intercept
    numbers: FloatArray  # the centre, and Σ_j α_j

    def value(self):  # type: ignore[no-untyped-def]
        """The intercept b."""
        return self.numbers[0] + self.shift * self.numbers[1]

    def add(self, delta):  # type: ignore[no-untyped-def]
        """Account for a step α_j += delta."""
        self.numbers[1] += delta

    def move_centre(self, times=1.0):  # type: ignore[no-untyped-def]
        """Move the centre ``times`` as far as the intercept is from it; return the move."""
        move = times * (self.shift * self.numbers[1])
        self.numbers[0] += move
        return move

    def restart(self, alpha: FloatArray) -> None:
        """Compute Σ_j α_j again, so that rounding does not pile up."""
        self.numbers[1] = alpha.sum()


def first_intercept(problem: Problem, alpha: FloatArray, w: FloatArray) -> Intercept:
    """The intercept that is best for w = w(α), if the problem has a free one."""
    if not problem.fit_intercept:
        return Intercept(0.0, np.zeros(2))
    shift = 1 / (intercept_strength(problem.examples, problem.lam) * problem.n)
    total = float(alpha.sum())
    centre = problem.best_intercept(problem.matrix.times(w)) - shift * total
    return Intercept(shift, np.array([centre, total]))


# In kernels the methods of the record are compiled into the place where they are called.
_in_kernels = partial(
    overload_method, types.NamedTuple, jit_options={"forceinline": True}, strict=False
)


@_in_kernels("value")
def _value(self: Any) -> Any:
    return Intercept.value if self.instance_class is Intercept else None


@_in_kernels("add")
def _add(self: Any, delta: Any) -> Any:
    return Intercept.add if self.instance_class is Intercept else None


@_in_kernels("move_centre")
def _move_centre(self: Any, times: Any = 1.0) -> Any:
    return Intercept.move_centre if self.instance_class is Intercept else None
