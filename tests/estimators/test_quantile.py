"""Quantile regression: against linear programming, several quantiles, and crossings."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import dense_data
from scipy.optimize import minimize
from sklearn import linear_model
from sklearn.datasets import load_diabetes

from primaldual import Problem, QuantileRegressor, load, solve
from primaldual.losses import Pinball, SmoothedPinball


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.8])
def test_with_hardly_any_penalty_it_is_scikit_learns_linear_program(tau, diabetes):
    X, y = diabetes
    theirs = linear_model.QuantileRegressor(quantile=tau, alpha=0.0).fit(X, y)
    ours = QuantileRegressor(quantile=tau, alpha=1e-8, tol=1e-7).fit(X, y)

    def loss(model):
        r = y - model.predict(X)
        return np.where(r > 0, tau * r, (tau - 1) * r).mean()

    assert loss(ours) == pytest.approx(loss(theirs), rel=4e-3)
    assert abs((y <= ours.predict(X)).mean() - tau) <= 12 / len(y)


@pytest.mark.parametrize("tau", [0.25, 0.9])
def test_it_is_the_optimum_of_a_quadratic_program(tau):
    """The dual by SciPy: a box, and for the intercept a plane."""
    rng = np.random.default_rng(0)
    n, lam = 30, 0.05
    X = rng.standard_normal((n, 4))
    y = X @ rng.standard_normal(4) + rng.standard_normal(n) + 3.0
    result = solve(Problem(X, y, Pinball(tau), lam, fit_intercept=True), tol=1e-13)
    K = X @ X.T / (lam * n)
    found = minimize(
        lambda a: 0.5 * a @ K @ a - a @ y, np.zeros(n), jac=lambda a: K @ a - y,
        bounds=[(tau - 1, tau)] * n, constraints={"type": "eq", "fun": np.sum, "jac": np.ones_like},
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    np.testing.assert_allclose(result.w, X.T @ found.x / (lam * n), atol=1e-4)
    assert result.certificate.dual == pytest.approx(-found.fun / n, abs=1e-7)


def test_both_sides_agree_where_the_smoothed_loss_has_both():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 5))
    problem = Problem(X, X[:, 0] + rng.standard_normal(60), SmoothedPinball(0.3, 0.2), 0.05)
    primal, dual = (solve(problem, m, tol=1e-16, seed=0) for m in ("newton", "dual_cd"))
    np.testing.assert_allclose(primal.w, dual.w, atol=1e-8)


def test_several_quantiles_are_the_single_ones_and_crossings_are_counted(diabetes):
    X, y = diabetes
    taus = [0.9, 0.1, 0.5]
    together = QuantileRegressor(quantile=taus, alpha=1e-4).fit(X, y)
    for k, tau in enumerate(taus):
        alone = QuantileRegressor(quantile=tau, alpha=1e-4).fit(X, y)
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), rtol=1e-3)
    assert together.crossings_ == 0 == together.crossings(X)
    assert together.score(X, y) > 0
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((60, 8))
    with pytest.warns(UserWarning, match="the quantiles cross at"):
        model = QuantileRegressor(quantile=[0.5, 0.55], alpha=1e-3).fit(noise, y[:60])
    predicted = model.predict(noise)
    assert model.crossings_ == (predicted[:, 1] < predicted[:, 0]).sum() > 0


def test_weights_repeat_examples():
    rng = np.random.default_rng(0)
    X, y, s = rng.standard_normal((40, 3)), rng.standard_normal(40), rng.integers(1, 4, 40)
    weighted = QuantileRegressor(quantile=0.3, alpha=0.1, tol=1e-10).fit(X, y, s)
    repeated = QuantileRegressor(quantile=0.3, alpha=0.1, tol=1e-10)
    repeated.fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)


@pytest.mark.parametrize("quantile", [0.0, 1.0, "half", [], [0.5, 2.0], None])
def test_what_is_no_quantile_is_refused(quantile):
    with pytest.raises(ValueError, match="quantile must be a number between 0 and 1"):
        QuantileRegressor(quantile=quantile).fit(np.eye(3), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("quantile", [0.0, 1.0, 1.5])
def test_a_loss_of_no_quantile_is_refused(quantile):
    with pytest.raises(ValueError, match="quantile of 'pinball' must be a number between 0 and 1"):
        Problem(np.eye(2), [1.0, 2.0], Pinball(quantile))


def test_wide_sparse_data_is_quick_where_a_linear_program_is_not():
    rng = np.random.default_rng(0)
    from scipy import sparse

    X = sparse.random_array((300, 2000), density=0.01, rng=rng, format="csr")
    problem = Problem(X, rng.standard_normal(300), Pinball(0.7), 1e-3, fit_intercept=True)
    assert solve(problem, tol=1e-6).converged
    assert dense_data(problem).shape == (300, 2000)


def test_a_model_of_several_quantiles_comes_back_from_a_file(tmp_path, diabetes):
    X, y = diabetes
    model = QuantileRegressor(quantile=[0.2, 0.8], alpha=0.01).fit(X, y)
    model.save(tmp_path / "quantiles.model")
    again = load(tmp_path / "quantiles.model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="has one quantile, this model has 2"):
        model.to_sklearn()
