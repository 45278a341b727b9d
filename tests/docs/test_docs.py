"""The README and the documents run, and speak only of what exists."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FRONT = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
every_front_page = pytest.mark.parametrize("page", FRONT, ids=lambda page: page.name)


def blocks(page: Path) -> list[tuple[str, str, int, bool]]:
    """Language, text and first line of every fenced block, and whether it follows another one."""
    source = page.read_text(encoding="utf-8")
    found, end = [], 0
    for match in re.finditer(r"^```(\w*)\n(.*?)^```\n", source, re.MULTILINE | re.DOTALL):
        line = source[: match.start()].count("\n") + 2
        follows = not source[end : match.start()].strip()
        found.append((match[1], match[2], line, follows and bool(found)))
        end = match.end()
    return found


def without_durations(text):
    """Without what differs from machine to machine: durations, and the spaces before them."""
    return re.sub(r" *[\d.]+ (s|ms|µs)\b", " DURATION", text)


@every_page
def test_python_blocks_run_and_print_what_is_shown(page, monkeypatch):
    """In order, in one namespace; a text block right after a Python block is its output."""
    module = types.ModuleType("shown_in_" + page.stem)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    printed = ""
    for language, text, line, follows in blocks(page):
        if language == "python":
            code = compile("\n" * (line - 1) + text, str(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(code, module.__dict__)
            printed = output.getvalue()
        elif language == "text" and follows:
            assert without_durations(printed) == without_durations(text)


@every_front_page
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    mentioned = re.findall(r"^ +make (\w+)|`make (\w+)`", text, re.MULTILINE)
    assert {one or other for one, other in mentioned} <= targets


@every_front_page
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


@every_front_page
def test_named_tests_exist(page):
    for name in re.findall(r"tests/[\w/]+\.py", page.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), name


def test_named_functions_exist():
    """`module.name` in theory.md is an attribute of the package's module of that name."""
    text = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`([a-z_]+)\.(\w+)`", text))
    assert names
    for module, name in names:
        assert hasattr(importlib.import_module(f"primaldual.{module}"), name), (module, name)
    problem = importlib.import_module("primaldual.problem").Problem
    for name in re.findall(r"`Problem\.(\w+)`", text):
        assert hasattr(problem, name), name


def test_every_loss_and_sampling_of_the_readme_exists():
    from primaldual import LOSSES, METHODS, SAMPLINGS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in SAMPLINGS:
        assert f'"{name}"' in text
    for name in re.findall(r'solve\(problem, "(\w+)"', text):
        assert name in METHODS
    for name in re.findall(r'loss="(\w+)"', text):
        assert name in LOSSES
    assert len(LOSSES) == 16 and "Sixteen losses" in text


def test_readme_starts_with_an_example():
    """What it is, how to get it, and code, before anything else."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index("pip install") < text.index("```python") < text.index("\n## ")


def test_changelog_has_an_unreleased_section():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert sections[0] == "Unreleased"
    assert "### Numerics" in text


def test_citation_and_package_have_the_same_version():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {project['version']}\n" in citation
    assert f"license: {project['license']}\n" in citation
