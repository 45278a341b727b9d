"""The best primal and the best dual point that a solve has seen."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ..problem import Certificate
from ..problem.base import LinearProblem


class Best:
    """The best points so far, each with its certificate; none is ever lost."""

    def __init__(self, problem: LinearProblem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.upper: Certificate | None = None  # smallest P(w)
        self.lower: Certificate | None = None  # largest D(α): earlier dual values stay valid bounds

    def look(self, w: FloatArray | None, alpha: FloatArray | None) -> Certificate:
        """Certify an iterate and keep what is better than before.

        Methods with a free intercept may have an α that is only nearly feasible: it is moved.
        """
        if alpha is not None:
            moved = self.problem.rebalanced(alpha)
            alpha = alpha.copy() if moved is alpha else moved
        seen = self.problem.certify(None if w is None else w.copy(), alpha, tol=self.tol)
        # Written so that what is not a number is replaced by anything else.
        if self.upper is None or not self.upper.primal <= seen.primal:
            self.upper = seen
        if self.lower is None or not self.lower.dual >= seen.dual:
            self.lower = seen
        return seen

    def look_at_zero(self) -> None:
        """Let w = 0 and α = 0 be candidates, where they may be better than what has been seen.

        With a free intercept its value is known only after a look.
        """
        known = self.upper is not None and self.upper.primal <= self.problem.primal_at_zero
        if not known or self.problem.fit_intercept or not self.dual > -np.inf:
            self.look(np.zeros(self.problem.shapes[0]), None)
        assert self.lower is not None
        if not self.relative_gap <= 1.0 and isinstance(self.lower.alpha, np.ndarray):
            # α = 0 proves P* ≥ 0 for every loss whose smallest value is 0.
            self.look(*(np.zeros(shape) for shape in self.problem.shapes))

    @property
    def dual(self) -> float:
        """The best lower bound on P*."""
        return self.lower.dual if self.lower is not None else -np.inf

    @property
    def relative_gap(self) -> float:
        """The gap of the best pair divided by P(0), by the values at hand."""
        assert self.upper is not None and self.lower is not None
        if self.upper is self.lower:
            return self.upper.relative_gap
        apart = max(self.upper.primal - self.lower.dual, 0.0)
        return self.problem.relative(min(self.upper.gap, self.lower.gap, apart))

    def certificate(self) -> Certificate:
        """The best pair and its gap, from scratch."""
        assert self.upper is not None and self.lower is not None
        if self.upper is self.lower:
            return self.upper
        joined = self.problem.certify(
            self.upper.w, self.lower.alpha, self.upper.intercept, self.tol
        )
        # Of equal gaps, infinite ones for example, that of the smallest P(w).
        return min(self.upper, joined, self.lower, key=lambda pair: (pair.gap, pair.primal))
