"""Distributed primal coordinate descent (Hydra), over a Workers object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import inlined_in_loops, kernel
from ..._types import FloatArray, IntArray, Side
from ...complexity import Complexity, complexity
from ...data.copies import consecutive
from ...data.rows import Rows, row_begin, row_column, row_end, row_slope, row_value
from ...problem import Problem
from ...samplings import Distributed, Draws, Sampling
from .. import nsync
from ..base import Method, first_w, visited
from .workers import Crew, InProcess, Workers, cut


@dataclass
class Node:
    """What one node owns: its features, their weights, and all labels."""

    first: int  # the number of its first feature
    rows: Rows  # its features
    counts: IntArray  # the nonzeros of each
    step: FloatArray  # n / (β u_i + λn)
    w: FloatArray  # its part of the primal iterate
    loss: Any
    y: FloatArray
    c: FloatArray  # the examples' weights
    lam: float


@dataclass
class State(nsync.State):
    """Where the method stands; w is that of the nodes, as far as they live in this memory."""

    workers: Workers  # the nodes


class Hydra(Method):
    r"""Distributed primal RCD: NSync with the (c, τ)-distributed sampling.

    Algorithm
    ---------
    ::

        node l owns a block of features and their w
        repeat
            on every node l, from the same z
                draw a subset S_l of τ of its features
                for i in S_l:   Δ_i = −n/(β u_i + λn) · ( (1/n) Σ_j φ'_j(z_j) X_ij + λ w_i )
                for i in S_l:   w_i += Δ_i
            z += Σ_l Σ_{i∈S_l} Δ_i X_i:                                          (all-reduce)

    The expected error contracts by 1 − 1/K per iteration, K = (s/τ) max_i (β u_i + λn)/(λn) with
    s features per node and the u of ``Distributed.eso``. The iterates are those of NSync with the
    same draws, to the bit: what differs is where things live. A node answers with the entries of
    z that it changes, so an iteration costs the nonzeros of its rows, and a call of every node.
    Nodes ``InProcess`` see each other's memory and need no calls: there the kernel of NSync takes
    all iterations at once.

    Rate
    ----
    K = (s/τ) max_i (β u_i + λn)/(λn) with s features per node.

    Cost
    ----
    W = Σ_i (τ/s) ‖X_i:‖₀, and a message per iteration.

    When to use
    -----------
    Data distributed by features.

    Parameters
    ----------
    blocks, tau : int, optional
        c and τ of the default sampling; there is one node per block.
    workers : callable
        Builds the workers from the list of nodes.

    References
    ----------
    .. [1] P. Richtárik, M. Takáč. "Distributed coordinate descent method for learning with big
       data", JMLR 2016.
    """

    side: ClassVar[Side] = "primal"
    free_intercept: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ("distributed",)

    def __init__(
        self, blocks: int | None = None, tau: int | None = None, workers: Crew = InProcess
    ) -> None:
        self.blocks = blocks
        self.tau = tau
        self.workers = workers

    def plan(self, problem: Problem) -> Sampling:
        """The distributed sampling of the features."""
        return Distributed.plan(problem.features, self.blocks, self.tau)

    def start(
        self,
        problem: Problem,
        sampling: Distributed,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        w, features = first_w(problem, w, alpha), problem.features
        step = problem.n / features.curvature(sampling.eso(features))
        nodes = [
            Node(
                first, consecutive(features.rows, first, last), features.counts[first:last],
                step[first:last], w[first:last],
                problem.loss, problem.y, problem.sample_weight, problem.lam,
            )
            for first, last in cut(problem.d, sampling.block_size, sampling.blocks)
        ]  # fmt: skip
        state = State(problem, step, w, problem.matrix.times(w), 0.0, self.workers(nodes))
        nsync.move_intercept(state)
        return state

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        if type(state.workers) is InProcess:  # a subclass may keep its parts apart
            return nsync.NSync().advance(state, draws)
        starts, coordinates = draws
        if not draws.steps:  # compile
            _reduce(state, coordinates[:0])
        for k in range(draws.steps):
            _reduce(state, coordinates[starts[k] : starts[k + 1]])
        nsync.move_intercept(state)
        return visited(state.problem.features, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w, with the margins recomputed so that rounding does not pile up."""
        w = np.concatenate(state.workers.run(_weights))
        state.z = state.problem.margins(w, state.intercept)
        return w, None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K_P, eq. (8), of the distributed sampling."""
        return complexity(problem.features, sampling)


def _reduce(state: State, S: IntArray) -> None:
    """One iteration on all nodes, and the sum of their changes of z."""
    for indices, values in state.workers.run(_iterate, S, state.z):
        _scatter(indices, values, state.z)


def _iterate(node: Node, S: IntArray, z: FloatArray) -> tuple[IntArray, FloatArray]:
    """One iteration of a node: move its features among S; the entries of z that change."""
    return _move(
        S, node.first, node.rows, node.counts, node.loss, node.y, node.c, node.lam, node.step,
        node.w, z,
    )  # fmt: skip


def _weights(node: Node) -> FloatArray:
    return node.w


@kernel
def _move(S, first, rows, counts, loss, y, c, lam, step, w, z):  # type: ignore[no-untyped-def]
    n = y.size
    size = 0
    for i in S:
        if first <= i < first + w.size:
            size += counts[i - first]
    indices, values = np.empty(size, np.int64), np.empty(size)
    end = 0
    for i in S:  # z is that of all nodes and stays as it is
        if first <= i < first + w.size:
            own = i - first
            delta = -step[own] * (row_slope(rows, own, loss, z, y, c) / n + lam * w[own])
            w[own] += delta
            end = _copy_row(rows, own, delta, indices, values, end)
    return indices, values


@kernel
def _scatter(indices, values, z):  # type: ignore[no-untyped-def]
    for k in range(indices.size):
        z[indices[k]] += values[k]


@inlined_in_loops
def _copy_row(rows, i, scale, indices, values, end):  # type: ignore[no-untyped-def]
    """Write the entries of scale · row_i behind ``end``; where they end now."""
    for k in range(row_begin(rows, i), row_end(rows, i)):
        x = row_value(rows, i, k)
        if x != 0.0:
            indices[end], values[end] = row_column(rows, i, k), scale * x
            end += 1
    return end
