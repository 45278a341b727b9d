"""Dual coordinate descent as it is fast in practice: exact steps, reshuffled every epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from .._compile import kernel
from .._types import FloatArray, IntArray, Side
from ..complexity import Complexity, importance_complexity
from ..losses import loss_quick_step, loss_slopes, near_gap
from ..problem import Problem
from ..rows import fetch_targets, prefetch, row_add, row_dot, row_fetch
from ..samplings import Draws, Sampling
from .base import AHEAD, CACHED, CACHED_VECTOR, CHUNK, first_alpha, into_plane, shuffle

# Up to so many nonzeros several epochs are made in one call; an example counts as that many more.
SMALL = 60_000
EXAMPLE = 16

# An example that lies on a flat side of its loss and has not moved in so many visits rests: it is
# left out, except in one epoch out of so many.
QUIET_VISITS = 2
FULL_EVERY = 8

# The intercept's centre is extrapolated if each of three moves is more than this part of the one
# before and the parts agree this well.
SLOW = 0.2
STEADY = 0.5


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    rng: Generator  # for the orders
    order: IntArray  # of the examples, those that rest behind the others
    active: int  # how many do not rest
    quiet: IntArray  # in how many visits an example has not moved
    since: int  # epochs since all examples were visited
    norms: FloatArray  # ‖x_j‖², with the intercept's share
    alpha: FloatArray  # dual iterate
    w: FloatArray  # w(α) = (1/λn) Σ_j α_j x_j, kept up to date
    shift: float  # 1/(λ_b n) with a free intercept, else 0
    bias: FloatArray  # the intercept's centre and Σ_j α_j
    moves: list[float]  # of that centre, the last three since it was extrapolated
    gap: float  # the gap as seen along the last epoch, each term before its step


class DualCD:
    r"""Dual coordinate descent with exact steps in a random order of the examples.

    Algorithm
    ---------
    ::

        w = (1/λn) X α
        repeat
            for j in a new random order of the examples:
                Δ = argmax_h  −φ*_j(−(α_j + h)) − h⟨x_j, w⟩ − ‖x_j‖² h² / (2λn)
                α_j += Δ,   w += (1/λn) Δ x_j

    The one-dimensional problem is solved by the loss (a safeguarded Newton iteration in the
    margin for the logistic loss). No theorem here covers the order; the bound of importance
    sampling is stated as a guide. A free intercept is treated as in ``Quartz``. A loss with
    corners has exact steps too, but no rate: K is then infinite.

    Rate
    ----
    None is proven for this order; the K of importance sampling, Σ_j (β‖x_j‖² + λn)/(λn), is a
    guide.

    Cost
    ----
    One pass per n steps; stated as that of importance sampling.

    When to use
    -----------
    The fastest plain method in practice where ``advise`` says dual, unless λ is very small.

    References
    ----------
    .. [1] C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan. "A dual coordinate
       descent method for large-scale linear SVM", ICML 2008.
    .. [2] H.-F. Yu, F.-L. Huang, C.-J. Lin. "Dual coordinate descent methods for logistic
       regression and maximum entropy models", Machine Learning 2011.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = True
    corners: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tol: float = 0.0) -> None:
        self.tol = tol

    def start(
        self,
        problem: Problem,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``alpha``, at the dual point of ``w``, or at zero."""
        alpha = first_alpha(problem, w, alpha)
        w = problem.primal_point(alpha) if alpha.any() else np.zeros(problem.d)
        bias, shift = np.zeros(2), 0.0
        if problem.fit_intercept:
            shift = 1 / (problem.intercept_strength * problem.n)
            bias[1] = alpha.sum()
            bias[0] = problem.best_intercept(problem.matrix.times(w)) - shift * bias[1]
        side = problem.examples
        return State(
            problem, np.random.default_rng(0) if rng is None else rng,
            np.arange(problem.n), problem.n, np.zeros(problem.n, dtype=np.int64), FULL_EVERY,
            side.squared_norms + side.constant, alpha, w, shift, bias, [], np.inf,
        )  # fmt: skip

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One epoch, or several of a small problem."""
        p = state.problem
        data = (
            state.quiet, p.examples.rows, p.loss, p.y, p.sample_weight, p.lam * p.n,
            state.norms, state.alpha, state.w, state.bias, state.shift,
        )  # fmt: skip
        work = self._epochs(state, data)
        if state.active < p.n and state.gap <= self.tol * p.primal_at_zero:
            # Those at rest have to agree before this can be the end.
            state.since = FULL_EVERY
            work += self._epochs(state, data)
        return work

    def _epochs(self, state: State, data: Any) -> float:
        """One epoch, or several small ones, over the examples that do not rest, or over all."""
        p, nnz = state.problem, state.problem.matrix.nnz
        if state.since >= FULL_EVERY:
            state.active, state.since = p.n, 0
        seed = int(state.rng.integers(1, 2**63))
        size = (nnz / p.n + EXAMPLE) * max(state.active, 1)
        epochs = max(1, min(int(SMALL / size), FULL_EVERY - state.since))
        if epochs > 1 and not p.fit_intercept:
            gap, state.active, visits = _epochs(epochs, seed, state.order, state.active, *data)
            state.gap, state.since = gap / p.n, state.since + epochs
            return float(visits * nnz / p.n)
        order = state.order[: state.active]
        shuffle(seed, order)
        # In pieces of about CHUNK nonzeros, so that Ctrl-C is heard between them.
        parts = np.array_split(order, nnz // CHUNK + 1) if nnz > CHUNK else [order]
        state.gap = sum(_visit(part, *data) for part in parts) / p.n
        _move_centre(state)
        work = nnz if state.active == p.n else p.examples.counts[order].sum()
        state.active, state.since = _put_behind(order, state.quiet), state.since + 1
        return float(work)

    def gap_estimate(self, state: State) -> float:
        """The gap along the last epoch; from scratch it is usually smaller."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and α."""
        p = state.problem
        if not p.fit_intercept:
            return state.w, state.alpha
        # With a free intercept α is feasible only in the limit.
        z = p.matrix.times(state.w)
        return state.w, into_plane(p, state.alpha, z + p.best_intercept(z))

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """K and W of importance sampling, as a guide."""
        return importance_complexity(problem.examples)


def _move_centre(state: State) -> None:
    """Let the centre follow the intercept, and extrapolate it when its moves shrink steadily.

    They shrink like a geometric series: slowly, where the features can stand in for an intercept.
    """
    move = state.shift * state.bias[1]
    state.bias[0] += move
    state.moves = [*state.moves[-2:], move]
    if len(state.moves) < 3:
        return
    earlier, before, last = state.moves
    if earlier == 0.0 or before == 0.0:
        return
    ratio, ratio_before = last / before, before / earlier
    if SLOW < ratio < 1 and abs(ratio - ratio_before) < STEADY * (1 - ratio):
        state.bias[0] += move * ratio / (1 - ratio)
        state.moves = []


@kernel
def _epochs(  # type: ignore[no-untyped-def]
    epochs, seed, order, active, quiet, examples, loss, y, c, lam_n, norms, alpha, w, bias, shift
):
    """Several epochs without intercept.

    Return the gap along the last, how many examples do not rest, and the number of visits.
    """
    gap, visits = np.inf, 0
    for _ in range(epochs):
        part = order[:active]
        seed = shuffle(seed, part)
        gap = _visit(part, quiet, examples, loss, y, c, lam_n, norms, alpha, w, bias, shift)
        visits += active
        active = _put_behind(part, quiet)
    return gap, active, visits


@kernel
def _put_behind(order, quiet):  # type: ignore[no-untyped-def]
    """Move the examples that rest behind the others; return how many the others are."""
    active = 0
    for k in range(order.size):
        j = order[k]
        if quiet[j] < QUIET_VISITS:
            order[active], order[k] = j, order[active]
            active += 1
    return active


@kernel
def _visit(order, quiet, examples, loss, y, c, lam_n, norms, alpha, w, bias, shift):  # type: ignore[no-untyped-def]
    """One exact step for every example in ``order``; the sum of their gaps before the steps."""
    gap = 0.0
    # The order is random: without a hint every row would be waited for.
    last = order.size - 2 * AHEAD if examples.values.size > CACHED else 0
    large = w.size > CACHED_VECTOR
    for k in range(order.size):
        if k < last:
            later = order[k + 2 * AHEAD]
            _fetch_numbers(later, quiet, y, c, norms, alpha)
            row_fetch(examples, order[k + AHEAD], later)
            if large:
                fetch_targets(examples, order[k + 1], w)
        j = order[k]
        if c[j] == 0.0:
            quiet[j] += 1
            continue
        z = row_dot(examples, j, w) + bias[0] + shift * bias[1]
        a = alpha[j] / c[j]
        first, second = loss_slopes(loss, z, y[j])
        gap += c[j] * near_gap(loss, z, a, y[j], first, second)
        kappa = c[j] * norms[j] / lam_n
        delta = c[j] * loss_quick_step(loss, a, z, y[j], kappa, first, second)
        if delta == 0.0 and second == 0.0:
            quiet[j] += 1
            continue
        quiet[j] = 0
        if delta != 0.0:
            alpha[j] += delta
            bias[1] += delta
            row_add(examples, j, delta / lam_n, w)
    return gap


@kernel
def _fetch_numbers(j, quiet, y, c, norms, alpha):  # type: ignore[no-untyped-def]
    """Ask the memory for all that is known of an example but its row."""
    prefetch(quiet, j)
    prefetch(y, j)
    prefetch(c, j)
    prefetch(norms, j)
    prefetch(alpha, j)
