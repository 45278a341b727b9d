"""Loopless SVRG: the snapshot moves at random moments."""

from __future__ import annotations

from ...complexity import Complexity
from ...problem import Problem
from ...samplings import Sampling
from .sgd import smoothness, unbiased_weights
from .svrg import SVRG, Epochs, State


class LSVRG(SVRG):
    r"""SVRG without the outer loop.

    Algorithm
    ---------
    ::

        repeat
            with probability p (and at the first step):
                w̃ = w,   F = (1/n) Σ_j φ'_j(⟨x_j, w̃⟩) x_j
            draw j
            g = (φ'_j(⟨x_j, w⟩) − φ'_j(⟨x_j, w̃⟩)) x_j/(n q_j) + F
            w ← w − η (g + λw)

    where q_j is the probability of j. With L = max_j β‖x_j‖²/(n q_j) + λ and η = 1/(6L),
    E‖w − w*‖² contracts by 1 − 1/K per step, up to a constant, K = max(6 L/λ, 2/p). The time
    between two snapshots is geometric with mean 1/p: this is ``SVRG`` with epochs of such lengths,
    and has the same implementation.

    Rate
    ----
    K = max(6 L/λ, 2/p), L = max_j β‖x_j‖²/(n q_j) + λ.

    Cost
    ----
    W = Σ_j q_j ‖x_j‖₀ + 1.5 p‖X‖₀ for the full gradients.

    When to use
    -----------
    The simplest of the SVRG family: no epochs to choose, and the bound is for the last iterate.

    Parameters
    ----------
    step : float
        η in units of 1/L.
    refresh : float, optional
        p, by default 1/n.

    References
    ----------
    .. [1] D. Kovalev, S. Horváth, P. Richtárik. "Don't jump through hoops and remove those loops:
       SVRG and Katyusha are better without the outer loop", ALT 2020.
    .. [2] T. Hofmann, A. Lucchi, S. Lacoste-Julien, B. McWilliams. "Variance reduced stochastic
       gradient descent with neighbors", NIPS 2015.
    """

    def __init__(self, step: float = 1 / 6, refresh: float | None = None) -> None:
        super().__init__(step)
        require_refresh(refresh)
        self.refresh = refresh

    def epochs(self, problem: Problem, sampling: Sampling) -> Epochs:
        """The step; all else follows from p."""
        L = smoothness(problem, unbiased_weights(problem, sampling)) + problem.lam
        between = 1 / self.refresh if self.refresh else problem.n
        return Epochs(self.step / L, 0, between, 1.0)

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K = max(6 L/λ, 2/p), with the step for 1/6 if it is smaller."""
        epochs = self.epochs(problem, sampling)
        proven = min(1.0, 1 / (6 * self.step)) * epochs.eta
        iterations = max(1 / (proven * problem.lam), 2 * epochs.mean)
        return self.with_full_gradients(problem, sampling, iterations, epochs.mean)

    def draw_length(self, state: State) -> int:
        """The number of steps of the next epoch."""
        return int(state.rng.geometric(1 / state.epochs.mean))


def require_refresh(refresh: float | None) -> None:
    """The probability of a new snapshot must be one."""
    if refresh is not None and not 0 < refresh <= 1:
        raise ValueError(f"refresh must be a probability in (0, 1], got {refresh!r}.")
