"""What a method is: it starts, it advances, it shows its iterate, it states its cost.

When to stop is decided in ``primaldual.solver``: a method takes no clock, limit or callback. One of
the engine takes the tolerance, to end its last call early. A state is a small dataclass whose every
field has a comment.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from .._types import FloatArray, IntArray, Layout, Side
from ..complexity import Complexity
from ..problem import Coordinates, Problem
from ..problem.intercept import into_domain
from ..samplings import SAMPLINGS, Draws, Sampling

# For methods whose theory covers every sampling with an ESO; they take a user's own as well.
ANY_SAMPLING = ("importance", *(name for name in SAMPLINGS if name != "importance"))

# The layout that belongs to a side.
ROWS: dict[Side, Layout] = {"primal": "by_feature", "dual": "by_example"}

# Nonzeros that a kernel call visits at most, about: some 20 ms. Ctrl-C is heard between calls.
CHUNK = 2_000_000

# Nonzeros that a kernel call of coordinate descent visits, about: a millisecond.
BUDGET = 500_000
# Entries of dense rows that take as long as a nonzero of sparse ones: 0.45 ns against 1.6
# (visit_dense and visit_sparse in ``engine.machine``).
DENSE_ENTRIES = 4


class Method:
    """The base class of the methods: traits, what a method has to do, and hooks with defaults.

    A subclass sets ``side`` and has ``start``, ``advance``, ``iterate`` and ``complexity``; the
    rest may be left as it is here.
    """

    side: ClassVar[Side]  # whose coordinates it draws: features (primal) or examples (dual)
    free_intercept: ClassVar[bool] = False  # whether it can train the unpenalised intercept
    # The samplings it can use, its default first; none for a method that orders its own steps.
    samplings: ClassVar[tuple[str, ...]] = ()
    smooth_only: ClassVar[bool] = True  # whether the loss has to be smooth
    needs_beta: ClassVar[bool] = True  # whether β has to be finite if the loss is smooth
    factors: ClassVar[bool] = False  # whether a step makes and factors a matrix
    descends: ClassVar[bool] = False  # whether an iteration is a pass of coordinate descent
    layout: ClassVar[Layout]  # the data it reads; by default the rows of its side

    def __init_subclass__(cls) -> None:
        """Set the layout that belongs to the side, unless the class states its own."""
        known = "layout" in vars(cls) or ("side" not in vars(cls) and hasattr(cls, "layout"))
        if hasattr(cls, "side") and not known:
            cls.layout = ROWS[cls.side]

    def start(
        self,
        problem: Any,  # a Problem, or a Multinomial for the softmax methods
        sampling: Any,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> Any:
        """The state at ``w`` or ``alpha``, or at zero; the arguments are not modified.

        ``rng`` is the method's own generator, for randomness beyond the draws it is given.
        """
        raise NotImplementedError

    def advance(self, state: Any, draws: Any) -> float:
        """Take the steps in ``draws``, in place; return the number of nonzeros visited.

        A method that orders its own steps is given None and takes about one pass.
        """
        raise NotImplementedError

    def iterate(self, state: Any) -> tuple[FloatArray, FloatArray | None]:
        """The current w, and α where the method has a feasible one of its own."""
        raise NotImplementedError

    def complexity(self, problem: Any, sampling: Any) -> Complexity:
        """The K and W that theory states for this method."""
        raise NotImplementedError

    def plan(self, problem: Problem) -> Sampling:
        """The sampling it uses by default: the first of ``samplings``, planned for its side."""
        return SAMPLINGS[self.samplings[0]].plan(coordinates(problem, self.side))

    def gap_estimate(self, state: Any) -> float | None:
        """An estimate of the gap that costs less than a certificate; None if there is none.

        With one, the loop makes a certificate only when it matters.
        """
        return None

    def label(self, state: Any) -> str | None:
        """The name of the method that runs now, where that changes; None for its own name."""
        return None


class Completed(Method):
    """A method written without the base class: what it does not have is as in ``Method``."""

    def __init__(self, method: Any) -> None:
        self.method = method

    def __getattribute__(self, name: str) -> Any:
        """What the method has, or what ``Method`` has in its place."""
        method = object.__getattribute__(self, "__dict__").get("method")
        if name[0] == "_" or name == "method" or not hasattr(method, name):
            if name == "layout":
                return ROWS[self.side]
            return object.__getattribute__(self, name)
        return getattr(method, name)


def completed(method: Any) -> Method:
    """The method itself, or with the defaults of ``Method`` for what it does not have."""
    return method if isinstance(method, Method) else Completed(method)


def as_written(method: Method) -> Any:
    """The method as its author made it: without the defaults that ``completed`` adds."""
    return method.method if isinstance(method, Completed) else method


def takes_loss(method: Any, problem: Any) -> bool:
    """Whether the method, or its class, can be used with the loss of the problem."""
    if not problem.is_smooth:
        return not method.smooth_only
    return problem.beta < math.inf or not method.needs_beta


def coordinates(problem: Problem, side: Side) -> Coordinates:
    """The coordinates a method of this side takes its steps along."""
    return problem.features if side == "primal" else problem.examples


def visited(side: Coordinates, draws: Draws) -> float:
    """The nonzeros read by a method that reads each drawn row once."""
    return float(side.counts[draws.coordinates].sum())


def entries_per_nonzero(problem: Problem) -> int:
    """Entries of the rows that take as long as a nonzero of sparse ones."""
    return 1 if problem.matrix.is_sparse else DENSE_ENTRIES


def row_work(side: Coordinates) -> IntArray:
    """The nonzeros by which a visit of each row is counted.

    Dense rows are read in full: all count as their mean, since to count them would take a pass.
    """
    if side.matrix.is_sparse:
        return side.counts
    return np.full(side.size, side.nnz // max(side.size, 1))


def first_w(problem: Problem, w: FloatArray | None, alpha: FloatArray | None) -> FloatArray:
    """w itself as a copy, or w(α), or zero."""
    if w is not None:
        return np.array(w, dtype=np.float64)
    return np.zeros(problem.d) if alpha is None else problem.primal_point(alpha)


def first_alpha(problem: Problem, w: FloatArray | None, alpha: FloatArray | None) -> FloatArray:
    """α itself moved into its domain, or α at the margins of w, or zero.

    At zero, the α_j of empty examples get their optimal value, which is known.
    """
    if alpha is not None:
        alpha = np.array(alpha, dtype=np.float64)
        into_domain(problem.loss, problem.y, problem.sample_weight, alpha)
        return alpha
    if w is not None:
        z = problem.matrix.times(w)
        return problem.dual_point(z + problem.best_intercept(z))
    alpha = np.zeros(problem.n)
    empty = problem.examples.squared_norms == 0
    if empty.any() and not problem.fit_intercept:
        alpha[empty] = problem.dual_point(np.zeros(problem.n))[empty]
    return alpha
