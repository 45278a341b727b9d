"""Loopless Katyusha: the snapshot moves at random moments."""

from __future__ import annotations

import math
from typing import ClassVar

from ..._types import FloatArray
from ...complexity import Complexity
from ...problem import Problem
from ...samplings import Sampling
from .katyusha import Katyusha, Recurrence, State
from .l_svrg import require_refresh
from .sgd import smoothness, unbiased_weights


class LKatyusha(Katyusha):
    r"""Katyusha without the outer loop.

    Algorithm
    ---------
    ::

        z = y = w̃
        repeat
            with probability p (and at the first step):
                w̃ = y,   F = (1/n) Σ_j φ'_j(⟨x_j, w̃⟩) x_j
            x = t1 z + t2 w̃ + (1 − t1 − t2) y
            draw j
            g = (φ'_j(⟨x_j, x⟩) − φ'_j(⟨x_j, w̃⟩)) x_j/(n q_j) + F + λx
            z⁺ = (ησx + z − (η/L)g)/(1 + ησ),   y = x + t1 (z⁺ − z),   z = z⁺

    where q_j is the probability of j, L = max_j β‖x_j‖²/(n q_j) + λ, σ = λ/L, t2 = 1/2,
    t1 = min(√(2σ/(3p)), 1/2) and η = t2/((1 + t2) t1). The expected error contracts by 1 − 1/K per
    step, up to a constant, K = 4 max(1/p, √(3L/(2pλ))). As λx cancels in z⁺, the recurrence has
    the form of Katyusha's, and the implementation is the same.

    Rate
    ----
    K = 4 max(1/p, √(3L/(2pλ))), L = max_j β‖x_j‖²/(n q_j) + λ.

    Cost
    ----
    W = 2 Σ_j q_j ‖x_j‖₀ + 1.5 p‖X‖₀.

    When to use
    -----------
    As ``Katyusha``, without epochs and without a mean to keep: usually the faster of the two.

    Parameters
    ----------
    refresh : float, optional
        p, by default 1/n.

    References
    ----------
    .. [1] D. Kovalev, S. Horváth, P. Richtárik. "Don't jump through hoops and remove those loops:
       SVRG and Katyusha are better without the outer loop", ALT 2020.
    """

    averaging: ClassVar[bool] = False

    def __init__(self, refresh: float | None = None) -> None:
        super().__init__()
        require_refresh(refresh)
        self.refresh = refresh

    def recurrence(self, problem: Problem, sampling: Sampling) -> Recurrence:
        """The parameters, in the diagonal basis."""
        L = smoothness(problem, unbiased_weights(problem, sampling)) + problem.lam
        sigma = problem.lam / L
        t1, t2 = min(math.sqrt(2 * sigma * self._between(problem) / 3), 0.5), 0.5
        t3 = 1 - t1 - t2
        eta = t2 / ((1 + t2) * t1)
        h = eta / L / (1 + eta * sigma)  # z⁺ = q z − h F, and then y = t1 z⁺ + t2 w̃ + t3 y
        q = 1 - h * problem.lam
        e = t1 * q / (q - t3)
        c_F = t3 * e * (h / q) / (1 - t3)
        return Recurrence(
            t1, t2, t3, h * problem.lam, h, t3, e, c_F, t2 / (1 - t3), (e - t1) * h
        )  # fmt: skip

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = 4 max(1/p, √(3L/(2pλ))); the cost includes the full gradients."""
        between = self._between(problem)
        L = smoothness(problem, unbiased_weights(problem, sampling)) + problem.lam
        iterations = 4 * max(between, math.sqrt(1.5 * between * L / problem.lam))
        return self.with_full_gradients(problem, sampling, iterations, between)

    def _between(self, problem: Problem) -> float:
        """1/p, the mean number of steps between two snapshots."""
        return 1 / self.refresh if self.refresh else float(problem.n)

    def draw_length(self, state: State) -> int:
        """The number of steps of the next epoch."""
        return int(state.rng.geometric(1 / self._between(state.problem)))

    def begin_mean(self, state: State) -> None:
        """Start the mean of the points y, where one is kept."""
        pass

    def move_snapshot(self, state: State, y: FloatArray) -> None:
        """Move w̃ to where the next epoch starts."""
        state.anchor = y.copy()
