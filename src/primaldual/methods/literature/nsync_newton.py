"""NSync with Newton's step along each coordinate, safeguarded by the step of the theory."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ..._numba.compile import inlined_in_loops, kernel
from ...complexity import Complexity
from ...data.rows import row_add, row_begin, row_column, row_end, row_value
from ...losses import loss_derivative, loss_second_derivative
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..nsync import NSync, State, move_intercept

# The fraction of the guaranteed decrease that a Newton step may lose; it enters the rate as 1/0.9.
NEWTON_SLACK = 0.1
# Points tried along a coordinate before the Newton step gives way to the fixed one.
NEWTON_TRIALS = 20


class NSyncNewton(NSync):
    r"""Serial primal RCD whose steps follow the true curvature.

    Algorithm
    ---------
    NSync with a serial sampling, whose step follows the curvature of f(t) = P(w + t e_i) instead
    of its bound u'_i = (β u_i + λn)/n::

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
    K = max_i (β u_i + λn)/(0.9 p_i λn) at most.

    Cost
    ----
    W = 2 Σ_i p_i ‖X_i:‖₀: a step mostly reads its row twice.

    When to use
    -----------
    Where ``NSync`` is, and the loss is much flatter than β where the data is, as the logistic loss
    with small λ.

    References
    ----------
    .. [1] P. Richtárik, M. Takáč. "On optimal probabilities in stochastic coordinate descent
       methods", Optimization Letters 2016.
    """

    samplings: ClassVar[tuple[str, ...]] = ("importance", "uniform", "permutation")

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        reads = _advance(
            draws.coordinates, p.features.rows, p.features.counts, p.loss, p.y, p.sample_weight,
            p.lam, state.step, state.w, state.z,
        )  # fmt: skip
        move_intercept(state)
        return float(reads)

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K_P/0.9, eq. (8); a step mostly reads its row twice."""
        stated = super().complexity(problem, sampling)
        iterations = stated.iterations / (1 - NEWTON_SLACK)
        return replace(stated, iterations=iterations, cost=2 * stated.cost)


@kernel
def _advance(  # type: ignore[no-untyped-def]
    coordinates, features, counts, loss, y, c, lam, step, w, z
):  # fmt: skip
    n = y.size
    reads = 0
    for i in coordinates:
        slope, curvature = _line(features, i, loss, z, y, c, 0.0)
        reads += counts[i]
        at_0 = slope / n + lam * w[i]
        safe = -step[i] * at_0
        t = -at_0 / (curvature / n + lam)
        delta = safe
        longer = abs(t) > (1.0 + 1e-12) * abs(safe)  # else the bound is the curvature, safe exact
        for _ in range(NEWTON_TRIALS if longer else 0):
            slope, curvature = _line(features, i, loss, z, y, c, t)
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


@inlined_in_loops
def _line(rows, i, loss, z, y, c, t):  # type: ignore[no-untyped-def]
    """First and second derivative in t of Σ_j c_j φ(z_j + t row_i[j]; y_j)."""
    slope, curvature = 0.0, 0.0
    for k in range(row_begin(rows, i), row_end(rows, i)):
        x = row_value(rows, i, k)
        if x != 0.0:
            j = row_column(rows, i, k)
            slope += c[j] * loss_derivative(loss, z[j] + t * x, y[j]) * x
            curvature += c[j] * loss_second_derivative(loss, z[j] + t * x, y[j]) * x * x
    return slope, curvature
