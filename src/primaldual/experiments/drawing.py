"""How a figure is saved, and the curves that several figures have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from primaldual.report.drawing import DUAL, INK, PRIMAL, THIRD, inline, look, new_figure
from primaldual.writing import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DUAL", "INK", "PRIMAL", "THIRD", "look", "new_figure", "plot_error", "save"]


def save(figure: Figure, path: Path, label: str) -> str:
    """Write ``path.png`` and ``path.svg``; return the SVG element for the page."""
    with look():
        with replacing(path.with_name(f"{path.name}.png"), "wb") as file:
            figure.savefig(file, format="png", facecolor="white")
        vector = path.with_name(f"{path.name}.svg")
        with replacing(vector, "wb") as file:
            figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return inline(vector.read_text(encoding="utf-8"), label)


def plot_error(axes: Any, race: Any) -> None:
    """P(w) − P* against passes, one line per seed, blue for primal and orange for dual."""
    for side, colour in (("primal", PRIMAL), ("dual", DUAL)):
        runs = race.curves[side]
        for k, curve in enumerate(runs):
            label = side if k == 0 else None
            alpha = 0.85 if len(runs) <= 3 else 0.55
            axes.semilogy(curve.passes, curve.error, color=colour, label=label, alpha=alpha)
    axes.set_ylim(bottom=race.floor)
