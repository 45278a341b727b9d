"""One part of the data: what has to be known of it before a fit, and what a fit works on."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._types import FloatArray, IntArray
from ..data.matrix import Matrix
from ..losses.sums import sum_values, sum_values_and_gaps
from ..parts import Block, PartError
from .slopes import linearised_dual, set_slopes
from .softmax_part import SoftmaxPart
from .targets import frozen


class Marks(NamedTuple):
    """What is kept of the data where the data itself is not: one checksum per part."""

    checksums: IntArray


@dataclass
class Extent:
    """The shape of data in parts, its nonzeros, and what tells it from other data."""

    shape: tuple[int, int]
    nnz: int
    is_sparse: bool
    stored: Marks
    stored_by: str = "part"


class Fact(NamedTuple):
    """What is known of a part before a fit."""

    n: int  # examples
    d: int  # features
    nnz: int  # stored entries
    is_sparse: bool
    labels: Any  # the different labels of examples with a positive weight; None for numbers
    weight: float | None  # the sum of the weights; None where there are none
    checksum: int  # CRC-32 of all numbers


class Spec(NamedTuple):
    """How a block becomes a part."""

    loss: Any  # None for the softmax loss
    d: int
    positive: Any  # the label of +1, all others are −1; None for numbers; softmax: all labels
    scale: float  # what weights are multiplied by, so that their mean over all parts is 1
    fit_intercept: bool
    column: int | None = None  # of the targets, where there are several


@dataclass
class Part:
    """What the methods work on: examples, targets and a loss with one score per example.

    Points are vectors of d + 1 entries, the coefficients and the intercept behind them, and so are
    gradients; with the softmax loss (``SoftmaxPart``) one such row per class, one after the other.
    """

    matrix: Matrix
    y: FloatArray
    sample_weight: FloatArray
    loss: Any
    fit_intercept: bool
    alpha: FloatArray | None = None  # where it is given and does not follow from w

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.y)

    @property
    def d(self) -> int:
        """The number of features."""
        return self.matrix.shape[1]

    def margins(self, w: FloatArray, b: float = 0.0) -> FloatArray:
        """⟨x_j, w⟩ + b."""
        z = self.matrix.times(w)
        if b:
            z += b
        return z

    def scores(self, point: FloatArray) -> FloatArray:
        """The margins at a point."""
        return self.margins(point[:-1], float(point[-1]))

    def value(self, z: FloatArray) -> float:
        """Σ_j c_j φ(z_j)."""
        return float(sum_values(self.loss, z, self.y, self.sample_weight))

    def slopes(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """c_j φ'_j and c_j φ''_j."""
        first, second = np.empty(self.n), np.empty(self.n)
        set_slopes(self.loss, z, self.y, self.sample_weight, first, second)
        return first, second

    def gathered(self, first: FloatArray) -> FloatArray:
        """Σ_j first_j (x_j, 1); the last entry is 0 without an intercept."""
        last = float(first.sum()) if self.fit_intercept else 0.0
        return np.append(self.matrix.transposed_times(first), last)

    def curved(self, second: FloatArray, change: FloatArray) -> FloatArray:
        """By how much slopes change with the scores."""
        return second * change

    def diagonal(self, second: FloatArray) -> FloatArray:
        """Σ_j h_j x_ji² for every feature, and Σ_j h_j; 0 for an intercept that is not there."""
        last = float(second.sum()) if self.fit_intercept else 0.0
        return np.append(self.matrix.squared_norms("feature", second), last)

    def curvature(self, second: FloatArray) -> float:
        """Σ_j h_j, the curvature in the intercept."""
        return float(second.sum())

    def linearised(
        self, first: FloatArray, second: FloatArray, change: FloatArray
    ) -> tuple[FloatArray, bool]:
        """α_j = −(first_j + second_j change_j) in its domain, and whether it was there already."""
        alpha = np.empty(self.n)
        args = (self.loss, self.y, self.sample_weight, first, second, change, alpha)
        return alpha, bool(linearised_dual(*args))

    def gaps(self, z: FloatArray, alpha: FloatArray) -> tuple[float, float, float]:
        """Σ_j c_j φ(z_j), Σ_j c_j [φ(z_j) + φ*(−a_j) + a_j z_j], and the sizes of what cancels."""
        found = sum_values_and_gaps(self.loss, z, alpha, self.y, self.sample_weight)
        return float(found[0]), float(found[1]), float(found[2])

    def product(self, alpha: FloatArray) -> FloatArray:
        """Σ_j α_j x_j."""
        return self.matrix.transposed_times(alpha)

    @property
    def target_size(self) -> float:
        """Of which no |y_j| is larger."""
        return float(np.abs(self.y).max())


def fact_of(block: Block, classification: bool) -> Fact:
    """What has to be known of a block; its rows, labels and weights must belong together."""
    X, y, weights = _arrays(block)
    n, d = X.shape
    if y.shape[:1] != (n,) or (weights is not None and weights.shape != (n,)):
        raise ValueError(
            f"X has {n} rows, y {len(y)} entries"
            + ("." if weights is None else f" and sample_weight {len(weights)}.")
        )
    if weights is not None and n and not (np.isfinite(weights).all() and weights.min() >= 0):
        raise ValueError("sample_weight must be finite and nonnegative.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y must be finite, got NaN or infinite values. Drop those examples.")
    labels = None
    if classification and y.ndim != 1:
        raise ValueError(f"y must have one label per example, got shape {y.shape}.")
    if classification:
        labels = np.unique(y if weights is None else y[weights > 0])
    nnz = X.nnz if sparse.issparse(X) else X.size
    total = None if weights is None else float(weights.sum())
    return Fact(n, d, int(nnz), sparse.issparse(X), labels, total, _known(block, X, y, weights))


def part_of(block: Block, fact: Fact, spec: Spec) -> Any:
    """The part that a block is; nothing for an empty one, an error if it differs from before."""
    X, y, weights = _arrays(block)
    if _known(block, X, y, weights) != fact.checksum:
        raise PartError(
            "a part differs from what it was when the fit began: its checksum has changed. A fit "
            "needs the same data whenever a part is loaded; write it to files first."
        )
    if fact.n == 0:
        return None
    c = np.ones(fact.n) if weights is None else weights.astype(np.float64) * spec.scale
    if spec.loss is None:
        codes = np.minimum(np.searchsorted(spec.positive, y), len(spec.positive) - 1)
        return SoftmaxPart(Matrix(X), codes, frozen(c), len(spec.positive), spec.fit_intercept)
    if spec.positive is None:
        y = y if spec.column is None else y[:, spec.column]
        if y.dtype.kind not in "fiub" or y.ndim != 1:
            raise ValueError(
                f"y must hold one number per example for this loss, got dtype {y.dtype} and shape "
                f"{y.shape}. Of several targets, name one by column=."
            )
        targets = y.astype(np.float64)
    else:
        targets = np.where(y == spec.positive, 1.0, -1.0)
    return Part(Matrix(X), frozen(targets), frozen(c), spec.loss, spec.fit_intercept)


def _arrays(block: Block) -> tuple[Any, Any, Any]:
    """X in rows, y and the weights as arrays, copied only if they must be."""
    X = block.X
    if sparse.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.ascontiguousarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    weights = None if block.sample_weight is None else np.asarray(block.sample_weight).ravel()
    return X, np.asarray(block.y), weights


def _known(block: Block, X: Any, y: Any, weights: Any) -> int:
    """The checksum of a block, known or computed."""
    return _checksum(X, y, weights) if block.checksum is None else block.checksum


def _checksum(X: Any, y: Any, weights: Any) -> int:
    """CRC-32 of the numbers of a block, about 1 GB/s."""
    arrays = [X.indptr, X.indices, X.data] if sparse.issparse(X) else [X]
    total = 0
    for array in (*arrays, y, *(() if weights is None else (weights,))):
        if array.dtype == object:
            total = zlib.crc32(repr(array.tolist()).encode(), total)
        else:
            total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return total
