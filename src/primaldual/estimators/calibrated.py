"""The probabilities of a model without any: sigmoids of its scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from .._types import FloatArray


class Calibrated:
    """A model that gives scores, and for every problem the sigmoid of its scores.

    P(class) is the sigmoid of the class's score, normalised over the classes.
    """

    def __init__(self, estimator: Any, slopes: FloatArray, offsets: FloatArray) -> None:
        self.estimator = estimator
        self.slopes = slopes
        self.offsets = offsets

    @classmethod
    def of(cls, fitted: Any) -> Calibrated:
        """What a ``CalibratedClassifierCV(ensemble=False)`` found."""
        (only,) = fitted.calibrated_classifiers_
        slopes = np.array([float(sigmoid.a_) for sigmoid in only.calibrators])
        return cls(only.estimator, slopes, np.array([float(s.b_) for s in only.calibrators]))

    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        scores = self.estimator.decision_function(X)
        if scores.ndim == 1:
            last = expit(-(self.slopes * scores + self.offsets))
            return np.stack([1.0 - last, last], axis=1)
        each = expit(-(self.slopes * scores + self.offsets))
        total = each.sum(axis=1, keepdims=True)
        even = np.full_like(each, 1 / each.shape[1])
        return np.divide(each, total, out=even, where=total != 0)
