"""scikit-learn's own checks, on every estimator, with no expected failures."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from primaldual.estimators import (
    HuberRegressor,
    LinearClassifier,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
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
    LogisticRegressionCV(Cs=3, cv=3),
    RidgeCV(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
