"""The page that reports a path of models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..wording import unbroken
from .drawing import DUAL, INK, PRIMAL, look, new_figure, require_plots, svg
from .template import render

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def path_page(
    rows: list[dict[str, Any]], best: int | None, key: str, score: str, title: str
) -> str:
    """The whole text of an HTML page that reports a path along λ.

    Parameters
    ----------
    rows : list of dict
        One for each λ, as ``primaldual path --json`` prints them.
    best : int or None
        The place of the best one.
    key : str
        The score that is drawn beside that on the training data: ``"cv_score"`` or another key.
    score : str
        What that is called.
    title : str
        What was solved: a file's name, say.
    """
    require_plots()
    drawing = svg(path_figure(rows, best, key, score), f"Curves: {score} against λ")
    template = Path(__file__).with_name("path.html.jinja")
    known = (("cv_score", "cross-validated"), ("test_score", "test"))
    scores = [(key, name) for key, name in known if rows[0].get(key) is not None]
    return render(
        template,
        heading=unbroken(title),
        rows=rows,
        best=best,
        drawing=drawing,
        score=score,
        scores=scores,
    )


def path_figure(rows: list[dict[str, Any]], best: int | None, key: str, score: str) -> Figure:
    """The scores against λ, the best one marked."""
    with look():
        figure = new_figure(5.0, 3.0)
        axes = figure.subplots()
        lams = [row["lam"] for row in rows]
        if key != "training_score":
            trained = [row["training_score"] for row in rows]
            axes.plot(lams, trained, "--", color=DUAL, marker=".", label="training")
        values = [row[key] for row in rows]
        axes.plot(lams, values, color=PRIMAL, marker="o", label=score)
        if rows[0].get("cv_deviation") is not None:
            low = [row[key] - row["cv_deviation"] for row in rows]
            high = [row[key] + row["cv_deviation"] for row in rows]
            axes.fill_between(lams, low, high, color=PRIMAL, alpha=0.15, linewidth=0)
        if best is not None:
            axes.axvline(lams[best], color=INK, linewidth=0.9, linestyle=(0, (1, 2)))
        axes.set_xscale("log")
        axes.invert_xaxis()
        axes.set(xlabel="λ, weaker regularisation to the right", ylabel="score")
        axes.legend(loc="best")
    return figure
