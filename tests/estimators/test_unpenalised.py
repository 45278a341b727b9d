"""Fits without a penalty, and ridge to rounding."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from primaldual.estimators import LinearSVC, LogisticRegression, Ridge, RidgeClassifier


def overlapping(classes, n=600):
    return make_classification(
        n, n_features=8, n_informative=5, n_redundant=0, n_classes=classes, flip_y=0.2,
        random_state=0,
    )  # fmt: skip


def agree(ours, theirs, rtol):
    a = np.append(np.ravel(ours.coef_), np.ravel(ours.intercept_))
    b = np.append(np.ravel(theirs.coef_), np.ravel(theirs.intercept_))
    np.testing.assert_allclose(a, b, rtol=0, atol=rtol * np.abs(b).max())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_logistic_regression_without_a_penalty_is_scikit_learns(classes, fit_intercept):
    X, y = overlapping(classes)
    theirs = linear_model.LogisticRegression(
        C=np.inf, tol=1e-12, solver="newton-cholesky", fit_intercept=fit_intercept
    ).fit(X, y)
    ours = LogisticRegression(C=np.inf, tol=1e-9, fit_intercept=fit_intercept).fit(X, y)
    agree(ours, theirs, 1e-5)
    assert ours.dual_gap_ <= 1e-9
    none = LogisticRegression(penalty=None, tol=1e-9, fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_array_equal(none.coef_, ours.coef_)


def test_an_unscaled_fit_without_a_penalty_has_its_digits():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :5]  # scales from 0.01 to 350
    theirs = linear_model.LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
    ours = LogisticRegression(C=np.inf).fit(X, y)
    agree(ours, theirs.fit(X, y), 1e-4)


def test_the_certificate_holds_for_all_models_up_to_ten_times_as_long():
    """No such model that another solver or chance finds is better by more than the gap."""
    X, y = overlapping(2)
    sign = np.where(y == 1, 1.0, -1.0)
    model = LogisticRegression(C=np.inf).fit(X, y)

    def objective(w, b):
        return np.logaddexp(0.0, -sign * (X @ w + b)).mean()

    here = objective(model.coef_[0], model.intercept_[0])
    rng, size = np.random.default_rng(0), np.linalg.norm(model.coef_)
    for k in range(200):
        step = rng.standard_normal(8) * size * 10.0 ** (-k / 25)
        other = objective(model.coef_[0] + step, model.intercept_[0] + rng.standard_normal())
        assert other >= here - model.dual_gap_ * np.log(2)


@pytest.mark.parametrize(
    ("load", "classes", "reason"),
    [
        (load_wine, [0, 1, 2], "separable"),
        (load_wine, [0, 1], "separable"),
        (load_iris, [0, 1, 2], "one is from the others"),
    ],
)
def test_separable_classes_are_named_as_the_reason(load, classes, reason):
    X, y = load(return_X_y=True)
    keep = np.isin(y, classes)
    X, y = scale(X[keep]), y[keep]
    model = LogisticRegression(C=np.inf)
    with pytest.warns(ConvergenceWarning, match=reason):
        model.fit(X, y)
    assert np.isfinite(model.coef_).all() and model.score(X, y) > 0.95
    assert model.dual_gap_ <= 1e-6


def test_a_rank_deficient_fit_without_a_penalty_is_the_shortest_and_says_so():
    X, y = overlapping(2)
    twice = np.hstack([X, X[:, :1]])
    with pytest.warns(ConvergenceWarning, match="rank deficient"):
        model = LogisticRegression(C=np.inf, tol=1e-9).fit(twice, y)
    plain = LogisticRegression(C=np.inf, tol=1e-9).fit(X, y)
    assert model.coef_[0, 0] == pytest.approx(model.coef_[0, -1], rel=1e-3)
    np.testing.assert_allclose(
        model.decision_function(twice), plain.decision_function(X), atol=1e-4
    )


def test_penalty_none_says_that_it_leaves_c_out():
    X, y = overlapping(2)
    with pytest.warns(UserWarning, match="leaves C out"):
        LogisticRegression(penalty=None, C=0.1).fit(X, y)


def test_the_support_vector_machines_need_a_penalty():
    with pytest.raises(ValueError, match="C must be a positive finite number"):
        LinearSVC(C=np.inf).fit(*overlapping(2))


@pytest.mark.parametrize("kind", ["tall", "wide", "dependent"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_ridge_without_a_penalty_is_least_squares_of_smallest_norm(kind, fit_intercept, stored):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 60) if kind == "wide" else (60, 20)) + 3.0
    if kind == "dependent":
        X[:, 1] = X[:, 0]
    y, s = rng.standard_normal(len(X)), rng.integers(0, 3, len(X)).astype(float)
    root = np.sqrt(s)[:, None]
    centre = np.average(X, axis=0, weights=s) if fit_intercept else 0.0
    level = np.average(y, weights=s) if fit_intercept else 0.0
    best = np.linalg.lstsq(root * (X - centre), np.sqrt(s) * (y - level), rcond=1e-12)[0]
    model = Ridge(alpha=0.0, fit_intercept=fit_intercept)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(stored(X), y, s)
    assert [("rank deficient" in str(entry.message)) for entry in caught] == [True] * (
        kind != "tall"
    )
    np.testing.assert_allclose(model.coef_, best, rtol=0, atol=1e-10 * np.abs(best).max())
    assert model.dual_gap_ <= model.tol


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1e-3, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(200, 12), (40, 120), (90, 90)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_is_solved_to_rounding(alpha, shape, fit_intercept):
    """On features of sizes from 1 to 1/1000, to ten digits, by either side and from sparse data."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal(shape) * np.logspace(0, -3, shape[1]) + 1.0
    y, s = rng.standard_normal(shape[0]), rng.integers(1, 4, shape[0]).astype(float)
    theirs = linear_model.Ridge(alpha=alpha, solver="svd", fit_intercept=fit_intercept).fit(X, y, s)
    for data in (X, sparse.csr_array(X)):
        ours = Ridge(alpha=alpha, fit_intercept=fit_intercept).fit(data, y, s)
        agree(ours, theirs, 1e-10)
        assert ours.dual_gap_ <= ours.tol
    labels = np.sign(y)
    theirs = linear_model.RidgeClassifier(alpha=alpha, solver="svd", fit_intercept=fit_intercept)
    ours = RidgeClassifier(alpha=alpha, fit_intercept=fit_intercept).fit(X, labels)
    agree(ours, theirs.fit(X, labels), 1e-10)


def test_several_targets_may_have_a_penalty_each_or_none():
    X, y = load_diabetes(return_X_y=True)
    Y = np.stack([y, -(y**2), np.sqrt(y)], axis=1)
    theirs = linear_model.Ridge(alpha=[0.0, 1e-9, 1.0], solver="svd").fit(X, Y)
    agree(Ridge(alpha=[0.0, 1e-9, 1.0]).fit(X, Y), theirs, 1e-10)


@pytest.mark.parametrize("shape", [(80, 6), (30, 50)])
@pytest.mark.parametrize("weighted", [True, False])
def test_several_targets_of_ridge_are_solved_to_rounding_by_one_matrix(shape, weighted):
    """Also far from zero, where the sums of the features cancel, and with a weight of zero."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal(shape) + 1e3
    Y = rng.standard_normal((shape[0], 3))
    s = rng.integers(0, 3, shape[0]).astype(float) if weighted else None
    exact = linear_model.Ridge(alpha=0.5, solver="svd").fit(X, Y, s)
    for stored in (X, np.asfortranarray(X), X.astype(np.float32), sparse.csr_array(X)):
        ours = Ridge(alpha=0.5).fit(stored, Y, s)
        tolerance = 1e-9 if stored.dtype == np.float64 else 1e-3
        agree(ours, exact, tolerance)
        assert ours.dual_gap_ <= ours.tol and ours.coef_.shape == (3, shape[1])
