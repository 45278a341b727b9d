"""Dual coordinate descent as it is fast in practice: exact steps, reshuffled every epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from .._compile import kernel
from .._types import FloatArray, IntArray, Side
from ..complexity import Complexity, importance_complexity
from ..losses import loss_dual_step, loss_fenchel_gap
from ..problem import Problem
from ..rows import row_add, row_dot
from ..samplings import Draws, Sampling
from .base import CHUNK, first_alpha

# A problem with fewer nonzeros than this gets several epochs in one call, but not too many.
SMALL = 20_000
MOST_EPOCHS = 8


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    rng: Generator  # for the orders
    order: IntArray  # of the examples, reshuffled in every epoch
    norms: FloatArray  # ‖x_j‖², with the intercept's share
    alpha: FloatArray  # dual iterate
    w: FloatArray  # w(α) = (1/λn) Σ_j α_j x_j, kept up to date
    shift: float  # 1/(λ_b n) with a free intercept, else 0
    bias: FloatArray  # the intercept's centre and Σ_j α_j
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
    sampling is stated as a guide. A free intercept is treated as in ``Quartz``.

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
    samplings: ClassVar[tuple[str, ...]] = ()

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
            problem, np.random.default_rng(0) if rng is None else rng, np.arange(problem.n),
            side.squared_norms + side.constant, alpha, w, shift, bias, np.inf,
        )  # fmt: skip

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One epoch."""
        p, nnz = state.problem, state.problem.matrix.nnz
        data = (
            p.examples.rows, p.loss, p.y, p.sample_weight, p.lam * p.n,
            state.norms, state.alpha, state.w, state.bias, state.shift,
        )  # fmt: skip
        seed = state.rng.integers(1, 2**63)
        epochs = min(1 + SMALL // (nnz + 16 * p.n), MOST_EPOCHS)
        if epochs > 1:
            state.gap = _epochs(epochs, seed, state.order, *data) / p.n
            return float(epochs * nnz)
        _shuffle(seed, state.order)
        # In pieces of about CHUNK nonzeros, so that Ctrl-C is heard between them.
        parts = np.array_split(state.order, nnz // CHUNK + 1) if nnz > CHUNK else [state.order]
        state.gap = sum(_visit(part, *data) for part in parts) / p.n
        state.bias[0] += state.shift * state.bias[1]
        return float(nnz)

    def gap_estimate(self, state: State) -> float:
        """The gap along the last epoch; from scratch it is usually smaller."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and α."""
        # With a free intercept α is feasible only in the limit: let the certificate make one.
        return state.w, None if state.problem.fit_intercept else state.alpha

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """K and W of importance sampling, as a guide."""
        return importance_complexity(problem.examples)


@kernel
def _epochs(epochs, seed, order, examples, loss, y, c, lam_n, norms, alpha, w, bias, shift):  # type: ignore[no-untyped-def]
    """Several epochs of a small problem, so that calling costs less than working."""
    gap = np.inf
    for _ in range(epochs):
        seed = _shuffle(seed, order)
        gap = _visit(order, examples, loss, y, c, lam_n, norms, alpha, w, bias, shift)
        bias[0] += shift * bias[1]
    return gap


@kernel
def _shuffle(seed, order):  # type: ignore[no-untyped-def]
    """A Fisher-Yates shuffle by Marsaglia's xorshift64; return the generator's new state."""
    state = np.uint64(seed)
    for last in range(order.size - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        other = np.int64(state % np.uint64(last + 1))
        order[last], order[other] = order[other], order[last]
    return np.int64(state >> np.uint64(1)) | 1


@kernel
def _visit(order, examples, loss, y, c, lam_n, norms, alpha, w, bias, shift):  # type: ignore[no-untyped-def]
    """One exact step for every example in ``order``; the sum of their gaps before the steps."""
    gap = 0.0
    for j in order:
        if c[j] == 0.0:
            continue
        z = row_dot(examples, j, w) + bias[0] + shift * bias[1]
        a = alpha[j] / c[j]
        gap += c[j] * loss_fenchel_gap(loss, z, a, y[j])
        delta = c[j] * loss_dual_step(loss, a, z, y[j], c[j] * norms[j] / lam_n)
        if delta != 0.0:
            alpha[j] += delta
            bias[1] += delta
            row_add(examples, j, delta / lam_n, w)
    return gap
