"""What a solve returns: plain records."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ._types import FloatArray
from .advice import Advice, advise
from .methods import METHODS
from .methods.parts import ON_PARTS
from .problem import Certificate, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Status(Enum):
    """Why a solve stopped; the value is the sentence shown to the user."""

    CONVERGED = "The relative duality gap is at most tol."
    MAX_PASSES = "max_passes was reached first: raise it, or raise tol."
    MAX_ITER = "max_iter was reached first: raise it, or raise tol."
    MAX_TIME = "max_time was reached first: raise it, or raise tol."
    STALLED = (
        "The gap has stopped falling, by rounding or because the method is too slow here: "
        "scale the data, try another method, or raise tol."
    )
    STOPPED = "The callback asked to stop."
    INTERRUPTED = "Interrupted from the keyboard; the best iterate so far was kept."
    NOT_FINITE = "A value became infinite or NaN: check the scale of the data and lam."


class Progress(NamedTuple):
    """One check, as a callback sees it."""

    passes: float  # visited nonzeros divided by ‖X‖₀
    seconds: float  # time spent in the method, checks not counted
    primal: float  # P(w)
    dual: float  # the best lower bound on P* so far
    relative_gap: float  # of the best pair so far, divided by P(0)
    method: str  # the method that was running
    iterations: float = 0.0  # passes of coordinate descent and steps of other methods, added up
    proof: Certificate | None = None  # of this iterate; for callbacks, a trace does not keep it

    def __eq__(self, other: object) -> bool:
        """Whether both are the same check, with or without its proof."""
        return isinstance(other, Progress) and self[:-1] == other[:-1]

    def __hash__(self) -> int:
        """The hash of what is compared."""
        return hash(self[:-1])


@dataclass
class Trace:
    """One entry per check, and what ``auto`` decided on the way."""

    entries: list[Progress] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # "method: why it was chosen", in order

    def __len__(self) -> int:
        return len(self.entries)

    def _column(self, name: str) -> FloatArray:
        return np.array([getattr(entry, name) for entry in self.entries], dtype=np.float64)

    @property
    def passes(self) -> FloatArray:
        """Passes over the data at each check."""
        return self._column("passes")

    @property
    def seconds(self) -> FloatArray:
        """Seconds spent in the method at each check, the checks themselves not counted."""
        return self._column("seconds")

    @property
    def iterations(self) -> FloatArray:
        """Iterations at each check."""
        return self._column("iterations")

    @property
    def primal(self) -> FloatArray:
        """P(w) at each check."""
        return self._column("primal")

    @property
    def dual(self) -> FloatArray:
        """The best dual value up to each check."""
        return self._column("dual")

    @property
    def relative_gap(self) -> FloatArray:
        """The relative gap of the best pair up to each check."""
        return self._column("relative_gap")

    @property
    def methods(self) -> list[str]:
        """The method that ran before each check."""
        return [entry.method for entry in self.entries]


def summary(side: str, method: str, passes: float, seconds: float, relative_gap: float) -> str:
    """A solve in one line."""
    return (
        f"{side} side, {method}: {passes:.1f} passes, {seconds:.3g} s, certified gap "
        f"{relative_gap:.2e} of P(0)"
    )


@dataclass(frozen=True)
class Result:
    """A solution with its proof."""

    w: FloatArray = field(repr=False)
    intercept: float
    alpha: FloatArray = field(repr=False)
    certificate: Certificate
    status: Status
    method: str
    trace: Trace = field(repr=False)
    problem: Problem = field(repr=False)
    threads: int = 1  # that have worked on it at the same time, at most; 1 on small problems

    @cached_property
    def advice(self) -> Advice:
        """What the theory says about the two sides; computed when first asked for."""
        return advise(self.problem)

    @property
    def converged(self) -> bool:
        """Whether the certified gap meets the tolerance."""
        return self.status is Status.CONVERGED

    @property
    def passes(self) -> float:
        """Passes over the data in all."""
        return self.trace.entries[-1].passes

    @property
    def iterations(self) -> float:
        """Iterations in all: passes of coordinate descent, and steps of other methods."""
        return self.trace.entries[-1].iterations

    @property
    def seconds(self) -> float:
        """Seconds spent in the method in all, checks not counted."""
        return self.trace.entries[-1].seconds

    @property
    def rounds(self) -> int:
        """Rounds over data in parts, certificates included; 0 for data in memory."""
        return int(self.problem.parts.meter.rounds) if hasattr(self.problem, "parts") else 0

    @property
    def bytes_moved(self) -> int:
        """Bytes of numbers sent to the parts and back; 0 inside one process."""
        return int(self.problem.parts.meter.bytes_moved) if hasattr(self.problem, "parts") else 0

    @property
    def side(self) -> str:
        """The side of the method that finished; the primal if time was over before any began."""
        last = self.trace.entries[-1].method
        method = METHODS.get(last) or ON_PARTS.get(last)
        return "primal" if method is None else str(method.side)

    def __str__(self) -> str:
        proof = self.certificate
        last = self.trace.entries[-1].method
        method = self.method if last == self.method else f"{self.method} ({last})"
        first = summary(self.side, method, self.passes, self.seconds, proof.relative_gap)
        return (
            f"{first}\n"
            f"{self.status.value}\n"
            f"primal {proof.primal:.10g}, dual {proof.dual:.10g}, gap {proof.gap:.2e}"
        )

    def __repr__(self) -> str:
        return (
            f"Result(side={self.side!r}, method={self.method!r}, passes={self.passes:.4g}, "
            f"seconds={self.seconds:.3g}, relative_gap={self.certificate.relative_gap:.2e}, "
            f"status={self.status.name})"
        )

    def plot(self) -> Figure:
        """The gap against passes and against seconds, as a matplotlib figure."""
        from .report import result_figure

        return result_figure(self)

    def _repr_html_(self) -> str:
        from .report import result_html

        return result_html(self)
