"""Other libraries on our estimators: skops, MLflow, skl2onnx, eli5, and scikit-learn itself.

All but skops are no dependencies of the development environment; install them to run their tests:
``pip install skl2onnx onnxruntime eli5 mlflow``.
"""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from sklearn import calibration, ensemble, multiclass, multioutput
from sklearn import model_selection as ms
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler, scale

from primaldual import estimators as ours
from primaldual._when_imported import when_imported
from primaldual.estimators.base import LinearModel

X, Y = load_wine(return_X_y=True)
X = scale(X)[:, :5].astype(np.float32)
Y = Y + 1  # positive, as some of the losses need it
KINDS = [getattr(ours, name) for name in ours.__all__ if isinstance(getattr(ours, name), type)]
MODELS = [kind() for kind in KINDS] + [
    ours.LogisticRegression(multi_class="ovr"),
    ours.LinearSVC(probability=True),
    ours.LogisticRegressionCV(Cs=2, cv=2, use_legacy_attributes=False),
]


@pytest.fixture(params=[2, 3], ids=["two", "three"])
def labels(request):
    return np.minimum(Y, request.param)


def plain_types(value):
    """The types in a state, of arrays and the standard library or not."""
    found = {type(value)}
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        found |= {kind for part in value for kind in plain_types(part)}
    return found


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_state_of_a_fitted_model_is_plain_data(model):
    model = clone(model).fit(X, Y)
    found = plain_types(model.__getstate__()) - {type(model)}
    assert {kind.__module__ for kind in found} <= {"builtins", "numpy"}
    again = pickle.loads(pickle.dumps(model))
    assert again.advice_ == model.advice_
    assert str(again.advice_) == str(model.advice_)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_skops_has_to_trust_no_class_but_the_estimators(model):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    model = clone(model).fit(X, Y)
    for saved in (model, make_pipeline(StandardScaler(), clone(model)).fit(X, Y)):
        stored = io.dumps(saved)
        own = f"{type(model).__module__}.{type(model).__name__}"
        assert io.get_untrusted_types(data=stored) == [own]
        again = io.loads(stored, trusted=[own])
        np.testing.assert_array_equal(again.predict(X), saved.predict(X))
        if saved is model:
            assert again.advice_ == model.advice_
            assert list(again.history_) == list(model.history_)


@pytest.mark.filterwarnings("ignore")  # MLflow's own, when it is imported
def test_mlflow_saves_in_its_default_format_and_reads(tmp_path):
    mlflow = pytest.importorskip("mlflow.sklearn", reason="mlflow is not installed")
    pipe = make_pipeline(StandardScaler(), ours.LogisticRegression()).fit(X, Y)
    trust = ["primaldual.estimators.logistic.LogisticRegression"]
    for saved, trusted in ((pipe, trust), (ours.to_sklearn(pipe), None)):
        path = str(tmp_path / f"model{trusted is None}")
        # Without a list MLflow installs the model somewhere to find what it needs.
        mlflow.save_model(saved, path, skops_trusted_types=trusted, pip_requirements=["numpy"])
        np.testing.assert_array_equal(mlflow.load_model(path).predict(X), pipe.predict(X))


# --- ONNX -----------------------------------------------------------------------------------------


def through_onnx(model, options=None):
    """What a model gives after a conversion."""
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    graph = skl2onnx.to_onnx(model, X[:1], options=options)
    return runtime.InferenceSession(graph.SerializeToString()).run(None, {"X": X})


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("piped", [False, True])
def test_a_model_and_a_pipeline_are_converted_to_onnx(model, piped, labels):
    model = clone(model)
    whole = (make_pipeline(StandardScaler(), model) if piped else model).fit(X, labels)
    found = through_onnx(whole)
    np.testing.assert_allclose(found[0].ravel(), whole.predict(X), rtol=1e-3, atol=1e-4)
    if isinstance(model, ours.LogisticRegression):
        table = np.array([[row[k] for k in np.unique(labels)] for row in found[1]])
        np.testing.assert_allclose(table, whole.predict_proba(X), atol=1e-5)


def test_the_options_of_skl2onnx_are_honoured(labels):
    model = ours.LogisticRegression().fit(X, labels)
    for key in (id(model), ours.LogisticRegression):
        found = through_onnx(model, {key: {"zipmap": False}})[1]
        np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-5)
    raw = through_onnx(model, {id(model): {"zipmap": False, "raw_scores": True}})[1]
    scores = model.decision_function(X)
    np.testing.assert_allclose(raw if scores.ndim == 2 else raw[:, 1], scores, atol=1e-4)


@pytest.mark.parametrize(
    "whole",
    [
        multiclass.OneVsRestClassifier(ours.LogisticRegression()),
        calibration.CalibratedClassifierCV(ours.LinearSVC(), cv=2),
        ensemble.StackingClassifier(
            [("a", ours.LogisticRegression()), ("b", ours.LinearSVC())],
            final_estimator=ours.LogisticRegression(), cv=2,
        ),
        ensemble.BaggingClassifier(ours.LogisticRegression(), 2, random_state=0),
        ms.GridSearchCV(ours.LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    ],
    ids=lambda whole: type(whole).__name__,
)  # fmt: skip
def test_models_inside_of_others_are_converted_to_onnx(whole):
    whole = clone(whole).fit(X, Y)
    np.testing.assert_array_equal(through_onnx(whole)[0], whole.predict(X))


# --- eli5 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_eli5_explains_weights_and_predictions(kind):
    eli5 = pytest.importorskip("eli5", reason="eli5 is not installed")
    model = kind().fit(X, Y)
    explained = eli5.explain_weights(make_pipeline(StandardScaler(), clone(model)).fit(X, Y))
    assert explained.error is None and explained.targets
    explained = eli5.explain_weights(model)
    assert explained.error is None and explained.estimator == repr(model)
    weights = {entry.feature: entry.weight for entry in explained.targets[0].feature_weights.pos}
    first = np.atleast_2d(model.coef_)[0]
    for k in np.flatnonzero(first > 0):
        assert weights[f"x{k}"] == pytest.approx(first[k])
    assert eli5.explain_prediction(model, X[0]).error is None


# --- the hook -------------------------------------------------------------------------------------


@pytest.fixture
def neighbour(tmp_path, monkeypatch):
    """A library that can be imported, by its name."""
    (tmp_path / "some_neighbour.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield "some_neighbour"
    sys.modules.pop("some_neighbour", None)


def test_a_library_hears_of_us_once_it_is_imported(neighbour):
    heard = []
    when_imported(neighbour, lambda module: heard.append(module.value))
    when_imported(neighbour, lambda module: heard.append(-module.value))
    assert heard == []
    __import__(neighbour)
    assert sorted(heard) == [-3, 3]
    when_imported(neighbour, lambda module: heard.append(0))
    assert heard[-1] == 0
    __import__(neighbour)
    assert len(heard) == 3


def test_a_library_that_is_not_installed_is_not_found(neighbour):
    when_imported("no_such_neighbour", lambda module: None)
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_neighbour"):
            __import__("no_such_neighbour")


def test_a_library_of_another_kind_than_expected_is_imported_all_the_same(neighbour):
    when_imported(neighbour, lambda module: module.register())
    with pytest.warns(UserWarning, match="could not be registered with some_neighbour"):
        __import__(neighbour)
    assert sys.modules[neighbour].value == 3


# --- scikit-learn's models ------------------------------------------------------------------------


def ours_in(value):
    """How many models of ours a pickle has; scikit-learn alone has none."""
    return pickle.dumps(value).count(b"primaldual")


WHOLES = [
    ours.LogisticRegression(),
    make_pipeline(StandardScaler(), ours.LogisticRegression(C=0.1)),
    make_pipeline(
        ColumnTransformer([("a", StandardScaler(), [0, 1])], remainder="passthrough"),
        FeatureUnion([
            ("same", FunctionTransformer()), ("few", SelectFromModel(ours.LinearSVC())),
        ]),
        ours.RidgeClassifier(),
    ),
    ms.GridSearchCV(
        make_pipeline(StandardScaler(), ours.LinearSVC()), {"linearsvc__C": [0.1, 1.0]}, cv=2
    ),
    ensemble.StackingClassifier(
        [("a", ours.LogisticRegression()), ("b", ours.LinearSVC())],
        final_estimator=ours.LogisticRegressionCV(Cs=2, cv=2), cv=2,
    ),
    calibration.CalibratedClassifierCV(ours.LinearSVC(), cv=2),
    multiclass.OneVsRestClassifier(ours.LinearSVC()),
    multioutput.MultiOutputRegressor(ours.Ridge()),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of scikit-learn's defaults
@pytest.mark.parametrize("whole", WHOLES, ids=lambda whole: type(whole).__name__)
def test_to_sklearn_translates_what_is_inside(whole):
    several = isinstance(whole, multioutput.MultiOutputRegressor)
    targets = np.stack([Y, -Y], axis=1) if several else Y
    whole = clone(whole).fit(X, targets)
    assert ours_in(whole)
    twin = ours.to_sklearn(whole)
    assert not ours_in(twin)
    np.testing.assert_allclose(twin.predict(X), whole.predict(X), rtol=1e-5, atol=1e-6)
    assert ours_in(whole)  # as it was
    twin.fit(X, targets)  # also the parts that are fitted from
    assert (np.abs(twin.predict(X) - whole.predict(X)) < 1e-2).mean() > 0.95


def test_to_sklearn_keeps_the_parameters_of_what_is_not_fitted():
    search = ms.GridSearchCV(ours.Ridge(7.0, tol=1e-3), {"alpha": [1.0]}, cv=2).fit(X, Y)
    twin = ours.to_sklearn(search)
    assert twin.estimator.alpha == 7.0
    assert twin.estimator.tol == 1e-4  # scikit-learn's default: its meaning is another
    with pytest.raises(ValueError, match="scikit-learn has no LinearClassifier"):
        ours.to_sklearn(ours.LinearClassifier())


def test_to_sklearn_leaves_alone_what_has_no_model_of_ours():
    scaler = StandardScaler().fit(X)
    twin = ours.to_sklearn(scaler)
    assert twin is not scaler
    np.testing.assert_array_equal(twin.mean_, scaler.mean_)
    assert not isinstance(ours.to_sklearn(ours.Ridge().fit(X, Y)), LinearModel)
