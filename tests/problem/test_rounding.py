"""A certificate is a promise: the gap is not smaller than exact arithmetic makes it."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from exact_gaps import exact_gap, exact_softmax_gap, exact_times
from scipy import sparse

from primaldual import Problem, solve
from primaldual.data.exact import exact_products
from primaldual.data.matrix import Matrix
from primaldual.losses import LOSSES
from primaldual.multinomial import Multinomial, solve_multinomial


def scaled_problem(loss, seed, spread=12, fit_intercept=False, weights=False, n=40, d=9):
    """Columns in units that differ by up to 2·spread orders of magnitude."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-spread, spread, d)
    y = rng.standard_normal(n)
    if LOSSES[loss].classification:
        y = np.where(y > 0, 1.0, -1.0)
    elif LOSSES[loss]().targets != "any":
        y = np.exp(y)
    c = rng.integers(0, 3, n) + (np.arange(n) < 2) if weights else None
    lam = 10.0 ** rng.uniform(-10, 0)
    return Problem(X, y, loss, lam, sample_weight=c, fit_intercept=fit_intercept)


def understated(problem, proof):
    """By which factor exact arithmetic finds the gap larger; 0 if it is not."""
    if not proof.gap < math.inf:
        return 0.0
    exact = exact_gap(problem, proof.w, proof.alpha, proof.intercept)
    return float(exact.gap / mp.mpf(proof.gap)) if exact.gap > mp.mpf(proof.gap) else 0.0


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_no_gap_is_understated_whatever_the_units_of_the_features(loss, fit_intercept):
    for seed in range(4):
        problem = scaled_problem(loss, seed, fit_intercept=fit_intercept, weights=seed == 3)
        result = solve(problem, tol=1e-8, seed=0, max_passes=300)
        assert understated(problem, result.certificate) <= 1.01, seed


@pytest.mark.parametrize("loss", LOSSES)
def test_no_gap_of_any_pair_is_understated(loss):
    rng = np.random.default_rng(1)
    problem = scaled_problem(loss, 0, spread=8)
    best = solve(problem, tol=1e-10, seed=0, max_passes=300)
    for proof in (
        problem.certify(best.w),
        problem.certify(alpha=best.alpha),
        problem.certify(best.w * (1 + 1e-9 * rng.standard_normal(problem.d)), best.alpha),
        problem.certify(best.w, best.alpha * 0.999999),
    ):
        assert understated(problem, proof) <= 1.01


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_ordinary_data_needs_no_second_look(loss, monkeypatch):
    def refuse(*given):
        raise AssertionError("products were made in twice the precision")

    monkeypatch.setattr("primaldual.problem.certificate.exact_products", refuse)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 30)) * 10.0 ** rng.uniform(-2, 2, 30)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    for lam in (1e-5, 1e-2):
        assert solve(Problem(X, y, loss, lam), tol=1e-9, seed=0).converged


def test_a_gap_that_rounding_hides_is_found():
    """Two columns of 1e8 whose difference is what matters: plain sums lose the sign of z."""
    X = np.array([[1e8, 1e8 + 1], [1e8 + 1, 1e8]])
    w = np.array([1e9, -1e9])
    problem = Problem(X, [1.0, -1.0], "squared", lam=1e-30)
    alpha = problem.dual_point(np.array([-1e9, 1e9]))
    proof = problem.certify(w, alpha)
    exact = exact_gap(problem, w, alpha, 0.0)
    assert proof.gap == pytest.approx(float(exact.gap), rel=0.01)


@pytest.mark.parametrize("kind", ["dense", "columns", "csr", "csc", "ones", "float32"])
def test_products_in_twice_the_precision_are_rounded_about_once(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 20)) * 10.0 ** rng.uniform(-9, 9, (30, 20))
    X[rng.random((30, 20)) < 0.4] = 0.0
    if kind == "ones":
        X = (X != 0).astype(float)
    made = {
        "dense": X, "columns": np.asfortranarray(X), "float32": X.astype(np.float32),
        "csr": sparse.csr_array(X), "csc": sparse.csc_array(X), "ones": sparse.csr_array(X),
    }[kind]  # fmt: skip
    w, alpha = rng.standard_normal(20) * 1e3, rng.standard_normal(30)
    whole = sparse.csr_array(X.astype(np.float32).astype(float) if kind == "float32" else X)
    found = exact_products(Matrix(made), w, alpha)
    for (value, error), true in zip(
        found, (exact_times(whole, w), exact_times(sparse.csr_array(whole.T), alpha)), strict=True
    ):
        off = np.array([float(abs(mp.mpf(v) - t)) for v, t in zip(value, true, strict=True)])
        assert (off <= error).all()
        assert (error <= 4e-16 * np.abs(value) + 1e-20).all()


def test_the_gap_of_the_softmax_loss_is_not_understated():
    rng = np.random.default_rng(0)
    for seed in range(4):
        X = rng.standard_normal((30, 5)) * 10.0 ** rng.uniform(-9, 9, 5)
        y = rng.integers(0, 3, 30)
        problem = Multinomial(X, y, lam=1e-6, fit_intercept=seed % 2 == 1)
        proof = solve_multinomial(problem, tol=1e-8, max_passes=200, seed=0).certificate
        exact = exact_softmax_gap(problem, proof.w, proof.alpha, proof.intercept).gap
        assert exact <= 1.01 * mp.mpf(proof.gap)


def test_a_sum_that_a_free_intercept_multiplies_keeps_its_last_digits():
    """Σ_j α_j = 2^-70, which is lost beside 1 also in numbers of 80 bits."""
    alpha = np.array([1.0, 2.0**-70, -1.0])
    problem = Problem([[1.0], [0.0], [1.0]], [2.0, 1.0, 0.0], "squared", 1.0, fit_intercept=True)
    proof = problem.certify(np.zeros(1), alpha, 1.0)
    exact = exact_gap(problem, proof.w, alpha, 1.0)
    assert 0 < float(exact.gap) <= 1.01 * proof.gap


def test_the_rounding_of_a_dual_variable_divided_by_its_weight_is_counted():
    """α_j/c_j is next to 1 where the loss is straight: each digit that it loses is in the gap."""
    weights = np.array([1.0, 2.0, 2.0])  # scaled to 0.6 and 1.2
    problem = Problem(np.zeros((3, 1)), [-1.0, 1.0, 1.0], "hinge", 1.0, weights)
    ratios = []
    for steps in range(1, 6):
        alpha = problem.sample_weight * [0.0, 1.0, 1.0] * (1.0 - steps * 2.0**-53)
        for w in (0.0, 1.0):
            proof = problem.certify(np.array([w]), alpha)
            ratios.append(float(exact_gap(problem, proof.w, alpha, 0.0).gap / proof.gap))
    assert max(ratios) <= 1.01, ratios
