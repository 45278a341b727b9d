"""Poisson and gamma: losses of a mean exp(z), smooth without a β, on both sides and certified."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from oracles import dense_data, scipy_optimum
from scipy import sparse
from sklearn import linear_model
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance

from primaldual import METHODS, Problem, advise, solve
from primaldual.losses import Gamma, Poisson, loss_dual_step, loss_quick_step
from primaldual.losses.numerical import search_conjugate, search_dual_step
from primaldual.methods.base import takes_loss

LOSSES = {"poisson": (Poisson(), (0.0, 0.3, 1.0, 40.0)), "gamma": (Gamma(), (0.01, 1.0, 40.0))}
METRICS = {"poisson": mean_poisson_deviance, "gamma": mean_gamma_deviance}
every_loss = pytest.mark.parametrize("name", LOSSES)


def domain(name, y):
    return (-math.inf, y) if name == "poisson" else (-1.0, math.inf)


def draws(name, count, seed=0):
    """Random (a, z, y, κ) with a in the domain."""
    rng = np.random.default_rng(seed)
    loss, targets = LOSSES[name]
    for _ in range(count):
        y = float(rng.choice(targets))
        inside = float(rng.exponential() * 10 ** rng.uniform(-6, 1))
        a = y - inside if name == "poisson" else inside - 1.0
        yield loss, a, float(3 * rng.normal()), y, float(10 ** rng.uniform(-5, 5))


def drawn_problem(name, seed, n=40, d=6, as_sparse=False, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    mean = np.exp(np.clip(X @ rng.standard_normal(d), -3, 3))
    y = rng.poisson(mean) if name == "poisson" else rng.gamma(2.0, mean) + 1e-9
    return Problem(sparse.csr_array(X) if as_sparse else X, y, name, **options)


@every_loss
def test_the_loss_is_half_of_the_deviance_of_scikit_learn(name):
    loss, targets = LOSSES[name]
    for y, z in itertools.product(targets, (-2.0, 0.0, 0.7, 3.0)):
        half = 0.5 * METRICS[name]([y], [math.exp(z)])
        assert loss.value(z, y) == pytest.approx(half, rel=1e-13, abs=1e-15)


@every_loss
def test_derivatives_and_conjugate_are_those_of_the_value(name):
    for loss, a, z, y, _ in draws(name, 60):
        with mp.workdps(40):
            Y, A, m = mp.mpf(y), mp.mpf(a), mp.exp(mp.mpf(z))
            if name == "poisson":
                first, second, q = m - Y, m, Y - A
                entropy = (Y * mp.log(Y) if y else 0) - Y
                conjugate = (q * mp.log(q) if q else 0) - q - entropy
                value = m - Y * mp.mpf(z) + entropy
            else:
                first, second, p = 1 - Y / m, Y / m, 1 + A
                value = mp.mpf(z) + Y / m - mp.log(Y) - 1
                conjugate = (p * mp.log(p) if p else 0) - A * (1 + mp.log(Y))
            gap = value + conjugate + A * mp.mpf(z)
            slack = 1e-13 * float(abs(value) + abs(conjugate) + abs(A * z) + 1 + y)
            assert abs(loss.value(z, y) - float(value)) <= slack
            assert abs(loss.derivative(z, y) - float(first)) <= slack
            assert loss.second_derivative(z, y) == pytest.approx(float(second), rel=1e-14)
            assert abs(loss.conjugate(a, y) - float(conjugate)) <= slack
            found, searched = loss.value_and_gap(z, a, y)[1], search_conjugate(loss, a, y)
            assert abs(found - float(gap)) <= slack
            assert searched >= float(conjugate) - 1e-9 * (1 + abs(float(conjugate)))


@every_loss
def test_the_gap_keeps_its_digits_near_the_optimum(name):
    loss, targets = LOSSES[name]
    for y, z, part in itertools.product((t for t in targets if t), (-3.0, 0.2, 2.0), (1e-3, 1e-6)):
        own = loss.second_derivative(z, y)
        a = -loss.derivative(z, y) + part * own
        with mp.workdps(50):
            p = mp.mpf(y) - mp.mpf(a) if name == "poisson" else 1 + mp.mpf(a)
            q = mp.exp(mp.mpf(z)) if name == "poisson" else mp.mpf(y) * mp.exp(-mp.mpf(z))
            exact = float(p * mp.log(p / q) - p + q)
        lost = 4e-16 * (1.0 + y + own) / (part * own)
        assert loss.value_and_gap(z, a, y)[1] == pytest.approx(exact, rel=1e-9 + 3 * lost)


@every_loss
def test_dual_steps_solve_the_one_dimensional_problem(name):
    for loss, a, z, y, kappa in draws(name, 200, seed=1):
        step = loss_dual_step(loss, a, z, y, kappa)
        zeta = z + kappa * step
        size = 1.0 + abs(a) + abs(step) + y
        size += loss.second_derivative(zeta, y) * (1.0 + abs(z) + abs(zeta) + kappa * abs(a))
        assert abs(a + step + loss.derivative(zeta, y)) <= 2e-14 * size
        low, high = domain(name, y)
        assert low <= a + step <= high
        assert step == pytest.approx(search_dual_step(loss, a, z, y, kappa), rel=1e-6, abs=1e-9)
        slopes = loss.derivative(z, y), loss.second_derivative(z, y)
        quick = loss_quick_step(loss, a, z, y, kappa, *slopes)
        assert quick == pytest.approx(step, rel=0.02, abs=1e-11)


@every_loss
def test_far_out_nothing_is_lost_but_digits(name):
    loss, targets = LOSSES[name]
    for y, z in itertools.product(targets, (-1e5, -800.0, 800.0, 1e5)):
        value, gap = loss.value_and_gap(z, 0.0, y)
        assert value >= 0.0 and gap >= 0.0
        for kappa in (0.0, 1e-12, 1.0, 1e12):
            step = loss.dual_step(0.0, z, y, kappa)
            low, high = domain(name, y)
            assert low <= step <= high


@every_loss
def test_targets_outside_the_domain_are_refused(name):
    bad = -1.0 if name == "poisson" else 0.0
    with pytest.raises(ValueError, match=f"must be (nonnegative|positive) for loss '{name}'"):
        Problem(np.eye(3), [1.0, 2.0, bad], name)


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@every_loss
def test_every_able_method_finds_the_optimum_of_scipy(name, as_sparse):
    for fit_intercept, weights in ((False, None), (True, 1.0 + np.arange(40) % 3)):
        problem = drawn_problem(
            name, 1, as_sparse=as_sparse, lam=0.1, fit_intercept=fit_intercept,
            sample_weight=weights,
        )  # fmt: skip
        w, intercept, value = scipy_optimum(problem)
        able = [m for m, kind in METHODS.items() if takes_loss(kind, problem)]
        assert {"newton", "newton_cg", "gram_newton", "dual_cd", "primal_cd"} <= set(able)
        for method in ("auto", *able):
            result = solve(problem, method, tol=1e-13, max_passes=5000, seed=0)
            assert result.certificate.relative_gap <= 1e-12, (method, result)
            assert result.certificate.primal == pytest.approx(value, abs=1e-9)
            np.testing.assert_allclose(result.w, w, atol=2e-6)
            assert result.intercept == pytest.approx(intercept, abs=2e-6)


@every_loss
def test_both_sides_agree_to_eight_digits(name):
    for seed in range(3):
        problem = drawn_problem(name, seed, lam=0.02, fit_intercept=True)
        primal, dual = (solve(problem, m, tol=1e-17, seed=0) for m in ("newton", "gram_newton"))
        np.testing.assert_allclose(primal.w, dual.w, rtol=0, atol=1e-8)
        assert primal.intercept == pytest.approx(dual.intercept, abs=1e-8)


@every_loss
def test_no_gap_is_understated_in_high_precision(name):
    """At early, middle and late iterates of 30 random problems in all."""
    for seed in range(30):
        problem = drawn_problem(name, seed, n=12, d=3, lam=10.0 ** -(seed % 4))
        result = solve(problem, tol=10.0 ** -(1 + seed % 14), seed=0)
        assert exact_gap(name, problem, result) <= result.certificate.gap * (1 + 1e-9)


def exact_gap(name, problem, result):
    """P(w) − D(α) by their definitions, with 50 digits."""
    X, n, lam = dense_data(problem), problem.n, mp.mpf(problem.lam)
    with mp.workdps(50):
        w = [mp.mpf(float(v)) for v in result.w]
        alpha = [mp.mpf(float(v)) for v in result.alpha]
        total = mp.mpf(0)
        for j in range(n):
            y, a = mp.mpf(float(problem.y[j])), alpha[j]
            z = mp.fsum(mp.mpf(float(x)) * v for x, v in zip(X[j], w, strict=True))
            if name == "poisson":
                q = y - a
                assert q >= 0
                total += mp.exp(z) - y * z + (q * mp.log(q) if q else 0) - q
            else:
                p = 1 + a
                assert p >= 0
                total += z + y * mp.exp(-z) + (p * mp.log(p) if p else 0) - p - p * mp.log(y)
        made = [
            mp.fsum(mp.mpf(float(X[j, i])) * alpha[j] for j in range(n)) / (lam * n)
            for i in range(problem.d)
        ]
        squares = mp.fsum(v * v for v in w) + mp.fsum(v * v for v in made)
        return float(total / n + lam / 2 * squares)


def test_the_theory_has_no_bounds_and_says_so():
    problem = drawn_problem("poisson", 0, lam=0.1)
    theory = advise(problem).theory
    assert theory.primal.total == theory.dual.total == math.inf
    assert "φ'' without a bound" in theory.reason
    with pytest.raises(ValueError, match="needs a bound β of φ''"):
        solve(problem, "nsync")


@pytest.mark.parametrize("shift", [0.0, 25.0])
def test_large_means_and_steps_that_overflow_are_survived(shift):
    """Features with a long tail: a full Newton step from zero has a mean beyond 1e308."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4)) * np.array([1.0, 1.0, 30.0, 1000.0])
    mean = np.exp(np.clip(X[:, 0] + X[:, 3] / 1000, -6, 6) + shift)
    problem = Problem(X, rng.poisson(mean), "poisson", lam=1e-4, fit_intercept=True)
    assert solve(problem, tol=1e-8, seed=0).converged


@pytest.mark.parametrize("kind", ["PoissonRegressor", "GammaRegressor"])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_the_estimators_are_those_of_scikit_learn(kind, alpha):
    import primaldual

    name = kind.removesuffix("Regressor").lower()
    problem = drawn_problem(name, 3, n=200, lam=1.0)
    X, y = dense_data(problem), problem.y
    weights = 0.5 + np.arange(len(y)) % 3
    theirs = getattr(linear_model, kind)(alpha=alpha, solver="newton-cholesky", tol=1e-10)
    theirs.fit(X, y, weights)
    ours = getattr(primaldual, kind)(alpha=alpha, tol=1e-12).fit(X, y, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)
    assert ours.score(X, y, weights) == pytest.approx(theirs.score(X, y, weights), abs=1e-8)
    np.testing.assert_allclose(ours.to_sklearn().predict(X), ours.predict(X), rtol=1e-14)
    assert ours.to_sklearn().score(X, y) == pytest.approx(ours.score(X, y))
