"""Strings from files never steer the terminal: labels, names of files and columns, models."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from primaldual import LogisticRegression
from primaldual._text import visible, visible_json
from primaldual.cli import app

EVIL = "\x1b[31mred\x9b2J\u202eback"
STEERING = ("\x1b", "\x9b", "\u202e", "\x07", "\r")


@pytest.fixture
def folder(tmp_path):
    """A table whose name, columns and labels hold escapes."""
    rng = np.random.default_rng(0)
    lines = [f"first{EVIL},second,kind"]
    for k in range(40):
        a, b = rng.standard_normal(2)
        lines.append(f"{a + k % 2},{b},{('good', EVIL)[k % 2]}")
    (tmp_path / f"data{EVIL}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    shown = done.stdout + done.stderr
    assert shown.strip()
    for character in STEERING:
        assert character not in shown, (arguments[0], shown)
    return done


def test_no_command_shows_what_steers_a_terminal(folder):
    data, model = folder / f"data{EVIL}.csv", folder / f"model{EVIL}"
    assert run("fit", data, "-o", model).exit_code == 0
    for command in ("info", "predict", "score"):
        arguments = (model,) if command == "info" else (model, data)
        assert r"\x1b" in run(command, *arguments).stdout
        answer = run(command, *arguments, "--json")
        assert repr(EVIL)[1:-1] in str(json.loads(answer.stdout)), "JSON means the same"
    run("advise", data)
    assert run("predict", folder / f"none{EVIL}", data).exit_code == 2


def test_every_string_of_a_model_is_shown_escaped(tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = np.where(X[:, 0] > 0, EVIL, "other")
    model = LogisticRegression().fit(X, y)
    from primaldual.models import save

    save(model, tmp_path / "m", feature_names=[EVIL, "b"], notes={"source": EVIL, EVIL: "c"})
    assert run("info", tmp_path / "m").exit_code == 0
    assert run("info", tmp_path / "m", "--json").exit_code == 0


def test_predictions_in_a_file_are_as_they_are(folder):
    data, model, out = folder / f"data{EVIL}.csv", folder / "model", folder / "out.csv"
    run("fit", data, "-o", model)
    run("predict", model, data, "-o", out)
    assert EVIL in out.read_text(encoding="utf-8").split("\n")


def test_letters_of_all_languages_stay():
    for text in ("café", "日本語", "Ελλάδα", "עברית", "a\u202fb", "👩‍🔬"):
        assert visible(text) == text


def test_json_means_the_same():
    text = json.dumps({"a": EVIL, "b": ["\u2028", "\x00"]}, indent=2, ensure_ascii=False)
    assert json.loads(visible_json(text)) == json.loads(text)
    assert not any(character in visible_json(text) for character in STEERING)
