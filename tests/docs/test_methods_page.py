"""The page of methods is made from the registry, and up to date."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from primaldual import METHODS

DOCS = Path(__file__).parents[2] / "docs"


def generator():
    spec = importlib.util.spec_from_file_location("generate_methods", DOCS / "generate_methods.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_up_to_date():
    stored = (DOCS / "methods.md").read_text(encoding="utf-8")
    assert stored == generator().page(), "run: python docs/generate_methods.py"


@pytest.mark.parametrize("name", METHODS)
def test_docstring_says_what_the_page_needs(name):
    found = generator().sections(METHODS[name])
    assert found["When to use"].endswith(".")
    assert found["When to use"].count(". ") == 0, "one sentence"
    assert generator().references(found)


def test_a_section_that_is_missing_is_named():
    class Silent:
        """A method.

        Algorithm
        ---------
        None.
        """

    with pytest.raises(ValueError, match="Silent lacks Rate, Cost, When to use, References"):
        generator().sections(Silent)


def test_every_method_is_on_the_page():
    text = (DOCS / "methods.md").read_text(encoding="utf-8")
    for name, kind in METHODS.items():
        lines = [
            line for line in text.splitlines() if line.startswith((f"| [`{name}`]", f"| `{name}`"))
        ]
        assert len(lines) == 2
        assert f"| {kind.side} |" in lines[0]
