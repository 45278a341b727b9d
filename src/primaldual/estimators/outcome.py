"""What is known of a fit when its data is gone: how it went, and what was expected of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .._types import FloatArray, IntArray
from ..advice import Advice, advise
from ..problem import Problem
from ..problem.base import LinearProblem
from ..result import Result, Status
from .certified import ball_of, described


class Outcome:
    """The results of a fit without their data, from which its attributes are made when asked for.

    It holds two numbers per example and per feature: the nonzeros and the squared norm.
    """

    def __init__(self, results: list[Result], tol: float) -> None:
        self.traces = [result.trace for result in results]
        problem = results[0].problem
        # Data in parts is never looked at as a whole.
        self.outline = Outline(problem) if hasattr(problem, "features") else None
        self.tol = tol
        one_w = all(isinstance(result.problem, Problem) for result in results)
        self.balls = [ball_of(result) for result in results] if one_w else []

    def advice(self) -> Advice:
        """The verdict on the first problem, both sides and the theory; the method is what ran."""
        problem: Any = self.outline
        if problem is None:
            raise AttributeError("advice_ is not available after a fit on data in parts.")
        advice = advise(problem, tol=self.tol)
        if self.traces[0].notes:
            first, _, why = self.traces[0].notes[0].partition(": ")
            advice = advice.beginning_with(first, why)
        return advice.without_data()

    def certified(self) -> dict[str, Any]:
        """Where the optimum is, by the gap."""
        if not self.balls:
            raise AttributeError(
                "certified predictions are not available for the softmax loss and after a fit on "
                "data in parts. Use multi_class='ovr', or data in memory."
            )
        return described(self.balls)

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
        self.loss = getattr(problem, "loss", None)  # None: softmax
        self.lam, self.beta = problem.lam, problem.beta
        self.curvature = getattr(problem, "curvature", problem.beta)
        self.shapes = problem.shapes
        sides = {"feature": problem.features, "example": problem.examples}
        known = {by: (side.counts, side.squared_norms) for by, side in sides.items()}
        matrix = problem.matrix
        extent: Any = Extent(matrix.shape, matrix.nnz, matrix.is_sparse, known)
        self.matrix = extent
        self.features = dataclasses.replace(problem.features, matrix=extent)
        self.examples = dataclasses.replace(problem.examples, matrix=extent)

    def densified(self) -> Outline:
        """The same: it is stored as it was solved."""
        return self


@dataclasses.dataclass
class Extent:
    """The shape of the data, its nonzeros and its norms."""

    shape: tuple[int, int]
    nnz: int
    is_sparse: bool
    known: dict[str, tuple[IntArray, FloatArray]]  # counts and squared norms, by side

    def counts(self, by: str) -> IntArray:
        """‖row‖₀ of every example or feature."""
        return self.known[by][0]

    def squared_cosine(self) -> float:
        """1: the angles between examples are not known, so they count as not orthogonal."""
        return 1.0

    def squared_norms(self, by: str, column_weights: FloatArray | None = None) -> FloatArray:
        """The squared norms of every example or feature, weighted as they were."""
        return self.known[by][1]


def reason_to_stop(status: Status, reached: bool) -> str:
    """Why a fit stopped, in the estimators' words; an interrupt is named also if it came late."""
    if reached and status is not Status.INTERRUPTED:
        return Status.CONVERGED.value
    return status.value.replace("the scale of the data and lam", "the scale of the data")
