"""The code of the tutorials is as the library's own: linted, typed, and made of public names."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_docs import ROOT, blocks

import primaldual
from primaldual import kernels

TUTORIALS = {page.stem: page for page in sorted((ROOT / "docs" / "extend").glob("*.md"))}
# The data of the examples is the only module imported as a whole.
PUBLIC = {
    "primaldual": {*primaldual.__all__, "datasets"},
    "primaldual.kernels": set(kernels.__all__),
}
TYPED = ("add_method", "add_sampling")
# A tutorial comes in several blocks: imports may stand in each of them.
NOT_FOR_TUTORIALS = "D1,E402,I001,F811"


def code(page: Path) -> str:
    """All Python blocks of a page, one after the other."""
    return "\n\n".join(text for language, text, _, _ in blocks(page) if language == "python")


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> list[Path]:
    """The tutorials as files."""
    folder = tmp_path_factory.mktemp("tutorials")
    for name, page in TUTORIALS.items():
        # One future import, at the top of the file.
        future = "from __future__ import annotations\n"
        text = code(page).replace(future, "")
        (folder / f"{name}.py").write_text(future + "\n" + text, encoding="utf-8")
    return sorted(folder.glob("*.py"))


def run(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_tutorials_pass_the_linter(written):
    pytest.importorskip("ruff")
    options = ("--config", "pyproject.toml", "--no-cache", "--extend-ignore", NOT_FOR_TUTORIALS)
    run("ruff", "check", *options, *map(str, written))


def test_tutorials_pass_the_type_checker(written):
    pytest.importorskip("mypy")
    paths = [str(path) for path in written if path.stem in TYPED]
    # mypy fails where it cannot write its cache, as on a read-only file system.
    kept = [] if os.access(ROOT, os.W_OK) else [f"--cache-dir={os.devnull}"]
    run("mypy", *kept, "--config-file", "pyproject.toml", "--no-error-summary", *paths)


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorials_import_only_what_is_public(name):
    for node in ast.walk(ast.parse(code(TUTORIALS[name]))):
        if isinstance(node, ast.Import):
            assert all(alias.name.split(".")[0] != "primaldual" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("primaldual"):
            assert {alias.name for alias in node.names} <= PUBLIC[node.module]
