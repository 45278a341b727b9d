"""One look for all figures, and how a figure becomes part of a page."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that everyone can distinguish, on white and on black.
PRIMAL, DUAL, THIRD = "#2f7fc1", "#d9701e", "#4c9f70"
# Text and axes. On the page it is replaced by the colour of the page's text.
INK = "#1b1f24"

# Until the package is on PyPI; in a checkout of it.
INSTALL = "pip install '.[all]' in a checkout of primaldual"

_LOOK: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "figure.dpi": 110,
    "savefig.dpi": 120,
    "svg.hashsalt": "primaldual",  # the same numbers give the same file
    "svg.fonttype": "none",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "lines.linewidth": 1.4,
}
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"


def require_plots(*names: str) -> None:
    """Say what to install if one of these modules, all of them by default, is absent."""
    missing = [name for name in names or ("matplotlib", "jinja2") if find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(f"Figures and the page need {' and '.join(missing)}: {INSTALL}.")


@contextmanager
def look(**changes: Any) -> Iterator[None]:
    """Draw inside this; ``changes`` are matplotlib settings, underscores for dots."""
    import matplotlib

    own: Any = {name.replace("_", "."): value for name, value in changes.items()}
    with matplotlib.rc_context({**_LOOK, **own}):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that many inches, independent of any window."""
    return _picture()(figsize=(width, height), layout="constrained")


@cache
def _picture() -> type[Figure]:
    """The class of our figures: a notebook shows them in the colours of its text."""
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_html_(self) -> str:
            return svg(self)

    return Picture


def svg(figure: Figure, label: str = "") -> str:
    """The figure as an SVG element to be put into a page.

    It is drawn in the colour of the text around it, has no ``style`` of its own, so that a strict
    content security policy lets it be, and its ids are its own. ``label`` is read to those who
    cannot see it.
    """
    text = io.StringIO()
    with look():
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return inline(text.getvalue(), label)


def inline(drawing: str, label: str = "") -> str:
    """The SVG element in the text of a file that matplotlib wrote, as :func:`svg` gives it."""
    root = ElementTree.fromstring(drawing)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
                parent.remove(child)
    own = hashlib.sha256((label + drawing).encode()).hexdigest()[:8]
    used = set(re.findall(r"#([\w.-]+)\)|href=\"#([\w.-]+)\"", drawing))
    names = {one or other for one, other in used}
    for element in root.iter():
        if _LINK in element.attrib:
            element.set("href", element.attrib.pop(_LINK))
        if element.get("id") not in names:
            element.attrib.pop("id", None)
        _style_as_attributes(element)
        for key, value in element.attrib.items():
            if key == "id" or (key == "href" and value.startswith("#")):
                element.set(key, f"{value}-{own}")
            elif "url(#" in value:
                element.set(key, re.sub(r"url\(#([\w.-]+)\)", rf"url(#\1-{own})", value))
            elif value == INK:
                element.set(key, "currentColor")
    root.set("stroke-linejoin", "round")
    if label:
        root.set("role", "img")
        root.set("aria-label", label)
    ElementTree.register_namespace("", _SVG[1:-1])
    return ElementTree.tostring(root, encoding="unicode")


def _style_as_attributes(element: ElementTree.Element) -> None:
    """``style="fill: red"`` becomes ``fill="red"``: SVG has an attribute for each of these."""
    for entry in element.attrib.pop("style", "").split(";"):
        key, _, value = (part.strip() for part in entry.partition(":"))
        if key == "font":  # older matplotlib: "9px 'DejaVu Sans', sans-serif"
            size, _, family = value.partition(" ")
            element.set("font-size", size)
            element.set("font-family", family)
        elif key:
            element.set(key, value)
