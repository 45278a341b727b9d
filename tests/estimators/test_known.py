"""Offsets, priors and penalties of single features in the estimators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from primaldual import (
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    load,
)


@pytest.fixture(scope="module")
def claims():
    """Features, exposures and counts."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    exposure = rng.uniform(0.2, 3.0, 200)
    return X, exposure, rng.poisson(exposure * np.exp(0.4 * X[:, 0] + 1.0))


def test_an_exposure_by_offset_is_that_by_weights(claims):
    X, t, y = claims
    by_weights = PoissonRegressor(alpha=0.1, tol=1e-13).fit(X, y / t, sample_weight=t)
    # The mean of the losses: weights have the mean of t, offsets have 1.
    by_offset = PoissonRegressor(alpha=0.1 * t.mean(), tol=1e-13).fit(X, y, offset=np.log(t))
    np.testing.assert_allclose(by_offset.coef_, by_weights.coef_, atol=1e-8)
    assert by_offset.intercept_ == pytest.approx(by_weights.intercept_, abs=1e-8)


def test_an_offset_is_a_part_of_every_score(claims):
    X, t, y = claims
    o = np.log(t)
    shifted = Ridge(tol=1e-12).fit(X, y - o)
    np.testing.assert_allclose(Ridge(tol=1e-12).fit(X, y, offset=o).coef_, shifted.coef_)
    gamma = GammaRegressor(tol=1e-13).fit(X, y + 1.0, offset=o)
    same = GammaRegressor(tol=1e-13).fit(X, (y + 1.0) / t)
    np.testing.assert_allclose(gamma.coef_, same.coef_, atol=1e-8)


def test_a_strong_penalty_of_the_change_keeps_the_prior(claims):
    X, _, y = claims
    label = (y > 2).astype(int)
    for kind, strong, target in (
        (PoissonRegressor, {"alpha": 1e6}, y),
        (Ridge, {"alpha": 1e9}, y),
        (LogisticRegression, {"C": 1e-9}, label),
        (QuantileRegressor, {"alpha": 1e6}, y.astype(float)),
    ):
        old = kind().fit(X[:100], target[:100])
        new = kind(**strong).fit(X, target, prior=old)
        np.testing.assert_allclose(new.coef_, old.coef_, atol=1e-4)
        assert new.dual_gap_ <= new.tol


def test_a_heavily_penalised_feature_is_left_out(claims, tmp_path):
    X, _, y = claims
    model = PoissonRegressor(alpha=0.1, penalty_weights=[1.0, 1e9, 1.0, 1.0]).fit(X, y)
    rest = PoissonRegressor(alpha=0.1).fit(X[:, [0, 2, 3]], y)
    assert abs(model.coef_[1]) < 1e-6
    np.testing.assert_allclose(model.coef_[[0, 2, 3]], rest.coef_, atol=1e-5)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_metadata_routing_brings_the_offset_to_the_model(claims):
    X, t, y = claims
    direct = PoissonRegressor(alpha=0.1).fit(StandardScaler().fit_transform(X), y, offset=np.log(t))
    with config_context(enable_metadata_routing=True):
        model = PoissonRegressor(alpha=0.1).set_fit_request(offset=True)
        routed = make_pipeline(StandardScaler(), model).fit(X, y, offset=np.log(t))
    np.testing.assert_array_equal(routed[-1].coef_, direct.coef_)


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (PoissonRegressor(), {"offset": [1.0]}, "offset must have one entry for each of the"),
        (PoissonRegressor(), {"prior": np.ones(3)}, "prior must have one entry for each of the 4"),
        (PoissonRegressor(), {"prior": np.ones((2, 4))}, "coefficients of 1 problems"),
        (Ridge(alpha=0.0), {"prior": np.ones(4)}, "need a regularisation"),
        (PoissonRegressor(penalty_weights=[1, 2, 0, 1]), {}, "positive for every feature, got 0"),
    ],
)
def test_what_does_not_fit_is_refused(model, options, words, claims):
    X, _, y = claims
    with pytest.raises(ValueError, match=words):
        model.fit(X, y, **options)


def test_the_softmax_loss_refuses_a_prior(claims):
    X, _, y = claims
    with pytest.raises(ValueError, match="not available for the softmax loss"):
        LogisticRegression().fit(X, np.clip(y, 0, 2), prior=np.ones((3, 4)))
