"""Data on which the engine's choice is known."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from primaldual import datasets


def tall(n, d, density=0.1, seed=0):
    X = datasets.random_matrix(d, n, density, seed=seed)
    return X, datasets.labels(X, noise=0.2, seed=seed + 1)


def alike(n, d, noise=1e-4, seed=0):
    """Features that are nearly one and the same."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 1)) + noise * rng.standard_normal((n, d))
    return X, np.sign(rng.standard_normal(n))


def chain(n, d, rho, seed=0):
    """Features of which each is correlated with the one before."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for i in range(1, d):
        X[:, i] = rho * X[:, i - 1] + np.sqrt(1 - rho**2) * X[:, i]
    return X, np.sign(rng.standard_normal(n))


def counted(n, d, seed=0):
    """Sparse counts, with some features that nearly all examples have: hard for the dual."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.02, 1.0, 0.0)
    X[:, :40] = rng.poisson(5, (n, 40))
    y = np.sign(X @ rng.standard_normal(d) + 2 * rng.standard_normal(n))
    return sparse.csr_array(X), y
