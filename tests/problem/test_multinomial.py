"""The softmax problem: weak duality, the certificate, and each of its methods."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax, xlogy

from primaldual.engine.softmax import SoftmaxAuto
from primaldual.methods.engine.softmax_dual_cd import SoftmaxDualCD, block_step
from primaldual.methods.engine.softmax_newton import SoftmaxNewton
from primaldual.methods.engine.softmax_newton_cg import SoftmaxNewtonCG, conjugate_gradients
from primaldual.multinomial import Multinomial, solve_multinomial
from primaldual.problem.softmax_sums import curve, mean_curvature, spread
from primaldual.solver import solve

METHODS = {
    "newton": lambda: SoftmaxNewton(),
    "newton_cg": lambda: SoftmaxNewtonCG(),
    "dual_cd": lambda: SoftmaxDualCD(),
    "auto": lambda: SoftmaxAuto(1e-10),
}


def problem(fit_intercept=True, weighted=True, n=40, d=6, classes=4, lam=0.05, wrap=np.asarray):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    y = np.argmax(X[:, :classes] + rng.standard_normal((n, classes)), axis=1)
    c = rng.integers(0, 4, n) if weighted else None
    return Multinomial(wrap(X), y, lam, c, fit_intercept)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_gap_is_the_difference_of_the_two_objectives(fit_intercept):
    p = problem(fit_intercept)
    rng = np.random.default_rng(0)
    z = rng.standard_normal((p.n, 4))
    q = softmax(z, axis=1)
    q[p.sample_weight == 0] = np.eye(4)[p.codes[p.sample_weight == 0]]
    alpha = p.sample_weight[:, None] * (np.eye(4)[p.codes] - q)
    if fit_intercept:  # balance the classes: the dual point of the best intercepts
        alpha = p.dual_point(z + p.best_intercept(z))
        q = p.probabilities(alpha)
    w = rng.standard_normal(p.shape)
    proof = p.certify(w, alpha)
    w_of_alpha = p.primal_point(alpha)
    entropy = p.sample_weight @ xlogy(q, q).sum(axis=1) / p.n
    dual = -0.5 * p.lam * np.vdot(w_of_alpha, w_of_alpha) - entropy
    scores = p.margins(w) + proof.intercept
    each = logsumexp(scores, axis=1) - scores[np.arange(p.n), p.codes]
    primal = p.sample_weight @ each / p.n + 0.5 * p.lam * np.vdot(w, w)
    assert proof.primal == pytest.approx(primal)
    assert proof.gap == pytest.approx(primal - dual, rel=1e-9)
    assert proof.gap > 0


def test_a_dual_point_outside_the_simplex_proves_nothing():
    p = problem(fit_intercept=False, weighted=False)
    alpha = p.dual_point(np.zeros((p.n, 4)))
    alpha[0] += [1.0, -1.0, 2.0, -2.0]
    assert p.certify(np.zeros(p.shape), alpha).gap == np.inf


def test_weight_on_an_example_that_does_not_count_proves_nothing():
    p = problem(fit_intercept=False)
    alpha = p.dual_point(np.zeros((p.n, 4)))
    assert np.isfinite(p.certify(np.zeros(p.shape), alpha).gap)
    alpha[np.flatnonzero(p.sample_weight == 0)[0]] = [0.5, -0.5, 0.0, 0.0]
    assert p.certify(np.zeros(p.shape), alpha).gap == np.inf


def test_the_loss_keeps_its_digits_where_it_is_next_to_nothing():
    p = Multinomial(np.eye(2), [0, 1], 0.1)
    assert p.loss(np.array([[50.0, 0.0], [0.0, 50.0]])) == pytest.approx(np.exp(-50.0), rel=1e-12)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_every_method_reaches_the_optimum(name, fit_intercept):
    wrap = sparse.csr_array if name == "dual_cd" else np.asarray
    p = problem(fit_intercept, wrap=wrap)
    result = solve(p, METHODS[name](), tol=1e-10, max_passes=1e5, seed=0)
    assert result.converged
    assert result.w.shape == p.shape

    def value(flat):
        w = flat[: 4 * p.d].reshape(p.shape)
        b = flat[4 * p.d :] if fit_intercept else 0.0
        return p.loss(p.margins(w) + b) + 0.5 * p.lam * np.vdot(w, w)

    reference = minimize(value, np.zeros(4 * p.d + 4), method="BFGS", options={"gtol": 1e-7})
    assert result.certificate.primal == pytest.approx(reference.fun, rel=1e-7)
    np.testing.assert_allclose(result.w, reference.x[: 4 * p.d].reshape(p.shape), atol=1e-4)


@pytest.mark.parametrize("kappa", [0.0, 1e-3, 1.0, 50.0, 1e6])
def test_theblock_step_minimises_over_the_simplex(kappa):
    rng = np.random.default_rng(1)
    for scale in (0.1, 1.0, 30.0):
        q = np.eye(5)[2] if scale > 1 else rng.dirichlet(np.ones(5))
        z, out = scale * rng.standard_normal(5), np.empty(5)
        block_step(q, z, kappa, out, np.empty(5))
        assert out.sum() == pytest.approx(1.0, abs=1e-14)

        def value(p, q=q, z=z):
            return xlogy(p, p).sum() - p @ z + 0.5 * kappa * ((p - q) ** 2).sum()

        best = value(out)
        for _ in range(200):
            other = out + (rng.dirichlet(np.ones(5)) - out) * rng.random() ** 6
            assert value(other) >= best - 1e-12 * (1 + abs(best))


@pytest.mark.parametrize("weighted", [False, True])
def test_any_dual_start_is_moved_into_the_simplex(weighted):
    p = problem(weighted=weighted)
    alpha = p.nearest_dual(np.random.default_rng(0).standard_normal((p.n, 4)))
    q = p.probabilities(alpha)
    assert q.min() >= 0
    np.testing.assert_allclose(q.sum(axis=1), 1.0)
    np.testing.assert_allclose(p.nearest_dual(alpha), alpha, atol=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_rebalanced_dual_point_is_feasible_and_near(weighted):
    p = problem(weighted=weighted)
    rng = np.random.default_rng(0)
    alpha = p.dual_point(rng.standard_normal((p.n, 4)))
    assert not p.balanced(alpha)
    moved = p.rebalanced(alpha)
    assert p.balanced(moved)
    assert p.probabilities(moved).min() >= 0
    assert np.isfinite(p.certify(alpha=moved).gap)
    np.testing.assert_allclose(p.rebalanced(moved), moved, atol=1e-12)


def test_dual_descent_goes_on_from_a_dual_start():
    p = problem(wrap=sparse.csr_array)
    result = solve(p, SoftmaxDualCD(), tol=1e-10, max_passes=1e5, seed=0)
    method = SoftmaxDualCD()
    state = method.start(p, alpha=result.alpha, rng=np.random.default_rng(0))
    method.advance(state)
    assert p.relative(method.gap_estimate(state)) <= 1e-9


def test_separable_classes_with_weak_regularisation_converge():
    X = np.array([[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]])
    result = solve_multinomial(Multinomial(X, [0, 0, 1, 1, 2, 2], 1e-6, None, True), tol=1e-8)
    assert result.converged
    assert np.abs(result.intercept.sum()) <= 1e-9 * np.abs(result.intercept).max()


def test_sides_and_storage_agree():
    for wrap in (np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array):
        for side in ("primal", "dual"):
            result = solve_multinomial(problem(wrap=wrap), side, 1e-12, seed=0, max_passes=1e5)
            expected = solve_multinomial(problem(), tol=1e-12)
            np.testing.assert_allclose(result.w, expected.w, atol=1e-5)


def test_float32_data_is_kept_and_solved():
    p = problem(wrap=lambda X: X.astype(np.float32))
    assert p.matrix.dtype == np.float32
    assert solve_multinomial(p, tol=1e-8).converged


@pytest.mark.parametrize("price", [0.5, 1e9, np.inf])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_preconditioner_changes_the_way_and_not_the_end(price, fit_intercept):
    for wrap in (np.asarray, sparse.csr_array):
        p = problem(fit_intercept, wrap=wrap)
        found = solve(p, SoftmaxNewtonCG(1e-10, price), tol=1e-10, max_passes=1e5)
        expected = solve(p, SoftmaxNewton(1e-12), tol=1e-12)
        assert found.converged
        np.testing.assert_allclose(found.w, expected.w, atol=1e-5)


def test_a_product_with_the_hessian_is_that_of_its_definition():
    p = problem(weighted=True)
    rng = np.random.default_rng(0)
    z, u = rng.standard_normal((2, p.n, 4))
    alpha, q = p.dual_point(z), softmax(z, axis=1)
    out, sums = np.empty_like(u), np.empty(4)
    curve(u, alpha, p.codes, p.sample_weight, out, sums)
    each = np.einsum("jk,kl->jkl", q, np.eye(4)) - np.einsum("jk,jl->jkl", q, q)
    expected = p.sample_weight[:, None] * np.einsum("jkl,jl->jk", each, u)
    np.testing.assert_allclose(out, expected, atol=1e-13)
    np.testing.assert_allclose(sums, expected.sum(axis=0), atol=1e-12)
    h, among = np.empty(p.n), np.empty((4, 4))
    spread(alpha, p.codes, p.sample_weight, h)
    np.testing.assert_allclose(h, p.sample_weight * (q * (1 - q)).sum(axis=1), atol=1e-13)
    mean_curvature(alpha, p.codes, p.sample_weight, 1, among)
    np.testing.assert_allclose(among, np.einsum("j,jkl->kl", p.sample_weight, each), atol=1e-12)


def test_the_first_model_is_exact_where_all_examples_are_alike():
    rng = np.random.default_rng(0)
    p = Multinomial(rng.standard_normal((60, 5)), np.arange(60) % 3, 0.01)
    state = SoftmaxNewtonCG(0.0, 1.0).start(p)
    state.forcing = 1e-6
    *_, products = conjugate_gradients(state, 1.0)
    assert products == 1


def test_the_peak_of_memory_is_as_stated():
    rng = np.random.default_rng(0)
    n, d, classes = 20_000, 30, 10
    X, y = rng.standard_normal((n, d)), np.arange(n) % classes
    p = Multinomial(X, y, 1.0 / n, None, True)
    solve(p, tol=1e-3)
    tracemalloc.start()
    try:
        solve(Multinomial(X, y, 1.0 / n, None, True), tol=1e-6)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 8 * (6 * n * (classes + 1) + 4 * d * classes)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="two classes"):
        Multinomial(np.eye(3), [1, 1, 1], 0.1)
    with pytest.raises(ValueError, match="lam"):
        Multinomial(np.eye(3), [1, 2, 3], 0.0)
    with pytest.raises(ValueError, match="one per example"):
        Multinomial(np.eye(3), [1, 2], 0.1)
