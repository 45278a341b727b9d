"""What estimators share that look at some of the examples, or at coefficients of any kind."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse

from .._types import FloatArray


def rows(X: Any, index: Any) -> Any:
    """Some of the examples."""
    return X.tocsr()[index] if sparse.issparse(X) else X[index]


def predictions(X: Any, coefs: FloatArray, intercepts: FloatArray) -> FloatArray:
    """The scores of several models by one product: (examples, models, problems).

    The coefficients have the shape (models, problems, features).
    """
    flat = np.asarray(X @ coefs.reshape(-1, coefs.shape[-1]).T)
    return flat.reshape(len(flat), *intercepts.shape) + intercepts


def accuracies(scores: FloatArray, codes: Any, weights: Any) -> FloatArray:
    """For every model the fraction of examples whose class it predicts, as ``accuracy_score``."""
    one = scores.shape[2] == 1
    predicted = scores[:, :, 0] > 0 if one else scores.argmax(axis=2)
    return np.asarray(np.average(predicted == codes[:, None], axis=0, weights=weights))


def coefficients_of_determination(scores: FloatArray, targets: FloatArray) -> FloatArray | None:
    """R² of every model, as ``r2_score``; None where targets are constant."""
    apart = ((targets - targets.mean(axis=0)) ** 2).sum(axis=0)
    if len(targets) < 2 or not (apart > 0).all():
        return None
    left = ((targets[:, None] - scores) ** 2).sum(axis=0)
    return np.asarray((1.0 - left / apart).mean(axis=1))


def to_dense(coef: Any) -> Any:
    """An array, whether ``coef`` is one or is sparse."""
    return coef.toarray() if sparse.issparse(coef) else coef


def adopt(model: Any, fitted: Any) -> None:
    """Take over the fitted attributes of another estimator, but not what is known of the input."""
    known = ("n_features_in_", "feature_names_in_", "classes_")
    for name, value in vars(fitted).items():
        if name.endswith("_") and name not in known:
            setattr(model, name, value)
    model._keep(fitted._outcome)


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer can be called with ``sample_weight``."""
    asked = getattr(scorer, "_accept_sample_weight", None)  # scikit-learn 1.7 and later
    if asked is not None:
        return bool(asked())
    return "sample_weight" in signature(scorer).parameters
