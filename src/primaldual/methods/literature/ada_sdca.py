"""SDCA with adaptive probabilities: AdaSDCA, its practical form AdaSDCA+, and gap-wise sampling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import inlined, kernel
from ..._types import FloatArray, IntArray, Side
from ...complexity import Complexity, importance_complexity, uniform_complexity
from ...data.rows import row_add, row_dot
from ...losses import loss_derivative, loss_fenchel_gap
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_alpha
from ..dual_step import dual_step

# What AdaSDCA+ divides the weight of an example by after its draw.
SHRINK = 10.0


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    rng: Generator  # gives one uniform number per step
    kappa: FloatArray  # κ_j = c_j ‖x_j‖²/(λn)
    alpha: FloatArray  # dual iterate
    w: FloatArray  # w(α) = (1/λn) Σ_j α_j x_j, kept up to date
    tree: FloatArray  # sum tree of the weights: node k is the sum of nodes 2k and 2k + 1
    count: IntArray  # one number: steps since the weights were last computed


class AdaSDCA(Method):
    r"""SDCA that prefers the examples whose dual variables are most wrong.

    Algorithm
    ---------
    ::

        w = (1/λn) X α
        repeat
            every `refresh` steps:  q_j = |α_j + φ'_j(⟨x_j, w⟩)| √(‖x_j‖² + λn/β)  for all j
            draw j with probability q_j/Σ_l q_l
            Δ = argmax_h  −φ*_j(−(α_j + h)) − h⟨x_j, w⟩ − ‖x_j‖² h²/(2λn)
            α_j += Δ,   w += (1/λn) Δ x_j
            q_j ← q_j/shrink

    With variant="theory" (AdaSDCA) refresh = 1 and shrink = 1: these probabilities maximise the
    guaranteed progress of every step, which is never less than that of importance sampling, but
    each step costs a pass over the data. With variant="plus" (AdaSDCA+) refresh = n and
    shrink = 10: a step costs little more than one of SDCA, and there is no bound; the K of
    importance sampling is stated for both.

    The method draws the examples itself, from a sum tree in O(log n) time.

    Rate
    ----
    K = Σ_j (β‖x_j‖² + λn)/(λn), that of importance sampling, at most.

    Cost
    ----
    W = Σ_j q_j ‖x_j‖₀ + ‖X‖₀/n for the weights; a pass per step with variant="theory".

    When to use
    -----------
    Many examples that are right early and stay so, as in well separated classes.

    Parameters
    ----------
    variant : {"plus", "theory"}

    References
    ----------
    .. [1] D. Csiba, Z. Qu, P. Richtárik. "Stochastic dual coordinate ascent with adaptive
       probabilities", ICML 2015.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ()
    by_gap: ClassVar[bool] = False  # whether the weights come from the gaps G_j

    def __init__(self, variant: str = "plus") -> None:
        if variant not in ("plus", "theory"):
            raise ValueError(f"variant must be 'plus' or 'theory', got {variant!r}.")
        self.variant = variant
        self.shrink = SHRINK if variant == "plus" else 1.0

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
        rng = np.random.default_rng(0) if rng is None else rng
        squares = problem.sample_weight * problem.examples.squared_norms
        kappa = squares / (problem.lam * problem.n)
        leaves = 1 << (problem.n - 1).bit_length()
        return State(
            problem, rng, kappa, alpha, problem.primal_point(alpha), np.zeros(2 * leaves),
            np.zeros(1, np.int64),
        )  # fmt: skip

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """As many steps as there are draws, or one refresh and the steps up to the next."""
        p = state.problem
        refresh = self._refresh(p)
        chosen = np.empty(refresh if draws is None else draws.steps, np.int64)
        refreshed = _advance(
            state.rng.random(len(chosen)), p.examples.rows, p.loss, p.y, p.sample_weight, p.beta,
            p.lam * p.n, state.kappa, self.by_gap, refresh, self.shrink, state.alpha, state.w,
            state.tree, state.count, chosen,
        )  # fmt: skip
        return float(p.examples.counts[chosen].sum()) + refreshed * p.matrix.nnz

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and α, with w(α) recomputed so that rounding does not pile up."""
        state.w = state.problem.primal_point(state.alpha)
        return state.w, state.alpha

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """K of importance sampling; the refreshed weights are part of the cost."""
        stated = importance_complexity(problem.examples)
        return replace(stated, cost=stated.cost + problem.matrix.nnz / self._refresh(problem))

    def _refresh(self, problem: Problem) -> int:
        return 1 if self.variant == "theory" else problem.n


class GapSDCA(AdaSDCA):
    r"""SDCA that prefers the examples with a large part in the duality gap.

    Algorithm
    ---------
    The steps of ``AdaSDCA`` with the weights q_j = ½ G_j/Σ_l G_l + 1/(2n), computed every n steps
    and not shrunk, where G_j = φ_j(⟨x_j, w⟩) + φ*_j(−α_j) + α_j ⟨x_j, w⟩ ≥ 0 and the gap is
    (1/n) Σ_j G_j. As no example has less than half its uniform probability, K is at most twice
    that of uniform sampling.

    Rate
    ----
    K = 2(n + βR²/λ), twice that of uniform sampling, at most.

    Cost
    ----
    W = 2‖X‖₀/n, the weights included.

    When to use
    -----------
    As ``AdaSDCA``, with weights that read off the certificate which examples are left to do.

    References
    ----------
    .. [1] D. Perekrestenko, V. Cevher, M. Jaggi. "Faster coordinate descent via adaptive
       importance sampling", AISTATS 2017.
    .. [2] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien. "Minding the
       gaps for block Frank-Wolfe optimization of structured SVMs", ICML 2016.
    """

    by_gap: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.shrink = 1.0

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """Twice the K of uniform sampling; the refreshed weights are part of the cost."""
        stated = uniform_complexity(problem.examples)
        return replace(stated, iterations=2 * stated.iterations, cost=2 * stated.cost)


@inlined
def _settle(tree, first, last):  # type: ignore[no-untyped-def]
    """Sum up the tree above the leaves from ``first`` to ``last``."""
    while first > 1:
        first, last = first // 2, last // 2
        for k in range(first, last + 1):
            tree[k] = tree[2 * k] + tree[2 * k + 1]


@inlined
def _find(tree, uniform):  # type: ignore[no-untyped-def]
    """The leaf j drawn by a uniform number: j with probability proportional to its weight."""
    leaves = tree.size // 2
    target = uniform * tree[1]
    k = 1
    while k < leaves:
        k *= 2
        # Where rounding puts the target beyond the last positive weight, turn back to it.
        if target >= tree[k] and tree[k + 1] > 0.0:
            target -= tree[k]
            k += 1
    return k - leaves


@kernel
def _advance(  # type: ignore[no-untyped-def]
    uniforms, examples, loss, y, c, beta, lam_n, kappa, by_gap, refresh, shrink, alpha, w, tree,
    count, chosen,
):  # fmt: skip
    leaves = tree.size // 2
    refreshed = 0
    for k in range(uniforms.size):
        if count[0] == 0:
            _weigh(examples, loss, y, c, beta, lam_n, kappa, by_gap, alpha, w, tree)
            refreshed += 1
        count[0] = (count[0] + 1) % refresh
        j = _find(tree, uniforms[k])
        chosen[k] = j
        delta = dual_step(loss, c[j], alpha[j], row_dot(examples, j, w), y[j], kappa[j])
        alpha[j] += delta
        row_add(examples, j, delta / lam_n, w)
        if shrink > 1.0:
            tree[leaves + j] /= shrink
            _settle(tree, leaves + j, leaves + j)
    return refreshed


@kernel
def _weigh(examples, loss, y, c, beta, lam_n, kappa, by_gap, alpha, w, tree):  # type: ignore[no-untyped-def]
    """Compute the weights q_j of all examples."""
    n = y.size
    leaves = tree.size // 2
    q = tree[leaves : leaves + n]
    for j in range(n):
        q[j] = 0.0
        if c[j] > 0.0:
            z = row_dot(examples, j, w)
            a = alpha[j] / c[j]
            if by_gap:
                q[j] = c[j] * max(0.0, loss_fenchel_gap(loss, z, a, y[j]))
            else:
                r = abs(a + loss_derivative(loss, z, y[j]))
                # |α_j + c_jφ'_j| √(‖x_j‖² + λn/(c_jβ)), divided by √(λn)
                q[j] = r * np.sqrt(c[j] * (kappa[j] + 1.0 / beta))
    total = q.sum()
    if not 0.0 < total < np.inf:
        q[:] = 1.0
    elif by_gap:
        q[:] = 0.5 * q / total + 0.5 / n
    _settle(tree, leaves, leaves + n - 1)
