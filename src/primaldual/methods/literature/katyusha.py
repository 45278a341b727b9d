"""Katyusha: SVRG with momentum, accelerated, at the cost of a sparse row per step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy import sparse

from ..._numba.compile import kernel
from ..._types import FloatArray, IntArray, Side
from ...complexity import Complexity
from ...data.matrix import Matrix
from ...data.rows import row_begin, row_column, row_end, row_value
from ...losses import loss_derivative
from ...losses.sums import derivatives
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import Method, first_w, visited
from .lazy import SMALLEST_SCALE, moving_features
from .sgd import smoothness, unbiased_weights
from .svrg import require_epoch

# Powers of γ below this are taken for zero.
SMALLEST_POWER = 1e-40


@dataclass(frozen=True)
class Recurrence:
    """How z and y move, in the basis where their 2 × 2 recurrence is diagonal.

    Write y = e z + c_F F + c_w w̃ + v. Where the drawn row is zero, z ← q z − h F and v ← γ v.
    Where it is not, with δ = (φ'_j(⟨x_j, x⟩) − φ'_j(⟨x_j, w̃⟩))/(n q_j), z moves by another −h δ x_j
    and v by μ δ x_j.
    """

    t1: float  # the share of z in x = t1 z + t2 w̃ + t3 y
    t2: float  # the share of w̃
    t3: float  # the share of y
    decay: float  # 1 − q
    h: float  # h
    gamma: float  # γ
    e: float  # the part of z in y
    c_F: float  # the part of F in y
    c_w: float  # the part of w̃ in y
    mu: float  # μ


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    rng: Generator  # for the moments of L-Katyusha's snapshots
    move: Recurrence
    matrix: Matrix  # the examples, without the features that never move
    moving: IntArray  # the others: they are not empty, or do not start at zero
    weight: FloatArray  # 1/(n q_j): makes the gradient of the drawn example unbiased
    powers: FloatArray  # 1, γ, γ², … down to 0
    length: int  # steps of this epoch; 0 before the first
    left: int  # steps left in this epoch
    anchor: FloatArray  # w̃, the snapshot
    at_anchor: FloatArray  # ⟨x_j, w̃⟩
    slopes: FloatArray  # φ'_j(⟨x_j, w̃⟩)
    F: FloatArray  # (1/n) Σ_j φ'_j(⟨x_j, w̃⟩) x_j
    f: FloatArray  # ⟨x_j, F⟩
    r: FloatArray  # z = scale · r + shift · F
    scale: float  # q^k
    shift: float  # −h (1 + q + … + q^(k−1))
    v: FloatArray  # v of every coordinate, as of its last visit
    met: IntArray  # the step of that visit, counted from the start of the epoch
    total: FloatArray  # with averaging, Σ_k θ^(k−m) y_k except for what is along F
    mass: float  # and what is along F


class Katyusha(Method):
    r"""SVRG with negative momentum: accelerated.

    Algorithm
    ---------
    ::

        z = y = w̃
        repeat
            F = (1/n) Σ_j φ'_j(⟨x_j, w̃⟩) x_j
            for k = 1, …, m:
                x = t1 z + t2 w̃ + (1 − t1 − t2) y
                draw j
                g = (φ'_j(⟨x_j, x⟩) − φ'_j(⟨x_j, w̃⟩)) x_j/(n q_j) + F
                z ← (z − a g)/(1 + aλ)
                y ← (3Lx − g)/(3L + λ)
            w̃ = the mean of the m points y with weights θ^k, θ = 1 + aλ

    where q_j is the probability of j, L = max_j β‖x_j‖²/(n q_j), m = 2n, t2 = 1/2,
    t1 = min(√(mλ/(3L)), 1/2) and a = 1/(3 t1 L). One epoch divides the expected error by
    min(θ^m, 3/2).

    Where x_j is zero, (z, y) follow a 2 × 2 recurrence that is the same for all coordinates. In
    the right basis it is diagonal: z shrinks towards a multiple of F at the rate q = 1/θ and is
    kept as scale · r + shift · F; what is left of y besides z, F and w̃ shrinks at the rate
    γ ≤ 1/2 and is brought up to date when its coordinate is met. So a step costs only the
    nonzeros of its row, and the weighted mean one more addition per row.

    Rate
    ----
    (1 − 1/K)^m = 1/min((1 + aλ)^m, 3/2): for m = 2n about max(5n, √(6nL/λ)).

    Cost
    ----
    W = 2.5 Σ_j q_j ‖x_j‖₀ + 1.5 ‖X‖₀/m.

    When to use
    -----------
    Small λ, L/λ above n, by stochastic gradients only.

    Parameters
    ----------
    epoch : int, optional
        m, by default 2n.

    References
    ----------
    .. [1] Z. Allen-Zhu. "Katyusha: The first direct acceleration of stochastic gradient methods",
       STOC 2017.
    """

    side: ClassVar[Side] = "dual"
    free_intercept: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ("uniform", "importance")
    averaging: ClassVar[bool] = True  # whether the next snapshot is the mean of the points y

    def __init__(self, epoch: int | None = None) -> None:
        require_epoch(epoch)
        self.epoch = epoch

    def recurrence(self, problem: Problem, sampling: Sampling) -> Recurrence:
        """The parameters, in the diagonal basis."""
        lam = problem.lam
        L = max(smoothness(problem, unbiased_weights(problem, sampling)), lam)
        t1 = min(math.sqrt(self._length(problem) * lam / (3 * L)), 0.5)
        t2, t3 = 0.5, 0.5 - t1
        a = 1 / (3 * t1 * L)
        h = a / (1 + a * lam)
        pull = 3 * L / (3 * L + lam)  # y = pull · x − g/(3L + λ)
        gamma = pull * t3
        e = pull * t1 / (1 - h * lam - gamma)
        c_F = (e * h - 1 / (3 * L + lam)) / (1 - gamma)
        c_w = pull * t2 / (1 - gamma)
        mu = e * h - 1 / (3 * L + lam)
        return Recurrence(t1, t2, t3, h * lam, h, gamma, e, c_F, c_w, mu)

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
        matrix, moving = without_still_features(problem, w)
        w = w[moving]
        n, d = problem.n, len(moving)
        move = self.recurrence(problem, sampling)
        part = d if self.averaging else 0
        return State(
            problem, np.random.default_rng(0) if rng is None else rng, move, matrix, moving,
            unbiased_weights(problem, sampling), _powers(move.gamma), 0, 0, w, np.zeros(n),
            np.zeros(n), np.zeros(d), np.zeros(n), w.copy(), 1.0, 0.0,
            w - move.e * w - move.c_w * w, np.zeros(d, np.int64), np.zeros(part), 0.0,
        )  # fmt: skip

    def advance(self, state: State, draws: Draws) -> float:
        """Take the steps in ``draws``; an epoch begins with its first step."""
        p, move = state.problem, state.move
        seen = self._reads * visited(p.examples, draws)
        first, last = 0, -1
        while last < draws.steps:
            if state.left == 0 and draws.steps:
                seen += self._begin_epoch(state)
            last = min(first + state.left, draws.steps)
            state.scale, state.shift, state.mass = _advance(
                draws.coordinates[first:last], state.matrix.by_example, p.loss, p.y,
                p.sample_weight, state.weight, *_in_margins(move), move.decay, move.h, move.gamma,
                move.e, move.mu, self.averaging, state.powers, state.length, state.left,
                state.at_anchor, state.slopes, state.F, state.f, state.r, state.scale, state.shift,
                state.v, state.met, state.total, state.mass,
            )  # fmt: skip
            state.left -= last - first
            first = last
        return seen

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current y."""
        z = state.scale * state.r + state.shift * state.F
        missed = state.length - state.left - state.met
        v = state.v * state.powers[np.minimum(missed, len(state.powers) - 1)]
        move = state.move
        w = np.zeros(state.problem.d)
        w[state.moving] = move.e * z + move.c_F * state.F + move.c_w * state.anchor + v
        return w, None

    def complexity(self, problem: Problem, sampling: Sampling) -> Complexity:
        """K with (1 − 1/K)^m = 1/min(θ^m, 3/2); the cost includes the full gradients."""
        m = self._length(problem)
        log_theta = -math.log1p(-self.recurrence(problem, sampling).decay)
        iterations = -1 / math.expm1(-min(log_theta, math.log(1.5) / m))
        return self.with_full_gradients(problem, sampling, iterations, m)

    def with_full_gradients(
        self, problem: Problem, sampling: Sampling, iterations: float, length: float
    ) -> Complexity:
        """K, and W with the full gradients spread over the steps of an epoch."""
        nnz = problem.matrix.nnz
        cost = self._reads * float(sampling.probabilities() @ problem.examples.counts)
        return Complexity(iterations, cost + 1.5 * nnz / length, nnz)

    @property
    def _reads(self) -> float:
        """Two products and two additions with a row, and one more addition for the mean."""
        return 2.5 if self.averaging else 2.0

    def _length(self, problem: Problem) -> int:
        return self.epoch or 2 * problem.n

    def draw_length(self, state: State) -> int:
        """The number of steps of the next epoch."""
        return self._length(state.problem)

    def _begin_epoch(self, state: State) -> float:
        """Move the snapshot and take the full gradient there; return the nonzeros visited."""
        p, move = state.problem, state.move
        y = state.v  # which is y without its parts along z, F and w̃, and is made y in place
        _put_together(
            state.length - state.left, state.powers, move.e, move.c_F, move.c_w,
            state.scale, state.r, state.shift, state.F, state.anchor, y, state.met,
        )  # fmt: skip
        self.move_snapshot(state, y)
        state.at_anchor = state.matrix.times(state.anchor)
        derivatives(p.loss, state.at_anchor, p.y, p.sample_weight, state.slopes)
        state.F = state.matrix.transposed_times(state.slopes / p.n)
        state.f = state.matrix.times(state.F)
        state.scale, state.shift = 1.0, 0.0
        state.length = state.left = self.draw_length(state)
        _take_apart(move.e, move.c_F, move.c_w, state.r, state.F, state.anchor, state.v)
        self.begin_mean(state)
        return 1.5 * p.matrix.nnz  # two products and one addition with every row

    def begin_mean(self, state: State) -> None:
        """What the point at the start of the epoch adds to Σ_k θ^(k−m) y_k."""
        m, move = state.length, state.move
        fade = math.exp(m * math.log1p(-move.decay))  # θ^(−m)
        ratio = move.gamma / (1 - move.decay)  # γθ
        of_v = fade * ratio * (1 - ratio**m) / (1 - ratio)
        whole = _weights(state)
        state.total = fade * move.e * m * state.r + of_v * state.v + whole * move.c_w * state.anchor
        state.mass = whole * move.c_F

    def move_snapshot(self, state: State, y: FloatArray) -> None:
        """To the mean of the points y of the epoch."""
        if state.length > 0:
            whole = _weights(state)
            state.anchor = state.total / whole + state.mass / whole * state.F


def without_still_features(problem: Problem, w: FloatArray) -> tuple[Matrix, IntArray]:
    """The examples by the features that a method starting at w ever moves, and these features.

    The method has many vectors to update at every snapshot. Without the features that
    stay at zero they are shorter, and what is read together lies closer together.
    """
    moving = moving_features(problem, w)
    if not problem.matrix.is_sparse or not len(moving):
        return problem.matrix, np.arange(problem.d)
    rows = problem.matrix.sparse_rows("example")
    place = np.zeros(problem.d, rows.indices.dtype)
    place[moving] = np.arange(len(moving))
    entries = (rows.values, place[rows.indices], rows.indptr)
    return Matrix(sparse.csr_array(entries, shape=(problem.n, len(moving)))), moving


def _powers(gamma: float) -> FloatArray:
    """1, γ, γ², … as far as they count, and a zero for all others."""
    count = 1
    if gamma > 0:
        count += math.ceil(math.log(SMALLEST_POWER) / math.log(gamma))
    return np.append(gamma ** np.arange(count), 0.0)


def _weights(state: State) -> float:
    """Σ_k θ^(k−m) over the m steps of the epoch."""
    move = state.move
    return -math.expm1(state.length * math.log1p(-move.decay)) / move.decay


def _in_margins(move: Recurrence) -> tuple[float, float, float, float]:
    """What z, w̃, F and v count for in x = t1 z + t2 w̃ + t3 (e z + c_F F + c_w w̃ + v)."""
    t3 = move.t3
    return move.t1 + t3 * move.e, move.t2 + t3 * move.c_w, t3 * move.c_F, t3


@kernel
def _put_together(  # type: ignore[no-untyped-def]
    now, powers, e, c_F, c_w, scale, r, shift, F, anchor, v, met
):  # fmt: skip
    """r becomes z and v becomes y, every coordinate up to date."""
    for i in range(r.size):
        r[i] = scale * r[i] + shift * F[i]
        v[i] *= powers[min(now - met[i], powers.size - 1)]
        v[i] += e * r[i] + c_F * F[i] + c_w * anchor[i]
        met[i] = 0


@kernel
def _take_apart(e, c_F, c_w, z, F, anchor, y):  # type: ignore[no-untyped-def]
    """y becomes v, with a new F and a new w̃."""
    for i in range(y.size):
        y[i] -= e * z[i] + c_F * F[i] + c_w * anchor[i]


@kernel
def _advance(  # type: ignore[no-untyped-def]
    coordinates, examples, loss, y, c, weight, of_z, of_anchor, of_F, of_v, decay, h, gamma,
    e, mu, averaging, powers, length, left, at_anchor, slopes, F, f, r, scale, shift, v, met,
    total, mass,
):  # fmt: skip
    q, log_q, ratio = 1.0 - decay, np.log1p(-decay), gamma / (1.0 - decay)
    for j in coordinates:
        now = length - left
        along_r, along_v = 0.0, 0.0
        for k in range(row_begin(examples, j), row_end(examples, j)):
            i, x = row_column(examples, j, k), row_value(examples, j, k)
            v[i] *= powers[min(now - met[i], powers.size - 1)]
            along_r += x * r[i]
            along_v += x * v[i]
        z = of_z * (scale * along_r + shift * f[j]) + of_anchor * at_anchor[j]
        z += of_F * f[j] + of_v * along_v
        delta = weight[j] * (c[j] * loss_derivative(loss, z, y[j]) - slopes[j])
        scale *= q
        shift = q * shift - h
        stay = 0.0
        if averaging:
            # What enters now is in all the y to come: through z, where F enters as well, with
            # the same weight in each of them, and through v with 1 + γθ + … + (γθ)^(left−1).
            now_weight = np.exp((left - 1) * log_q)
            through_z = -e * h * left * now_weight
            through_v = mu * (1.0 - ratio**left) / (1.0 - ratio) * now_weight
            mass += through_z
            stay = through_z + through_v
        for k in range(row_begin(examples, j), row_end(examples, j)):
            i, x = row_column(examples, j, k), row_value(examples, j, k)
            r[i] -= h * delta / scale * x
            v[i] = gamma * v[i] + mu * delta * x
            met[i] = now + 1
            if averaging:
                total[i] += stay * delta * x
        left -= 1
        if scale < SMALLEST_SCALE:
            for i in range(r.size):
                r[i] = scale * r[i] + shift * F[i]
            scale, shift = 1.0, 0.0
    return scale, shift, mass
