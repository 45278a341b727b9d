"""Stochastic gradient descent with decreasing steps and a weighted average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, Side
from ...complexity import Complexity
from ...data.rows import row_add, row_dot
from ...losses import loss_derivative
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_w, visited


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    weight: FloatArray  # 1/(n q_j): makes the gradient of the drawn example unbiased
    delay: float  # a = 4L/λ, which keeps the first steps short
    k: int  # steps taken
    r: FloatArray  # the iterate is w = scale · r
    scale: float  # Π_t (1 − η_t λ)
    mass: float  # Σ_t t · scale_t
    lag: FloatArray  # with averaging, Σ_t t w_t = mass · r − lag


class SGD(Method):
    r"""Stochastic gradient descent.

    Algorithm
    ---------
    ::

        for k = 0, 1, 2, …
            draw j
            η = 2/(λ(k + a))
            w ← w − η (φ'_j(⟨x_j, w⟩) x_j/(n q_j) + λw)
        the answer is Σ_k k w_k / Σ_k k

    where q_j is the probability of j, L = max_j β‖x_j‖²/(n q_j) + λ and a = 4L/λ. The gradients
    keep their variance σ² = E‖φ'_j(⟨x_j, w*⟩) x_j/(n q_j) + λw*‖² at the optimum, so the rate is
    sublinear: the average of the first K iterates has

        E[P] − P* ≤ (λa(a − 2) ‖w_0 − w*‖²/2 + 4aKσ²/((a − 1)λ)) / (K(K − 1)).

    The iterate is kept as scale · r and the sum of the average as mass · r − lag, so a step costs
    only the nonzeros of its row.

    Rate
    ----
    Sublinear, no K: the error falls like σ²/(λk) after k steps.

    Cost
    ----
    W = 1.5 Σ_j q_j ‖x_j‖₀, or 1 instead of 1.5 without the average.

    When to use
    -----------
    One or two passes to a rough answer; never for digits.

    Parameters
    ----------
    average : bool
        Whether the answer is the weighted average or the last iterate.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Schmidt, F. Bach. "A simpler approach to obtaining an O(1/t)
       convergence rate for the projected stochastic subgradient method", arXiv:1212.2002, 2012.
    .. [2] L. Bottou. "Stochastic gradient descent tricks", Neural Networks: Tricks of the Trade,
       2012.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ("uniform", "importance")

    def __init__(self, average: bool = True) -> None:
        self.average = average

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        w = first_w(problem, w, alpha)
        weight = unbiased_weights(problem, sampling)
        L = smoothness(problem, weight) + problem.lam
        lag = np.zeros(problem.d if self.average else 0)
        return State(problem, weight, 4 * L / problem.lam, 0, w, 1.0, 0.0, lag)

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        state.k, state.scale, state.mass = _advance(
            draws.coordinates, p.examples.rows, p.loss, p.y, p.sample_weight, p.lam, state.weight,
            state.delay, self.average, state.k, state.r, state.scale, state.mass, state.lag,
        )  # fmt: skip
        return self._reads * visited(p.examples, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The average, or the last iterate if that is wanted or there is nothing to average."""
        if not self.average or state.k < 2:
            return state.scale * state.r, None
        return (state.mass * state.r - state.lag) / (0.5 * state.k * (state.k - 1)), None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K is infinite: the rate is sublinear."""
        cost = float(sampling.probabilities() @ problem.examples.counts)
        return Complexity(math.inf, self._reads * cost, problem.matrix.nnz)

    @property
    def _reads(self) -> float:
        """One product and one addition with a row, as in a plain step, and one for the average."""
        return 1.5 if self.average else 1.0


def unbiased_weights(problem: Problem, sampling: Sampling) -> FloatArray:
    """1/(n q_j): the sum of the drawn gradients times these has the full gradient as its mean."""
    return np.asarray(1 / (problem.n * sampling.probabilities()))


def smoothness(problem: Problem, weight: FloatArray | float = 1.0) -> float:
    """max_j weight_j β c_j ‖x_j‖², the smoothness of the weighted losses of single examples."""
    squares = problem.sample_weight * problem.examples.squared_norms
    return problem.beta * float((weight * squares).max())


@kernel
def _advance(  # type: ignore[no-untyped-def]
    coordinates, examples, loss, y, c, lam, weight, a, average, k, r, scale, mass, lag
):  # fmt: skip
    for j in coordinates:
        eta = 2.0 / (lam * (k + a))
        slope = c[j] * loss_derivative(loss, scale * row_dot(examples, j, r), y[j])
        mass += k * scale
        scale *= 1.0 - eta * lam
        change = -eta * weight[j] * slope / scale
        row_add(examples, j, change, r)
        if average:
            row_add(examples, j, mass * change, lag)
        k += 1
    return k, scale, mass
