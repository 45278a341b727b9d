"""Primal randomized coordinate descent (NSync), Algorithm 1 of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numba import types
from numpy.random import Generator

from .._numba.compile import for_rows, kernel
from .._types import FloatArray, Side
from ..complexity import Complexity, complexity
from ..data.rows import DenseRows, Rows, SparseRows, row_add, row_slope
from ..losses import loss_derivative, loss_second_derivative
from ..problem import Problem
from ..samplings import Draws, Sampling
from .base import ANY_SAMPLING, visited

# A Newton step may lose this part of the decrease that the fixed step guarantees, no more.
NEWTON_SLACK = 0.1
# Points tried along a coordinate before the Newton step gives way to the fixed one.
NEWTON_TRIALS = 20


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    step: FloatArray  # n / (β u_i + λn), from the ESO parameters u of the sampling
    w: FloatArray  # primal iterate
    z: FloatArray  # margins Xᵀw + b, kept up to date
    intercept: float  # b, solved exactly after every call of advance


class NSync:
    r"""Primal RCD with an arbitrary sampling.

    Algorithm
    ---------
    ::

        z = Xᵀ w
        repeat
            draw S from the sampling
            for i in S:   Δ_i = −n/(β u_i + λn) · ( (1/n) Σ_j φ'_j(z_j) X_ij + λ w_i )
            for i in S:   w_i += Δ_i,   z += Δ_i X_i:

    The expected error P(w) − P* contracts by 1 − 1/K_P per iteration, eq. (8). A free intercept
    is not sampled: it is minimised over exactly between calls.

    With step="newton", for serial samplings, the step follows the true curvature of
    f(t) = P(w + t e_i) instead of its bound u'_i = (β u_i + λn)/n::

        safe = −f'(0)/u'_i,   t = −f'(0)/f''(0)
        until  t is not beyond the minimiser of f,  or  |f'(t) (t − safe)| ≤ 0.1 f'(0)²/(2u'_i)
            t = t − f'(t)/f''(t),  or halfway to safe if that is not between safe and t
        Δ_i = t,  or safe after 20 trials

    f is convex and f'' ≤ u'_i, so t starts no nearer than ``safe``. Not beyond the minimiser, it
    decreases P at least as much; beyond it, P is at most |f'(t) (t − safe)| above the minimum. So
    every step decreases P by 0.9 f'(0)²/(2u'_i) or more, and K is at most K_P/0.9. Each point tried
    reads the row once more. For the squared loss t = safe, and nothing is tried.

    Rate
    ----
    K = max_i (β u_i + λn)/(p_i λn), eq. (8).

    Cost
    ----
    W = Σ_i p_i ‖X_i:‖₀, eq. (10); a Newton step mostly reads its row twice.

    When to use
    -----------
    Where ``advise`` says primal, as for dense data with more features than examples, and the rate
    should be that of the theorem.

    Parameters
    ----------
    step : {"fixed", "newton"}

    References
    ----------
    .. [1] P. Richtárik, M. Takáč. "On optimal probabilities in stochastic coordinate descent
       methods", Optimization Letters 2016.
    """

    side: ClassVar[Side] = "primal"
    free_intercept: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ANY_SAMPLING

    def __init__(self, step: str = "fixed") -> None:
        if step not in ("fixed", "newton"):
            raise ValueError(f"step must be 'fixed' or 'newton', got {step!r}.")
        self.step = step

    def eso(self, problem: Problem, sampling: Sampling) -> FloatArray:
        """The ESO parameters u of the step: the sampling's own."""
        return sampling.eso(problem.features)

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        if w is None:
            w = np.zeros(problem.d) if alpha is None else problem.primal_point(alpha)
        step = problem.n / problem.features.curvature(self.eso(problem, sampling))
        state = State(problem, step, w.copy(), problem.matrix.times(w), 0.0)
        move_intercept(state)
        return state

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        shared = (
            draws.starts, draws.coordinates, p.features.rows, p.loss, p.y, p.sample_weight,
            p.lam, state.step, state.w, state.z,
        )  # fmt: skip
        if self.step == "newton":
            _require_serial(draws)
            reads = float(_advance_newton(*shared, p.features.counts))
        else:
            _advance(*shared)
            reads = visited(p.features, draws)
        move_intercept(state)
        return reads

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w, with the margins recomputed so that rounding does not pile up."""
        state.z = state.problem.margins(state.w, state.intercept)
        return state.w, None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K_P, eq. (8); a Newton step may lose a part of it, and mostly reads its row twice."""
        stated = complexity(problem.features, sampling, self.eso(problem, sampling))
        if self.step == "fixed":
            return stated
        iterations = stated.iterations / (1 - NEWTON_SLACK)
        return replace(stated, iterations=iterations, cost=2 * stated.cost)


def move_intercept(state: Any) -> None:
    """Minimise over the free intercept, if there is one, and shift the margins."""
    change = state.problem.best_intercept(state.z)
    if change:
        state.z += change
        state.intercept += change


@kernel
def _advance(starts, coordinates, features, loss, y, c, lam, step, w, z):  # type: ignore[no-untyped-def]
    n = y.size
    delta = np.empty(w.size)
    for k in range(starts.size - 1):
        S = coordinates[starts[k] : starts[k + 1]]
        for s, i in enumerate(S):
            delta[s] = -step[i] * (row_slope(features, i, loss, z, y, c) / n + lam * w[i])
        for s, i in enumerate(S):
            w[i] += delta[s]
            row_add(features, i, delta[s], z)


# --------------------------------------------------------------------------------------------
# The Newton step


@kernel
def _advance_newton(  # type: ignore[no-untyped-def]
    starts, coordinates, features, loss, y, c, lam, step, w, z, counts
):  # fmt: skip
    n = y.size
    reads = 0
    for i in coordinates[starts[0] : starts[-1]]:
        slope, curvature = row_line(features, i, loss, z, y, c, 0.0)
        reads += counts[i]
        at_0 = slope / n + lam * w[i]
        safe = -step[i] * at_0
        t = -at_0 / (curvature / n + lam)
        delta = safe
        longer = abs(t) > (1.0 + 1e-12) * abs(safe)  # else the bound is the curvature, safe exact
        for _ in range(NEWTON_TRIALS if longer else 0):
            slope, curvature = row_line(features, i, loss, z, y, c, t)
            reads += counts[i]
            at_t = slope / n + lam * (w[i] + t)
            beyond = at_t * at_0 < 0.0
            if not beyond or abs(at_t * (t - safe)) <= NEWTON_SLACK * 0.5 * abs(at_0 * safe):
                delta = t
                break
            newton = t - at_t / (curvature / n + lam)
            between = abs(safe) < abs(newton) < abs(t) and newton * safe > 0.0
            t = newton if between else 0.5 * (safe + t)
        w[i] += delta
        row_add(features, i, delta, z)
    return reads


def row_line(
    self: Rows, i: int, loss: Any, z: FloatArray, y: FloatArray, c: FloatArray, t: float
) -> tuple[float, float]:
    """First and second derivative in t of Σ_j c_j φ(z_j + t row_i[j]; y_j)."""
    line = _sparse_line if isinstance(self, SparseRows) else _dense_line
    return line(self, i, loss, z, y, c, t)


def _sparse_line(self, i, loss, z, y, c, t):  # type: ignore[no-untyped-def]
    slope, curvature = 0.0, 0.0
    for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[i + 1])):
        j, x = np.uint64(self.indices[k]), np.float64(self.values[k])
        slope += c[j] * loss_derivative(loss, z[j] + t * x, y[j]) * x
        curvature += c[j] * loss_second_derivative(loss, z[j] + t * x, y[j]) * x * x
    return slope, curvature


def _dense_line(self, i, loss, z, y, c, t):  # type: ignore[no-untyped-def]
    slope, curvature = 0.0, 0.0
    for j in range(np.uint64(self.values.shape[1])):
        x = np.float64(self.values[i, j])
        if x != 0.0:
            slope += c[j] * loss_derivative(loss, z[j] + t * x, y[j]) * x
            curvature += c[j] * loss_second_derivative(loss, z[j] + t * x, y[j]) * x * x
    return slope, curvature


@for_rows(row_line)
def _row_line(self: Any, i: Any, loss: Any, z: Any, y: Any, c: Any, t: Any) -> Any:
    if isinstance(self, types.BaseNamedTuple):
        return _dense_line if self.instance_class is DenseRows else _sparse_line


def _require_serial(draws: Draws) -> None:
    if draws.steps and np.diff(draws.starts).max() > 1:
        raise ValueError(
            "step='newton' moves one coordinate at a time, but the sampling drew several at once. "
            "Use a serial sampling such as 'importance', or step='fixed'."
        )
