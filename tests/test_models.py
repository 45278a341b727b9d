"""Model files: every estimator comes back as it was, and nothing else is loaded."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import primaldual
from primaldual import container, models
from primaldual.container import ContainerError
from primaldual.losses import Huber, SmoothedHinge

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5))
Y = X @ RNG.standard_normal(5) + 0.3 * RNG.standard_normal(60)
TWO = np.where(Y > 0, "yes", "no")
THREE = np.digitize(Y, [-0.7, 0.7])

# Name of the case: the estimator and its targets. Every estimator at least once.
CASES = {
    "HuberRegressor": (primaldual.HuberRegressor(epsilon=1.5), Y),
    "LinearClassifier": (primaldual.LinearClassifier("probit", C=0.3), TWO),
    "LinearClassifier, loss object": (
        primaldual.LinearClassifier(SmoothedHinge(0.25), class_weight={0: 2.0, 2: 0.5}),
        THREE,
    ),
    "LinearRegressor": (primaldual.LinearRegressor(Huber(2.0), random_state=3), Y),
    "LinearSVC": (primaldual.LinearSVC(), THREE),
    "LinearSVC, probabilities": (primaldual.LinearSVC(probability=True), TWO),
    "LinearSVC, probabilities of three": (primaldual.LinearSVC(probability=True), THREE),
    "LinearSVR": (primaldual.LinearSVR(epsilon=0.1), Y),
    "LogisticRegression": (primaldual.LogisticRegression(C=2.0, fit_intercept=False), TWO),
    "LogisticRegression, softmax": (primaldual.LogisticRegression(), THREE),
    "LogisticRegression, objects": (
        primaldual.LogisticRegression(class_weight="balanced"),
        TWO.astype(object),
    ),
    "LogisticRegression, floats": (primaldual.LogisticRegression(), np.sign(Y)),
    "LogisticRegression, flags": (primaldual.LogisticRegression(), Y > 0),
    "LogisticRegression, bytes": (primaldual.LogisticRegression(), THREE.astype(np.int8)),
    "LogisticRegressionCV": (primaldual.LogisticRegressionCV(Cs=[0.1, 1.0], cv=3), THREE),
    "LogisticRegressionCV, scoring": (
        primaldual.LogisticRegressionCV(Cs=2, cv=3, scoring="neg_log_loss"),
        TWO,
    ),
    "GammaRegressor": (primaldual.GammaRegressor(), np.exp(Y)),
    "PoissonRegressor": (primaldual.PoissonRegressor(), np.exp(Y)),
    "QuantileRegressor": (primaldual.QuantileRegressor(quantile=0.2), Y),
    "Ridge": (primaldual.Ridge(0.5), Y),
    "Ridge, two targets": (primaldual.Ridge(np.array([0.5, 2.0])), np.stack([Y, -2 * Y], axis=1)),
    "RidgeCV": (primaldual.RidgeCV(), Y),
    "RidgeCV, folds": (primaldual.RidgeCV(np.array([0.1, 1.0]), cv=3, scoring="r2"), Y),
    "RidgeClassifier": (primaldual.RidgeClassifier(), TWO),
    "RidgeClassifierCV": (primaldual.RidgeClassifierCV(store_cv_results=True), TWO),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: clone(model).fit(X, y) for name, (model, y) in CASES.items()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.model"


def same(one, two):
    """Equal in value, type and shape, all the way down."""
    if isinstance(one, np.ndarray):
        kinds = (one.dtype.kind, two.dtype.kind)
        equal = np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
        return kinds[0] == kinds[1] and one.shape == two.shape and equal
    if sparse.issparse(one):
        return (one != two).nnz == 0
    if isinstance(one, list | tuple) and type(one) is type(two):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict) and type(one) is type(two):
        return list(one) == list(two) and all(same(one[key], two[key]) for key in one)
    if isinstance(one, float | int):
        return one == two
    return type(one) is type(two) and one == two


# --- there and back -------------------------------------------------------------------------------


def test_every_estimator_has_a_case():
    public = {
        name
        for name in primaldual.__all__
        if isinstance(getattr(primaldual, name), type) and hasattr(getattr(primaldual, name), "fit")
    }
    assert set(models.ESTIMATORS) == public
    assert {type(model).__name__ for model, _ in CASES.values()} == public


@pytest.mark.parametrize("name", CASES)
def test_parameters_and_attributes_come_back(fitted, name, path):
    model = fitted[name]
    model.save(path, dual=True)
    again = primaldual.load(path)
    assert type(again) is type(model)
    for key, value in model.get_params().items():
        assert same(again.get_params()[key], value), key
    public = {key for key in vars(model) if key.endswith("_") and not key.startswith("_")}
    for key in public - {"history_", "calibrated_"}:
        assert same(getattr(again, key), getattr(model, key)), key
    assert not hasattr(again, "history_")


@pytest.mark.parametrize("name", CASES)
def test_dual_variables_are_left_out_unless_asked_for(fitted, name, path):
    fitted[name].save(path)
    again = primaldual.load(path)
    assert not hasattr(again, "dual_coef_")
    assert hasattr(fitted[name], "dual_coef_")


def test_the_size_of_a_model_does_not_grow_with_the_examples(path):
    data = np.random.default_rng(0).standard_normal((100_000, 10))
    primaldual.Ridge().fit(data, data[:, 0]).save(path)
    assert path.stat().st_size < 10_000


def test_a_loaded_model_without_dual_variables_starts_a_warm_fit(fitted, path):
    model = clone(CASES["LinearSVC"][0]).set_params(warm_start=True).fit(X, THREE)
    model.save(path)
    again = primaldual.load(path).fit(X, THREE)
    assert again.dual_gap_ <= again.tol and hasattr(again, "dual_coef_")


def test_a_file_with_dual_variables_of_an_earlier_version_still_loads(fitted, path):
    """Versions before this one always kept them."""
    fitted["Ridge"].save(path, dual=True)
    again = primaldual.load(path)
    assert again.dual_coef_.tobytes() == fitted["Ridge"].dual_coef_.tobytes()


@pytest.mark.parametrize("name", CASES)
def test_predictions_come_back(fitted, name, path):
    model = fitted[name]
    model.save(path)
    again = primaldual.load(path)
    y = CASES[name][1]
    for data in (X, sparse.csr_matrix(X), X.astype(np.float32)):
        assert same(again.predict(data), model.predict(data))
    assert again.score(X, y) == model.score(X, y)
    if hasattr(model, "predict_proba"):
        # The calibration is sklearn's before, ours after: equal up to rounding.
        np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-14)
    assert same(again.to_sklearn().predict(X), model.to_sklearn().predict(X))


@pytest.mark.parametrize("name", CASES)
def test_saving_what_was_loaded_gives_the_same_file(fitted, name, path):
    fitted[name].save(path)
    second = path.with_name("second")
    primaldual.load(path).save(second)
    assert second.read_bytes() == path.read_bytes()


def test_equal_fits_give_equal_files(path):
    for place in (path, path.with_name("second")):
        primaldual.LogisticRegression().fit(X, TWO).save(place)
    assert path.read_bytes() == path.with_name("second").read_bytes()


def test_a_loaded_model_can_be_fitted_and_continued(path):
    model = primaldual.LogisticRegression(warm_start=True).fit(X, TWO)
    model.save(path)
    again = primaldual.load(path).fit(X, TWO)
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-6)
    assert again.history_["relative_gap"][0] <= 1e-6, "it starts from the loaded solution"


def test_feature_names_and_sparse_coefficients_come_back(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "β", "c c", "", "e,\n"])
    model = primaldual.LinearSVC().fit(frame, TWO).sparsify()
    model.save(path)
    again = primaldual.load(path)
    assert again.feature_names_in_.tolist() == list(frame.columns)
    assert again.feature_names_in_.dtype == object
    assert sparse.issparse(again.coef_)
    assert same(again.predict(frame), model.predict(frame))


def test_schema_and_notes_are_in_the_header(fitted, path):
    schema, notes = {"columns": [{"name": "β", "levels": ["x", "y"]}]}, {"source": "data.csv"}
    models.save(fitted["Ridge"], path, schema=schema, notes=notes)
    head = models.header(path)
    assert (head["schema"], head["notes"]) == (schema, notes)
    assert head["estimator"] == "Ridge"
    assert head["written_by"]["primaldual"] == primaldual.__version__


def test_objects_that_matter_only_while_fitting_are_left_out(path):
    model = primaldual.LogisticRegressionCV(
        Cs=2,
        cv=StratifiedKFold(3),
        random_state=np.random.RandomState(0),
        callback=lambda progress: None,
    )
    model.fit(X, TWO).save(path)
    again = primaldual.load(path)
    assert (again.cv, again.random_state, again.callback) == (None, None, None)
    assert sorted(models.header(path)["left_out"]) == ["callback", "cv", "random_state"]


# --- what cannot be saved -------------------------------------------------------------------------


class Derived(primaldual.Ridge):
    pass


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("LinearRegressor", {"loss": object()}),
        ("LogisticRegressionCV", {"scoring": lambda *_: 1.0}),
        ("LogisticRegressionCV", {"Cs": [object()]}),
    ],
)
def test_code_cannot_be_saved(fitted, name, code, path):
    model = copy.copy(fitted[name]).set_params(**code)
    with pytest.raises(TypeError, match=r"holds data and no code\. Use a loss or a score by its"):
        models.save(model, path)
    assert not path.exists()


def test_only_our_own_classes_can_be_saved(path):
    with pytest.raises(TypeError, match="expected a fitted estimator of primaldual"):
        Derived().fit(X, Y).save(path)
    with pytest.raises(TypeError, match="expected a fitted estimator of primaldual"):
        models.save(Derived().fit(X, Y).to_sklearn(), path)
    assert not path.exists()


def test_an_estimator_must_be_fitted(path):
    with pytest.raises(ValueError, match="not fitted"):
        primaldual.Ridge().save(path)
    with pytest.raises(ValueError, match="not fitted"):
        models.save(primaldual.Ridge(), path)


def test_labels_of_other_kinds_are_refused(path):
    model = copy.copy(primaldual.LogisticRegression().fit(X, TWO))
    model.classes_ = np.array([b"a", b"b"])
    with pytest.raises(TypeError, match="numbers and strings"):
        model.save(path)


# --- what is not loaded ---------------------------------------------------------------------------


def test_every_damaged_region_is_refused(fitted, path):
    fitted["LogisticRegression, softmax"].save(path)
    content = path.read_bytes()
    places = sorted(
        {*range(0, len(content), 37), *range(64), *range(len(content) - 64, len(content))}
    )
    for at in places:
        changed = bytearray(content)
        changed[at] ^= 0xFF
        path.write_bytes(changed)
        with pytest.raises(ContainerError):
            primaldual.load(path)
        path.write_bytes(content[:at])
        with pytest.raises(ContainerError):
            primaldual.load(path)


def rewritten(path, change):
    """The model with its header changed and a correct checksum again."""
    head, arrays = container.read(path)
    change(head, arrays)
    container.write(path, head, arrays)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda head, _: head.update(kind="checkpoint"), "expected a model, .* 'checkpoint'"),
        (lambda head, _: head.pop("kind"), "expected a model"),
        (lambda head, _: head.update(version=2), "version 2, this primaldual reads version 1"),
        (lambda head, _: head.update(estimator="SVC"), "'SVC', which this version"),
        (lambda head, _: head.update(estimator="os.system"), "'os.system', which this version"),
        (lambda head, _: head.update(estimator=["Ridge"]), "not a model that this version"),
        (lambda head, _: head["parameters"].update(later=1), "parameters later, which"),
        (lambda head, _: head["attributes"].update(predict=1), "'predict' is not the name"),
        (lambda head, _: head["attributes"].update(__class__=1), "'__class__' is not the name"),
        (lambda head, _: head["attributes"].pop("coef_"), "not a model that this version"),
        (lambda head, _: head["attributes"].update(coef_={}), "not a model that this version"),
        (lambda head, _: head["attributes"].update(coef_=[1]), "not a model that this version"),
        (lambda head, _: head["attributes"].update(n_features_in_=6), "do not fit together"),
        (lambda head, _: head["attributes"].update(n_features_in_="5"), "do not fit together"),
        (
            lambda head, _: head["attributes"].update(classes_={"texts": ["a", "b", "c"]}),
            "do not fit together",
        ),
        (
            lambda head, _: head["attributes"].update(
                classes_={"texts": ["a" * 10_000, *"b" * 99_999]}
            ),
            "more than a model may have",
        ),
        (
            lambda head, _: head["attributes"].update(feature_names_in_={"objects": ["a"]}),
            "do not fit together",
        ),
        (
            lambda head, arrays: (
                arrays.update(at=np.array([7]), to=np.array([0, 1]), by=np.array([1.0])),
                head["attributes"].update(
                    coef_={
                        "csr": [{"array": "by"}, {"array": "at"}, {"array": "to"}],
                        "shape": [1, 5],
                    }
                ),
            ),
            "not a model that this version",
        ),
        (lambda head, _: head.update(attributes=[]), "not a model that this version"),
        (lambda head, _: head["attributes"].pop("side_"), "not a model that this version"),
        (lambda head, _: head.pop("written_by"), "no usable written_by"),
        (lambda head, _: head.update(notes=[], schema=1), "no usable schema, notes"),
    ],
    ids=range(22),
)
def test_forged_models_are_refused_with_the_reason(fitted, path, change, words):
    fitted["LogisticRegression"].save(path)
    rewritten(path, change)
    with pytest.raises(ContainerError, match=words) as caught:
        primaldual.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def leaves(value, at=()):
    """The place of every entry in nested dicts and lists."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        yield (*at, key)
        if isinstance(entry, dict | list):
            yield from leaves(entry, (*at, key))


@pytest.mark.parametrize("junk", [None, -1, "x", [], {}, {"tuple": []}, {"array": "no"}], ids=str)
def test_junk_anywhere_in_the_header_is_refused_or_harmless(fitted, path, junk):
    """With a correct checksum: loading gives an estimator or a ContainerError, nothing else."""
    fitted["LinearClassifier, loss object"].save(path)
    head, arrays = container.read(path)
    for at in leaves(head):
        forged = json.loads(json.dumps(head))
        spot = forged
        for key in at[:-1]:
            spot = spot[key]
        spot[at[-1]] = junk
        try:
            loaded = models._Reader(arrays).model(forged)
        except (ContainerError, *models.REFUSED):
            continue
        assert type(loaded) in models.ESTIMATORS.values()
