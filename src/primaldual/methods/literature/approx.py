"""Accelerated primal coordinate descent: APPROX, ALPHA and Hydra², one update."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import inlined_in_loops, kernel
from ..._types import FloatArray, Side
from ...complexity import Complexity
from ...data.rows import row_add, row_begin, row_column, row_end, row_value
from ...losses import loss_derivative
from ...losses.sums import sum_values
from ...problem import Problem
from ...samplings import Distributed, Draws, Importance, Sampling, Uniform
from ..base import ANY_SAMPLING, Method, first_w, visited


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    p: FloatArray  # probabilities of the sampling
    v: FloatArray  # ESO parameters of the smooth part of P: (β/n) u_i, plus λ if it is in there
    first: float  # θ_0
    period: int  # steps between restarts, Kr; 0 for no restarts
    theta: FloatArray  # θ of the next step, and θ of the last one
    g: FloatArray  # y = θ² g + z
    z: FloatArray  # the sequence of gradient steps
    r_g: FloatArray  # margins Xᵀg, kept up to date
    r_z: FloatArray  # margins Xᵀz + b, kept up to date
    intercept: float  # b, solved exactly at every restart
    age: int  # steps since the last restart
    # With adaptive restarts:
    every: int  # steps between looks at P(x), about one pass; 0 for none
    last: float  # P(x) at the last look


class Approx(Method):
    r"""Accelerated primal RCD with a uniform sampling.

    Algorithm
    ---------
    ::

        x = z,   θ = θ_0 = min_i p_i,   v_i = (β/n) u_i
        repeat
            y = (1 − θ) x + θ z
            draw S from the sampling
            for i in S:   t_i = −( ∇_i F(y) + λ z_i ) / ( θ v_i/p_i + λ )
            z⁺ = z + t,   x = y + θ p⁻¹∘t,   θ = (√(θ⁴ + 4θ²) − θ²)/2
            every Kr steps:   z = x,   θ = θ_0

    where F(w) = (1/n) Σ_j φ_j(⟨x_j, w⟩). Without restarts

        E[P(x_k) − P*] ≤ 4/((k−1)θ_0 + 2)² · [(1 − θ_0)(P_0 − P*) + (θ_0²/2) ‖x_0 − x*‖²_{v/p²}],

    so with V = θ_0² max_i v_i/p_i² the expected error falls by the factor e in every period of
    Kr = ⌈(2/θ_0)(√(e(1 + V/λ)) − 1) + 1⌉ steps.

    No vector is touched as a whole, as y = θ² g + z with g, z and their margins kept::

        t_i from  ∇_i F  at the margins  θ² Xᵀg + Xᵀz
        z_i += t_i,   g_i −= (1 − θ/p_i)/θ² · t_i,   and the same for the margins
        x = θ² g + z  with the θ of the step

    A step reads its rows for two vectors, and counts them twice. A free intercept is not sampled:
    it is minimised over exactly at every restart.

    Rate
    ----
    K = ⌈(2/θ_0)(√(e(1 + V/λ)) − 1) + 1⌉, V = θ_0² max_i v_i/p_i².

    Cost
    ----
    W = 2 Σ_i p_i ‖X_i:‖₀: two vectors are kept up to date.

    When to use
    -----------
    Small λ on the primal side, with uniform or parallel samplings.

    Parameters
    ----------
    restart : {"periodic", "adaptive", "none"}
        "periodic" is the above. "adaptive" looks at P(x) once per pass and restarts also when it
        has risen: often faster, not covered by the bound. "none" is for models without intercept.

    References
    ----------
    .. [1] O. Fercoq, P. Richtárik. "Accelerated, parallel and proximal coordinate descent",
       SIAM Journal on Optimization 2015.
    .. [2] O. Fercoq, Z. Qu. "Restarting accelerated gradient methods with a rough strong
       convexity estimate", 2016.
    """

    side: ClassVar[Side] = "primal"
    free_intercept: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ("uniform", "tau_nice", "distributed")
    smooth: ClassVar[bool] = False  # whether the penalty is part of F

    def __init__(self, restart: str = "periodic") -> None:
        if restart not in ("periodic", "adaptive", "none"):
            raise ValueError(f"restart must be 'periodic', 'adaptive' or 'none', got {restart!r}.")
        self.restart = restart

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        if problem.fit_intercept and self.restart == "none":
            raise ValueError(
                "restart='none' never moves a free intercept. Use restart='periodic', or a model "
                "without intercept."
            )
        w = first_w(problem, w, alpha)
        p, v, first, period = self._parameters(problem, sampling)
        every = 0
        if self.restart == "adaptive":
            every = math.ceil(problem.d / p.sum())
        state = State(
            problem, p, v, first, 0 if self.restart == "none" else period, np.full(2, first),
            np.zeros(problem.d), w, np.zeros(problem.n), problem.matrix.times(w), 0.0,
            0, every, math.inf,
        )  # fmt: skip
        _move_intercept(state)
        if every:
            state.last = _objective(state)
        return state

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``, with the restarts that fall among them."""
        p = state.problem
        first = 0
        while True:
            last = min([draws.steps, *(first + k for k in _until_events(state))])
            _advance(
                draws.starts[first : last + 1], draws.coordinates, p.features.rows, p.loss, p.y,
                p.sample_weight, p.lam, state.v, state.p, self.smooth,
                state.theta, state.g, state.z, state.r_g, state.r_z,
            )  # fmt: skip
            state.age += last - first
            if last > first:
                _restart_if_due(state)
            first = last
            if first == draws.steps:
                return 2 * visited(p.features, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current x, with the margins recomputed so that rounding does not pile up."""
        state.r_g = state.problem.margins(state.g)
        state.r_z = state.problem.margins(state.z, state.intercept)
        return state.theta[1] ** 2 * state.g + state.z, None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = Kr; a step reads its rows for two vectors."""
        p, _, _, period = self._parameters(problem, sampling)
        features = problem.features
        return Complexity(float(period), 2 * float(p @ features.counts), features.nnz)

    def _parameters(
        self, problem: Problem, sampling: Sampling
    ) -> tuple[FloatArray, FloatArray, float, int]:
        """p, v, θ_0 and Kr."""
        features, lam = problem.features, problem.lam
        p = sampling.probabilities()
        v = features.curvature(sampling.eso(features)) / problem.n
        if self.smooth:
            first = 1.0
        else:
            first = float(p.min())
            v = np.maximum(v - lam, 0.0)
        V = first**2 * float((v / p**2).max())
        period = math.ceil((2 / first) * (math.sqrt(math.e * (1 + V / lam)) - 1) + 1)
        return p, v, first, period


class Alpha(Approx):
    r"""Accelerated primal RCD with an arbitrary sampling.

    Algorithm
    ---------
    APPROX with the penalty in the smooth part: F = P, v_i = (β/n) u_i + λ, θ_0 = 1 and

        t_i = −∇_i P(y) p_i/(θ v_i).

    Of all serial samplings p_i ∝ √v_i, the default, has the smallest max_i v_i/p_i²; then
    V = (Σ_i √v_i)² and Kr is about 2√e Σ_i √((β u_i + λn)/(λn)).

    Rate
    ----
    K = ⌈2√(e(1 + V/λ)) − 1⌉, V = max_i v_i/p_i², about 2√e Σ_i √((β u_i + λn)/(λn)).

    Cost
    ----
    W = 2 Σ_i p_i ‖X_i:‖₀: two vectors are kept up to date.

    When to use
    -----------
    Small λ on the primal side and features of very different norms.

    Parameters
    ----------
    restart : {"periodic", "adaptive", "none"}
        As in APPROX.

    References
    ----------
    .. [1] Z. Qu, P. Richtárik. "Coordinate descent with arbitrary sampling I: algorithms and
       complexity", Optimization Methods and Software 2016.
    """

    samplings: ClassVar[tuple[str, ...]] = ANY_SAMPLING
    smooth: ClassVar[bool] = True

    def plan(self, problem: Problem) -> Sampling:
        """p_i ∝ √v_i."""
        return root_importance(problem)


class Hydra2(Approx):
    r"""Accelerated distributed primal RCD (Hydra²): APPROX with the (c, τ)-distributed sampling.

    Algorithm
    ---------
    Each of c nodes owns a block of features with their g and z, and moves τ of them per
    iteration; the two margin vectors are what the nodes would exchange. The iterates do not
    depend on where the blocks live, so they are computed here in one place.

    Rate
    ----
    K = ⌈(2/θ_0)(√(e(1 + V/λ)) − 1) + 1⌉, V = θ_0² max_i v_i/p_i², with θ_0 = p_i = τ/s for s
    features per node.

    Cost
    ----
    W = 2 Σ_i p_i ‖X_i:‖₀: two vectors are kept up to date.

    When to use
    -----------
    To study acceleration on data distributed by features, with small λ.

    Parameters
    ----------
    blocks, tau : int, optional
        c and τ of the default sampling.
    restart : {"periodic", "adaptive", "none"}
        As in APPROX.

    References
    ----------
    .. [1] O. Fercoq, Z. Qu, P. Richtárik, M. Takáč. "Fast distributed coordinate descent for
       non-strongly convex losses", IEEE MLSP 2014.
    """

    samplings: ClassVar[tuple[str, ...]] = ("distributed",)

    def __init__(
        self, blocks: int | None = None, tau: int | None = None, restart: str = "periodic"
    ) -> None:
        super().__init__(restart)
        self.blocks = blocks
        self.tau = tau

    def plan(self, problem: Problem) -> Sampling:
        """The distributed sampling of the features."""
        return Distributed.plan(problem.features, self.blocks, self.tau)


def root_importance(problem: Problem) -> Importance:
    """p_i ∝ √(β ‖X_i:‖² + λn), the best serial sampling for acceleration."""
    side = problem.features
    root = np.sqrt(side.curvature(Uniform(side.size).eso(side)))
    return Importance(root / root.sum())


def _until_events(state: State) -> list[int]:
    """Steps to the next restart and to the next look at P(x)."""
    return [k - state.age % k for k in (state.period, state.every) if k]


def _restart_if_due(state: State) -> None:
    due = state.period > 0 and state.age == state.period
    if state.every and (due or state.age % state.every == 0):
        value = _objective(state)
        due = due or value > state.last
        state.last = value
    if due:
        scale = state.theta[1] ** 2
        state.z += scale * state.g
        state.r_z += scale * state.r_g
        state.g[:] = 0.0
        state.r_g[:] = 0.0
        state.theta[:] = state.first
        state.age = 0
        _move_intercept(state)


def _move_intercept(state: State) -> None:
    change = state.problem.best_intercept(state.r_z)
    if change:
        state.r_z += change
        state.intercept += change


def _objective(state: State) -> float:
    """P(x), from the margins at hand."""
    p, scale = state.problem, state.theta[1] ** 2
    x = scale * state.g + state.z
    total = sum_values(p.loss, scale * state.r_g + state.r_z, p.y, p.sample_weight)
    return float(total) / p.n + 0.5 * p.lam * float(x @ x)


@kernel
def _advance(  # type: ignore[no-untyped-def]
    starts, coordinates, features, loss, y, c, lam, v, p, smooth, theta, g, z, r_g, r_z
):  # fmt: skip
    n = y.size
    t = np.empty(z.size)
    for k in range(starts.size - 1):
        S = coordinates[starts[k] : starts[k + 1]]
        th = theta[0]
        for s, i in enumerate(S):
            slope = row_slope_between(features, i, loss, r_z, th * th, r_g, y, c) / n
            if smooth:
                t[s] = -(slope + lam * (th * th * g[i] + z[i])) / (th * v[i] / p[i])
            else:
                t[s] = -(slope + lam * z[i]) / (th * v[i] / p[i] + lam)
        for s, i in enumerate(S):
            back = -(1.0 - th / p[i]) / (th * th) * t[s]
            z[i] += t[s]
            row_add(features, i, t[s], r_z)
            g[i] += back
            row_add(features, i, back, r_g)
        theta[1] = th
        theta[0] = 2.0 * th / (math.sqrt(th * th + 4.0) + th)  # the same, without cancellation


@inlined_in_loops
def row_slope_between(rows, i, loss, z, scale, other, y, c):  # type: ignore[no-untyped-def]
    """Σ_j c_j φ'(z_j + scale · other_j; y_j) · row_i[j]."""
    total = 0.0
    for k in range(row_begin(rows, i), row_end(rows, i)):
        x = row_value(rows, i, k)
        if x != 0.0:
            j = row_column(rows, i, k)
            total += c[j] * loss_derivative(loss, z[j] + scale * other[j], y[j]) * x
    return total
