"""What came out, to look at: plots for a notebook, and one HTML page that needs nothing else.

Drawing needs the extra ``plots`` (matplotlib and jinja2); :func:`numbers` does not.
"""

from __future__ import annotations

from .faceoff_page import page
from .facts import numbers
from .figures import advice_figure, faceoff_figure, result_figure
from .notebook import advice_html, faceoff_html, result_html
from .path_page import path_page

__all__ = [
    "advice_figure",
    "advice_html",
    "faceoff_figure",
    "faceoff_html",
    "numbers",
    "page",
    "path_page",
    "result_figure",
    "result_html",
]
