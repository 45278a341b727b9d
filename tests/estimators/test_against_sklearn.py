"""The same coefficients, intercepts and probabilities as scikit-learn, on real data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model, svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize, scale

from primaldual.estimators import (
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)

from .data import BINARY, REGRESSION, real, weights

# A gap of 1e-15 leaves up to √(1e-15/λ) of error in the coefficients.
TOL = 1e-15
TIGHTER = 2e-16  # about the smallest gap that rounding allows
SIDES = ["primal", "dual"]


def agree(ours, theirs, rtol=1e-6):
    """Coefficients and intercept agree to ``rtol`` of the largest one."""
    a = np.append(np.ravel(ours.coef_), np.ravel(ours.intercept_))
    b = np.append(np.ravel(theirs.coef_), np.ravel(theirs.intercept_))
    np.testing.assert_allclose(a, b, rtol=0, atol=rtol * np.abs(b).max())


def sklearn_logistic(X, y, C, sample_weight=None, **options):
    """scikit-learn's solution as exactly as it gets."""
    few = X.shape[1] <= 600
    solver = "newton-cholesky" if few else "newton-cg"
    model = linear_model.LogisticRegression(
        C=C, tol=1e-10, solver=solver, max_iter=10_000, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # "line search did not converge" at the last digits
        warnings.simplefilter("ignore")
        return model.fit(X, y, sample_weight=sample_weight)


def stored(X, kind):
    if kind == "dense":
        return X.toarray() if sparse.issparse(X) else np.ascontiguousarray(X)
    return {"csr": sparse.csr_array, "csc": sparse.csc_matrix}[kind](X)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("side", SIDES)
def test_logistic_regression_on_real_data(side, name):
    X, y = real(name)
    theirs = sklearn_logistic(X, y, C=0.5)
    # The dual side factors an n × n matrix of svmguide1: once is enough.
    for kind in ("dense", "csr") if X.shape[1] < 200 and name != "svmguide1" else ("csr",):
        data = stored(X, kind)
        ours = LogisticRegression(C=0.5, tol=TIGHTER, side=side, max_iter=3000).fit(data, y)
        agree(ours, theirs)
        np.testing.assert_allclose(
            ours.predict_proba(data), theirs.predict_proba(X), rtol=0, atol=1e-7
        )


@pytest.mark.parametrize("name", ["a1a", "heart_scale", "colon-cancer", "ionosphere"])
@pytest.mark.parametrize("side", SIDES)
def test_weighted_logistic_regression_without_intercept(name, side):
    X, y = real(name)
    s = weights(len(y))
    theirs = sklearn_logistic(X, y, C=2.0, sample_weight=s, fit_intercept=False)
    ours = LogisticRegression(C=2.0, tol=TOL, side=side, fit_intercept=False, max_iter=10_000).fit(
        X, y, s
    )
    agree(ours, theirs)


@pytest.mark.parametrize("name", ["a1a", "heart_scale", "german.numer_scale", "duke"])
@pytest.mark.parametrize("side", SIDES)
def test_linear_svc_on_real_data(name, side):
    X, y = real(name)
    s = weights(len(y))
    # Their intercept is penalised: without one the problems are the same.
    theirs = svm.LinearSVC(C=0.3, tol=1e-12, dual=False, fit_intercept=False, max_iter=1000).fit(
        X, y, s
    )
    # With 7,129 features the coefficients are small, and the gap has to be smaller still.
    tol = 2e-17 if name == "duke" else TOL
    ours = LinearSVC(C=0.3, tol=tol, side=side, fit_intercept=False, max_iter=10_000).fit(X, y, s)
    agree(ours, theirs)


@pytest.mark.parametrize("name", ["a1a", "heart_scale", "australian", "leu", "pcmac"])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_hinge_on_real_data(name, C):
    """No objective of theirs is below our certificate, and w is where strong convexity has it."""
    X, y = real(name)
    s = weights(len(y))
    theirs = svm.LinearSVC(
        C=C, loss="hinge", tol=1e-7, fit_intercept=False, max_iter=20_000, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(X, y, s)
    ours = LinearSVC(C=C, loss="hinge", fit_intercept=False).fit(X, y, s)
    sign = np.where(y == ours.classes_[1], 1.0, -1.0)

    def objective(w):
        return C * s @ np.maximum(0.0, 1.0 - sign * (X @ w)) + 0.5 * w @ w

    unit = C * s.sum()
    mine, other = objective(ours.coef_[0]), objective(theirs.coef_[0])
    lowest = mine - ours.dual_gap_ * unit
    assert ours.dual_gap_ <= 1e-6
    assert other >= lowest - 1e-12 * unit
    apart = np.linalg.norm(ours.coef_ - theirs.coef_)
    assert apart <= np.sqrt(2 * (mine - lowest)) + np.sqrt(2 * max(other - lowest, 0.0)) + 1e-9


@pytest.mark.parametrize("name", ["housing_scale", "abalone_scale", "winequality-white"])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_epsilon_insensitive_on_real_data(name, epsilon):
    X, y = real(name)
    theirs = svm.LinearSVR(
        C=0.1, epsilon=epsilon, tol=1e-7, fit_intercept=False, max_iter=20_000, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(X, y)
    ours = LinearSVR(C=0.1, epsilon=epsilon, fit_intercept=False).fit(X, y)

    def objective(w):
        return 0.1 * np.maximum(0.0, np.abs(X @ w - y) - epsilon).sum() + 0.5 * w @ w

    unit = objective(np.zeros(X.shape[1]))
    mine, other = objective(ours.coef_), objective(theirs.coef_)
    lowest = mine - ours.dual_gap_ * unit
    assert ours.dual_gap_ <= 1e-6
    assert other >= lowest - 1e-12 * unit
    apart = np.linalg.norm(ours.coef_ - theirs.coef_)
    assert apart <= np.sqrt(2 * (mine - lowest)) + np.sqrt(2 * max(other - lowest, 0.0)) + 1e-9


def test_linear_svc_has_the_limit_of_their_penalised_intercept():
    X, y = real("heart_scale")
    theirs = svm.LinearSVC(C=0.3, tol=1e-12, dual=False, intercept_scaling=1e3, max_iter=1000).fit(
        X, y
    )
    agree(LinearSVC(C=0.3, tol=TOL).fit(X, y), theirs, rtol=1e-5)


@pytest.mark.parametrize("name", REGRESSION)
@pytest.mark.parametrize("side", SIDES)
def test_ridge_on_real_data(name, side):
    X, y = real(name)
    s = weights(len(y))
    dense = X.toarray()
    theirs = linear_model.Ridge(alpha=0.7, solver="svd").fit(dense, y, s)
    for kind in ("dense", "csc"):
        ours = Ridge(alpha=0.7, tol=TOL, side=side, max_iter=10_000).fit(stored(X, kind), y, s)
        agree(ours, theirs)


@pytest.mark.parametrize("name", ["housing_scale", "abalone_scale"])
@pytest.mark.parametrize("side", SIDES)
def test_linear_svr_on_real_data(name, side):
    X, y = real(name)
    theirs = svm.LinearSVR(
        C=0.1, epsilon=0.5, loss="squared_epsilon_insensitive", dual=False, tol=1e-12,
        fit_intercept=False, max_iter=1000,
    ).fit(X, y)  # fmt: skip
    ours = LinearSVR(
        C=0.1, epsilon=0.5, loss="squared_epsilon_insensitive", tol=TOL, side=side,
        fit_intercept=False, max_iter=10_000,
    ).fit(X, y)  # fmt: skip
    agree(ours, theirs)


def test_ridge_with_several_targets_and_penalties():
    X, y = load_diabetes(return_X_y=True)
    Y = np.stack([y, y**2 / 100, -y], axis=1)
    alphas = [0.1, 1.0, 5.0]
    theirs = linear_model.Ridge(alpha=alphas, solver="svd").fit(X, Y)
    agree(Ridge(alpha=alphas, tol=TOL).fit(X, Y), theirs)
    agree(Ridge(alpha=alphas, tol=TOL, n_jobs=2).fit(X, Y), theirs)


MULTI = {"iris": load_iris, "wine": load_wine, "digits": load_digits}


@pytest.mark.parametrize("name", MULTI)
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_multinomial_on_both_sides(name, kind):
    X, y = MULTI[name](return_X_y=True)
    X = scale(X)
    theirs = sklearn_logistic(X, y, C=0.1)
    tol = TIGHTER  # a gap contains a bound on its own rounding: here up to 1.8e-16
    for side in ("auto", *SIDES):
        ours = LogisticRegression(C=0.1, tol=tol, side=side, max_iter=3000)
        ours.fit(stored(X, kind), y)
        assert ours.dual_gap_ <= tol
        agree(ours, theirs)
        np.testing.assert_allclose(
            ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-7
        )


@pytest.mark.parametrize("side", SIDES)
def test_multinomial_on_all_of_a_text_collection(side, news20):
    X, y, theirs = news20
    ours = LogisticRegression(C=1.0, tol=5e-16, side=side, max_iter=3000).fit(X, y)
    assert ours.dual_gap_ <= 5e-16
    agree(ours, theirs)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-7)


@pytest.fixture(scope="module")
def news20():
    """All 15,935 documents in 20 classes, with scikit-learn's solution."""
    X, y = real("news20")
    X = normalize(X[:, X.getnnz(axis=0) > 0])
    return X, y, sklearn_logistic(X, y, C=1.0)


def test_weighted_multinomial_on_text():
    X, y = real("news20")
    X, y = normalize(X[::16]), y[::16]
    X, s = X[:, X.getnnz(axis=0) > 0], weights(len(y)) + 1  # every class needs a weight
    theirs = sklearn_logistic(X, y, C=1.0, sample_weight=s)
    for side in SIDES:
        # Not TIGHTER: some processors round so that epochs on the dual stop at 2.4e-16.
        ours = LogisticRegression(C=1.0, tol=5e-16, side=side, max_iter=3000).fit(X, y, s)
        agree(ours, theirs)
        np.testing.assert_allclose(
            ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-7
        )


def test_weighted_multinomial():
    X, y = load_wine(return_X_y=True)
    X, s = scale(X), weights(len(y))
    theirs = sklearn_logistic(X, y, C=0.3, sample_weight=s, class_weight="balanced")
    ours = LogisticRegression(C=0.3, tol=TOL, class_weight="balanced").fit(X, y, s)
    agree(ours, theirs)


@pytest.mark.parametrize("name", MULTI)
def test_ridge_classifier(name):
    X, y = MULTI[name](return_X_y=True)
    theirs = linear_model.RidgeClassifier(alpha=2.0, class_weight="balanced", solver="svd")
    theirs.fit(X, y)
    agree(RidgeClassifier(alpha=2.0, class_weight="balanced", tol=TOL).fit(X, y), theirs)


def test_one_against_the_rest():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    ours = LogisticRegression(C=0.5, multi_class="ovr", tol=TOL).fit(X, y)
    for k in range(3):
        theirs = sklearn_logistic(X, y == k, C=0.5)
        np.testing.assert_allclose(ours.coef_[k], theirs.coef_[0], rtol=0, atol=1e-6)


def test_ridge_cv_chooses_and_fits_alike():
    X, y = load_diabetes(return_X_y=True)
    alphas = np.logspace(-4, 1, 12)
    theirs = linear_model.RidgeCV(alphas=alphas).fit(X, y)
    ours = RidgeCV(alphas=alphas, tol=TOL).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-9)
    agree(ours, theirs)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_logistic_regression_cv_scores_alike(load):
    X, y = load(return_X_y=True)
    X = scale(X)
    Cs = [0.01, 0.1, 1.0]
    theirs = linear_model.LogisticRegressionCV(
        Cs=Cs, cv=4, tol=1e-8, max_iter=10_000, scoring="neg_log_loss", l1_ratios=(0,),
        use_legacy_attributes=False,
    ).fit(X, y)  # fmt: skip
    ours = LogisticRegressionCV(
        Cs=Cs, cv=4, tol=1e-12, scoring="neg_log_loss", use_legacy_attributes=False
    ).fit(X, y)
    assert ours.C_ == theirs.C_
    np.testing.assert_allclose(ours.scores_, theirs.scores_, atol=1e-5)
    agree(ours, theirs, rtol=1e-4)
