"""Primal coordinate descent as it is fast in practice: on a quadratic model of the loss."""

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
    model_add,
    model_slope,
    prefetch_row,
    prefetch_row_near,
    prefetch_targets,
    row_add,
    row_dot,
)
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import BUDGET, Method, entries_per_nonzero, row_work
from .orders import random_runs, run_length, shuffle
from .second_order import line_search, set_slopes, starting_point

# Epochs on one quadratic model before a new one is made; more where it is the function itself. With
# one epoch 0 to 62 % more passes, with four 28 % fewer to 11 % more (benchmarks/constants.py).
INNER_EPOCHS, EXACT_EPOCHS = 2, 8
# Rounds in the first call of ``advance`` at most; later at most this fraction of those made so far.
FIRST_ROUNDS, LATER_ROUNDS = 2, 0.25
# With more examples, and at least SINGLE_RATIO of them per feature, the model is stored in single
# precision: at 16 bytes per example it would be in no cache. It takes one more product per round.
MANY_EXAMPLES, SINGLE_RATIO = 1_000_000, 8

# The stages of a round, in their order.
MODEL, GRADIENT, EPOCHS, PRODUCT = range(4)


class Model(NamedTuple):
    """The quadratic model of a round, and the direction it gives.

    In single precision ``pairs`` holds only the change of r, in units of ``unit``. Its digits are
    enough, since the slopes that it begins with are added exactly, as ``gradient``.
    """

    pairs: FloatArray  # (r_j, h_j) side by side, so that one look-up finds both
    gradient: FloatArray  # Σ_j r_j X_ij at the beginning, then Σ_j r_j; a 0 in double precision
    unit: FloatArray  # one entry: the largest slope at the beginning; 1 in double precision
    first: FloatArray  # c_j φ'_j(z_j)
    second: FloatArray  # c_j φ''_j(z_j)
    delta: FloatArray  # δ
    delta_b: FloatArray  # one entry: that of the intercept
    change: FloatArray  # of the margins


def room_for_model(n: int, d: int, single: bool) -> Model:
    """Room for a model, in single or in double precision."""
    pairs = np.empty((n, 2), dtype=np.float32 if single else np.float64)
    vectors = (np.empty(n), np.empty(n), np.empty(d), np.zeros(1), np.empty(n))
    return Model(pairs, np.zeros(d + 1 if single else 1), np.ones(1), *vectors)


class Round(NamedTuple):
    """Where in a round the method stands; all but the order are arrays of one entry."""

    order: IntArray  # of the features
    seed: IntArray  # of the next order
    stage: IntArray  # MODEL, GRADIENT, EPOCHS or PRODUCT
    position: IntArray  # features visited in this stage or epoch
    epochs: IntArray  # ended in this round
    made: IntArray  # rounds ended in this call of ``advance``
    squares: FloatArray  # ‖n∇P‖² as seen along the last epoch
    before: FloatArray  # along the one before, on another model unless the model is exact
    expected: FloatArray  # what it should be after this round


def first_round(d: int, seed: int) -> Round:
    """Before the first round."""
    counts, sums = (seed, MODEL, 0, 0, 0), (0.0, 0.0, np.inf)
    return Round(np.arange(d), *(np.array([number]) for number in (*counts, *sums)))


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    w: FloatArray  # primal iterate
    b: FloatArray  # one entry: the intercept
    z: FloatArray  # its margins
    round: Round  # where in a round it stands
    model: Model  # that of the round
    counts: IntArray  # the nonzeros by which a visit of each feature is counted
    gaps: FloatArray  # ‖∇P‖²/(2λ) as seen along the last epoch of the last call's rounds
    run: int  # neighbours in memory that are visited together
    gap: float = np.inf  # what it should be now
    rounds: int = 0  # made so far


class PrimalCD(Method):
    r"""Primal coordinate descent on a quadratic model of the loss, in random order.

    Algorithm
    ---------
    ::

        repeat
            h_j = c_j φ''_j(z_j),   r_j = c_j φ'_j(z_j)
            twice: for i in a new random order of the features:     (the squared loss: 8 times)
                Δ = −( Σ_j r_j X_ij + λn (w_i + δ_i) ) / ( Σ_j h_j X_ij² + λn )
                δ_i += Δ,   r += Δ h ∘ X_i:
            w += s δ,   s = 1 or from a line search on P(w + s δ)

    The model is a weighted ridge problem: no φ' is evaluated inside, so a visited nonzero costs
    the same as on the dual side. The free intercept takes a Newton step of its own in each epoch.

    Rate
    ----
    None is proven for this order; the K of importance sampling, Σ_i (β‖X_i:‖² + λn)/(λn), is a
    guide.

    Cost
    ----
    One pass per d steps; stated as that of importance sampling.

    When to use
    -----------
    The fastest plain method in practice where ``advise`` says primal, unless λ is very small.

    References
    ----------
    .. [1] G.-X. Yuan, C.-H. Ho, C.-J. Lin. "An improved GLMNET for L1-regularized logistic
       regression", JMLR 2012.
    """

    side: ClassVar[Side] = "primal"
    free_intercept: ClassVar[bool] = True
    needs_beta: ClassVar[bool] = False
    descends: ClassVar[bool] = True

    def __init__(
        self, tol: float = 0.0, budget: float = BUDGET, many_examples: int = MANY_EXAMPLES
    ) -> None:
        self.tol = tol
        self.budget = budget  # nonzeros that a kernel call visits, about
        self.many_examples = many_examples  # with more, the model is in single precision

    def start(
        self,
        problem: Problem,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        n, d = problem.n, problem.d
        rng = np.random.default_rng(0) if rng is None else rng
        w, b, z = starting_point(problem, w, alpha)
        single = n > self.many_examples and n >= SINGLE_RATIO * d
        return State(
            problem, w, np.array([b]), z, first_round(d, int(rng.integers(1, 2**63))),
            room_for_model(n, d, single), row_work(problem.features), np.empty(0),
            run_length(d, problem.matrix.nnz),
        )  # fmt: skip

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """Go on to the end of a round; several rounds if they fit into the budget."""
        p, current = state.problem, state.round
        unit = 2 * p.lam * p.n * p.n  # what ‖n∇P‖² is divided by
        quadratic = p.loss.quadratic
        inner = EXACT_EPOCHS if quadratic else INNER_EPOCHS
        enough = self.tol * p.primal_at_zero * unit
        budget = self.budget * entries_per_nonzero(p)
        fitting = int(budget / ((inner + 1) * (p.matrix.nnz + p.n)))
        most = max(1, min(fitting, max(FIRST_ROUNDS, int(LATER_ROUNDS * state.rounds))))
        gaps, passes = np.empty(most), 0
        current.made[0], current.expected[0] = 0, np.inf
        while current.made[0] < most and current.expected[0] > enough:
            look_at_clock()
            passes += _rounds(
                budget, gaps, inner, quadratic, enough, state.run,
                current, state.model, state.counts, p.features.rows, p.loss, p.y,
                p.sample_weight, p.lam * p.n, p.fit_intercept, state.w, state.b, state.z,
            )  # fmt: skip
        state.gaps, state.gap = gaps[: current.made[0]] / unit, float(current.expected[0]) / unit
        state.rounds += int(current.made[0])
        return float(passes) * p.matrix.nnz

    def gap_estimate(self, state: State) -> float:
        """The gap along the last epoch, less what a round takes off it."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w; its margins are recomputed so that rounding does not pile up."""
        state.z = state.problem.margins(state.w, float(state.b[0]))
        return state.w, None

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """K and W of importance sampling, as a guide."""
        return importance_complexity(problem.features)


@kernel
def _rounds(  # type: ignore[no-untyped-def]
    budget, gaps, inner, quadratic, enough, run, current, model, counts, features, loss, y, c,
    lam_n, fit_intercept, w, b, z
):  # fmt: skip
    """Go on from where the round stands, for about ``budget`` nonzeros or until ``gaps`` is full.

    It also ends with a round that makes the gap small enough. Return the passes over the data that
    have ended.
    """
    passes = 0
    while budget > 0 and current.made[0] < gaps.size and current.expected[0] > enough:
        stage, first = current.stage[0], current.position[0]
        if stage == MODEL:
            _make_model(model, loss, z, y, c)
            current.epochs[0] = 0
            current.stage[0] = GRADIENT if model.gradient.size > 1 else EPOCHS
            budget -= z.size
            continue
        if stage == EPOCHS and first == 0:
            _begin_epoch(current, quadratic, run)
        last, spent = _piece(budget, first, stage, current.order, counts)
        if stage == GRADIENT:
            for i in range(first, last):
                model.gradient[i] = row_dot(features, i, model.first)
        elif stage == EPOCHS:
            current.squares[0] = _visit(
                last - first, current.order[first:], current.squares[0], features, model.pairs,
                model.gradient, model.unit[0], lam_n, w, model.delta,
            )  # fmt: skip
        else:
            for i in range(first, last):
                if model.delta[i] != 0.0:
                    row_add(features, i, model.delta[i], model.change)
        current.position[0] = last
        budget -= spent
        if last == w.size:
            current.position[0] = 0
            passes += 1
            if stage == GRADIENT:
                current.stage[0] = EPOCHS
            elif stage == EPOCHS:
                _end_epoch(current, model, inner, enough, fit_intercept)
            else:
                gaps[current.made[0]] = current.squares[0]
                _end_round(current, model, loss, y, c, lam_n, w, b, z)
    return passes


@kernel_part
def _piece(budget, first, stage, order, counts):  # type: ignore[no-untyped-def]
    """Where a piece of about ``budget`` nonzeros ends that begins with ``first``, and its nonzeros.

    Epochs visit the features in ``order``, the other stages as they are stored.
    """
    last, spent = first, 0
    while last < order.size and spent < budget:
        spent += 1 + counts[order[last] if stage == EPOCHS else last]
        last += 1
    return last, spent


@kernel_part
def _make_model(model, loss, z, y, c):  # type: ignore[no-untyped-def]
    """The model at the margins z."""
    first, second, pairs = model.first, model.second, model.pairs
    set_slopes(loss, z, y, c, first, second)
    model.delta[:], model.delta_b[0] = 0.0, 0.0
    if model.gradient.size == 1:
        for j in range(z.size):
            pairs[j, 0], pairs[j, 1] = first[j], second[j]
        return
    total, largest = 0.0, 0.0
    for j in range(z.size):
        pairs[j, 0], pairs[j, 1] = 0.0, second[j]
        total, largest = total + first[j], max(largest, abs(first[j]))
    model.gradient[-1], model.unit[0] = total, largest if largest > 0.0 else 1.0


@kernel_part
def _begin_epoch(current, quadratic, run):  # type: ignore[no-untyped-def]
    """Make a random order of the features."""
    if run > 1:
        current.seed[0] = random_runs(current.seed[0], run, current.order)
    else:
        current.seed[0] = shuffle(current.seed[0], current.order)
    if quadratic or current.epochs[0] == 0:
        current.before[0] = current.squares[0]
    current.squares[0] = 0.0


@kernel_part
def _end_epoch(current, model, inner, enough, fit_intercept):  # type: ignore[no-untyped-def]
    """Let the intercept take its step; the last epoch of a round leads to the next stage."""
    if fit_intercept:
        _intercept_step(model)
    current.epochs[0] += 1
    if current.epochs[0] == inner or current.squares[0] <= enough:
        current.stage[0] = PRODUCT
        model.change[:] = model.delta_b[0]


@kernel_part
def _intercept_step(model):  # type: ignore[no-untyped-def]
    pairs, unit, slope, curvature = model.pairs, model.unit[0], 0.0, 0.0
    for j in range(pairs.shape[0]):
        slope += pairs[j, 0]
        curvature += pairs[j, 1]
    if curvature > 0.0:
        step = -(unit * slope + model.gradient[-1]) / curvature
        model.delta_b[0] += step
        for j in range(pairs.shape[0]):
            pairs[j, 0] += step / unit * pairs[j, 1]


@kernel_part
def _end_round(current, model, loss, y, c, lam_n, w, b, z):  # type: ignore[no-untyped-def]
    """Move along δ, as far as a line search says."""
    delta, change, along, square = model.delta, model.change, 0.0, 0.0
    for i in range(w.size):
        along += lam_n * w[i] * delta[i]
        square += lam_n * delta[i] * delta[i]
    slope = along
    for j in range(z.size):
        slope += model.first[j] * change[j]
    s = line_search(loss, z, change, y, c, slope, along, square, model.first, model.second)
    for i in range(w.size):
        w[i] += s * delta[i]
    for j in range(z.size):
        z[j] += s * change[j]
    b[0] += s * model.delta_b[0]
    # What was seen along the last epoch is older: by now it is about a contraction smaller.
    seen, before = current.squares[0], current.before[0]
    current.expected[0] = seen * min(seen / before, 1.0) if before > 0.0 else seen
    current.made[0], current.stage[0] = current.made[0] + 1, MODEL


@kernel
def _visit(  # type: ignore[no-untyped-def]
    count, order, squares, features, pairs, gradient, unit, lam_n, w, delta
):  # fmt: skip
    """A step along each of the first features in ``order``; add their (n ∂P)² before the steps."""
    # The order is random: without a hint every row would be waited for.
    last = order.size - 2 * AHEAD if features.values.size > CACHED else 0
    far_targets, far = pairs.size > CACHED_VECTOR, features.values.size > FAR
    adds = gradient.size > 1
    for k in range(count):
        if k < last:
            later = order[k + 2 * AHEAD]
            prefetch_row(features, order[k + AHEAD], later)
            if far_targets:
                prefetch_targets(features, order[k + 1], pairs)
            elif far:
                prefetch_row_near(features, order[k + 1])
            prefetch(w, later)
            prefetch(delta, later)
            if adds:
                prefetch(gradient, later)
        i = order[k]
        slope, curvature = model_slope(features, i, pairs)
        if adds:
            slope = unit * slope + gradient[i]
        slope += lam_n * (w[i] + delta[i])
        squares += slope * slope
        step = -slope / (curvature + lam_n)
        if step != 0.0:
            delta[i] += step
            model_add(features, i, step / unit, pairs)
    return squares
