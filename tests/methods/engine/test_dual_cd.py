"""Dual coordinate descent: its active set, and that its calls can be cut anywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from primaldual import Problem, datasets, solve
from primaldual.methods.engine.dual_cd import DualCD


def text_problem(loss, lam, **options):
    """Zipf-distributed words with labels that a model can mostly explain."""
    X = datasets.zipf_text(3000, 2000, 40, seed=0)
    return Problem(X, datasets.labels(X, seed=1), loss=loss, lam=lam, **options)


def started(problem, **options):
    """A method and its state."""
    method = DualCD(**options)
    return method, method.start(problem, rng=np.random.default_rng(0))


# --- the active set -------------------------------------------------------------------------------


def test_inactive_examples_are_left_out_but_not_forgotten():
    problem = text_problem("squared_hinge", 1e-5)
    method, state = started(problem, tol=1e-9)
    # A call makes several epochs: the work of one of them.
    work = [method.advance(state) / len(state.gaps) for _ in range(7)]
    assert work[0] == problem.matrix.nnz
    assert work[-1] < 0.9 * problem.matrix.nnz
    assert sorted(state.active.order) == list(range(problem.n))
    result = solve(problem, method, tol=1e-9, seed=0)
    assert result.converged
    assert result.certificate.relative_gap <= 1e-9


def test_all_examples_are_visited_less_often_while_none_is_reactivated():
    problem = text_problem("squared_hinge", 1e-5)
    method, state = started(problem)
    full = []
    while state.epochs < 200:
        before = state.epochs
        method.advance(state)
        full += [before + k for k in range(len(state.parts)) if state.parts[k] == 1.0]
    late = np.diff([epoch for epoch in full if epoch > 10])
    assert late[-1] > 8 and late.max() <= 64


def test_the_work_of_an_epoch_is_that_of_the_examples_it_visits():
    problem = text_problem("squared_hinge", 1e-5)
    method, state = started(problem, most_epochs=1)
    for _ in range(40):
        active = state.active.order[: state.active.size[0]].copy()
        work = method.advance(state)
        if state.parts[0] < 1.0:
            assert work == problem.examples.counts[active].sum()
        else:
            assert work == problem.matrix.nnz


def test_a_gap_that_is_small_enough_has_been_seen_on_all_examples():
    problem = text_problem("squared_hinge", 1e-5)
    method, state = started(problem, tol=1e-6)
    for _ in range(200):
        method.advance(state)
        if problem.relative(state.gap) <= 1e-6:
            break
    assert state.parts[-1] == 1.0
    assert problem.certify(*method.iterate(state)).relative_gap <= 1e-6


def test_on_a_strictly_convex_loss_all_examples_stay_active():
    problem = text_problem("logistic", 1e-3)
    method, state = started(problem)
    assert {method.advance(state) / len(state.gaps) for _ in range(5)} == {problem.matrix.nnz}


# --- budgets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_any_budget_gives_the_same_bits(as_sparse, loss, fit_intercept):
    X = 3.0 * datasets.zipf_text(60, 300, 12, seed=0)  # slow: points are extrapolated as well
    y = datasets.labels(X, noise=0.1, seed=1)
    data = X if as_sparse else X.toarray()
    problem = Problem(data, y, loss=loss, lam=1e-4, fit_intercept=fit_intercept)
    ends, gaps = set(), []
    for budget in (1, 700, 10_000, 10**9):
        method, state = started(problem, budget=budget)
        seen = []
        while state.epochs < 48:
            method.most_epochs = 48 - state.epochs
            method.advance(state)
            seen += state.gaps.tolist()
        ends.add((state.w.tobytes(), state.alpha.tobytes(), state.intercept.numbers.tobytes()))
        gaps.append(seen)
    assert len(ends) == 1
    assert all(seen == gaps[0] for seen in gaps)


def test_the_budget_says_how_many_epochs_are_made_at_once():
    problem = text_problem("logistic", 1e-3)
    for budget, epochs in ((10**9, 12), (5e5, 6), (1, 1)):
        method, state = started(problem, budget=budget)
        method.advance(state)
        assert len(state.gaps) == len(state.parts) == epochs
    method, state = started(problem, most_epochs=2)
    method.advance(state)
    assert len(state.gaps) == 2


def test_dense_rows_are_not_counted_and_four_entries_take_as_long_as_a_sparse_nonzero():
    X = np.random.default_rng(0).standard_normal((50, 2000))
    dense = Problem(X, np.sign(X[:, 0]), lam=0.01)
    method, state = started(dense, budget=2 * X.size / 4)
    work = method.advance(state)
    assert len(state.gaps) == 2 and work == 2 * X.size
    assert "counts" not in dense.examples.__dict__


def test_visiting_neighbours_together_leads_to_the_same_model():
    problem = text_problem("logistic", 1e-3)
    expected = solve(problem, tol=1e-10, seed=0)
    method, state = started(problem, tol=1e-12)
    state = replace(state, run=4)
    while problem.relative(state.gap) > 1e-11:
        method.advance(state)
    assert np.allclose(state.w, expected.w, rtol=0, atol=1e-4)
