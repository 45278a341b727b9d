"""Stochastic dual coordinate ascent: SDCA and Prox-SDCA, and IProx-SDCA by its sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ..._numba.compile import kernel
from ..._types import FloatArray, Side
from ...complexity import Complexity, complexity
from ...data.rows import row_add, row_dot
from ...losses import loss_derivative, loss_dual_step, loss_fenchel_gap
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_alpha, visited

# How the kernel finds s in α_j += s (−φ'_j − α_j).
EXACT, BOUND, FIXED = 0, 1, 2

_KINDS = {"I": EXACT, "II": EXACT, "III": BOUND, "IV": BOUND, "V": FIXED, "eta": FIXED}


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    kappa: FloatArray  # κ_j = c_j ‖x_j‖²/(λn), with R² for c_j ‖x_j‖² in options IV and V
    alpha: FloatArray  # dual iterate
    w: FloatArray  # w(α) = (1/λn) Σ_j α_j x_j, kept up to date


class SDCA(Method):
    r"""Dual coordinate ascent, one example at a time, with the five steps of Prox-SDCA.

    Algorithm
    ---------
    ::

        w = (1/λn) X α
        repeat
            draw j
            q = −φ'_j(⟨x_j, w⟩) − α_j
            α_j += s q,   w += (1/λn) s q x_j

    with s ∈ [0, 1], for γ = 1/β and G_j = φ_j(⟨x_j, w⟩) + φ*_j(−α_j) + α_j ⟨x_j, w⟩, by option

    - I: α_j + s q maximises D along α_j exactly,
    - II: s maximises D on the segment; with one prediction per example this is option I, whose
      maximiser lies between α_j and −φ'_j,
    - III: s = min(1, (G_j + γq²/2)/(q² (γ + ‖x_j‖²/(λn)))), which maximises a lower bound on D,
    - IV: as III with R² = max_l ‖x_l‖² for ‖x_j‖²,
    - V: s = λn/(βR² + λn),
    - eta: s = λn/(β‖x_j‖² + λn), as V with the example's own norm; exact for the squared loss.

    The expected dual error contracts by 1 − 1/K per step with K = max_j (β‖x_j‖² + λn)/(q_j λn),
    q_j the probability of j (in options IV and V with R² for ‖x_j‖²): n + βR²/λ when uniform.
    Permutations are usually faster, but have no such bound.

    Rate
    ----
    K = max_j (β‖x_j‖² + λn)/(q_j λn), which is n + βR²/λ when uniform.

    Cost
    ----
    W = Σ_j q_j ‖x_j‖₀.

    When to use
    -----------
    The standard dual method, and a choice of steps for losses whose exact one is expensive.

    Parameters
    ----------
    option : {"I", "II", "III", "IV", "V", "eta"}

    References
    ----------
    .. [1] S. Shalev-Shwartz, T. Zhang. "Stochastic dual coordinate ascent methods for
       regularized loss minimization", JMLR 2013.
    .. [2] S. Shalev-Shwartz, T. Zhang. "Accelerated proximal stochastic dual coordinate ascent
       for regularized loss minimization", Mathematical Programming 2016.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ("uniform", "permutation", "importance")

    def __init__(self, option: str = "I") -> None:
        if option not in _KINDS:
            raise ValueError(f"option must be one of {', '.join(_KINDS)}, got {option!r}.")
        self.option = option

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``alpha``, at the dual point of ``w``, or at zero."""
        alpha = first_alpha(problem, w, alpha)
        return State(problem, self._kappa(problem), alpha, problem.primal_point(alpha))

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``."""
        p = state.problem
        sdca_steps(
            draws.coordinates, p.examples.rows, p.loss, p.y, p.sample_weight, p.beta, p.lam * p.n,
            state.kappa, _KINDS[self.option], state.alpha, state.w,
        )  # fmt: skip
        return visited(p.examples, draws)

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and α, with w(α) recomputed so that rounding does not pile up."""
        state.w = state.problem.primal_point(state.alpha)
        return state.w, state.alpha

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K as stated above: K_D, eq. (9), of a serial sampling."""
        if self.option not in ("IV", "V"):
            return complexity(problem.examples, sampling)
        p = sampling.probabilities()
        iterations = (problem.beta * self._kappa(problem)[0] + 1) / p.min()
        return Complexity(float(iterations), float(p @ problem.examples.counts), problem.matrix.nnz)

    def _kappa(self, problem: Problem) -> FloatArray:
        squares = problem.sample_weight * problem.examples.squared_norms
        if self.option in ("IV", "V"):
            squares = np.full(problem.n, squares.max())
        return np.asarray(squares / (problem.lam * problem.n))


class IProxSDCA(SDCA):
    r"""Prox-SDCA with importance sampling.

    Algorithm
    ---------
    The steps of ``SDCA`` with j drawn with probability q_j ∝ β‖x_j‖² + λn, for which
    K = n + β (mean_j ‖x_j‖²)/λ: the mean of the squared norms replaces their maximum.

    Rate
    ----
    K = n + β (mean_j ‖x_j‖²)/λ.

    Cost
    ----
    W = Σ_j q_j ‖x_j‖₀.

    When to use
    -----------
    Examples of very different lengths.

    Parameters
    ----------
    option : {"I", "II", "III", "eta"}

    References
    ----------
    .. [1] P. Zhao, T. Zhang. "Stochastic optimization with importance sampling for regularized
       loss minimization", ICML 2015.
    """

    samplings: ClassVar[tuple[str, ...]] = ("importance",)

    def __init__(self, option: str = "I") -> None:
        if option in ("IV", "V"):
            raise ValueError(
                f"option must be one of I, II, III, eta, got {option!r}, whose step is one for "
                "all examples and gains nothing from importance sampling."
            )
        super().__init__(option)


def largest_square(problem: Problem) -> float:
    """R² = max_j c_j ‖x_j‖², the weights counted as part of the examples."""
    return float((problem.sample_weight * problem.examples.squared_norms).max())


def batch_size(sampling: Sampling) -> int:
    """m, the number of examples that every draw of the sampling has."""
    return round(float(sampling.probabilities().sum()))


@kernel
def sdca_steps(  # type: ignore[no-untyped-def]
    coordinates, examples, loss, y, c, beta, lam_n, kappa, kind, alpha, w
):  # fmt: skip
    """One step of SDCA for every j in ``coordinates``, of the given kind."""
    gamma = 1.0 / beta
    for j in coordinates:
        if c[j] == 0.0:
            continue
        z = row_dot(examples, j, w)
        a = alpha[j] / c[j]
        if kind == EXACT:
            delta = loss_dual_step(loss, a, z, y[j], kappa[j])
        else:
            q = -loss_derivative(loss, z, y[j]) - a
            s = gamma / (gamma + kappa[j])
            if kind == BOUND and q != 0.0:
                # φ* is γ-strongly convex, so G ≥ γq²/2: keep what rounding may take from it.
                half = 0.5 * gamma * q * q
                G = max(half, loss_fenchel_gap(loss, z, a, y[j]))
                s = min(1.0, (G + half) / (q * q * (gamma + kappa[j])))
            delta = s * q
        alpha[j] += c[j] * delta
        row_add(examples, j, c[j] * delta / lam_n, w)
