"""Dual coordinate descent as it is fast in practice: exact steps, reshuffled every epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, IntArray, Side
from ...complexity import Complexity, importance_complexity
from ...data.prefetch import AHEAD, CACHED, CACHED_VECTOR, FAR, prefetch
from ...data.rows import (
    prefetch_row,
    prefetch_row_near,
    prefetch_targets,
    row_add_back,
    row_dot,
)
from ...engine.prices import epoch_price
from ...losses import loss_quick_gap, loss_quick_step, loss_slopes
from ...problem import Problem
from ...problem.intercept import intercept_strength, into_plane
from ...samplings import Draws, Sampling
from ..base import CHUNK, Method, first_alpha
from .extrapolation import Past, extrapolate, remember, room_for_past
from .orders import random_runs, run_length, shuffle

# Several epochs of a small problem are made in one call: as many as should take so many
# nanoseconds, but at least two, and no more than these or than were made before. One epoch that
# takes longer is made in several calls.
MOMENT = 1e6
FEWEST_EPOCHS, FIRST_EPOCHS = 2, 12

# An example that lies on a flat side of its loss and has not moved in so many visits rests: it is
# left out, except in one epoch out of so many. In one out of twice as many, and so on up to the
# last number, if those that are awake did not become more by this part of them in the last one.
QUIET_VISITS = 2
FULL_EVERY, SELDOM = 8, 64
JOINED = 0.02
# What the state's ``rest`` holds: the epochs since all examples were visited, those after which
# that is due, and how many examples were awake before.
SINCE, DUE, BEFORE = 0, 1, 2
# Nobody rests where more than this part of them would be visited all the same.
MOST_AWAKE = 0.8

# An epoch after which more than this part of the gap is left is slow: points are remembered, to
# extrapolate from. Less often where an epoch is brief: to extrapolate takes as long as one.
SLOW_EPOCH, SLOW_BRIEF_EPOCH = 0.4, 0.5

# The gap after an epoch whose contraction is strong, over what it would be by that alone.
STRONG = 1.7

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
    quiet: IntArray  # in how many visits an example has not moved, at most QUIET_VISITS
    rest: IntArray  # when all examples are visited: see SINCE, DUE, BEFORE
    numbers: FloatArray  # a row of four for every example: c_j, y_j, c_j‖x_j‖²/λn, α_j
    w: FloatArray  # w(α) = (1/λn) Σ_j α_j x_j, kept up to date
    shift: float  # 1/(λ_b n) with a free intercept, else 0
    bias: FloatArray  # the intercept's centre and Σ_j α_j
    moves: FloatArray  # of that centre, the last three since it was extrapolated, or NaN
    gaps: FloatArray  # along the last call's epochs, each term before its step
    parts: FloatArray  # of the examples, that each of these epochs visited
    last: float  # the last gap, 0 after an extrapolation
    past: Past  # the points after the last epochs
    known: int  # how many there are; -1 while descent is fast
    gap: float  # what the gap should be now
    epochs: int = 0  # made so far

    @property
    def alpha(self) -> FloatArray:
        """The dual iterate: a view, so that there is one α also after the state was saved."""
        return self.numbers[:, 3]


class DualCD(Method):
    r"""Dual coordinate descent with exact steps in a random order of the examples.

    Algorithm
    ---------
    ::

        w = (1/λn) X α
        repeat
            for j in a new random order of the examples:
                Δ = argmax_h  −φ*_j(−(α_j + h)) − h⟨x_j, w⟩ − ‖x_j‖² h² / (2λn)
                α_j += Δ,   w += (1/λn) Δ x_j
            if epochs are slow, after every fifth:
                α += Σ_k t_k δ_k,   t = about argmax D,   δ_k the moves of the last five epochs

    The one-dimensional problem is solved by the loss (a safeguarded Newton iteration in the
    margin for the logistic loss). The order has to be new in every epoch, and without regard to
    where the examples are stored: in one order for all epochs, or with 64 neighbours kept together,
    the gap after eight epochs on generated text is 10⁴ times larger. Only where the data is in no
    cache and there are very many examples, a few neighbours are visited one after the other. No
    theorem here covers the order; the bound of importance sampling is stated as a guide. A free
    intercept is treated as in ``Quartz``. A loss with corners has exact steps too, but no rate: K
    is then infinite. The last line costs a few vectors and no look at the data
    (``extrapolation``); on unscaled text it saves a quarter to two thirds of the epochs.

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
    .. [3] Q. Bertrand, M. Massias. "Anderson acceleration of coordinate descent", AISTATS 2021:
       extrapolation in the same spirit, from the iterates alone.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = True
    smooth_only: ClassVar[bool] = False
    descends: ClassVar[bool] = True

    def __init__(self, tol: float = 0.0, moment: float = MOMENT) -> None:
        self.tol = tol
        self.moment = moment  # nanoseconds for the epochs of one call

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
            shift = 1 / (intercept_strength(problem) * problem.n)
            bias[1] = alpha.sum()
            bias[0] = problem.best_intercept(problem.matrix.times(w)) - shift * bias[1]
        return State(
            problem, np.random.default_rng(0) if rng is None else rng,
            np.arange(problem.n), problem.n, np.zeros(problem.n, dtype=np.int8),
            np.array([FULL_EVERY, FULL_EVERY, problem.n]),
            _numbers(problem, alpha), w, shift, bias, np.full(3, np.nan),
            np.empty(0), np.empty(0), 0.0, room_for_past(problem), -1, np.inf,
        )  # fmt: skip

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One epoch, or several of a small problem."""
        p = state.problem
        data = (
            state.quiet, state.numbers, p.matrix.by_example, p.loss, p.lam * p.n, state.w,
            state.bias, state.shift,
        )  # fmt: skip
        enough = self.tol * p.primal_at_zero * p.n
        seed = int(state.rng.integers(1, 2**63))
        price = epoch_price(p, "dual_cd")
        if price > MOMENT:
            return self._epoch(state, data, seed, enough)
        most = min(int(self.moment / price), max(FIRST_EPOCHS, state.epochs))
        gaps = np.empty(max(FEWEST_EPOCHS, most))
        parts = np.empty_like(gaps)
        visits, epochs, going = 0, 0, True
        while going:
            made, seed, visits, state.active, state.last, state.known, gap = _epochs(
                seed, visits, gaps[epochs:], parts[epochs:], state.last, enough, state.order,
                state.active, state.rest, state.moves, state.past, state.known, *data,
            )  # fmt: skip
            epochs += made
            self._look_back(state)
            going = epochs < gaps.size and gap > enough
        state.gaps, state.gap = gaps[:epochs] / p.n, gap / p.n
        state.parts = parts[:epochs] / p.n
        state.epochs += epochs
        return float(visits * (p.matrix.nnz / p.n))

    def _epoch(self, state: State, data: Any, seed: int, enough: float) -> float:
        """One epoch over the examples that do not rest, or over all, in several calls."""
        p, nnz = state.problem, state.problem.matrix.nnz
        awake, state.active = state.active, _to_visit(state.active, p.n, state.rest)
        order, run = state.order[: state.active], run_length(p.n, nnz)
        if run > 1 and state.active == p.n:
            random_runs(seed, run, order)
        else:
            shuffle(seed, order)
        # In pieces of about CHUNK nonzeros, so that Ctrl-C is heard between them.
        parts = np.array_split(order, nnz // CHUNK + 1) if nnz > CHUNK else [order]
        gap = sum(_visit(part, *data) for part in parts)
        move_centre(state.moves, state.bias, state.shift)
        work = nnz if state.active == p.n else p.examples.counts[order].sum()
        before, state.parts = state.last, np.array([state.active / p.n])
        state.last, state.gap = _after(gap, state.active == p.n, state.rest, before, enough)
        if state.gap > enough:
            before = before if state.active == awake else 0.0  # who has rested makes the gap jump
            state.known = _remember(
                state.past, state.known, gap, SLOW_EPOCH * before, state.alpha, state.w
            )
            self._look_back(state)
        state.active = _awake(order, state.quiet, p.n, state.rest)
        state.gaps, state.gap = np.array([gap / p.n]), state.gap / p.n
        state.epochs += 1
        return float(work)

    def _look_back(self, state: State) -> None:
        """Extrapolate, if enough points are known."""
        p, room = state.problem, len(state.past.alphas)
        if state.known < room or not room:
            return
        if extrapolate(
            state.past, p.matrix.by_example, p.loss, p.y, p.sample_weight, p.lam * p.n,
            state.alpha, state.w, state.bias, state.shift,
        ):  # fmt: skip
            state.last = 0.0  # the gap's fall says nothing of the next epoch's
        state.known = remember(state.past, 0, state.alpha, state.w)

    def gap_estimate(self, state: State) -> float:
        """The gap along the last epoch, less what one takes off it; infinite if some rested."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and α."""
        p, alpha = state.problem, state.alpha.copy()
        if not p.fit_intercept:
            return state.w, alpha
        # With a free intercept α is feasible only in the limit.
        z = p.matrix.times(state.w)
        return state.w, into_plane(p, alpha, z + p.best_intercept(z))

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """K and W of importance sampling, as a guide."""
        return importance_complexity(problem.examples)


def _numbers(problem: Problem, alpha: FloatArray) -> FloatArray:
    """All that a visit needs to know of an example but its row, in half of a line of the caches."""
    # NumPy's arrays begin anywhere: a row must not lie in two lines.
    room = np.empty(4 * problem.n + 4)
    skip = -room.__array_interface__["data"][0] // room.itemsize % 4
    numbers = room[skip : skip + 4 * problem.n].reshape(problem.n, 4)
    side = problem.examples
    _fill(
        problem.sample_weight, problem.y, side.squared_norms, side.constant, side.lam_n, alpha,
        numbers,
    )  # fmt: skip
    return numbers


@kernel
def _fill(c, y, squared_norms, constant, lam_n, alpha, numbers):  # type: ignore[no-untyped-def]
    for j in range(alpha.size):
        numbers[j, 0], numbers[j, 1], numbers[j, 3] = c[j], y[j], alpha[j]
        numbers[j, 2] = c[j] * (squared_norms[j] + constant) / lam_n


@kernel
def move_centre(moves, bias, shift):  # type: ignore[no-untyped-def]
    """Let the centre follow the intercept, and extrapolate it when its moves shrink steadily.

    They shrink like a geometric series: slowly, where the features can stand in for an intercept.
    """
    move = shift * bias[1]
    bias[0] += move
    moves[0], moves[1], moves[2] = moves[1], moves[2], move
    if not (moves[0] != 0.0 and moves[1] != 0.0):
        return
    ratio, ratio_before = moves[2] / moves[1], moves[1] / moves[0]
    # Not so while one of the moves is NaN.
    if SLOW < ratio < 1.0 and abs(ratio - ratio_before) < STEADY * (1.0 - ratio):
        bias[0] += move * ratio / (1.0 - ratio)
        moves[:] = np.nan


@kernel
def _to_visit(active, n, rest):  # type: ignore[no-untyped-def]
    """How many examples the next epoch visits: those that are awake, or all if that is due."""
    if rest[SINCE] < rest[DUE]:
        return active
    rest[SINCE], rest[BEFORE] = 0, active
    return n


@kernel
def _after(gap, full, rest, last, enough):  # type: ignore[no-untyped-def]
    """What follows from the gap along an epoch: ``last``, and the gap to be expected."""
    # Each term is older than the step after it: by now the gap is about a contraction smaller, not
    # quite where that is strong.
    fall = min(gap / last, 1.0) if last > 0.0 else 1.0
    expected = gap * fall * (STRONG - (STRONG - 1.0) * fall)
    rest[SINCE] += 1
    if full:
        return gap, expected
    if expected <= enough:  # those at rest have to agree before this can be the end
        rest[SINCE] = rest[DUE]
    return gap, np.inf


@kernel
def _remember(past, known, gap, slow, alpha, w):  # type: ignore[no-untyped-def]
    """After an epoch: remember the point if descent is slow; return how many are known.

    It is if the gap is larger than ``slow``, which is 0 where that is not known.
    """
    if past.alphas.shape[0] == 0 or (known < 0 and not gap > slow > 0.0):
        return known
    return remember(past, max(known, 0), alpha, w)


@kernel
def _epochs(  # type: ignore[no-untyped-def]
    seed, visits, gaps, parts, last, enough, order, active, rest, moves, past, known,
    quiet, numbers, examples, loss, lam_n, w, bias, shift
):  # fmt: skip
    """As many epochs as ``gaps`` has room for, fewer if they bring the gap down.

    They also end where an extrapolation is due. Return the number of epochs, and what has become
    of ``seed``, ``visits``, ``active``, ``last``, ``known`` and the gap to be expected.
    """
    expected = np.inf
    for k in range(gaps.size):
        awake, active = active, _to_visit(active, order.size, rest)
        part = order[:active]
        seed = shuffle(seed, part)
        gap = _visit(part, quiet, numbers, examples, loss, lam_n, w, bias, shift)
        move_centre(moves, bias, shift)
        before = last
        last, expected = _after(gap, active == order.size, rest, before, enough)
        if expected > enough:
            before = before if active == awake else 0.0  # who has rested makes the gap jump
            known = _remember(past, known, gap, SLOW_BRIEF_EPOCH * before, numbers[:, 3], w)
        visits, parts[k] = visits + active, active
        active = _awake(part, quiet, order.size, rest)
        gaps[k] = gap
        if expected <= enough or known == past.alphas.shape[0] > 0:
            break
    return k + 1, seed, visits, active, last, known, expected


@kernel
def _awake(order, quiet, n, rest):  # type: ignore[no-untyped-def]
    """Move the examples that rest behind the others; return how many are to be visited next."""
    active = 0
    for k in range(order.size):
        j = order[k]
        if quiet[j] < QUIET_VISITS:
            order[active], order[k] = j, order[active]
            active += 1
    if order.size == n:
        steady = active <= (1.0 + JOINED) * rest[BEFORE] < n
        rest[DUE] = min(2 * rest[DUE], SELDOM) if steady else FULL_EVERY
    return active if active <= MOST_AWAKE * n else n


@kernel
def _visit(order, quiet, numbers, examples, loss, lam_n, w, bias, shift):  # type: ignore[no-untyped-def]
    """One exact step for every example in ``order``; the sum of their gaps before the steps."""
    gap, scale = 0.0, 1.0 / lam_n
    # The order is random: without a hint every row would be waited for.
    last = order.size - 2 * AHEAD if examples.values.size > CACHED else 0
    asks, far = w.size > CACHED_VECTOR, examples.values.size > FAR
    for k in range(order.size):
        if k < last:
            later = order[k + 2 * AHEAD]
            prefetch_row(examples, order[k + AHEAD], later)
            if asks:
                prefetch_targets(examples, order[k + 1], w)
            elif far:
                prefetch_row_near(examples, order[k + 1])
            prefetch(quiet, later)
            prefetch(numbers, 4 * later)
        j = np.uint64(order[k])
        c, y, kappa, alpha = numbers[j, 0], numbers[j, 1], numbers[j, 2], numbers[j, 3]
        if c == 0.0:
            quiet[j] = QUIET_VISITS
            continue
        # The next visit has to wait for this one's w: what need not wait comes first.
        a, b = alpha / c, bias[0] + shift * bias[1]
        z = row_dot(examples, j, w) + b
        first, second = loss_slopes(loss, z, y)
        gap += c * loss_quick_gap(loss, z, a, y, first, second)
        step = loss_quick_step(loss, a, z, y, kappa, first, second)
        if step == 0.0 and second == 0.0:
            quiet[j] = min(quiet[j] + 1, QUIET_VISITS)
            continue
        quiet[j] = 0
        if step != 0.0:
            row_add_back(examples, j, step * (c * scale), w)
            numbers[j, 3] = alpha + c * step
            bias[1] += c * step
    return gap
