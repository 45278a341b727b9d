"""The default: start with what should be cheapest, watch it, and hand over if it is slow."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from .._types import FloatArray, Side
from ..complexity import Complexity
from ..methods.base import CHUNK, Method
from ..methods.engine import ENGINE, engine_method
from ..methods.engine.dual_cd import DualCD
from ..methods.engine.newton_cg import NewtonCG, product_work
from ..problem import Problem
from ..samplings import Draws, Sampling
from .costs import Costs, well_stored
from .hand_over import hand_over, successor, wants_start
from .rules import FIRST_PRODUCTS, LEAST_PRODUCTS, Facts, choose, trial_length
from .watch import State, observe


class Auto(Method):
    """Choose among the engine's methods by expected cost, and again by observed contraction.

    First comes what should be cheapest (``rules``): Newton's method where its matrix is small
    (``newton``, ``gram_newton``), often after an epoch on the dual for a start; truncated Newton
    (``newton_cg``) with n ≥ d where a few products with the data may be enough; otherwise
    coordinate descent, on the dual if n < d or if T_D promises few epochs, else on the primal.
    When the observed contraction predicts more work than another method would need
    (``hand_over``), that one goes on from the current iterate. A loss with kinks leaves two
    methods: ``dual_cd`` and ``ssnal``.

    Parameters
    ----------
    tol : float
        The relative gap the run aims at, to predict the work that is left.
    side : str
        "auto", or "primal" or "dual" to keep to the methods of one side.
    warm : bool
        Whether the start is near the solution.
    first : str, optional
        The method to start with, where that is known already.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = True
    smooth_only: ClassVar[bool] = False
    needs_beta: ClassVar[bool] = False

    def __init__(
        self, tol: float = 1e-6, side: str = "auto", warm: bool = False, first: str | None = None
    ) -> None:
        self.tol, self.only, self.warm = tol, side, warm
        self.first = first

    def start(
        self,
        problem: Problem,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The cheapest method's state at the given point."""
        rng = np.random.default_rng(0) if rng is None else rng
        name, why, costs, trial = self._first(problem)
        problem = costs.problem
        cold = w is None and alpha is None and self.only == "auto"
        is_start = cold and name == "newton" and wants_start(costs)
        method: Any
        log = [f"{name}: {why}"]
        if is_start:
            log[0] += "; it begins where a few epochs of dual_cd end"
            name, method = "dual_cd", DualCD(self.tol, most_epochs=2)  # few at a time
        elif name == "newton_cg":
            # It is only tried at first.
            method = NewtonCG(self.tol, trial, min(CHUNK, trial * product_work(problem)))
        else:
            method = engine_method(name, self.tol)
        inner = method.start(problem, None, w=w, alpha=alpha, rng=rng)
        state = State(
            problem, costs, rng, method, name, inner, problem.curvature, is_start, tried={name}
        )
        state.log, state.next_watch = log, trial_length(name)
        if is_start:
            # The fall from P(0), the gap at zero, to the first epoch's shows how it will go on.
            state.next_watch, state.gaps = 2, [problem.primal_at_zero]
        return state

    def _first(self, problem: Problem) -> tuple[str, str, Costs, int]:
        """The method to start with, why, all costs on the problem, and the products of a trial."""
        if self.first is not None:
            return self.first, "as advised", Costs(well_stored(problem)), FIRST_PRODUCTS
        choice = choose(problem, self.tol, self.only, self.warm)
        assert isinstance(choice.facts, Facts)
        facts = choice.facts
        trial = FIRST_PRODUCTS
        if choice.method == "newton_cg" and not facts.costs.brief:
            trial = max(facts.trial, LEAST_PRODUCTS)
        return choice.method, choice.why, facts.costs, trial

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One round of the current method, and a change of methods if it pays."""
        work = float(state.method.advance(state.inner, None))
        observe(state, work, self.tol)
        found = successor(state, self.tol, self.only)
        if found is None and isinstance(state.method, NewtonCG):
            state.method.budget = CHUNK
        if found is not None:
            name, why = found
            hand_over(state, name, engine_method(name, self.tol), why)
        return work

    def gap_estimate(self, state: State) -> float | None:
        """The current method's estimate."""
        return state.method.gap_estimate(state.inner)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current method's iterate."""
        return state.method.iterate(state.inner)

    def label(self, state: State) -> str:
        """The name of the current method, for the trace."""
        return state.name

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """That of the method it would start with."""
        return ENGINE[self._first(problem)[0]]().complexity(problem, None)
