"""Primal coordinate descent as it is fast in practice: on a quadratic model of the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, IntArray, Side
from ...complexity import Complexity, importance_complexity
from ...data.matrix import MUCH_SHORTER
from ...data.prefetch import AHEAD, CACHED, CACHED_VECTOR, FAR, prefetch
from ...data.rows import (
    model_add,
    model_slope,
    prefetch_row,
    prefetch_row_near,
    prefetch_targets,
    row_add,
)
from ...losses import loss_loop_slopes
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import CHUNK, Method
from .orders import random_runs, run_length, shuffle
from .second_order import line_search, slopes, starting_point

# Epochs on one quadratic model before a new one is made; more where it is the function itself.
INNER_EPOCHS, EXACT_EPOCHS = 2, 8
# Up to so many nonzeros a round is one call: it takes about ten milliseconds. Several rounds are
# until they have visited so many; at first so many rounds, later this part of those made so far.
SMALL = 500_000
AT_ONCE = 400_000
FEW_ROUNDS, LATER_PART = 2, 4
# The model of more examples than this is in no cache unless it is made smaller.
MANY_EXAMPLES = 1_000_000
# The largest slopes that are safe in single precision, and one over the smallest.
SINGLE = 1e12


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    rng: Generator  # for the orders
    w: FloatArray  # primal iterate
    intercept: float
    z: FloatArray  # its margins
    gaps: FloatArray  # ‖∇P‖²/(2λ) as seen along the last epoch of the last call's rounds
    seen: float = 0.0  # the last of them, 0 before the first
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
    descends: ClassVar[bool] = True

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
        """The state at ``w``, at w(α), or at zero."""
        rng = np.random.default_rng(0) if rng is None else rng
        return State(problem, rng, *starting_point(problem, w, alpha), np.empty(0))

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """Make a model, take some epochs on it, and move; several times if the problem is small."""
        p, lam_n = state.problem, state.problem.lam * state.problem.n
        unit = 2 * lam_n * p.n  # what ‖n∇P‖² is divided by
        quadratic = p.loss.quadratic
        inner = EXACT_EPOCHS if quadratic else INNER_EPOCHS
        enough = self.tol * p.primal_at_zero * unit
        if p.matrix.nnz <= SMALL:
            most = AT_ONCE // ((inner + 1) * (p.matrix.nnz + p.n))
            gaps = np.empty(max(1, min(most, max(FEW_ROUNDS, state.rounds // LATER_PART))))
            b = np.array([state.intercept])
            seed, order = int(state.rng.integers(1, 2**63)), np.arange(p.d)
            state.w, state.z = state.w.copy(), state.z.copy()
            rounds, epochs, seen, expected = _rounds(
                seed, gaps, inner, quadratic, state.seen * unit, enough, order, p.features.rows,
                p.loss, p.y, p.sample_weight, lam_n, p.fit_intercept, state.w, b, state.z,
            )  # fmt: skip
            state.intercept = float(b[0])
            state.gaps, state.seen, state.gap = gaps[:rounds] / unit, seen / unit, expected / unit
            state.rounds += rounds
            return float(epochs + rounds) * p.matrix.nnz
        first, second = slopes(p, state.z)
        model, gradient = _model(p, first, second)
        delta, delta_b, squares, epochs = np.zeros(p.d), np.zeros(1), 0.0, 0
        while epochs < inner and (epochs == 0 or squares > enough):
            before, squares = squares, 0.0
            for part in np.array_split(_order(p, state.rng), p.matrix.nnz // CHUNK + 1):
                squares += _epoch(part, p.features.rows, model, gradient, lam_n, state.w, delta)
            if p.fit_intercept:
                _intercept_step(model, gradient[-1], delta_b)
            epochs += 1
        before = before if quadratic and epochs > 1 else state.seen * unit
        state.gap, state.seen = _expected(squares, before) / unit, squares / unit
        state.gaps, state.rounds = np.array([state.seen]), state.rounds + 1
        change = p.matrix.times(delta) + delta_b[0]
        slope = float(first @ change) + lam_n * float(state.w @ delta)
        s = line_search(
            p.loss, state.z, change, p.y, p.sample_weight, slope,
            lam_n * float(state.w @ delta), lam_n * float(delta @ delta), first, second,
        )  # fmt: skip
        state.w = state.w + s * delta
        state.intercept += s * delta_b[0]
        state.z = state.z + s * change
        products = 2 if len(gradient) > 1 else 1
        return float(epochs + products) * p.matrix.nnz

    def gap_estimate(self, state: State) -> float:
        """The gap along the last epoch, less what a round takes off it."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w; its margins are recomputed so that rounding does not pile up."""
        state.z = state.problem.margins(state.w, state.intercept)
        return state.w, None

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """K and W of importance sampling, as a guide."""
        return importance_complexity(problem.features)


def _model(problem: Problem, first: FloatArray, second: FloatArray) -> tuple[Any, FloatArray]:
    """(r_j, h_j) side by side, so that one look-up finds both, and what to add to Σ_j r_j X_ij.

    The last number of the latter is for the intercept; it stands alone, a 0, if nothing is to be
    added. Of very many examples only the change of r is there, in half the memory: its digits are
    enough, since the slopes that it begins with are added exactly. They take one more product,
    which costs little where the features are much fewer.
    """
    many = problem.n > MANY_EXAMPLES and problem.n >= MUCH_SHORTER * problem.d
    if not (many and 1 / SINGLE < np.abs(first).max() < SINGLE):
        return np.stack([first, second], axis=1), np.zeros(1)
    model = np.zeros((problem.n, 2), dtype=np.float32)
    model[:, 1] = second
    return model, np.append(problem.matrix.transposed_times(first), first.sum())


def _order(problem: Problem, rng: Generator) -> IntArray:
    """A random order of the features."""
    run = run_length(problem.d, problem.matrix.nnz)
    if run == 1:
        return rng.permutation(problem.d)
    order = np.empty(problem.d, dtype=np.int64)
    random_runs(int(rng.integers(1, 2**63)), run, order)
    return order


@kernel
def _expected(seen, before):  # type: ignore[no-untyped-def]
    """The gap after an epoch: what was seen along it is older, and now a contraction smaller."""
    return seen * min(seen / before, 1.0) if before > 0.0 else seen


@kernel
def _rounds(  # type: ignore[no-untyped-def]
    seed, gaps, inner, quadratic, seen, enough, order, features, loss, y, c, lam_n, fit_intercept,
    w, b, z
):  # fmt: skip
    """Rounds of a problem so small that Ctrl-C can wait for them, as ``advance`` makes them.

    As many as ``gaps`` has room for, fewer if the gap becomes small enough. Return their number
    and that of the epochs, the gap seen along the last one and the gap to be expected now.
    """
    n, d = z.size, w.size
    model, first, second = np.empty((n, 2)), np.empty(n), np.empty(n)
    delta, delta_b, change, nothing = np.empty(d), np.empty(1), np.empty(n), np.zeros(1)
    expected, epochs = np.inf, 0
    for k in range(gaps.size):
        for j in range(n):
            slope, curvature = loss_loop_slopes(loss, z[j], y[j])
            first[j] = c[j] * slope
            model[j, 0], model[j, 1] = first[j], c[j] * curvature
        delta[:], delta_b[:], squares = 0.0, 0.0, 0.0
        for epoch in range(inner):
            before = squares if quadratic and epoch > 0 else seen
            seed = shuffle(seed, order)
            squares = _epoch(order, features, model, nothing, lam_n, w, delta)
            if fit_intercept:
                _intercept_step(model, 0.0, delta_b)
            epochs += 1
            if squares <= enough:
                break
        gaps[k], expected, seen = squares, _expected(squares, before), squares
        change[:] = delta_b[0]
        along, square = 0.0, 0.0
        for i in range(d):
            if delta[i] != 0.0:
                row_add(features, i, delta[i], change)
                along += lam_n * w[i] * delta[i]
                square += lam_n * delta[i] * delta[i]
        at_zero = along
        for j in range(n):
            at_zero += first[j] * change[j]
        s = line_search(loss, z, change, y, c, at_zero, along, square, first, second)
        for i in range(d):
            w[i] += s * delta[i]
        for j in range(n):
            z[j] += s * change[j]
        b[0] += s * delta_b[0]
        if expected <= enough:
            break
    return k + 1, epochs, seen, expected


@kernel
def _epoch(order, features, model, gradient, lam_n, w, delta):  # type: ignore[no-untyped-def]
    """A step along every feature in ``order``; Σ (n ∂P)² as seen before the steps."""
    squares = 0.0
    # The order is random: without a hint every row would be waited for.
    last = order.size - 2 * AHEAD if features.values.size > CACHED else 0
    asks, far = model.size > CACHED_VECTOR, features.values.size > FAR
    adds = gradient.size > 1
    for k in range(order.size):
        if k < last:
            later = order[k + 2 * AHEAD]
            prefetch_row(features, order[k + AHEAD], later)
            if asks:
                prefetch_targets(features, order[k + 1], model)
            elif far:
                prefetch_row_near(features, order[k + 1])
            prefetch(w, later)
            prefetch(delta, later)
            if adds:
                prefetch(gradient, later)
        i = order[k]
        slope, curvature = model_slope(features, i, model)
        if adds:
            slope += gradient[i]
        slope += lam_n * (w[i] + delta[i])
        squares += slope * slope
        step = -slope / (curvature + lam_n)
        if step != 0.0:
            delta[i] += step
            model_add(features, i, step, model)
    return squares


@kernel
def _intercept_step(model, slope, delta_b):  # type: ignore[no-untyped-def]
    curvature = 0.0
    for j in range(model.shape[0]):
        slope += model[j, 0]
        curvature += model[j, 1]
    if curvature > 0.0:
        step = -slope / curvature
        delta_b[0] += step
        for j in range(model.shape[0]):
            model[j, 0] += step * model[j, 1]
