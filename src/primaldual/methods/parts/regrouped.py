"""Dual coordinate descent on blocks of parts that are dealt anew in every pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy import sparse

from ..._types import FloatArray, Layout, Side
from ...data.matrix import Matrix
from ...problem.coordinates import Coordinates
from ...problem.intercept import intercept_strength, rebalanced
from ...problem.on_parts import PartsProblem
from ...problem.one_part import Part
from ...problem.recipe import Dual
from ..base import row_work
from ..engine.active_set import all_active
from ..engine.dual_cd import DualCD, first_epoch, numbers_of
from ..engine.dual_cd import State as BlockState
from ..engine.extrapolation import room_for_past
from ..engine.orders import run_length
from ..intercept import Intercept
from .newton import PartsNewton

# Epochs on a block while it is in memory. Simulated on text and census data: 3 save half of the
# passes, more save nothing.
EPOCHS = 3
# Blocks of a pass, at least, and of how many parts each at least: the fewer the blocks, the fewer
# passes, but a block has to fit into memory.
BLOCKS = 8


@dataclass
class Block:
    """The examples in memory: the fields that descent asks of a ``Problem``."""

    matrix: Matrix
    y: FloatArray
    sample_weight: FloatArray
    loss: Any
    lam: float  # so that lam · n is λn of all examples
    fit_intercept: bool
    examples: Coordinates
    primal_at_zero: float = 1.0

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.y)

    @property
    def d(self) -> int:
        """The number of features."""
        return self.matrix.shape[1]


@dataclass
class RegroupedState:
    """Where the method stands."""

    problem: PartsProblem
    alphas: list[FloatArray]  # of every piece
    w: FloatArray  # w(α)
    numbers: FloatArray  # of the intercept's record: its centre, and Σ_j α_j
    shift: float  # of that record; 0 before the first block
    rng: Generator
    last: float = math.inf  # n times the gap along the last pass
    gap: float = math.inf  # what it should be now


class RegroupedDualCD(PartsNewton):
    r"""Coordinate descent on the dual, on as many parts at a time as memory holds.

    Algorithm
    ---------
    ::

        w = (1/λn) Σ_j α_j x_j
        repeat
            deal the parts to blocks at random
            for every block, while a thread reads the next one:
                three epochs of ``dual_cd`` on its examples, from the w of all

    Blocks that stay the same from pass to pass converge slowly: on text the gap was still 1e-2
    after 40 passes, where blocks dealt anew need 7 to 1e-6.

    Rate
    ----
    That of ``dual_cd``, with a pass in place of up to three epochs.

    Cost
    ----
    Two readings of the data in all a pass; α and w stay in memory.

    When to use
    -----------
    Parts on the disk of this machine, where the Hessian of all features is too large or the loss
    has kinks.
    """

    side: ClassVar[Side] = "dual"
    layout: ClassVar[Layout] = "by_example"
    smooth_only: ClassVar[bool] = False
    descends: ClassVar[bool] = True

    def start(  # type: ignore[override]
        self,
        problem: PartsProblem,
        sampling: Any = None,
        w: FloatArray | None = None,
        alpha: Any = None,
        rng: Generator | None = None,
    ) -> RegroupedState:
        """The state at the dual point of ``w``, or at zero."""
        pieces = problem.pieces
        if pieces is None:
            raise ValueError(
                "regrouped_dual_cd needs parts in memory or on this machine's disk. Use the method "
                "auto for parts on a cluster."
            )
        rng = np.random.default_rng(0) if rng is None else rng
        made = RegroupedState(
            problem, [np.zeros(size) for size in pieces.sizes], np.zeros(problem.d),
            np.array([float(problem.near), 0.0]), 0.0, rng,
        )  # fmt: skip
        if w is not None:
            _begin_at(made, w, float(problem.near))
        return made

    def advance(self, state: RegroupedState, draws: Any = None) -> float:  # type: ignore[override]
        """A pass over all blocks."""
        p, total = state.problem, 0.0
        for pieces, block in _blocks(state):
            total += _descend(state, pieces, block)
        if not p.is_smooth:
            Intercept(state.shift, state.numbers).move_centre()
        p.parts.meter.rounds += 1
        fall = min(total / state.last, 1.0) if math.isfinite(state.last) else 1.0
        state.last, state.gap = total, fall * total / p.n
        return float(p.matrix.nnz)

    def iterate(self, state: RegroupedState) -> tuple[FloatArray, Any]:  # type: ignore[override]
        """w, and α moved into the plane of the free intercept."""
        p = state.problem
        alpha = np.concatenate(state.alphas)
        if p.fit_intercept:
            alpha = rebalanced(alpha)
        sizes = [fact.n for fact in p.facts]
        given = np.split(alpha, np.cumsum(sizes)[:-1])
        b = float(state.numbers[0] + state.shift * state.numbers[1]) if p.fit_intercept else 0.0
        arrays = [each if size else None for each, size in zip(given, sizes, strict=True)]
        return state.w, Dual(state.w.copy(), b, given=arrays)

    def gap_estimate(self, state: RegroupedState) -> float:  # type: ignore[override]
        """The gap along the last pass, less what such a pass takes off it."""
        return state.gap

    def label(self, state: Any) -> str:
        """The name of the method."""
        return "regrouped_dual_cd"


def _begin_at(state: RegroupedState, w: FloatArray, b: float) -> None:
    """α_j = −c_j φ'_j at the margins of w, and its w(α), in a pass."""
    p = state.problem
    assert p.pieces is not None
    for number, alpha in enumerate(state.alphas):
        part = p.pieces.parts.load(number)
        if part is not None:
            alpha[:] = -part.slopes(part.margins(w, b))[0]
            state.w += part.product(alpha) / (p.lam * p.n)
            state.numbers[1] += alpha.sum()
    p.parts.meter.rounds += 1


def _blocks(state: RegroupedState) -> Iterator[tuple[list[int], Block]]:
    """The blocks of a pass with the numbers of their pieces; a thread reads one ahead."""
    p = state.problem
    assert p.pieces is not None
    count = len(state.alphas)
    groups = max(math.ceil(count / p.pieces.fitting), min(BLOCKS, count))
    order = state.rng.permutation(count)
    dealt = [sorted(group.tolist()) for group in np.array_split(order, groups)]
    dealt = [[k for k in group if len(state.alphas[k])] for group in dealt]
    dealt = [group for group in dealt if group]

    def read(group: list[int]) -> Block:
        assert p.pieces is not None
        return _joined([p.pieces.parts.load(k) for k in group], p)

    with ThreadPoolExecutor(1) as reader:
        ahead = reader.submit(read, dealt[0])
        for number, group in enumerate(dealt):
            block = ahead.result()
            if number + 1 < len(dealt):
                ahead = reader.submit(read, dealt[number + 1])
            yield group, block
            del block


def _joined(parts: list[Part], p: PartsProblem) -> Block:
    """Several parts as one block in memory."""
    rows: list[Any] = [part.matrix.by_example for part in parts]
    if parts[0].matrix.is_sparse:
        made = [
            sparse.csr_array((each.values, each.indices, each.indptr), shape=part.matrix.shape)
            for each, part in zip(rows, parts, strict=True)
        ]
        matrix = Matrix(sparse.vstack(made, format="csr"))
    else:
        matrix = Matrix(np.concatenate([each.values for each in rows]))
    y = np.concatenate([part.y for part in parts])
    c = np.concatenate([part.sample_weight for part in parts])
    lam_n = p.lam * p.n
    side = Coordinates(
        matrix, "example", p.beta, lam_n, multipliers=c, has_intercept=p.fit_intercept
    )
    return Block(matrix, y, c, p.loss, lam_n / len(y), p.fit_intercept, side)


def _descend(state: RegroupedState, pieces: list[int], block: Block) -> float:
    """A few epochs on a block; Σ_j c_j times the gaps of its examples before their first steps."""
    p: Any = block
    if state.shift == 0.0 and block.fit_intercept:
        strength = intercept_strength(block.examples, state.problem.lam)
        state.shift = 1.0 / (strength * state.problem.n)
        state.numbers[0] -= state.shift * state.numbers[1]  # b stays where it is
    alpha = np.concatenate([state.alphas[k] for k in pieces])
    inner = BlockState(
        p, first_epoch(int(state.rng.integers(1, 2**63))), all_active(block.n),
        numbers_of(p, alpha, state.shift * block.examples.lam_n), state.w,
        Intercept(state.shift, state.numbers), np.full(3, np.nan), room_for_past(p, False),
        row_work(block.examples), np.empty(0), np.empty(0), run_length(block.n, block.matrix.nnz),
    )  # fmt: skip
    method, first, centre = DualCD(extrapolates=False, most_epochs=1), math.nan, state.numbers[0]
    for _ in range(EPOCHS):
        method.advance(inner)
        if not state.problem.is_smooth:
            # With kinks it must not follow before a pass over all blocks is made: then it does not
            # converge. Without, that costs up to 8 more passes.
            state.numbers[0] = centre
        first = float(inner.gaps[0]) * block.n if math.isnan(first) else first
    ends = np.cumsum([len(state.alphas[k]) for k in pieces])[:-1]
    for number, mine in zip(pieces, np.split(inner.alpha, ends), strict=True):
        state.alphas[number] = mine.copy()
    return first
