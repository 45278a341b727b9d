"""scikit-learn's parameters: taken where they can be honoured, refused with a reason elsewhere."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import InvalidParameterError

from primaldual.estimators import (
    HuberRegressor,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
)

PAIRS = [
    (LogisticRegression, linear_model.LogisticRegression),
    (LinearSVC, svm.LinearSVC),
    (LinearSVR, svm.LinearSVR),
    (Ridge, linear_model.Ridge),
    (RidgeClassifier, linear_model.RidgeClassifier),
    (HuberRegressor, linear_model.HuberRegressor),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_parameter_of_theirs_is_one_of_ours(ours, theirs):
    """With the same default, and positional where it is there; two defaults differ by design."""
    own, other = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    assert set(other) <= set(own)
    for name, parameter in other.items():
        assert own[name].kind is parameter.kind, name
        if name not in ("tol", "max_iter"):
            assert own[name].default == parameter.default, name
    positional = [name for name, p in other.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert list(own)[: len(positional)] == positional
    assert set(ours().get_params()) == set(own)
    assert clone(ours()).get_params() == ours().get_params()


@pytest.mark.parametrize(
    ("plain", "model"),
    [
        (LogisticRegression(), LogisticRegression("l2")),
        (LogisticRegression(), LogisticRegression(solver="liblinear", dual=False)),
        (LogisticRegression(), LogisticRegression(solver="saga", l1_ratio=None)),
        (LogisticRegression(), LogisticRegression(penalty="l2", l1_ratio=0.5)),
        (LogisticRegression(), LogisticRegression(multi_class="auto", intercept_scaling=2.0)),
        (LogisticRegression(), LogisticRegression(multi_class="deprecated")),
        (LogisticRegression(side="dual"), LogisticRegression(dual=True)),
        (LinearSVC(), LinearSVC("l2", "squared_hinge", intercept_scaling=10, multi_class="ovr")),
        (LinearSVR(), LinearSVR(intercept_scaling=10.0)),
        (Ridge(), Ridge(1.0, solver="sparse_cg", copy_X=False, positive=False)),
        (RidgeClassifier(), RidgeClassifier(1.0, solver="sag", copy_X=False, positive=False)),
    ],
    ids=lambda model: repr(model),
)
def test_what_is_taken_and_not_used_changes_nothing(plain, model):
    X, y = load_iris(return_X_y=True)
    before = X.copy()
    model.fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.fit(X, y).coef_)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogisticRegression("l1", solver="saga"), "penalty='l1' is not available.*scikit-learn's"),
        (LogisticRegression(penalty="elasticnet"), "penalty='elasticnet' is not available"),
        (LogisticRegression(penalty="l3"), "penalty must be one of 'l2'"),
        (LogisticRegression(l1_ratio=1.0), "l1_ratio=1.0 is not available.*L1 penalty"),
        (LogisticRegression(l1_ratio=-1), "l1_ratio must be a number from 0 to 1"),
        (LogisticRegression(solver="adam"), "solver must be one of 'lbfgs'"),
        (LogisticRegression(dual="yes"), "dual must be True or False"),
        (LogisticRegression(intercept_scaling=0), "intercept_scaling must be a positive"),
        (LogisticRegression(fit_intercept="no"), "fit_intercept must be True or False"),
        (LogisticRegression(warm_start=1), "warm_start must be True or False"),
        (LogisticRegression(n_jobs="2"), "n_jobs must be a positive number of threads"),
        (LogisticRegression(C="1"), "C must be a positive number"),
        (LogisticRegression(C=0), "C must be a positive finite number.*C=inf is no regulari"),
        (Ridge(-1.0), "alpha must be a positive finite number.*alpha=0 is no regularisation"),
        (LinearSVC(C=np.inf), "C must be a positive finite number.*has no dual problem"),
        (LogisticRegression(callback=3), "callback must be callable"),
        (LinearSVC("l1", dual=False), "penalty='l1' is not available"),
        (LinearSVC(multi_class="crammer_singer"), "crammer_singer.*Use multi_class='ovr'"),
        (LinearSVC(multi_class="ovo"), "multi_class must be one of 'ovr'"),
        (Ridge(positive=True), "positive=True is not available.*scikit-learn's class"),
        (Ridge(solver="qr"), "solver must be one of 'auto'"),
        (Ridge(copy_X=3), "copy_X must be True or False"),
        (RidgeClassifier(positive=True), "positive=True is not available"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
def test_what_cannot_be_honoured_is_refused_as_scikit_learn_refuses(model, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidParameterError, match=message):
        model.fit(X, y)


def test_the_parameters_can_be_searched():
    X, y = load_iris(return_X_y=True)
    grid = {"solver": ["lbfgs", "saga"], "penalty": ["l2", "l1"], "C": [0.1, 1.0]}
    search = GridSearchCV(LogisticRegression(), grid, cv=2, error_score=0.0)
    with pytest.warns(FitFailedWarning, match="8 fits failed"):
        search.fit(X, y)
    assert search.best_params_["penalty"] == "l2"
    X, y = load_diabetes(return_X_y=True)
    search = GridSearchCV(Ridge(), {"solver": ["auto", "svd"], "alpha": [0.1, 1.0]}, cv=2)
    assert search.fit(X, y).best_params_ == {"alpha": 0.1, "solver": "auto"}


def test_verbose_says_once_that_the_solver_is_not_used(capsys):
    X, y = load_iris(return_X_y=True)
    LogisticRegression(solver="sag", verbose=1).fit(X, y)
    assert capsys.readouterr().out.count("solver='sag' is not used") == 1
    LogisticRegression(solver="sag").fit(X, y)
    assert capsys.readouterr().out == ""
