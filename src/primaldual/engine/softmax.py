"""Which method runs for the softmax loss, and when another one takes over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from .._types import FloatArray, Side
from ..complexity import Complexity, importance_complexity
from ..methods.base import Method
from ..methods.engine.softmax_dual_cd import SoftmaxDualCD
from ..methods.engine.softmax_newton import SoftmaxNewton
from ..methods.engine.softmax_newton_cg import SoftmaxNewtonCG
from ..problem.multinomial import Multinomial

# Newton's method factors a matrix of this size at most, (features + 1) × classes.
MOST_UNKNOWNS = 400
# Epochs of dual descent before its contraction is trusted, and how many more are worth waiting for.
TRIAL_EPOCHS = 5
PATIENCE = 60


@dataclass
class AutoState:
    """Where the engine stands."""

    method: Any  # the one that runs now
    inner: Any  # its state
    rng: Generator | None
    gaps: list[float] = field(default_factory=list)


class SoftmaxAuto(Method):
    """Dual descent first; truncated Newton takes over when it contracts too slowly."""

    side: ClassVar[Side] = "dual"
    samplings: ClassVar[tuple[str, ...]] = ()
    free_intercept: ClassVar[bool] = True

    def __init__(self, tol: float) -> None:
        self.tol = tol

    def start(
        self,
        problem: Multinomial,
        sampling: Any = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> AutoState:
        """The state of dual descent."""
        method = SoftmaxDualCD()
        return AutoState(method, method.start(problem, None, w, alpha, rng), rng)

    def advance(self, state: AutoState, draws: Any = None) -> float:
        """One round of the current method."""
        work = float(state.method.advance(state.inner))
        state.gaps.append(self.gap_estimate(state))
        if state.method.name == "dual_cd" and self._is_slow(state):
            w, _ = state.method.iterate(state.inner)
            state.method = SoftmaxNewtonCG()
            state.inner = state.method.start(state.inner.problem, None, w)
        return work

    def _is_slow(self, state: AutoState) -> bool:
        """Whether the observed contraction asks for more epochs than are worth waiting for."""
        if len(state.gaps) < TRIAL_EPOCHS:
            return False
        target = self.tol * state.inner.problem.primal_at_zero
        last, earlier = state.gaps[-1], state.gaps[-TRIAL_EPOCHS]
        if last <= target:
            return False
        if not last < earlier:
            return True
        left = np.log(last / max(target, 1e-300)) / np.log(earlier / last) * (TRIAL_EPOCHS - 1)
        return bool(left > PATIENCE)

    def gap_estimate(self, state: AutoState) -> float:
        """The current method's estimate."""
        return float(state.method.gap_estimate(state.inner))

    def iterate(self, state: AutoState) -> Any:
        """The current method's iterate."""
        return state.method.iterate(state.inner)

    def label(self, state: AutoState) -> str:
        """The name of the current method."""
        return str(state.method.name)

    def complexity(self, problem: Multinomial, sampling: Any = None) -> Complexity:
        """That of dual descent."""
        return importance_complexity(problem.examples)


def softmax_choice(problem: Multinomial, side: str = "auto") -> str:
    """The name of the method to start with.

    Newton's method with a factorisation where its matrix is small; dual descent on sparse data
    with more features than fit into it; truncated Newton otherwise.
    """
    unknowns = (problem.d + 1) * len(problem.classes)
    if side == "dual":
        return "dual_cd"
    if unknowns <= MOST_UNKNOWNS:
        return "newton"
    if side == "auto" and problem.matrix.is_sparse and problem.d > problem.n / 10:
        return "dual_cd"
    return "newton_cg"


def softmax_method(problem: Multinomial, side: str = "auto", tol: float = 1e-6) -> Any:
    """The method for a side, ready for ``solve``."""
    name = softmax_choice(problem, side)
    if name == "dual_cd":
        return SoftmaxAuto(tol) if side == "auto" else SoftmaxDualCD()
    return SoftmaxNewton() if name == "newton" else SoftmaxNewtonCG()
