"""Truncated Newton on the features: what a step costs, where it stops, and how it resumes."""

from __future__ import annotations

import numpy as np
import pytest

from primaldual import Problem, datasets, solve
from primaldual.methods.engine.gram_newton_cg import GramNewtonCG
from primaldual.methods.engine.newton_cg import MANY_STEPS, NewtonCG
from primaldual.methods.engine.second_order import (
    LOOSEST,
)


@pytest.fixture(scope="module")
def text():
    """Zipf-distributed words with labels that a model can mostly explain."""
    X = datasets.zipf_text(3000, 2000, 40, seed=0)
    return X, datasets.labels(X, seed=1)


def test_rare_features_take_few_products():
    """514 passes; with all of the diagonal 798."""
    X = datasets.zipf_text(4000, 1000, 60, seed=0)
    X.data = np.random.default_rng(0).geometric(0.4, X.nnz) * 1.0  # counts
    problem = Problem(X, datasets.labels(X, seed=1), loss="squared", lam=1e-3)
    result = solve(problem, "newton_cg", tol=1e-9, seed=0)
    assert result.converged and result.passes < 650


@pytest.mark.parametrize("kind", [NewtonCG, GramNewtonCG])
def test_a_quadratic_loss_takes_one_truncated_step(kind):
    X = datasets.random_matrix(200, 100, 0.1, seed=0)
    problem = Problem(X, datasets.labels(X, seed=1), loss="squared", lam=1e-3)
    method = kind(1e-6)
    state = method.start(problem)
    method.advance(state)
    assert problem.certify(*method.iterate(state)).relative_gap <= 1e-6


def test_truncated_newton_aims_lower_where_a_gap_at_the_target_was_not_enough(text):
    problem = Problem(*text, loss="logistic", lam=1e-4, fit_intercept=True)
    method, gaps = NewtonCG(1e-4), []
    state = method.start(problem)
    while len(gaps) < 3:
        method.advance(state)
        method.iterate(state)
        if problem.relative(state.run.gap) <= 1e-4 * 0.1 ** len(gaps):
            gaps.append(problem.relative(state.run.gap))
    assert gaps[2] <= 1e-6 < gaps[0] <= 1e-4


def ill_conditioned(loss, lam):
    """Features of all sizes, hidden from the diagonal by a rotation."""
    rng = np.random.default_rng(0)
    hidden = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    X = (rng.standard_normal((400, 300)) * np.logspace(-4, 1, 300)) @ hidden
    return Problem(X, datasets.labels(X, seed=1), loss, lam=lam)


def one_step(problem, tol, forcing=LOOSEST):
    """The state after one Newton step, whose system is solved to that relative residual."""
    method = NewtonCG(tol, budget=0)
    state = method.start(problem)
    state.run = state.run._replace(forcing=forcing)
    method.advance(state)
    return state


def test_a_truncated_step_ends_where_the_model_hardly_falls_any_more():
    exact = one_step(ill_conditioned("squared", 1e-10), 0.0)
    rough = one_step(ill_conditioned("logistic", 1e-10), 0.0, forcing=1e-9)
    assert MANY_STEPS <= rough.run.products < exact.run.products / 2
    inner = rough.run.inner
    assert inner.now > 1e-9**2 * inner.first  # so that was not why it ended


def advanced(method, problem):
    """Advance to the method's own tolerance; the state, and the passes that took."""
    state, work = method.start(problem), 0.0
    while not state.run.linear:
        work += method.advance(state)
    return state, work / problem.matrix.nnz


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_conjugate_gradients_go_on_where_the_model_was_right(fit_intercept):
    """On a quadratic, to stop and look around every few steps costs nothing."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 40)) * np.logspace(0, 1, 40)
    problem = Problem(X, rng.standard_normal(80), "squared", lam=1e-3, fit_intercept=fit_intercept)
    method = NewtonCG(1e-9, most=3, budget=0)
    state = method.start(problem)
    for _ in range(2):
        method.advance(state)
        v, b = state.vectors, state.run.b
        slopes = problem.margins(v.w, b) - problem.y
        np.testing.assert_allclose(v.z, problem.margins(v.w, b), rtol=1e-9)
        gradient = X.T @ slopes + problem.lam * problem.n * v.w
        np.testing.assert_allclose(v.gradient[:-1], gradient, rtol=1e-6, atol=1e-8)
        expected = gradient @ gradient / (2 * problem.lam * problem.n**2)
        assert state.run.gap == pytest.approx(expected, rel=1e-6)
    if not fit_intercept:
        whole, in_pieces = advanced(NewtonCG(1e-9), problem), advanced(method, problem)
        assert in_pieces[1] == whole[1]
        np.testing.assert_allclose(in_pieces[0].w, whole[0].w, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_budget_that_ends_inside_a_step_changes_no_bit(loss, fit_intercept):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 40)) * np.logspace(0, 1, 40)
    y = np.sign(X[:, -1] + rng.standard_normal(80))
    problem = Problem(X, y, loss, lam=1e-3, fit_intercept=fit_intercept)
    whole, pieces = NewtonCG(1e-9), NewtonCG(1e-9, budget=0)  # a call makes one product then
    states = [method.start(problem) for method in (whole, pieces)]
    work = [whole.advance(states[0]), 0.0]
    while work[1] < work[0]:
        work[1] += pieces.advance(states[1])
    assert work[0] == work[1] and states[0].run.products > 5
    np.testing.assert_array_equal(states[0].w, states[1].w)


def test_conjugate_gradients_begin_again_where_it_was_not():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 20))
    for loss, lam in (("logistic", 1e-2), ("squared_hinge", 1e-4)):
        problem = Problem(X, np.sign(X[:, 0] + rng.standard_normal(80)), loss, lam=lam)
        state, models = one_step(problem, 1e-12), 0
        for _ in range(2):
            NewtonCG(1e-12, budget=0).advance(state)
            models += state.run.models
        assert models == 2
