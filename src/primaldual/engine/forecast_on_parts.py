"""What a fit on data in parts should take, before it starts: rounds, bytes and seconds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .._types import Side
from ..methods.parts.averaged_newton import LOCAL_STEPS, MOVES
from ..methods.parts.regrouped import EPOCHS
from ..problem.on_parts import PartsProblem
from ..wording import duration, finite, number
from .forecast import slowness
from .machine import MACHINE
from .on_parts import choose_on_parts

# Rounds to a relative gap of 1e-6 with those before and behind the steps: the middle of
# ``python -m benchmarks.parts``, and of benchmarks/parts.py's data from shards. With kinks they
# grow with the digits asked for, and so do those of descent.
NEWTON_ROUNDS, AVERAGED_ROUNDS, REGROUPED_ROUNDS = 9, 13, 7
KINKED_NEWTON, KINKED_AVERAGED, KINKED_REGROUPED = 75, 230, 35
# Seconds of a round beside messages and work on a cluster: 0.05 to 0.1 with 2 and 4 workers of one
# host. Bytes per second of a link: 10 Gbit/s. Bytes per second of a disk: an assumption, too.
LATENCY, LINK, DISK = 0.1, 1.25e9, 1e9
# Readings of the data in a step of Newton's method beside its Hessian.
READINGS = 4
# Vectors of all features that a step of a local system reads or writes.
VECTORS = 12
# Bytes of a sparse nonzero on disk, and of a dense entry.
SPARSE, DENSE = 12, 8


class ExpectedOnParts(NamedTuple):
    """What a fit on data in parts should take; follow it by ``solve(problem, advice)``."""

    side: Side
    method: str  # that it starts with
    rounds: float  # with those before and behind its steps
    bytes_moved: float  # to the parts and back; 0 in one process
    seconds: float  # on this machine, or on a cluster of such machines
    reason: str  # why this method
    tol: float

    def __str__(self) -> str:
        """Two lines."""
        moved = f"{self.bytes_moved / 1e6:.3g} MB of messages" if self.bytes_moved else "no message"
        return (
            f"{self.side}, by {self.method}: about {number(self.rounds, 2)} rounds, {moved}, "
            f"{duration(self.seconds)} to a relative gap of {self.tol:g}\n{self.reason}"
        )

    def numbers(self) -> dict[str, Any]:
        """The same in numbers, as plain Python."""
        return dict(finite(self._asdict()))


def expected_on_parts(problem: PartsProblem, tol: float = 1e-6) -> ExpectedOnParts:
    """What ``solve(problem)`` should take.

    Parameters
    ----------
    problem : PartsProblem or PartsMultinomial
    tol : float
        The relative gap that the solve is to reach.

    Returns
    -------
    ExpectedOnParts

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import advise
    >>> from primaldual.parts import cut
    >>> X = np.random.default_rng(0).standard_normal((300, 4))
    >>> advice = advise(PartsProblem(cut(X, np.sign(X[:, 0]), 3), lam=0.1))
    >>> advice.side, advice.method, advice.rounds, advice.bytes_moved
    ('primal', 'parts_newton', 9, 0.0)
    """
    method, reason = choose_on_parts(problem)
    name = method.label(None)  # type: ignore[arg-type]
    inner = getattr(method, "method", None)
    core = name if inner is None else inner.label(None)
    rounds = _rounds(name, core, problem.is_smooth, tol)
    moved = 0.0
    if problem.parts.is_remote:
        moved = rounds * problem.parts.count * _numbers(core, problem) * 8.0
        moved += 16.0 * problem.n * (rounds / 4) * (inner is not None)
    work = rounds * _nanoseconds(core, problem) * 1e-9 * slowness()
    seconds = work / min(problem.raw.workers(), problem.parts.count) + moved / LINK
    seconds += LATENCY * rounds * problem.parts.is_remote
    if problem.raw.is_on_disk:
        each = SPARSE if problem.matrix.is_sparse else DENSE
        seconds = max(seconds, rounds * each * problem.matrix.nnz / DISK)
    return ExpectedOnParts(method.side, name, rounds, moved, seconds, reason, tol)


def _rounds(name: str, core: str, is_smooth: bool, tol: float) -> float:
    """The rounds of a fit."""
    if is_smooth and core in ("parts_newton", "parts_softmax_newton"):
        return NEWTON_ROUNDS
    digits = math.log10(1.0 / min(max(tol, 1e-15), 0.1)) / 6.0
    if name == "regrouped_dual_cd":
        most = REGROUPED_ROUNDS if is_smooth else KINKED_REGROUPED
    elif is_smooth:
        most = AVERAGED_ROUNDS
    else:
        most = KINKED_NEWTON if core == "parts_newton" else KINKED_AVERAGED
    return math.ceil(most * digits)


def _numbers(core: str, problem: PartsProblem) -> float:
    """Numbers that go to a part and come back in a round, in the mean over the rounds of a step."""
    size = float(math.prod(problem.shapes[0]))
    if core == "averaged_newton":
        to_part, back = 1 + 2 + (1 + 1 + MOVES / 2), 2  # of the three rounds of a step
        return (to_part + back) * size / 3
    return size * size + 4 * size


def _nanoseconds(core: str, problem: PartsProblem) -> float:
    """The work of a round, on the common machine."""
    nnz, n, classes = float(problem.matrix.nnz), problem.n, math.prod(problem.shapes[0]) / problem.d
    is_sparse = problem.matrix.is_sparse
    reading = classes * nnz * (MACHINE.product_sparse if is_sparse else MACHINE.product_dense)
    if core == "regrouped_dual_cd":
        visit = MACHINE.visit_sparse_far if is_sparse else MACHINE.visit_dense_far
        return float(EPOCHS * (visit * nnz + MACHINE.example * n) + 2 * reading)
    if core == "averaged_newton":
        # A gradient; the products of a local system, most of its steps; a search along the moves.
        # Every part has vectors of all features, in and out of the caches.
        vectors = VECTORS * LOCAL_STEPS * math.prod(problem.shapes[0]) * problem.parts.count
        return float(
            (reading * (2 + 1.5 * LOCAL_STEPS + MOVES) + MACHINE.visit_sparse * vectors) / 3
        )
    pairs = nnz * nnz / n / 2 if is_sparse else nnz * problem.d / 2
    hessian = pairs * max(classes * (classes - 1) / 2, 1.0)
    hessian *= MACHINE.scattered if is_sparse else MACHINE.flop
    size = math.prod(problem.shapes[0])
    return float(READINGS * reading + hessian + MACHINE.cholesky * size**3)
