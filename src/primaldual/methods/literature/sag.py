"""SAG and SAGA: stochastic gradients with a table of the latest slope of every example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, IntArray, Side
from ...complexity import Complexity
from ...data.rows import row_add, row_dot
from ...losses import loss_derivative
from ...losses.sums import derivatives
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_w, visited
from .lazy import SMALLEST_SCALE, combine, moving_features
from .sgd import smoothness


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    moving: IntArray  # the features that are not empty, or do not start at zero
    decay: float  # 1 − q: a step multiplies w by q = 1 − ηλ, or by 1/(1 + ηλ) in the prox form
    h: float  # and subtracts h g, h = η, or η/(1 + ηλ) in the prox form
    slopes: FloatArray  # d_j, the table
    G: FloatArray  # (1/n) Σ_j d_j x_j
    r: FloatArray  # the iterate is w = scale · r + shift · G
    scale: float  # q^k
    shift: float  # −h (1 + q + … + q^(k−1))
    owed: float  # nonzeros visited for the first table, not yet reported


class SAG(Method):
    r"""Stochastic average gradient.

    Algorithm
    ---------
    ::

        d_j = φ'_j(⟨x_j, w⟩) for all j,   G = (1/n) Σ_j d_j x_j
        repeat
            draw j
            δ = φ'_j(⟨x_j, w⟩) − d_j
            d_j += δ,   G += (δ/n) x_j
            w ← w − η (G + λw)

    With L = max_j β‖x_j‖² + λ and η = 1/(16L), P(w) − P* contracts by 1 − 1/K per step in
    expectation, up to a constant, K = max(16 L/λ, 8n). Larger steps up to 1/L are common practice.

    The iterate is kept as scale · r + shift · G. While nothing is added to r and G, one step of
    the whole vector is scale ← q scale and shift ← q shift − h, so a step costs only the nonzeros
    of its row.

    Rate
    ----
    K = max(16 L/λ, 8n), L = max_j β‖x_j‖² + λ.

    Cost
    ----
    W = 2‖X‖₀/n: w and the mean gradient.

    When to use
    -----------
    Smooth losses and many examples, with a step nearer 1/L than the proven one.

    Parameters
    ----------
    step : float
        η in units of 1/L.

    References
    ----------
    .. [1] M. Schmidt, N. Le Roux, F. Bach. "Minimizing finite sums with the stochastic average
       gradient", Mathematical Programming 2017.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ("uniform",)
    prox: bool = False

    def __init__(self, step: float = 1 / 16) -> None:
        require_step(step)
        self.step = step

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero, with the table of that point."""
        w = first_w(problem, w, alpha)
        slopes = np.empty(problem.n)
        G = loss_gradient(problem, problem.matrix.times(w), slopes)
        decay, h = step_of(self.step / _smoothness(problem), problem.lam, self.prox)
        return State(
            problem, moving_features(problem, w), decay, h, slopes, G, w, 1.0, 0.0,
            float(problem.matrix.nnz),
        )  # fmt: skip

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        state.scale, state.shift = _advance(
            draws.coordinates, p.examples.rows, p.loss, p.y, p.sample_weight, state.moving,
            state.decay, state.h, self._innovation(p.n), state.slopes, state.G, state.r,
            state.scale, state.shift,
        )  # fmt: skip
        # Two products and two additions with a row, where a plain step has one of each.
        seen = 2 * visited(p.examples, draws)
        if draws.steps:
            seen += state.owed
            state.owed = 0.0
        return seen

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w, with G recomputed so that rounding does not pile up."""
        p = state.problem
        combine(state.moving, state.r, state.scale, state.r, state.shift, state.G)
        state.scale, state.shift = 1.0, 0.0
        state.G = p.matrix.transposed_times(state.slopes) / p.n
        return state.r, None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = max(16 L/λ, 8n), with the step for 1/16 if it is smaller."""
        return self._complexity(problem, 1 / 16, 8)

    def _complexity(self, problem: Problem, proven: float, per_example: float) -> Complexity:
        """K = max(L/(λ step), per_example · n), no step being better than the largest proven."""
        condition = _smoothness(problem) / problem.lam
        K = max(condition / min(self.step, proven), per_example * problem.n)
        return Complexity(K, 2 * problem.matrix.nnz / problem.n, problem.matrix.nnz)

    def _innovation(self, n: int) -> float:
        """How much of δ x_j is in the gradient of this step: G has 1/n of it."""
        return 1 / n


class SAGA(SAG):
    r"""SAGA: the unbiased sibling of SAG.

    Algorithm
    ---------
    ::

        d_j = φ'_j(⟨x_j, w⟩) for all j,   G = (1/n) Σ_j d_j x_j
        repeat
            draw j
            δ = φ'_j(⟨x_j, w⟩) − d_j
            g = δ x_j + G
            w ← w − η (g + λw)                     form="plain"
            w ← (w − ηg)/(1 + ηλ)                  form="prox"
            d_j += δ,   G += (δ/n) x_j

    With L = max_j β‖x_j‖² + λ and η = 1/(3L), E‖w − w*‖² contracts by 1 − 1/K per step, up to a
    constant, K = max(4n, 3L/λ). This is the step of SAG with all of δ x_j in it instead of 1/n,
    and has the same implementation.

    Rate
    ----
    K = max(4n, 3L/λ), L = max_j β‖x_j‖² + λ.

    Cost
    ----
    W = 2‖X‖₀/n: w and the mean gradient.

    When to use
    -----------
    The default of the stochastic gradient family: many examples, no epochs to choose.

    Parameters
    ----------
    form : {"plain", "prox"}
    step : float
        η in units of 1/L.

    References
    ----------
    .. [1] A. Defazio, F. Bach, S. Lacoste-Julien. "SAGA: A fast incremental gradient method with
       support for non-strongly convex composite objectives", NIPS 2014.
    """

    def __init__(self, form: str = "plain", step: float = 1 / 3) -> None:
        super().__init__(step)
        if form not in ("plain", "prox"):
            raise ValueError(f"form must be 'plain' or 'prox', got {form!r}.")
        self.form = form
        self.prox = form == "prox"

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = max(4n, 3L/λ), with the step for 1/3 if it is smaller."""
        return self._complexity(problem, 1 / 3, 4)

    def _innovation(self, n: int) -> float:
        return 1.0


def require_step(step: float) -> None:
    """Steps are given in units of 1/L."""
    if not 0 < step <= 1:
        raise ValueError(f"step must be in (0, 1], in units of 1/L, got {step!r}.")


def step_of(eta: float, lam: float, prox: bool) -> tuple[float, float]:
    """1 − q and h of the step w ← q w − h g, plain or with the regulariser in a prox."""
    h = eta / (1 + eta * lam) if prox else eta
    return h * lam, h


def loss_gradient(problem: Problem, z: FloatArray, slopes: FloatArray) -> FloatArray:
    """F = (1/n) Σ_j c_j φ'_j(z_j) x_j; the slopes c_j φ'_j are left in ``slopes``."""
    derivatives(problem.loss, z, problem.y, problem.sample_weight, slopes)
    return problem.matrix.transposed_times(slopes / problem.n)


def _smoothness(problem: Problem) -> float:
    """L = max_j β‖x_j‖² + λ."""
    return smoothness(problem) + problem.lam


@kernel
def _advance(  # type: ignore[no-untyped-def]
    coordinates, examples, loss, y, c, moving, decay, h, innovation, slopes, G, r, scale, shift
):  # fmt: skip
    n = y.size
    q = 1.0 - decay
    for j in coordinates:
        z = scale * row_dot(examples, j, r) + shift * row_dot(examples, j, G)
        delta = c[j] * loss_derivative(loss, z, y[j]) - slopes[j]
        slopes[j] += delta
        scale *= q
        shift = q * shift - h
        # w gets −h · innovation · δ x_j; shift · G already contains (shift/n) δ x_j of it.
        row_add(examples, j, -(shift / n + h * innovation) * delta / scale, r)
        row_add(examples, j, delta / n, G)
        if scale < SMALLEST_SCALE:
            combine(moving, r, scale, r, shift, G)
            scale, shift = 1.0, 0.0
    return scale, shift
