"""Primal coordinate methods that are NSync with one kind of sampling: RCDM, UCDC, PCDM."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..._types import FloatArray
from ...problem import Problem
from ...samplings import Importance, Sampling, TauNice, Uniform
from ..nsync import NSync

# The ESO bounds that ``TauNice`` knows, and the one of the PCDM paper.
_BOUNDS = ("sparsity", "spectral", "best", "uniform")


class RCDM(NSync):
    r"""Serial primal RCD, p_i ∝ L_i^a.

    Algorithm
    ---------
    ::

        L_i = (β/n) ‖X_i:‖² + λ
        repeat
            draw i with probability p_i ∝ L_i^a
            w_i −= ∇_i P(w) / L_i

    This is NSync with a serial sampling, whose n/(β u_i + λn) is 1/L_i. The expected error
    contracts by 1 − 1/K per iteration, K = max_i L_i/(p_i λ): Σ_i L_i/λ for a = 1 (importance
    sampling) and d max_i L_i/λ for a = 0 (uniform).

    Rate
    ----
    K = max_i L_i/(p_i λ), which is Σ_i L_i/λ with importance sampling.

    Cost
    ----
    W = Σ_i p_i ‖X_i:‖₀.

    When to use
    -----------
    To compare with the classic of the field: it is ``NSync`` with a serial sampling.

    Parameters
    ----------
    a : float
        The exponent in [0, 1] of the default sampling.

    References
    ----------
    .. [1] Yu. Nesterov. "Efficiency of coordinate descent methods on huge-scale optimization
       problems", SIAM Journal on Optimization 2012.
    """

    samplings: ClassVar[tuple[str, ...]] = ("importance", "uniform")

    def __init__(self, a: float = 1.0) -> None:
        if not 0.0 <= a <= 1.0:
            raise ValueError(f"a must be between 0 and 1, got {a!r}.")
        self.a = a

    def plan(self, problem: Problem) -> Sampling:
        """p_i ∝ L_i^a."""
        side = problem.features
        s = side.curvature(Uniform(side.size).eso(side))
        p = (s / s.max()) ** self.a
        return Importance(p / p.sum())


class UCDC(NSync):
    r"""Serial primal RCD with a proximal step, uniform sampling.

    Algorithm
    ---------
    ::

        L_i = (β/n) ‖X_i:‖²,   F(w) = (1/n) Σ_j φ_j(⟨x_j, w⟩)
        repeat
            draw i uniformly
            t = argmin_t  ∇_i F(w) t + (L_i/2) t² + (λ/2)(w_i + t)²
            w_i += t

    For the penalty (λ/2)‖w‖² the minimiser is t = −(∇_i F(w) + λ w_i)/(L_i + λ), the step of
    NSync. The expected error contracts by 1 − 1/K per iteration, K = d max_i (L_i + λ)/λ.

    Rate
    ----
    K = d max_i (L_i + λ)/λ.

    Cost
    ----
    W = ‖X‖₀/d.

    When to use
    -----------
    Features of equal norm, where uniform sampling loses nothing; else ``NSync`` is better.

    References
    ----------
    .. [1] P. Richtárik, M. Takáč. "Iteration complexity of randomized block-coordinate descent
       methods for minimizing a composite function", Mathematical Programming 2014.
    """

    samplings: ClassVar[tuple[str, ...]] = ("uniform",)


class PCDM(NSync):
    r"""Parallel primal RCD, τ-nice sampling.

    Algorithm
    ---------
    ::

        repeat
            draw a subset S of τ coordinates, all equally likely
            for i in S:   Δ_i = argmin_t  ∇_i F(w) t + (β u_i/2n) t² + (λ/2)(w_i + t)²
            for i in S:   w_i += Δ_i

    This is NSync with the τ-nice sampling. The paper takes, with ω = max_j ω_j the largest number
    of features of an example, u_i = [1 + (ω − 1)(τ − 1)/(d − 1)] ‖X_i:‖² (bound="uniform"); the
    default has each example's own ω_j in its place, which is never larger. The expected error
    contracts by 1 − 1/K per iteration, K = (d/τ) max_i (β u_i + λn)/(λn).

    Rate
    ----
    K = (d/τ) max_i (β u_i + λn)/(λn).

    Cost
    ----
    W = τ‖X‖₀/d.

    When to use
    -----------
    To see what τ coordinates at once would gain on parallel hardware; here they move one after
    another.

    Parameters
    ----------
    tau : int, optional
        The batch of the default sampling.
    bound : {"sparsity", "spectral", "best", "uniform"}
        Which ESO parameters u to use: the first three as in ``TauNice.eso``.

    References
    ----------
    .. [1] P. Richtárik, M. Takáč. "Parallel coordinate descent methods for big data
       optimization", Mathematical Programming 2016.
    """

    samplings: ClassVar[tuple[str, ...]] = ("tau_nice",)

    def __init__(self, tau: int | None = None, bound: str = "sparsity") -> None:
        if tau is not None and tau < 1:
            raise ValueError(f"tau must be at least 1, got {tau!r}.")
        if bound not in _BOUNDS:
            raise ValueError(f"bound must be one of {', '.join(_BOUNDS)}, got {bound!r}.")
        self.tau = tau
        self.bound = bound

    def plan(self, problem: Problem) -> Sampling:
        """The τ-nice sampling of the features."""
        return TauNice.plan(problem.features, self.tau)

    def eso(self, problem: Problem, sampling: Sampling) -> FloatArray:
        """The u of the bound asked for."""
        features = problem.features
        assert isinstance(sampling, TauNice)
        if self.bound != "uniform":
            return sampling.eso(features, self.bound)
        omega = max(int(problem.examples.counts.max()), 1)
        overlap = (sampling.tau - 1) / max(sampling.size - 1, 1)
        return np.asarray((1 + (omega - 1) * overlap) * features.squared_norms)
