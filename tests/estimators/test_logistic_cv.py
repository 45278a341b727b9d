"""LogisticRegressionCV: scikit-learn's choices, types, folds without a class, and routing."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.utils.fixes import parse_version
from sklearn.utils.metadata_routing import MetadataRouter

from primaldual import load
from primaldual.estimators import LogisticRegression, LogisticRegressionCV

CS = (0.01, 0.1, 1.0, 10.0)
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # of scikit-learn's defaults


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(params=["two classes", "three classes"])
def data(request):
    X, y = (load_breast_cancer if request.param == "two classes" else load_iris)(return_X_y=True)
    return scale(X)[::3], y[::3]


def pair(X, y, sample_weight=None, fit=None, **parameters):
    """Ours and scikit-learn's model, both solved to more digits than are compared."""
    parameters = {"Cs": CS, "cv": 3, **parameters}
    ours = LogisticRegressionCV(tol=1e-10, **parameters)
    theirs = linear_model.LogisticRegressionCV(tol=1e-8, max_iter=10_000, **parameters)
    fit = fit or {}
    return ours.fit(X, y, sample_weight, **fit), theirs.fit(X, y, sample_weight, **fit)


def same_form(ours, theirs):
    """The same types, keys and shapes, and nearly the same numbers."""
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for key in ours:
            same_form(ours[key], theirs[key])
        return
    assert np.shape(ours) == np.shape(theirs)
    np.testing.assert_allclose(
        np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("ratios", [None, (0,), (0.0, 0.0)])
def test_attributes_have_scikit_learns_form(data, ratios, refit, legacy):
    ours, theirs = pair(*data, l1_ratios=ratios, refit=refit, use_legacy_attributes=legacy)
    for name in ("C_", "Cs_", "scores_", "coefs_paths_", "coef_", "intercept_"):
        same_form(getattr(ours, name), getattr(theirs, name))
    if ratios is not None:  # else scikit-learn 1.9 has None, which its SelectFromModel cannot take
        same_form(ours.l1_ratio_, theirs.l1_ratio_)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    assert list(ours.l1_ratios_) == list(theirs.l1_ratios_)


def test_the_default_form_is_that_of_the_installed_version(data):
    ours = LogisticRegressionCV(Cs=CS, cv=3).fit(*data)
    is_legacy = parse_version(sklearn.__version__) < parse_version("1.10")
    assert isinstance(ours.scores_, dict) == is_legacy
    assert np.ndim(ours.C_) == int(is_legacy)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 20.0, 1: 0.3}])
@pytest.mark.parametrize("seed", range(3))
def test_class_weights_do_not_weight_the_scores(seed, class_weight, scoring):
    X, y = make_classification(
        120, 12, n_informative=3, weights=[0.85], flip_y=0.2, random_state=seed
    )
    ours, theirs = pair(X, y, class_weight=class_weight, scoring=scoring)
    same_form(ours.C_, theirs.C_)
    same_form(ours.scores_, theirs.scores_)


def test_class_weights_choose_as_a_search_over_the_plain_estimator():
    X, y = make_classification(120, 12, n_informative=3, weights=[0.85], flip_y=0.2, random_state=1)
    weight = {0: 20.0, 1: 0.3}
    ours = LogisticRegressionCV(Cs=CS, cv=3, class_weight=weight).fit(X, y)
    plain = LogisticRegression(class_weight=weight)
    search = GridSearchCV(plain, {"C": CS}, cv=3).fit(X, y)
    assert np.ravel(ours.C_)[0] == search.best_params_["C"]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sample_weights_weight_fits_and_scores(data, fit_intercept):
    X, y = data
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    ours, theirs = pair(X, y, weights, fit_intercept=fit_intercept, scoring="neg_log_loss")
    same_form(ours.scores_, theirs.scores_)
    same_form(ours.coef_, theirs.coef_)


def test_no_penalty_at_all_may_be_tried():
    X, y = make_classification(150, 5, n_redundant=0, flip_y=0.3, random_state=0)
    ours, theirs = pair(X, y, Cs=(1e-3, np.inf), scoring="neg_log_loss")
    assert ours.C_[0] == theirs.C_[0] == np.inf
    same_form(ours.scores_, theirs.scores_)
    same_form(ours.coef_, theirs.coef_)


# --- folds that lack a class ----------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scoring", [None, "neg_log_loss", "neg_brier_score", "accuracy"])
def test_folds_without_a_class_choose_as_in_scikit_learn(scoring, fit_intercept):
    X, y = load_iris(return_X_y=True)  # sorted by class: every fold lacks one
    ours, theirs = pair(
        scale(X), y, cv=KFold(3), scoring=scoring, fit_intercept=fit_intercept,
        Cs=(1e-4, 0.01, 1.0, 100.0),
    )  # fmt: skip
    same_form(ours.C_, theirs.C_)
    assert all(np.isfinite(scores).all() for scores in ours.scores_.values())


def test_folds_without_a_class_score_the_area_under_the_curve():
    X, y = make_classification(
        90, 6, n_informative=4, n_classes=3, weights=[0.5, 0.47], random_state=0
    )
    parts = [(np.flatnonzero((y != 2) | (np.arange(90) % 2)), np.arange(0, 90, 2))]
    parts.append((np.flatnonzero(y != 2), np.arange(90)))
    ours, theirs = pair(X, y, cv=parts, scoring="roc_auc_ovr", use_legacy_attributes=False)
    same_form(ours.C_, theirs.C_)
    np.testing.assert_allclose(ours.scores_[0], theirs.scores_[0], atol=1e-3)


def test_a_fold_of_one_class_is_fitted():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.argsort(y, kind="stable")
    X, y = scale(X)[order][::6], np.array(["a", "b"])[y[order][::6]]
    model = LogisticRegressionCV(Cs=CS, cv=KFold(2)).fit(X, y)
    assert np.isfinite(model.coefs_paths_["b"]).all()
    assert model.score(X, y) > 0.9


# --- the rest -------------------------------------------------------------------------------------


def test_what_is_chosen_is_certified_saved_and_translated(data, tmp_path):
    X, y = data
    for legacy in (True, False):
        model = LogisticRegressionCV(Cs=CS, cv=3, use_legacy_attributes=legacy).fit(X, y)
        assert model.dual_gap_ <= model.tol
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        same_form(again.scores_, model.scores_)
        assert np.allclose(model.to_sklearn().predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_threads_change_nothing(data, n_jobs):
    once = LogisticRegressionCV(Cs=3, cv=3, use_legacy_attributes=False)
    other = clone(once).set_params(n_jobs=n_jobs).fit(*data)
    assert np.array_equal(once.fit(*data).coefs_paths_, other.coefs_paths_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l1_ratios": [0.0, 0.5]}, r"l1_ratios=\[0.0, 0.5\] is not available"),
        ({"l1_ratios": []}, "l1_ratios must be None or a list of zeros"),
        ({"penalty": "l1"}, "penalty='l1' is not available"),
        ({"penalty": None}, "penalty must be one of 'l2', 'deprecated', got None"),
        ({"solver": "fast"}, "solver must be one of 'lbfgs'"),
        ({"Cs": 0}, "Cs must be a positive"),
        ({"refit": "no"}, "refit must be True or False"),
        ({"use_legacy_attributes": 3}, "use_legacy_attributes must be True or False"),
    ],
)
def test_wrong_parameters_are_refused(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegressionCV(**parameters).fit(*data)


# --- routing --------------------------------------------------------------------------------------


def test_groups_reach_the_splitter(routing, data):
    X, y = data
    groups = np.arange(len(y)) % 7
    ours, theirs = pair(X, y, cv=GroupKFold(3), fit={"groups": groups})
    same_form(ours.scores_, theirs.scores_)


@pytest.mark.parametrize("requested", [True, False])
def test_weights_reach_a_scorer_that_requests_them(routing, data, requested):
    X, y = data
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=requested)
    ours, theirs = pair(X, y, weights, scoring=scorer)
    same_form(ours.scores_, theirs.scores_)
    if requested:
        weighted = get_scorer("neg_log_loss")(ours, X, y, sample_weight=weights)
        assert ours.score(X, y, sample_weight=weights) == pytest.approx(weighted)


def test_routing_is_that_of_a_router(routing):
    router = LogisticRegressionCV(cv=GroupKFold(3)).get_metadata_routing()
    assert isinstance(router, MetadataRouter)
    assert router.consumes("fit", ["groups", "other"]) == {"groups"}


def test_metadata_without_routing_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        LogisticRegressionCV(cv=StratifiedKFold(3)).fit(X, y, groups=y)
