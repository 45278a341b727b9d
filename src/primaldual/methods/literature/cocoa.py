"""Distributed dual coordinate descent (CoCoA+), over a Workers object."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from ..._numba.compile import kernel
from ..._types import FloatArray, IntArray, Side
from ...complexity import Complexity
from ...data.copies import consecutive, on_support
from ...data.rows import Rows, row_add, row_dot
from ...problem import Problem
from ...problem.intercept import intercept_strength
from ...samplings import DEFAULT_BLOCKS, Draws, Sampling, Uniform
from ..base import Method, first_alpha, visited
from ..dual_step import dual_step
from .workers import Crew, InProcess, Workers, cut


@dataclass
class Node:
    """What one node owns: its examples, their α, and a w of its own for the features they have."""

    first: int  # the number of its first example
    rows: Rows  # its examples, without the features that none of them has
    support: IntArray  # the features that are left
    y: FloatArray
    c: FloatArray  # the examples' weights
    kappa: FloatArray  # σ' v_j / (λn), the curvature of the local problem along α_j
    loss: Any
    sigma: float  # σ'
    lam_n: float  # λn
    shift: float  # 1/(λ_b n) with a free intercept, else 0
    alpha: FloatArray  # α_j at the beginning of the round
    moved: FloatArray  # α_j + Δ_j
    w: FloatArray  # w + (σ'/λn) Σ_j Δ_j x_j over its own examples, on the support
    w_before: FloatArray  # w at the beginning of the round, on the support
    bias: FloatArray  # one number, the intercept, moved with its own Δ like w


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    workers: Workers  # the nodes
    w: FloatArray  # w(α) at the beginning of the round
    round: int  # draws that make a round, of all nodes together
    taken: int  # draws of this round so far
    centre: float  # centre of the proximal term on a free intercept, moved after every round
    total: float  # Σ_j α_j at the beginning of the round
    shift: float  # 1/(λ_b n) with a free intercept, else 0


class CoCoA(Method):
    r"""Distributed dual RCD: nodes solve local problems and add up what they found (CoCoA+).

    Algorithm
    ---------
    ::

        node l owns a block of examples and their α;  w = (1/λn) Σ_j α_j x_j
        repeat
            on every node l:   w_l = w,  Δ = 0
                for j in its share of the draws:
                    h = argmax_h  −φ*_j(−(α_j + Δ_j + h)) − h⟨x_j, w_l⟩ − σ' ‖x_j‖² h²/(2λn)
                    Δ_j += h,   w_l += (σ'/λn) h x_j
                α += γ Δ
            w += (γ/λn) Σ_l Σ_{j∈l} Δ_j x_j                                      (all-reduce)

    with σ' = γ K for K nodes. A round is the next ``local_epochs`` · n examples of the draws; each
    node takes those that are its own, in their order, about ``local_epochs`` passes over its
    block. So the local order is that of the sampling, and the randomness of the method is all in
    the draws. Between rounds α is feasible and w = w(α); an iterate in the middle of a round is
    the one that would come of ending the round there.

    If a node's local steps leave the part Θ of its local error, the expected dual error
    contracts per round by 1 − γ(1 − Θ)/(1 + β σ' σ_max/(λn)), σ_max = max_l ‖X_l‖² (spectral
    norm). With serial draws Θ = (1 − min_j q_j λn/(β σ' ‖x_j‖² + λn))^(local_epochs · n).

    A free intercept is handled by the method of multipliers, as in Quartz.

    Rate
    ----
    K = H (1 + βσ'σ_max/(λn))/(γ(1 − Θ)) draws, H = local_epochs · n of them in a round.

    Cost
    ----
    W = Σ_j q_j ‖x_j‖₀, and a message of a node's features per round.

    When to use
    -----------
    Data distributed by examples, where a message costs much more than a pass over a node's block.

    Parameters
    ----------
    nodes : int, optional
        K, at most n.
    gamma : float
        γ in (0, 1]: 1 adds the nodes' changes, 1/K averages them.
    sigma : float, optional
        σ', by default γ K, which is always safe.
    local_epochs : float
        Passes of a node over its block per round.
    workers : callable
        Builds the workers from the list of nodes.

    References
    ----------
    .. [1] C. Ma, V. Smith, M. Jaggi, M. I. Jordan, P. Richtárik, M. Takáč. "Adding vs. averaging
       in distributed primal-dual optimization", ICML 2015.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ("uniform", "permutation", "importance")

    def __init__(
        self,
        nodes: int | None = None,
        gamma: float = 1.0,
        sigma: float | None = None,
        local_epochs: float = 1.0,
        workers: Crew = InProcess,
    ) -> None:
        if nodes is not None and nodes < 1:
            raise ValueError(f"nodes must be at least 1, got {nodes!r}.")
        if not 0 < gamma <= 1:
            raise ValueError(f"gamma must be in (0, 1], got {gamma!r}.")
        if sigma is not None and not 0 < sigma < math.inf:
            raise ValueError(f"sigma must be positive, got {sigma!r}.")
        if not 0 < local_epochs < math.inf:
            raise ValueError(f"local_epochs must be positive, got {local_epochs!r}.")
        self.nodes = nodes
        self.gamma = gamma
        self.sigma = sigma
        self.local_epochs = local_epochs
        self.workers = workers

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``alpha``, at the dual point of ``w``, or at zero."""
        alpha = first_alpha(problem, w, alpha)
        w = problem.primal_point(alpha)
        n, lam_n = problem.n, problem.lam * problem.n
        shift = 0.0
        if problem.fit_intercept:
            shift = 1 / (intercept_strength(problem.examples, problem.lam) * n)
        total = float(alpha.sum())
        centre = problem.best_intercept(problem.matrix.times(w)) - shift * total
        sigma = self._sigma(problem)
        v = Uniform(n).eso(problem.examples)
        nodes = []
        for first, last in self._blocks(problem):
            rows, support = on_support(consecutive(problem.examples.rows, first, last), problem.d)
            own = slice(first, last)
            nodes.append(
                Node(
                    first, rows, support, problem.y[own], problem.sample_weight[own],
                    sigma * v[own] / lam_n, problem.loss, sigma, lam_n, shift,
                    alpha[own].copy(), alpha[own].copy(), w[support], w[support],
                    np.array([centre + shift * total]),
                )
            )  # fmt: skip
        draws = max(1, round(self.local_epochs * n))
        return State(problem, self.workers(nodes), w, draws, 0, centre, total, shift)

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``, and end the rounds that they complete."""
        order = draws.coordinates
        first = 0
        while True:
            last = min(len(order), first + state.round - state.taken)
            state.workers.run(_solve_locally, order[first:last])
            state.taken += last - first
            first = last
            if state.taken == state.round:
                self._end_round(state)
            if first == len(order):
                return visited(state.problem.examples, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """w and α if the round ended here, with w(α) recomputed so that rounding does not pile up.

        The nodes are not disturbed: the round goes on.
        """
        alpha = np.concatenate(state.workers.run(_dual_point, self.gamma))
        w = state.problem.primal_point(alpha)
        if state.taken == 0:
            state.w, state.total = w, float(alpha.sum())
            self._broadcast(state)
        # With a free intercept α is feasible only in the limit: let the certificate make one.
        return w, None if state.problem.fit_intercept else alpha

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """Iterations are draws: K is a round of them times the number of rounds."""
        examples = problem.examples
        p, sigma, lam_n = sampling.probabilities(), self._sigma(problem), problem.lam * problem.n
        draws = max(1, round(self.local_epochs * problem.n))
        s = examples.curvature(sigma * Uniform(problem.n).eso(examples))
        left = math.exp(draws * math.log1p(-min(float((p * lam_n / s).min()), 1 - 1e-16)))  # Θ
        spread = problem.beta * sigma * self._largest_norm(problem) / lam_n
        rounds = (1 + spread) / (self.gamma * (1 - left))
        return Complexity(draws * rounds, float(p @ examples.counts), examples.nnz)

    def _end_round(self, state: State) -> None:
        for support, change, sum_change in state.workers.run(_end_round, self.gamma):
            state.w[support] += change
            state.total += sum_change
        state.taken = 0
        state.centre += state.shift * state.total
        self._broadcast(state)

    def _broadcast(self, state: State) -> None:
        state.workers.run(_begin_round, state.w, state.centre + state.shift * state.total)

    def _blocks(self, problem: Problem) -> list[tuple[int, int]]:
        nodes = self._node_count(problem)
        return cut(problem.n, -(-problem.n // nodes), nodes)

    def _node_count(self, problem: Problem) -> int:
        return min(DEFAULT_BLOCKS if self.nodes is None else self.nodes, problem.n)

    def _sigma(self, problem: Problem) -> float:
        return self.gamma * self._node_count(problem) if self.sigma is None else self.sigma

    def _largest_norm(self, problem: Problem) -> float:
        """σ_max = max_l ‖X_l‖², with the examples' weights, never underestimated."""
        stored = problem.matrix.sparse_rows("example")
        entries = (stored.values, stored.indices, stored.indptr)
        X = sparse.csr_array(entries, shape=problem.matrix.shape)
        root, constant = np.sqrt(problem.sample_weight), problem.examples.constant
        return max(
            _squared_norm(X[first:last], root[first:last], constant)
            for first, last in self._blocks(problem)
        )


# --------------------------------------------------------------------------------------------
# What a node does


def _solve_locally(node: Node, draws: IntArray) -> None:
    """The node's own steps among ``draws``."""
    _local_steps(
        draws, node.first, node.rows, node.loss, node.y, node.c, node.kappa,
        node.sigma / node.lam_n, node.sigma * node.shift, node.moved, node.w, node.bias,
    )  # fmt: skip


def _dual_point(node: Node, gamma: float) -> FloatArray:
    """The node's α if the round ended here."""
    # Not α + γ(moved − α): with γ = 1 that would round α out of its domain.
    return (1 - gamma) * node.alpha + gamma * node.moved


def _end_round(node: Node, gamma: float) -> tuple[IntArray, FloatArray, float]:
    """Move α; the node's contribution to w, and to Σ_j α_j."""
    alpha = _dual_point(node, gamma)
    sum_change = float((alpha - node.alpha).sum())
    node.alpha[:], node.moved[:] = alpha, alpha
    return node.support, gamma / node.sigma * (node.w - node.w_before), sum_change


def _begin_round(node: Node, w: FloatArray, bias: float) -> None:
    """Start from the w of all nodes."""
    node.w[:] = w[node.support]
    node.w_before[:] = node.w
    node.bias[0] = bias


@kernel
def _local_steps(  # type: ignore[no-untyped-def]
    draws, first, rows, loss, y, c, kappa, pull, tilt, alpha, w, bias
):  # fmt: skip
    for j in draws:
        own = j - first
        if own < 0 or own >= alpha.size:
            continue
        z = row_dot(rows, own, w) + bias[0]
        delta = dual_step(loss, c[own], alpha[own], z, y[own], c[own] * kappa[own])
        alpha[own] += delta
        row_add(rows, own, pull * delta, w)
        bias[0] += tilt * delta


def _squared_norm(X: Any, root: FloatArray, constant: float) -> float:
    """The largest eigenvalue of A Aᵀ, A = Diag(root) [X, √constant]."""
    size = X.shape[0]
    if size == 0:
        return 0.0

    def product(h: FloatArray) -> FloatArray:
        h = root * np.ravel(h)
        return np.asarray(root * (X @ (X.T @ h) + constant * h.sum()))

    if size <= 64:
        gram = np.stack([product(e) for e in np.eye(size)])
        return float(np.linalg.eigvalsh((gram + gram.T) / 2)[-1])
    operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(size)
    estimate = eigsh(operator, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)
    return 1.01 * float(estimate[0])
