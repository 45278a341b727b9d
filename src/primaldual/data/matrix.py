"""The data X, by example and by feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._cached import cached_property
from .._types import FloatArray, IntArray
from .checks import checked_dense, checked_sparse, finite_nonzeros, sparse_rows
from .copies import dense_rows, taken, transposed
from .gram import dense_gram, gram
from .norms import (
    counts_and_squares_of_columns,
    nonzeros_of_rows_and_columns,
    squares_of_columns,
    squares_of_rows,
)
from .products import product, two_products
from .rows import DenseRows, Rows, SparseRows

# Examples whose angles are looked at, and in how many features, for an example of all.
SAMPLE = 8
SAMPLE_FEATURES = 16

# Where both layouts are there, a product looks up the vector that is shorter by this factor.
MUCH_SHORTER = 8


class Matrix:
    """The data X (n examples, d features), by example and by feature.

    The layout the input came in is used as it is, without a copy; the other one is built on
    first use. Everything that can be known without the second layout (products, counts,
    squared norms of both sides) is computed from the first.

    Parameters
    ----------
    X : array or SciPy sparse matrix of shape (n, d)
        float64 and float32 values are kept as they are, other real types become float64.
    """

    def __init__(self, X: Any) -> None:
        rows: Rows
        if sparse.issparse(X):
            rows, by = checked_sparse(X)
            if len(rows.values) == X.shape[0] * X.shape[1]:
                # Nothing is left out: the values are dense rows as they stand.
                rows = DenseRows(rows.values.reshape(len(rows.indptr) - 1, -1))
                self.nnz = rows.values.size
        else:
            rows, by, self.nnz = checked_dense(X)
        self._hold(rows, by, (int(X.shape[0]), int(X.shape[1])))

    @classmethod
    def of_rows(cls, rows: Rows, by: str, shape: tuple[int, int]) -> Matrix:
        """The matrix of rows that are known to be sound, by "example" or "feature"."""
        made = cls.__new__(cls)
        made._hold(rows, by, shape)
        return made

    def _hold(self, rows: Rows, by: str, shape: tuple[int, int]) -> None:
        self.stored, self.stored_by, self.shape = rows, by, shape
        self.is_sparse = isinstance(rows, SparseRows)
        if self.is_sparse:
            self.nnz = len(rows.values)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values: float64 or float32."""
        return self.stored.values.dtype

    @cached_property
    def by_example(self) -> Rows:
        """The n examples as rows."""
        return self._layout("example", self.shape[0])

    @cached_property
    def by_feature(self) -> Rows:
        """The d features as rows."""
        return self._layout("feature", self.shape[1])

    def _layout(self, by: str, length: int) -> Rows:
        return self.stored if self.stored_by == by else transposed(self.stored, length)

    @cached_property
    def nnz(self) -> int:
        """‖X‖₀, the number of entries different from zero."""
        return finite_nonzeros(self.stored.values)

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
        return counts_and_squares_of_columns(self.sparse_rows(self.stored_by), width)

    @cached_property
    def _dense_counts(self) -> tuple[IntArray, IntArray]:
        """‖·‖₀ of the rows and of the columns of dense rows."""
        return nonzeros_of_rows_and_columns(self.stored.values)

    def times(self, w: FloatArray) -> FloatArray:
        """X w, accumulated in float64."""
        return self._product("example", w)

    def transposed_times(self, alpha: FloatArray) -> FloatArray:
        """Xᵀ α, accumulated in float64."""
        return self._product("feature", alpha)

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
        made = Matrix.of_rows(rows, self.stored_by, self.shape)
        made.nnz = self.nnz
        return made

    def take(self, examples: IntArray) -> Matrix:
        """The matrix of some of the examples, as a copy."""
        shape = (len(examples), self.shape[1])
        rows: Rows
        if isinstance(self.stored, DenseRows):
            whole = self.stored.values if self.stored_by == "example" else self.stored.values.T
            rows = DenseRows(whole)
        else:
            rows = self.sparse_rows("example")
        return Matrix.of_rows(taken(rows, examples), "example", shape)

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
        stored = sparse.csr_array(rows.values)
        return sparse_rows(stored.indptr, stored.indices, stored.data)

    def is_stored(self, by: str) -> bool:
        """Whether the rows are there by example or by feature, so that no copy has to be made."""
        return by == self.stored_by or f"by_{by}" in self.__dict__

    def _product(self, by: str, vector: FloatArray) -> FloatArray:
        """One number per example or per feature, from whichever layout exists."""
        size, other = self.shape if by == "example" else self.shape[::-1]
        along = self.is_stored(by)
        if along and by != self.stored_by and MUCH_SHORTER * size < other:
            along = False  # rows that are added up look up a vector that is in a nearer cache
        rows = getattr(self, f"by_{by}") if along else self.stored
        return product(rows, vector, size, along)
