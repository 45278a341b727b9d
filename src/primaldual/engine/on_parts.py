"""Which method runs on data in parts, and when another one takes over."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from numpy.random import Generator

from .._types import FloatArray
from ..losses.custom import loss_name
from ..methods.parts import (
    AveragedNewton,
    PartsNewton,
    PartsNewtonCG,
    PartsSoftmaxNewton,
    PartsSSNAL,
    RegroupedDualCD,
)
from ..problem.on_parts import PartsProblem

# A Hessian is summed up to this many coefficients (of all classes): 72 MB per message,
# a few seconds to factor.
MOST_COEFFICIENTS = 3000
# Steps of averaged directions that are looked at together. If the gap is not this fraction of what
# it was before them, conjugate gradients go on: a step of theirs takes 5 to 15 rounds, these nine.
LOOK, SLOW = 3, 0.2


@dataclass
class AutoState:
    """Where the engine stands."""

    method: PartsNewton
    inner: Any  # its state
    log: list[str]  # "method: why", in order
    gaps: list[float] = field(default_factory=list)  # after each of its steps


class PartsAuto(PartsNewton):
    """Newton's method where its Hessian fits; otherwise averaged directions, watched."""

    smooth_only = False

    def start(  # type: ignore[override]
        self,
        problem: PartsProblem,
        sampling: Any = None,
        w: FloatArray | None = None,
        alpha: Any = None,
        rng: Generator | None = None,
    ) -> AutoState:
        """The state of the method that is chosen first."""
        method, why = choose_on_parts(problem)
        return AutoState(method, method.start(problem, w=w, rng=rng), [why])

    def advance(self, state: AutoState, draws: Any = None) -> float:  # type: ignore[override]
        """One step of the current method; another one takes over if it is slow."""
        done = state.method.advance(state.inner)
        state.gaps.append(state.inner.gap)
        if isinstance(state.method, AveragedNewton) and _is_slow(state.gaps):
            state.method, state.inner.extra = PartsNewtonCG(), None
            state.log.append(
                f"parts_newton_cg: {LOOK} steps took the gap only from {state.gaps[-1 - LOOK]:.1e} "
                f"to {state.gaps[-1]:.1e}: the parts do not resemble each other enough."
            )
        return done

    def iterate(self, state: AutoState) -> Any:  # type: ignore[override]
        """The current method's iterate."""
        return state.method.iterate(state.inner)

    def gap_estimate(self, state: AutoState) -> float:  # type: ignore[override]
        """The current method's estimate."""
        return state.method.gap_estimate(state.inner)

    def label(self, state: AutoState) -> str:  # type: ignore[override]
        """The current method's name."""
        return state.method.label(state.inner)


def parts_method(side: str) -> PartsAuto:
    """The method for a side, ready for ``solve``."""
    if side == "dual":
        raise ValueError("side must be 'auto' or 'primal' on data in parts, got 'dual'.")
    return PartsAuto()


def choose_on_parts(problem: PartsProblem) -> tuple[PartsNewton, str]:
    """The method to begin with, and why."""
    if problem.raw.is_on_disk and problem.d > MOST_COEFFICIENTS and len(problem.shapes[0]) == 1:
        return (
            RegroupedDualCD(),
            f"regrouped_dual_cd: {problem.d} features, on disk: three epochs for each reading.",
        )
    if not problem.is_smooth:
        inner = PartsNewton() if problem.d <= MOST_COEFFICIENTS else AveragedNewton()
        name, loss = inner.label(None), loss_name(problem.loss)  # type: ignore[arg-type]
        return (
            PartsSSNAL(inner),
            f"parts_ssnal: {loss} has kinks; {name} solves problems with rounded ones.",
        )
    size, is_softmax = math.prod(problem.shapes[0]), len(problem.shapes[0]) > 1
    if size <= MOST_COEFFICIENTS:
        name = "parts_softmax_newton" if is_softmax else "parts_newton"
        return (
            PartsSoftmaxNewton() if is_softmax else PartsNewton(),
            f"{name}: the Hessian of {size} coefficients is a message of {8e-6 * size**2:.3g} MB.",
        )
    too = f"averaged_newton: a Hessian of {size} coefficients is too large to be sent"
    return AveragedNewton(), f"{too}; {problem.parts.count} parts average their directions."


def _is_slow(gaps: list[float]) -> bool:
    """Whether the last steps have not made enough of the gap."""
    if len(gaps) <= LOOK:
        return False
    return not gaps[-1] < SLOW * gaps[-1 - LOOK] or not math.isfinite(gaps[-1])
