"""Semi-stochastic coordinate descent: one feature of one example at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import inlined, kernel
from ..._types import FloatArray, Side
from ...complexity import Complexity
from ...data.rows import SparseRows, row_begin, row_column, row_dot, row_end, row_value
from ...losses import loss_derivative
from ...problem import Problem
from ...samplings import Draws, Importance, Sampling
from ..base import Method, first_w
from .sag import loss_gradient, require_step
from .svrg import Epochs, per_step, random_length, require_epoch, semi_stochastic_epochs


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    rng: Generator  # for the examples, and for the lengths of epochs
    epochs: Epochs
    features: SparseRows  # the features, as sparse rows also where the data is dense
    running: FloatArray  # for every entry X_ij the sum of ω_l c_l X_il² up to it, along feature i
    rate: FloatArray  # h/p_i
    w: FloatArray  # primal iterate
    left: int  # steps left in this epoch
    slopes: FloatArray  # φ'_j(⟨x_j, w̃⟩) at the snapshot w̃
    F: FloatArray  # (1/n) Σ_j φ'_j(⟨x_j, w̃⟩) x_j


class S2CD(Method):
    r"""Semi-stochastic coordinate descent, in a form that keeps to the nonzeros.

    Algorithm
    ---------
    ::

        repeat
            F = (1/n) Σ_j φ'_j(⟨x_j, w̃⟩) x_j,   w = w̃
            draw t ∈ {1, …, m} with probability proportional to (1 − λh)^(m−t)
            for t steps:
                draw a feature i with probability p_i
                draw an example j with probability q_ij = ω_j L_ij/s_i
                w_i −= (h/p_i) ( F_i + λw_i + (φ'_j(⟨x_j, w⟩) − φ'_j(⟨x_j, w̃⟩)) X_ij/(n q_ij) )
            w̃ = w

    with L_ij = βX_ij², ω_j = ‖x_j‖₀ and s_i = Σ_j ω_j L_ij. Its own sampling is p_i ∝ s_i + λn;
    then L̂ = (1/n) Σ_i (s_i + λn), for any other one L̂ = max_i (s_i + λn)/(n p_i). One epoch
    multiplies E[P(w̃)] − P* by at most

        c = (1 − λh)^m / ((1 − (1 − λh)^m)(1 − 2L̂h)) + 2L̂h/(1 − 2L̂h),

    below 0.45 for h = 0.1/L̂ and m = 20 L̂/λ. That bound is proven for the original, which counts
    the regulariser as a part of every example and so of every L_ij. Here it is out of the random
    part and exact, which leaves the nonzeros only; the bound is stated for this form as well.

    A step costs the ‖x_j‖₀ of ⟨x_j, w⟩. The examples of a feature are found by bisection in the
    running sums of ω_j L_ij.

    Rate
    ----
    (1 − 1/K)^t̄ = c with t̄ the mean length of an epoch, with the default step and epoch c < 0.45.

    Cost
    ----
    The mean ‖x_j‖₀ of the drawn examples + ‖X‖₀/t̄.

    When to use
    -----------
    Short examples and long features, where a full partial derivative costs too much.

    Parameters
    ----------
    step : float
        h in units of 1/L̂.
    epoch : int, optional
        m; by default 20 L̂/λ, but no less than 2n.

    References
    ----------
    .. [1] J. Konečný, Z. Qu, P. Richtárik. "Semi-stochastic coordinate descent", Optimization
       Methods and Software 2017.
    """

    side: ClassVar[Side] = "primal"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ("importance", "uniform")

    def __init__(self, step: float = 0.1, epoch: int | None = None) -> None:
        require_step(step)
        require_epoch(epoch)
        self.step = step
        self.epoch = epoch

    def plan(self, problem: Problem) -> Importance:
        """p_i ∝ s_i + λn."""
        s = _costs(problem, 1) + problem.lam * problem.n
        return Importance(s / s.sum())

    def epochs(self, problem: Problem, sampling: Sampling) -> Epochs:
        """Steps and lengths, and what one epoch gains."""
        n, lam = problem.n, problem.lam
        L_hat = float(((_costs(problem, 1) + lam * n) / (n * sampling.probabilities())).max())
        return semi_stochastic_epochs(L_hat, lam, self.step, self.epoch, 2 * n)

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        w = first_w(problem, w, alpha)
        epochs = self.epochs(problem, sampling)
        features = problem.matrix.sparse_rows("feature")
        running = np.empty(len(features.values))
        _running_sums(features, problem.sample_weight * problem.examples.counts, running)
        return State(
            problem, np.random.default_rng(0) if rng is None else rng, epochs, features, running,
            epochs.eta / sampling.probabilities(), w, 0, np.zeros(problem.n), np.zeros(problem.d),
        )  # fmt: skip

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``; an epoch begins with its first step."""
        p = state.problem
        seen = 0.0
        uniforms = np.empty(0)
        first, last = 0, -1
        while last < draws.steps:
            if state.left == 0 and draws.steps:
                state.F = loss_gradient(p, p.matrix.times(state.w), state.slopes)
                state.left = random_length(
                    state.rng, state.epochs.longest, state.epochs.eta * p.lam
                )
                seen += p.matrix.nnz
            last = min(first + state.left, draws.steps)
            uniforms = state.rng.random(last - first)
            seen += _advance(
                draws.coordinates[first:last], uniforms, state.features, p.examples.rows, p.loss,
                p.y, p.sample_weight, p.examples.counts, p.lam, state.running, state.rate,
                state.slopes, state.F, state.w,
            )  # fmt: skip
            state.left -= last - first
            first = last
        return seen

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w."""
        return state.w, None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K from c; the cost is the mean ‖x_j‖₀ of the drawn examples and the full gradients."""
        epochs, nnz = self.epochs(problem, sampling), problem.matrix.nnz
        s = _costs(problem, 1)
        mean_count = np.divide(_costs(problem, 2), s, out=np.zeros(problem.d), where=s > 0)
        cost = float(sampling.probabilities() @ mean_count)
        return Complexity(per_step(epochs), cost + nnz / epochs.mean, nnz)


def _costs(problem: Problem, power: int) -> FloatArray:
    """Σ_j ω_j^power β c_j X_ij² for every feature i."""
    weights = problem.sample_weight * problem.examples.counts.astype(np.float64) ** power
    return problem.beta * problem.matrix.squared_norms("feature", weights)


@kernel
def _running_sums(features, weights, running):  # type: ignore[no-untyped-def]
    for i in range(features.indptr.size - 1):
        total = 0.0
        for k in range(row_begin(features, i), row_end(features, i)):
            x = row_value(features, i, k)
            total += weights[row_column(features, i, k)] * x * x
            running[k] = total


@inlined
def _first_above(running, low, high, level):  # type: ignore[no-untyped-def]
    """The first position in [low, high) whose running sum is above ``level``, by bisection."""
    high -= np.uint64(1)
    while low < high:
        middle = (low + high) // np.uint64(2)
        if running[middle] > level:
            high = middle
        else:
            low = middle + np.uint64(1)
    return low


@kernel
def _advance(  # type: ignore[no-untyped-def]
    coordinates, uniforms, features, examples, loss, y, c, counts, lam, running, rate, slopes, F, w
):  # fmt: skip
    n = y.size
    seen = 0
    for t, i in enumerate(coordinates):
        g = F[i] + lam * w[i]
        begin, end = row_begin(features, i), row_end(features, i)
        total = running[end - np.uint64(1)] if end > begin else 0.0
        if total > 0.0:
            k = _first_above(running, begin, end, uniforms[t] * total)
            j, x = row_column(features, i, k), row_value(features, i, k)
            q = counts[j] * c[j] * x * x / total
            slope = c[j] * loss_derivative(loss, row_dot(examples, j, w), y[j])
            g += (slope - slopes[j]) * x / (n * q)
            seen += counts[j]
        w[i] -= rate[i] * g
    return seen
