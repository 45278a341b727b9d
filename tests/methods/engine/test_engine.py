"""What the engine's methods do beyond the contract of all methods."""

from __future__ import annotations

import numpy as np
import pytest
from engine_data import tall
from scipy import sparse

from primaldual import Problem, solve
from primaldual.engine.watch import rounds_left
from primaldual.methods.engine.newton_cg import NewtonCG


def test_rounds_left_by_a_steady_fall():
    gaps = [0.5**k for k in range(10)]
    assert rounds_left(gaps, 0.5**20) == pytest.approx(11, rel=1e-6)
    assert rounds_left(gaps, 1.0) == 0.0


def test_rounds_left_does_not_see_the_jump_when_examples_are_reactivated():
    gaps = [3.0**-k for k in range(8)] + [3.0**-k for k in range(6, 9)]
    assert rounds_left(gaps, 3.0**-20, reactivated=[8]) == pytest.approx(12)
    assert rounds_left(gaps, 3.0**-20) > 20


def test_rounds_left_does_not_take_one_jump_for_the_end():
    assert np.isfinite(rounds_left([1.0, 0.3, 0.1, 0.03, 0.01, 0.03], 1e-6))
    assert rounds_left([1.0] * 30, 1e-6) == np.inf


def test_a_sparse_matrix_without_zeros_is_stored_as_dense_rows():
    X = np.arange(1.0, 13.0).reshape(4, 3)
    for kind in (sparse.csr_array, sparse.csc_array):
        stored = kind(X)
        problem = Problem(stored, [1, -1, 1, -1])
        assert not problem.matrix.is_sparse
        assert np.shares_memory(problem.matrix.stored.values, stored.data)
        np.testing.assert_array_equal(problem.matrix.times(np.eye(3)[1]), X[:, 1])
        np.testing.assert_array_equal(problem.matrix.counts("feature"), [4, 4, 4])


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_truncated_newton_leaves_out_flat_examples_only(kind, fit_intercept):
    X, y = tall(400, 30, 0.3)
    X = X if kind == "sparse" else X.toarray()
    problem = Problem(X, y, loss="squared_hinge", lam=1e-3, fit_intercept=fit_intercept)
    ours = solve(problem, NewtonCG(1e-10), tol=1e-10)
    other = solve(problem, "newton", tol=1e-10)
    assert ours.converged and other.converged
    np.testing.assert_allclose(ours.w, other.w, atol=1e-4)


def test_short_first_steps_of_truncated_newton_end_at_the_same_point():
    X, y = tall(400, 30, 0.3)
    problem = Problem(X, y, lam=1e-4)
    short, whole = (solve(problem, NewtonCG(1e-9, most), tol=1e-9) for most in (3, 1000))
    assert short.converged and whole.converged
    np.testing.assert_allclose(short.w, whole.w, atol=1e-3)


def test_a_seed_and_its_generator_give_the_same_bits():
    X, y = tall(500, 800, 0.02)
    problem = Problem(X, y, lam=1e-3)
    by_seed = solve(problem, "dual_cd", tol=1e-6, seed=5)
    by_generator = solve(problem, "dual_cd", tol=1e-6, seed=np.random.default_rng(5))
    assert (by_seed.w == by_generator.w).all()


@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge"])
def test_data_without_a_nonzero_is_solved(loss):
    """Large enough for the methods that count their work in passes over the data."""
    y = np.where(np.arange(20_000) % 3 == 0, 1.0, -1.0)
    problem = Problem(sparse.csr_array((20_000, 30)), y, loss=loss, lam=0.1)
    for method in ("auto", "dual_cd", "primal_cd", "newton", "newton_cg"):
        run = solve(problem, method, seed=0)
        assert run.converged and not run.w.any()
