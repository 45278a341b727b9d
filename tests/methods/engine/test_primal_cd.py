"""Primal coordinate descent: its calls can be cut anywhere, and its model may be small."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from primaldual import Problem, datasets, solve
from primaldual.methods.engine.primal_cd import PrimalCD


def started(problem, **options):
    """A method and its state."""
    method = PrimalCD(**options)
    return method, method.start(problem, rng=np.random.default_rng(0))


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_any_budget_gives_the_same_bits(as_sparse, loss, fit_intercept, single):
    X = datasets.zipf_text(30, 300, 12, seed=0)
    data = X if as_sparse else X.toarray()
    y = datasets.labels(X, noise=0.1, seed=1)
    problem = Problem(data, y, loss=loss, lam=1e-4, fit_intercept=fit_intercept)
    ends, gaps = {}, []
    for budget in (1, 700, 10_000, 10**9):
        method, state = started(problem, budget=budget, many_examples=0 if single else 10**9)
        seen = []
        while state.rounds < 12:
            method.advance(state)
            seen += state.gaps.tolist()
            ends.setdefault(state.rounds, set()).add((state.w.tobytes(), state.b.tobytes()))
        gaps.append(seen[:12])
    assert all(len(found) == 1 for found in ends.values())
    assert all(seen == gaps[0] for seen in gaps)


def test_the_budget_says_how_many_rounds_are_made_at_once():
    X = datasets.zipf_text(100, 500, 12, seed=0)
    problem = Problem(X, datasets.labels(X, seed=1), lam=1e-4)
    for budget, rounds in ((10**9, 2), (1, 1)):
        method, state = started(problem, budget=budget)
        work = method.advance(state)
        assert len(state.gaps) == rounds
        assert work == 3 * rounds * problem.matrix.nnz


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("scale", [1.0, 1e20, 1e-20])
def test_a_model_in_single_precision_costs_no_digits(loss, fit_intercept, scale):
    X = datasets.random_matrix(20, 600, 0.3, seed=0)
    y = datasets.labels(X, seed=1) * (scale if loss == "squared" else 1.0)
    problem = Problem(X, y, loss=loss, lam=1e-4, fit_intercept=fit_intercept)
    single = solve(problem, PrimalCD(1e-12, many_examples=0), tol=1e-12, seed=0)
    double = solve(problem, PrimalCD(1e-12), tol=1e-12, seed=0)
    assert single.converged and double.converged
    np.testing.assert_allclose(single.w, double.w, rtol=1e-4, atol=1e-5 * np.abs(double.w).max())


def test_visiting_neighbours_together_leads_to_the_same_model():
    X = datasets.zipf_text(2000, 3000, 40, seed=0)
    problem = Problem(X, datasets.labels(X, seed=1), lam=1e-3)
    expected = solve(problem, tol=1e-10, seed=0)
    method, state = started(problem, tol=1e-12)
    state = replace(state, run=4)
    while problem.relative(state.gap) > 1e-11:
        method.advance(state)
    assert np.allclose(state.w, expected.w, rtol=0, atol=1e-4)
