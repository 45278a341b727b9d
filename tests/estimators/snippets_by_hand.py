"""Snippets of everyday code written by hand: functions of the module the estimators come from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn import ensemble, feature_selection, multiclass
from sklearn import model_selection as ms
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, scale
from sklearn.semi_supervised import SelfTrainingClassifier

# Both libraries solve to more digits than are compared; scikit-learn's default stops after three.
EXACT = {"tol": 1e-9, "max_iter": 20_000}

X, Y = load_iris(return_X_y=True)
X, Y = scale(X)[::2], Y[::2]
XD, YD = load_diabetes(return_X_y=True)
XD, YD = scale(XD[:80, :4]), scale(YD[:80])
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
XB, YB = make_classification(60, 4, n_informative=3, n_redundant=0, flip_y=0.2, random_state=0)
TARGETS = np.stack([YD, -YD + XD[:, 0]], axis=1)


def probabilities(lib):
    model = lib.LogisticRegression(**EXACT).fit(X, Y)
    passes = model.n_iter_
    return [model.predict_proba(X), model.predict_log_proba(X), passes.shape, passes.dtype]


def one_vs_one(lib):
    made = multiclass.OneVsOneClassifier(lib.LinearSVC(fit_intercept=False, **EXACT)).fit(X, Y)
    return [made.predict(X), made.decision_function(X)]


def boosting(lib):
    made = ensemble.AdaBoostClassifier(lib.LogisticRegression(**EXACT), n_estimators=3)
    return made.fit(XB, YB).decision_function(XB)


def self_training(lib):
    labels = np.where(np.arange(len(Y)) % 3 == 0, -1, Y)
    made = SelfTrainingClassifier(lib.LogisticRegression(**EXACT)).fit(X, labels)
    return [made.transduction_, made.predict(X)]


def threshold(lib):
    made = ms.TunedThresholdClassifierCV(lib.LogisticRegression(**EXACT), cv=3, thresholds=10)
    made.fit(XB, YB)
    return [made.best_threshold_, made.predict(XB)]


def text(lib):
    words = ["red apple", "green apple", "red car", "blue car", "green pear", "fast car"] * 5
    pipe = make_pipeline(TfidfVectorizer(), lib.LogisticRegression(**EXACT))
    pipe.fit(words, ["fruit", "fruit", "car", "car", "fruit", "car"] * 5)
    return [pipe.predict(["apple", "new car"]), pipe.predict_proba(["pear"]), pipe[-1].coef_]


def columns_of_a_frame(lib):
    frame = pd.DataFrame({"size": XB[:, 0], "kind": np.array(["a", "b", "c"])[np.arange(60) % 3]})
    parts = ColumnTransformer(
        [("n", StandardScaler(), ["size"]), ("c", OneHotEncoder(), ["kind"])]
    ).set_output(transform="default")
    pipe = make_pipeline(parts, lib.LogisticRegression(**EXACT)).fit(frame, YB)
    return [pipe.predict(frame), pipe[-1].coef_, pipe[:-1].get_feature_names_out()]


def polars_frame(lib):
    frame = pl.DataFrame(X, schema=NAMES)
    model = lib.LogisticRegression(**EXACT).fit(frame, pl.Series(Y))
    return [model.feature_names_in_, model.predict(frame), model.coef_]


def pandas_output(lib):
    frame = pd.DataFrame(X, columns=NAMES)
    made = feature_selection.SelectFromModel(lib.LogisticRegression(**EXACT))
    out = made.set_output(transform="pandas").fit_transform(frame, Y)
    return [list(out.columns), out.to_numpy()]


def category_labels(lib):
    labels = pd.Series(pd.Categorical(np.array(["x", "y", "z"])[Y]))
    model = lib.RidgeClassifier().fit(X, labels)
    return [model.classes_, model.predict(X)]


def wrong_columns(lib):
    model = lib.Ridge().fit(pd.DataFrame(XD, columns=NAMES), YD)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(XD, columns=NAMES[::-1]))
    with pytest.raises(ValueError, match="expecting 4 features"):
        lib.Ridge().fit(XD, YD).predict(XD[:, :2])
    return []


def several_targets(lib):
    model = lib.Ridge(alpha=[1.0, 5.0]).fit(XD, TARGETS)
    return [model.coef_, model.intercept_, model.predict(XD)]


def column_target(lib):
    model = lib.Ridge().fit(XD, YD[:, None])
    return [model.coef_, model.intercept_, model.predict(XD)]


def several_labels(lib):
    labels = np.stack([YB, np.arange(60) % 2], axis=1)
    model = lib.RidgeClassifier().fit(XB, labels)
    return [model.coef_, model.predict(XB)]


def paths_of_a_search(lib):
    model = lib.LogisticRegressionCV(**EXACT, Cs=3, cv=3, scoring="neg_log_loss").fit(X, Y)
    return [model.C_, model.Cs_, model.scores_, model.coefs_paths_, model.n_iter_.shape]


def left_out(lib):
    model = lib.RidgeCV([0.1, 10.0], store_cv_results=True).fit(XD, YD)
    return [model.alpha_, model.best_score_, model.cv_results_]


def alpha_per_target(lib):
    model = lib.RidgeCV([0.1, 10.0, 99.0], alpha_per_target=True).fit(XD, TARGETS)
    return [model.alpha_, model.best_score_, model.coef_]


def float32(lib):
    models = [lib.LogisticRegression(**EXACT).fit(X.astype(np.float32), Y),
              lib.Ridge().fit(XD.astype(np.float32), YD.astype(np.float32))]  # fmt: skip
    return [[model.coef_.dtype, model.predict(X.astype(np.float32)).dtype] for model in models]


def parameters(lib):
    model = lib.LogisticRegression(C=3.0, solver="saga", penalty="l2")
    search = ms.ParameterGrid({"C": [1, 2], "class_weight": [None, "balanced"]})
    kept = clone(model).set_params(C=2.0).get_params()
    return [kept["C"], kept["solver"], kept["penalty"], len(list(search))]


def positional(lib):
    return [lib.LinearSVC("l2").penalty, lib.Ridge(2.0).alpha, lib.RidgeCV([1.0]).alphas,
            lib.RidgeClassifier(3.0).alpha]  # fmt: skip


def warm(lib):
    model = lib.LogisticRegression(warm_start=True, **EXACT).fit(X, Y)
    return [model.fit(X, Y).coef_, model.predict(X[:3])]


def zero_weight_class(lib):
    model = lib.LogisticRegression(**EXACT).fit(X, Y, sample_weight=(Y != 1).astype(float))
    return [model.predict(X), model.coef_.shape, model.classes_]


def routed_weights(lib):
    with sklearn.config_context(enable_metadata_routing=True):
        model = lib.LogisticRegression(**EXACT).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        weights = np.linspace(0.2, 3, len(Y))
        scores = ms.cross_validate(pipe, X, Y, cv=3, params={"sample_weight": weights})
        return [scores["test_score"], pipe.fit(X, Y, sample_weight=weights).predict(X)]


def routed_search(lib):
    with sklearn.config_context(enable_metadata_routing=True):
        model = (
            lib.Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        )
        search = ms.GridSearchCV(model, {"alpha": [0.1, 100.0]}, cv=ms.GroupKFold(3))
        search.fit(XD, YD, sample_weight=np.linspace(0.2, 3, 80), groups=np.arange(80) % 5)
        return [search.best_params_, search.cv_results_["mean_test_score"]]


def routed_groups(lib):
    with sklearn.config_context(enable_metadata_routing=True):
        groups = np.arange(len(Y)) % 5
        model = lib.LogisticRegressionCV(**EXACT, Cs=(0.1, 1.0), cv=ms.GroupKFold(3))
        ridge = lib.RidgeCV((0.1, 10.0), cv=ms.GroupKFold(3)).fit(XD, YD, groups=np.arange(80) % 5)
        return [model.fit(X, Y, groups=groups).scores_, ridge.alpha_, ridge.best_score_]


def unrouted_groups(lib):
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        lib.RidgeCV(cv=ms.GroupKFold(3)).fit(XD, YD, groups=np.arange(80) % 5)
    return []


BY_HAND = [
    probabilities, one_vs_one, boosting, self_training, threshold, text, columns_of_a_frame,
    polars_frame, pandas_output, category_labels, wrong_columns, several_targets, column_target,
    several_labels, paths_of_a_search, left_out, alpha_per_target, float32, parameters, positional,
    warm, zero_weight_class, routed_weights, routed_search, routed_groups, unrouted_groups,
]  # fmt: skip
