"""The best primal and the best dual point that a solve has seen."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ..problem import Certificate
from ..problem.base import LinearProblem


class Best:
    """The best points so far, each with its certificate; none is ever lost."""

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.upper: Certificate | None = None  # smallest P(w)
        self.lower: Certificate | None = None  # largest D(α): earlier dual values stay valid bounds

    def look(self, w: FloatArray | None, alpha: FloatArray | None) -> Certificate:
        """Certify an iterate and keep what is better than before.

        Methods with a free intercept may have an α that is only nearly feasible: it is moved.
        """
        if alpha is not None:
            moved = self.problem.rebalanced(alpha)
            alpha = alpha.copy() if moved is alpha else moved
        seen = self.problem.certify(None if w is None else w.copy(), alpha)
        if self.upper is None or seen.primal < self.upper.primal:
            self.upper = seen
        if self.lower is None or seen.dual > self.lower.dual:
            self.lower = seen
        return seen

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
        joined = self.problem.certify(self.upper.w, self.lower.alpha, self.upper.intercept)
        return min(self.upper, self.lower, joined, key=lambda pair: pair.gap)

    def proves(self, tol: float) -> bool:
        """Whether a gap from scratch meets ``tol``."""
        return self.relative_gap <= tol and self.certificate().relative_gap <= tol
