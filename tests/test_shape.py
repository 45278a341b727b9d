"""The size of things: short functions, few parameters, files with one idea, no private reach."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

import primaldual

SOURCE = Path(primaldual.__file__).parent
FILES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}
CONFIG = Path(__file__).parents[1] / "pyproject.toml"
# Exceptions, one by one: "folder/file.py:function".
SHAPE = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["tool"]["primaldual"]["shape"]

LONGEST_FUNCTION, MOST_PARAMETERS, LONGEST_FILE = 50, 12, 450
# Underscored names that belong to the public interface of Python's own classes.
PUBLIC_UNDERSCORES = {"_asdict", "_fields", "_field_defaults", "_make", "_replace"}


def functions():
    """("folder/file.py:Class.function", node) for every function of the package."""
    for name, tree in TREES.items():
        for parent in ast.walk(tree):
            for node in ast.iter_child_nodes(parent):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    owner = f"{parent.name}." if isinstance(parent, ast.ClassDef) else ""
                    yield f"{name}:{owner}{node.name}", node


def lines(node):
    """The lines of a function without its docstring."""
    first = node.body[0]
    is_documented = ast.get_docstring(node) is not None
    documented = first.end_lineno - first.lineno + 1 if is_documented else 0
    return node.end_lineno - node.lineno + 1 - documented


def parameters(node):
    given = node.args
    return len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)


def is_compiled(node):
    text = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
    return any(word in text for word in ("kernel", "inlined"))


def test_functions_are_short():
    long = {name: lines(node) for name, node in functions() if lines(node) > LONGEST_FUNCTION}
    assert set(long) == set(SHAPE["long"]), long


def test_functions_have_few_parameters():
    wide = {name for name, node in functions() if parameters(node) > MOST_PARAMETERS}
    assert wide == {*SHAPE["wide_kernels"], *SHAPE["wide_interfaces"]}


def test_what_is_excepted_as_a_kernel_is_one():
    known = dict(functions())
    for name in SHAPE["wide_kernels"]:
        assert is_compiled(known[name]), name


def test_long_files_say_why():
    """In the module's docstring, in a sentence that begins with "One file because"."""
    for name, tree in TREES.items():
        size = FILES[name].read_text(encoding="utf-8").count("\n")
        if size > LONGEST_FILE:
            assert "One file because" in (ast.get_docstring(tree) or ""), (name, size)


# --- private reach --------------------------------------------------------------------------------


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC_UNDERSCORES


def reaches(tree):
    """Private names of other modules and objects that a module imports or touches.

    A module may touch what it defines itself: the private attributes and methods of its classes,
    on any object, so that twins can be compared and made.
    """
    own = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    own |= {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("self", "cls")
    }
    own |= {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (
            node.level or (node.module or "").startswith("pr")
        ):
            yield from (f"import {alias.name}" for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
            yield f"{ast.unparse(node.value)}.{node.attr}"


@pytest.mark.parametrize("name", FILES)
def test_no_module_touches_the_private_names_of_another(name):
    found = {reach for reach in reaches(TREES[name]) if not reach.startswith("import _numba")}
    allowed = set(SHAPE["private_reach"].get(name, []))
    assert found == allowed
