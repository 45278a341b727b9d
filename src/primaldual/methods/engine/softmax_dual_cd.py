"""Dual coordinate descent for the softmax loss: sparse data with many features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.clock import look_at_clock
from ..._numba.compile import kernel
from ..._types import FloatArray, Side
from ...complexity import Complexity, importance_complexity
from ...problem.intercept import intercept_strength
from ...problem.multinomial import Multinomial
from ...samplings import Draws, Sampling
from ..base import CHUNK, Method


@dataclass
class DualState:
    """Where dual descent stands."""

    problem: Multinomial
    rng: Generator  # for the orders
    norms: FloatArray  # ‖x_j‖², with the intercepts' share
    q: FloatArray  # e_{y_j} − α_j/c_j, (n, K)
    w: FloatArray  # W(α)ᵀ, (d, K), kept up to date
    shift: float  # 1/(λ_b n) with free intercepts, else 0
    bias: FloatArray  # the intercepts' centres and Σ_j α_j, (2, K)
    gap: float = np.inf  # the gap as seen along the last epoch


class SoftmaxDualCD(Method):
    r"""Dual coordinate descent on one example at a time, all its classes at once.

    Algorithm
    ---------
    ::

        repeat
            for j in a new random order of the examples:
                z = W x_j + b,   κ = c_j ‖x_j‖²/(λn)
                q⁺ = argmin over the simplex of  Σ_k q_k ln q_k − ⟨q, z⟩ + (κ/2) ‖q − q_j‖²
                W −= (c_j/(λn)) (q⁺ − q_j) x_jᵀ,   q_j = q⁺

    The block problem is solved on two levels: ln q_k + κ q_k = z_k + κ q_jk + ν by Newton's method
    for each class, and ν by Newton's method from Σ_k q_k = 1. Free intercepts are treated as in
    ``DualCD``.

    References
    ----------
    .. [1] H.-F. Yu, F.-L. Huang, C.-J. Lin. "Dual coordinate descent methods for logistic
       regression and maximum entropy models", Machine Learning 2011.
    """

    side: ClassVar[Side] = "dual"
    samplings: ClassVar[tuple[str, ...]] = ()
    free_intercept: ClassVar[bool] = True
    name = "dual_cd"

    def start(
        self,
        problem: Multinomial,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> DualState:
        """The state at ``alpha``, at the dual point of a start, or at zero."""
        n, classes = problem.n, len(problem.classes)
        bias, shift = np.zeros((2, classes)), 0.0
        if alpha is None and w is None:
            alpha = np.zeros((n, classes))
        elif alpha is None:
            z = problem.margins(w)  # type: ignore[arg-type]
            bias[0] = problem.best_intercept(z)
            alpha = problem.dual_point(z + bias[0])
        else:
            alpha = problem.nearest_dual(alpha)
        w = problem.primal_point(alpha)
        if problem.fit_intercept:
            shift = 1.0 / (intercept_strength(problem.examples, problem.lam) * n)
            bias[1] = alpha.sum(axis=0)
            if alpha.any():
                bias[0] = problem.best_intercept(problem.margins(w), bias[0]) - shift * bias[1]
        at = np.ascontiguousarray(w.T)
        side = problem.examples
        return DualState(
            problem, np.random.default_rng(0) if rng is None else rng,
            side.squared_norms + side.constant, problem.probabilities(alpha), at, shift, bias,
        )  # fmt: skip

    def advance(self, state: DualState, draws: Draws | None = None) -> float:
        """One epoch."""
        p = state.problem
        rows = p.matrix.sparse_rows("example")
        order, gap = state.rng.permutation(p.n), 0.0
        per_example = (p.matrix.nnz / p.n + 1) * len(p.classes)  # numbers, about
        length = int(CHUNK / per_example) + 1
        for first in range(0, p.n, length):
            look_at_clock()
            gap = _descend(
                order[first : first + length], gap, rows, p.sample_weight, p.lam * p.n,
                state.norms, state.q, state.w, state.bias, state.shift,
            )  # fmt: skip
        state.gap = gap / p.n
        state.bias[0] += state.shift * state.bias[1]
        return float(p.matrix.nnz)

    def gap_estimate(self, state: DualState) -> float:
        """The gap along the last epoch; from scratch it is usually smaller."""
        return state.gap

    def iterate(self, state: DualState) -> tuple[FloatArray, FloatArray | None]:
        """W and α, made feasible."""
        p = state.problem
        w = np.ascontiguousarray(state.w.T)
        alpha = -state.q * p.sample_weight[:, None]
        alpha[np.arange(p.n), p.codes] += p.sample_weight
        return w, p.rebalanced(alpha)

    def label(self, state: DualState) -> str:
        """The name of the method."""
        return self.name

    def complexity(self, problem: Multinomial, sampling: Sampling | None = None) -> Complexity:
        """K and W of importance sampling, as a guide."""
        return importance_complexity(problem.examples)


@kernel
def _descend(order, gap, rows, c, lam_n, norms, q, w, bias, shift):  # type: ignore[no-untyped-def]
    """A step for each of the examples in ``order``; add their gaps to ``gap``."""
    classes = q.shape[1]
    z, fresh, logs = np.empty(classes), np.empty(classes), np.empty(classes)
    for j in order:
        if c[j] == 0.0:
            continue
        for k in range(classes):
            z[k] = bias[0, k] + shift * bias[1, k]
        low, high = np.uint64(rows.indptr[j]), np.uint64(rows.indptr[j + 1])
        for t in range(low, high):
            line, x = w[np.uint64(rows.indices[t])], rows.values[t]
            for k in range(classes):
                z[k] += x * line[k]
        gap += c[j] * _divergence(q[j], z)
        block_step(q[j], z, c[j] * norms[j] / lam_n, fresh, logs)
        for k in range(classes):
            change = -c[j] * (fresh[k] - q[j, k])
            q[j, k] = fresh[k]
            bias[1, k] += change
            fresh[k] = change / lam_n
        for t in range(low, high):
            line, x = w[np.uint64(rows.indices[t])], rows.values[t]
            for k in range(classes):
                line[k] += x * fresh[k]
    return gap


@kernel
def _divergence(q, z):  # type: ignore[no-untyped-def]
    """KL(q ‖ softmax(z))."""
    top = z.max()
    total, entropy = 0.0, 0.0
    for k in range(q.size):
        total += np.exp(z[k] - top)
        if q[k] > 0.0:
            entropy += q[k] * (np.log(q[k]) - z[k] + top)
    return max(entropy + np.log(total), 0.0)


@kernel
def block_step(q, z, kappa, out, logs):  # type: ignore[no-untyped-def]
    """argmin over the simplex of Σ out ln out − ⟨out, z⟩ + (κ/2)‖out − q‖², into ``out``."""
    classes = q.size
    top = z.max()
    total = 0.0
    for k in range(classes):
        total += np.exp(z[k] - top)
        logs[k] = np.log(q[k]) if q[k] > 1e-13 else -30.0
    nu = -top - np.log(total)  # exact where q is softmax(z) already
    low, high = -np.inf, np.inf
    for _ in range(60):
        total, slope = 0.0, 0.0
        for k in range(classes):
            logs[k] = _log_root(z[k] + kappa * q[k] + nu, kappa, logs[k])
            out[k] = np.exp(logs[k])
            total += out[k]
            slope += out[k] / (1.0 + kappa * out[k])
        if abs(total - 1.0) <= 1e-13 * classes:
            break
        if total > 1.0:
            high = nu
        else:
            low = nu
        step = np.log(total) * total / slope if slope > 0.0 else np.nan
        following = nu - step
        if not (low < following < high):
            if np.isfinite(low) and np.isfinite(high):
                following = 0.5 * (low + high)
            else:
                following = nu - 1.0 if total > 1.0 else nu + 1.0
        if following == nu:
            break
        nu = following
    for k in range(classes):
        out[k] /= total


@kernel
def _log_root(t, kappa, u):  # type: ignore[no-untyped-def]
    """u with u + κ exp(u) = t, by Newton's method from the right of the root or the given u."""
    upper = t
    if t > 0.0 and kappa > 0.0:
        upper = min(t, max(0.0, np.log(t / kappa)))
    u = min(u, upper)
    for _ in range(100):
        grown = kappa * np.exp(u)
        step = (u + grown - t) / (1.0 + grown)
        u = min(u - step, upper)
        if abs(step) <= 1e-9 * (1.0 + abs(u)):  # the next step would be the square of this one
            break
    return u
