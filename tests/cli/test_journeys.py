"""Whole journeys from a file to predictions: a table like those that people have, and others."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
import typer
from commands import good
from json_schema import faults
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_wine

from primaldual import cli
from primaldual._numba import folders
from primaldual.cli import care

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"

polars = pytest.importorskip("polars")

N = 400


def shop(n, seed):
    """An unscaled income, a customer id, a city, gaps, and true or false to predict."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 90, n), np.round(rng.lognormal(10.5, 0.7, n), 2)
    score = (age - 50) / 20 + np.log(income) - 10.5
    bought = rng.random(n) < 1 / (1 + np.exp(-2 * score))
    ages = [
        None if gap else int(value) for gap, value in zip(rng.random(n) < 0.1, age, strict=True)
    ]
    towns = rng.choice(["Graz", "Linz", "Wien"], n).tolist()
    cities = [None if gap else town for gap, town in zip(rng.random(n) < 0.05, towns, strict=True)]
    return polars.DataFrame(
        {
            "customer": 10_000 + np.arange(n),
            "age": ages,
            "income": income,
            "city": cities,
            "bought": bought,
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("journeys")
    for name, seed in (("shop", 0), ("later", 1)):
        table = shop(N, seed)
        if name == "later":
            table = table.with_columns(city=table["city"].replace({"Linz": "Enns"}))
        table.write_csv(place / f"{name}.csv")
        table.write_parquet(place / f"{name}.parquet")
    X, y = load_wine(return_X_y=True)
    dump_svmlight_file(X, y, str(place / "wine.svm"), zero_based=False)
    X, y = load_diabetes(return_X_y=True)
    dump_svmlight_file(X, y, str(place / "diabetes.svm"), zero_based=False)
    return place


def answered(run, *arguments, cwd, code=0):
    """The JSON of a command, and its text."""
    said = run(*arguments, cwd=cwd)
    assert said.returncode == code, said.stderr
    told = run(*arguments, "--json", cwd=cwd)
    assert told.returncode == code, told.stderr
    schema = json.loads((SCHEMAS / f"{arguments[0]}.json").read_text(encoding="utf-8"))
    answer = json.loads(told.stdout)
    assert faults(answer, schema) == []
    return answer, said


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_goes_all_the_way(run, folder, kind):
    file = f"shop.{kind}"
    refused = run("advise", file, cwd=folder)
    assert refused.returncode == 2
    gaps = shop(N, 0).null_count()
    for name in ("age", "city"):
        assert re.search(rf"'{name}' {gaps[name][0]} \(\d+%\)", refused.stderr)
    assert "2 columns have missing values" in refused.stderr
    assert re.search(r"--impute mean puts the mean .*\('age': \d+\.\d+\), --impute median",
                     refused.stderr)  # fmt: skip

    told, said = answered(run, "advise", file, "--impute", "median", cwd=folder)
    assert "'customer' looks like an id: all 400 of its values" in said.stderr
    assert "--drop customer" in said.stderr
    assert re.search(r"order of magnitude .*'income' about \d+ \d+.*--scale std", said.stderr)
    assert told["examples"] == N and told["task"] == "classification"
    assert [entry["label"] for entry in told["classes"]] == ["false", "true"]
    assert any("looks like an id" in text for text in told["remarks"])

    options = ("--impute", "median", "--drop", "customer", "--scale", "std")
    told, said = answered(run, "fit", file, "-o", f"{kind}.model", *options, cwd=folder)
    assert told["relative_gap"] <= told["tol"] and told["converged"] and told["scale"] == "std"
    assert "Note" not in said.stderr and "certificate: objective" in said.stdout

    told, said = answered(run, "score", f"{kind}.model", f"later.{kind}", cwd=folder)
    assert told["accuracy"] > told["majority_accuracy"] + 0.1
    assert told["auc"] > 0.8 and 0 < told["brier"] < 0.25 and told["log_loss"] < 0.69
    assert np.sum(told["confusion"]) == N
    strangers = (shop(N, 1)["city"] == "Linz").sum()
    assert f"taken as zero: {strangers} in 'city'" in said.stderr
    assert any(f"{strangers} in 'city'" in text for text in told["remarks"])
    assert "accuracy of always the largest class" in said.stdout

    told, said = answered(run, "info", f"{kind}.model", cwd=folder)
    assert told["settings"]["scale"] == "std" and told["settings"]["loss"] == "logistic"
    assert told["settings"]["C"] == 1 and told["settings"]["lam"] == pytest.approx(1 / N)
    named = {entry["feature"]: entry for entry in told["largest"]}
    assert named["age"]["towards"] == "true" and 0 < named["age"]["value"] < 0.2
    assert named["income"]["value"] < 1e-3 < 0.5 < named["income"]["scaled_value"]
    assert "customer" not in named
    assert re.search(r"age +\+0\.\d+ +\+\d\.\d+ +for true", said.stdout)
    for words in ("λ = 0.0025, C = 1", "tol:", "scaling:      by standard deviation", "kB, by"):
        assert words in said.stdout

    told, said = answered(run, "predict", f"{kind}.model", f"later.{kind}", cwd=folder)
    assert set(said.stdout.split()) == {"true", "false"} == set(told["predictions"])
    assert len(told["predictions"]) == N

    told, said = answered(
        run, "faceoff", file, *options, "--max-time", "2", "--html", "race.html", cwd=folder
    )
    assert list(told["contenders"]) == ["nsync", "quartz", "auto"]
    assert "A fit takes the engine, here" in said.stdout
    assert told["verdict"]["sentences"][-1].startswith("A fit takes the engine, here")
    page = (folder / "race.html").read_text(encoding="utf-8")
    assert told["verdict"]["headline"] in page and "Page written to race.html" in said.stderr

    told, said = answered(
        run, "path", file, *options, "--cv", "3", "-o", "best.model", "--lams", "1,0.01,0.0001",
        cwd=folder,
    )  # fmt: skip
    best = max(told["path"], key=lambda row: row["cv_score"])
    assert told["best_lam"] == best["lam"] and "← best" in said.stdout and "█" in said.stdout
    kept = json.loads(good(run("info", "best.model", "--json", cwd=folder)))
    assert kept["settings"]["lam"] == pytest.approx(best["lam"])


def test_scaling_does_not_show_in_predictions(run, folder, tmp_path):
    """The model file alone gives the predictions of a model on scaled features."""
    from sklearn.linear_model import LogisticRegression

    import primaldual

    table = shop(N, 0).select("age", "income", "bought").drop_nulls()
    table.write_csv(tmp_path / "plain.csv")
    for scale in ("std", "max"):
        good(run("fit", "plain.csv", "-o", "m", "--scale", scale, "--tol", "1e-12", cwd=tmp_path))
        X = table.select("age", "income").to_numpy().astype(float)
        sizes = X.std(axis=0) if scale == "std" else np.abs(X).max(axis=0)
        theirs = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X / sizes, table["bought"])
        ours = primaldual.load(tmp_path / "m")
        assert ours.coef_ == pytest.approx(theirs.coef_ / sizes, rel=1e-4)
        shares = ours.predict_proba(X)
        assert shares == pytest.approx(theirs.predict_proba(X / sizes), abs=1e-4)


def test_several_classes_in_libsvm_text(run, folder):
    told, said = answered(run, "advise", "wine.svm", cwd=folder)
    assert "All 3 classes are trained together, with the softmax loss." in said.stdout
    assert told["question"].startswith("All 3 classes") and "loss softmax" in said.stdout
    both = answered(run, "advise", "wine.svm", "--loss", "squared_hinge", cwd=folder)
    assert both[0]["question"].startswith("Of the 3 classes this looks at one problem: the large")
    assert both[0]["question"].endswith("fit trains one such problem per class.")
    options = ("--scale", "max")
    told, _ = answered(run, "fit", "wine.svm", "-o", "wine.model", *options, cwd=folder)
    assert told["training_score"] > 0.9
    told, said = answered(run, "score", "wine.model", "wine.svm", cwd=folder)
    assert np.shape(told["confusion"]) == (3, 3) and told["auc"] is None
    told, said = answered(run, "info", "wine.model", cwd=folder)
    assert told["outputs"] == 3 and re.search("(for|against) [012]", said.stdout)
    told, said = answered(run, "predict", "wine.model", "wine.svm", "--proba", cwd=folder)
    assert np.sum(told["probabilities"], axis=1) == pytest.approx(1.0)
    rows = list(csv.reader(io.StringIO(said.stdout)))
    assert rows[0] == ["label", "0", "1", "2"]
    told, said = answered(
        run, "path", "wine.svm", "--test", "wine.svm", "--lams", "1,0.01", *options, cwd=folder
    )
    assert told["best_lam"] == 0.01 and told["path"][0]["test_score"] < 1


def test_a_regression_in_libsvm_text(run, folder):
    task = ("--task", "regression")
    told, said = answered(run, "advise", "diabetes.svm", *task, cwd=folder)
    assert told["targets"] == {"least": 25.0, "most": 346.0} and told["classes"] is None
    answered(run, "fit", "diabetes.svm", "-o", "d.model", *task, "--alpha", "0.1", cwd=folder)
    told, said = answered(run, "score", "d.model", "diabetes.svm", cwd=folder)
    assert told["r2"] == pytest.approx(0.5126, abs=1e-3)
    assert 0 < told["mean_absolute_error"] < told["root_mean_squared_error"]
    assert "R²" in said.stdout
    told, said = answered(run, "info", "d.model", cwd=folder)
    assert told["settings"]["alpha"] == 0.1 and "alpha = 0.1" in said.stdout
    told, said = answered(run, "predict", "d.model", "diabetes.svm", cwd=folder)
    assert [float(line) for line in said.stdout.split()] == told["predictions"]
    told, said = answered(
        run, "path", "diabetes.svm", *task, "--cv", "3", "--html", "path.html", cwd=folder
    )
    assert "cross-validated R²" in said.stdout and (folder / "path.html").stat().st_size > 5000
    wrong = run("score", "d.model", "diabetes.svm", "--task", "classification", cwd=folder)
    assert wrong.returncode == 2 and "cannot be scored as classification" in wrong.stderr


def test_the_other_commands_answer_as_their_schemas_say(run, folder):
    good(run("fit", "wine.svm", "-o", "wine.model", cwd=folder))
    for arguments in (
        ("faceoff", "wine.svm", "--max-time", "0.2", "--scale", "std"),
        ("faceoff", "--max-time", "0.05"),
        ("doctor",),
        ("warmup", "--loss", "logistic"),
        ("predict", "wine.model", "wine.svm", "-o", "labels.csv"),
    ):
        answered(run, *arguments, cwd=folder)


@pytest.mark.parametrize("why", ["", "on a read-only file system"])
def test_the_doctors_answer_fits_its_schema_wherever_kernels_are_kept(monkeypatch, tmp_path, why):
    places = folders.Places((tmp_path,), None if why else tmp_path, why)
    monkeypatch.setattr(folders, "places", lambda: places)
    schema = json.loads((SCHEMAS / "doctor.json").read_text(encoding="utf-8"))
    told = care._cache()
    assert faults(told, schema["properties"]["cache"]) == []
    assert told.get("why_not_the_usual_place", "") == why


def test_every_command_with_json_has_a_schema_that_finds_faults():
    group = typer.main.get_command(cli.app)
    able = {
        name
        for name, command in group.commands.items()
        if any("--json" in parameter.opts for parameter in command.params)
    }
    assert able == {path.stem for path in SCHEMAS.glob("*.json")}
    for path in SCHEMAS.glob("*.json"):
        schema = json.loads(path.read_text(encoding="utf-8"))
        assert faults({"remarks": "none"}, schema) != []


# --- labels ---------------------------------------------------------------------------------------


def test_whole_numbers_say_what_they_were_taken_for(run, tmp_path):
    rng = np.random.default_rng(0)
    for count, taken, other in ((28, "classes", "regression"),
                                (80, "numbers to predict", "classification")):  # fmt: skip
        rows = "\n".join(f"{k % count + 1} 1:{rng.random()}" for k in range(300))
        (tmp_path / "ages.svm").write_text(rows)
        said = run("advise", "ages.svm", cwd=tmp_path)
        assert (
            f"the labels are {count} different whole numbers from 1 to {count}, taken for {taken}."
            in said.stderr
        )
        assert f"use --task {other}." in said.stderr
        quiet = run("advise", "ages.svm", "--quiet", cwd=tmp_path)
        assert quiet.stderr == "" and quiet.stdout == said.stdout
        chosen = run("advise", "ages.svm", "--task", other, cwd=tmp_path)
        assert "taken for" not in chosen.stderr


@pytest.mark.parametrize(
    "labels",
    [("true", "false"), ("007", "008"), ("1.0", "0.0"), ("+1", "-1"), ("yes", "no"),
     ("9007199254740993", "9007199254740992")],
)  # fmt: skip
def test_labels_come_back_as_they_stood_in_the_file(run, tmp_path, labels):
    rows = [f"{k % 7 - 3},{labels[k % 7 > 2]}" for k in range(40)]
    (tmp_path / "d.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    done = run("fit", "d.csv", "-o", "m", "--json", cwd=tmp_path)
    told = json.loads(good(done))
    assert {entry["label"] for entry in told["classes"]} <= {*labels, 0, 1, -1}
    assert ("beyond 2^53" in done.stderr) == ("9007199254740993" in labels)
    assert set(good(run("predict", "m", "d.csv", cwd=tmp_path)).split()) == set(labels)
    assert json.loads(good(run("score", "m", "d.csv", "--json", cwd=tmp_path)))["accuracy"] > 0.8


def test_signs_of_libsvm_labels_come_back(run, tmp_path):
    (tmp_path / "d.svm").write_text(
        "".join(f"{'+1' if k % 2 else '-1'} 1:{k % 2}\n" for k in range(9))
    )
    good(run("fit", "d.svm", "-o", "m", cwd=tmp_path))
    assert set(good(run("predict", "m", "d.svm", cwd=tmp_path)).split()) == {"+1", "-1"}


# --- columns --------------------------------------------------------------------------------------


def test_columns_are_dropped_and_kept_by_name_or_number(run, tmp_path):
    (tmp_path / "d.csv").write_text(
        'a,"b, c",d,y\n' + "".join(f"{k},{-k},{k % 3},{k % 2}\n" for k in range(20))
    )
    for options, kept in (
        (("--drop", "a"), ["b, c", "d"]),
        (("--drop", '"b, c",0'), ["d"]),
        (("--keep", "d"), ["d"]),
        (("--keep", "a,d", "--drop", "d"), ["a"]),
    ):
        good(run("fit", "d.csv", "-o", "m", *options, cwd=tmp_path))
        told = json.loads(good(run("info", "m", "--json", cwd=tmp_path)))
        assert [column["name"] for column in told["schema"]["columns"]] == kept
    for options, words in (
        (("--drop", "z"), "has no column 'z' to drop, only 'a', 'b, c', 'd', 'y'"),
        (("--drop", "y"), "column 'y' holds the labels and cannot be dropped"),
        (("--keep", "y"), "has no column but the target"),
    ):
        done = run("advise", "d.csv", *options, cwd=tmp_path)
        assert done.returncode == 2 and words in done.stderr


def test_two_columns_of_one_name_are_refused_unless_dropped(run, tmp_path):
    (tmp_path / "d.csv").write_text(
        "a,b,a,y\n" + "".join(f"{k},{-k},3,{k % 2}\n" for k in range(9))
    )
    done = run("advise", "d.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "2 columns are called 'a': number 1 and 3. Rename all but one" in done.stderr
    good(run("advise", "d.csv", "--drop", "a", cwd=tmp_path))


def test_whole_numbers_that_would_be_rounded_are_named(run, tmp_path):
    rows = "".join(f"{2**53 + 1 + k % 5},{k % 2}\n" for k in range(9))
    (tmp_path / "d.csv").write_text("a,y\n" + rows)
    done = run("advise", "d.csv", cwd=tmp_path)
    assert done.returncode == 0
    assert re.search(r"column 'a' has \d whole numbers beyond 2\^53", done.stderr)
    assert "in row 1: 9007199254740993 becomes 9007199254740992." in done.stderr


def test_options_about_columns_are_refused_for_other_files(run, folder):
    done = run("fit", "wine.svm", "-o", "m", "--drop", "3", cwd=folder)
    assert done.returncode == 2
    assert "--drop is for the named columns of CSV and Parquet files" in done.stderr
