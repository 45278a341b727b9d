"""The shape of the code: imports flow one way, the package loads quickly, names resolve."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import primaldual
from primaldual._numba import cache

SOURCE = Path(primaldual.__file__).parent
FILES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}

# A layer is a folder, or a file beside the folders. It imports from itself and from layers before
# it. Order them by what they need, not by the alphabet: this list is the plan of the house.
LAYERS = [
    "writing",
    "_in_memory",
    "_text",
    "wording",
    "_warn",
    "_when_imported",
    "container",
    "_types",
    "_cached",
    "_numba",
    "_threads",
    "parts",
    "losses",
    "data",
    "problem",
    "samplings",
    "complexity",
    "theory",
    "methods",
    "engine",
    "advice",
    "kernels",
    "result",
    "checkpoints",
    "solver",
    "face_off",
    "report",
    "multinomial",
    "estimators",
    "models",
    "experiments",
]
# These know nothing of problems and methods.
ALONE = {
    "binary": {"_types"},
    "files": {"_text", "_types", "_numba"},
    "datasets": {"_types", "binary", "files"},
    "shards": {"writing", "_types", "files", "parts"},
}
# These show themselves in a notebook by the report, which they import when asked to.
SHOWN = {"advice", "face_off", "result"}
# Estimators save themselves as a model, which is imported when asked to.
SAVED = {"estimators"}
# The doors import what they like, inside their functions.
DOORS = {"cli", "__main__"}


def layer(name):
    """The layer of a file: its stem, or its folder."""
    return name.split("/")[0].removesuffix(".py")


def project_imports(name, tree):
    """(imported project file without .py, name in it) for every import from this package."""
    package = ("primaldual", *name.split("/")[:-1])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "primaldual":
                    yield "/".join(parts[1:]), None
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
                parts = [*base, *(node.module or "").split(".")]
            else:
                parts = (node.module or "").split(".")
            parts = [part for part in parts if part]
            if parts[0] != "primaldual":
                continue
            for alias in node.names:
                inside = "/".join([*parts[1:], alias.name])
                if f"{inside}.py" in FILES or f"{inside}/__init__.py" in FILES:
                    yield inside, None
                else:
                    yield "/".join(parts[1:]), alias.name


def top_level(tree):
    """The statements that run on import: everything but bodies of functions and type checks."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def imported_on_load(tree):
    """The outermost packages that importing a file imports."""
    for node in top_level(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]


# --- imports --------------------------------------------------------------------------------------


def test_every_module_has_its_place():
    known = {*LAYERS, *ALONE, *DOORS, "__init__"}
    assert {layer(name) for name in FILES} <= known


@pytest.mark.parametrize("name", FILES)
def test_imports_flow_one_way(name):
    here = layer(name)
    used = {layer(module) for module, _ in project_imports(name, TREES[name]) if module}
    if here in DOORS or name == "__init__.py":
        return
    if here in ALONE:
        assert used <= ALONE[here] | {here}
        return
    allowed = {here, *LAYERS[: LAYERS.index(here)]}
    if here == "experiments":
        allowed |= set(ALONE)
    if here in SHOWN:
        allowed.add("report")
    if here in SAVED:
        allowed.add("models")
    assert used <= allowed


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_the_report_is_loaded_only_when_something_is_shown(name):
    imports = [node for node in top_level(TREES[f"{name}.py"]) if isinstance(node, ast.ImportFrom)]
    tree = ast.Module(body=imports, type_ignores=[])
    loaded = {layer(module) for module, _ in project_imports(f"{name}.py", tree)}
    assert "problem" in loaded and "report" not in loaded


@pytest.mark.parametrize("name", [name for name in FILES if layer(name) in ("cli", "__init__")])
def test_the_doors_import_the_library_only_when_it_is_needed(name):
    """Only inside functions and for type checks, so that --help is quick."""
    imports = [node for node in top_level(TREES[name]) if isinstance(node, ast.ImportFrom)]
    tree = ast.Module(body=imports, type_ignores=[])
    loaded = {layer(module) for module, _ in project_imports(name, tree)}
    assert loaded <= {"cli"}


@pytest.mark.parametrize("name", [name for name in FILES if layer(name) != "estimators"])
def test_no_module_but_the_estimators_needs_scikit_learn_to_be_imported(name):
    assert "sklearn" not in set(imported_on_load(TREES[name]))


def test_importing_the_package_loads_nothing_heavy():
    script = (
        "import sys, primaldual, primaldual.cli\n"
        "heavy = {'numba', 'scipy', 'sklearn', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


# --- the public names -----------------------------------------------------------------------------


def test_all_is_the_map_of_names_to_their_modules():
    assert set(primaldual.__all__) == set(primaldual._HOME)
    assert len(set(primaldual.__all__)) == len(primaldual.__all__)
    assert set(primaldual.__all__) <= set(dir(primaldual))


@pytest.mark.parametrize("name", primaldual.__all__)
def test_every_public_name_resolves_and_is_documented(name):
    thing = getattr(primaldual, name)
    if isinstance(thing, dict):  # a registry: its entries are the public objects
        for entry in thing.values():
            assert own_docstring(entry)
        return
    assert own_docstring(thing)
    if inspect.isclass(thing):
        for label, member in vars(thing).items():
            function = getattr(member, "__func__", getattr(member, "func", member))
            function = function.fget if isinstance(function, property) else function
            if inspect.isfunction(function) and not label.startswith("_"):
                assert inspect.getdoc(function), f"{name}.{label} has no docstring"


def own_docstring(thing):
    """The docstring somebody wrote: not an inherited one, nor that of a dataclass or tuple."""
    text = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    return bool(text) and not text.startswith(f"{thing.__name__}(")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'primaldual' has no attribute 'Newton'"):
        _ = primaldual.Newton


def test_the_version_is_known():
    assert primaldual.__version__.count(".") >= 2


# --- compiled code --------------------------------------------------------------------------------


def is_compiled(function):
    """Whether a function is decorated for Numba: by kernel, inlined, or an overload."""
    decorators = " ".join(ast.unparse(decorator) for decorator in function.decorator_list)
    return any(word in decorators for word in ("kernel", "inlined", "overload", "jit"))


def compiled_bodies(tree):
    """The functions whose bodies Numba compiles: decorated ones, and methods of named tuples."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            if any("NamedTuple" in ast.unparse(base) for base in node.bases):
                yield from (part for part in node.body if isinstance(part, ast.FunctionDef))
        elif isinstance(node, ast.FunctionDef) and is_compiled(node):
            yield node


@pytest.mark.parametrize("name", [name for name in FILES if any(compiled_bodies(TREES[name]))])
def test_the_kernel_cache_knows_every_file_whose_code_is_compiled_into_a_kernel(name):
    """A change in any of them must compile the kernels of this file again."""
    origin = {label: module for module, label in project_imports(name, TREES[name]) if label}
    used: set[str] = set()
    for function in compiled_bodies(TREES[name]):
        body = ast.Module(body=function.body, type_ignores=[])
        used |= {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
    known = {path.relative_to(SOURCE).as_posix() for path in cache.sources(FILES[name])}
    for module in {origin[label] for label in used & set(origin)}:
        assert known & {f"{module}.py", f"{module}/__init__.py"}


def test_the_cache_of_a_kernel_depends_on_what_its_file_imports_through_others():
    known = {
        path.relative_to(SOURCE).as_posix()
        for path in cache.sources(FILES["methods/engine/dual_cd.py"])
    }
    assert {"losses/vector_math.py", "data/rows.py", "_numba/compile.py"} <= known
    assert "cli/train.py" not in known
