"""Leave-one-out without refitting and standard errors, against refits and other libraries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.preprocessing import scale

from primaldual import LOSSES, loo
from primaldual.estimators import (
    HuberRegressor,
    LinearClassifier,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from primaldual.estimators.curvature import Curvature
from primaldual.problem import Problem

XB, YB = load_breast_cancer(return_X_y=True)
XB, YB = scale(XB)[::9, :8], YB[::9]
XD, YD = load_diabetes(return_X_y=True)
XD, YD = scale(XD)[::7], YD[::7]
XW, YW = load_wine(return_X_y=True)
XW, YW = scale(XW)[::4, :5], YW[::4]


def refitted(model, X, y, weights=None):
    """Leave-one-out by its definition."""
    found = []
    for j in range(len(y)):
        rest = np.arange(len(y)) != j
        other = clone(model).fit(X[rest], y[rest], None if weights is None else weights[rest])
        method = getattr(other, "decision_function", other.predict)
        found.append(method(X[[j]])[0])
    return np.array(found)


# --- leave-one-out --------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (Ridge(3.0), XD, YD),
        (Ridge(3.0, fit_intercept=False), XD, YD),
        (Ridge([1.0, 30.0]), XD, np.stack([YD, -YD + XD[:, 0]], axis=1)),
        (RidgeClassifier(3.0), XB, YB),
        (RidgeClassifier(3.0), XW, YW),
        (LinearRegressor("squared", alpha=5.0), XD, YD),
        (Ridge(3.0), np.hstack([XD, np.sin(XD * 3), np.cos(XD), XD**2, XD**3, XD**4, XD**5]), YD),
    ],
    ids=lambda value: repr(value) if hasattr(value, "fit") else "",
)
def test_quadratic_losses_are_exact(model, X, y, weighted):
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float) if weighted else None
    found = loo(model, X, y, weights)
    assert found.exact and found.error == 0 and not len(found.checked)
    np.testing.assert_allclose(found.predictions, refitted(model, X, y, weights), rtol=1e-7)


SMOOTH = [
    (LogisticRegression(C=0.3), XB, YB),
    (LogisticRegression(C=0.3, fit_intercept=False), XB, YB),
    (LogisticRegression(C=0.3, class_weight="balanced"), XB, YB),
    (LogisticRegression(C=0.3, multi_class="ovr"), XW, YW),
    (LogisticRegression(C=0.01), np.hstack([XB**k for k in range(1, 9)]), YB),
    (LinearClassifier("probit", C=0.3), XB, YB),
    (LinearSVC(C=0.05), XB, YB),
    (LinearRegressor(LOSSES["huber"](60.0), alpha=10.0), XD, YD),
    (LinearSVR(C=0.1, epsilon=5.0, loss="squared_epsilon_insensitive"), XD, YD),
]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "X", "y"), SMOOTH, ids=lambda v: repr(v) if hasattr(v, "fit") else ""
)
def test_smooth_losses_are_nearly_exact_and_the_error_is_known(model, X, y):
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    if model.get_params().get("class_weight") is not None:
        weights = None  # "balanced" weights are others without an example
    found = loo(model, X, y, weights, refits=len(y))
    tight = clone(model).set_params(tol=1e-12)
    apart = found.predictions - refitted(tight, X, y, weights)
    assert not found.exact
    np.testing.assert_allclose(found.error, np.abs(apart).max(), rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(
        found.typical_error, np.sqrt(np.mean(apart**2)), rtol=1e-2, atol=1e-6
    )
    fitted = clone(tight).fit(X, y, weights)
    still = getattr(fitted, "decision_function", fitted.predict)(X)
    moved = np.sqrt(np.mean((found.predictions - still) ** 2))
    assert found.typical_error < 0.25 * moved  # most of what leaving out does is seen
    some = loo(model, X, y, weights, refits=5)
    np.testing.assert_array_equal(some.predictions, found.predictions)
    assert len(some.checked) == 5 and some.error <= found.error * (1 + 1e-9)
    assert "approximate" in str(some)


def test_both_sides_of_the_data_give_the_same_leverages():
    for shape in ((30, 12), (12, 30)):
        X = np.random.default_rng(0).normal(size=shape) + 1
        y = np.sign(X[:, 0] - 1 + np.random.default_rng(1).normal(size=len(X)))
        for intercept in (True, False):
            for stored in (np.asarray, sparse.csr_array):
                p = Problem(stored(X), y, "logistic", 0.02, fit_intercept=intercept)
                w = np.full(shape[1], 0.1)
                one, other = Curvature(p, w), Curvature(p, w, on_features=True)
                assert one.wide == (shape[1] > shape[0]) and not other.wide
                np.testing.assert_allclose(one.leverages(), other.leverages(), rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogisticRegression(), "softmax.*multi_class='ovr'"),
        (LinearSVC(loss="hinge"), "has kinks"),
        (HuberRegressor(), "fits its scale.*LinearRegressor"),
        (RidgeCV(), "with its C or alpha chosen"),
    ],
    ids=repr,
)
def test_what_has_no_factored_hessian_is_refused(model, message):
    with pytest.raises(TypeError, match=message):
        loo(model, XW, YW)


# --- cv="loo" -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", [None, "neg_log_loss", "roc_auc"])
def test_logistic_regression_cv_scores_what_was_left_out(scoring):
    Cs = (1e-3, 0.01, 0.1, 1.0)
    model = LogisticRegressionCV(Cs=Cs, cv="loo", scoring=scoring, use_legacy_attributes=False)
    model.fit(XB, YB)
    assert model.scores_.shape == (1, 1, 4) and model.dual_gap_ <= model.tol
    if scoring == "roc_auc":  # of all examples together: no fold of one has it
        assert model.scores_.max() > 0.9
        return
    search = GridSearchCV(LogisticRegression(), {"C": Cs}, cv=LeaveOneOut(), scoring=scoring)
    if scoring == "neg_log_loss":
        losses = [
            [np.logaddexp(0, -np.where(YB == 1, 1, -1) * refitted(LogisticRegression(C=C), XB, YB))]
            for C in Cs
        ]
        expected = -np.array(losses).mean(axis=(1, 2))
    else:
        expected = search.fit(XB, YB).cv_results_["mean_test_score"]
    np.testing.assert_allclose(model.scores_[0, 0], expected, rtol=0.03, atol=0.02)
    if scoring == "neg_log_loss":
        assert Cs[int(expected.argmax())] == model.C_


def test_cv_loo_of_several_classes_is_one_against_the_rest():
    with pytest.raises(ValueError, match="multi_class='ovr'"):
        LogisticRegressionCV(cv="loo").fit(XW, YW)
    model = LogisticRegressionCV(Cs=3, cv="loo", multi_class="ovr").fit(XW, YW)
    assert model.score(XW, YW) > 0.8


# --- standard errors ------------------------------------------------------------------------------


def columns(model, *data):
    """Coefficients and both kinds of standard errors, the intercept last."""
    rows = model.summary(*data).rows()
    return (np.array([row[name] for row in rows]) for name in ("coef", "model_se", "sandwich_se"))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_a_penalty_least_squares_has_the_errors_of_ordinary_formulas(
    weighted, fit_intercept
):
    weights = (
        np.random.default_rng(0).integers(1, 4, len(YD)) if weighted else np.ones(len(YD), int)
    )
    model = Ridge(0.0, fit_intercept=fit_intercept).fit(XD, YD, weights)
    coef, own, robust = columns(model, XD, YD, weights)
    many = np.repeat(np.arange(len(YD)), weights)
    A = np.column_stack([XD, np.ones(len(YD))])[many] if fit_intercept else XD[many]
    inverse = np.linalg.inv(A.T @ A)
    residual = YD[many] - A @ coef
    variance = residual @ residual / (len(A) - A.shape[1])
    np.testing.assert_allclose(own, np.sqrt(variance * np.diag(inverse)), rtol=1e-7)
    meat = A.T @ (residual[:, None] ** 2 * A)
    np.testing.assert_allclose(robust, np.sqrt(np.diag(inverse @ meat @ inverse)), rtol=1e-7)


def test_errors_are_those_of_statsmodels_as_the_penalty_vanishes():
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    X = XB[:, [0, 1, 4]]
    y = YB ^ (np.random.default_rng(0).random(len(YB)) < 0.2)
    A = np.column_stack([X, np.ones(len(X))])
    for penalty, rtol in ((np.inf, 1e-5), (1e8, 1e-5)):
        coef, own, robust = columns(LogisticRegression(C=penalty, tol=1e-9).fit(X, y), X, y)
        plain = api.Logit(y, A).fit(disp=0, tol=1e-12)
        np.testing.assert_allclose(coef, plain.params, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(own, plain.bse, rtol=rtol)
        hc0 = api.Logit(y, A).fit(disp=0, tol=1e-12, cov_type="HC0")
        np.testing.assert_allclose(robust, hc0.bse, rtol=rtol)
    coef, own, robust = columns(Ridge(1e-9).fit(XD, YD), XD, YD)
    B = np.column_stack([XD, np.ones(len(XD))])
    np.testing.assert_allclose(own, api.OLS(YD, B).fit().bse, rtol=1e-5)
    np.testing.assert_allclose(robust, api.OLS(YD, B).fit(cov_type="HC0").bse, rtol=1e-5)


def test_the_sandwich_is_the_spread_of_the_penalised_estimator():
    """Over data sets drawn anew, whose penalised coefficients are far from the true ones."""
    rng = np.random.default_rng(0)
    truth, found, errors = np.array([2.0, -1.0, 0.0]), [], []
    for _ in range(200):
        X = rng.normal(size=(150, 3))
        y = rng.random(150) < 1 / (1 + np.exp(-X @ truth))
        model = LogisticRegression(C=0.05).fit(X, y)
        found.append(model.coef_[0])
        errors.append([row["sandwich_se"] for row in model.summary(X, y).rows()][:3])
    spread = np.std(found, axis=0)
    np.testing.assert_allclose(np.mean(errors, axis=0), spread, rtol=0.15)
    assert abs(np.mean(found, axis=0)[0] - 2.0) > 5 * spread[0]  # the bias is not in the error


def test_the_hessian_of_logistic_regression_is_that_of_its_objective():
    model = LogisticRegression(C=0.5, tol=1e-12, class_weight={0: 2.0, 1: 0.5}).fit(XB, YB)
    coef, own, _ = columns(model, XB, YB)
    s = np.where(YB == 0, 2.0, 0.5)
    A = np.column_stack([XB, np.ones(len(XB))])
    p = 1 / (1 + np.exp(-A @ coef))
    hessian = A.T @ ((s * p * (1 - p))[:, None] * A) + np.diag([1 / 0.5] * 8 + [0.0])
    np.testing.assert_allclose(own, np.sqrt(np.diag(np.linalg.inv(hessian))), rtol=1e-6)


def test_the_table_has_names_and_says_whose_errors_they_are():
    frame = pd.DataFrame(XB[:, :2], columns=["radius", "texture"])
    model = LogisticRegression(C=0.5).fit(frame, YB)
    text = str(model.summary(frame, YB))
    assert "radius" in text and "intercept" in text and "sandwich se" in text
    assert "of the penalised estimator" in text and "without its bias" in text
    bare = model.summary()
    assert "se" not in str(bare).split("\n")[1] and bare.rows()[0]["name"] == "radius"
    assert set(bare.rows()[0]) == {"problem", "name", "coef"}
    classes = LogisticRegression().fit(XW, YW).summary()
    assert [row["problem"] for row in classes.rows()][::6] == ["0", "1", "2"]
    svc = LinearSVC(C=0.1).fit(XB, YB).summary(XB, YB).rows()[0]
    assert np.isnan(svc["model_se"]) and svc["sandwich_se"] > 0  # no likelihood


def test_ridge_cv_and_loo_have_one_leave_one_out():
    chosen = RidgeCV([3.0], store_cv_results=True).fit(XD, YD)
    errors = (loo(Ridge(3.0), XD, YD).predictions - YD) ** 2
    np.testing.assert_allclose(chosen.cv_results_[:, 0], errors, rtol=1e-8)
    theirs = linear_model.RidgeCV([3.0], store_cv_results=True).fit(XD, YD)
    np.testing.assert_allclose(theirs.cv_results_[:, 0], errors, rtol=1e-6)


def test_what_the_hessian_knows_nothing_of_is_refused():
    rng = np.random.default_rng(0)
    X, offset = rng.standard_normal((60, 3)), rng.standard_normal(60)
    y = X[:, 0] + rng.standard_normal(60) > 0
    plain = LogisticRegression().fit(X, y)
    for known in ({"offset": offset}, {"prior": plain}):
        with pytest.raises(ValueError, match="no solution for this X and y"):
            LogisticRegression().fit(X, y, **known).summary(X, y)
    with pytest.raises(ValueError, match="no solution for this X and y"):
        plain.summary(X[::-1], y)
    weighted = PoissonRegressor(penalty_weights=[1, 9, 1])
    with pytest.raises(TypeError, match="a penalty per feature"):
        loo(weighted, X, y)
    with pytest.raises(TypeError, match="a penalty per feature"):
        weighted.fit(X, y).summary(X, y)
