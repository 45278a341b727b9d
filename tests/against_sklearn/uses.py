"""Which tests of a file mention a class: read from the source, through helpers and globals."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path


def files_that_mention(root: Path, names: Iterable[str]) -> list[str]:
    """The test files below ``root`` with one of the names in their text, relative to it."""
    word = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b")
    return [
        path.relative_to(root).as_posix()
        for path in sorted(root.rglob("test_*.py"))
        if word.search(path.read_text(encoding="utf-8"))
    ]


def definitions_that_reach(source: str, names: Iterable[str]) -> set[str]:
    """The names defined at the top of a module from whose definition one of ``names`` is reached.

    A function reaches what its body, decorators, defaults and parameters (fixtures) mention, and
    what those reach in turn.
    """
    mentioned: dict[str, set[str]] = {}
    for node in ast.parse(source).body:
        inside = set(_identifiers(node))
        for defined in _defined(node):
            mentioned.setdefault(defined, set()).update(inside - {defined})
    found = set(names)
    while True:
        more = {name for name, inside in mentioned.items() if inside & found} - found
        if not more:
            return found & set(mentioned)
        found |= more


def _identifiers(node: ast.AST) -> Iterable[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr
        elif isinstance(part, ast.arg):
            yield part.arg
        elif isinstance(part, ast.alias):
            yield part.name.rpartition(".")[2]


def _defined(node: ast.AST) -> Iterable[str]:
    """The names a top-level statement gives a meaning to."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.alias):
            yield part.asname or part.name
