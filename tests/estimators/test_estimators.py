"""What the estimators promise beyond agreeing with scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier as SklearnRidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import primaldual.estimators as estimators
from primaldual import LOSSES, METHODS, Problem, datasets, solve
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
    path,
)
from primaldual.multinomial import Multinomial

from .data import weights

CLASSIFIERS = [LogisticRegression, LinearSVC, RidgeClassifier, LinearClassifier]
REGRESSORS = [Ridge, LinearSVR, HuberRegressor, LinearRegressor]
TIGHT = 1e-15


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return scale(X), y / 100


def data_for(kind, wine, diabetes):
    return wine if kind in CLASSIFIERS else diabetes


def same(a, b, rtol=1e-6):
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=0, atol=rtol * np.abs(b.coef_).max())
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=0, atol=rtol * 10)


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("side", ["primal", "dual"])
def test_integer_weights_are_repeated_rows(kind, side, wine, diabetes):
    X, y = data_for(kind, wine, diabetes)
    s = weights(len(y)).astype(int)
    model = kind(tol=TIGHT, side=side, max_iter=20_000)
    if kind is HuberRegressor:
        model.set_params(tol=1e-11)  # an error in the dual of its scale counts in full
    if kind is LinearSVR and side == "primal":  # its default loss has corners
        model.set_params(loss="squared_epsilon_insensitive")
    weighted = clone(model).fit(X, y, s)
    repeated = clone(model).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    same(weighted, repeated)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_class_weight_is_the_matching_sample_weight(kind, wine):
    X, y = wine
    weight = {0: 1.0, 1: 2.5, 2: 0.5}
    by_class = kind(tol=TIGHT, class_weight=weight).fit(X, y)
    by_sample = kind(tol=TIGHT).fit(X, y, np.array([weight[label] for label in y]))
    same(by_class, by_sample)


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_permuting_rows_or_features_permutes_the_answer(kind, wine, diabetes):
    X, y = data_for(kind, wine, diabetes)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(X.shape[0]), rng.permutation(X.shape[1])
    plain = kind(tol=TIGHT).fit(X, y)
    mixed = kind(tol=TIGHT).fit(X[rows][:, columns], y[rows])
    back = clone(mixed)
    back.coef_, back.intercept_ = mixed.coef_[..., np.argsort(columns)], mixed.intercept_
    same(back, plain)


@pytest.mark.parametrize("kind", [LinearSVC, LinearClassifier])
def test_answers_do_not_depend_on_the_number_of_threads(kind, wine):
    X, y = wine
    X = sparse.csr_array(X)
    for side in ("primal", "dual"):
        one, two = (kind(n_jobs=jobs, side=side, tol=1e-4).fit(X, y) for jobs in (1, 2))
        np.testing.assert_array_equal(one.coef_, two.coef_)
        np.testing.assert_array_equal(one.intercept_, two.intercept_)


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_the_attributes_are_there_and_the_gap_is_certified(kind, wine, diabetes):
    X, y = data_for(kind, wine, diabetes)
    model = kind().fit(X, y)
    assert model.dual_gap_ <= model.tol
    assert model.side_ in ("primal", "dual")
    assert model.advice_.side in ("primal", "dual")
    assert model.stop_reason_ == "The relative duality gap is at most tol."
    assert np.min(model.n_iter_) >= 1
    assert len({len(column) for column in model.history_.values()}) == 1
    from_dual = model.dual_coef_ @ X
    coef = model.coef_.reshape(from_dual.shape)
    np.testing.assert_allclose(from_dual, coef, atol=1e-3 * np.abs(coef).max())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_pickled_model_does_not_carry_its_training_data():
    X = np.random.default_rng(0).standard_normal((5000, 40))
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    kept = pickle.dumps(model)  # dual_coef_ has a number for each example
    assert len(kept) < X.nbytes / 10
    assert pickle.loads(kept).advice_ == model.advice_


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_the_scikit_learn_twin_predicts_the_same(kind, wine, diabetes):
    X, y = data_for(kind, wine, diabetes)
    model = kind().fit(X, y)
    twin = model.to_sklearn()
    assert type(twin).__module__.startswith("sklearn.")
    if kind in CLASSIFIERS:
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    else:
        np.testing.assert_allclose(twin.predict(X), model.predict(X), rtol=1e-9)
    if kind is LogisticRegression:
        np.testing.assert_allclose(twin.predict_proba(X), model.predict_proba(X), atol=1e-12)
        ovr = LogisticRegression(multi_class="ovr").fit(X, y)
        theirs = ovr.to_sklearn().predict_proba(X)
        np.testing.assert_allclose(theirs, ovr.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_the_twin_can_be_stored_by_skops(kind, wine, diabetes):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    X, y = data_for(kind, wine, diabetes)
    twin = kind().fit(X, y).to_sklearn()
    stored = io.dumps(twin)
    again = io.loads(stored, trusted=io.get_untrusted_types(data=stored))
    np.testing.assert_array_equal(again.predict(X), twin.predict(X))


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_the_twin_can_be_exported_to_onnx(kind, wine, diabetes):
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    X, y = data_for(kind, wine, diabetes)
    X = X.astype(np.float32)
    model = kind().fit(X, y)
    graph = skl2onnx.to_onnx(model.to_sklearn(), X[:1])
    session = runtime.InferenceSession(graph.SerializeToString())
    found = session.run(None, {"X": X})[0].ravel()
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_estimate_predicts_both_sides_without_fitting(kind, wine, diabetes):
    X, y = data_for(kind, wine, diabetes)
    model = kind()
    costs = model.estimate(X, y)
    assert costs["side"] in ("primal", "dual")
    for side in ("primal", "dual"):
        assert costs[side]["passes"] > 0
        assert costs[side]["seconds"] > 0
    assert costs["side"] == METHODS[costs["method"]].side
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize(("n", "d"), [(300, 8), (3000, 200), (60, 2000)])
def test_estimate_names_the_method_that_the_fit_starts_with(n, d, full):
    X = datasets.random_matrix(d, n, 0.9 if full else 0.05, seed=0)
    y = datasets.labels(X, seed=1)
    model = LinearClassifier(fit_intercept=False)
    named = model.estimate(X, y)["method"]
    notes = solve(Problem(X, y, lam=1 / n), seed=0).trace.notes[0]
    fitted = model.fit(X, y).history_["method"][0]
    assert fitted == named or notes.startswith(f"{named}: ")


@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
def test_estimate_speaks_of_the_problem_of_several_classes_that_is_fitted(multi_class, wine):
    X, y = wine
    model = LogisticRegression(multi_class=multi_class, C=1.0)
    found = model.estimate(X, y)
    fitted = model.fit(X, y)
    assert fitted.history_["method"][0] == found["method"]
    if multi_class == "multinomial":
        problem = Multinomial(X, y, 1 / len(y), None, True)
        assert solve(problem, max_passes=1).trace.notes[0].startswith(f"{found['method']}: ")


def test_a_fit_that_falls_short_says_how_far_and_what_to_do(cancer):
    X, y = cancer
    X = np.tile(X, (12, 3))  # too large to be solved to the last digit at once
    y = np.tile(y, 12)
    model = LogisticRegression(max_iter=1, side="dual", tol=1e-12)
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap of .*max_iter"):
        model.fit(X, y)
    assert model.dual_gap_ > model.tol
    assert "max_iter" in model.stop_reason_


def test_a_time_budget_is_kept(cancer):
    X, y = np.tile(cancer[0], (20, 20)), np.tile(cancer[1], 20)
    model = LogisticRegression(max_time=0.0, tol=1e-14, side="dual")
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.fit(X, y)


@pytest.mark.parametrize("side", ["primal", "dual"])
@pytest.mark.parametrize("several", [False, True])
def test_warm_start_goes_on_from_the_last_fit(side, several, cancer, wine):
    X, y = wine if several else cancer
    X, y = np.tile(X, (12, 8)), np.tile(y, 12)
    model = LogisticRegression(warm_start=True, side=side, tol=1e-8).fit(X, y)
    cold = model.n_iter_
    model.fit(X, y)
    assert model.dual_gap_ <= model.tol
    assert model.n_iter_ <= cold / 2


def test_our_callback_sees_progress_and_can_stop(cancer):
    seen = []

    def stop(progress):
        seen.append(progress)
        return True

    X, y = np.tile(cancer[0], (12, 3)), np.tile(cancer[1], 12)
    model = LogisticRegression(callback=stop, tol=1e-12).fit(X, y)
    assert len(seen) == 1
    assert seen[0].relative_gap > 0
    assert model.coef_.shape == (1, X.shape[1])


def test_verbose_prints_a_line_per_check(cancer, capsys):
    LogisticRegression(verbose=1).fit(*cancer)
    assert "relative gap" in capsys.readouterr().out


@pytest.mark.skipif(
    not hasattr(LogisticRegression, "set_callbacks"), reason="scikit-learn without callbacks"
)
@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC, Ridge])
def test_scikit_learn_callbacks_follow_and_stop_the_fit(kind, wine, diabetes):
    class Follow:
        def __init__(self, stop):
            self.stop, self.begun, self.ended, self.fitted = stop, 0, 0, None

        def setup(self, estimator, context):
            self.up = True

        def teardown(self, estimator, context):
            self.up = False

        def on_fit_task_begin(self, estimator, context):
            self.begun += 1

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            self.ended += 1
            self.fitted = fitted_estimator or self.fitted
            return self.stop

    X, y = data_for(kind, wine, diabetes)
    for stop in (False, True):
        follow = Follow(stop)
        kind().set_callbacks(follow).fit(X, y)
        assert follow.begun == follow.ended > 2
        assert not follow.up
        if kind is not LinearSVC:  # one of several problems is no model yet
            assert follow.fitted.predict(X).shape == y.shape


def test_every_storage_is_taken_as_it_is(cancer):
    X, y = cancer
    expected = LogisticRegression(tol=TIGHT).fit(X, y)
    big = sparse.csr_array(X)
    big.indices, big.indptr = big.indices.astype(np.int64), big.indptr.astype(np.int64)
    readonly = X.copy()
    readonly.flags.writeable = False
    kinds = [np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_array(X),
             sparse.coo_array(X), big, readonly]  # fmt: skip
    for stored in kinds:
        same(LogisticRegression(tol=TIGHT).fit(stored, y), expected)


def test_memory_maps_and_float32_are_not_copied(cancer, tmp_path):
    X, y = cancer
    X.astype(np.float32).tofile(tmp_path / "X")
    mapped = np.memmap(tmp_path / "X", dtype=np.float32, mode="r", shape=X.shape)
    model = LogisticRegression()
    checked, _, _ = model._read(mapped, y, None)
    assert checked.dtype == np.float32
    assert np.shares_memory(checked, mapped)
    assert np.shares_memory(Problem(checked, y).matrix.by_example.values, mapped)
    model.fit(mapped, y)
    assert model.decision_function(mapped).dtype == np.float32
    same(model, LogisticRegression().fit(X, y), rtol=1e-5)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_bring_their_column_names(library, diabetes):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    X, y = diabetes
    frame = frames.DataFrame({f"f{k}": X[:, k] for k in range(X.shape[1])})
    model = Ridge().fit(frame, frames.Series(y))
    assert list(model.feature_names_in_) == [f"f{k}" for k in range(X.shape[1])]
    assert list(model.to_sklearn().feature_names_in_) == list(model.feature_names_in_)
    np.testing.assert_allclose(model.predict(frame), Ridge().fit(X, y).predict(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_pipeline_may_hand_over_frames(library, diabetes):
    pytest.importorskip(library, reason=f"{library} is not installed")
    X, y = diabetes
    pipeline = make_pipeline(StandardScaler(), Ridge()).set_output(transform=library)
    pipeline.fit(X, y)
    assert list(pipeline[-1].feature_names_in_) == [f"x{k}" for k in range(X.shape[1])]
    np.testing.assert_allclose(pipeline.predict(X), Ridge().fit(scale(X), y).predict(scale(X)))


def test_max_iter_counts_passes_over_the_data(cancer):
    X, y = np.tile(cancer[0], (12, 3)), np.tile(cancer[1], 12)
    for limit in (2, 7):
        model = LogisticRegression(max_iter=limit, side="dual", tol=1e-12)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.fit(X, y)
        assert limit <= model.n_iter_ <= limit + 1
        assert model.n_iter_ == np.ceil(model.history_["passes"][-1])
        assert set(model.history_["method"]) == {"dual_cd"}


def test_ridge_classifier_takes_several_labels_per_example(wine):
    X, y = wine
    Y = np.stack([y == 0, y > 0, X[:, 0] > 0], axis=1).astype(int)
    s = weights(len(y))
    theirs = SklearnRidgeClassifier(alpha=2.0, class_weight="balanced").fit(X, Y, s)
    ours = RidgeClassifier(alpha=2.0, class_weight="balanced", tol=TIGHT).fit(X, Y, s)
    same(ours, theirs)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.to_sklearn().predict(X), ours.predict(X))
    assert ours.score(X, Y) == theirs.score(X, Y)
    assert not ours.fit(X, y).multilabel_


def test_metadata_routing_passes_weights_on(wine):
    X, y = wine
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=3)
        search.fit(X, y, sample_weight=weights(len(y)) + 0.5)
    assert search.best_params_["C"] in (0.1, 1.0)


def test_coefficients_can_be_sparse_and_dense_again(wine):
    X, y = wine
    model = LinearSVC().fit(X, y)
    before = model.decision_function(X)
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), before)
    assert isinstance(model.densify().coef_, np.ndarray)


def test_svc_has_probabilities_only_when_asked(wine):
    X, y = wine
    assert not hasattr(LinearSVC(), "predict_proba")
    model = LinearSVC(probability=True).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities.argmax(axis=1) == y).mean() > 0.95


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.classification])
def test_every_classification_loss_has_a_classifier(name, cancer):
    X, y = cancer
    model = LinearClassifier(loss=name, C=0.1).fit(X, y)
    problem = Problem(X, y, name, lam=1 / (0.1 * len(y)), fit_intercept=True)
    expected = solve(problem, tol=1e-6)
    assert model.score(X, y) > 0.95
    assert problem.primal(model.coef_[0]) <= expected.certificate.primal * (1 + 1e-5)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        with np.errstate(divide="ignore"):
            logs = np.log(model.predict_proba(X))
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), np.exp(logs), atol=1e-12)


OF_NUMBERS = [
    n for n, loss in LOSSES.items() if not loss.classification and loss().targets == "any"
]


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_every_regression_loss_has_a_regressor(name, diabetes):
    X, y = diabetes
    assert LinearRegressor(loss=name).fit(X, y).score(X, y) > 0.4


def test_an_offset_of_the_targets_moves_only_the_intercept(diabetes):
    X, y = diabetes
    for kind in REGRESSORS:
        plain, moved = kind(tol=1e-10).fit(X, y), kind(tol=1e-10).fit(X, y + 1e6)
        np.testing.assert_allclose(moved.coef_, plain.coef_, atol=1e-5)
        assert moved.intercept_ - plain.intercept_ == pytest.approx(1e6)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogisticRegression(C=0.0), "C must be a positive"),
        (LogisticRegression(C="1"), "C must be a positive number"),
        (LogisticRegression(tol=-1.0), "tol must be a nonnegative"),
        (LogisticRegression(side="left"), "side must be one of"),
        (LogisticRegression(class_weight="even"), "class_weight must be one of"),
        (LogisticRegression(class_weight={7: 1.0}), "class_weight"),
        (LogisticRegression(multi_class="crammer"), "multi_class must be one of"),
        (LogisticRegression(callback=3), "callback must be callable"),
        (LinearSVC(loss="logistic"), "loss must be one of 'squared_hinge', 'hinge'"),
        (LinearSVC(loss="hinge", side="primal"), "side must be 'auto' or 'dual'.*'hinge'"),
        (LinearSVR(loss="huber"), "loss must be one of 'epsilon_insensitive'"),
        (LinearSVC(loss="hinge", dual=False), "Unsupported set of arguments: .*loss='hinge'"),
        (LinearSVR(dual=False), "Unsupported set of arguments: .*loss='epsilon_insensitive'"),
        (LinearSVC(dual="yes"), "dual must be True, False or 'auto'"),
        (LinearSVC(dual=False, side="dual"), "contradict"),
        (LinearSVR(side="primal"), "side must be 'auto' or 'dual'.*'epsilon_insensitive'"),
        (LinearClassifier(loss="squared"), "is for regression"),
        (LinearRegressor(loss="logistic"), "is for classification"),
        (RidgeClassifier(alpha=float("inf")), "alpha must be a positive finite"),
        (HuberRegressor(epsilon=0.5), "epsilon must be at least 1.*LinearRegressor"),
        (RidgeCV(alphas=[1.0, -1.0]), r"alphas\[1\] == -1.0, must be > 0.0"),
        (RidgeCV(gcv_mode="qr"), "gcv_mode must be one of 'auto', 'eigen', 'svd', got 'qr'"),
        (RidgeCV(cv=3, store_cv_results=True), "cv!=None and store_cv_results=True"),
        (RidgeCV(cv=3, alpha_per_target=True), "cv!=None and alpha_per_target=True"),
    ],
)
def test_bad_parameters_are_refused_with_what_was_expected(model, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)


def test_bad_targets_and_weights_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="only one class"):
        LogisticRegression().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="nonnegative"):
        Ridge().fit(X, y, -np.ones(len(y)))
    with pytest.raises(ValueError, match="penalties"):
        Ridge(alpha=[1.0, 2.0]).fit(X, y)


def test_a_path_equals_the_fits_one_by_one(cancer):
    X, y = cancer
    lams = [1e-2, 1e-1, 1e-3, 1e-1]
    results = path(X, y, lams, tol=1e-12)
    for lam, result in zip(lams, results, strict=True):
        assert result.problem.lam == lam
        assert result.certificate.relative_gap <= 1e-12
        cold = solve(Problem(X, y, "logistic", lam, fit_intercept=True), tol=1e-12)
        np.testing.assert_allclose(result.w, cold.w, atol=1e-4)
    with pytest.raises(ValueError, match="positive"):
        path(X, y, [0.0])


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber"])
@pytest.mark.parametrize("excess", [0.3, -1e-9])
def test_a_rebalanced_dual_point_is_feasible(loss, excess, cancer):
    X, y = cancer
    p = Problem(X, y, loss, 0.1, weights(len(y)), fit_intercept=True)
    alpha = p.certify(np.full(p.d, 0.1)).alpha.copy()
    heavy = np.sign(alpha) == np.sign(excess)
    alpha[heavy] *= 1 - abs(excess)
    moved = p.rebalanced(alpha)
    assert abs(moved.sum()) <= 1e-12 * np.abs(moved).sum()
    assert np.isfinite(p.dual(moved))
    np.testing.assert_allclose(moved, alpha, atol=abs(excess) * np.abs(alpha).max() * 1.5)
    np.testing.assert_array_equal(p.rebalanced(np.zeros(p.n)), 0.0)


def test_dual_descent_finds_the_intercept_as_fast_as_the_rest(cancer):
    X, y = np.tile(cancer[0], (8, 1)), np.tile(cancer[1], 8)
    passes = {
        fit_intercept: LinearSVC(C=0.01, side="dual", fit_intercept=fit_intercept).fit(X, y).n_iter_
        for fit_intercept in (False, True)
    }
    assert passes[True] <= 3 * passes[False]


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_path_takes_fewer_passes_than_cold_fits(fit_intercept):
    X = datasets.zipf_text(600, 2000, 40, seed=0)
    y = datasets.labels(X, seed=1)
    values = np.logspace(-2, 2, 8)
    warm = sum(r.passes for r in path(X, y, 1 / (values * 600), fit_intercept=fit_intercept))
    fits = [LogisticRegression(C=C, fit_intercept=fit_intercept).fit(X, y) for C in values]
    # In visited nonzeros: n_iter_ counts a Newton step, which costs many passes, as one.
    cold = sum(model.history_["passes"][-1] for model in fits)
    assert warm <= 0.7 * cold


def test_cross_validation_without_refit_averages_the_folds(cancer):
    X, y = cancer
    model = LogisticRegressionCV(Cs=[0.1, 1.0], cv=3, refit=False, n_jobs=2).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    assert 0.1 <= model.C_ <= 1.0
    assert model.to_sklearn().score(X, y) == model.score(X, y)


def test_ridge_cv_with_folds(diabetes):
    X, y = diabetes
    model = RidgeCV(alphas=[0.1, 10.0], cv=4, n_jobs=2).fit(X, np.stack([y, -y], axis=1))
    assert model.cv_scores_.shape == (4, 2)
    assert model.to_sklearn().alpha == model.alpha_


def test_every_public_name_is_exported():
    for name in estimators.__all__:
        assert getattr(estimators, name).__doc__
        assert "{" + "shared}" not in getattr(estimators, name).__doc__
