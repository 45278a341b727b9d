"""The page index.html: one file that needs nothing else, on a phone and in the dark too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .record import Item, grouped, number


@dataclass(frozen=True)
class Section:
    """One item with its drawings as SVG text, and the seconds it took."""

    item: Item
    drawings: dict[str, str]
    seconds: float


def render(sections: list[Section], quick: bool) -> str:
    """The page's text; everything but the drawings is escaped."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["cell"] = _cell
    environment.filters["word"] = _word
    template = Path(__file__).with_name("index.html.jinja").read_text(encoding="utf-8")
    return environment.from_string(template).render(sections=sections, quick=quick)


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return grouped(value)
    return number(float(value), 4)


def _word(agrees: bool | None) -> str:
    return {True: "agrees", False: "differs", None: "not measured"}[agrees]
