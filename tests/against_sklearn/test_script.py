"""The script that runs scikit-learn's tests: it swaps, counts what is used, and fails when due."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .__main__ import ALLOWED, ROOT, main, rules, tally
from .swap import swapped_names
from .uses import definitions_that_reach, files_that_mention

TOP = Path(__file__).parents[2]

TESTS = """
import pytest
from sklearn.linear_model import Lasso, Ridge
from sklearn import svm

models = [Ridge(alpha=2.0), Lasso()]

@pytest.fixture
def fitted():
    return Ridge().fit([[0.0], [1.0]], [0.0, 1.0])

def test_is_ours(fitted):
    assert type(fitted).__module__.startswith("primaldual")

def test_fails():
    assert svm.LinearSVC().C == 2

@pytest.mark.parametrize("model", models)
def test_with_parameters(model):
    assert model.alpha > 0

def test_of_something_else():
    raise AssertionError("is not run: it cannot use our estimators")

def test_that_does_not_come_to_it():
    if not models:
        Ridge()
    assert Lasso().alpha == 5
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Like an installed package: a test file that runs, and one that does not import."""
    root = tmp_path_factory.mktemp("there") / "package"
    root.mkdir()
    (root / "test_one.py").write_text(TESTS)
    (root / "test_two.py").write_text("from sklearn.linear_model import Ridge, NotThere\n")
    (root / "test_three.py").write_text("def test_nothing(): pass\n")
    return root


@pytest.fixture(scope="module")
def done(installed):
    record = installed.parent / "record.jsonl"
    command = [sys.executable, "-m", "tests.against_sklearn", "--failures", "--record", str(record)]
    run = subprocess.run(
        [*command, "--root", str(installed)], cwd=TOP, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": ""}, timeout=300,
    )  # fmt: skip
    entries = [json.loads(line) for line in record.read_text().splitlines()]
    return run, {entry["id"]: entry for entry in entries}


def test_the_imports_are_swapped_and_the_uses_counted(done):
    outcomes = {name.partition("::")[2]: (entry["outcome"], entry["used"])
                for name, entry in done[1].items() if "test_one" in name}  # fmt: skip
    assert outcomes == {
        "test_is_ours": ("passed", True),
        "test_fails": ("failed", True),
        "test_with_parameters[model0]": ("passed", True),
        "test_with_parameters[model1]": ("passed", False),
        "test_that_does_not_come_to_it": ("failed", False),
    }


def test_a_failure_and_a_file_that_does_not_import_are_printed_and_make_the_exit_code_1(done):
    run, _ = done
    assert run.returncode == 1, run.stderr
    assert "      2        0       1  test_one.py" in run.stdout
    assert "test_two.py  DOES NOT RUN" in run.stdout
    assert "    test_fails: AssertionError: assert 1.0 == 2" in run.stdout
    assert "2 of 3 tests that use our estimators pass" in run.stdout
    assert "test_three" not in run.stdout


def test_files_of_the_installed_library_are_found(capsys):
    assert main(["--list", "linear_model/tests"]) == 0
    assert "linear_model/tests/test_ridge.py\n" in capsys.readouterr().out
    assert len(files_that_mention(ROOT, swapped_names())) > 40


def test_helpers_fixtures_and_globals_lead_to_a_class():
    source = TESTS + "from sklearn.svm import LinearSVC as Machine\ndef test_x(): Machine()\n"
    reaching = definitions_that_reach(source, {"Ridge", "LinearSVC"})
    assert {"models", "fitted", "test_is_ours", "test_x", "test_with_parameters"} <= reaching
    assert "test_of_something_else" not in reaching


def test_a_line_of_the_allow_list_covers_a_test_and_its_parameters():
    (first, second) = rules("# comment\na.py::test_x  # L1\n\na.py::test_y[*-saga]  # numbers\n")
    assert first.covers("a.py::test_x") and first.covers("a.py::test_x[1-b]")
    assert not first.covers("a.py::test_xy")
    assert second.covers("a.py::test_y[0.5-saga]") and not second.covers("a.py::test_y[0.5-sag]")
    entries = [{"id": f"a.py::test_x[{k}]", "used": True, "outcome": "failed"} for k in range(2)]
    assert len(tally(entries, [first]).allowed) == 2
    with pytest.raises(ValueError, match="line 1: expected 'test id  # reason'"):
        rules("a.py::test_x")


def test_the_allow_list_names_tests_that_exist_and_has_no_line_twice():
    known = rules(ALLOWED.read_text(encoding="utf-8"))
    assert len({rule.pattern for rule in known}) == len(known)
    for rule in known:
        name, _, test = rule.pattern.partition("::")
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert test.partition("[")[0].rpartition("::")[2] in functions, rule.pattern
