"""The page index.html: one file that needs nothing else, on a phone and in the dark too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from primaldual.report.template import render as render_template

from .record import Item


@dataclass(frozen=True)
class Section:
    """One item with its drawings as SVG text, and the seconds it took."""

    item: Item
    drawings: dict[str, str]
    seconds: float


def render(sections: list[Section], quick: bool, explained: str = "") -> str:
    """The page's text; everything but the drawings is escaped."""
    template = Path(__file__).with_name("index.html.jinja")
    return render_template(template, sections=sections, quick=quick, explained=explained)
