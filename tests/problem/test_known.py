"""Offsets, a prior and a penalty per feature: against the definition, on both sides, certified."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from primaldual import Problem, solve
from primaldual.checkpoints import checkpointing
from primaldual.losses import LOSSES
from primaldual.losses.custom import as_loss

SOME = ["squared", "logistic", "poisson"]


def drawn(name, seed=0, n=40, d=5):
    """Data, targets, and everything that may be known."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    z = X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n)
    kind = LOSSES[name]()
    y = np.where(z > 0, 1.0, -1.0) if kind.classification else z
    if kind.targets != "any":
        y = np.exp(np.clip(z, -3, 3))
    known = {
        "offset": 0.7 * rng.standard_normal(n),
        "prior": 0.3 * rng.standard_normal(d),
        "penalty": rng.uniform(0.2, 5.0, d),
    }
    return X, y, rng.uniform(0.5, 2.0, n), known


def objective(name, X, y, c, lam, known, theta):
    """P by its definition, at w and b."""
    loss, w, b = as_loss(name), theta[:-1], theta[-1]
    z = X @ w + b + known.get("offset", 0.0)
    mean = sum(s * loss.value(a, t) for s, a, t in zip(c, z, y, strict=True)) / c.sum()
    move = w - known.get("prior", 0.0)
    return mean + 0.5 * lam * float(np.sum(known.get("penalty", 1.0) * move**2))


@pytest.mark.parametrize(
    ("name", "as_sparse"), [(name, False) for name in SOME] + [("logistic", True), ("gamma", False)]
)
def test_the_optimum_is_that_of_the_definition(name, as_sparse):
    X, y, c, known = drawn(name)
    lam = 0.1
    data = sparse.csr_array(X) if as_sparse else X
    problem = Problem(data, y, name, lam, c, True, **known)
    result = solve(problem, tol=1e-13, seed=0)
    assert result.certificate.relative_gap <= 1e-12
    theta = np.append(result.w, result.intercept)
    value = objective(name, X, y, c, lam, known, theta)
    assert result.certificate.primal == pytest.approx(value, rel=1e-11)
    assert problem.primal(result.w, result.intercept) == pytest.approx(value, rel=1e-11)
    found = minimize(
        lambda at: objective(name, X, y, c, lam, known, at), np.append(known["prior"], 0.0),
        method="BFGS", options={"gtol": 1e-7},
    )  # fmt: skip
    assert value <= found.fun + 1e-10
    np.testing.assert_allclose(theta, found.x, atol=1e-4)


@pytest.mark.parametrize("name", SOME)
def test_both_sides_agree_to_eight_digits(name):
    X, y, c, known = drawn(name, 1)
    problem = Problem(X, y, name, 0.5, c, True, **known)
    primal, dual = (solve(problem, m, tol=1e-17, seed=0) for m in ("newton", "gram_newton"))
    descent = solve(problem, "dual_cd", tol=1e-12, seed=0, max_passes=5000)
    np.testing.assert_allclose(primal.w, dual.w, rtol=0, atol=1e-8)
    np.testing.assert_allclose(primal.w, descent.w, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["squared", "logistic", "poisson"])
@pytest.mark.parametrize("what", ["offset", "prior", "penalty"])
def test_each_alone_is_what_it_says(name, what):
    X, y, c, known = drawn(name, 2)
    one = {what: known[what]}
    result = solve(Problem(X, y, name, 0.1, c, True, **one), tol=1e-13, seed=0)
    theta = np.append(result.w, result.intercept)
    best = objective(name, X, y, c, 0.1, one, theta)
    rng = np.random.default_rng(0)
    for _ in range(20):
        near = theta + 1e-3 * rng.standard_normal(theta.size)
        assert objective(name, X, y, c, 0.1, one, near) >= best


def test_a_prior_at_the_optimum_is_the_optimum():
    X, y, c, _ = drawn("logistic", 3)
    once = solve(Problem(X, y, lam=0.1, sample_weight=c), tol=1e-13)
    strong = Problem(X, y, lam=1e6, sample_weight=c, prior=once.w)
    np.testing.assert_allclose(solve(strong, tol=1e-13).w, once.w, atol=1e-6)


@pytest.mark.parametrize("name", ["squared", "pinball"])
def test_a_penalty_is_a_scale_of_the_columns(name):
    X, y, c, known = drawn(name, 4)
    p = known["penalty"]
    ours = solve(Problem(X, y, name, 0.1, c, penalty=p), tol=1e-10)
    other = solve(Problem(X / np.sqrt(p), y, name, 0.1, c), tol=1e-10)
    np.testing.assert_allclose(ours.w, other.w / np.sqrt(p), atol=1e-4)
    assert ours.certificate.primal == pytest.approx(other.certificate.primal, abs=1e-8)


@pytest.mark.parametrize("name", ["squared", "logistic", "poisson"])
def test_no_gap_is_understated_in_high_precision(name):
    """P(w) − D(α) by its definition, from the data as it was given; 30 problems in all."""
    for seed in range(10):
        X, y, c, known = drawn(name, 10 + seed, n=10, d=3)
        problem = Problem(X, y, name, 0.1, c, **known)
        result = solve(problem, tol=10.0 ** -(1 + seed), seed=0)
        gap = exact_gap(name, X, y, c / c.mean(), 0.1, known, result)
        assert gap <= result.certificate.gap * (1 + 1e-9) + 1e-18


def exact_gap(name, X, y, c, lam, known, result):
    n, d = X.shape

    def number(value):
        return mp.mpf(float(value))

    with mp.workdps(50):
        w = [number(v) for v in result.w]
        alpha = [number(v) for v in result.alpha]
        prior, p = [[number(v) for v in known[key]] for key in ("prior", "penalty")]
        total = mp.mpf(0)
        for j in range(n):
            s, a, t = number(c[j]), alpha[j] / number(c[j]), number(y[j])
            z = mp.fsum(number(X[j, i]) * w[i] for i in range(d)) + number(known["offset"][j])
            if name == "squared":
                value, conjugate = (z - t) ** 2 / 2, a**2 / 2 - a * t
            elif name == "poisson":
                q = t - a
                value = mp.exp(z) - t * z
                conjugate = (q * mp.log(q) if q else 0) - q
            else:
                q = t * a
                value = mp.log1p(mp.exp(-t * z))
                conjugate = mp.fsum(v * mp.log(v) for v in (q, 1 - q) if v > 0)
            total += s * (value + conjugate + a * z)
        squares = mp.mpf(0)
        for i in range(d):
            made = mp.fsum(number(X[j, i]) * alpha[j] for j in range(n)) / (number(lam) * n * p[i])
            squares += p[i] * (w[i] - prior[i] - made) ** 2
        return float(total / n + number(lam) / 2 * squares)


def test_a_start_a_callback_and_a_checkpoint_speak_of_the_users_coefficients(tmp_path):
    X, y, c, known = drawn("logistic", 5)
    problem = Problem(X, y, "logistic", 0.1, c, True, **known)
    seen = []
    result = solve(problem, tol=1e-12, callback=lambda progress: seen.append(progress.proof.w))
    assert result.problem is problem
    np.testing.assert_array_equal(seen[-1], result.certificate.w)
    again = solve(problem, "newton_cg", tol=1e-11, start=result, max_passes=0)
    assert again.converged
    path = tmp_path / "run"
    for _ in range(2):
        with checkpointing(path):
            kept = solve(problem, tol=1e-12, seed=0)
    np.testing.assert_allclose(kept.w, result.w, atol=1e-9)
    proof = problem.certify(result.w, result.alpha, result.intercept)
    assert proof.relative_gap <= 1e-11
    assert problem.dual(result.alpha) == pytest.approx(result.certificate.dual, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"penalty": [1.0, 0.0]}, "penalty must be positive for every feature, got 0"),
        ({"penalty": [1.0]}, "penalty must have one entry for each of the 2 features"),
        ({"prior": [np.nan, 1.0]}, "prior must be finite"),
        ({"offset": [1.0]}, "offset must have one entry for each of the 3 examples"),
        ({"offset": [0.0, 1.0, 800.0]}, "offset must be between -700 and 700"),
        ({"offset": [0.0, 1.0, 8.0], "loss": "hinge"}, "not available for loss 'hinge', which has"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(options, words):
    with pytest.raises(ValueError, match=words):
        Problem(np.ones((3, 2)), [1, -1, 1], **options)
