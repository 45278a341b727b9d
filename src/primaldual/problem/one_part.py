"""One part of the data: what has to be known of it before a fit, and what a fit works on."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._types import FloatArray, IntArray
from ..data.matrix import Matrix
from ..parts import Block, PartError
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

    loss: Any
    d: int
    positive: Any  # the label of +1, all others are −1; None for numbers
    scale: float  # what weights are multiplied by, so that their mean over all parts is 1
    fit_intercept: bool


@dataclass
class Part:
    """What the methods work on: the fields that they also ask of a ``Problem``."""

    matrix: Matrix
    y: FloatArray
    sample_weight: FloatArray
    loss: Any
    fit_intercept: bool

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
    if classification:
        labels = np.unique(y if weights is None else y[weights > 0])
    nnz = X.nnz if sparse.issparse(X) else X.size
    total = None if weights is None else float(weights.sum())
    return Fact(n, d, int(nnz), sparse.issparse(X), labels, total, _known(block, X, y, weights))


def part_of(block: Block, fact: Fact, spec: Spec) -> Part | None:
    """The part that a block is; nothing for an empty one, an error if it differs from before."""
    X, y, weights = _arrays(block)
    if _known(block, X, y, weights) != fact.checksum:
        raise PartError(
            "a part differs from what it was when the fit began: its checksum has changed. A fit "
            "needs the same data whenever a part is loaded; write it to files first."
        )
    if fact.n == 0:
        return None
    if spec.positive is None:
        if y.dtype.kind not in "fiub" or y.ndim != 1:
            raise ValueError(
                f"y must hold one number per example for this loss, got dtype {y.dtype} and shape "
                f"{y.shape}."
            )
        targets = y.astype(np.float64)
    else:
        targets = np.where(y == spec.positive, 1.0, -1.0)
    c = np.ones(fact.n) if weights is None else weights.astype(np.float64) * spec.scale
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
