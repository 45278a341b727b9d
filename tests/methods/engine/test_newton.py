"""Newton's method for few features, by LAPACK and compiled."""

from __future__ import annotations

import numpy as np
import pytest

from primaldual import Problem, solve
from primaldual.methods.engine.newton import Newton
from primaldual.methods.engine.second_order import (
    is_small,
)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_compiled_run_of_newton_steps_is_newtons_method(loss, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 7))
    y = np.sign(X @ rng.standard_normal(7) + rng.standard_normal(120))
    problem = Problem(X, y, loss=loss, lam=1e-3, fit_intercept=fit_intercept)
    assert is_small(problem)
    compiled = solve(problem, Newton(), tol=1e-11)
    stepwise = solve(problem, Newton(compiled=False), tol=1e-11)
    assert compiled.converged and stepwise.converged
    np.testing.assert_allclose(compiled.w, stepwise.w, atol=1e-7)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_only_step_on_the_squared_loss_is_the_same_by_example_and_by_feature(
    fit_intercept, weighted
):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2500, 6)) + 1.0  # two whole blocks of examples and a part of one
    y = X @ rng.standard_normal(6) + rng.standard_normal(2500)
    weights = rng.random(2500) if weighted else None
    found = []
    for order in ("C", "F"):
        problem = Problem(
            np.asarray(X, order=order), y, "squared", 1e-3, weights, fit_intercept=fit_intercept
        )
        assert (problem.matrix.stored_by == "feature") == (order == "F")
        found.append(solve(problem, "newton", tol=1e-12))
        assert found[-1].converged
        again = solve(problem, "newton", tol=1e-12, start=(found[-1].w + 1.0, None))
        np.testing.assert_allclose(again.w, found[-1].w, rtol=1e-9)
    np.testing.assert_allclose(found[0].w, found[1].w, rtol=1e-9)
    assert found[0].intercept == pytest.approx(found[1].intercept, rel=1e-9)


def test_newton_goes_on_from_its_only_step_when_the_features_have_been_stored_meanwhile():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    problem = Problem(X, X @ rng.standard_normal(4), loss="squared", lam=1e-3)
    method = Newton()
    state = method.start(problem)
    method.advance(state)
    first = state.w.copy()
    problem.matrix.by_feature  # noqa: B018  as a callback may do
    method.advance(state)
    np.testing.assert_allclose(state.w, first, rtol=1e-12)


def test_newton_stops_at_the_accuracy_it_is_told():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    problem = Problem(X, np.sign(X[:, 0] + rng.standard_normal(200)), lam=1e-3)
    rough, fine = Newton(1e-2), Newton(1e-12)
    work = [method.advance(method.start(problem)) for method in (rough, fine)]
    assert work[0] < work[1]


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_second_step_on_the_squared_loss_proves_what_the_first_could_not(order):
    """α from the margins carries their rounding errors times 1e9; that of a step does not."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    X[:, 1] = 1.7e9 + 1e5 * rng.random(40)  # a time in seconds
    problem = Problem(
        np.asarray(X, order=order), X[:, 0] + rng.standard_normal(40), "squared", 1e-3,
        fit_intercept=True,
    )  # fmt: skip
    result = solve(problem, "newton", tol=1e-10)
    assert result.converged and len(result.trace) == 2


def test_newton_goes_on_by_lapack_where_no_compiled_step_can_be_made():
    rng = np.random.default_rng(0)
    X = np.c_[X0 := rng.standard_normal((60, 3)), X0]  # the same features twice: singular
    problem = Problem(X, np.sign(X[:, 0] + rng.standard_normal(60)), lam=1e-17)
    result = solve(problem, Newton(1e-6, compiled=True), tol=1e-6)
    assert result.converged
