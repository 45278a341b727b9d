"""Leave-one-out predictions of ridge regression: one decomposition for all values of alpha.

Let the rows of X and Y be centred, if there is an intercept, and multiplied by √s_j. The fitted
values are H Y with H = X (XᵀX + αI)⁻¹ Xᵀ, and the error of example j, were it left out, is
r_j/(1 − H_jj − u_j²) with its residual r_j; u_j = √(s_j/S), S = Σ s_j, is for the intercept.

With as many examples as features or fewer, XXᵀ = Q L Qᵀ gives 1 − H = Q α/(L + α) Qᵀ; otherwise
XᵀX = V L Vᵀ gives H = (XV) 1/(L + α) (XV)ᵀ. Either way the diagonal and the product with Y for all
values of α are one product of matrices each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from .._types import FloatArray

# Numbers in the decomposed matrix, and in the predictions for all values of alpha, at most: 3.2 GB.
MOST_ENTRIES = 400_000_000
# Numbers of XV held at a time: 8 MB.
BLOCK_ENTRIES = 1_000_000
# Eigenvalues of XᵀX and XXᵀ are known up to the rounding unit times the largest one. Where that is
# more than this fraction of the smallest, alpha added, singular values are used, which keep twice
# the digits.
LOST_DIGITS = 1e-8
# 1 − H_jj − u_j² is positive; rounding may leave less than this of it.
LEAST_FREEDOM = 1e-15
UNIT = float(np.finfo(np.float64).eps)


class Data(NamedTuple):
    """Examples with positive weight. X is centred if dense; else ``mean`` is to be subtracted."""

    X: Any
    mean: FloatArray
    root: FloatArray  # √s_j
    share: FloatArray  # u_j², or zeros without an intercept

    def rows(self, part: slice, right: FloatArray) -> FloatArray:
        """The scaled and centred rows of X times a matrix."""
        return np.asarray(
            self.root[part, None] * (np.asarray(self.X[part] @ right) - self.mean @ right)
        )

    def transposed(self, left: FloatArray) -> FloatArray:
        """The scaled and centred Xᵀ times a matrix."""
        scaled = self.root[:, None] * left
        return np.asarray(self.X.T @ scaled) - np.outer(self.mean, scaled.sum(axis=0))

    def dense(self) -> FloatArray:
        """The scaled and centred X."""
        full = self.X.toarray() if sparse.issparse(self.X) else self.X
        return np.asarray(self.root[:, None] * (full - self.mean))


class Decomposition(NamedTuple):
    """A matrix M = A diag(c) Aᵀ for every value of alpha: H, or 1 − H if ``is_rest``."""

    rows: Callable[[slice], FloatArray]  # of A
    projected: FloatArray  # AᵀY
    c: FloatArray  # (columns of A, alphas)
    is_rest: bool


def leave_one_out(
    X: Any,
    Y: FloatArray,
    alphas: FloatArray,
    weights: FloatArray | None,
    intercept: bool,
    mode: str = "auto",
) -> FloatArray:
    """The prediction for every example by the model fitted without it.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, targets)
    alphas : array of positive numbers
    weights : array of shape (n,), optional
    intercept : bool
        Whether the models have an unpenalised intercept.
    mode : {"auto", "eigen", "svd"}
        The decomposition: eigenvectors of the smaller of XXᵀ and XᵀX, or singular vectors of a
        dense copy of X. "auto" takes the first unless alpha is too small for it.

    Returns
    -------
    array of shape (n, targets, n_alphas)
    """
    n, d = X.shape
    require_room(min(n, d) ** 2, n * Y.shape[1] * len(alphas), (n, d))
    s = np.ones(n) if weights is None else weights
    used = s > 0
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    mean, centre = np.zeros(d), np.zeros(Y.shape[1])
    if intercept:
        mean = np.asarray((s / s.sum()) @ X).ravel()
        centre = np.average(Y, axis=0, weights=s)
    data = _data(X[used], mean, s[used], intercept)
    residuals, freedom = _residuals(data, Y[used] - centre, alphas, mode)
    predictions = np.empty((n, Y.shape[1], len(alphas)))
    predictions[used] = Y[used][:, :, None] - residuals / freedom[:, None, :]
    if not used.all():  # the model fitted without them is that of all examples
        for k, alpha in enumerate(alphas):
            w = data.transposed(data.root[:, None] * residuals[:, :, k]) / alpha
            predictions[~used, :, k] = np.asarray(X[~used] @ w) - mean @ w + centre
    return predictions


def require_room(
    decomposed: int, predicted: int, shape: tuple[int, int], what: str = "leave-one-out"
) -> None:
    """Raise if a dense matrix of that many numbers is too large."""
    if max(decomposed, predicted) > MOST_ENTRIES:
        raise ValueError(
            f"{what} needs dense matrices of up to {max(decomposed, predicted)} numbers for "
            f"{shape[0]} × {shape[1]} data, above {MOST_ENTRIES}. Set cv, for example cv=5."
        )


def _data(X: Any, mean: FloatArray, s: FloatArray, intercept: bool) -> Data:
    share = s / s.sum() if intercept else np.zeros(len(s))
    if not sparse.issparse(X):
        X, mean = X - mean, np.zeros(len(mean))
    return Data(X, mean, np.sqrt(s), share)


def _residuals(
    data: Data, Y: FloatArray, alphas: FloatArray, mode: str
) -> tuple[FloatArray, FloatArray]:
    """The residuals of the fits, and 1 − H_jj − u_j², both for every alpha."""
    n, targets = Y.shape
    scaled = data.root[:, None] * Y
    can_be_dense = not sparse.issparse(data.X) or data.X.shape[0] * data.X.shape[1] <= MOST_ENTRIES
    if_accurate = mode == "auto" and can_be_dense
    found = None if mode == "svd" else _by_eigenvectors(data, scaled, alphas, if_accurate)
    if found is None:
        found = _by_singular_vectors(data, scaled, alphas)
    columns = len(found.c)
    right = (found.projected[:, :, None] * found.c[:, None, :]).reshape(
        columns, targets * len(alphas)
    )
    residuals, freedom = np.empty((n, targets, len(alphas))), np.empty((n, len(alphas)))
    length = max(BLOCK_ENTRIES // max(columns, 1), 1)
    for part in (slice(start, start + length) for start in range(0, n, length)):
        rows = found.rows(part)
        product = (rows @ right).reshape(len(rows), targets, len(alphas))
        diagonal = (rows**2) @ found.c
        if found.is_rest:
            residuals[part], freedom[part] = product, diagonal
        else:
            residuals[part] = scaled[part, :, None] - product
            freedom[part] = (1.0 - data.share[part])[:, None] - diagonal
    return residuals / data.root[:, None, None], np.maximum(freedom, LEAST_FREEDOM)


def _by_eigenvectors(
    data: Data, Y: FloatArray, alphas: FloatArray, if_accurate: bool
) -> Decomposition | None:
    """By the smaller of XXᵀ and XᵀX; None if that is not accurate enough and has to be."""
    n, d = data.X.shape
    matrix = _gram(data) if n <= d else _covariance(data)
    trace = float(np.trace(matrix))

    def is_inaccurate(smallest: float) -> bool:
        return if_accurate and trace * UNIT > LOST_DIGITS * (max(smallest, 0.0) + alphas.min())

    if is_inaccurate(trace / len(matrix)):  # the smallest is at most their mean
        return None
    if n > d:
        values, vectors = linalg.eigh(matrix)
        if is_inaccurate(values[0]):
            return None
        c = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)
        projected = vectors.T @ data.transposed(Y)
        return Decomposition(lambda part: data.rows(part, vectors), projected, c, False)
    constant = data.share.any()
    if constant:  # u becomes the eigenvector of the largest eigenvalue, and is left out
        u = np.sqrt(data.share)
        matrix += (2 * trace + 1) * np.outer(u, u)
    values, vectors = linalg.eigh(matrix)
    if constant:
        values, vectors = values[:-1], vectors[:, :-1]
    if values.size and is_inaccurate(values[0]):  # none is left of a single example
        return None
    c = alphas / (np.maximum(values, 0.0)[:, None] + alphas)
    return Decomposition(lambda part: vectors[part], vectors.T @ Y, c, True)


def _by_singular_vectors(data: Data, Y: FloatArray, alphas: FloatArray) -> Decomposition:
    """By those of a dense copy of X."""
    dense = data.dense()
    is_wide = dense.shape[0] <= dense.shape[1]
    constant = is_wide and data.share.any()
    if constant:  # as above
        u = np.sqrt((2 * np.vdot(dense, dense) + 1) * data.share)
        dense = np.column_stack([dense, u])
    left, values, _ = linalg.svd(dense, full_matrices=False)
    if constant:
        left, values = left[:, 1:], values[1:]
    squares = values[:, None] ** 2
    c = (alphas if is_wide else squares) / (squares + alphas)
    return Decomposition(lambda part: left[part], left.T @ Y, c, is_wide)


def _gram(data: Data) -> FloatArray:
    """The scaled and centred XXᵀ; of sparse data without a dense copy."""
    if not sparse.issparse(data.X):
        dense = data.dense()
        return np.asarray(dense @ dense.T)
    product = np.asarray((data.X @ data.X.T).toarray())
    along = np.asarray(data.X @ data.mean)
    product += data.mean @ data.mean - along[:, None] - along
    return np.asarray(data.root[:, None] * product * data.root)


def _covariance(data: Data) -> FloatArray:
    """The scaled and centred XᵀX; of sparse data without a dense copy."""
    if not sparse.issparse(data.X):
        dense = data.dense()
        return np.asarray(dense.T @ dense)
    s = data.root**2
    product = np.asarray((data.X.T @ data.X.multiply(s[:, None]).tocsr()).toarray())
    return product - s.sum() * np.outer(data.mean, data.mean)
