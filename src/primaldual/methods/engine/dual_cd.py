"""Dual coordinate descent as it is fast in practice: exact steps, reshuffled every epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from ..._numba.clock import look_at_clock
from ..._numba.compile import kernel, kernel_part
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
from ...losses import loss_quick_gap, loss_quick_step, loss_slopes
from ...problem import Problem
from ...problem.intercept import into_plane
from ...samplings import Draws, Sampling
from ..base import BUDGET, Method, entries_per_nonzero, first_alpha, row_work
from ..intercept import Intercept, first_intercept
from .active_set import IDLE_VISITS, ActiveSet, all_active, next_size, shrink
from .extrapolation import Past, extrapolate, remember, room_for_past
from .orders import random_runs, run_length, shuffle

# The scalar work of a visit in nonzeros, about: 12 to 70 ns, where a nonzero takes 1.6 ns.
VISIT = 16
# Epochs of the first call of ``advance`` at most, and of every other call at most as many as were
# made before: the engine looks at their gaps between calls.
FIRST_EPOCHS, MOST_EPOCHS = 12, 1000

# An epoch after which more than this fraction of the gap is left is slow: points are remembered, to
# extrapolate from. Less often where an epoch takes at most one budget: there an extrapolation takes
# about as long. With 0.25 in place of the latter 0 to 13 % fewer passes, with 0.75 3 % fewer to 9 %
# more (benchmarks/constants.py).
SLOW_EPOCH, SLOW_BRIEF_EPOCH = 0.4, 0.5

# The gap after an epoch whose contraction is strong, over what it would be by that alone. With 1
# the method stops up to 4 % earlier, with 2.5 up to 3 % later (passes to an estimate of 1e-6 on six
# problems of generated text, 150 to 200 examples, two seeds).
STRONG = 1.7

# The intercept's centre is extrapolated if of its last three moves each is more than the fraction
# SLOW of the one before, and the two fractions differ by less than STEADY times what the last one
# lacks to 1. With SLOW = 0.1 passes do not change (benchmarks/constants.py).
SLOW = 0.2
STEADY = 0.5


class Epoch(NamedTuple):
    """Where in an epoch the method stands; every field is an array of one entry."""

    seed: IntArray  # of the next order
    position: IntArray  # visits made in this epoch; 0 before its order is made
    size: IntArray  # examples that it visits
    made: IntArray  # epochs ended in this call of ``advance``
    gap: FloatArray  # the sum of the visited examples' gaps, each before its step
    last: FloatArray  # that of the epoch before; 0 if unknown, as after an extrapolation
    expected: FloatArray  # what the gap should be now, times n; infinite if not all were visited


def first_epoch(seed: int) -> Epoch:
    """Before the first epoch."""
    counts, sums = (seed, 0, 0, 0), (0.0, 0.0, np.inf)
    return Epoch(*(np.array([number]) for number in (*counts, *sums)))


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    epoch: Epoch  # where in an epoch it stands
    active: ActiveSet  # which examples it visits, in which order
    numbers: FloatArray  # a row of four for every example: c_j, y_j, c_j‖x_j‖²/λn, α_j
    w: FloatArray  # w(α) = (1/λn) Σ_j α_j x_j, kept up to date
    intercept: Intercept  # b, zero without a free intercept
    moves: FloatArray  # the last three of its centre since that was extrapolated, or NaN
    past: Past  # the points after the last epochs
    counts: IntArray  # the nonzeros by which a visit of each example is counted
    gaps: FloatArray  # along the last call's epochs, each term before its step
    parts: FloatArray  # the fraction of the examples that each of these epochs visited
    run: int  # neighbours in memory that are visited together
    gap: float = np.inf  # what the gap should be now
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
    intercept is treated as in ``Quartz``. A non-smooth loss has exact steps too, but no rate: K is
    then infinite. The last line costs a few vectors and no look at the data
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
    needs_beta: ClassVar[bool] = False
    smooth_only: ClassVar[bool] = False
    descends: ClassVar[bool] = True

    def __init__(
        self,
        tol: float = 0.0,
        budget: float = BUDGET,
        most_epochs: int = MOST_EPOCHS,
        extrapolates: bool = True,
    ) -> None:
        self.tol = tol
        self.budget = budget  # nonzeros that a kernel call visits, about
        self.most_epochs = most_epochs  # in a call of ``advance``
        self.extrapolates = extrapolates

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
        rng = np.random.default_rng(0) if rng is None else rng
        return State(
            problem, first_epoch(int(rng.integers(1, 2**63))), all_active(problem.n),
            numbers_of(problem, alpha, problem.examples.constant), w,
            first_intercept(problem, alpha, w), np.full(3, np.nan),
            room_for_past(problem, self.extrapolates), row_work(problem.examples), np.empty(0),
            np.empty(0), run_length(problem.n, problem.matrix.nnz),
        )  # fmt: skip

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """Go on to the end of an epoch; several epochs if they fit into the budget."""
        p, epoch = state.problem, state.epoch
        visit = p.matrix.nnz / p.n / entries_per_nonzero(p) + VISIT  # nonzeros of one, about
        slow = SLOW_BRIEF_EPOCH if visit * p.n <= BUDGET else SLOW_EPOCH
        enough = self.tol * p.primal_at_zero * p.n
        fitting = int(self.budget / (visit * p.n)) + 1
        most = min(fitting, max(FIRST_EPOCHS, state.epochs), self.most_epochs)
        gaps, sizes = np.empty((2, most))
        nonzeros, epoch.made[0], epoch.expected[0] = 0, 0, np.inf
        while epoch.made[0] < most and epoch.expected[0] > enough:
            look_at_clock()
            nonzeros += _descend(
                int(self.budget / visit) + 1, enough, slow, state.run, gaps, sizes, epoch,
                state.active, state.moves, state.past, state.counts, p.matrix.nnz,
                state.numbers, p.matrix.by_example, p.loss, p.lam * p.n, state.w, state.intercept,
            )  # fmt: skip
            if state.past.known[0] == len(state.past.alphas) > 0:
                self._extrapolate(state)
        made = int(epoch.made[0])
        state.gaps, state.parts = gaps[:made] / p.n, sizes[:made] / p.n
        state.gap, state.epochs = float(epoch.expected[0]) / p.n, state.epochs + made
        return float(nonzeros)

    def _extrapolate(self, state: State) -> None:
        """Move to the best point in the span of the last epochs, and begin to remember anew."""
        p = state.problem
        if extrapolate(
            state.past, p.matrix.by_example, p.loss, p.y, p.sample_weight, p.lam * p.n,
            state.alpha, state.w, state.intercept,
        ):  # fmt: skip
            state.epoch.last[0] = 0.0  # the gap's fall says nothing of the next epoch's
        state.past.known[0] = 0
        remember(state.past, state.alpha, state.w)

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


def numbers_of(problem: Problem, alpha: FloatArray, constant: float) -> FloatArray:
    """All that a visit needs to know of an example but its row, in half of a line of the caches.

    ``constant`` is the square of the entry that an intercept adds to every row.
    """
    # NumPy's arrays begin anywhere: a row must not lie in two lines.
    room = np.empty(4 * problem.n + 4)
    skip = -room.__array_interface__["data"][0] // room.itemsize % 4
    numbers = room[skip : skip + 4 * problem.n].reshape(problem.n, 4)
    side = problem.examples
    _fill(
        problem.sample_weight, problem.y, side.squared_norms, constant, side.lam_n, alpha, numbers
    )
    return numbers


@kernel
def _fill(c, y, squared_norms, constant, lam_n, alpha, numbers):  # type: ignore[no-untyped-def]
    for j in range(alpha.size):
        numbers[j, 0], numbers[j, 1], numbers[j, 3] = c[j], y[j], alpha[j]
        numbers[j, 2] = c[j] * (squared_norms[j] + constant) / lam_n


@kernel
def _descend(  # type: ignore[no-untyped-def]
    visits, enough, slow, run, gaps, sizes, epoch, active, moves, past, counts,
    nnz, numbers, examples, loss, lam_n, w, intercept
):  # fmt: skip
    """Make ``visits`` visits from where the epoch stands, or fewer if ``gaps`` is full before.

    It also ends with an epoch that makes the gap small enough, or after which an extrapolation is
    due. Return the nonzeros of the epochs that have ended.
    """
    nonzeros = 0
    while visits > 0 and epoch.made[0] < gaps.size:
        if epoch.position[0] == 0:
            _begin(epoch, active, run)
        first, size = epoch.position[0], epoch.size[0]
        count = min(visits, size - first)
        epoch.gap[0] = _visit(
            count, active.order[first:size], epoch.gap[0], active.idle, numbers, examples, loss,
            lam_n, w, intercept,
        )  # fmt: skip
        epoch.position[0] = first + count
        visits -= count
        if first + count == size:
            follow(intercept, moves)
            nonzeros += _nonzeros(active.order[:size], counts, nnz)
            _end(enough, slow, gaps, sizes, epoch, active, past, numbers[:, 3], w)
            if epoch.expected[0] <= enough or past.known[0] == past.alphas.shape[0] > 0:
                break
    return nonzeros


@kernel_part
def _begin(epoch, active, run):  # type: ignore[no-untyped-def]
    """Choose the examples of an epoch and their order."""
    size = next_size(active)
    if run > 1 and size == active.order.size:
        epoch.seed[0] = random_runs(epoch.seed[0], run, active.order)
    else:
        epoch.seed[0] = shuffle(epoch.seed[0], active.order[:size])
    epoch.size[0], epoch.gap[0] = size, 0.0


@kernel_part
def _end(enough, slow, gaps, sizes, epoch, active, past, alpha, w):  # type: ignore[no-untyped-def]
    """Draw the conclusions from the gap along an epoch."""
    gap, last, size = epoch.gap[0], epoch.last[0], epoch.size[0]
    # Each term is older than the step after it: by now the gap is about a contraction smaller, not
    # quite where that is strong.
    fall = min(gap / last, 1.0) if last > 0.0 else 1.0
    expected = gap * fall * (STRONG - (STRONG - 1.0) * fall)
    active.since_full[0] += 1
    if size < active.order.size:
        if expected <= enough:  # all examples have to agree before this can be the end
            active.since_full[0] = active.full_every[0]
        expected = np.inf
    grown = size > active.size[0]  # re-activated examples raise the gap: it is not compared
    is_slow = past.known[0] >= 0 or (last > 0.0 and not grown and gap > slow * last)
    if is_slow and past.alphas.shape[0] > 0 and expected > enough:
        remember(past, alpha, w)  # from the first slow epoch on
    gaps[epoch.made[0]], sizes[epoch.made[0]] = gap, size
    epoch.last[0], epoch.expected[0] = gap, expected
    epoch.made[0], epoch.position[0] = epoch.made[0] + 1, 0
    shrink(active, size)


@kernel_part
def _nonzeros(order, counts, nnz):  # type: ignore[no-untyped-def]
    """The nonzeros of the examples in ``order``, which are all of them if there are as many."""
    if order.size == counts.size:
        return nnz
    total = 0
    for k in range(order.size):
        total += counts[order[k]]
    return total


@kernel_part
def follow(intercept, moves):  # type: ignore[no-untyped-def]
    """Let the centre follow the intercept, and extrapolate it when its moves shrink steadily.

    They shrink like a geometric series: slowly, where the features can stand in for an intercept.
    """
    move = intercept.move_centre()
    moves[0], moves[1], moves[2] = moves[1], moves[2], move
    if not (moves[0] != 0.0 and moves[1] != 0.0):
        return
    ratio, ratio_before = moves[2] / moves[1], moves[1] / moves[0]
    # Not so while one of the moves is NaN.
    if SLOW < ratio < 1.0 and abs(ratio - ratio_before) < STEADY * (1.0 - ratio):
        intercept.move_centre(ratio / (1.0 - ratio))
        moves[:] = np.nan


@kernel
def _visit(  # type: ignore[no-untyped-def]
    count, order, gap, idle, numbers, examples, loss, lam_n, w, intercept
):  # fmt: skip
    """One exact step for each of the first examples in ``order``; add their gaps to ``gap``."""
    scale = 1.0 / lam_n
    # The order is random: without a hint every row would be waited for.
    last = order.size - 2 * AHEAD if examples.values.size > CACHED else 0
    far_targets, far = w.size > CACHED_VECTOR, examples.values.size > FAR
    for k in range(count):
        if k < last:
            later = order[k + 2 * AHEAD]
            prefetch_row(examples, order[k + AHEAD], later)
            if far_targets:
                prefetch_targets(examples, np.uint64(order[k + 1]), w)
            elif far:
                prefetch_row_near(examples, order[k + 1])
            prefetch(idle, later)
            prefetch(numbers, 4 * later)
        j = np.uint64(order[k])
        c, y, kappa, alpha = numbers[j, 0], numbers[j, 1], numbers[j, 2], numbers[j, 3]
        if c == 0.0:
            idle[j] = IDLE_VISITS
            continue
        # The next visit has to wait for this one's w: what need not wait comes first.
        a, b = alpha / c, intercept.value()
        z = row_dot(examples, j, w) + b
        first, second = loss_slopes(loss, z, y)
        gap += c * loss_quick_gap(loss, z, a, y, first, second)
        step = loss_quick_step(loss, a, z, y, kappa, first, second)
        if step == 0.0 and second == 0.0:
            idle[j] = min(idle[j] + 1, IDLE_VISITS)
            continue
        idle[j] = 0
        if step != 0.0:
            row_add_back(examples, j, step * (c * scale), w)
            numbers[j, 3] = alpha + c * step
            intercept.add(c * step)
    return gap
