"""What a solve returns when it has to end early: in time, and never worse than nothing."""

from __future__ import annotations

import time

import numpy as np
import pytest

from primaldual import Problem, Status, solve
from primaldual._threads import using
from primaldual.methods import METHODS
from primaldual.methods.base import Method
from primaldual.methods.engine.gram_newton import GramNewton
from primaldual.multinomial import Multinomial, solve_multinomial

# Methods whose rounds contain a Hessian, a Gram matrix, a factorisation or many products.
LONG_ROUNDS = ["newton", "gram_newton", "gram_newton_cg", "newton_cg", "ssnal"]


def problem_of(n, d, loss="logistic", lam=1e-3, fit_intercept=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return Problem(X, y, loss, lam, fit_intercept=fit_intercept)


class Runaway(Method):
    """A method that goes uphill, or where numbers end."""

    side = "primal"
    free_intercept = True

    def __init__(self, value):
        self.value = value

    def start(self, problem, sampling=None, w=None, alpha=None, rng=None):
        return problem

    def advance(self, state, draws=None):
        return float(state.matrix.nnz)

    def iterate(self, state):
        return np.full(state.d, self.value), None


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("value", [10.0, 1e200, np.inf, np.nan])
def test_a_result_is_never_worse_than_zero(value, fit_intercept):
    problem = problem_of(30, 4, fit_intercept=fit_intercept)
    result = solve(problem, Runaway(value), max_passes=3)
    nothing = problem.certify(np.zeros(problem.d))
    assert not result.converged
    assert result.certificate.primal <= nothing.primal
    assert np.isfinite(result.w).all() and result.certificate.gap <= nothing.gap
    assert result.certificate.relative_gap <= 1.0 + 1e-12, "α = 0 proves P* ≥ 0"


@pytest.mark.parametrize("half", ["w", "alpha", "both"])
def test_a_result_is_never_worse_than_the_start(half):
    problem = problem_of(30, 4)
    good = solve(problem, tol=1e-9)
    start = (good.w if half != "alpha" else None, good.alpha if half != "w" else None)
    result = solve(problem, Runaway(10.0), tol=0.0, max_passes=3, start=start)
    assert result.certificate.relative_gap <= 1e-8


KINDS = [(name, "logistic") for name in ["auto", *METHODS]]
KINDS += [(name, "hinge") for name in METHODS if not METHODS[name].smooth_only]


@pytest.mark.parametrize(("name", "loss"), KINDS)
def test_no_method_returns_less_than_nothing_after_no_time(name, loss):
    problem = problem_of(40, 30, loss, lam=1e-8)
    for limits in ({"max_time": 0.0}, {"max_passes": 1}, {"max_iter": 1}):
        result = solve(problem, name, tol=1e-12, seed=0, **limits)
        assert result.certificate.primal <= problem.primal_at_zero
        assert result.certificate.relative_gap <= 1.0 + 1e-12


@pytest.fixture(scope="module")
def long_problem():
    """A Hessian, or a Gram matrix and its factor, takes more than a second of this one."""
    return problem_of(2600, 2500, lam=1e-6)


@pytest.mark.parametrize("name", LONG_ROUNDS)
def test_max_time_is_kept_inside_a_round(long_problem, name):
    for part in (None, 1024):  # compile, also what threads share
        with using(part=part):
            solve(problem_of(200, 180), name, tol=1e-12, max_passes=2)
    began = time.process_time()  # of this process alone: other ones may keep the machine busy
    result = solve(long_problem, name, tol=1e-13, max_passes=1e9, max_time=0.2, seed=0)
    assert time.process_time() - began <= 0.4
    assert result.converged or result.status is Status.MAX_TIME
    assert result.certificate.primal <= long_problem.primal_at_zero
    assert np.isfinite(result.certificate.gap)


def test_max_time_is_kept_by_the_softmax_methods():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6000, 400)), rng.integers(0, 6, 6000)
    for side in ("primal", "dual"):
        solve_multinomial(Multinomial(X[:300], y[:300], lam=1e-3), max_passes=2, side=side)
        problem = Multinomial(X, y, lam=1e-6)
        began = time.process_time()
        result = solve_multinomial(problem, tol=1e-13, max_passes=1e9, max_time=0.2, side=side)
        assert time.process_time() - began <= 0.5
        assert result.certificate.primal <= problem.primal_at_zero


def test_ctrl_c_inside_the_start_of_a_method_returns_a_result(monkeypatch):
    def interrupt(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(GramNewton, "start", interrupt)
    problem = problem_of(30, 4)
    try:
        result = solve(problem, "gram_newton")
        warm = solve(problem, "gram_newton", start=solve(problem, "newton", tol=1e-9), tol=0.0)
    except KeyboardInterrupt:  # would end the whole test session
        pytest.fail("solve let KeyboardInterrupt through")
    assert result.status is Status.INTERRUPTED and result.passes == 0
    assert not result.w.any() and np.isfinite(result.certificate.gap)
    assert warm.certificate.relative_gap <= 1e-8, "what it started from is kept"
    assert "Interrupted" in str(result)


def test_ctrl_c_while_another_method_takes_over_keeps_the_iterate(monkeypatch):
    def interrupt(*given, **named):
        raise KeyboardInterrupt

    for kind in {METHODS[name] for name in LONG_ROUNDS}:
        monkeypatch.setattr(kind, "start", interrupt)
    problem = problem_of(400, 60, lam=1e-9)
    try:
        result = solve(problem, tol=1e-12, side="dual", seed=0)
    except KeyboardInterrupt:
        pytest.fail("solve let KeyboardInterrupt through")
    assert result.certificate.primal <= problem.primal_at_zero


@pytest.mark.parametrize("method", ["svrg", "prox_svrg", "s2gd", "s2cd"])
@pytest.mark.parametrize(("scale", "lam"), [(1e8, 1e-12), (1e12, 1e6)])
def test_extreme_conditioning_ends_in_a_status_not_in_an_overflow(method, scale, lam):
    problem = problem_of(30, 4)
    X = problem.matrix.stored.values * np.array([1.0, scale, 1.0, 1.0 / scale])
    hard = Problem(X, problem.y, "logistic", lam)
    result = solve(hard, method, max_passes=5, seed=0)
    assert result.certificate.primal <= hard.primal_at_zero


@pytest.mark.parametrize("method", ["auto", "dual_cd"])
@pytest.mark.parametrize("scale", [1e154, 1e200])
def test_entries_whose_squares_overflow_end_in_a_status(method, scale):
    problem = problem_of(30, 4)
    X = scale * problem.matrix.stored.values
    hard = Problem(X, problem.y, "logistic", 0.01, fit_intercept=True)
    with pytest.raises(ValueError, match="Scale the data"):
        solve(hard, "quartz")
    result = solve(hard, method, max_passes=20, seed=0)
    assert result.certificate.primal <= hard.primal_at_zero


@pytest.mark.parametrize(
    ("n", "d", "loss"), [(314, 190, "modified_huber"), (349, 285, "squared_hinge")]
)
@pytest.mark.parametrize("method", ["newton", "gram_newton", "ssnal"])
def test_the_default_limit_does_not_end_newtons_method_on_its_way(method, n, d, loss):
    problem = problem_of(n, d, loss, lam=1e-7, fit_intercept=True)
    result = solve(problem, method, tol=1e-9, seed=0)
    assert result.status is not Status.MAX_PASSES
    assert result.passes < 500 and np.isfinite(result.certificate.gap)
