"""The data X, by example and by feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._cached import cached_property
from .._types import FloatArray, IntArray
from .checks import Stored, checked_dense, checked_sparse, finite_nonzeros, sparse_rows
from .copies import dense_rows, taken, transposed
from .gram import dense_gram, gram
from .norms import (
    counts_and_squares_of_columns,
    nonzeros_of_rows_and_columns,
    squares_of_columns,
    squares_of_rows,
)
from .pieces import blocks
from .products import product, two_products
from .rows import DenseRows, Rows, SparseRows

# Examples whose angles are looked at, and in how many features, for an example of all.
SAMPLE = 8
SAMPLE_FEATURES = 16

# Entries that are converted to float64 at a time.
PIECE = 1 << 18


class Matrix:
    """The data X (n examples, d features), by example and by feature.

    The layout the input came in is used as it is, without a copy; the other one is built on
    first use. Everything that can be known without the second layout (products, counts,
    squared norms of both sides) is computed from the first.

    Parameters
    ----------
    X : array, SciPy sparse matrix of shape (n, d), or Stored
        float64 and float32 values are kept as they are, other real types become float64. What is
        ``Stored`` is known to be sound.
    """

    def __init__(self, X: Any) -> None:
        if not isinstance(X, Stored):
            X = checked_sparse(X) if sparse.issparse(X) else checked_dense(X)
        self.stored, self.stored_by, self.shape = X.rows, X.by, X.shape
        self.is_sparse = isinstance(X.rows, SparseRows)
        self.dtype = X.rows.values.dtype  # float64 or float32
        setattr(self, f"by_{X.by}", X.rows)
        if X.nnz is not None:
            self.nnz = X.nnz

    @cached_property
    def by_example(self) -> Rows:
        """The n examples as rows."""
        stored = self.stored_by == "example"
        return self.stored if stored else transposed(self.stored, self.shape[0])

    @cached_property
    def by_feature(self) -> Rows:
        """The d features as rows."""
        stored = self.stored_by == "feature"
        return self.stored if stored else transposed(self.stored, self.shape[1])

    @cached_property
    def nnz(self) -> int:
        """‖X‖₀, the number of entries different from zero."""
        return finite_nonzeros(self.stored.values)

    @cached_property
    def squared_norm(self) -> float:
        """‖X‖², the sum of the squares of all entries."""
        values = self.stored.values.reshape(-1)
        with np.errstate(over="ignore"):
            if values.dtype == np.float64:
                return float(values @ values)
            parts = (values[k : k + PIECE].astype(np.float64) for k in range(0, values.size, PIECE))
            return float(sum(part @ part for part in parts))

    @cached_property
    def longest(self) -> tuple[int, int]:
        """The most entries of an example and of a feature, or a little more."""
        rows = self.stored
        if isinstance(rows, DenseRows):
            return self.shape[1], self.shape[0]
        along = int(np.diff(rows.indptr).max(initial=0))
        if self.stored_by == "example":
            return along, min(self.shape[0], self.nnz)
        return min(self.shape[1], self.nnz), along

    def counts(self, by: str) -> IntArray:
        """‖row‖₀ of every example or feature."""
        if isinstance(self.stored, DenseRows):
            return self._dense_counts[by != self.stored_by]
        return np.diff(self.stored.indptr) if by == self.stored_by else self._across[0]

    def squared_norms(self, by: str, column_weights: FloatArray | None = None) -> FloatArray:
        """Σ_j c_j row_i[j]² for every example or feature; c = 1 unless given."""
        along = by == self.stored_by
        if self.is_sparse and column_weights is None and not along:
            return self._across[1].copy()
        size = self.shape[0] if by == "example" else self.shape[1]
        # One number stands for equal weights: no vector to make, nothing to look up.
        weights = np.ones(1) if column_weights is None else column_weights
        return (squares_of_rows if along else squares_of_columns)(self.stored, weights, size)

    @cached_property
    def _across(self) -> tuple[IntArray, FloatArray]:
        """Counts and squared norms of the columns of sparse rows."""
        width = self.shape[1] if self.stored_by == "example" else self.shape[0]
        return counts_and_squares_of_columns(self.stored, width)

    @cached_property
    def _dense_counts(self) -> tuple[IntArray, IntArray]:
        """‖·‖₀ of the rows and of the columns of dense rows."""
        rows, width = self.stored.values.shape
        if self.nnz == rows * width:
            return np.full(rows, width), np.full(width, rows)
        return nonzeros_of_rows_and_columns(self.stored.values)

    def times(self, w: FloatArray) -> FloatArray:
        """X w, accumulated in float64."""
        return product(self, "example", w)

    def transposed_times(self, alpha: FloatArray) -> FloatArray:
        """Xᵀ α, accumulated in float64."""
        return product(self, "feature", alpha)

    def products(self, w: FloatArray, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """X w and Xᵀ α from one reading of the data."""
        margins, sums = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        if self.stored_by == "example":
            two_products(self.stored, w, alpha, margins, sums)
        else:
            two_products(self.stored, alpha, w, sums, margins)
        return margins, sums

    def densified(self) -> Matrix:
        """The same matrix stored as dense rows."""
        if not self.is_sparse:
            return self
        width = self.shape[1] if self.stored_by == "example" else self.shape[0]
        rows = dense_rows(self.sparse_rows(self.stored_by), width)
        return Matrix(Stored(rows, self.stored_by, self.shape, self.nnz))

    def take(self, examples: IntArray) -> Matrix:
        """The matrix of some of the examples, as a copy."""
        rows: Rows
        if isinstance(self.stored, DenseRows):
            whole = self.stored.values if self.stored_by == "example" else self.stored.values.T
            rows = DenseRows(whole)
        else:
            rows = self.sparse_rows("example")
        rows = taken(rows, examples)
        nnz = None if isinstance(rows, DenseRows) else len(rows.values)
        return Matrix(Stored(rows, "example", (len(examples), self.shape[1]), nnz))

    def squared_cosine(self) -> float:
        """The mean squared cosine of the angle between two examples of dense data, by a sample."""
        values = self.stored.values if self.stored_by == "example" else self.stored.values.T
        # Random entries would add one over their number: little, compared with 1/n.
        enough = SAMPLE_FEATURES * len(values)
        some = values[:: -(-len(values) // SAMPLE), :enough].astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):  # very large entries: seen below
            gram = some @ some.T
        squares = gram.diagonal().copy()
        if len(some) < 2 or not 1e-150 < squares.min() <= squares.max() < 1e150:
            return 1.0  # nothing is known
        gram /= np.sqrt(np.outer(squares, squares))
        return float(np.vdot(gram, gram) - len(some)) / (len(some) * (len(some) - 1))

    def gram_of_features(self, h: FloatArray) -> FloatArray:
        """Xᵀ Diag(h) X for h ≥ 0, the lower triangle of which is filled."""
        return gram(self.by_example, h, self.shape[1])

    def gram_of_examples(self) -> FloatArray:
        """X Xᵀ, the lower triangle of which is filled."""
        rows, (n, d) = self.stored, self.shape
        if isinstance(rows, DenseRows) and self.stored_by == "example":
            return dense_gram(rows.values)
        return gram(self.by_feature, np.ones(d), n)

    def sparse_rows(self, by: str) -> SparseRows:
        """The examples or features as sparse rows, also where the data is dense."""
        rows = self.by_example if by == "example" else self.by_feature
        if isinstance(rows, SparseRows):
            return rows
        parts = [sparse.csr_array(rows.values[block]) for block in blocks(rows.values)]
        stored = parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")
        return sparse_rows(stored.indptr, stored.indices, stored.data)
