"""scikit-learn's own checks, on every estimator, with no expected failures."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from primaldual.estimators import (
    GammaRegressor,
    HuberRegressor,
    LinearClassifier,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)

ESTIMATORS = [
    LogisticRegression(),
    LinearSVC(),
    LinearSVC(loss="hinge"),
    RidgeClassifier(),
    LinearClassifier(),
    Ridge(),
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive"),
    HuberRegressor(),
    LinearRegressor(),
    QuantileRegressor(),
    QuantileRegressor(quantile=0.9),
    PoissonRegressor(),
    GammaRegressor(),
    LogisticRegressionCV(Cs=3, cv=3),
    RidgeCV(),
    RidgeCV(cv=3),
    RidgeClassifierCV(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The least populated class in y has only:UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
