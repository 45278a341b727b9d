"""When the engine changes methods, and to which."""

from __future__ import annotations

import math

import numpy as np
import pytest
from engine_data import chain, counted

from primaldual import Problem, datasets, solve
from primaldual.engine import Auto, choose
from primaldual.engine.costs import Costs
from primaldual.engine.hand_over import UNPROVED_ROUNDS, successor, suits_features
from primaldual.methods import ENGINE


def methods(run):
    return [note.split(":")[0] for note in run.trace.notes]


def test_newton_gets_a_start_on_the_dual_where_that_helps():
    X = datasets.zipf_text(100, 8000, 20, seed=0)
    problem = Problem(X, datasets.labels(X, noise=0.2, seed=1), lam=0.2 / 8000)
    assert choose(problem).method == "newton" and Costs(problem).dual_bound < 10
    run = solve(problem, tol=1e-9, seed=0)
    planned, begun = run.trace.notes
    assert planned.startswith("newton: ") and "a few epochs of dual_cd" in planned
    assert begun.startswith("newton: ") and "dual_cd would need" in begun
    assert run.converged


def test_a_start_may_be_all_that_is_needed():
    X = datasets.zipf_text(200, 20_000, 20, seed=0)
    y = np.sign(X @ np.random.default_rng(1).standard_normal(200))
    run = solve(Problem(X, y, lam=1e-3), tol=1e-2, seed=0)
    assert run.converged and set(run.trace.methods) == {"dual_cd"}


def test_truncated_newton_is_given_up_where_features_are_alike():
    X, y = chain(3000, 600, rho=0.99)
    problem = Problem(X, y, loss="squared_hinge", lam=1e-6)
    assert choose(problem).method == "newton_cg"
    run = solve(problem, tol=1e-8, seed=0)
    assert run.converged
    assert len(run.trace.notes) == 2 and "too alike" in run.trace.notes[1]


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_slow_dual_with_many_inactive_examples_goes_on_with_the_others(fit_intercept):
    X, y = counted(2500, 5000)
    problem = Problem(X, y, loss="squared_hinge", lam=0.1 / 2500, fit_intercept=fit_intercept)
    run = solve(problem, tol=1e-9, seed=0)
    assert run.converged
    assert [note.split(":")[0] for note in run.trace.notes] == ["dual_cd", "ssnal"]
    alone = solve(problem, "gram_newton", tol=1e-9, max_passes=math.inf)
    assert alone.converged
    np.testing.assert_allclose(run.w, alone.w, atol=2e-3)  # what a gap of 1e-9 P(0) allows


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_estimates_that_no_certificate_confirms_are_left_to_newton(loss):
    """A free intercept may be off, which is not in the gap that descent estimates."""
    X, y = counted(600, 1200)
    problem = Problem(X, y, loss=loss, lam=1 / 600, fit_intercept=True)
    state = Auto(1e-6, first="dual_cd").start(problem)
    state.gaps = [1e-9] * UNPROVED_ROUNDS
    state.unproved = UNPROVED_ROUNDS - 1
    assert successor(state, 1e-6) is None
    state.unproved = UNPROVED_ROUNDS
    name, why = successor(state, 1e-6)
    assert not ENGINE[name].descends and "is not proved" in why


@pytest.mark.parametrize("side", ["primal", "dual"])
@pytest.mark.parametrize(("loss", "lam_n"), [("logistic", 1e-3), ("squared", 0.1)])
def test_slow_descent_on_one_side_is_left_for_a_method_of_that_side(side, loss, lam_n):
    X, y = counted(400, 300)
    problem = Problem(X, y, loss=loss, lam=lam_n / 400)
    method = Auto(1e-9, side, first=f"{side}_cd")
    run = solve(problem, method, tol=1e-9, max_passes=1e5, seed=0)
    assert run.converged and len(methods(run)) > 1
    assert {ENGINE[name].side for name in methods(run)} == {side}


def test_fast_descent_is_not_left():
    X = datasets.zipf_text(8000, 2000, 20, seed=0)
    run = solve(Problem(X, datasets.labels(X, noise=0.1, seed=1), lam=1 / 2000), seed=0)
    assert run.converged and methods(run) == ["dual_cd"]


@pytest.mark.parametrize(
    ("loss", "lam_n", "suits"),
    [("squared", 100.0, True), ("squared", 1e-3, False), ("logistic", 100.0, False)],
)
def test_conjugate_gradients_suit_the_features_where_much_of_the_loss_is_left(loss, lam_n, suits):
    X, _ = counted(300, 900)
    y = np.where(np.random.default_rng(1).random(300) < 0.5, 1.0, -1.0)  # nothing explains them
    auto = Auto(1e-6, first="dual_cd")
    state = auto.start(Problem(X, y, loss=loss, lam=lam_n / 300), rng=np.random.default_rng(0))
    for _ in range(5):
        state.method.advance(state.inner, None)
    assert suits_features(state) == suits


@pytest.mark.parametrize(("fall", "is_priced"), [(0.1, False), (0.9, True)])
def test_other_methods_are_priced_only_for_more_than_a_millisecond(fall, is_priced):
    X = datasets.zipf_text(2000, 5000, 40, seed=0)
    problem = Problem(X, datasets.labels(X, noise=0.1, seed=1), lam=1 / 5000)
    state = Auto(1e-6, first="dual_cd").start(problem)
    state.gaps = [2e-6 * problem.primal_at_zero * fall**-k for k in reversed(range(8))]
    asked = []
    newton = state.costs.newton
    state.costs.newton = lambda *most: asked.append(most) or newton(*most)
    successor(state, 1e-6)
    assert bool(asked) == is_priced
