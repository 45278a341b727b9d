"""Fitted scikit-learn models with the coefficients of ours."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import HuberRegressor, LogisticRegression, Ridge, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import LinearSVC, LinearSVR

from .base import to_dense

# What a scikit-learn model knows of its fit by the same name.
KNOWN = ("n_features_in_", "feature_names_in_", "classes_", "n_iter_")


def shared(model: Any, twin: Any, **attributes: Any) -> Any:
    """A scikit-learn model that knows what ``model`` learned."""
    for name in KNOWN:
        # Some versions compute classes_ from other attributes and do not let it be set.
        if hasattr(model, name) and not isinstance(getattr(type(twin), name, None), property):
            setattr(twin, name, getattr(model, name))
    twin.coef_ = np.array(to_dense(model.coef_))
    twin.intercept_ = copy.copy(model.intercept_)
    for name, value in attributes.items():
        setattr(twin, name, value)
    return twin


def logistic(model: Any, one_against_rest: bool, **parameters: Any) -> Any:
    """A ``LogisticRegression``, or one per class in a ``OneVsRestClassifier``."""
    single = LogisticRegression(**parameters)
    if one_against_rest:
        return _one_against_rest(model, single)
    return shared(model, single, n_iter_=np.atleast_1d(model.n_iter_).astype(np.int32))


def _one_against_rest(model: Any, single: Any) -> Any:
    """scikit-learn's meta-estimator around one fitted model per class."""
    twin = OneVsRestClassifier(clone(single))
    twin.estimators_ = []
    for coef, intercept in zip(to_dense(model.coef_), model.intercept_, strict=True):
        part = shared(model, clone(single), classes_=np.array([0, 1]))
        part.coef_, part.intercept_ = coef[None, :].copy(), np.array([intercept])
        part.n_iter_ = np.atleast_1d(model.n_iter_).astype(np.int32)
        twin.estimators_.append(part)
    twin.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(model.classes_)
    twin.classes_ = twin.label_binarizer_.classes_
    twin.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        twin.feature_names_in_ = model.feature_names_in_
    return twin


def svc(model: Any, **parameters: Any) -> Any:
    """A ``LinearSVC``."""
    return shared(model, LinearSVC(**parameters))


def svr(model: Any, **parameters: Any) -> Any:
    """A ``LinearSVR``."""
    return shared(model, LinearSVR(**parameters))


def ridge(model: Any, **parameters: Any) -> Any:
    """A ``Ridge``."""
    return shared(model, Ridge(**parameters))


def ridge_classifier(model: Any, **parameters: Any) -> Any:
    """A ``RidgeClassifier`` with the binarizer that turned the labels into −1 and +1."""
    seen = np.eye(len(model.classes_), dtype=int) if model.multilabel_ else model.classes_
    twin = RidgeClassifier(**parameters)
    twin._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(seen)
    return shared(model, twin)


def huber(model: Any, **parameters: Any) -> Any:
    """A ``HuberRegressor``."""
    known = {"scale_": model.scale_, "outliers_": model.outliers_.copy()}
    return shared(model, HuberRegressor(**parameters), **known)
