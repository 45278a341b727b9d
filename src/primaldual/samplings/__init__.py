"""Samplings: random subsets of coordinates, their probabilities, draws and ESO parameters.

A sampling Ŝ picks a subset of the coordinates in every iteration. Its expected separable
overapproximation (ESO) is a vector v with

    P ∘ (X Xᵀ) ⪯ Diag(p ∘ v),      P_il = Prob(i, l ∈ Ŝ),   p_i = P_ii,                 (5), (6)

where the rows of X are the coordinates of the side in question. Steps of length 1/(β v_i + λn)
are then safe however many coordinates move at once. A sampling and its ESO live together
because one is meaningless without the other.

Any single vector v that satisfies (5) is valid, but the entrywise minimum of two valid ones is
not: where several formulas apply, the one with the smallest K is taken as a whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator
from scipy.sparse.linalg import LinearOperator, eigsh

from .._numba.compile import kernel
from .._types import FloatArray, IntArray
from ..problem import Coordinates

# Batch size and number of blocks that parallel samplings take when they are asked for by name.
DEFAULT_BATCH = 8
DEFAULT_BLOCKS = 2

# Rounds of p → s(p) → p for samplings whose ESO depends on p.
_PLANNING_ROUNDS = 5


class Draws(NamedTuple):
    """A sequence of subsets: step k moves coordinates[starts[k] : starts[k + 1]]."""

    starts: IntArray
    coordinates: IntArray

    @property
    def steps(self) -> int:
        """The number of iterations."""
        return len(self.starts) - 1


class Sampling(Protocol):
    """What every sampling offers."""

    @property
    def size(self) -> int:
        """The number of coordinates to choose from."""
        ...

    def probabilities(self) -> FloatArray:
        """p_i = Prob(i ∈ Ŝ)."""
        ...

    def eso(self, side: Coordinates) -> FloatArray:
        """v with P ∘ XXᵀ ⪯ Diag(p ∘ v), eqs. (5), (6)."""
        ...

    def draw(self, rng: Generator, steps: int) -> Draws:
        """``steps`` independent subsets; the same generator state gives the same draws."""
        ...

    @classmethod
    def plan(cls, side: Coordinates) -> Sampling:
        """A good sampling of this kind for ``side``."""
        ...


# --------------------------------------------------------------------------------------------
# Serial samplings: one coordinate at a time


@dataclass(frozen=True, eq=False)
class Uniform:
    """One coordinate at a time, all equally likely."""

    size: int

    def __post_init__(self) -> None:
        _require_size(self.size)

    @classmethod
    def plan(cls, side: Coordinates) -> Uniform:
        """The uniform sampling of the side's coordinates."""
        return cls(side.size)

    def probabilities(self) -> FloatArray:
        """p_i = 1/m."""
        return np.full(self.size, 1.0 / self.size)

    def eso(self, side: Coordinates) -> FloatArray:
        """v_i = ‖row_i‖², eq. (7)."""
        return _serial_eso(side)

    def draw(self, rng: Generator, steps: int) -> Draws:
        """Independent uniform draws."""
        return _one_by_one(rng.integers(self.size, size=steps))


@dataclass(frozen=True, eq=False)
class Importance:
    """One coordinate at a time, i with probability p_i.

    ``plan`` takes p_i ∝ β v_i + λn, eq. (14): of all serial samplings the one with the
    smallest K and the smallest T (Theorem 2).
    """

    p: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", _distribution(self.p))

    @property
    def size(self) -> int:
        """The number of coordinates to choose from."""
        return len(self.p)

    @classmethod
    def plan(cls, side: Coordinates) -> Importance:
        """Importance sampling of the side, eq. (14)."""
        s = side.curvature(_serial_eso(side))
        return cls(s / s.sum())

    def probabilities(self) -> FloatArray:
        """The p given."""
        return self.p

    def eso(self, side: Coordinates) -> FloatArray:
        """v_i = ‖row_i‖², eq. (7)."""
        return _serial_eso(side)

    def draw(self, rng: Generator, steps: int) -> Draws:
        """Independent draws from p, by an alias table."""
        return _one_by_one(_alias_draw(rng, *self._table, steps))

    @cached_property
    def _table(self) -> tuple[FloatArray, IntArray]:
        return _alias_table(self.p)


@dataclass(frozen=True, eq=False)
class Permutation:
    """A new random order of all coordinates in every epoch.

    A practical order: usually faster than independent draws, but its steps are not independent
    and the theory of this library does not cover it. It is used with the serial ESO.
    """

    size: int

    def __post_init__(self) -> None:
        _require_size(self.size)

    @classmethod
    def plan(cls, side: Coordinates) -> Permutation:
        """Permutations of the side's coordinates."""
        return cls(side.size)

    def probabilities(self) -> FloatArray:
        """The share of each coordinate, 1/m."""
        return np.full(self.size, 1.0 / self.size)

    def eso(self, side: Coordinates) -> FloatArray:
        """v_i = ‖row_i‖²."""
        return _serial_eso(side)

    def draw(self, rng: Generator, steps: int) -> Draws:
        """Whole permutations one after the other, the last one cut off at ``steps``."""
        epochs = [rng.permutation(self.size) for _ in range(-(-steps // self.size))]
        order = np.concatenate(epochs) if epochs else np.empty(0, dtype=np.int64)
        return _one_by_one(order[:steps])


# --------------------------------------------------------------------------------------------
# Parallel samplings: several coordinates at once


@dataclass(frozen=True, eq=False)
class TauNice:
    """A uniformly random subset of ``tau`` coordinates."""

    size: int
    tau: int

    def __post_init__(self) -> None:
        _require_size(self.size)
        _require_tau(self.tau, self.size, "the number of coordinates")

    @classmethod
    def plan(cls, side: Coordinates, tau: int | None = None) -> TauNice:
        """The τ-nice sampling of the side's coordinates."""
        return cls(side.size, min(DEFAULT_BATCH, side.size) if tau is None else tau)

    def probabilities(self) -> FloatArray:
        """p_i = τ/m."""
        return np.full(self.size, self.tau / self.size)

    def eso(self, side: Coordinates, bound: str = "best") -> FloatArray:
        """v by the sparsity of the data, by its spectrum, or the better of the two.

        sparsity: v_i = Σ_j [1 + (ω_j − 1)(τ − 1)/(m − 1)] X_ij², ω_j nonzeros in column j;
        spectral: v_i = [1 + (σ − 1)(τ − 1)/(m − 1)] ‖row_i‖², see ``spectral_spread``.
        """
        overlap = (self.tau - 1) / max(self.size - 1, 1)

        def sparsity() -> FloatArray:
            factors = np.asarray(1 + (_column_counts(side) - 1) * overlap)
            return _weighted_squares(side, factors, 1 + (self.size - 1) * overlap)

        def spectral() -> FloatArray:
            return (1 + (spectral_spread(side) - 1) * overlap) * _serial_eso(side)

        return _choose(side, self, bound, {"sparsity": sparsity, "spectral": spectral})

    def draw(self, rng: Generator, steps: int) -> Draws:
        """Independent subsets, by a partial Fisher-Yates shuffle."""
        subsets = _subsets(rng.random((steps, self.tau)), self.size)
        return _equal_batches(subsets)


@dataclass(frozen=True, eq=False)
class Independent:
    """Every coordinate on its own with probability p_i; the subset's size is random."""

    p: FloatArray

    def __post_init__(self) -> None:
        p = np.asarray(self.p, dtype=np.float64)
        if p.ndim != 1 or not len(p) or not ((p > 0) & (p <= 1)).all():
            raise ValueError(
                f"p must hold one probability in (0, 1] per coordinate, got {_described(p)}."
            )
        object.__setattr__(self, "p", p)

    @property
    def size(self) -> int:
        """The number of coordinates to choose from."""
        return len(self.p)

    @classmethod
    def plan(cls, side: Coordinates, tau: int | None = None) -> Independent:
        """p_i = min(1, c s_i(p)) with Σ p_i = τ, the fixed point found by iteration."""
        tau = min(DEFAULT_BATCH, side.size) if tau is None else tau
        _require_tau(tau, side.size, "the number of coordinates")

        def update(s: FloatArray) -> Independent:
            return cls(_fill(s, tau))

        return _planned(side, update)

    def probabilities(self) -> FloatArray:
        """The p given."""
        return self.p

    def eso(self, side: Coordinates) -> FloatArray:
        """v_i = Σ_j [1 + Σ_{l ∈ J_j, l ≠ i} p_l] X_ij², J_j the coordinates that meet column j."""
        mass = np.zeros(side.width)
        _pattern_sums(side.matrix.sparse_rows(side.by), self.p, mass)
        everything = float(self.p.sum())
        return _weighted_squares(side, 1 + mass, 1 + everything) - self.p * _serial_eso(side)

    def draw(self, rng: Generator, steps: int) -> Draws:
        """Independent subsets in time proportional to what is drawn.

        Coordinates are grouped by ⌊log₂ p⌋. In each group the hits of a Bernoulli process with
        the group's largest p are found by geometric skipping and thinned to the exact p.
        """
        where, which = [], []
        for members, top in self._groups:
            hits = _bernoulli_hits(rng, top, steps * len(members))
            coordinates = members[hits % len(members)]
            kept = rng.random(len(hits)) * top < self.p[coordinates]
            where.append((hits // len(members))[kept])
            which.append(coordinates[kept])
        step = np.concatenate(where)
        order = np.argsort(step, kind="stable")
        starts = np.searchsorted(step[order], np.arange(steps + 1))
        return Draws(starts.astype(np.int64), np.concatenate(which)[order])

    @cached_property
    def _groups(self) -> list[tuple[IntArray, float]]:
        level = np.floor(np.log2(self.p)).astype(np.int64)
        members = [np.flatnonzero(level == value) for value in np.unique(level)]
        return [(group, float(self.p[group].max())) for group in members]


@dataclass(frozen=True, eq=False)
class Bucket:
    """One coordinate from every bucket of a partition, independently.

    Within a bucket, coordinate i has probability p_i (the p of a bucket sum to 1). With uniform
    p inside the buckets this is the product sampling; one bucket gives a serial sampling.
    """

    p: FloatArray
    bucket_of: IntArray  # the number of each coordinate's bucket: 0, 1, …

    def __post_init__(self) -> None:
        p = np.asarray(self.p, dtype=np.float64)
        bucket_of = np.asarray(self.bucket_of, dtype=np.int64)
        if p.shape != bucket_of.shape or p.ndim != 1 or not len(p):
            raise ValueError(
                "p and bucket_of must have one entry per coordinate, got shapes "
                f"{p.shape} and {bucket_of.shape}."
            )
        if bucket_of.min() < 0 or len(np.unique(bucket_of)) != bucket_of.max() + 1:
            raise ValueError(
                "bucket_of must number the buckets 0, 1, … without leaving one empty, "
                f"got the numbers {np.unique(bucket_of)[:8]}."
            )
        sums = np.bincount(bucket_of, weights=p)
        if not (p > 0).all() or not np.allclose(sums, 1.0, atol=1e-9):
            raise ValueError(
                f"p must be positive and sum to 1 in every bucket, got {_described(p)} "
                f"and sums from {sums.min():g} to {sums.max():g}."
            )
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "bucket_of", bucket_of)

    @property
    def size(self) -> int:
        """The number of coordinates to choose from."""
        return len(self.p)

    @classmethod
    def plan(cls, side: Coordinates, tau: int | None = None) -> Bucket:
        """Buckets of nearly equal Σ s_i (snake order over sorted s); inside, p_i ∝ s_i(p)."""
        tau = min(DEFAULT_BATCH, side.size) if tau is None else tau
        _require_tau(tau, side.size, "the number of coordinates")
        order = np.argsort(-side.curvature(_serial_eso(side)), kind="stable")
        lap, place = np.divmod(np.arange(side.size), tau)
        bucket_of = np.empty(side.size, dtype=np.int64)
        bucket_of[order] = np.where(lap % 2 == 0, place, tau - 1 - place)

        def update(s: FloatArray) -> Bucket:
            return cls(s / np.bincount(bucket_of, weights=s)[bucket_of], bucket_of)

        return _planned(side, update)

    def probabilities(self) -> FloatArray:
        """The p given."""
        return self.p

    def eso(self, side: Coordinates, bound: str = "best") -> FloatArray:
        """v by the mass of the other buckets, by the number of buckets met, or the better one.

        others: v_i = Σ_j [1 + δ_j − δ_{j,B(i)}] X_ij², δ_{j,B} the mass of J_j in bucket B;
        met: v_i = Σ_j [1 + (1 − 1/ω'_j) δ_j] X_ij², ω'_j the number of buckets J_j meets.
        """
        rows = side.matrix.sparse_rows(side.by)
        order = np.argsort(self.bucket_of, kind="stable")
        buckets = int(self.bucket_of.max()) + 1
        mass = np.zeros(side.width)
        _pattern_sums(rows, self.p, mass)

        def others() -> FloatArray:
            own = np.zeros(self.size)
            weights = _column_weights(side)
            _own_bucket_squares(rows, self.p, self.bucket_of, order, weights, own)
            # The shared constant entry of a free intercept meets all buckets, each of mass 1.
            return _weighted_squares(side, 1 + mass, float(buckets)) - own

        def met() -> FloatArray:
            groups = np.zeros(side.width)
            _groups_met(rows, self.bucket_of, order, groups)
            factors = 1 + (1 - 1 / np.maximum(groups, 1)) * mass
            return _weighted_squares(side, factors, 1 + (1 - 1 / buckets) * buckets)

        return _choose(side, self, bound, {"others": others, "met": met})

    def draw(self, rng: Generator, steps: int) -> Draws:
        """One alias table per bucket."""
        chosen = [
            members[_alias_draw(rng, accept, alias, steps)]
            for members, accept, alias in self._tables
        ]
        return _equal_batches(np.stack(chosen, axis=1))

    @cached_property
    def _tables(self) -> list[tuple[IntArray, FloatArray, IntArray]]:
        order = np.argsort(self.bucket_of, kind="stable")
        ends = np.cumsum(np.bincount(self.bucket_of))[:-1]
        return [(members, *_alias_table(self.p[members])) for members in np.split(order, ends)]


@dataclass(frozen=True, eq=False)
class Distributed:
    """(c, τ)-distributed: c blocks of equal size, a τ-nice subset of each, independently.

    Coordinates are dealt to the blocks in order, s = ⌈m/c⌉ to each. Where c does not divide m
    the last block is filled up with empty coordinates, whose draws do nothing.
    """

    size: int
    blocks: int
    tau: int

    def __post_init__(self) -> None:
        _require_size(self.size)
        if not 1 <= self.blocks <= self.size:
            raise ValueError(
                f"blocks must be between 1 and the number of coordinates ({self.size}), "
                f"got {self.blocks}."
            )
        _require_tau(self.tau, self.block_size, "the size of a block")

    @classmethod
    def plan(
        cls, side: Coordinates, blocks: int | None = None, tau: int | None = None
    ) -> Distributed:
        """Two blocks of coordinates and a small batch from each, unless told otherwise."""
        blocks = min(DEFAULT_BLOCKS, side.size) if blocks is None else blocks
        block_size = -(-side.size // max(blocks, 1))
        return cls(side.size, blocks, min(DEFAULT_BATCH, block_size) if tau is None else tau)

    @property
    def block_size(self) -> int:
        """s, the number of coordinates in a block, empty ones included."""
        return -(-self.size // self.blocks)

    @property
    def block_of(self) -> IntArray:
        """The block each coordinate lives in."""
        return np.arange(self.size) // self.block_size

    def probabilities(self) -> FloatArray:
        """p_i = τ/s."""
        return np.full(self.size, self.tau / self.block_size)

    def eso(self, side: Coordinates, bound: str = "best") -> FloatArray:
        """v_i = Σ_j [1 + (τ−1)(ω_j−1)/s₁ + (τ/s − (τ−1)/s₁) ((ω'_j−1)/ω'_j) ω_j] X_ij².

        s₁ = max(s − 1, 1), ω_j the nonzeros of column j, ω'_j the number of blocks they meet.
        The spectral form has the global σ in place of ω_j and c in place of ω'_j.
        """
        s, s1 = self.block_size, max(self.block_size - 1, 1)
        inside = (self.tau - 1) / s1
        across = self.tau / s - inside

        def factor(omega: Any, met: Any) -> Any:
            return 1 + inside * (omega - 1) + across * ((met - 1) / met) * omega

        def sparsity() -> FloatArray:
            met = np.zeros(side.width)
            rows = side.matrix.sparse_rows(side.by)
            _groups_met(rows, self.block_of, np.arange(self.size), met)
            factors = factor(_column_counts(side), np.maximum(met, 1))
            return _weighted_squares(side, factors, factor(self.size, self.blocks))

        def spectral() -> FloatArray:
            return float(factor(spectral_spread(side), self.blocks)) * _serial_eso(side)

        return _choose(side, self, bound, {"sparsity": sparsity, "spectral": spectral})

    def draw(self, rng: Generator, steps: int) -> Draws:
        """A τ-nice subset of every block."""
        subsets = [
            _subsets(rng.random((steps, self.tau)), self.block_size) + b * self.block_size
            for b in range(self.blocks)
        ]
        chosen = np.concatenate(subsets, axis=1)
        real = chosen < self.size
        starts = np.concatenate([[0], np.cumsum(real.sum(axis=1))])
        return Draws(starts.astype(np.int64), chosen[real])


SAMPLINGS: dict[str, type[Sampling]] = {
    "uniform": Uniform,
    "importance": Importance,
    "permutation": Permutation,
    "tau_nice": TauNice,
    "independent": Independent,
    "bucket": Bucket,
    "distributed": Distributed,
}


def as_sampling(sampling: Any, side: Coordinates) -> Sampling:
    """The sampling itself, or the one of that name planned for ``side``."""
    if isinstance(sampling, str):
        if sampling not in SAMPLINGS:
            raise ValueError(f"sampling must be one of {', '.join(SAMPLINGS)}, got {sampling!r}.")
        return SAMPLINGS[sampling].plan(side)
    needed = ("probabilities", "eso", "draw", "size")
    missing = [name for name in needed if not hasattr(sampling, name)]
    if missing or isinstance(sampling, type):
        raise TypeError(
            f"sampling must be a name or an object with {', '.join(needed)}, "
            f"got {sampling!r}. Build one with its class, for example TauNice(size, tau)."
        )
    if sampling.size != side.size:
        raise ValueError(
            f"the sampling chooses from {sampling.size} coordinates, but the {side.by} side of "
            f"this problem has {side.size}."
        )
    return sampling


# --------------------------------------------------------------------------------------------
# ESO parts


def _serial_eso(side: Coordinates) -> FloatArray:
    return side.squared_norms + side.constant if side.constant else side.squared_norms


def _column_weights(side: Coordinates) -> FloatArray:
    return np.ones(side.width) if side.column_weights is None else side.column_weights


def _weighted_squares(side: Coordinates, factors: FloatArray, shared: float) -> FloatArray:
    """Σ_j factors_j X_ij², plus ``shared`` times the constant entry all rows may have."""
    weights = factors if side.column_weights is None else factors * side.column_weights
    return side.matrix.squared_norms(side.by, weights) + shared * side.constant


def _column_counts(side: Coordinates) -> IntArray:
    """ω_j, the number of coordinates that meet column j."""
    return side.matrix.counts("example" if side.by == "feature" else "feature")


def _iterations(side: Coordinates, sampling: Sampling, v: FloatArray) -> float:
    """K = max_i (β v_i + λn)/(p_i λn), eqs. (8), (9)."""
    return float((side.curvature(v) / (sampling.probabilities() * side.lam_n)).max())


def _choose(side: Coordinates, sampling: Sampling, bound: str, known: dict[str, Any]) -> FloatArray:
    """The vector of the bound asked for; "best" is the whole vector with the smallest K."""
    if bound == "best":
        return min(
            (make() for make in known.values()), key=lambda v: _iterations(side, sampling, v)
        )
    if bound not in known:
        raise ValueError(f"bound must be one of {', '.join(known)} or best, got {bound!r}.")
    return known[bound]()


def _planned(side: Coordinates, update: Any) -> Any:
    """Iterate p ← update(s(p)) from the serial s and keep the sampling with the smallest K."""
    best, smallest = None, math.inf
    s = side.curvature(_serial_eso(side))
    for _ in range(_PLANNING_ROUNDS):
        sampling = update(s)
        v = sampling.eso(side)
        iterations = _iterations(side, sampling, v)
        if iterations < smallest:
            best, smallest = sampling, iterations
        s = side.curvature(v)
    return best


def _fill(s: FloatArray, tau: float) -> FloatArray:
    """p_i = min(1, c s_i) with Σ p_i = tau (water-filling)."""
    order = np.argsort(-s)
    rest = np.cumsum(s[order][::-1])[::-1]  # Σ of s over what is left after k full ones
    full = np.arange(len(s))
    fits = s[order] * (tau - full) <= rest  # with k full ones, the next is not above 1
    k = int(np.argmax(fits)) if fits.any() else len(s)
    p = np.ones(len(s))
    if k < len(s):
        p[order[k:]] = s[order[k:]] * ((tau - k) / rest[k])
    return np.clip(p, np.finfo(float).tiny, 1.0)


def spectral_spread(side: Coordinates) -> float:
    """σ = λ_max(D^{-1/2} X Xᵀ D^{-1/2}), D = Diag(X Xᵀ), never underestimated.

    1 ≤ σ ≤ max_j ω_j; it says how strongly the coordinates interact. Small sides are solved
    exactly; on large ones the converged Lanczos estimate is raised by 1 %.
    """
    norms = _serial_eso(side)
    if not norms.any():
        return 1.0
    scale = np.divide(1.0, np.sqrt(norms), out=np.zeros(side.size), where=norms > 0)
    weights = _column_weights(side)
    times, transposed_times = side.matrix.times, side.matrix.transposed_times
    to_columns = times if side.by == "feature" else transposed_times
    to_rows = transposed_times if side.by == "feature" else times

    def product(h: FloatArray) -> FloatArray:
        h = scale * np.ravel(h)
        return scale * (to_rows(weights * to_columns(h)) + side.constant * h.sum())

    if side.size <= 64:
        gram = np.stack([product(e) for e in np.eye(side.size)])
        return max(1.0, float(np.linalg.eigvalsh((gram + gram.T) / 2)[-1]))
    operator = LinearOperator((side.size, side.size), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(side.size)
    estimate = eigsh(operator, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)
    most = float(_column_counts(side).max()) if not side.constant else math.inf
    return max(1.0, min(1.01 * float(estimate[0]), most))


@kernel
def _pattern_sums(rows, p, out):  # type: ignore[no-untyped-def]
    """out_j += Σ p_i over the rows i that have an entry in column j."""
    for i in range(p.size):
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            out[rows.indices[k]] += p[i]


@kernel
def _groups_met(rows, group_of, order, out):  # type: ignore[no-untyped-def]
    """out_j = the number of groups with a row that has an entry in column j."""
    last = np.full(out.size, -1)
    for i in order:
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.indices[k]
            if last[j] != group_of[i]:
                last[j] = group_of[i]
                out[j] += 1


@kernel
def _own_bucket_squares(rows, p, bucket_of, order, weights, out):  # type: ignore[no-untyped-def]
    """out_i = Σ_j δ_{j,B(i)} c_j X_ij², bucket by bucket; ``order`` lists rows by bucket."""
    mass = np.zeros(weights.size)  # δ_{j,B} of the current bucket
    first = 0
    while first < order.size:
        last = first
        while last < order.size and bucket_of[order[last]] == bucket_of[order[first]]:
            i = order[last]
            for k in range(rows.indptr[i], rows.indptr[i + 1]):
                mass[rows.indices[k]] += p[i]
            last += 1
        for i in order[first:last]:
            for k in range(rows.indptr[i], rows.indptr[i + 1]):
                j = rows.indices[k]
                x = np.float64(rows.values[k])
                out[i] += mass[j] * weights[j] * x * x
        for i in order[first:last]:
            for k in range(rows.indptr[i], rows.indptr[i + 1]):
                mass[rows.indices[k]] = 0.0
        first = last


# --------------------------------------------------------------------------------------------
# Draws


def _one_by_one(coordinates: IntArray) -> Draws:
    return Draws(np.arange(len(coordinates) + 1), coordinates)


def _equal_batches(subsets: IntArray) -> Draws:
    steps, batch = subsets.shape
    return Draws(np.arange(steps + 1) * batch, np.ascontiguousarray(subsets).ravel())


def _alias_draw(rng: Generator, accept: FloatArray, alias: IntArray, steps: int) -> IntArray:
    place = rng.random(steps) * len(accept)
    chosen = place.astype(np.int64)
    return np.where(place - chosen < accept[chosen], chosen, alias[chosen])


def _bernoulli_hits(rng: Generator, p: float, trials: int) -> IntArray:
    """The positions of the successes among ``trials`` trials with probability ``p``."""
    hits: list[IntArray] = []
    last = -1
    while last < trials:
        expected = (trials - last) * p
        # Gaps beyond the end are cut, so that their sum cannot overflow.
        gaps = rng.geometric(p, size=int(expected + 4 * math.sqrt(expected) + 8))
        gaps = np.minimum(gaps, trials + 1)
        found = last + np.cumsum(gaps)
        hits.append(found)
        last = int(found[-1])
    positions = np.concatenate(hits)
    return positions[positions < trials]


@kernel
def _alias_table(p):  # type: ignore[no-untyped-def]
    """Vose's alias table: draw a column uniformly, keep it with probability accept[i]."""
    size = p.size
    accept = p * size / p.sum()
    alias = np.arange(size)
    small, large = np.empty(size, np.int64), np.empty(size, np.int64)
    smalls, larges = 0, 0
    for i in range(size):
        if accept[i] < 1.0:
            small[smalls] = i
            smalls += 1
        else:
            large[larges] = i
            larges += 1
    while smalls > 0 and larges > 0:
        smalls -= 1
        low, high = small[smalls], large[larges - 1]
        alias[low] = high
        accept[high] -= 1.0 - accept[low]
        if accept[high] < 1.0:
            larges -= 1
            small[smalls] = high
            smalls += 1
    # What is left differs from 1 by rounding only.
    for i in small[:smalls]:
        accept[i] = 1.0
    for i in large[:larges]:
        accept[i] = 1.0
    return accept, alias


@kernel
def _subsets(uniforms, size):  # type: ignore[no-untyped-def]
    """One uniformly random subset per row of ``uniforms``, by partial Fisher-Yates shuffles."""
    steps, tau = uniforms.shape
    subsets = np.empty((steps, tau), np.int64)
    order = np.arange(size)
    for k in range(steps):
        for t in range(tau):
            other = t + int(uniforms[k, t] * (size - t))
            order[t], order[other] = order[other], order[t]
            subsets[k, t] = order[t]
    return subsets


# --------------------------------------------------------------------------------------------
# At the door


def _require_size(size: int) -> None:
    if size < 1:
        raise ValueError(f"a sampling needs at least one coordinate, got {size}.")


def _require_tau(tau: int, most: int, what: str) -> None:
    if not 1 <= tau <= most:
        raise ValueError(f"tau must be between 1 and {what} ({most}), got {tau}.")


def _described(p: FloatArray) -> str:
    if not p.size:
        return "no values"
    return f"shape {p.shape} and values from {p.min():g} to {p.max():g}"


def _distribution(p: Any) -> FloatArray:
    p = np.asarray(p, dtype=np.float64)
    if p.ndim != 1 or not len(p) or not (p > 0).all() or not math.isclose(p.sum(), 1, rel_tol=1e-9):
        raise ValueError(
            "p must hold one positive probability per coordinate, with sum 1, "
            f"got {_described(p)} with sum {p.sum():g}."
        )
    return p
