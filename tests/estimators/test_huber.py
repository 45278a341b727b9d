"""The Huber regressor: scikit-learn's model, with a proof for coefficients and scale together."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from primaldual import LOSSES
from primaldual.estimators import HuberRegressor, LinearRegressor


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return scale(X), y


def objective(model, X, y, s=1.0, scale=None):
    """P, from its definition."""
    sigma = model.scale_ if scale is None else scale
    sizes = np.abs(y - model.predict(X)) / sigma
    e = model.epsilon
    values = np.where(sizes <= e, sizes**2, 2 * e * sizes - e**2)
    return float(np.sum(s * (sigma + sigma * values)) + model.alpha * model.coef_ @ model.coef_)


def test_the_default_is_scikit_learns_model_on_diabetes(diabetes):
    X, y = load_diabetes(return_X_y=True)
    ours, theirs = HuberRegressor().fit(X, y), linear_model.HuberRegressor(max_iter=10_000)
    theirs.fit(X, y)
    assert ours.outliers_.sum() == theirs.outliers_.sum() == 159
    assert ours.scale_ == pytest.approx(theirs.scale_, rel=1e-3)
    assert objective(ours, X, y) <= objective(theirs, X, y)


@pytest.mark.parametrize("alpha", [1e-4, 0.1, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("epsilon", [1.05, 1.35, 3.0])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_coefficients_scale_and_outliers_are_theirs(
    alpha, fit_intercept, epsilon, stored, diabetes
):
    X, y = diabetes
    s = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    options = {"alpha": alpha, "fit_intercept": fit_intercept, "epsilon": epsilon}
    theirs = linear_model.HuberRegressor(tol=1e-8, max_iter=10_000, **options).fit(X, y, s)
    ours = HuberRegressor(**options).fit(stored(X), y, s)
    size = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=2e-3 * size)
    assert ours.scale_ == pytest.approx(theirs.scale_, rel=1e-3)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-3, abs=1e-6)
    assert (ours.outliers_ == theirs.outliers_).mean() > 0.99
    # Ours is the better one, by no more than their tolerance.
    mine, other = objective(ours, X, y, s), objective(theirs, X, y, s)
    assert mine <= other * (1 + 1e-12)
    assert ours.dual_gap_ <= 1e-12


def test_the_certificate_is_a_bound_for_coefficients_intercept_and_scale(diabetes):
    """After a fit that was cut short, no point found by chance or by scikit-learn is below it."""
    X, y = diabetes
    ours = HuberRegressor(alpha=1.0, max_iter=1, tol=1e-300)
    with pytest.warns(ConvergenceWarning):
        ours.fit(X, y)
    assert ours.n_iter_ == 1 and "max_iter" in ours.stop_reason_
    theirs = linear_model.HuberRegressor(alpha=1.0, tol=1e-8, max_iter=10_000).fit(X, y)
    centred = y - y.mean()
    sigma = min(np.geomspace(1, 1000, 2000), key=lambda v: flat(centred, v))
    unit = flat(centred, sigma)
    bound = objective(ours, X, y) - ours.dual_gap_ * unit * (1 + 1e-3)
    assert bound <= objective(theirs, X, y)
    rng = np.random.default_rng(0)
    for k in range(100):
        other = linear_model.HuberRegressor(alpha=1.0)
        other.coef_ = theirs.coef_ + rng.standard_normal(10) * 10.0 ** (-k / 20)
        other.intercept_, other.scale_ = theirs.intercept_, theirs.scale_
        other.n_features_in_ = 10
        assert objective(other, X, y, scale=theirs.scale_ * rng.uniform(0.9, 1.1)) >= bound


def flat(residuals, sigma):
    sizes = np.abs(residuals) / sigma
    values = np.where(sizes <= 1.35, sizes**2, 2 * 1.35 * sizes - 1.35**2)
    return float(np.sum(sigma + sigma * values))


def test_the_dual_variables_give_the_coefficients_and_respect_the_scale(diabetes):
    X, y = diabetes
    model = HuberRegressor(alpha=0.5).fit(X, y)
    u = 2 * 0.5 * model.dual_coef_
    np.testing.assert_allclose(model.dual_coef_ @ X, model.coef_, atol=1e-8)
    assert np.abs(u).max() <= 2 * 1.35 + 1e-12
    assert np.abs(u.sum()) <= 1e-8 * np.abs(u).sum()
    assert u @ u <= 4 * len(y) * (1 + 1e-12)


def test_targets_in_other_units_give_the_model_in_other_units(diabetes):
    X, y = diabetes
    plain = HuberRegressor(alpha=1e-3).fit(X, y)
    # α‖w‖² is the only part of P that is quadratic in the unit.
    for unit in (1e-6, 1e6):
        other = HuberRegressor(alpha=1e-3 / unit).fit(X, y * unit + 7.0 * unit)
        np.testing.assert_allclose(other.coef_, plain.coef_ * unit, rtol=1e-6)
        assert other.scale_ == pytest.approx(plain.scale_ * unit, rel=1e-8)


def test_targets_that_most_features_explain_exactly_have_no_scale():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    y = X @ [1.0, 2.0, 3.0] + 1.0
    y[:10] += 100.0
    model = HuberRegressor().fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, 2.0, 3.0], atol=1e-4)
    assert model.outliers_.sum() == 10 and model.scale_ < 1e-6 and model.dual_gap_ <= 1e-6
    assert HuberRegressor().fit(X, np.full(100, 3.0)).dual_gap_ == 0.0


def test_without_a_penalty_the_fit_is_theirs(diabetes):
    X, y = diabetes
    theirs = linear_model.HuberRegressor(alpha=0.0, tol=1e-8, max_iter=10_000).fit(X, y)
    ours = HuberRegressor(alpha=0.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-2)
    assert ours.dual_gap_ <= 1e-6


@pytest.mark.parametrize("alpha", [0.0, 1e-4, 1.0])
def test_a_warm_start_at_the_optimum_makes_no_step(diabetes, alpha):
    X, y = diabetes
    model = HuberRegressor(alpha=alpha, warm_start=True).fit(X, y)
    first, coef = model.n_iter_, model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_ == 0
    assert model.dual_gap_ <= model.tol
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-8)
    model.fit(X, y + X[:, 0])  # near it, the first scale is that of the last fit
    assert 0 < model.n_iter_ < first


def test_the_fixed_threshold_is_a_linear_regressor(diabetes):
    """At the fitted scale both are one model."""
    X, y = diabetes
    joint = HuberRegressor(alpha=0.1).fit(X, y)
    fixed = LinearRegressor(
        LOSSES["huber"](1.35 * joint.scale_), alpha=0.1 * joint.scale_, tol=1e-14
    ).fit(X, y)
    np.testing.assert_allclose(fixed.coef_, joint.coef_, rtol=1e-6)


def test_a_time_limit_and_a_callback_stop_the_search(diabetes):
    X, y = diabetes
    seen = []
    HuberRegressor(callback=lambda progress: seen.append(progress) or True).fit(X, y)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert np.isfinite(HuberRegressor(max_time=0.0).fit(X, y).coef_).all()
