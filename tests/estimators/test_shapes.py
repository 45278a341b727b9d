"""Shapes, types and precision of fitted attributes: those of the installed scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model, svm
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.preprocessing import scale

from primaldual import estimators

CLASSIFIERS = [
    (estimators.LogisticRegression, linear_model.LogisticRegression),
    (estimators.LinearSVC, svm.LinearSVC),
    (estimators.RidgeClassifier, linear_model.RidgeClassifier),
]
REGRESSORS = [
    (estimators.Ridge, linear_model.Ridge),
    (estimators.HuberRegressor, linear_model.HuberRegressor),
    (estimators.LinearSVR, svm.LinearSVR),
]


def look(value):
    return type(value), getattr(value, "dtype", None), np.shape(value)


def outline(model, X, methods):
    """Type, precision and shape of what a fitted model has and gives."""
    found = {name: look(getattr(model, name)) for name in ("coef_", "intercept_")}
    for name in methods:
        found[name] = look(getattr(model, name)(X))
    if getattr(model, "n_iter_", None) is not None:
        found["n_iter_"] = look(model.n_iter_)
    return found


def same(ours, theirs, X, methods):
    own, other = outline(ours, X, methods), outline(theirs, X, methods)
    assert {name: own[name] for name in other} == other


def quietly(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn's solvers, and of columns as y
        return model.fit(X, y)


@pytest.mark.parametrize(("ours", "theirs"), CLASSIFIERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["two", "three", "column"])
def test_classifiers_have_their_shapes_and_types(ours, theirs, precision, fit_intercept, kind):
    X, y = load_wine(return_X_y=True)
    X = scale(X).astype(precision)
    y = {"two": np.minimum(y, 1), "three": y, "column": np.minimum(y, 1)[:, None]}[kind]
    pair = [quietly(cls(fit_intercept=fit_intercept), X, y) for cls in (ours, theirs)]
    methods = ["decision_function", "predict"]
    methods += [name for name in ("predict_proba", "predict_log_proba") if hasattr(pair[1], name)]
    same(*pair, X, methods)
    same(*pair, X.astype(np.float32), methods)


@pytest.mark.parametrize(("ours", "theirs"), REGRESSORS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["flat", "column", "two"])
def test_regressors_have_their_shapes_and_types(ours, theirs, precision, fit_intercept, kind):
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(precision)
    y = {"flat": y, "column": y[:, None], "two": np.stack([y, -y], axis=1)}[kind]
    if kind == "two" and theirs is not linear_model.Ridge:
        with pytest.raises(ValueError, match="1d array"):
            ours().fit(X, y)
        return
    pair = [quietly(cls(fit_intercept=fit_intercept), X, y) for cls in (ours, theirs)]
    same(*pair, X, ["predict"])
    same(*pair, X.astype(np.float32), ["predict"])


def test_float32_data_is_computed_with_in_float64():
    """The coefficients are the rounded ones of a float64 fit on the same numbers."""
    X, y = load_wine(return_X_y=True)
    X = scale(X).astype(np.float32)
    for kind in (estimators.LogisticRegression, estimators.RidgeClassifier):
        single = kind(tol=1e-12).fit(X, y)
        double = kind(tol=1e-12).fit(X.astype(np.float64), y)
        assert single.coef_.dtype == np.float32 and double.coef_.dtype == np.float64
        np.testing.assert_allclose(single.coef_, double.coef_, rtol=2e-6, atol=1e-7)
        assert single.dual_gap_ <= 1e-12


def test_a_float64_model_scores_float32_data_in_float64():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    model = estimators.LogisticRegression().fit(X, y)
    rounded = X.astype(np.float32)
    np.testing.assert_array_equal(
        model.decision_function(rounded), model.decision_function(rounded.astype(np.float64))
    )


def test_ridge_names_the_method_that_finished():
    X, y = load_diabetes(return_X_y=True)
    assert estimators.Ridge(side="primal").fit(X, y).solver_ in ("newton", "newton_cg", "primal_cd")
    assert isinstance(estimators.RidgeClassifier().fit(X, y > 100).solver_, str)


@pytest.mark.parametrize("kind", [ours for ours, _ in CLASSIFIERS + REGRESSORS])
def test_sparse_targets_are_refused_in_scikit_learns_words(kind):
    X, y = load_wine(return_X_y=True)
    column = sparse.csr_matrix((y > 0).astype(float)[:, None])
    with pytest.raises(TypeError, match="Sparse data was passed for y, but dense data is required"):
        kind().fit(X, column)


def test_our_classifiers_are_linear_classifiers_for_scikit_learn():
    for kind in (*[ours for ours, _ in CLASSIFIERS], estimators.LinearClassifier):
        assert isinstance(kind(), LinearClassifierMixin)


def test_logarithms_of_probabilities_agree_with_the_probabilities():
    """Also where a probability is 1 up to the rounding of float32."""
    X, y = load_wine(return_X_y=True)
    X = (30 * scale(X)).astype(np.float32)
    for classes in (2, 3):
        model = estimators.LogisticRegression(C=10.0).fit(X, np.minimum(y, classes - 1))
        probabilities = model.predict_proba(X)
        assert (probabilities == 1).any()
        logarithms = model.predict_log_proba(X)
        some = probabilities > 0
        np.testing.assert_allclose(logarithms[some], np.log(probabilities[some]), rtol=1e-5)
        assert (logarithms[probabilities == 1] == 0).all()
        assert np.isfinite(logarithms).all()
