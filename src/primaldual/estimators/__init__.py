"""Estimators with scikit-learn's names and meanings, and a certificate."""

from __future__ import annotations

from .any_loss import LinearClassifier, LinearRegressor
from .cv import LogisticRegressionCV
from .huber import HuberRegressor
from .inference import loo
from .log_link import GammaRegressor, PoissonRegressor
from .logistic import LogisticRegression
from .neighbours import introduce
from .paths import path
from .quantile import QuantileRegressor
from .ridge import Ridge, RidgeClassifier
from .ridge_cv import RidgeClassifierCV, RidgeCV
from .svm import LinearSVC, LinearSVR
from .twins import to_sklearn

__all__ = [
    "GammaRegressor",
    "HuberRegressor",
    "LinearClassifier",
    "LinearRegressor",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "PoissonRegressor",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "loo",
    "path",
    "to_sklearn",
]

introduce(
    [
        HuberRegressor,
        LinearClassifier,
        LinearRegressor,
        LinearSVC,
        LinearSVR,
        LogisticRegression,
        LogisticRegressionCV,
        Ridge,
        RidgeCV,
        RidgeClassifier,
        RidgeClassifierCV,
    ]
)
