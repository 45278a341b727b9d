"""``primaldual shard`` and ``primaldual fit FOLDER``: text in, model out, by two commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import good
from json_schema import faults
from sklearn.datasets import dump_svmlight_file

import primaldual
from primaldual import LogisticRegression, datasets, files
from primaldual.cli.shard import size_in_bytes
from primaldual.cli.terminal import WRONG

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    place = tmp_path_factory.mktemp("shards") / "a.svm"
    X = datasets.random_matrix(15, 400, 0.4, seed=0)
    dump_svmlight_file(X, datasets.labels(X, noise=0.2, seed=1), str(place), zero_based=False)
    return place


@pytest.fixture(scope="module")
def folder(server, text):
    place = text.with_name("folder")
    answer = good(server.run("shard", text, "-o", place, "--count", 6))
    assert "400 examples, 15 features" in answer
    return place


def test_two_commands_lead_from_text_to_the_model_of_memory(run, folder, text, tmp_path):
    answer = good(run("fit", folder, "-o", tmp_path / "m", "--memory", "1GB", "--tol", "1e-9"))
    assert "relative gap" in answer and "training accuracy" in answer
    table = files.read(text)
    theirs = LogisticRegression(tol=1e-9).fit(table.X, table.y)
    ours = primaldual.load(tmp_path / "m")
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert ours.classes_.tolist() == [-1, 1]
    lines = good(run("predict", tmp_path / "m", text)).split()
    assert np.mean(np.array(lines, dtype=float) == theirs.predict(table.X)) > 0.99


def test_the_answers_of_shard_and_fit_are_json_on_request(run, folder, text, tmp_path):
    facts = json.loads(good(run("shard", text, "-o", tmp_path / "s", "--count", 3, "--json")))
    assert facts["shards"] == 3 and facts["examples"] == 400
    facts = json.loads(good(run("fit", folder, "-o", tmp_path / "m", "--json")))
    assert facts["converged"] and 0.5 < facts["training_score"] <= 1


def test_a_regression_is_trained_from_shards(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    dump_svmlight_file(X, X @ [1.0, 2.0, 3.0] + 0.1, str(tmp_path / "r.svm"), zero_based=False)
    good(run("shard", tmp_path / "r.svm", "-o", tmp_path / "s", "--count", 2))
    facts = json.loads(good(run("fit", tmp_path / "s", "-o", tmp_path / "m", "--json")))
    assert facts["task"] == "regression" and facts["training_score"] > 0.99


def test_advise_says_what_a_fit_of_a_folder_should_take(run, folder):
    answer = good(run("advise", folder))
    assert "primal, by parts_newton" in answer and "rounds" in answer
    facts = json.loads(good(run("advise", folder, "--json")))
    assert facts["parts"]["method"] == "parts_newton" and facts["parts"]["bytes_moved"] == 0
    schema = json.loads((SCHEMAS / "advise.json").read_text(encoding="utf-8"))
    assert faults(facts, schema) == []


def test_several_classes_and_kinks_are_trained_from_shards(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = np.argmax(X[:, :3] + 0.3 * rng.standard_normal((300, 3)), axis=1)
    dump_svmlight_file(X, y, str(tmp_path / "c.svm"), zero_based=False)
    good(run("shard", tmp_path / "c.svm", "-o", tmp_path / "s", "--count", 3))
    for more in ((), ("--loss", "hinge")):
        facts = json.loads(good(run("fit", tmp_path / "s", "-o", tmp_path / "m", *more, "--json")))
        assert facts["converged"] and facts["training_score"] > 0.8
        assert [each["examples"] for each in facts["classes"]] == np.bincount(y).tolist()


def test_options_that_do_not_fit_are_refused(run, folder, text, tmp_path):
    for arguments, words in (
        (("fit", text, "--memory", "1GB"), "--memory is for a folder of shards"),
        (("fit", text, "--dask", "tcp://127.0.0.1:1"), "--dask is for a folder of shards"),
        (("fit", folder, "--memory", "a lot"), "such as 500MB"),
        (("fit", folder, "--memory", "1KB"), "must be at least"),
        (("fit", folder, "--scale", "std"), "are for files"),
        (("fit", tmp_path), "is no folder of shards"),
        (("shard", text), "holds shards already"),
    ):
        target = folder if arguments[0] == "shard" else tmp_path / "m"
        done = run(*arguments, "-o", target)
        assert done.returncode == WRONG
        assert words in " ".join(done.stderr.split()), arguments


def test_sizes_have_units():
    assert size_in_bytes("2GB") == 2e9 and size_in_bytes("1.5 MiB") == 1.5 * 2**20
    assert size_in_bytes("300") == 300 and size_in_bytes(None) is None
