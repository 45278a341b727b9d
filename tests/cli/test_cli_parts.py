"""The parts of the command line: what labels are, which estimator, lines and plots."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from primaldual import estimators, files
from primaldual.cli import ask, data, groups, live, options, terminal, warmup
from primaldual.cli.options import Loss, Task
from primaldual.files import Table
from primaldual.files.memory import ADVICE
from primaldual.losses import LOSSES
from primaldual.methods import ENGINE

X = np.random.default_rng(0).standard_normal((30, 4))
NUMBERS = X[:, 0] + 0.1
TWO = np.where(NUMBERS > 0, 1.0, -1.0)
WORDS = np.where(NUMBERS > 0, "yes", "no")


def labelled(y, loss=None, task=Task.auto):
    table = Table(X[: len(y)], y, None, {}, "some.file")
    return data.labelled(table, None if loss is None else Loss(loss), task)


def given_strength(C=None, lam=None, alpha=None):
    return groups.Strength(C, lam, alpha)


# --- options are what the library has -------------------------------------------------------------


def test_the_losses_are_those_of_the_library():
    assert {loss.value for loss in Loss} == set(LOSSES)
    of_classes = {name for name, loss in LOSSES.items() if loss.classification}
    assert set(options.CLASSIFICATION) == of_classes
    first = {name: loss._fields[:1] for name, loss in LOSSES.items()}
    thresholds = {name for name, field in first.items() if field in (("epsilon",), ("delta",))}
    assert set(options.WITH_EPSILON) == thresholds


def test_formats_and_fillings_are_those_of_the_readers(tmp_path):
    assert {one.value for one in options.FileFormat} == set(files.FORMATS)
    for filling in options.Filling:
        files.columns.require_impute(filling.value)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_warmup_runs_every_method_of_the_engine_that_takes_the_loss(loss, monkeypatch):
    ran = set()
    monkeypatch.setattr("primaldual.solver.solve", lambda problem, name, **rest: ran.add(name))
    warmup._compile_for(loss)
    assert ran >= {"auto", "dual_cd", "ssnal"}
    assert (ran >= {"nsync", "quartz", *ENGINE}) == (loss == "squared_hinge")


# --- what the labels are --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "loss", "task", "expected", "classes"),
    [
        (TWO, None, Task.auto, "logistic", [-1, 1]),
        (WORDS, None, Task.auto, "logistic", ["no", "yes"]),
        (NUMBERS, None, Task.auto, "squared", None),
        (np.arange(30.0), None, Task.auto, "squared", None),
        (TWO, None, Task.regression, "squared", None),
        (TWO, "squared", Task.auto, "squared", None),
        (TWO, "squared", Task.classification, "squared", [-1, 1]),
        (WORDS, "squared", Task.auto, "squared", ["no", "yes"]),
        (TWO, "huber", Task.auto, "huber", None),
        (NUMBERS[:3], "probit", Task.auto, "probit", sorted(NUMBERS[:3])),
        (TWO / 2, None, Task.classification, "logistic", [-0.5, 0.5]),
    ],
)
def test_labels_and_loss_decide_about_classes(y, loss, task, expected, classes):
    found = labelled(y, loss, task)
    assert found.loss == expected
    assert (None if found.classes is None else found.classes.tolist()) == classes


@pytest.mark.parametrize(
    ("y", "loss", "task", "words"),
    [
        (None, None, Task.auto, "some.file: the file has no labels"),
        (WORDS, None, Task.regression, "the labels are texts"),
        (WORDS, "huber", Task.auto, "huber is for regression"),
        (NUMBERS, "logistic", Task.regression, "logistic needs classes"),
    ],
)
def test_labels_that_do_not_fit_are_refused(y, loss, task, words):
    with pytest.raises(ValueError, match=words):
        if y is None:
            data.labelled(Table(X, None, None, {}, "some.file"), None, task)
        else:
            labelled(y, loss, task)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="expected at least two classes, all labels are '1'"):
        data.estimator(labelled(np.ones(30)), given_strength(), None, False)


def test_of_three_classes_the_largest_is_told_from_the_rest():
    found = labelled(np.repeat([0.0, 1.0, 2.0], [5, 15, 10]))
    assert found.question() == (
        "Of the 3 classes this looks at one problem: the largest, 1, against all others."
    )
    problem = data.problem(found, given_strength(), None, False)
    assert (problem.y > 0).sum() == 15


# --- which estimator ------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("how", ["C", "lam", "alpha", None])
def test_every_loss_has_an_estimator_that_solves_the_same_problem(loss, how):
    """With the λ that advise and faceoff would use."""
    y = TWO if loss in options.CLASSIFICATION else NUMBERS
    if LOSSES[loss]().targets != "any":
        y = np.exp(NUMBERS / np.abs(NUMBERS).max())
    found = labelled(y, loss)
    strength = given_strength(**({how: 0.7} if how else {}))
    try:
        model = data.estimator(found, strength, None, False, fit_intercept=False)
    except typer.BadParameter as error:
        other = {"C": "alpha", "alpha": "C"}[how]
        assert f"takes --{other} or --lam, not --{how}" in str(error)
        return
    (problem,) = model._prepared(X, found.y, None)
    expected = data.problem(found, strength, None, False)
    assert problem.lam == pytest.approx(expected.lam, rel=1e-12)
    assert type(problem.loss) is LOSSES[loss]


@pytest.mark.parametrize(
    ("loss", "y", "kind"),
    [
        ("logistic", WORDS, estimators.LogisticRegression),
        ("squared", WORDS, estimators.RidgeClassifier),
        ("squared", NUMBERS, estimators.Ridge),
        ("probit", TWO, estimators.LinearClassifier),
        ("log_cosh", NUMBERS, estimators.LinearRegressor),
    ],
)
def test_the_estimator_is_the_one_of_that_name(loss, y, kind):
    model = data.estimator(labelled(y, loss), given_strength(), None, False)
    assert type(model) is kind


@pytest.mark.parametrize("loss", options.WITH_EPSILON)
def test_epsilon_reaches_the_loss(loss):
    found = labelled(NUMBERS, loss)
    model = data.estimator(found, given_strength(), 0.3, False)
    (problem,) = model._prepared(X, found.y, None)
    assert problem.loss[0] == 0.3
    assert data.problem(found, given_strength(), 0.3, False).loss == problem.loss


def test_options_that_would_do_nothing_are_refused():
    with pytest.raises(typer.BadParameter, match="--epsilon is for"):
        data.estimator(labelled(TWO), given_strength(), 0.3, False)
    with pytest.raises(typer.BadParameter, match="--balanced is for classes"):
        data.estimator(labelled(NUMBERS), given_strength(), None, True)
    with pytest.raises(typer.BadParameter, match="one of --C, --lam and --alpha"):
        given_strength(C=1.0, lam=1.0)


def test_balanced_reaches_the_estimator():
    model = data.estimator(labelled(WORDS), given_strength(), None, True)
    assert model.class_weight == "balanced"


# --- lines and plots ------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=50))
def test_a_histogram_counts_everything_once(counts):
    title, *bars = terminal.histogram(np.array(counts), "feature")
    assert title.startswith("nonzeros per feature")
    if not bars:
        assert len(set(counts)) == 1
        return
    assert len(bars) <= terminal._MOST_BINS + 2
    numbers = [int(line.split("  ")[-1].replace(" ", "")) for line in bars]
    assert sum(numbers) == len(counts)
    for line, number in zip(bars, numbers, strict=True):
        assert any(block in line for block in "▏▎▍▌▋▊▉█") == (number > 0)


@given(st.integers(0, 100), st.integers(1, 10**9))
def test_the_bins_of_a_histogram_join_without_gaps(least, more):
    bins = terminal._bins(least, least + more)
    assert bins[0][0] == least and bins[-1][1] == least + more
    for (_, high), (low, _) in itertools.pairwise(bins):
        assert low == high + 1


def test_the_time_left_follows_the_last_half():
    """The gap falls by ten a second after a slow beginning."""
    seen = [(0.0, 1.0, 0.0), (10.0, 0.9, 1.0), (11.0, 0.09, 2.0), (12.0, 0.009, 3.0)]
    assert live.time_left(seen, 9e-5, 1000) == pytest.approx(2.0)
    assert live.time_left(seen, 9e-5, 4) == pytest.approx(1.0), "max_passes comes first"
    assert live.time_left(seen, 0.1, 1000) == 0
    assert live.time_left(seen[:1], 1e-6, 1000) == math.inf
    still = [(0.0, 1.0, 0.0), (1.0, 1.0, 10.0), (2.0, 1.0, 20.0)]
    assert live.time_left(still, 1e-6, 30) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0123, "0.012 s"), (9.87, "9.9 s"), (42.4, "42 s"), (125, "2 min 05 s"),
        (7260, "2 h 01 min"), (math.inf, "?"),
    ],
)  # fmt: skip
def test_durations_are_told_as_people_do(seconds, text):
    assert terminal.duration(seconds) == text


def test_names_from_files_cannot_steer_the_terminal():
    assert terminal.printable("a\x1b[31mβ\n\x07") == "a\\x1b[31mβ\\n\\x07"
    assert len(terminal.printable("x" * 1000)) == 60


def test_json_has_no_numbers_that_json_has_not(capsys):
    terminal.begin(quiet=False)
    terminal.say_json({"a": [math.nan, math.inf, 1.5], "b": np.float64("nan"), "c": np.arange(2)})
    assert json.loads(capsys.readouterr().out) == {
        **{"a": [None, None, 1.5], "b": None, "c": [0, 1]},
        "remarks": [],
    }


def test_columns_are_aligned():
    lines = terminal.table(("name", "n"), [("a", "1"), ("long name", "1000")])
    assert lines == ["name          n", "a             1", "long name  1000"]


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ModuleNotFoundError("needs polars"), "Error: needs polars"),
        (MemoryError(), f"Error: not enough memory. {ADVICE}"),
        (OSError(28, "No space left on device", "m"), "Error: m: No space left on device"),
    ],
)
def test_what_is_no_fault_of_the_library_is_one_line_and_2(capsys, error, told):
    def command():
        raise error

    with pytest.raises(typer.Exit) as exit:
        terminal.guarded(command)()
    assert exit.value.exit_code == terminal.WRONG
    assert capsys.readouterr().err == told + "\n"


def test_a_page_that_cannot_be_drawn_is_refused_before_the_work(monkeypatch, tmp_path):
    monkeypatch.setattr("primaldual.report.drawing.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[all\]'"):
        ask.faceoff(
            groups.Asked(), given_strength(), groups.Reading(), groups.Answer(),
            str(tmp_path / "none.svm"), html=tmp_path / "page.html",
        )  # fmt: skip
