"""Classes without weight, weights of absent classes, one class: as scikit-learn fits them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.preprocessing import scale
from sklearn.utils.class_weight import compute_sample_weight

from primaldual.estimators import LinearClassifier, LinearSVC, LogisticRegression, RidgeClassifier

CLASSIFIERS = [
    LogisticRegression(),
    LogisticRegression(fit_intercept=False),
    LogisticRegression(multi_class="ovr"),
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(fit_intercept=False),
    LinearClassifier(loss="probit"),
    RidgeClassifier(),
]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
@pytest.mark.parametrize("classes", [3, 2])
def test_a_class_without_weight_is_fitted_and_certified(model, classes, wine):
    X, y = wine
    X, y = X[y < classes], y[y < classes]
    model.fit(X, y, (y != 1).astype(float))
    assert model.dual_gap_ <= model.tol
    assert np.atleast_2d(model.coef_).shape == ((1 if classes == 2 else 3), 13)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()
    predicted = model.predict(X[y != 1])
    if model.fit_intercept:
        assert set(predicted) <= {0, 2}
    assert (predicted == y[y != 1]).mean() > 0.95
    again = type(model)(**model.get_params()).set_params(class_weight={1: 0.0}).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_the_softmax_with_a_class_ruled_out_is_the_softmax_of_the_others(wine):
    X, y = wine
    model = LogisticRegression(tol=1e-12).fit(X, y, (y != 1).astype(float))
    # Two classes of the softmax with w and −w have half the penalty of one model with 2w.
    others = linear_model.LogisticRegression(C=2.0, tol=1e-10, solver="newton-cholesky")
    others.fit(X[y != 1], y[y != 1])
    np.testing.assert_allclose(
        model.predict_proba(X[y != 1])[:, [0, 2]], others.predict_proba(X[y != 1]), atol=1e-6
    )
    assert model.predict_proba(X[y != 1])[:, 1].max() < 1e-15
    # The objective with all three classes is what the certificate says, up to rounding.
    z = model.decision_function(X[y != 1])
    loss = np.logaddexp.reduce(z, axis=1) - z[np.arange(len(z)), y[y != 1]]
    both = model.decision_function(X[y != 1])[:, [0, 2]]
    without = np.logaddexp.reduce(both, axis=1) - z[np.arange(len(z)), y[y != 1]]
    assert loss.sum() == pytest.approx(without.sum(), rel=1e-12)


def test_one_class_with_weight_is_always_predicted(wine):
    X, y = wine
    for model in (LogisticRegression(), LinearSVC(), RidgeClassifier()):
        model.fit(X, y, (y == 2).astype(float))
        assert model.dual_gap_ <= model.tol
        assert (model.predict(X[y == 2]) == 2).all()
        assert model.coef_.shape == (3, 13)
    binary = LogisticRegression().fit(X[y < 2], y[y < 2], (y[y < 2] == 0).astype(float))
    assert (binary.predict(X) == 0).all()


def test_bootstraps_that_miss_a_class_are_fitted():
    X, y = load_iris(return_X_y=True)
    few = np.r_[0:50, 50:52, 100:102]  # two examples of two classes
    bag = BaggingClassifier(LogisticRegression(), n_estimators=8, random_state=0)
    bag.fit(X[few], y[few])
    assert bag.predict_proba(X).shape == (150, 3)


def test_class_weight_may_name_labels_that_are_not_there(wine):
    X, y = wine
    some = {0: 2.0, 1: 1.0, 2: 3.0, 7: 5.0}
    for kind in (LogisticRegression, LinearSVC, RidgeClassifier):
        plain = kind(class_weight={0: 2.0, 2: 3.0}).fit(X, y)
        np.testing.assert_array_equal(kind(class_weight=some).fit(X, y).coef_, plain.coef_)
        with pytest.raises(ValueError, match=r"The classes, \[1\], are not in class_weight"):
            kind(class_weight={0: 2.0, 2: 3.0, 7: 5.0}).fit(X, y)


def test_class_weight_takes_labels_of_any_kind(wine):
    X, y = wine
    names = np.array(["ant", "bee", "cat"])[y]
    plain = LogisticRegression(class_weight={0: 2.0}).fit(X, y)
    named = LogisticRegression(class_weight={"ant": 2.0}).fit(X, names)
    np.testing.assert_array_equal(plain.coef_, named.coef_)


def test_ridge_classifier_balances_by_counts_as_scikit_learn_does(wine):
    X, y = wine
    s = np.random.default_rng(0).integers(1, 5, len(y)).astype(float)
    theirs = linear_model.RidgeClassifier(class_weight="balanced", solver="svd").fit(X, y, s)
    ours = RidgeClassifier(class_weight="balanced", tol=1e-14).fit(X, y, s)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    counted = RidgeClassifier(tol=1e-14).fit(X, y, s * compute_sample_weight("balanced", y))
    np.testing.assert_allclose(ours.coef_, counted.coef_, atol=1e-12)


def test_ridge_classifier_takes_one_class(wine):
    X, _ = wine
    for labels in (np.zeros(len(X), dtype=int), np.full(len(X), "only")):
        ours = RidgeClassifier().fit(X, labels)
        theirs = linear_model.RidgeClassifier().fit(X, labels)
        np.testing.assert_array_equal(ours.classes_, theirs.classes_)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
