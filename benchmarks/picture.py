"""Draw the front page's picture from the results of a run.

    python -m benchmarks --lams 1,10 --solvers sklearn --json docs/benchmarks.json
    python -m benchmarks.picture docs/benchmarks.json docs/figures/front.svg

One line for each data set: the time to a relative suboptimality of 1e-6 with the logistic loss at
λn = 1, ours with its certificate and that of the fastest of scikit-learn's solvers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OURS, THEIRS, INK = "#d9701e", "#6b7280", "#1b1f24"
TARGET = "1e-06"


def times(path: Path) -> list[tuple[str, float, float, str]]:
    """Data set, our seconds, those of the fastest peer and its name; the slowest peer first."""
    found = []
    for task in json.loads(path.read_text(encoding="utf-8"))["tasks"]:
        asked = task["task"]
        if (asked["loss"], asked["lam_n"]) != ("logistic", 1.0):
            continue
        seconds = dict(task["seconds_to"][TARGET])
        ours = seconds.pop("primaldual")
        peers = {name: value for name, value in seconds.items() if value is not None}
        if ours is not None and peers:
            best = min(peers, key=lambda name: peers[name])
            found.append((asked["case"], ours, peers[best], best))
    return sorted(found, key=lambda row: row[2])


def draw(found: list[tuple[str, float, float, str]], place: Path) -> None:
    """Two dots on each line, and how many times as long the peer takes."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "primaldual"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.2, 0.34 * len(found) + 1.3), layout="constrained")
    for row, (_, ours, theirs, _) in enumerate(found):
        axes.plot([1e3 * ours, 1e3 * theirs], [row, row], color="#d0d4da", linewidth=2, zorder=1)
        axes.annotate(f"{theirs / ours:.1f}×", (1e3 * theirs, row), xytext=(9, 0),
                      textcoords="offset points", va="center", fontsize=9, color=INK)  # fmt: skip
    rows: Any = range(len(found))
    axes.scatter([1e3 * row[1] for row in found], rows, color=OURS, s=52, zorder=2,
                 label="primaldual, certificate included")  # fmt: skip
    axes.scatter([1e3 * row[2] for row in found], rows, color=THEIRS, s=52, zorder=2,
                 label="the fastest of scikit-learn's solvers")  # fmt: skip
    axes.set(xscale="log", yticks=list(rows), yticklabels=[row[0] for row in found],
             xlabel="milliseconds to six digits, logistic regression")  # fmt: skip
    axes.xaxis.set_major_formatter(lambda value, position: f"{value:g}")
    axes.margins(x=0.12)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    figure.legend(loc="outside upper left", frameon=False, ncols=2)
    figure.savefig(place, facecolor="white", metadata={"Date": None})


def main() -> None:
    """Read the first path, write the second."""
    source, place = map(Path, sys.argv[1:3])
    draw(times(source), place)


if __name__ == "__main__":
    main()
