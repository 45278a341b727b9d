"""What is known of a fit when its data is gone: how it went, and what the theory says of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .._types import FloatArray, IntArray
from ..advice import Advice, advise
from ..methods import METHODS
from ..problem.base import LinearProblem
from ..result import Result, Status


class Outcome:
    """The results of a fit without their data, from which its attributes are made when asked for.

    It holds two numbers per example and per feature: the nonzeros and the squared norm.
    """

    def __init__(self, results: list[Result]) -> None:
        self.traces = [result.trace for result in results]
        self.outline = Outline(results[0].problem)

    def advice(self) -> Advice:
        """What the theory says of the first problem."""
        problem: Any = self.outline
        return advise(problem).without_data()

    def history(self) -> dict[str, Any]:
        """One array per quantity, with an entry per check; ``output`` is the class or target."""

        def joined(name: str) -> Any:
            return np.concatenate([np.asarray(getattr(trace, name)) for trace in self.traces])

        lengths = [len(trace) for trace in self.traces]
        return {
            "output": np.repeat(np.arange(len(lengths)), lengths),
            "iteration": joined("iterations"),
            **{name: joined(name) for name in ("passes", "seconds", "primal", "dual")},
            "relative_gap": joined("relative_gap"),
            "method": joined("methods"),
        }


class Outline:
    """What the theory needs to know of a problem, without its data."""

    def __init__(self, problem: LinearProblem) -> None:
        self.n, self.d, self.is_smooth = problem.n, problem.d, problem.is_smooth
        self.loss = getattr(problem, "loss", None)
        extent: Any = Extent(problem)
        self.matrix = extent
        self.features = dataclasses.replace(problem.features, matrix=extent)
        self.examples = dataclasses.replace(problem.examples, matrix=extent)


class Extent:
    """The shape of the data, its nonzeros and its norms."""

    def __init__(self, problem: LinearProblem) -> None:
        matrix = problem.matrix
        self.shape, self.nnz, self.is_sparse = matrix.shape, matrix.nnz, matrix.is_sparse
        sides = {"feature": problem.features, "example": problem.examples}
        self.known = {by: (side.counts, side.squared_norms) for by, side in sides.items()}

    def counts(self, by: str) -> IntArray:
        """‖row‖₀ of every example or feature."""
        return self.known[by][0]

    def squared_norms(self, by: str, column_weights: FloatArray | None = None) -> FloatArray:
        """The squared norms of every example or feature, weighted as they were."""
        return self.known[by][1]


def finishing_side(result: Result) -> str:
    """The side of the method that finished."""
    return str(METHODS[result.trace.entries[-1].method].side)


def reason_to_stop(status: Status, reached: bool) -> str:
    """Why a fit stopped, in the estimators' words."""
    if reached:
        return Status.CONVERGED.value
    return status.value.replace("the scale of the data and lam", "the scale of the data")
