"""Newton's method for few examples: all work after one product happens on the Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ..._types import FloatArray, Layout, Side
from ...complexity import Complexity
from ...losses.sums import sum_values
from ...problem import Problem
from ...problem.intercept import into_domain
from ...samplings import Draws, Sampling
from ..base import Method, first_alpha
from .second_order import BLAS, cholesky_solver, gap_after, line_search, near_gaps, slopes

# A curvature below this fraction of the largest one is rounding and counts as none.
FLAT = 1e-14


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    gram: FloatArray  # X Xᵀ/(λn)
    a: FloatArray  # the primal iterate as w = w(a)
    intercept: float
    z: FloatArray  # its margins, gram @ a + b
    alpha: FloatArray  # the dual point of the last step
    gap: float = np.inf  # of the last step's pair, without a certificate


class GramNewton(Method):
    r"""Newton's method in the space of the examples, the twin of ``Newton``.

    Algorithm
    ---------
    ::

        K = X Xᵀ/(λn)
        repeat
            z = K a + b,   h_j = c_j φ''_j(z_j)
            solve  α_j + h_j ((K α)_j + b⁺) = h_j z_j − c_j φ'_j(z_j)    by Cholesky
            with b⁺ from Σ_j α_j = 0
            a += s (α − a),   s = 1 or from a line search on P

    It is the same step as on the features, since every iterate has the form w = w(a); only the
    linear algebra is done with n × n matrices. The data is read twice: for K, and for the final
    w = w(a).

    Rate
    ----
    Quadratic near the optimum, so K = 1: a handful of steps to any accuracy.

    Cost
    ----
    A Cholesky factorisation, n³/6 multiply-adds.

    When to use
    -----------
    Up to a few thousand examples, however many features there are.

    References
    ----------
    .. [1] O. Chapelle. "Training a support vector machine in the primal", Neural Computation 2007.
    """

    side: ClassVar[Side] = "dual"
    layout: ClassVar[Layout] = "by_feature"
    free_intercept: ClassVar[bool] = True
    needs_beta: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ()
    factors: ClassVar[bool] = True

    def start(
        self,
        problem: Problem,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``alpha``, at the dual point of ``w``, or at zero, not too far out."""
        lower = problem.matrix.gram_of_examples()
        lower /= problem.lam * problem.n
        gram = np.tril(lower) + np.tril(lower, -1).T
        alpha = (
            np.zeros(problem.n) if w is None and alpha is None else first_alpha(problem, w, alpha)
        )
        return State(problem, gram, *not_too_far(problem, alpha, gram @ alpha))

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One Newton step."""
        p, K = state.problem, state.gram
        first, second = slopes(p, state.z)
        alpha, b = _newton_point(K, state.z, first, second, p.fit_intercept)
        direction = alpha - state.a
        move(state, first, alpha, b, direction, K @ direction)
        state.z = K @ state.a + state.intercept
        return _step_work(p)

    def gap_estimate(self, state: State) -> float:
        """The gap of the last step's pair, as computed along the way."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and the dual point of the last step."""
        return state.problem.primal_point(state.a), state.alpha

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """One step, at the cost of one factorisation: Newton's rate does not depend on K."""
        return Complexity(1.0, _step_work(problem), problem.matrix.nnz)


def not_too_far(
    problem: Problem, alpha: FloatArray, z: FloatArray
) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    """The point to start from at α, whose scores are z: a, its intercept and margins, and α.

    Far out, losses have next to no curvature, and a Newton step from there can be worthless: where
    P(w(α)) is above P(0), a is about the best point between zero and α.
    """
    b, square = problem.best_intercept(z), float(alpha @ z)
    total = float(sum_values(problem.loss, z + b, problem.y, problem.sample_weight)) + 0.5 * square
    if total <= problem.primal_at_zero * problem.n:
        return alpha, b, z + b, alpha
    nothing = np.zeros(problem.n)
    first, second = slopes(problem, nothing)
    share = line_search(
        problem.loss, nothing, z, problem.y, problem.sample_weight, float(first @ z), 0.0, square,
        first, second,
    )  # fmt: skip
    b = problem.best_intercept(share * z)
    return share * alpha, b, share * z + b, alpha


def move(
    state: Any,
    first: FloatArray,
    alpha: FloatArray,
    b: float,
    direction: FloatArray,
    moved: FloatArray,
) -> float:
    """Go from a towards α = a + direction, where ``moved`` is K direction; return how far.

    α becomes the dual point.
    """
    p = state.problem
    change = moved + (b - state.intercept)
    # ‖w‖² and ⟨w, δ⟩ through the Gram matrix: λn ⟨w(a), w(a')⟩ = aᵀ K a'.
    along = float(state.a @ moved)
    after = np.empty(p.n), np.empty(p.n)
    s = line_search(
        p.loss, state.z, change, p.y, p.sample_weight, float(first @ change) + along,
        along, float(direction @ moved), *after,
    )  # fmt: skip
    state.a = state.a + s * direction
    state.intercept += s * (b - state.intercept)
    state.z = state.z + s * change
    into_domain(p.loss, p.y, p.sample_weight, alpha)
    state.alpha = alpha
    gaps = near_gaps(p.loss, state.z, alpha, p.y, p.sample_weight, *after)
    state.gap = gap_after(s, gaps / p.n, state.gap)
    return float(s)


def _step_work(problem: Problem) -> float:
    """The work of a step, in visits of a nonzero."""
    return float(problem.n) ** 2 * (problem.n / 6 + 2) / BLAS


def _newton_point(
    K: FloatArray, z: FloatArray, first: FloatArray, second: FloatArray, fit_intercept: bool
) -> tuple[FloatArray, float]:
    """α and b of the full Newton step.

    Where h_j > 0 the equation is divided by √h_j: with α_j = √h_j γ_j it reads
    (I + √h K √h) γ = √h ∘ (z − c ∘ φ'/h − K α_B − b). Solving for α itself, not for the change
    of z, keeps its digits when K is large. Examples without curvature (B) have α_j = −c_j φ'_j.
    """
    curved = second > FLAT * second.max(initial=0.0)
    alpha = -first
    if not curved.any():
        return alpha, 0.0
    everything = bool(curved.all())
    root = np.sqrt(second[curved])
    gram = K if everything else K[np.ix_(curved, curved)]
    solve = cholesky_solver(root[:, None] * gram * root, 1.0)
    right = z[curved] - first[curved] / second[curved]
    if not everything:
        right -= K[np.ix_(curved, ~curved)] @ alpha[~curved]
    alpha[curved] = root * solve(root * right)
    if not fit_intercept:
        return alpha, 0.0
    back = root * solve(root)
    b = float(alpha.sum() / back.sum())
    alpha[curved] -= b * back
    return alpha, b
