"""One look for all figures, and the two files each is saved as."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that can be told apart by everyone, on white and on black.
PRIMAL, DUAL, THIRD = "#2f7fc1", "#d9701e", "#4c9f70"
# Text and axes. On the page it is replaced by the colour of the page's text.
INK = "#1b1f24"

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


@contextmanager
def look() -> Iterator[None]:
    """Draw inside this."""
    import matplotlib

    with matplotlib.rc_context(_LOOK):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that many inches, independent of any window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> str:
    """Write ``path.png`` and ``path.svg``; return the SVG element for the page."""
    with look():
        figure.savefig(path.with_name(f"{path.name}.png"), facecolor="white")
        vector = path.with_name(f"{path.name}.svg")
        figure.savefig(vector, transparent=True, metadata={"Date": None})
    text = vector.read_text(encoding="utf-8")
    return text[text.index("<svg") :].replace(INK, "currentColor")


def plot_error(axes: Any, race: Any) -> None:
    """P(w) − P* against passes, one line per seed, blue for primal and orange for dual."""
    for side, colour in (("primal", PRIMAL), ("dual", DUAL)):
        runs = race.curves[side]
        for k, curve in enumerate(runs):
            label = side if k == 0 else None
            alpha = 0.85 if len(runs) <= 3 else 0.55
            axes.semilogy(curve.passes, curve.error, color=colour, label=label, alpha=alpha)
    axes.set_ylim(bottom=race.floor)
