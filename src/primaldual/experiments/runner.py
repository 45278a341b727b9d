"""Run experiments and write their pictures, numbers and one page."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from primaldual.report.drawing import require_plots
from primaldual.writing import replacing, write_text

from . import (
    fig1_ratio_bound,
    fig2_general,
    fig2_real,
    fig3_binary,
    prediction,
    table1_datasets,
)
from .drawing import save
from .page import Section, render
from .record import Item, Row

ITEMS: dict[str, Callable[[bool], Item]] = {
    "fig1": fig1_ratio_bound.run,
    "fig2_general": fig2_general.run,
    "fig2_real": fig2_real.run,
    "fig3": fig3_binary.run,
    "table1": table1_datasets.run,
    "prediction": prediction.run,
}


QUICK = (
    "This was the quick run: smaller data and fewer passes than the paper, and generated data in "
    "place of large files. That some claims do not hold, or are not judged, is expected: they are "
    "about sizes and gaps that only the full run reaches (without --quick)."
)


def reproduce(
    items: Sequence[str] = ("all",),
    quick: bool = False,
    out: str | Path = "reproduction",
    progress: Callable[[str], None] | None = None,
) -> list[Item]:
    """Regenerate figures and tables of the paper, and write what came out.

    Parameters
    ----------
    items : sequence of str
        Names in ``ITEMS``, beginnings of them ("fig2" stands for both halves), or "all".
    quick : bool
        Smaller data and fewer passes: a few minutes at most, the same kinds of results.
    out : path
        Folder for ``<name>.png``, ``<name>.svg``, ``<name>.csv`` and ``index.html``; made if it
        does not exist.
    progress : callable, optional
        Called with a line of text before and after every item.

    Returns
    -------
    list of Item
        In the order of ``ITEMS``.
    """
    names = _chosen(items)
    require_plots()
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    say = progress or (lambda line: None)
    done: list[Item] = []
    sections: list[Section] = []
    for name in names:
        say(f"{name} …")
        began = time.perf_counter()
        item = ITEMS[name](quick)
        seconds = time.perf_counter() - began
        drawings = {
            label: save(figure, folder / label, item.captions[label])
            for label, figure in item.figures.items()
        }
        for label, rows in item.tables.items():
            _write_csv(folder / f"{label}.csv", rows)
        done.append(item)
        sections.append(Section(item, drawings, seconds))
        say(f"{name}: {verdict(item)}, {seconds:.0f} s")
    if quick and any(claim.agrees is not True for item in done for claim in item.claims):
        say(QUICK)
    page = render(sections, quick, QUICK)
    write_text(folder / "index.html", page)
    return done


def verdict(item: Item) -> str:
    """In a few words: how many of the paper's claims were found to hold."""
    judged = [claim for claim in item.claims if claim.agrees is not None]
    if not judged:
        return "not judged"
    held = sum(bool(claim.agrees) for claim in judged)
    text = "agrees" if held == len(judged) else f"{held} of {len(judged)} of its claims held here"
    left = len(item.claims) - len(judged)
    return text + (f", {left} not judged" if left else "")


def _chosen(items: Sequence[str]) -> list[str]:
    chosen: set[str] = set()
    for wanted in items:
        matches = list(ITEMS) if wanted == "all" else [n for n in ITEMS if n.startswith(wanted)]
        if not matches or not wanted:
            raise ValueError(f"items must be among all, {', '.join(ITEMS)}, got {wanted!r}.")
        chosen.update(matches)
    return [name for name in ITEMS if name in chosen]


def _write_csv(path: Path, rows: list[Row]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with replacing(path, newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
