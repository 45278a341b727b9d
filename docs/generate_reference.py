"""Write the pages of the reference from the public names: called by ``docs/conf.py``.

One page for each public name, one table of names for each topic, and the tables of losses,
samplings and commands. A name that becomes public has a page at the next build. The files are
reStructuredText, are not kept in the repository, and are only rewritten where they changed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import primaldual
from primaldual import LOSSES, METHODS, SAMPLINGS


class Topic(NamedTuple):
    """A page of the reference: the public names of some modules."""

    page: str
    title: str
    about: str
    modules: tuple[str, ...]


# Public names of ``primaldual`` stand under the topic of the module that they are made in.
TOPICS = (
    Topic("problem", "Problems", "What is minimised, and the proof that it was.",
          ("problem", "multinomial", "complexity")),
    Topic("solve", "Solving", "From a problem to a certified result.",
          ("solver", "result", "engine")),
    Topic("advise", "Advice and face-off", "Which side, predicted and measured.",
          ("advice", "face_off")),
    Topic("estimators", "Estimators", "scikit-learn's names and meanings, with a certificate.",
          ("estimators",)),
    Topic("loss_names", "Loss classes and operations", "Classes, and what can be asked of them.",
          ("losses",)),
    Topic("sampling_names", "Sampling classes", "Classes, and what can be asked of them.",
          ("samplings",)),
    Topic("method_names", "Method classes", "A class for each name in `METHODS`.", ("methods",)),
    Topic("datasets", "Data sets", "Made, drawn at random, or downloaded.",
          ("datasets", "binary")),
    Topic("files", "Reading files, models and checkpoints", "What goes to disk and comes back.",
          ("files", "models", "checkpoints")),
    Topic("parts", "Data in parts", "More than memory, and more than one machine.",
          ("parts", "shards", "problem.on_parts")),
    Topic("report", "Reports and experiments", "Pages and figures.", ("report", "experiments")),
    Topic("kernels", "For your own losses, samplings and methods",
          "The door for people who write one: `primaldual.kernels`.", ("kernels",)),
)  # fmt: skip

# Public names of modules that say so by their page in the tests, and not by ``__all__``.
STATED = {
    "advice": ("Advice", "Verdict", "advise"),
    "binary": ("CostRanges", "cost_ranges", "decided_side", "max_cost", "min_cost", "ratio_bound",
               "ratio_range"),
    "checkpoints": ("CheckpointError", "CheckpointWarning", "checkpointing"),
    "complexity": ("Complexity", "complexity", "importance_complexity", "ratio_bounds",
                   "structure_bounds", "structure_cost", "uniform_complexity"),
    "face_off": ("FaceOff", "faceoff"),
    "models": ("header", "load", "save"),
    "problem.on_parts": ("PartsProblem",),
    "result": ("Progress", "Result", "Status", "Trace"),
}  # fmt: skip


# Sections of the docstrings of methods that numpydoc does not know.
OWN_SECTIONS = ("Algorithm", "Rate", "Cost", "When to use")


class Name(NamedTuple):
    """A public name: where users import it from, and the object."""

    module: str
    name: str
    thing: Any

    @property
    def path(self) -> str:
        """The full name."""
        return f"{self.module}.{self.name}"


def names_of(module: str) -> list[Name]:
    """The public names of a module of the package, without prefix."""
    found = import_module(f"primaldual.{module}")
    stated = STATED.get(module) or found.__all__
    own = [Name(f"primaldual.{module}", name, getattr(found, name)) for name in stated]
    if module == "methods":
        classes = dict.fromkeys(METHODS.values())
        own += [Name(kind.__module__, kind.__name__, kind) for kind in classes]
    at_top = {name: getattr(primaldual, name) for name in primaldual.__all__}
    return [
        Name("primaldual", one.name, one.thing) if at_top.get(one.name) is one.thing else one
        for one in own
    ]


def names() -> dict[str, list[Name]]:
    """The public names of each topic; one that several modules offer stands at its home."""
    seen: set[str] = set()
    shown = {}
    for topic in TOPICS:
        here = []
        for name in (name for module in topic.modules for name in names_of(module)):
            key = _key(name)
            if key not in seen:
                seen.add(key)
                here.append(name)
        shown[topic.page] = here
    return shown


def _key(name: Name) -> str:
    """The same for one object under several names of modules."""
    thing = name.thing
    home = getattr(thing, "__module__", None) if _has_doc(thing) else None
    return f"{home}.{thing.__qualname__}" if home else name.name


def _has_doc(thing: Any) -> bool:
    return inspect.isclass(thing) or inspect.isroutine(thing) or hasattr(thing, "py_func")


def write(folder: Path) -> None:
    """Write all pages below a folder, and take away those of names that are gone."""
    pages = dict(_pages())
    for name, text in pages.items():
        place = folder / f"{name}.rst"
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.write_text(text, encoding="utf-8")
    for place in folder.rglob("*.rst"):
        if place.relative_to(folder).with_suffix("").as_posix() not in pages:
            place.unlink()


def _pages() -> Iterator[tuple[str, str]]:
    for page, here in names().items():
        topic = next(topic for topic in TOPICS if topic.page == page)
        yield page, _topic_page(topic, here)
        for name in here:
            yield f"api/{name.path}", _name_page(name)
    yield "losses", _losses_page()
    yield "samplings", _samplings_page()
    yield "commands", _commands_page()


def escaped(lines: list[str]) -> list[str]:
    """A docstring in which |r| is an absolute value, and f(*all) a call, not markup.

    Code is left as it is: between double backticks, in examples, and in blocks after "::".
    """
    found: list[str] = []
    block, in_example = -1, False  # the indent of the line before a block; -1 outside
    for line in lines:
        indent = len(line) - len(line.lstrip())
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if line.strip() and indent <= block:
            block = -1
        if block < 0 and not in_example:
            parts = re.split(r"(``.*?``)", line)
            parts[::2] = [re.sub(r"\||\*(?=\w+[,)])", r"\\\g<0>", part) for part in parts[::2]]
            found.append("".join(parts))
            if line.rstrip().endswith("::"):
                block = indent
        else:
            found.append(line)
    return found


def with_own_sections(lines: list[str]) -> list[str]:
    """A method's docstring with its own sections as headings; numpydoc would leave them out."""
    found = list(lines)
    for k in range(len(found) - 1):
        if found[k] in OWN_SECTIONS and set(found[k + 1].strip()) == {"-"}:
            found[k : k + 2] = [f".. rubric:: {found[k]}", ""]
    return found


def _titled(title: str, *parts: str) -> str:
    return "\n".join([title, "=" * len(title), "", *parts, ""])


def _topic_page(topic: Topic, here: list[Name]) -> str:
    rows = [
        f"   * - :doc:`{name.path.removeprefix('primaldual.')} <api/{name.path}>`\n"
        f"     - {_first_line(name)}"
        for name in here
    ]
    table = [".. list-table::", "   :widths: 40 60", "   :class: names", "", *rows]
    tree = ["", ".. toctree::", "   :hidden:", "", *(f"   api/{name.path}" for name in here)]
    return _titled(topic.title, topic.about, "", *table, *tree)


def _first_line(name: Name) -> str:
    if not _has_doc(name.thing):
        return _constant(name)[0]
    return _summary(name.thing)


def _constant(name: Name) -> tuple[str, list[str]]:
    """What a public name is that is neither class nor function, and its values."""
    thing = name.thing
    if isinstance(thing, dict):
        return (
            f"The names that can be given as text, with what they stand for: {len(thing)}.",
            [f"``{key!r}``" for key in thing],
        )
    if isinstance(thing, tuple | frozenset | set | list):
        return f"{len(thing)} values.", [f"``{value!r}``" for value in thing]
    return f"``{thing!r}``", []


def _name_page(name: Name) -> str:
    head = [f".. currentmodule:: {name.module}", ""]
    if inspect.isclass(name.thing):
        body = [f".. autoclass:: {name.name}", *_members(name.thing)]
    elif _has_doc(name.thing):
        body = [f".. autofunction:: {name.name}"]
    else:
        about, values = _constant(name)
        body = [f".. data:: {name.name}", "", f"   {about}", ""]
        body += [f"   - {value}" for value in values]
        body += ["", "   .. rubric:: Examples", "", *(f"   {line}" for line in example(name))]
    return _titled(name.path.removeprefix("primaldual."), *head, *body)


def example(name: Name) -> list[str]:
    """The lines of an example for a constant, which has no docstring."""
    if isinstance(name.thing, dict | tuple | list | set | frozenset):
        return [f">>> from {name.module} import {name.name}", f">>> len({name.name})",
                str(len(name.thing))]  # fmt: skip
    return [f">>> from {name.module} import {name.name}", f">>> {name.name}", repr(name.thing)]


def _members(kind: type) -> list[str]:
    """The public methods and properties that our own classes define."""
    fields = set(getattr(kind, "_fields", ()))
    found = {}
    for base in kind.__mro__:
        if base.__module__.startswith("primaldual"):
            for name, value in vars(base).items():
                inner = value.fget if isinstance(value, property) else value
                inner = getattr(inner, "__func__", getattr(inner, "func", inner))
                # scikit-learn adds methods of its own, which its documentation describes.
                home = str(getattr(inner, "__module__", ""))
                is_ours = inspect.isroutine(inner) and home.startswith("primaldual")
                if is_ours and inner.__doc__ and not name.startswith("_") and name not in fields:
                    found.setdefault(name, value)
    lines = []
    for name, value in found.items():
        if isinstance(value, FunctionType | classmethod | staticmethod):
            lines += ["", f"   .. automethod:: {name}"]
        else:
            doc = escaped(inspect.cleandoc(value.__doc__ or "").splitlines())
            lines += ["", f"   .. attribute:: {name}", "", *(f"      {line}" for line in doc)]
    return lines


def _losses_page() -> str:
    rows = [
        (f"``{name}``", f":doc:`{kind.__name__} <api/primaldual.losses.{kind.__name__}>`",
         _summary(kind))
        for name, kind in LOSSES.items()
    ]  # fmt: skip
    note = "The loss is the first thing to choose: :doc:`/guide/losses` helps. A loss of your own"
    note += " is three functions and a constant: :doc:`/extend/add_loss`."
    return _titled("Losses", note, "", *_table(("``loss=``", "class", "what it is"), rows))


def _samplings_page() -> str:
    rows = [
        (f"``{name}``", f":doc:`{kind.__name__} <api/primaldual.samplings.{kind.__name__}>`",
         _summary(kind))
        for name, kind in SAMPLINGS.items()
    ]  # fmt: skip
    note = "How the methods of the paper draw coordinates. The engine's own methods take a random"
    note += " order and need none of these."
    return _titled("Samplings", note, "", *_table(("``sampling=``", "class", "what it is"), rows))


def _summary(thing: Any) -> str:
    paragraph = inspect.cleandoc(thing.__doc__ or "").split("\n\n")[0]
    return " ".join(escaped([" ".join(paragraph.split())]))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [head, *rows]:
        lines += [f"   {'* -' if k == 0 else '  -'} {cell}" for k, cell in enumerate(row)]
    return lines


def _commands_page() -> str:
    """Every command with its arguments and options, as ``--help`` has them."""
    import typer

    from primaldual.cli import app

    group: Any = typer.main.get_command(app)
    parts: list[str] = [":doc:`/cli` shows them at work, with files, exit codes and JSON.", ""]
    for name, command in group.commands.items():
        title = f"primaldual {name}"
        parts += [title, "-" * len(title), "", _plain(command.help or ""), ""]
        rows = [row for row in map(_option, command.params) if row]
        parts += _table(("argument or option", "meaning"), rows) if rows else []
        parts += [""]
    return _titled("Commands", *parts)


def _option(parameter: Any) -> tuple[str, ...] | None:
    names = [*parameter.opts, *parameter.secondary_opts]
    text = _plain(getattr(parameter, "help", None) or "")
    if getattr(parameter, "hidden", False):
        return None
    if parameter.param_type_name == "argument":
        names = [parameter.name.upper()]
    default = parameter.default
    if default not in (None, False, True, (), []) and not callable(default):
        text += f" Default: ``{getattr(default, 'value', default)}``."
    return ", ".join(f"``{name}``" for name in names), text.strip() or "–"  # noqa: RUF001


def _plain(text: str) -> str:
    """Help as one paragraph, without what would be markup."""
    text = re.sub(r"\[/?[a-z ]+\]", "", text)
    text = re.sub(r"\w+://[\w.:/]*\w", r"``\g<0>``", text)
    return " ".join(text.replace("\b", "").replace("*", r"\*").replace("|", r"\|").split())
