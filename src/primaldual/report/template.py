"""Pages: one HTML file without scripts that loads nothing, on a phone and in the dark too."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

from ..wording import grouped, level, number

HERE = Path(__file__).parent


def render(template: Path, **values: Any) -> str:
    """A page from a template that extends ``base.html.jinja``.

    All values are escaped. The page may use its style sheet, pictures that are part of it, and
    nothing else: its content security policy says so.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([template.parent, HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = cell
    environment.filters["level"] = level
    environment.filters["objective"] = objective
    environment.filters["unbroken"] = unbroken
    style = (HERE / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return environment.get_template(template.name).render(style=style, policy=policy, **values)


def cell(value: Any, digits: int = 3) -> str:
    """A value in a table: short numbers, "none" where there is nothing."""
    if value is None:
        return "none"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return grouped(value)
    text = number(float(value), digits)
    return text if value >= 0 else text.replace("-", "−", 1)


def objective(value: float | None) -> str:
    """P or D, with as many digits in every row."""
    return "none" if value is None else f"{value:#.7g}".replace("-", "−", 1)


def unbroken(sentence: str) -> str:
    """A sentence in which no line ends inside a number such as 1e-6."""
    return re.sub(r"(?<=\de)-(?=\d)", "\N{NON-BREAKING HYPHEN}", sentence)
