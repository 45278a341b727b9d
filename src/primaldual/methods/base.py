"""What a method is: it starts, it advances, it shows its iterate, it states its cost.

A method knows nothing of tolerances, clocks, verbosity or callbacks; those live in
``primaldual.solver``. Its state is a small dataclass whose every field has a comment.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from numpy.random import Generator

from .._types import FloatArray, Side
from ..complexity import Complexity
from ..problem import Coordinates, Problem
from ..samplings import SAMPLINGS, Draws, Sampling

# For methods whose theory covers every sampling with an ESO; they take a user's own as well.
ANY_SAMPLING = ("importance", *(name for name in SAMPLINGS if name != "importance"))


# A kernel call visits about this many nonzeros (some 20 ms), so that Ctrl-C is heard soon.
CHUNK = 2_000_000


class Method(Protocol):
    """The protocol every method in ``METHODS`` follows.

    A method whose parameters ask for probabilities of its own also has ``plan(problem)``, which
    gives the sampling it uses by default. A method that can tell its gap along the way, for less
    than a certificate, has ``gap_estimate(state)``; the loop then certifies only when it matters.
    """

    side: ClassVar[Side]  # whose coordinates it draws: features (primal) or examples (dual)
    # The samplings it can use, its default first; none for a method that orders its own steps.
    samplings: ClassVar[tuple[str, ...]]

    def start(
        self,
        problem: Problem,
        sampling: Any,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> Any:
        """The state at ``w`` or ``alpha``, or at zero; the arguments are not modified.

        ``rng`` is the method's own generator, for randomness beyond the draws it is given.
        """
        ...

    def advance(self, state: Any, draws: Any) -> float:
        """Take the steps in ``draws``, in place; return the number of nonzeros visited.

        A method that orders its own steps is given None and takes about one pass.
        """
        ...

    def iterate(self, state: Any) -> tuple[FloatArray, FloatArray | None]:
        """The current w, and α where the method has a feasible one of its own."""
        ...

    def complexity(self, problem: Problem, sampling: Any) -> Complexity:
        """The K and W that theory states for this method."""
        ...


def coordinates(problem: Problem, side: Side) -> Coordinates:
    """The coordinates a method of this side takes its steps along."""
    return problem.features if side == "primal" else problem.examples


def default_sampling(method: Method, problem: Problem) -> Sampling:
    """The method's own plan where it has one, else its first sampling planned for its side."""
    plan = getattr(method, "plan", None)
    if plan is not None:
        return plan(problem)
    return SAMPLINGS[method.samplings[0]].plan(coordinates(problem, method.side))


def visited(side: Coordinates, draws: Draws) -> float:
    """The nonzeros read by a method that reads each drawn row once."""
    return float(side.counts[draws.coordinates].sum())
