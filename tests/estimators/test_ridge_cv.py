"""RidgeCV and RidgeClassifierCV: exact leave-one-out, scikit-learn's choices, routing."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_regression
from sklearn.metrics import get_scorer, make_scorer, mean_absolute_error
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneOut
from sklearn.preprocessing import scale
from sklearn.utils.metadata_routing import MetadataRouter

from primaldual import load
from primaldual.estimators import RidgeClassifier, RidgeClassifierCV, RidgeCV
from primaldual.estimators import left_out as loo_module
from primaldual.estimators.left_out import leave_one_out

ALPHAS = (1e-3, 0.1, 1.0, 30.0)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def refitted(X, Y, alpha, weights, intercept):
    """Leave-one-out predictions by their definition: n fits."""
    predictions = np.empty(Y.shape)
    for j in range(len(Y)):
        rest = np.arange(len(Y)) != j
        own = None if weights is None else weights[rest]
        model = linear_model.Ridge(alpha, fit_intercept=intercept, solver="svd")
        predictions[j] = model.fit(X[rest], Y[rest], own).predict(X[[j]])[0]
    return predictions


@pytest.mark.parametrize("mode", ["auto", "eigen", "svd"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", [(13, 5), (8, 8), (7, 19)])
def test_leave_one_out_predictions_are_those_of_n_fits(shape, intercept, weighted, mode):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.7) + 2
    Y = rng.normal(size=(shape[0], 2)) + 5
    weights = rng.integers(0, 4, shape[0]).astype(float) if weighted else None
    found = leave_one_out(X, Y, np.array([0.01, 3.0]), weights, intercept, mode)
    of_sparse = leave_one_out(
        sparse.csc_array(X), Y, np.array([0.01, 3.0]), weights, intercept, mode
    )
    for k, alpha in enumerate((0.01, 3.0)):
        expected = refitted(X, Y, alpha, weights, intercept)
        np.testing.assert_allclose(found[:, :, k], expected, rtol=1e-8)
        np.testing.assert_allclose(of_sparse[:, :, k], expected, rtol=1e-7)


@pytest.mark.parametrize("shape", [(30, 6), (6, 30)])
def test_leave_one_out_keeps_its_digits_where_alpha_is_tiny(shape):
    rng = np.random.default_rng(1)
    X = rng.normal(size=shape) * np.logspace(0, -3, shape[1])
    Y = rng.normal(size=(shape[0], 1))
    found = leave_one_out(X, Y, np.array([1e-9]), None, True)
    np.testing.assert_allclose(found[:, :, 0], refitted(X, Y, 1e-9, None, True), rtol=1e-5)


def test_leave_one_out_works_in_blocks(monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    whole = leave_one_out(X, y[:, None], np.array([1.0]), None, True)
    monkeypatch.setattr(loo_module, "BLOCK_ENTRIES", 100)
    blocks = leave_one_out(X, y[:, None], np.array([1.0]), None, True)
    np.testing.assert_allclose(whole, blocks, rtol=1e-12)


def test_leave_one_out_says_when_it_needs_too_much_memory(monkeypatch):
    monkeypatch.setattr(loo_module, "MOST_ENTRIES", 50)
    with pytest.raises(ValueError, match="Set cv, for example cv=5"):
        RidgeCV().fit(np.eye(20), np.arange(20.0))


# --- as scikit-learn ------------------------------------------------------------------------------


def agree(ours, theirs, X):
    """The same choice, score, shapes and numbers."""
    assert np.all(ours.alpha_ == theirs.alpha_)
    assert np.shape(ours.alpha_) == np.shape(theirs.alpha_)
    assert np.shape(ours.best_score_) == np.shape(theirs.best_score_)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-6)
    np.testing.assert_allclose(np.ravel(ours.coef_), np.ravel(theirs.coef_), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(
        ours.predict(X).astype(float), theirs.predict(X).astype(float), rtol=1e-4
    )


PARAMETERS = [
    {},
    {"alphas": 1},
    {"alphas": 0.5},
    {"alphas": np.array([2.0])},
    {"fit_intercept": False},
    {"scoring": "r2"},
    {"scoring": "neg_mean_absolute_error"},
    {"scoring": make_scorer(mean_absolute_error, greater_is_better=False)},
    {"gcv_mode": "svd"},
    {"gcv_mode": "eigen"},
    {"cv": 3},
    {"cv": 4, "scoring": "neg_mean_squared_error"},
    {"cv": LeaveOneOut(), "scoring": "neg_mean_squared_error"},
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_ridge_cv_chooses_as_scikit_learn(parameters, targets, weighted):
    X, y = make_regression(40, 6, n_targets=targets, noise=20.0, random_state=0)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 40) if weighted else None
    parameters = {"alphas": ALPHAS, **parameters}
    ours = RidgeCV(tol=1e-12, **parameters).fit(X, y, sample_weight=weights)
    theirs = linear_model.RidgeCV(**parameters).fit(X, y, sample_weight=weights)
    agree(ours, theirs, X)


@pytest.mark.parametrize("scoring", [None, "r2"])
def test_every_target_may_have_its_own_alpha(scoring):
    X, y = make_regression(40, 6, n_targets=3, noise=20.0, random_state=0)
    y[:, 1] = np.random.default_rng(0).normal(size=40)
    parameters = {"alphas": ALPHAS, "alpha_per_target": True, "scoring": scoring}
    ours = RidgeCV(tol=1e-12, **parameters).fit(X, y)
    assert len(set(ours.alpha_)) > 1
    agree(ours, linear_model.RidgeCV(**parameters).fit(X, y), X)
    single = RidgeCV(**parameters).fit(X, y[:, 0])
    assert isinstance(single.alpha_, float)


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("scoring", [None, "r2"])
def test_results_of_every_example_are_stored_as_in_scikit_learn(targets, scoring):
    X, y = make_regression(30, 5, n_targets=targets, noise=9.0, random_state=0)
    weights = np.linspace(0.5, 2.0, 30)
    parameters = {"alphas": ALPHAS, "store_cv_results": True, "scoring": scoring}
    ours = RidgeCV(**parameters).fit(X, y, weights)
    theirs = linear_model.RidgeCV(**parameters).fit(X, y, weights)
    assert ours.cv_results_.shape == theirs.cv_results_.shape
    np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-6)
    assert not hasattr(RidgeCV().fit(X, y), "cv_results_")


CLASSIFIERS = [
    {},
    {"class_weight": "balanced"},
    {"class_weight": {0: 5.0}},
    {"fit_intercept": False},
    {"store_cv_results": True},
    {"cv": 3},
    {"cv": 3, "class_weight": "balanced", "scoring": "f1_macro"},
]


@pytest.mark.parametrize("data", [load_breast_cancer, load_wine])
@pytest.mark.parametrize("parameters", CLASSIFIERS, ids=str)
def test_ridge_classifier_cv_chooses_as_scikit_learn(parameters, data):
    X, y = data(return_X_y=True)
    X, y = scale(X)[::4], y[::4]
    ours = RidgeClassifierCV(ALPHAS, tol=1e-12, **parameters).fit(X, y)
    theirs = linear_model.RidgeClassifierCV(ALPHAS, **parameters).fit(X, y)
    agree(ours, theirs, X)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-5
    )
    if parameters.get("store_cv_results"):
        assert ours.cv_results_.shape == theirs.cv_results_.shape


def test_ridge_classifier_cv_scores_two_classes_left_out_by_their_labels():
    """As folds of one example do, and not as if there were one class only."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X)[::9], np.array(["no", "yes"])[y[::9]]
    alphas = (0.1, 10.0, 1e6)
    ours = RidgeClassifierCV(alphas, scoring="accuracy").fit(X, y)
    search = GridSearchCV(RidgeClassifier(), {"alpha": alphas}, cv=LeaveOneOut()).fit(X, y)
    np.testing.assert_allclose(ours.cv_scores_[0], search.cv_results_["mean_test_score"])
    assert ours.alpha_ == search.best_params_["alpha"]


def test_ridge_classifier_cv_takes_several_labels_per_example():
    X, y = load_wine(return_X_y=True)
    labels = np.eye(3, dtype=int)[y]
    ours = RidgeClassifierCV(ALPHAS, scoring="f1_macro").fit(scale(X), labels)
    assert ours.predict(scale(X)).shape == labels.shape
    assert ours.best_score_ > 0.9


def test_singular_vectors_are_for_dense_data():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(FutureWarning, match="'svd' mode is not supported for sparse X"):
        model = RidgeCV(gcv_mode="svd").fit(sparse.csr_array(X), y)
    assert model.alpha_ == RidgeCV().fit(X, y).alpha_


def test_there_has_to_be_a_value_to_try():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="alphas must have at least one value"):
        RidgeCV([]).fit(X, y)


def test_alpha_zero_is_for_folds_only():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"alphas\[0\] == 0.0, must be > 0"):
        RidgeCV([0.0, 1.0]).fit(X, y)
    ours = RidgeCV([0.0, 1.0], cv=3).fit(X, y)
    theirs = linear_model.RidgeCV([0.0, 1.0], cv=3).fit(X, y)
    assert ours.alpha_ == theirs.alpha_ == 0.0
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-6)


def test_a_chosen_model_is_certified_saved_and_translated(tmp_path):
    X, y = load_wine(return_X_y=True)
    for model in (RidgeCV(store_cv_results=True), RidgeClassifierCV(store_cv_results=True)):
        model.fit(X, y)
        assert model.dual_gap_ <= model.tol
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert np.array_equal(again.predict(X), model.predict(X))
        assert again.alpha_ == model.alpha_
        assert np.allclose(model.to_sklearn().predict(X), model.predict(X))


# --- routing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [RidgeCV(cv=GroupKFold(3)), RidgeClassifierCV(cv=GroupKFold(3))])
def test_groups_reach_the_splitter(routing, model):
    X, y = load_wine(return_X_y=True)
    groups = np.arange(len(y)) % 7
    ours = clone(model).fit(X, y, groups=groups)
    theirs = getattr(linear_model, type(model).__name__)(cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-6)


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("request_weights", [True, False])
def test_weights_reach_a_scorer_that_requests_them(routing, cv, request_weights):
    X, y = load_diabetes(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.1, 5.0, len(y))
    scorer = get_scorer("neg_mean_absolute_error").set_score_request(sample_weight=request_weights)
    ours = RidgeCV(ALPHAS, cv=cv, scoring=scorer).fit(X, y, sample_weight=weights)
    theirs = linear_model.RidgeCV(ALPHAS, cv=cv, scoring=scorer).fit(X, y, sample_weight=weights)
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-5)


def test_routing_is_that_of_a_router(routing):
    router = RidgeCV(cv=GroupKFold(3)).get_metadata_routing()
    assert isinstance(router, MetadataRouter)
    assert router.consumes("fit", ["groups", "other"]) == {"groups"}


def test_metadata_without_routing_is_refused():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"is not enabled|enable_metadata_routing"):
        RidgeCV(cv=GroupKFold(3)).fit(X, y, groups=y)
