"""What a look at the data tells."""

from __future__ import annotations

import numpy as np
import pytest
from engine_data import alike, chain, tall
from scipy import sparse

from primaldual import Problem
from primaldual.engine.look import feature_overlap, smallest_eigenvalue


def overlap(X):
    """Σ_k cos² over the other features, for an average feature, by all pairs."""
    X = X.toarray() if sparse.issparse(X) else X
    S = X.T @ X
    scale = np.sqrt(np.diag(S))
    S = S / np.outer(scale, scale)
    return float((S**2).sum()) / len(S) - 1


@pytest.mark.parametrize("n", [300, 3000])
def test_feature_overlap_is_that_of_all_pairs_about(n):
    X, y = tall(n, 200)
    # One draw of signs: the order of magnitude is what counts.
    assert overlap(X) / 3 <= feature_overlap(Problem(X, y)) <= 3 * overlap(X)
    X, y = alike(n, 50)
    assert feature_overlap(Problem(X, y)) >= 0.5 * overlap(X)


def unit_diagonal(H):
    scale = np.sqrt(np.diag(H))
    return H / np.outer(scale, scale)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("most", [500, 10], ids=["dense", "Lanczos"])
def test_smallest_eigenvalue_of_the_primal_hessian(most, is_sparse):
    X, y = chain(300, 40, 0.5)
    X[:, 3] *= 100.0  # another unit changes nothing
    c = 1.0 + np.arange(300) % 3
    data = sparse.csr_array(X) if is_sparse else X
    problem = Problem(data, y, loss="squared", lam=0.01, sample_weight=c)
    H = X.T @ (problem.sample_weight[:, None] * X) + 3.0 * np.eye(40)
    expected = np.linalg.eigvalsh(unit_diagonal(H))[0]
    assert smallest_eigenvalue(problem, "feature", most) == pytest.approx(expected, rel=1e-6)


def test_smallest_eigenvalue_of_the_dual_hessian():
    X, y = chain(30, 200, 0.5)
    expected = np.linalg.eigvalsh(unit_diagonal(X @ X.T + 0.3 * np.eye(30)))[0]
    problem = Problem(X, y, loss="squared", lam=0.01)
    assert smallest_eigenvalue(problem, "example") == pytest.approx(expected, rel=1e-8)


def test_smallest_eigenvalue_by_a_sample_is_about_that_of_all():
    X, y = chain(20_000, 30, 0.7)
    problem = Problem(X, y, loss="squared", lam=1e-4)
    H = X.T @ X + 2.0 * np.eye(30)
    expected = np.linalg.eigvalsh(unit_diagonal(H))[0]
    assert smallest_eigenvalue(problem, "feature") == pytest.approx(expected, rel=0.3)


def test_squared_cosine_of_examples():
    rng = np.random.default_rng(0)
    wide = Problem(rng.standard_normal((40, 4000)), np.sign(rng.standard_normal(40)))
    assert wide.matrix.squared_cosine() < 10 / 4000
    X = alike(4000, 40)[0]
    assert Problem(X.T, [1, -1] * 20).matrix.squared_cosine() > 0.99
    assert Problem(np.ones((1, 3)), [0.5], loss="squared").matrix.squared_cosine() == 1.0
