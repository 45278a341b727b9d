"""What the engine's methods do beyond the contract of all methods."""

from __future__ import annotations

import numpy as np
import pytest

from primaldual import Problem, datasets, solve
from primaldual.engine.auto import epochs_left
from primaldual.methods.engine import primal_cd
from primaldual.methods.engine.dual_cd import DualCD
from primaldual.methods.engine.primal_cd import PrimalCD
from primaldual.methods.engine.second_order import (
    slopes,
)


@pytest.fixture(scope="module")
def text():
    """Zipf-distributed words with labels that a model can mostly explain."""
    X = datasets.zipf_text(3000, 2000, 40, seed=0)
    return X, datasets.labels(X, seed=1)


def test_examples_at_rest_are_left_out_but_not_forgotten(text):
    problem = Problem(*text, loss="squared_hinge", lam=1e-5)
    method = DualCD(1e-9)
    state = method.start(problem, rng=np.random.default_rng(0))
    # A call makes several epochs: the work of one of them.
    work = [method.advance(state) / len(state.gaps) for _ in range(7)]
    assert work[0] == problem.matrix.nnz
    assert work[-1] < 0.9 * problem.matrix.nnz
    assert sorted(state.order) == list(range(problem.n))
    result = solve(problem, method, tol=1e-9, seed=0)
    assert result.converged
    assert result.certificate.relative_gap <= 1e-9


def test_all_examples_are_visited_less_often_while_nobody_wakes_up(text):
    problem = Problem(*text, loss="squared_hinge", lam=1e-5)
    method, full = DualCD(0.0), []
    state = method.start(problem, rng=np.random.default_rng(0))
    while state.epochs < 200:
        before = state.epochs
        method.advance(state)
        full += [before + k for k in range(len(state.parts)) if state.parts[k] == 1.0]
    late = np.diff([epoch for epoch in full if epoch > 10])
    assert late[-1] > 8 and late.max() <= 64


def test_a_gap_that_is_small_enough_has_been_seen_on_all_examples(text):
    problem = Problem(*text, loss="squared_hinge", lam=1e-5)
    method = DualCD(1e-6)
    state = method.start(problem, rng=np.random.default_rng(0))
    for _ in range(200):
        method.advance(state)
        if problem.relative(state.gap) <= 1e-6:
            break
    certificate = problem.certify(*method.iterate(state))
    assert certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("name", ["dual_cd", "primal_cd"])
def test_visiting_neighbours_together_leads_to_the_same_model(text, monkeypatch, name):
    problem = Problem(*text, loss="logistic", lam=1e-3)
    expected = solve(problem, tol=1e-10, seed=0)
    size = {"dual_cd": "MOMENT", "primal_cd": "SMALL"}[name]
    monkeypatch.setattr(f"primaldual.methods.engine.{name}.{size}", 0)  # as if it were large
    monkeypatch.setattr(f"primaldual.methods.engine.{name}.run_length", lambda size, nonzeros: 4)
    found = solve(problem, name, tol=1e-10, seed=0)
    assert found.converged
    assert np.allclose(found.w, expected.w, rtol=0, atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_smaller_model_of_very_many_examples_costs_no_digits(monkeypatch, loss, fit_intercept):
    X = datasets.random_matrix(20, 600, 0.3, seed=0)
    y = datasets.labels(X, seed=1)
    problem = Problem(X, y, loss=loss, lam=1e-4, fit_intercept=fit_intercept)
    monkeypatch.setattr("primaldual.methods.engine.primal_cd.SMALL", 0)
    monkeypatch.setattr(
        "primaldual.methods.engine.primal_cd.MANY_EXAMPLES", 0
    )  # as if it were large
    result = solve(problem, "primal_cd", tol=1e-12, seed=0)
    assert result.converged
    state = PrimalCD().start(problem)
    first, second = slopes(problem, state.z)
    model, gradient = primal_cd._model(problem, first, second)
    assert model.dtype == np.float32 and gradient.any()
    for unsafe in (1e20 * first, 1e-20 * first):
        assert primal_cd._model(problem, unsafe, second)[0].dtype == np.float64


def test_smooth_losses_let_nobody_rest(text):
    problem = Problem(*text, loss="logistic", lam=1e-3)
    state = DualCD().start(problem, rng=np.random.default_rng(0))
    work = {DualCD().advance(state) / len(state.gaps) for _ in range(5)}
    assert work == {float(problem.matrix.nnz)}


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
