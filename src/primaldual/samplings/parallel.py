"""Parallel samplings: several coordinates at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from .._types import FloatArray, IntArray
from ..problem import Coordinates
from .base import described, require_size, require_tau
from .draws import Draws, alias_draw, alias_table, bernoulli_hits, equal_batches, random_subsets
from .eso import (
    best_bound,
    column_counts,
    column_weights,
    groups_met,
    own_bucket_squares,
    pattern_sums,
    planned,
    serial_eso,
    spectral_spread,
    water_filling,
    weighted_squares,
)

# Batch size and number of blocks that parallel samplings take when they are asked for by name.
DEFAULT_BATCH = 8
DEFAULT_BLOCKS = 2


@dataclass(frozen=True, eq=False)
class TauNice:
    """A uniformly random subset of ``tau`` coordinates."""

    size: int
    tau: int

    def __post_init__(self) -> None:
        require_size(self.size)
        require_tau(self.tau, self.size, "the number of coordinates")

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
            factors = np.asarray(1 + (column_counts(side) - 1) * overlap)
            return weighted_squares(side, factors, 1 + (self.size - 1) * overlap)

        def spectral() -> FloatArray:
            return (1 + (spectral_spread(side) - 1) * overlap) * serial_eso(side)

        return best_bound(side, self, bound, {"sparsity": sparsity, "spectral": spectral})

    def draw(self, rng: Generator, steps: int) -> Draws:
        """Independent subsets, by a partial Fisher-Yates shuffle."""
        return equal_batches(random_subsets(rng.random((steps, self.tau)), self.size))


@dataclass(frozen=True, eq=False)
class Independent:
    """Every coordinate on its own with probability p_i; the subset's size is random."""

    p: FloatArray

    def __post_init__(self) -> None:
        p = np.asarray(self.p, dtype=np.float64)
        if p.ndim != 1 or not len(p) or not ((p > 0) & (p <= 1)).all():
            raise ValueError(
                f"p must hold one probability in (0, 1] per coordinate, got {described(p)}."
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
        require_tau(tau, side.size, "the number of coordinates")

        def update(s: FloatArray) -> Independent:
            return cls(water_filling(s, tau))

        return planned(side, update)

    def probabilities(self) -> FloatArray:
        """The p given."""
        return self.p

    def eso(self, side: Coordinates) -> FloatArray:
        """v_i = Σ_j [1 + Σ_{l ∈ J_j, l ≠ i} p_l] X_ij², J_j the coordinates that meet column j."""
        mass = np.zeros(side.width)
        pattern_sums(side.matrix.sparse_rows(side.by), self.p, mass)
        everything = float(self.p.sum())
        return weighted_squares(side, 1 + mass, 1 + everything) - self.p * serial_eso(side)

    def draw(self, rng: Generator, steps: int) -> Draws:
        """Independent subsets in time proportional to what is drawn.

        Coordinates are grouped by ⌊log₂ p⌋. In each group the hits of a Bernoulli process with
        the group's largest p are found by geometric skipping and thinned to the exact p.
        """
        where, which = [], []
        for members, top in self._groups:
            hits = bernoulli_hits(rng, top, steps * len(members))
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
                f"p must be positive and sum to 1 in every bucket, got {described(p)} "
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
        require_tau(tau, side.size, "the number of coordinates")
        order = np.argsort(-side.curvature(serial_eso(side)), kind="stable")
        lap, place = np.divmod(np.arange(side.size), tau)
        bucket_of = np.empty(side.size, dtype=np.int64)
        bucket_of[order] = np.where(lap % 2 == 0, place, tau - 1 - place)

        def update(s: FloatArray) -> Bucket:
            return cls(s / np.bincount(bucket_of, weights=s)[bucket_of], bucket_of)

        return planned(side, update)

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
        pattern_sums(rows, self.p, mass)

        def others() -> FloatArray:
            own = np.zeros(self.size)
            weights = column_weights(side)
            own_bucket_squares(rows, self.p, self.bucket_of, order, weights, own)
            # The shared constant entry of a free intercept meets all buckets, each of mass 1.
            return weighted_squares(side, 1 + mass, float(buckets)) - own

        def met() -> FloatArray:
            groups = np.zeros(side.width)
            groups_met(rows, self.bucket_of, order, groups)
            factors = 1 + (1 - 1 / np.maximum(groups, 1)) * mass
            return weighted_squares(side, factors, 1 + (1 - 1 / buckets) * buckets)

        return best_bound(side, self, bound, {"others": others, "met": met})

    def draw(self, rng: Generator, steps: int) -> Draws:
        """One alias table per bucket."""
        chosen = [
            members[alias_draw(rng, accept, alias, steps)]
            for members, accept, alias in self._tables
        ]
        return equal_batches(np.stack(chosen, axis=1))

    @cached_property
    def _tables(self) -> list[tuple[IntArray, FloatArray, IntArray]]:
        order = np.argsort(self.bucket_of, kind="stable")
        ends = np.cumsum(np.bincount(self.bucket_of))[:-1]
        return [(members, *alias_table(self.p[members])) for members in np.split(order, ends)]


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
        require_size(self.size)
        if not 1 <= self.blocks <= self.size:
            raise ValueError(
                f"blocks must be between 1 and the number of coordinates ({self.size}), "
                f"got {self.blocks}."
            )
        require_tau(self.tau, self.block_size, "the size of a block")

    @classmethod
    def plan(
        cls, side: Coordinates, blocks: int | None = None, tau: int | None = None
    ) -> Distributed:
        """Two blocks of coordinates and a small batch from each, by default."""
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
            groups_met(rows, self.block_of, np.arange(self.size), met)
            factors = factor(column_counts(side), np.maximum(met, 1))
            return weighted_squares(side, factors, factor(self.size, self.blocks))

        def spectral() -> FloatArray:
            return float(factor(spectral_spread(side), self.blocks)) * serial_eso(side)

        return best_bound(side, self, bound, {"sparsity": sparsity, "spectral": spectral})

    def draw(self, rng: Generator, steps: int) -> Draws:
        """A τ-nice subset of every block."""
        parts = [
            random_subsets(rng.random((steps, self.tau)), self.block_size) + b * self.block_size
            for b in range(self.blocks)
        ]
        chosen = np.concatenate(parts, axis=1)
        real = chosen < self.size
        starts = np.concatenate([[0], np.cumsum(real.sum(axis=1))])
        return Draws(starts.astype(np.int64), chosen[real])
