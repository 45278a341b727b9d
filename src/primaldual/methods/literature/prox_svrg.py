"""SVRG with the regulariser in a proximal step: Prox-SVRG, and mS2GD with batches."""

from __future__ import annotations

import math
from typing import ClassVar

from ...problem import Problem
from ...samplings import Sampling
from .lazy import combine
from .sgd import smoothness, unbiased_weights
from .svrg import SVRG, Epochs, State, steps_of_epoch


class ProxSVRG(SVRG):
    r"""SVRG with the regulariser in a proximal step, and averaging.

    Algorithm
    ---------
    ::

        repeat
            F = (1/n) Σ_j φ'_j(⟨x_j, w̃⟩) x_j,   w = w̃
            for m steps:
                draw j
                g = (φ'_j(⟨x_j, w⟩) − φ'_j(⟨x_j, w̃⟩)) x_j/(n q_j) + F
                w ← (w − ηg)/(1 + ηλ)
            w̃ = the mean of the m iterates

    With L = max_j β‖x_j‖²/(n q_j) one epoch multiplies E[P(w̃)] − P* by at most
    ρ = 1/(λη(1 − 4Lη)m) + 4Lη(m + 1)/((1 − 4Lη)m), about 5/6 for η = 0.1/L and m = 100 L/λ.
    Importance sampling replaces the largest β‖x_j‖² in L by about their mean.

    A gradient that enters at step t stays in the sum of the iterates with the weight
    1 + q + … + q^(m−t), q = 1/(1 + ηλ), so the mean is kept by one more addition per row.

    Rate
    ----
    (1 − 1/K)^m = ρ = 1/(λη(1 − 4Lη)m) + 4Lη(m + 1)/((1 − 4Lη)m), by default about 5/6.

    Cost
    ----
    W = 1.5 Σ_j q_j ‖x_j‖₀ + 1.5 ‖X‖₀/m.

    When to use
    -----------
    As ``SVRG``, with importance sampling covered by the theory.

    Parameters
    ----------
    step : float
        η in units of 1/L.
    epoch : int, optional
        m; by default 100 L/λ, but no less than 2n.

    References
    ----------
    .. [1] L. Xiao, T. Zhang. "A proximal stochastic gradient method with progressive variance
       reduction", SIAM Journal on Optimization 2014.
    """

    prox: ClassVar[bool] = True
    averaging: ClassVar[bool] = True

    def __init__(self, step: float = 0.1, epoch: int | None = None) -> None:
        super().__init__(step, epoch)

    def epochs(self, problem: Problem, sampling: Sampling) -> Epochs:
        """Steps and lengths, and what one epoch gains."""
        L = max(smoothness(problem, unbiased_weights(problem, sampling)), problem.lam)
        return self._proximal_epochs(problem, L, self.step, 1.0, 2 * problem.n)

    def _proximal_epochs(
        self, problem: Problem, L: float, step: float, variance: float, at_least: int
    ) -> Epochs:
        """As stated, for η = step/L and a variance that is this part of a single example's."""
        m = self.epoch or max(steps_of_epoch(10 * L / (step * problem.lam)), at_least)
        noise = 4 * step * variance
        rho = math.inf
        if noise < 1:
            rho = (L / (problem.lam * step) + noise * (m + 1)) / ((1 - noise) * m)
        return Epochs(step / L, m, m, rho)

    def move_snapshot(self, state: State) -> None:
        """Move w̃ to where the next epoch starts."""
        if state.length == 0:
            return super().move_snapshot(state)
        m, h, q, anchor = state.length, state.h, 1 - state.decay, state.anchor
        powers = -q * math.expm1(m * math.log1p(-state.decay)) / state.decay  # q + … + q^m
        combine(state.moving, anchor, powers / m, anchor, -h * state.mass / m, state.F)
        combine(state.moving, anchor, 1.0, anchor, -h / m, state.total)


class MS2GD(ProxSVRG):
    r"""Mini-batch semi-stochastic gradient descent.

    Algorithm
    ---------
    The steps of ``ProxSVRG`` with the mean over a random batch S of b examples,

        g = (1/b) Σ_{j ∈ S} (φ'_j(⟨x_j, w⟩) − φ'_j(⟨x_j, w̃⟩)) x_j + F.

    With L = max_j β‖x_j‖² and a = (n − b)/(b(n − 1)) one epoch multiplies E[P(w̃)] − P* by at most
    ρ = 1/(mηλ(1 − 4ηLa)) + 4ηLa(m + 1)/(m(1 − 4ηLa)), for η < min(1/(4La), 1/L): larger batches
    allow larger steps and shorter epochs.

    Rate
    ----
    (1 − 1/K)^m = ρ = 1/(mηλ(1 − 4ηLa)) + 4ηLa(m + 1)/(m(1 − 4ηLa)).

    Cost
    ----
    W = 1.5 b‖X‖₀/n + 1.5 ‖X‖₀/m.

    When to use
    -----------
    Variance reduction with batches: larger steps where examples can be read in parallel.

    Parameters
    ----------
    step : float, optional
        η in units of 1/L; by default 0.1/a, but no more than 1/2.
    epoch : int, optional
        m; by default 10/(ηλ), but no less than 2n/b.

    References
    ----------
    .. [1] J. Konečný, J. Liu, P. Richtárik, M. Takáč. "Mini-batch semi-stochastic gradient
       descent in the proximal setting", IEEE Journal of Selected Topics in Signal Processing 2016.
    """

    samplings: ClassVar[tuple[str, ...]] = ("tau_nice",)

    def __init__(self, step: float | None = None, epoch: int | None = None) -> None:
        super().__init__(0.1 if step is None else step, epoch)
        self.given_step = step

    def epochs(self, problem: Problem, sampling: Sampling) -> Epochs:
        """Steps and lengths, and what one epoch gains."""
        n, b = problem.n, round(float(sampling.probabilities().sum()))
        L = max(smoothness(problem), problem.lam)
        variance = (n - b) / (b * max(n - 1, 1))
        step = self.given_step or min(0.1 / max(variance, 0.2), 0.5)
        return self._proximal_epochs(problem, L, step, variance, -(-2 * n // b))
