"""What the estimators that choose by cross-validation share."""

from __future__ import annotations

from inspect import signature
from typing import Any

from scipy import sparse


def rows(X: Any, index: Any) -> Any:
    """Some of the examples."""
    return X.tocsr()[index] if sparse.issparse(X) else X[index]


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
