"""What a method is: it starts, it advances, it shows its iterate, it states its cost.

A method knows nothing of tolerances, clocks, verbosity or callbacks; those live in
``primaldual.solver``. Its state is a small dataclass whose every field has a comment.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.random import Generator

from .._numba.compile import kernel
from .._types import FloatArray, Side
from ..complexity import Complexity
from ..data.prefetch import FAR
from ..losses import loss_nearest_dual
from ..losses.sums import second_derivatives
from ..problem import Coordinates, Problem
from ..samplings import SAMPLINGS, Draws, Sampling

# For methods whose theory covers every sampling with an ESO; they take a user's own as well.
ANY_SAMPLING = ("importance", *(name for name in SAMPLINGS if name != "importance"))


# A kernel call visits about this many nonzeros (some 20 ms), so that Ctrl-C is heard soon.
CHUNK = 2_000_000

# Where the data is in no cache, neighbours in memory are visited together, so long as there remain
# this many runs of them, and at most so many neighbours.
RUNS, LONGEST_RUN = 200_000, 16

# Attempts to move a dual point into the plane of a free intercept: its domain may push it out.
PLANE_STEPS = 5


class Method(Protocol):
    """The protocol every method in ``METHODS`` follows.

    A method whose parameters ask for probabilities of its own also has ``plan(problem)``, which
    gives the sampling it uses by default. A method that can tell its gap along the way, for less
    than a certificate, has ``gap_estimate(state)``; the loop then certifies only when it matters.
    A method that takes losses with corners, which have no finite β, says so by ``corners = True``.
    """

    side: ClassVar[Side]  # whose coordinates it draws: features (primal) or examples (dual)
    free_intercept: ClassVar[bool]  # whether it can train the unpenalised intercept
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


def into_plane(problem: Problem, alpha: FloatArray, z: FloatArray) -> FloatArray | None:
    """α moved into the plane Σ_j α_j = 0 of a free intercept; None if it cannot be.

    Where φ'' is large a small change of the margin moves α_j far: those give most. A loss with
    corners does not tell: the heavier side gives.
    """
    if not problem.is_smooth:
        return problem.rebalanced(alpha)
    give = np.empty(problem.n)
    second_derivatives(problem.loss, z, problem.y, problem.sample_weight, give)
    total = float(give.sum())
    for _ in range(PLANE_STEPS):
        if problem.balanced(alpha) or not total > 0:
            break
        alpha = alpha - (float(alpha.sum()) / total) * give
        into_domain(problem.loss, problem.y, problem.sample_weight, alpha)
    return alpha if problem.balanced(alpha) else None


@kernel
def into_domain(loss, y, c, alpha):  # type: ignore[no-untyped-def]
    """Move every α_j/c_j to the nearest point where the conjugate is finite."""
    for j in range(alpha.size):
        if c[j] > 0.0:
            alpha[j] = c[j] * loss_nearest_dual(loss, alpha[j] / c[j], y[j])
        else:
            alpha[j] = 0.0


@kernel
def shuffle(seed, order):  # type: ignore[no-untyped-def]
    """A Fisher-Yates shuffle by Marsaglia's xorshift64; return the generator's new state."""
    state = np.uint64(seed)
    for last in range(order.size - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        # The upper half of the bits as a part of 2³²; a remainder would take as long as a visit.
        other = np.int64(((state >> np.uint64(32)) * np.uint64(last + 1)) >> np.uint64(32))
        order[last], order[other] = order[other], order[last]
    return np.int64(state >> np.uint64(1)) | 1


def run_length(coordinates: int, nonzeros: int) -> int:
    """How many neighbours of a side may be visited together, in ``random_runs``.

    Their number is what makes a random order as good as it is: with 20,000 of them, runs of 16 cost
    epochs on generated text, with 400,000 runs of 4 cost hardly any.
    """
    return max(min(coordinates // RUNS, LONGEST_RUN), 1) if nonzeros > FAR else 1


@kernel
def random_runs(seed, run, order):  # type: ignore[no-untyped-def]
    """Fill ``order`` with a random order of all coordinates in which neighbours stay together.

    Runs of so many neighbours are shuffled, and so are the neighbours in each. Where the runs are
    cut is random too: nobody has the same neighbours in every epoch.
    """
    size = order.size
    cut = np.int64(np.uint64(seed) % np.uint64(run))
    runs = np.arange((size + cut + run - 1) // run)
    seed = shuffle(seed, runs)
    at = 0
    for k in range(runs.size):
        first = max(runs[k] * run - cut, 0)
        last = min(runs[k] * run - cut + run, size)
        for j in range(first, last):
            order[at + j - first] = j
        seed = shuffle(seed, order[at : at + last - first])
        at += last - first
