"""Which method a solve starts with."""

from __future__ import annotations

import numpy as np
import pytest
from engine_data import tall

from primaldual import Problem, advise, datasets, solve
from primaldual.engine import Auto, choose
from primaldual.methods import ENGINE


def dense(n, d):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), np.sign(rng.standard_normal(n))


def text(d, n):
    X = datasets.zipf_text(d, n, 20, seed=0)
    return X, datasets.labels(X, noise=0.1, seed=1)


KNOWN = {
    "few features and few examples": (dense(500, 10), "logistic", "newton"),
    "text with n < d": (text(8000, 2000), "logistic", "dual_cd"),
    "text with n ≥ d": (text(3000, 30_000), "logistic", "newton_cg"),
    "the same, one Newton step": (text(3000, 30_000), "squared", "newton_cg"),
    "few dense examples": (dense(50, 20_000), "squared", "gram_newton"),
    "features that hardly overlap": (dense(20_000, 100), "logistic", "newton_cg"),
    "kinks and few features": (dense(500, 10), "hinge", "ssnal"),
    "kinks and n < d": (text(8000, 2000), "hinge", "dual_cd"),
}
kinds = pytest.mark.parametrize("kind", KNOWN)


def problem_of(kind):
    (X, y), loss, expected = KNOWN[kind]
    return Problem(X, y, loss=loss, lam=1 / len(y)), expected


@kinds
def test_a_characteristic_problem_gets_its_method(kind):
    problem, expected = problem_of(kind)
    choice = choose(problem)
    assert choice.method == expected and choice.why
    assert choice.side == ENGINE[expected].side
    assert 0 < choice.seconds < 10


@kinds
def test_solve_and_advise_start_with_what_is_chosen(kind):
    problem, expected = problem_of(kind)
    run = solve(problem, max_passes=1, seed=0)
    assert run.trace.notes[0].startswith(f"{expected}: ")
    assert advise(problem).verdict.method == expected


@pytest.mark.parametrize("side", ["primal", "dual"])
@kinds
def test_one_side_is_kept_to(kind, side):
    problem, _ = problem_of(kind)
    if side == "primal" and not problem.is_smooth:
        with pytest.raises(ValueError, match=r"'hinge'.*kinks"):
            choose(problem, side=side)
        return
    choice = choose(problem, side=side)
    assert choice.side == side
    run = solve(problem, Auto(1e-6, side), max_passes=1, seed=0)
    assert run.trace.notes[0].startswith(f"{choice.method}: ")


def test_a_few_examples_on_the_dual_are_solved_before_max_iter_is_used_up():
    """Each four times, features far from 0: coordinate descent needs thousands of short epochs."""
    X = np.repeat([[1.0, 3.0], [2.0, 1.0], [3.0, 3.0], [4.0, 1.0]], 4, axis=0)
    y = np.repeat([-0.5, 0.5, -0.5, 0.5], 4)
    problem = Problem(X, y, "squared", 1 / 32, fit_intercept=True)
    for tol in (1e-6, 1e-12):
        run = solve(problem, side="dual", tol=tol, max_iter=1000)
        assert run.converged and run.side == "dual"


def test_a_warm_start_is_for_newton_where_two_steps_cost_little():
    X, y = tall(20_000, 60, 0.2)
    problem = Problem(X, y, lam=1e-4)
    assert choose(problem, warm=True).method == "newton"
    wide = Problem(*text(8000, 2000), lam=1 / 2000)
    assert choose(wide, warm=True).method == choose(wide).method == "dual_cd"


def test_full_sparse_data_is_judged_as_the_dense_data_it_becomes():
    from scipy import sparse

    X, y = dense(500, 10)
    problem = Problem(sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)), y, lam=1e-2)
    assert choose(problem).method == "newton"
    assert solve(problem, seed=0).trace.notes[0].startswith("newton: ")


def test_a_method_to_start_with_can_be_named():
    problem = Problem(*text(900, 300), lam=1e-3)
    run = solve(problem, Auto(1e-6, first="gram_newton"), seed=0)
    assert run.converged and run.trace.notes[0].startswith("gram_newton: ")
