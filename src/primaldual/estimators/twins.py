"""Fitted scikit-learn models with the coefficients of ours."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.linear_model import HuberRegressor, LogisticRegression, Ridge, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import LinearSVC, LinearSVR

from .base import LinearModel, to_dense

# Parameters that mean something else in scikit-learn.
OTHER_MEANING = {"tol", "max_iter"}
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


def glm(model: Any, kind: str, **parameters: Any) -> Any:
    """A ``PoissonRegressor`` or a ``GammaRegressor``."""
    twin = getattr(linear_model, kind)(**parameters)
    twin._base_loss = twin._get_loss()
    return shared(model, twin)


def quantile(model: Any, **parameters: Any) -> Any:
    """A ``QuantileRegressor``."""
    return shared(model, linear_model.QuantileRegressor(**parameters))


def huber(model: Any, **parameters: Any) -> Any:
    """A ``HuberRegressor``."""
    known = {"scale_": model.scale_, "outliers_": model.outliers_.copy()}
    return shared(model, HuberRegressor(**parameters), **known)


def to_sklearn(model: Any) -> Any:
    """The same fitted object with scikit-learn's models in place of those of this library.

    For tools that know only scikit-learn's classes, and for machines without this library.

    Parameters
    ----------
    model : object
        A fitted estimator of this library, or one of scikit-learn's with such in it: a
        ``Pipeline``, a ``ColumnTransformer``, a search, an ensemble.

    Returns
    -------
    object
        A copy. Fitted models keep their coefficients. Those that were not fitted, such as the
        ``estimator`` of a search, keep the parameters that scikit-learn's class has with the same
        meaning, which are all but ``tol`` and ``max_iter``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from primaldual.estimators import LogisticRegression, to_sklearn
    >>> X, y = load_wine(return_X_y=True)
    >>> pipe = make_pipeline(StandardScaler(), LogisticRegression(C=0.1)).fit(X, y)
    >>> twin = to_sklearn(pipe)
    >>> type(twin[-1]).__module__, bool((twin.predict(X) == pipe.predict(X)).all())
    ('sklearn.linear_model._logistic', True)
    """
    # A copy takes what is in its memo for the copy of what has that id.
    return copy.deepcopy(model, {id(own): _twin(own) for own in _models_in(model, set())})


def _twin(model: LinearModel) -> Any:
    """scikit-learn's model for one of ours, fitted if ours is."""
    if hasattr(model, "coef_"):
        return model.to_sklearn()
    name = type(model).__name__
    kind = getattr(linear_model, name, None) or getattr(svm, name, None)
    if kind is None:
        raise ValueError(f"scikit-learn has no {name}. Fit it first, or use one of its classes.")
    own, usual = model.get_params(deep=False), type(model)().get_params(deep=False)
    known = set(kind().get_params(deep=False)) - OTHER_MEANING
    chosen = {key for key in known & set(own) if own[key] is not usual[key]}
    return kind(**{key: copy.deepcopy(own[key]) for key in chosen})


def _models_in(value: Any, seen: set[int]) -> Iterator[LinearModel]:
    """The estimators of this library in an object: in its attributes, and in theirs."""
    if id(value) in seen or isinstance(value, type | ModuleType):
        return
    seen.add(id(value))
    if isinstance(value, LinearModel):
        yield value
        return
    parts: list[Any] = []
    if isinstance(value, dict):
        parts += value.values()
    elif isinstance(value, list | tuple | set):
        parts += value
    elif isinstance(value, np.ndarray) and value.dtype.kind == "O":
        parts += value.ravel().tolist()
    parts += getattr(value, "__dict__", {}).values()
    for part in parts:
        yield from _models_in(part, seen)
