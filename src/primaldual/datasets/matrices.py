"""What the generators share, and the scaling of the experiments."""

from __future__ import annotations

import math
from typing import Any, TypeAlias, get_args

import numpy as np
from scipy import sparse

from .._types import FloatArray, IntArray

Seed: TypeAlias = int | np.random.Generator | None


def normalize_average(X: Any) -> Any:
    """Return X divided by the average length of its examples, the setting of the experiments.

    Parameters
    ----------
    X
        Data of shape (n, d), dense or sparse; not modified.

    Returns
    -------
    array or sparse array
        Of the same kind as X; the lengths of its rows have mean 1.

    Notes
    -----
    Csiba & Richtárik, Section 7.

    Examples
    --------
    >>> normalize_average(np.array([[3.0, 4.0], [0.0, 15.0]]))
    array([[0.3, 0.4],
           [0. , 1.5]])
    """
    if not sparse.issparse(X):
        X = np.asarray(X)
    average = float(np.mean(row_norms(X)))
    if not 0 < average < math.inf:
        raise ValueError(
            f"The average length of the examples must be positive and finite, got {average}. "
            "Check X for zeros, infinities and NaN."
        )
    return X / average


def row_norms(X: Any) -> FloatArray:
    """‖x_j‖ of every example, in float64."""
    X = X.astype(np.float64, copy=False)
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    return np.sqrt(np.asarray(squares.sum(axis=1)).ravel())


def csr(
    values: FloatArray, examples: IntArray, features: IntArray, shape: tuple[int, int]
) -> sparse.csr_array:
    """Return a canonical CSR array from entries in any order; those of one place are added."""
    places = (examples.astype(np.int32), features.astype(np.int32))
    X = sparse.csr_array((values, places), shape=shape)
    X.sum_duplicates()
    return X


def random_signs(size: int, rng: np.random.Generator) -> FloatArray:
    """Independent signs, +1 or −1 with equal probability."""
    return np.where(rng.integers(0, 2, size) == 1, 1.0, -1.0)


def require_shape(d: int, n: int) -> None:
    """Refuse a matrix without features or examples."""
    if d < 1 or n < 1:
        raise ValueError(f"Numbers of features and of examples must be positive, got {d} and {n}.")


def require_choice(name: str, value: str, choices: Any) -> None:
    """Refuse a ``value`` that is not one of the literals in ``choices``."""
    if value not in get_args(choices):
        listed = ", ".join(map(repr, get_args(choices)))
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
