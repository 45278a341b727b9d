"""SVRG and its kin: stochastic gradients corrected by a full gradient at a snapshot.

SVRG, Prox-SVRG, S2GD and mS2GD are one implementation. They differ in the form of the step, in
the length of an epoch and in what becomes the next snapshot.
"""

from __future__ import annotations

import math
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
from .sag import loss_gradient, require_step, step_of
from .sgd import smoothness, unbiased_weights

# The longest epoch in steps: no run makes as many, and kernels count to 2^63.
LONGEST_EPOCH = 2.0**53


@dataclass(frozen=True)
class Epochs:
    """The parameters of a run."""

    eta: float  # η
    longest: int  # m
    mean: float  # the expected length of an epoch
    contraction: float  # ρ: one epoch multiplies the expected error by at most this


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    rng: Generator  # for random lengths of epochs
    epochs: Epochs
    moving: IntArray  # the features that are not empty, or do not start at zero
    weight: FloatArray  # 1/(n p_j), p_j the probability that j is in the batch
    decay: float  # 1 − q: a step multiplies w by q = 1 − ηλ, or by 1/(1 + ηλ) in the prox form
    h: float  # and subtracts h g, h = η, or η/(1 + ηλ) in the prox form
    length: int  # steps of this epoch; 0 before the first
    left: int  # steps left in this epoch
    anchor: FloatArray  # w̃, the snapshot
    slopes: FloatArray  # φ'_j(⟨x_j, w̃⟩)
    F: FloatArray  # (1/n) Σ_j φ'_j(⟨x_j, w̃⟩) x_j
    f: FloatArray  # ⟨x_j, F⟩
    r: FloatArray  # the iterate is w = scale · r + shift · F
    scale: float  # q^k
    shift: float  # −h (1 + q + … + q^(k−1))
    total: FloatArray  # with averaging, the part of the sum of iterates that is not along F
    mass: float  # and the part along F


class SVRG(Method):
    r"""Stochastic variance reduced gradient.

    Algorithm
    ---------
    ::

        repeat
            F = (1/n) Σ_j φ'_j(⟨x_j, w̃⟩) x_j,   w = w̃
            for m steps:
                draw j
                g = (φ'_j(⟨x_j, w⟩) − φ'_j(⟨x_j, w̃⟩)) x_j/(n q_j) + F
                w ← w − η (g + λw)
            w̃ = w

    where q_j is the probability of j. With snapshot="random" an epoch ends after 1, 2, … or m
    steps, all equally likely. With L = max_j β‖x_j‖²/(n q_j) + λ one epoch multiplies E[P(w̃)] − P*
    by at most ρ = 1/(λη(1 − 2Lη)m) + 2Lη/(1 − 2Lη), which is 1/2 for η = 0.1/L and m = 50 L/λ.
    The bound is for the random snapshot; the last one is what is used in practice.

    The iterate is kept as scale · r + shift · F and the products ⟨x_j, F⟩ are computed once per
    epoch, so a step costs only the nonzeros of its row.

    Rate
    ----
    (1 − 1/K)^m = ρ = 1/(λη(1 − 2Lη)m) + 2Lη/(1 − 2Lη), with the default step and epoch at most
    1/2.

    Cost
    ----
    W = Σ_j q_j ‖x_j‖₀ + 1.5 ‖X‖₀/m for the full gradients.

    When to use
    -----------
    Well conditioned problems with many examples, or as the classic of variance reduction to
    compare with.

    Parameters
    ----------
    step : float
        η in units of 1/L.
    epoch : int, optional
        m; by default 50 L/λ, but no less than 2n.
    snapshot : {"last", "random"}

    References
    ----------
    .. [1] R. Johnson, T. Zhang. "Accelerating stochastic gradient descent using predictive
       variance reduction", NIPS 2013.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ("uniform", "importance")
    prox: ClassVar[bool] = False
    averaging: ClassVar[bool] = False  # whether the next snapshot is the mean of the iterates

    def __init__(self, step: float = 0.1, epoch: int | None = None, snapshot: str = "last") -> None:
        require_step(step)
        require_epoch(epoch)
        if snapshot not in ("last", "random"):
            raise ValueError(f"snapshot must be 'last' or 'random', got {snapshot!r}.")
        self.step = step
        self.epoch = epoch
        self.snapshot = snapshot

    def epochs(self, problem: Problem, sampling: Sampling) -> Epochs:
        """Steps and lengths, and what one epoch gains."""
        L = smoothness(problem, unbiased_weights(problem, sampling)) + problem.lam
        eta = self.step / L
        m = self.epoch or max(steps_of_epoch(50 * L / problem.lam), 2 * problem.n)
        rest = 1 - 2 * self.step
        rho = (1 / (problem.lam * eta * m) + 2 * self.step) / rest if rest > 0 else math.inf
        return Epochs(eta, m, m if self.snapshot == "last" else (m + 1) / 2, rho)

    def start(
        self,
        problem: Problem,
        sampling: Sampling,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        w = first_w(problem, w, alpha)
        n, d = problem.n, problem.d
        epochs = self.epochs(problem, sampling)
        decay, h = step_of(epochs.eta, problem.lam, self.prox)
        return State(
            problem, np.random.default_rng(0) if rng is None else rng, epochs,
            moving_features(problem, w), unbiased_weights(problem, sampling), decay, h, 0, 0, w,
            np.zeros(n), np.zeros(d), np.zeros(n), w.copy(), 1.0, 0.0,
            np.zeros(d if self.averaging else 0), 0.0,
        )  # fmt: skip

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``; an epoch begins with its first step."""
        p = state.problem
        # One product and one addition with a row, as in a plain step, and one for the average.
        seen = (1.5 if self.averaging else 1.0) * visited(p.examples, draws)
        first, last = 0, -1
        while last < draws.steps:
            if state.left == 0 and draws.steps:
                seen += self._begin_epoch(state)
            last = min(first + state.left, draws.steps)
            state.scale, state.shift, state.mass = _advance(
                draws.starts[first : last + 1], draws.coordinates, p.examples.rows, p.loss, p.y,
                p.sample_weight, state.moving, state.weight, state.decay, state.h, self.averaging,
                state.left, state.slopes, state.f, state.F, state.r, state.scale, state.shift,
                state.total, state.mass,
            )  # fmt: skip
            state.left -= last - first
            first = last
        return seen

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w."""
        return state.scale * state.r + state.shift * state.F, None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K from ρ; the cost includes the full gradients."""
        epochs = self.epochs(problem, sampling)
        return self.with_full_gradients(problem, sampling, per_step(epochs), epochs.mean)

    def with_full_gradients(
        self, problem: Problem, sampling: Sampling, iterations: float, length: float
    ) -> Complexity:
        """K, and W with the full gradients spread over the steps of an epoch."""
        nnz = problem.matrix.nnz
        cost = float(sampling.probabilities() @ problem.examples.counts)
        cost = (1.5 if self.averaging else 1.0) * cost + 1.5 * nnz / length
        return Complexity(iterations, cost, nnz)

    def _begin_epoch(self, state: State) -> float:
        """Move the snapshot and take the full gradient there; return the nonzeros visited."""
        p = state.problem
        self.move_snapshot(state)
        state.F = gradient_at(p, p.matrix.times(state.anchor), state.moving, state.slopes, state.F)
        state.f = p.matrix.times(state.F)
        combine(state.moving, state.r, 1.0, state.anchor, 0.0, state.F)
        state.scale, state.shift = 1.0, 0.0
        state.length = state.left = self.draw_length(state)
        if self.averaging:
            combine(state.moving, state.total, 0.0, state.r, 0.0, state.r)
            state.mass = 0.0
        return 1.5 * p.matrix.nnz  # two products and one addition with every row

    def move_snapshot(self, state: State) -> None:
        """Move w̃ to where the next epoch starts."""
        combine(state.moving, state.anchor, state.scale, state.r, state.shift, state.F)

    def draw_length(self, state: State) -> int:
        """The number of steps of the next epoch."""
        m = state.epochs.longest
        return m if self.snapshot == "last" else random_length(state.rng, m, 0.0)


class S2GD(SVRG):
    r"""Semi-stochastic gradient descent: SVRG with epochs of random length.

    Algorithm
    ---------
    The steps of ``SVRG``, t of them in an epoch, t ∈ {1, …, m} with probability proportional to
    (1 − λη)^(m−t). One epoch multiplies E[P(w̃)] − P* by at most

        c = (1 − λη)^m / ((1 − (1 − λη)^m)(1 − 2Lη)) + 2(L − λ)η/(1 − 2Lη),

    which is below 0.45 for η = 0.1/L and m = 20 L/λ.

    Rate
    ----
    (1 − 1/K)^t̄ = c with t̄ the mean length of an epoch, with the default step and epoch c < 0.45.

    Cost
    ----
    W = Σ_j q_j ‖x_j‖₀ + 1.5 ‖X‖₀/t̄ for the full gradients.

    When to use
    -----------
    As ``SVRG``, with a proof for the point that is used.

    Parameters
    ----------
    step : float
        η in units of 1/L.
    epoch : int, optional
        m; by default 20 L/λ, but no less than 2n.

    References
    ----------
    .. [1] J. Konečný, P. Richtárik. "Semi-stochastic gradient descent methods", Frontiers in
       Applied Mathematics and Statistics 2017.
    """

    def __init__(self, step: float = 0.1, epoch: int | None = None) -> None:
        super().__init__(step, epoch)

    def epochs(self, problem: Problem, sampling: Sampling) -> Epochs:
        """Steps and lengths, and what one epoch gains."""
        L = smoothness(problem, unbiased_weights(problem, sampling)) + problem.lam
        return semi_stochastic_epochs(
            L, problem.lam, self.step, self.epoch, 2 * problem.n, 1 - problem.lam / L
        )

    def draw_length(self, state: State) -> int:
        """The number of steps of the next epoch."""
        return random_length(state.rng, state.epochs.longest, state.decay)


def gradient_at(
    problem: Problem, z: FloatArray, moving: IntArray, slopes: FloatArray, out: FloatArray
) -> FloatArray:
    """The ``loss_gradient`` at margins z, written over the old one where the data is sparse.

    A new vector would cost O(d) in every epoch, however few features there are to move.
    """
    if not problem.matrix.is_sparse:
        return loss_gradient(problem, z, slopes)
    derivatives(problem.loss, z, problem.y, problem.sample_weight, slopes)
    _renew(problem.examples.rows, slopes, moving, out)
    return out


def semi_stochastic_epochs(
    L: float, lam: float, step: float, epoch: int | None, at_least: int, noise: float = 1.0
) -> Epochs:
    """Epochs of random length ≤ m: c as stated in S2GD, with ``noise`` for (L − λ)/L."""
    h = step / L
    m = epoch or max(steps_of_epoch(20 * L / lam), at_least)
    gone = -math.expm1(m * math.log1p(-lam * h))  # 1 − (1 − λη)^m
    rest = 1 - 2 * step
    c = ((1 - gone) / gone + 2 * step * noise) / rest if rest > 0 else math.inf
    # m − t is geometric with the ratio 1 − λη, cut off at m.
    mean = m - (1 - lam * h) / (lam * h) + m * (1 - gone) / gone
    return Epochs(h, m, min(max(mean, 1.0), m), c)


def steps_of_epoch(length: float) -> int:
    """The length of an epoch by theory as a number that kernels can count to."""
    if not math.isfinite(length):
        raise ValueError(
            "this method needs steps of a positive length, but the squared norms of the data are "
            "not finite, or lam is too small beside them. Scale the data, or raise lam."
        )
    return math.ceil(min(length, LONGEST_EPOCH))


def random_length(rng: Generator, m: int, decay: float) -> int:
    """t ∈ {1, …, m} with probability proportional to (1 − decay)^(m−t)."""
    u = rng.random()
    if decay == 0.0:
        return 1 + int(u * m)
    log_q = math.log1p(-decay)
    before_end = math.log1p(u * math.expm1(m * log_q)) / log_q
    return max(m - int(before_end), 1)


def require_epoch(epoch: int | None) -> None:
    """An epoch has at least one step."""
    if epoch is not None and epoch < 1:
        raise ValueError(f"epoch must be a positive number of steps, got {epoch!r}.")


def per_step(epochs: Epochs) -> float:
    """K with (1 − 1/K)^(mean length) = ρ, infinite where the bound says nothing."""
    if epochs.contraction >= 1:
        return math.inf
    return -1 / math.expm1(math.log(epochs.contraction) / epochs.mean)


@kernel
def _renew(examples, slopes, moving, F):  # type: ignore[no-untyped-def]
    """F = (1/n) Σ_j slopes_j x_j; F is zero outside the moving features and stays so."""
    n = slopes.size
    for i in moving:
        F[i] = 0.0
    for j in range(n):
        row_add(examples, j, slopes[j] / n, F)


@kernel
def _advance(  # type: ignore[no-untyped-def]
    starts, coordinates, examples, loss, y, c, moving, weight, decay, h, averaging, left, slopes,
    f, F, r, scale, shift, total, mass,
):  # fmt: skip
    q, log_q = 1.0 - decay, np.log1p(-decay)
    delta = np.empty(y.size)
    for k in range(starts.size - 1):
        S = coordinates[starts[k] : starts[k + 1]]
        for s, j in enumerate(S):
            z = scale * row_dot(examples, j, r) + shift * f[j]
            delta[s] = weight[j] * (c[j] * loss_derivative(loss, z, y[j]) - slopes[j])
        scale *= q
        shift = q * shift - h
        for s, j in enumerate(S):
            row_add(examples, j, -h * delta[s] / scale, r)
        if averaging:
            stay = -np.expm1((left - k) * log_q) / decay  # 1 + q + … + q^(left−k−1)
            mass += stay
            for s, j in enumerate(S):
                row_add(examples, j, stay * delta[s], total)
        if scale < SMALLEST_SCALE:
            combine(moving, r, scale, r, shift, F)
            scale, shift = 1.0, 0.0
    return scale, shift, mass
