"""One side of the data: a list of rows to take steps along."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .._cached import cached_property
from .._types import FloatArray, IntArray
from ..data.matrix import Matrix
from ..data.rows import Rows
from .intercept import intercept_strength


@dataclass(frozen=True)
class Coordinates:
    """One side of the data, as the theory sees it: a list of rows to take steps along.

    The primal side has one coordinate per feature, the dual one per example. Everything about
    samplings, expected separable overapproximation (ESO) and complexity is written for this
    class and so holds for both.
    """

    matrix: Matrix
    by: str  # "feature" for the primal side, "example" for the dual side
    beta: float  # β, the smoothness of the loss
    lam_n: float  # λn
    column_weights: FloatArray | None = None  # c_j on the entries of a row (primal side)
    multipliers: FloatArray | None = None  # c_j on the rows themselves (dual side)
    has_intercept: bool = False  # whether all rows share an extra entry, for a free intercept
    classes: int = 2  # that share the intercepts; 2 also for a loss of one margin

    @property
    def rows(self) -> Rows:
        """The rows, built on first use."""
        return self.matrix.by_feature if self.by == "feature" else self.matrix.by_example

    @property
    def size(self) -> int:
        """The number of coordinates: d on the primal side, n on the dual one."""
        return self.matrix.shape[1] if self.by == "feature" else self.matrix.shape[0]

    @property
    def width(self) -> int:
        """The length of a row: n on the primal side, d on the dual one."""
        return self.matrix.shape[0] if self.by == "feature" else self.matrix.shape[1]

    @property
    def nnz(self) -> int:
        """‖X‖₀, the number of nonzero entries."""
        return self.matrix.nnz

    @cached_property
    def counts(self) -> IntArray:
        """‖row_i‖₀."""
        return self.matrix.counts(self.by)

    @cached_property
    def pairs(self) -> float:
        """Σ_i ‖row_i‖₀ (‖row_i‖₀ + 1)/2: the products of two entries of one row."""
        counts = self.counts.astype(np.float64)
        return float(counts @ (counts + 1)) / 2

    @cached_property
    def squared_norms(self) -> FloatArray:
        """‖row_i‖², weighted by the examples' weights on the primal side."""
        return self.matrix.squared_norms(self.by, self.column_weights)

    @cached_property
    def constant(self) -> float:
        """The square of the extra entry that all rows share, λ/λ_b; 0 without an intercept."""
        if not self.has_intercept:
            return 0.0
        lam = self.lam_n / len(self.squared_norms)
        return lam / intercept_strength(self, lam)

    def related(self, matrix: Matrix, lam_n: float) -> Coordinates:
        """The same side for another λ; what does not depend on λ is not computed again."""
        made = replace(self, matrix=matrix, lam_n=lam_n)
        for name in ("counts", "squared_norms", "pairs"):
            if name in self.__dict__:
                made.__dict__[name] = self.__dict__[name]
        return made

    @cached_property
    def bound(self) -> float:
        """T of importance sampling in passes over the data, eq. (15); infinite without a β."""
        if self.beta == math.inf:
            return math.inf
        curvature = self.curvature(self.squared_norms + self.constant)
        if not self.matrix.is_sparse:
            # All rows are read in full: no need to count what is in them.
            return float(curvature.mean()) / self.lam_n
        return float(self.counts @ curvature) / (self.lam_n * max(self.matrix.nnz, 1))

    def curvature(self, v: FloatArray) -> FloatArray:
        """s_i = β v_i + λn, for ESO parameters v."""
        scale = self.beta if self.multipliers is None else self.beta * self.multipliers
        return scale * v + self.lam_n
