"""What the engine starts with, what it expects of it, and when it changes its mind."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from primaldual import Problem, datasets, solve
from primaldual.engine.auto import LEAST_PART, Auto, epochs_left
from primaldual.engine.choice import feature_overlap, first_choice
from primaldual.engine.forecast import likely_side, smallest_eigenvalue
from primaldual.engine.prices import (
    SHORTEST_FALL,
    active_price,
    cg_price,
    dual_bound,
    expected_epochs,
    gram_price,
)
from primaldual.methods.engine.newton_cg import NewtonCG


def tall(n, d, density=0.1, seed=0):
    X = datasets.random_matrix(d, n, density, seed=seed)
    return X, datasets.labels(X, noise=0.2, seed=seed + 1)


def alike(n, d, noise=1e-4, seed=0):
    """Features that are nearly one and the same."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 1)) + noise * rng.standard_normal((n, d))
    return X, np.sign(rng.standard_normal(n))


def chain(n, d, rho, seed=0):
    """Features of which each is correlated with the one before."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for i in range(1, d):
        X[:, i] = rho * X[:, i - 1] + np.sqrt(1 - rho**2) * X[:, i]
    return X, np.sign(rng.standard_normal(n))


def overlap(X):
    """Σ_k cos² over the other features, for an average feature, by all pairs."""
    X = X.toarray() if sparse.issparse(X) else X
    S = X.T @ X
    scale = np.sqrt(np.diag(S))
    S = S / np.outer(scale, scale)
    return float((S**2).sum()) / len(S) - 1


@pytest.mark.parametrize("n", [300, 3000])
def test_feature_overlap_is_that_of_all_pairs_about(n):
    X, y = tall(n, 200)
    # One draw of signs: the order of magnitude is what counts.
    assert overlap(X) / 3 <= feature_overlap(Problem(X, y)) <= 3 * overlap(X)
    X, y = alike(n, 50)
    assert feature_overlap(Problem(X, y)) >= 0.5 * overlap(X)


def unit_diagonal(H):
    scale = np.sqrt(np.diag(H))
    return H / np.outer(scale, scale)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("most", [500, 10], ids=["dense", "Lanczos"])
def test_smallest_eigenvalue_of_the_primal_hessian(most, is_sparse, monkeypatch):
    monkeypatch.setattr("primaldual.engine.forecast.DENSE_SPECTRUM", most)
    X, y = chain(300, 40, 0.5)
    X[:, 3] *= 100.0  # another unit changes nothing
    c = 1.0 + np.arange(300) % 3
    data = sparse.csr_array(X) if is_sparse else X
    problem = Problem(data, y, loss="squared", lam=0.01, sample_weight=c)
    H = X.T @ (problem.sample_weight[:, None] * X) + 3.0 * np.eye(40)
    expected = np.linalg.eigvalsh(unit_diagonal(H))[0]
    assert smallest_eigenvalue(problem, "feature") == pytest.approx(expected, rel=1e-6)


def test_smallest_eigenvalue_of_the_dual_hessian():
    X, y = chain(30, 200, 0.5)
    expected = np.linalg.eigvalsh(unit_diagonal(X @ X.T + 0.3 * np.eye(30)))[0]
    problem = Problem(X, y, loss="squared", lam=0.01)
    assert smallest_eigenvalue(problem, "example") == pytest.approx(expected, rel=1e-8)


def test_smallest_eigenvalue_by_a_sample_is_about_that_of_all():
    X, y = chain(20_000, 30, 0.7)
    problem = Problem(X, y, loss="squared", lam=1e-4)
    H = X.T @ X + 2.0 * np.eye(30)
    expected = np.linalg.eigvalsh(unit_diagonal(H))[0]
    assert smallest_eigenvalue(problem, "feature") == pytest.approx(expected, rel=0.3)


@pytest.mark.parametrize("scale", [1e200, 1e-200, 0.0])
@pytest.mark.parametrize("shape", [(60, 5), (5, 60)])
def test_likely_side_has_an_answer_for_numbers_of_any_size(shape, scale):
    X = scale * np.random.default_rng(0).standard_normal(shape)
    y = np.where(np.arange(shape[0]) % 2, 1.0, -1.0)
    with np.errstate(over="ignore"):
        likely = likely_side(Problem(X, y, loss="squared", lam=1e-3), closely=True)
    assert likely.method in ("primal_cd", "dual_cd") and likely.factor >= 1


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_likely_side_follows_the_spectrum(loss):
    X, y = chain(2000, 40, 0.0)
    assert likely_side(Problem(X, y, loss=loss, lam=1e-6), closely=True).method == "primal_cd"
    X, y = chain(2000, 40, 0.999)  # one feature is nearly the next
    alike = likely_side(Problem(X, y, loss=loss, lam=1e-2), closely=True)
    assert alike.method == "dual_cd" and alike.factor > 1
    X, y = chain(40, 4000, 0.5)
    assert likely_side(Problem(X, y, loss=loss, lam=1e-2)).method == "dual_cd"


def test_likely_side_looks_only_where_that_is_cheap_and_can_decide(monkeypatch):
    def seen(problem, by):
        raise AssertionError("the spectrum was looked at")

    monkeypatch.setattr("primaldual.engine.forecast.smallest_eigenvalue", seen)
    X, y = chain(100, 40, 0.5)
    assert math.isnan(likely_side(Problem(X, y, loss="squared", lam=1e-3)).factor)
    easy = likely_side(Problem(X, y, loss="squared", lam=100.0))
    assert easy.method == "dual_cd" and easy.factor > 1
    X, y = chain(40_000, 40, 0.5)
    with pytest.raises(AssertionError, match="looked at"):
        likely_side(Problem(X, y, loss="squared", lam=1e-6))


def test_squared_cosine_of_examples():
    rng = np.random.default_rng(0)
    wide = Problem(rng.standard_normal((40, 4000)), np.sign(rng.standard_normal(40)))
    assert wide.matrix.squared_cosine() < 10 / 4000
    X = alike(4000, 40)[0]
    assert Problem(X.T, [1, -1] * 20).matrix.squared_cosine() > 0.99
    assert Problem(np.ones((1, 3)), [0.5], loss="squared").matrix.squared_cosine() == 1.0


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("lam_n", [0.3, 3.0])
def test_dual_epochs_are_about_what_the_bound_says(loss, lam_n):
    X, y = tall(2000, 20, 0.5)
    problem = Problem(X, y, loss=loss, lam=lam_n / 2000)
    run = solve(problem, "dual_cd", tol=1e-6, seed=0)
    assert run.converged
    assert 1 / 3 <= run.passes / expected_epochs(problem, 1e-6) <= 3


def test_orthogonal_examples_are_expected_to_need_few_epochs():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 4000))
    y = np.sign(rng.standard_normal(100))
    apart = Problem(X, y, lam=1e-4)
    together = Problem(X + 3.0, y, lam=1e-4)
    assert expected_epochs(apart, 1e-6) < expected_epochs(together, 1e-6)
    assert solve(apart, "dual_cd", tol=1e-6, seed=0).passes <= 2 * expected_epochs(apart, 1e-6)


def test_conjugate_gradients_cost_more_the_further_the_gap_has_to_fall():
    """Of descent that takes so many epochs for it, the faster falls: then κ is smaller."""
    problem = Problem(*tall(40, 400), loss="squared", lam=1e-3)
    prices = [cg_price(problem, 30.0, fall) for fall in (0.0, SHORTEST_FALL, 2 * SHORTEST_FALL)]
    assert prices[0] == prices[1] < prices[2] < 1.5 * prices[1]


def test_a_matrix_that_costs_too_much_is_not_priced_exactly():
    X, y = tall(300, 2000)
    problem = Problem(X, y)
    assert gram_price(problem, most=0.0) == np.inf
    assert 0 < gram_price(problem) < np.inf


def test_newton_gets_a_start_on_the_dual_where_that_helps():
    X = datasets.zipf_text(100, 8000, 20, seed=0)
    problem = Problem(X, datasets.labels(X, noise=0.2, seed=1), lam=0.2 / 8000)
    assert first_choice(problem)[0] == "newton" and dual_bound(problem) < 10
    run = solve(problem, tol=1e-9, seed=0)
    assert [note.split(":")[0] for note in run.trace.notes] == ["dual_cd", "newton"]
    assert run.converged


def test_a_start_may_be_all_that_is_needed():
    X = datasets.zipf_text(200, 20_000, 20, seed=0)
    y = np.sign(X @ np.random.default_rng(1).standard_normal(200))
    run = solve(Problem(X, y, lam=1e-3), tol=1e-2, seed=0)
    assert run.converged and set(run.trace.methods) == {"dual_cd"}


def test_truncated_newton_is_given_up_where_features_are_alike():
    X, y = chain(3000, 600, rho=0.99)
    problem = Problem(X, y, loss="squared_hinge", lam=1e-6)
    assert first_choice(problem)[0] == "newton_cg"
    run = solve(problem, tol=1e-8, seed=0)
    assert run.converged
    assert len(run.trace.notes) == 2 and "too alike" in run.trace.notes[1]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_truncated_newton_leaves_out_flat_examples_only(kind, fit_intercept):
    X, y = tall(400, 30, 0.3)
    X = X if kind == "sparse" else X.toarray()
    problem = Problem(X, y, loss="squared_hinge", lam=1e-3, fit_intercept=fit_intercept)
    ours = solve(problem, NewtonCG(1e-10), tol=1e-10)
    other = solve(problem, "newton", tol=1e-10)
    assert ours.converged and other.converged
    np.testing.assert_allclose(ours.w, other.w, atol=1e-4)


def test_short_first_steps_of_truncated_newton_end_at_the_same_point(monkeypatch):
    X, y = tall(400, 30, 0.3)
    problem = Problem(X, y, lam=1e-4)
    method = NewtonCG(1e-9, most=3)
    monkeypatch.setattr("primaldual.methods.engine.newton_cg.SMALL", 0)
    state = method.start(problem)
    method.advance(state)
    assert state.most == 9, "each step may take longer than the one before"
    assert solve(problem, method, tol=1e-9).converged


def test_a_seed_and_its_generator_give_the_same_bits():
    X, y = tall(500, 800, 0.02)
    problem = Problem(X, y, lam=1e-3)
    by_seed = solve(problem, "dual_cd", tol=1e-6, seed=5)
    by_generator = solve(problem, "dual_cd", tol=1e-6, seed=np.random.default_rng(5))
    assert (by_seed.w == by_generator.w).all()


@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge"])
def test_data_without_a_nonzero_is_solved(loss):
    """Large enough for the methods that count their work in passes over the data."""
    y = np.where(np.arange(20_000) % 3 == 0, 1.0, -1.0)
    problem = Problem(sparse.csr_array((20_000, 30)), y, loss=loss, lam=0.1)
    for method in ("auto", "dual_cd", "primal_cd", "newton", "newton_cg"):
        run = solve(problem, method, seed=0)
        assert run.converged and not run.w.any()


def test_a_slow_dual_may_try_the_primal_and_go_back():
    """With n < d only where the loss bends all the way."""
    X, y = tall(60, 400)
    for loss, tries in (("logistic", True), ("squared_hinge", False)):
        auto = Auto(1e-6)
        state = auto.start(Problem(X, y, loss=loss, lam=1e-3), rng=np.random.default_rng(0))
        assert state.name == "dual_cd"
        state.gaps.append(1e-2)
        auto._price_other_side(state)
        assert ("primal_cd" in state.prices) == tries
        if tries:  # more rounds for more digits
            price = state.prices["primal_cd"]
            Auto(1e-12)._price_other_side(state)
            assert state.prices["primal_cd"] > price
    state.name, state.left_behind, state.prices = "primal_cd", {"dual_cd": 7.0}, {}
    auto._price_other_side(state)
    assert state.prices == {"dual_cd": 7.0}


def test_truncated_newton_is_cheaper_where_part_of_the_way_is_made():
    """Only where the loss bends all the way: else who is on a flat side may still change."""
    X, y = tall(60, 400)
    for loss, bent in (("logistic", True), ("squared_hinge", False)):
        auto, problem = Auto(1e-8), Problem(X, y, loss=loss, lam=1e-3)
        state, parts = auto.start(problem, rng=np.random.default_rng(0)), []
        for gap in (1.0, 1e-4, 1e-7, 1e-9):
            state.gaps = [gap * problem.primal_at_zero]
            parts.append(auto._newton_part(state))
        assert np.allclose(parts, [1.0, 0.5, LEAST_PART, LEAST_PART] if bent else 1.0)


def counted(n, d, seed=0):
    """Sparse counts, with some features that nearly all examples have: hard for the dual."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.02, 1.0, 0.0)
    X[:, :40] = rng.poisson(5, (n, 40))
    y = np.sign(X @ rng.standard_normal(d) + 2 * rng.standard_normal(n))
    return sparse.csr_array(X), y


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_slow_dual_with_many_examples_at_rest_goes_on_with_the_others(fit_intercept):
    X, y = counted(2500, 5000)
    problem = Problem(X, y, loss="squared_hinge", lam=0.1 / 2500, fit_intercept=fit_intercept)
    run = solve(problem, tol=1e-9, seed=0)
    assert run.converged
    assert [note.split(":")[0] for note in run.trace.notes] == ["dual_cd", "ssnal"]
    alone = solve(problem, "gram_newton", tol=1e-9, max_passes=math.inf)
    assert alone.converged
    np.testing.assert_allclose(run.w, alone.w, atol=2e-3)  # what a gap of 1e-9 P(0) allows


@pytest.mark.parametrize(
    ("loss", "lam", "tol"), [("logistic", 1 / 600, 1e-6), ("squared_hinge", 0.1 / 600, 1e-9)]
)
def test_a_slow_intercept_is_left_to_newton(loss, lam, tol):
    """Descent tells a small gap which the certificate, with the intercept, does not confirm."""
    X, y = counted(600, 1200)
    problem = Problem(X, y, loss=loss, lam=lam, fit_intercept=True)
    alone = solve(problem, "dual_cd", tol=tol, seed=0)
    run = solve(problem, tol=tol, seed=0)
    assert run.converged and "is not proved" in run.trace.notes[-1]
    assert not alone.converged or run.passes < alone.passes


@pytest.mark.parametrize(("loss", "believed"), [("squared", True), ("logistic", False)])
def test_a_dual_that_becomes_slower_and_slower_is_believed_to_be_slow(loss, believed):
    method = Auto(1e-6)
    state = method.start(Problem(*counted(60, 400), loss=loss, lam=1e-3))
    seen = []
    for made, left in ((10, 20.0), (14, 20.0), (18, 25.0), (22, 10.0), (26, 30.0), (30, math.inf)):
        state.gaps = [1.0] * made
        seen.append(method._trust(state, left) == 1.0)
    # Twice in a row it has to seem longer than ever.
    assert seen == [False, False, believed, False, False, believed]


@pytest.mark.parametrize(
    ("kind", "part"), [("dense", 0.3), ("tall", 0.3), ("sparse", 0.9)], ids=str
)
def test_newton_on_some_examples_is_for_sparse_data_of_which_many_rest(kind, part):
    X, y = counted(60, 400)
    if kind == "dense":
        X = X.toarray()
    if kind == "tall":
        X, y = counted(600, 400)
    assert active_price(Problem(X, y, loss="squared_hinge"), part) == math.inf
    some = Problem(*counted(60, 400), loss="squared_hinge")
    assert 0 < active_price(some, 0.3) < active_price(some, 0.6) < math.inf
    assert active_price(some, 0.3, most=1.0) == math.inf


@pytest.mark.parametrize(
    ("loss", "lam_n", "suits"),
    [("squared", 100.0, True), ("squared", 1e-3, False), ("logistic", 100.0, False)],
)
def test_conjugate_gradients_run_on_the_features_where_much_of_the_loss_is_left(loss, lam_n, suits):
    X, _ = counted(300, 900)
    y = np.where(np.random.default_rng(1).random(300) < 0.5, 1.0, -1.0)  # nothing explains them
    auto = Auto(1e-6, advised=("dual_cd", "to begin with"))
    state = auto.start(Problem(X, y, loss=loss, lam=lam_n / 300), rng=np.random.default_rng(0))
    for _ in range(5):
        state.method.advance(state.inner)
    assert auto._suits_features(state) == suits
    state.tried.add("newton_cg")
    assert not auto._suits_features(state)


def test_conjugate_gradients_have_a_price_where_the_gap_does_not_fall():
    auto = Auto(1e-6, advised=("dual_cd", "to begin with"))
    state = auto.start(Problem(*counted(300, 900), loss="squared", lam=1e-3))
    state.method.advance(state.inner)
    state.gaps = [1.0] * 100
    assert epochs_left(state.gaps, 1e-6) == math.inf
    auto._successor(state)
    assert 0 < state.prices["gram_newton_cg"] < math.inf
