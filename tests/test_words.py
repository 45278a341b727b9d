"""Prose and names say what the field says: words that had to be decoded do not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks").rglob("*.py")),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]
# What must not be written, and what to write instead.
WORDS = {
    r"\bso (many|much|few)\b": "name the number",
    r"\bnobody\b": "no example, no method",
    r"\btold\b": "reported, given, known",
    r"\b(loss|losses|with|in a|has|of) corners?\b": "kinks, non-smooth",
    r"\bown_loss\b": "custom loss",
    r"\bbends?\b": "is curved, strictly convex",
    r"\bwakes?\b": "is active again",
    r"\bawake\b": "active",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_words_that_have_to_be_decoded_are_not_used(page):
    text = page.read_text(encoding="utf-8")
    for word, better in WORDS.items():
        found = re.search(word, text, re.IGNORECASE)
        if found:
            line = text.count("\n", 0, found.start()) + 1
            pytest.fail(f"line {line}: {found.group()!r}. Better: {better}.")
