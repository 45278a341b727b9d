"""Everyday code, run with both import lines: the same types, shapes, choices and numbers.

A snippet is a function of the module its estimators come from. Most are made from a model with its
parameters and something that is done with it; some are written by hand.
"""

from __future__ import annotations

import io
import pickle
from types import SimpleNamespace

import joblib
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import (
    calibration,
    ensemble,
    feature_selection,
    inspection,
    linear_model,
    metrics,
    multiclass,
    multioutput,
    svm,
)
from sklearn import model_selection as ms
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import primaldual.estimators as ours

from .snippets_by_hand import BY_HAND, EXACT, NAMES, TARGETS, XB, XD, YB, YD, X, Y

mpl.use("agg")
theirs = SimpleNamespace(
    **{
        name: getattr(linear_model, name, None) or getattr(svm, name)
        for name in ours.__all__
        if hasattr(linear_model, name) or hasattr(svm, name)
    }
)
RTOL, ATOL = 2e-3, 1e-3

CLASSIFIERS = {
    "LogisticRegression()": ("LogisticRegression", EXACT),
    "LogisticRegression(C=0.1)": ("LogisticRegression", EXACT | {"C": 0.1}),
    "LogisticRegression(newton-cg, no intercept)": (
        "LogisticRegression", EXACT | {"solver": "newton-cg", "fit_intercept": False},
    ),
    "LogisticRegression(balanced)": ("LogisticRegression", EXACT | {"class_weight": "balanced"}),
    "LogisticRegressionCV": (
        "LogisticRegressionCV", EXACT | {"Cs": (0.01, 1.0), "cv": 3, "l1_ratios": (0,)},
    ),
    "LinearSVC": ("LinearSVC", EXACT | {"fit_intercept": False, "C": 0.3}),
    "LinearSVC(dual=False)": (
        "LinearSVC", EXACT | {"fit_intercept": False, "C": 0.1, "dual": False},
    ),
    "RidgeClassifier": ("RidgeClassifier", {"alpha": 2.0, "tol": 1e-9}),
    "RidgeClassifier(balanced)": ("RidgeClassifier", {"class_weight": "balanced", "tol": 1e-9}),
    "RidgeClassifierCV": ("RidgeClassifierCV", {"alphas": (0.1, 10.0)}),
}  # fmt: skip
REGRESSORS = {
    "Ridge()": ("Ridge", {"tol": 1e-9}),
    "Ridge(alpha=20, lsqr)": ("Ridge", {"alpha": 20.0, "solver": "lsqr", "tol": 1e-9}),
    "Ridge(no intercept)": ("Ridge", {"fit_intercept": False, "tol": 1e-9}),
    "RidgeCV": ("RidgeCV", {"alphas": (0.1, 1.0, 10.0)}),
    "RidgeCV(cv=3)": ("RidgeCV", {"alphas": (0.1, 1.0, 10.0), "cv": 3, "scoring": "r2"}),
    "LinearSVR": ("LinearSVR", EXACT | {"fit_intercept": False, "epsilon": 0.3}),
    "LinearSVR(squared)": (
        "LinearSVR",
        EXACT | {"fit_intercept": False, "loss": "squared_epsilon_insensitive", "C": 0.1},
    ),
}


def strength(model):
    """The name of the parameter to search over, with two values."""
    for name, values in (("C", [0.05, 1.0]), ("alpha", [0.1, 30.0]), ("Cs", [[0.1], [1.0]])):
        if name in model.get_params():
            return {name: values}
    return {"alphas": [[0.1], [30.0]]}


# --- what is done with a classifier ---------------------------------------------------------------


def fitted(model):
    model.fit(X, Y)
    check_is_fitted(model)
    return {
        "attributes": [model.coef_, model.intercept_, model.classes_, model.n_features_in_],
        "predictions": [model.predict(X), model.decision_function(X), model.score(X, Y)],
        "kinds": [is_classifier(model), is_regressor(model)],
    }


def two_classes(model):
    labels = np.array(["no", "yes"])[YB]
    model.fit(XB, labels, sample_weight=np.linspace(0.5, 2, 60))
    return [model.coef_, model.intercept_, model.predict(XB), model.decision_function(XB)]


def sparse_data(model):
    model.fit(sparse.csr_matrix(X), Y)
    return [model.coef_, model.predict(sparse.csc_array(X)), model.sparsify().coef_.shape
            if hasattr(model, "sparsify") else (3, 4)]  # fmt: skip


def pipeline(model):
    pipe = make_pipeline(StandardScaler(), model).fit(X, Y)
    return [pipe.predict(X), pipe.decision_function(X[:5]), pipe[-1].coef_, pipe.classes_]


def grid(model):
    search = ms.GridSearchCV(model, strength(model), cv=3).fit(X, Y)
    return [search.best_params_, search.best_score_, search.cv_results_["mean_test_score"]]


def calibrated(model):
    return calibration.CalibratedClassifierCV(model, cv=3).fit(X, Y).predict_proba(X)


def one_vs_rest(model):
    made = multiclass.OneVsRestClassifier(model).fit(X, Y)
    return [made.predict(X), made.decision_function(X), len(made.estimators_)]


def bagging(model):
    made = ensemble.BaggingClassifier(model, 4, random_state=0).fit(X, Y)
    return [made.predict_proba(X), [each.coef_ for each in made.estimators_]]


def stacking(model):
    made = ensemble.StackingClassifier([("a", model), ("b", clone(model))], cv=2).fit(X, Y)
    return [made.predict(X), made.transform(X)]


def voting(model):
    made = ensemble.VotingClassifier([("a", model), ("b", clone(model))]).fit(X, Y)
    return [made.predict(X), made.transform(X)]


def select_from_model(model):
    made = feature_selection.SelectFromModel(model).fit(X, Y)
    return [made.get_support(), made.threshold_, made.transform(X)]


def rfe(model):
    made = feature_selection.RFE(model, n_features_to_select=2).fit(X, Y)
    return [made.ranking_, made.support_, made.predict(X)]


def many_outputs(model):
    labels = np.stack([YB, 1 - YB], axis=1)
    made = multioutput.MultiOutputClassifier(model).fit(XB, labels)
    chain = multioutput.ClassifierChain(model, order=[1, 0]).fit(XB, labels)
    return [made.predict(XB), chain.predict(XB)]


def cross_validation(model):
    scores = ms.cross_validate(model, X, Y, cv=3, scoring=["accuracy", "f1_macro"])
    return [
        ms.cross_val_score(model, X, Y, cv=3),
        ms.cross_val_predict(model, X, Y, cv=3),
        scores["test_f1_macro"],
    ]


def curves(model):
    learned = ms.learning_curve(model, XB, YB, train_sizes=[20, 40], cv=3)
    (name, values) = next(iter(strength(model).items()))
    valid = ms.validation_curve(model, X, Y, param_name=name, param_range=values, cv=3)
    return [*learned, *valid]


def inspected(model):
    model.fit(XB, YB)
    importance = inspection.permutation_importance(model, XB, YB, n_repeats=2, random_state=0)
    dependence = inspection.partial_dependence(
        model, XB, [0], response_method="decision_function", grid_resolution=5
    )
    return [importance.importances, dependence["average"]]


def displays(model):
    model.fit(XB, YB)
    roc = metrics.RocCurveDisplay.from_estimator(model, XB, YB)
    confusion = metrics.ConfusionMatrixDisplay.from_estimator(model, XB, YB)
    boundary = inspection.DecisionBoundaryDisplay.from_estimator(
        clone(model).fit(XB[:, :2], YB), XB[:, :2], response_method="predict", grid_resolution=5
    )
    mpl.pyplot.close("all")
    return [roc.roc_auc, roc.fpr, confusion.confusion_matrix, boundary.response]


def copies(model):
    model.fit(X, Y)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    again = [pickle.loads(pickle.dumps(model)), joblib.load(file), FrozenEstimator(model)]
    return [[each.predict(X) for each in again], clone(model).get_params()["fit_intercept"]]


OF_CLASSIFIERS = [
    fitted, two_classes, sparse_data, pipeline, grid, calibrated, one_vs_rest, bagging, stacking,
    voting, select_from_model, rfe, many_outputs, cross_validation, curves, inspected, displays,
    copies,
]  # fmt: skip


# --- and with a regressor -------------------------------------------------------------------------


def regression(model):
    model.fit(XD, YD, sample_weight=np.linspace(0.5, 2, 80))
    check_is_fitted(model)
    return [model.coef_, model.predict(XD), model.score(XD, YD), np.shape(model.intercept_),
            model.n_features_in_, is_regressor(model)]  # fmt: skip


def sparse_regression(model):
    model.fit(sparse.csc_matrix(XD), YD)
    return [model.coef_, model.predict(sparse.csr_array(XD))]


def named_columns(model):
    frame = pd.DataFrame(XD, columns=NAMES)
    model.fit(frame, pd.Series(YD))
    return [model.feature_names_in_, model.predict(frame), model.coef_]


def regression_grid(model):
    search = ms.GridSearchCV(
        make_pipeline(StandardScaler(), model),
        {f"{type(model).__name__.lower()}__{name}": v for name, v in strength(model).items()}, cv=3,
    ).fit(XD, YD)  # fmt: skip
    return [search.best_params_, search.cv_results_["mean_test_score"], search.predict(XD)]


def regression_ensembles(model):
    bag = ensemble.BaggingRegressor(model, 3, random_state=0).fit(XD, YD)
    vote = ensemble.VotingRegressor([("a", model), ("b", clone(model))]).fit(XD, YD)
    stack = ensemble.StackingRegressor([("a", model)], cv=2).fit(XD, YD)
    return [bag.predict(XD), vote.predict(XD), stack.predict(XD)]


def regression_selection(model):
    chosen = feature_selection.SelectFromModel(model, threshold="mean").fit(XD, YD)
    ranked = feature_selection.RFECV(model, cv=3, min_features_to_select=2).fit(XD, YD)
    return [chosen.get_support(), ranked.ranking_, ranked.cv_results_["mean_test_score"]]


def regression_targets(model):
    made = multioutput.MultiOutputRegressor(model).fit(XD, TARGETS)
    logs = TransformedTargetRegressor(model, func=np.sinh, inverse_func=np.arcsinh).fit(XD, YD)
    return [made.predict(XD), logs.predict(XD)]


def regression_validation(model):
    error = metrics.PredictionErrorDisplay.from_estimator(clone(model).fit(XD, YD), XD, YD)
    mpl.pyplot.close("all")
    scores = ms.cross_val_score(model, XD, YD, cv=3, scoring="neg_mean_absolute_error")
    return [scores, ms.cross_val_predict(model, XD, YD, cv=3), error.y_pred]


OF_REGRESSORS = [
    regression, sparse_regression, named_columns, regression_grid, regression_ensembles,
    regression_selection, regression_targets, regression_validation, copies,
]  # fmt: skip


# --- the comparison -------------------------------------------------------------------------------


def made(name, parameters, action):
    def snippet(lib):
        return action(getattr(lib, name)(**parameters))

    return snippet


SNIPPETS = {
    f"{action.__name__}: {label}": made(name, parameters, action)
    for models, actions in ((CLASSIFIERS, OF_CLASSIFIERS), (REGRESSORS, OF_REGRESSORS))
    for label, (name, parameters) in models.items()
    for action in actions
} | {snippet.__name__: snippet for snippet in BY_HAND}


def agree(one, two, place="result"):
    """The same types, shapes and choices, and numbers up to RTOL and ATOL."""
    assert type(one) is type(two), (place, type(one), type(two))
    if isinstance(one, dict):
        assert list(one) == list(two), place
        for key in one:
            agree(one[key], two[key], f"{place}[{key!r}]")
    elif isinstance(one, list | tuple):
        assert len(one) == len(two), place
        for k, (left, right) in enumerate(zip(one, two, strict=True)):
            agree(left, right, f"{place}[{k}]")
    elif isinstance(one, np.ndarray) and one.dtype.kind == "f":
        assert (one.shape, one.dtype) == (two.shape, two.dtype), place
        np.testing.assert_allclose(one, two, rtol=RTOL, atol=ATOL, err_msg=place)
    elif isinstance(one, np.ndarray):
        assert (one.shape, one.dtype) == (two.shape, two.dtype), place
        np.testing.assert_array_equal(one, two, err_msg=place)
    elif isinstance(one, float):
        assert one == pytest.approx(two, rel=RTOL, abs=ATOL), place
    else:
        assert one == two, place


def test_there_are_more_than_two_hundred_snippets():
    assert len(SNIPPETS) > 200


@pytest.mark.filterwarnings("ignore")  # scikit-learn's: of deprecated parameters, of convergence
@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_gives_the_same_with_either_import(name):
    agree(SNIPPETS[name](ours), SNIPPETS[name](theirs))
