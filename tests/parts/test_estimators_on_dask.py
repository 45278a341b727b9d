"""Estimators take Dask collections: the model of the same data in memory, answers in Dask."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import sparse

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402

from primaldual.estimators import (  # noqa: E402
    HuberRegressor,
    LinearRegressor,
    LinearSVC,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
)
from primaldual.parts import PartError, cut  # noqa: E402


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 8))
    return X, np.where(X[:, 0] + rng.standard_normal(600) > 0.3, "yes", "no")


def in_blocks(X, y, rows=150):
    return da.from_array(X, chunks=(rows, 3)), da.from_array(y, chunks=100)


def same(ours, theirs):
    assert ours.dual_gap_ <= ours.tol
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)


def test_a_classifier_fits_on_a_cluster_and_answers_in_dask(client, data):
    X, y = data
    dX, dy = in_blocks(X, y)
    model = LogisticRegression().fit(dX, dy)
    same(model, LogisticRegression().fit(X, y))
    assert isinstance(model.coef_, np.ndarray) and model.classes_.tolist() == ["no", "yes"]
    assert model.rounds_ > 0 and model.bytes_moved_ > 0
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        answer = getattr(model, name)(dX)
        assert isinstance(answer, da.Array)
        expected = getattr(model, name)(X)
        assert answer.shape == expected.shape
        np.testing.assert_allclose(
            *(a if a.dtype.kind == "f" else a == "yes" for a in (answer.compute(), expected))
        )


@pytest.mark.parametrize("make", [LogisticRegression, LinearSVC, RidgeClassifier])
def test_classifiers_fit_without_a_cluster(make, data):
    X, y = data
    same(make(tol=1e-10).fit(*in_blocks(X, y)), make(tol=1e-10).fit(X, y))


def test_a_support_vector_machine_fits_on_a_cluster(client, data):
    X, y = data
    ours = LinearSVC(loss="hinge", tol=1e-7).fit(*in_blocks(X, y))
    same(ours, LinearSVC(loss="hinge", tol=1e-9).fit(X, y))
    assert ours.bytes_moved_ > 8 * len(y)


@pytest.mark.parametrize("make", [Ridge, partial(LinearRegressor, "huber")])
def test_regressors_fit_on_blocks(make, data):
    X, _ = data
    y = X @ np.arange(8.0) + 100.0
    dX, dy = in_blocks(X, y)
    model = make(tol=1e-9).fit(dX, dy)
    same(model, make(tol=1e-9).fit(X, y))
    np.testing.assert_allclose(model.predict(dX).compute(), model.predict(X))


def test_the_scale_of_the_huber_regressor_is_not_fitted_on_blocks(data):
    X, y = data
    with pytest.raises(TypeError, match="Use LinearRegressor"):
        HuberRegressor().fit(*in_blocks(X, y))


def test_weights_of_examples_and_classes_count(data):
    X, y = data
    weights = np.random.default_rng(1).exponential(size=len(y))
    dX, dy = in_blocks(X, y)
    for class_weight in ("balanced", {"yes": 3.0, "no": 1.0}):
        model = LogisticRegression(class_weight=class_weight, tol=1e-9)
        ours = model.fit(dX, dy, sample_weight=da.from_array(weights, chunks=200))
        same(ours, LogisticRegression(class_weight=class_weight, tol=1e-9).fit(X, y, weights))


def test_several_classes_are_trained_one_against_the_rest(data):
    X, _ = data
    y = np.digitize(X[:, 1], [-0.5, 0.5])
    ours = LogisticRegression(multi_class="ovr", tol=1e-9).fit(*in_blocks(X, y))
    same(ours, LogisticRegression(multi_class="ovr", tol=1e-9).fit(X, y))


def test_several_classes_are_trained_together_with_the_softmax_loss(data):
    X, _ = data
    y = np.digitize(X[:, 1], [-0.5, 0.5])
    ours = LogisticRegression(tol=1e-9).fit(*in_blocks(X, y))
    same(ours, LogisticRegression(tol=1e-9).fit(X, y))
    answer = ours.predict_proba(in_blocks(X, y)[0])
    np.testing.assert_allclose(answer.compute(), ours.predict_proba(X))
    rounds = ours.rounds_
    assert ours.set_params(warm_start=True).fit(*in_blocks(X, y)).rounds_ < rounds


def test_several_targets_have_a_row_each(data):
    X, _ = data
    Y = X @ np.random.default_rng(0).standard_normal((8, 3)) + [1.0, 20.0, -3.0]
    dX, dY = da.from_array(X, chunks=(200, 8)), da.from_array(Y, chunks=(150, 2))
    alpha = [1.0, 10.0, 100.0]
    same(Ridge(alpha, tol=1e-10).fit(dX, dY), Ridge(alpha, tol=1e-10).fit(X, Y))
    with pytest.raises(ValueError, match="got 3 columns"):
        LinearRegressor("huber").fit(dX, dY)
    with pytest.raises(ValueError, match="2 values of alpha for 3 targets"):
        Ridge([1.0, 2.0]).fit(dX, dY)


def test_lists_of_delayed_sparse_blocks_stay_sparse(data):
    X, y = data
    S = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    slices = [slice(0, 200), slice(200, 600)]
    blocks = [dask.delayed(S[rows]) for rows in slices]
    labels = [dask.delayed(y[rows]) for rows in slices]
    model = LogisticRegression(tol=1e-9).fit(blocks, labels)
    same(model, LogisticRegression(tol=1e-9).fit(S, y))
    answers = dask.compute(*model.predict(blocks))
    assert np.array_equal(np.concatenate(answers), model.predict(S))


def test_frames_with_categories_become_sparse_blocks(data):
    X, y = data
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    frame["town"] = pd.Categorical(np.where(X[:, 2] > 0, "Linz", "Graz"))
    df = dd.from_pandas(frame, npartitions=3)
    labels = dd.from_pandas(pd.Series(y, name="y"), npartitions=3)
    model = LogisticRegression(tol=1e-9).fit(df, labels)
    town = X[:, 2] > 0
    wide = np.column_stack([X[:, :2], ~town, town]).astype(float)
    same(model, LogisticRegression(tol=1e-9).fit(wide, y))
    assert np.array_equal(model.predict(df).compute(), model.predict(wide))
    with pytest.raises(PartError, match="column 'town' holds texts"):
        texts = dd.from_pandas(frame.astype({"town": object}), npartitions=3)
        LogisticRegression().fit(texts, labels)


def test_parts_in_memory_are_taken_with_their_labels(data):
    X, y = data
    same(LogisticRegression().fit(cut(X, y, 3), None), LogisticRegression().fit(X, y))
    with pytest.raises(ValueError, match="these parts hold their own"):
        LogisticRegression().fit(cut(X, y, 3), y)


def test_labels_in_other_blocks_than_x_are_refused(data):
    X, y = data
    blocks = [dask.delayed(X[:300]), dask.delayed(X[300:])]
    with pytest.raises(ValueError, match="y must come in 2 blocks"):
        LogisticRegression().fit(blocks, [dask.delayed(y)])
    with pytest.raises(ValueError, match="lengths are not known"):
        LogisticRegression().fit(blocks, y)


def test_a_model_trained_on_parts_can_be_pickled_and_saved(data, tmp_path):
    import pickle

    import primaldual

    model = LogisticRegression().fit(*in_blocks(*data))
    X = data[0]
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    model.save(tmp_path / "model")
    assert np.array_equal(primaldual.load(tmp_path / "model").predict(X), model.predict(X))
