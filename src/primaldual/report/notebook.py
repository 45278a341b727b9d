"""How ``Advice`` and ``Result`` show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..advice import Advice
from ..result import Result
from .drawing import svg
from .figures import advice_figure, result_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def advice_html(advice: Advice) -> str | None:
    """The table and the plots; None without matplotlib, so that the text alone is shown."""
    return _html(advice, advice_figure, "Nonzeros over features and examples, predicted work")


def result_html(result: Result) -> str | None:
    """The certificate and the curves; None without matplotlib."""
    return _html(result, result_figure, "Relative duality gap against passes and seconds")


def _html(thing: Any, draw: Callable[[Any], Figure], label: str) -> str | None:
    if find_spec("matplotlib") is None:
        return None
    return f"<pre>{escape(str(thing))}</pre>\n{svg(draw(thing), label)}"
