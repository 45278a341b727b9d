"""The engine for the softmax loss: what ``choose`` names, and another method if that is slow."""

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
from .costs import SoftmaxCosts
from .rules import choose

# Epochs of dual descent before its contraction is trusted, and how many more are worth waiting for.
TRIAL_EPOCHS = 5
PATIENCE = 60


def made(name: str, tol: float, problem: Multinomial) -> Method:
    """The method of that name, as it suits the problem."""
    if name == "newton_cg":
        return SoftmaxNewtonCG(tol, SoftmaxCosts(problem).preconditioner)
    return SoftmaxNewton(tol) if name == "newton" else SoftmaxDualCD()


@dataclass
class AutoState:
    """Where the engine stands."""

    method: Any  # the one that runs now
    inner: Any  # its state
    rng: Generator | None
    log: list[str]  # which method, and why
    gaps: list[float] = field(default_factory=list)


class SoftmaxAuto(Method):
    """The method that ``choose`` names; truncated Newton takes over from slow dual descent."""

    side: ClassVar[Side] = "dual"
    samplings: ClassVar[tuple[str, ...]] = ()
    free_intercept: ClassVar[bool] = True

    def __init__(self, tol: float, only: str = "auto") -> None:
        self.tol, self.only = tol, only

    def start(
        self,
        problem: Multinomial,
        sampling: Any = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> AutoState:
        """The state of the method chosen."""
        choice = choose(problem, self.tol, self.only)
        method = made(choice.method, self.tol, problem)
        inner = method.start(problem, None, w, alpha, rng)
        return AutoState(method, inner, rng, [f"{choice.method}: {choice.why}"])

    def advance(self, state: AutoState, draws: Any = None) -> float:
        """One round of the current method."""
        work = float(state.method.advance(state.inner))
        state.gaps.append(self.gap_estimate(state))
        if state.method.name == "dual_cd" and self.only == "auto" and self._is_slow(state):
            w, _ = state.method.iterate(state.inner)
            method = made("newton_cg", self.tol, state.inner.problem)
            state.inner, state.method = method.start(state.inner.problem, None, w), method
            state.log.append(f"newton_cg: dual_cd would need more than {PATIENCE} more rounds")
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
