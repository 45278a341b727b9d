"""No certified label or bound is violated by the optimum, at whatever gap a fit has stopped.

``python -m tests.estimators.test_certified 200`` runs many problems and prints the share certified.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from primaldual import (
    HuberRegressor,
    LinearClassifier,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    load,
)

EXACT = 1e-14


def drawn(number):
    """A random problem: how to make its model for a tol, the data and new examples."""
    rng = np.random.default_rng([7, number])
    n, d = int(rng.integers(20, 120)), int(rng.integers(2, 30))
    X = rng.standard_normal((n + 200, d)) * 10.0 ** rng.uniform(-0.5, 0.5, d) + rng.normal()
    if rng.random() < 0.3:
        X *= rng.random(X.shape) < 0.4
    z = X @ rng.standard_normal(d) / np.sqrt(d) + 0.3 * rng.standard_normal(n + 200)
    options = {"fit_intercept": bool(rng.random() < 0.6)}
    kind = number % 5
    y = (z > np.median(z)).astype(int)
    if kind == 0:
        make, options["C"] = LogisticRegression, 10.0 ** rng.uniform(-2, 1)
    elif kind == 1:
        make, options["C"] = LinearSVC, 10.0 ** rng.uniform(-2, 0)
    elif kind == 2:
        make, options["alpha"] = RidgeClassifier, 10.0 ** rng.uniform(-1, 2)
        y = np.digitize(z, np.quantile(z, [0.3, 0.7]))
    elif kind == 3:
        make, options["C"] = LogisticRegression, 10.0 ** rng.uniform(-2, 1)
        options["multi_class"], y = "ovr", np.digitize(z, np.quantile(z, [0.4, 0.8]))
    else:
        make, options["alpha"] = PoissonRegressor, 10.0 ** rng.uniform(-2, 1)
        options["penalty_weights"] = rng.uniform(0.3, 3.0, d)
        y = rng.poisson(np.exp(np.clip(z, -3, 3)))
    data = sparse.csr_array(X) if rng.random() < 0.3 else X
    return make, options, data[:n], y[:n], data[n:]


def stopped(make, options, X, y, gap):
    """A fit that is stopped as soon as its gap is at most that, by a method that takes its time."""
    model = make(**options, tol=gap, callback=lambda progress: progress.relative_gap <= gap)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.set_params(side="dual").fit(X, y)


def violations(number):
    """How many bounds and labels the optimum violates, of the labels asked the share certified."""
    make, options, X, y, new = drawn(number)
    best = make(**options, tol=EXACT).fit(X, y)
    scores = np.asarray(new @ np.atleast_2d(best.coef_).T) + best.intercept_
    wrong, certified = 0, []
    for gap in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        model = stopped(make, options, X, y, gap)
        lower, upper = (one.reshape(scores.shape) for one in model.decision_bounds(new))
        # The exact fit has a gap of its own.
        own = best.decision_bounds(new)
        slack = (own[1] - own[0]).reshape(scores.shape)
        wrong += int((scores < lower - slack).sum() + (scores > upper + slack).sum())
        if hasattr(model, "predict_certified"):
            labels, true = model.predict_certified(new), best.predict(new)
            sure = ~np.ma.getmaskarray(labels)
            wrong += int((labels.data[sure] != true[sure]).sum())
            certified.append(sure.mean())
        if make is LogisticRegression and len(best.classes_) == 2:
            low, high = model.proba_bounds(new)
            own = best.predict_proba(new)
            wrong += int((own < low - slack).sum() + (own > high + slack).sum())
    return wrong, certified


@pytest.mark.parametrize("number", range(10))
def test_no_certified_label_or_bound_is_violated_by_the_optimum(number):
    wrong, certified = violations(number)
    assert wrong == 0
    assert not certified or certified[-1] >= certified[0] - 1e-9


def test_the_bounds_are_those_of_the_formula_without_an_intercept():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X[:, 0] + rng.standard_normal(60) > 0
    model = LogisticRegression(fit_intercept=False, tol=1e-3, side="dual").fit(X, y)
    radius = model.certified_["radius"][0]
    lower, upper = model.decision_bounds(X)
    np.testing.assert_allclose(upper - lower, 2 * radius * np.linalg.norm(X, axis=1), rtol=1e-6)
    np.testing.assert_allclose((upper + lower) / 2, model.decision_function(X), atol=1e-12)
    low, high = model.proba_bounds(X)
    np.testing.assert_allclose(low[:, 1], expit(lower), atol=1e-12)
    np.testing.assert_allclose(high[:, 0], expit(-lower), atol=1e-12)


def test_a_saved_model_still_knows_what_is_certain(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(80) > 0, "yes", "no")
    model = LogisticRegression(tol=1e-2, side="dual").fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_bounds(X), model.decision_bounds(X))
    assert again.predict_certified(X).tolist() == model.predict_certified(X).tolist()


def test_ridge_has_bounds_and_an_intercept():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.standard_normal(50) + 100.0
    model = Ridge().fit(X, y)
    lower, upper = model.decision_bounds(X)
    assert (lower <= model.predict(X)).all() and (model.predict(X) <= upper).all()
    assert (upper - lower).max() < 1e-5


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (LogisticRegression(C=np.inf), AttributeError, "without a regularisation"),
        (LogisticRegressionCV(Cs=2, cv=2), AttributeError, "has no certified predictions"),
        (HuberRegressor(), AttributeError, "has no certified predictions"),
        (LinearSVC(loss="hinge"), ValueError, "need not be unique"),
    ],
)
def test_what_is_not_certain_is_refused_with_the_reason(model, error, words):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] + rng.standard_normal(40) > 0).astype(int)
    with pytest.raises(error, match=words):
        model.fit(X, y).decision_bounds(X)


def test_the_softmax_is_refused_and_hinge_without_intercept_is_not():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    with pytest.raises(AttributeError, match="softmax"):
        LogisticRegression().fit(X, np.digitize(X[:, 0], [-0.5, 0.5])).decision_bounds(X)
    model = LinearClassifier("hinge", fit_intercept=False).fit(X, X[:, 0] > 0)
    assert model.predict_certified(X).shape == (60,)


def main(count):
    """Run that number of problems; print violations, and the share certified at every gap."""
    wrong, shares = 0, []
    for number in range(count):
        bad, certified = violations(number)
        wrong += bad
        if certified:
            shares.append(certified)
    print(f"{count} problems: {wrong} violations")
    for gap, share in zip("123456", np.mean(shares, axis=0), strict=True):
        print(f"gap 1e-{gap}: {share:.1%} of the labels certified")
    return wrong


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200) > 0)
