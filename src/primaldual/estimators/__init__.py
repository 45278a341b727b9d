"""Estimators with scikit-learn's names and meanings, and a certificate."""

from __future__ import annotations

from .classifiers import LinearClassifier, LinearSVC, LogisticRegression, RidgeClassifier
from .cv import LogisticRegressionCV, RidgeCV, path
from .regressors import HuberRegressor, LinearRegressor, LinearSVR, Ridge

__all__ = [
    "HuberRegressor",
    "LinearClassifier",
    "LinearRegressor",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "path",
]
