"""What a method is: it starts, it advances, it shows its iterate.

A method knows nothing of tolerances, clocks, verbosity or callbacks; those live in
``primaldual.solver``. Its state is a small dataclass whose every field has a comment.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from .._types import FloatArray, Side
from ..problem import Coordinates, Problem
from ..samplings import Draws, Sampling


class Method(Protocol):
    """The protocol every method in ``METHODS`` follows."""

    side: ClassVar[Side]
    sampling: ClassVar[str]  # the name of the sampling used unless another one is asked for

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
    ) -> Any:
        """The state at ``w`` or ``alpha``, or at zero; the arguments are not modified."""
        ...

    def advance(self, state: Any, draws: Draws) -> float:
        """Take the steps in ``draws``, in place; return the number of nonzeros visited."""
        ...

    def iterate(self, state: Any) -> tuple[FloatArray, FloatArray | None]:
        """The current w, and α where the method has one of its own."""
        ...


def coordinates(problem: Problem, side: Side) -> Coordinates:
    """The coordinates a method of this side takes its steps along."""
    return problem.features if side == "primal" else problem.examples


def visited(side: Coordinates, draws: Draws) -> float:
    """The nonzeros read by a method that reads each drawn row once."""
    return float(side.counts[draws.coordinates].sum())
