"""What the engine's methods do beyond the contract of all methods."""

from __future__ import annotations

import numpy as np
import pytest

from primaldual import Problem
from primaldual.engine.auto import epochs_left


def test_epochs_left_by_a_steady_fall():
    gaps = [0.5**k for k in range(10)]
    assert epochs_left(gaps, 0.5**20) == pytest.approx(11, rel=1e-6)
    assert epochs_left(gaps, 1.0) == 0.0


def test_epochs_left_does_not_see_the_jump_when_examples_come_back_from_rest():
    gaps = [3.0**-k for k in range(8)] + [3.0**-k for k in range(6, 9)]
    assert epochs_left(gaps, 3.0**-20, wakes=[8]) == pytest.approx(12)
    assert epochs_left(gaps, 3.0**-20) > 20


def test_epochs_left_does_not_take_one_jump_for_the_end():
    assert np.isfinite(epochs_left([1.0, 0.3, 0.1, 0.03, 0.01, 0.03], 1e-6))
    assert epochs_left([1.0] * 30, 1e-6) == np.inf


def test_a_sparse_matrix_without_zeros_is_stored_as_dense_rows():
    from scipy import sparse

    X = np.arange(1.0, 13.0).reshape(4, 3)
    for kind in (sparse.csr_array, sparse.csc_array):
        stored = kind(X)
        problem = Problem(stored, [1, -1, 1, -1])
        assert not problem.matrix.is_sparse
        assert np.shares_memory(problem.matrix.stored.values, stored.data)
        np.testing.assert_array_equal(problem.matrix.times(np.eye(3)[1]), X[:, 1])
        np.testing.assert_array_equal(problem.matrix.counts("feature"), [4, 4, 4])
