"""Draw the arena, every method on three real data sets: ``python -m benchmarks.arena_figure``.

The gap (P(w) − D(α))/P(0), certified, against passes over the data and against seconds, checks
not counted. Logistic loss, λ = 1/n, examples of average length 1, one seed, one thread. The data
sets are read from the folder ``PRIMALDUAL_DATA``. The curves are kept in a JSON file and reused
when it exists, so that the drawing can be changed without running again.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from primaldual import METHODS, Problem, datasets, faceoff

TOL = 1e-9
# Data sets, their names, the seconds a method may take, and where the two horizontal axes lie.
SETS: dict[str, tuple[str, float, dict[str, tuple[float, float]]]] = {
    "leu": ("leukemia", 5.0, {"passes": (0.9, 1000), "seconds": (3e-4, 3)}),
    "a9a": ("a9a", 8.0, {"passes": (0.9, 500), "seconds": (1e-2, 10)}),
    "news20-rebuilt": ("news20-rebuilt", 15.0, {"passes": (0.9, 120), "seconds": (8e-2, 20)}),
}
# Newton's method is run where its matrix has no more rows than this.
LARGEST_MATRIX = 5000

# Families, their colour maps, and their members from dark to light.
FAMILIES: dict[str, tuple[str, list[str]]] = {
    "the paper's two": ("", ["nsync", "quartz"]),
    "second order and engine": (
        "Greys",
        ["dual_cd", "primal_cd", "newton", "gram_newton", "newton_cg"],
    ),
    "primal coordinate": (
        "Blues",
        ["rcdm", "ucdc", "pcdm", "hydra", "approx", "alpha", "nu_acdm", "hydra2"],
    ),
    "dual coordinate": (
        "Reds",
        ["sdca", "iprox_sdca", "df_sdca", "miso", "ada_sdca", "gap_sdca", "cocoa"],
    ),
    "accelerated dual": ("RdPu", ["asdca", "acc_prox_sdca", "apcg", "spdc"]),
    "stochastic gradients": (
        "Greens",
        ["sgd", "sag", "saga", "svrg", "prox_svrg", "s2gd", "ms2gd", "l_svrg", "s2cd"],
    ),
    "accelerated gradients": ("Wistia", ["katyusha", "l_katyusha"]),
}
PAPER = {"nsync": "#08306b", "quartz": "#a50f15"}

Curves = dict[str, dict[str, Any]]  # set → its title and the curves of the methods


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arena_figure")
    parser.add_argument("--curves", type=Path, default=Path("arena.json"), help="kept here")
    parser.add_argument("--out", type=Path, default=Path("docs/figures/arena"), help="no ending")
    options = parser.parse_args()
    if not options.curves.exists():
        options.curves.write_text(json.dumps(run()))
    draw(json.loads(options.curves.read_text()), options.out)


def run() -> Curves:
    """All methods on all data sets."""
    return {name: run_on(name, list(METHODS)) for name in SETS}


def run_on(name: str, methods: list[str]) -> dict[str, Any]:
    """The curves of some methods on one data set."""
    title, seconds, _ = SETS[name]
    X, y = datasets.load(name)
    storage = "dense" if X.nnz == np.prod(X.shape) else "sparse"
    X = datasets.normalize_average(X.toarray() if storage == "dense" else X)
    problem = Problem(X, y, loss="logistic", lam=1 / len(y))
    curves = {}
    for method in methods:
        if hopeless(method, problem):
            continue
        faceoff(problem, [method], max_passes=1)  # compiles
        outcome = faceoff(
            problem, [method], tol=TOL, max_passes=1e9, max_time=seconds,
            callback=lambda name, progress: None,  # asks for a check in every round
        )  # fmt: skip
        trace = outcome.results[method][0].trace.entries
        curves[method] = {
            "passes": [entry.passes for entry in trace],
            "seconds": [entry.seconds for entry in trace],
            "gap": [entry.relative_gap for entry in trace],
        }
        last = trace[-1]
        print(
            f"{name:16}{method:14}{last.passes:10.1f} passes{last.seconds:8.2f} s"
            f"{last.relative_gap:10.1e}", file=sys.stderr, flush=True,
        )  # fmt: skip
    title = f"{title}: {problem.n:,} examples, {problem.d:,} features, {storage}"
    return {"title": title, "methods": curves}


def hopeless(method: str, problem: Problem) -> bool:
    """Whether a method would factor a matrix that is too large."""
    size = {"newton": problem.d, "gram_newton": problem.n}.get(method, 0)
    return size > LARGEST_MATRIX


def draw(curves: Curves, out: Path) -> None:
    """One column per data set, passes above and seconds below, and a legend by family."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 10, "svg.hashsalt": "arena", "svg.fonttype": "none"})
    figure, axes = plt.subplots(
        2, len(curves), figsize=(16, 12.2), sharey=True, gridspec_kw={"hspace": 0.2, "wspace": 0.06}
    )
    figure.subplots_adjust(left=0.055, right=0.99, top=0.965, bottom=0.255)
    styles = line_styles()
    for column, (name, found) in enumerate(curves.items()):
        for line, (what, limits) in enumerate(SETS[name][2].items()):
            panel(axes[line, column], found["methods"], what, limits, styles)
        axes[0, column].set_title(found["title"], fontsize=12)
    for line in (0, 1):
        axes[line, 0].set_ylabel("certified gap (P(w) − D(α)) / P(0)")
    legend(figure, styles)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out.with_suffix(".png"), dpi=110)
    figure.savefig(out.with_suffix(".svg"), metadata={"Date": None})


def line_styles() -> dict[str, dict[str, Any]]:
    """Colour by family, shade and dashes by method; the paper's two are wide."""
    import matplotlib

    dashes = ["-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)), (0, (3, 1))]
    styles: dict[str, dict[str, Any]] = {}
    for colours, members in FAMILIES.values():
        for k, name in enumerate(members):
            if name in PAPER:
                styles[name] = {"color": PAPER[name], "linewidth": 4.0, "zorder": 5}
                continue
            shade = 0.9 - 0.45 * k / max(len(members) - 1, 1)
            colour = matplotlib.colormaps[colours](shade)
            styles[name] = {
                "color": colour, "linewidth": 1.5, "linestyle": dashes[k % len(dashes)],
            }  # fmt: skip
    return styles


def panel(
    axis: Any,
    found: dict[str, Any],
    what: str,
    limits: tuple[float, float],
    styles: dict[str, dict[str, Any]],
) -> None:
    """The curves of one data set against passes or seconds."""
    import matplotlib.patheffects as effects

    missing, early = [], []
    for name, style in styles.items():
        curve = found.get(name, {"gap": [], what: []})
        x, gap = np.maximum(curve[what], limits[0] / 10), np.maximum(curve["gap"], TOL / 100)
        if not len(gap) or gap.min() > 1:
            missing.append(name)
            continue
        if x[-1] < limits[0]:
            early.append(name)
        axis.plot(x, gap, **style)
        if name in PAPER:
            at = min(len(gap) - 1, int(np.searchsorted(-np.log10(gap), 3)))
            left = x[at] > limits[1] / 3 or (name == "quartz" and x[at] > 3 * limits[0])
            axis.annotate(
                name, (x[at], gap[at]), (-8 if left else 8, 8 if gap[at] > 1e-2 else -3),
                textcoords="offset points", ha="right" if left else "left", color=PAPER[name],
                fontweight="bold", fontsize=13, zorder=6,
                path_effects=[effects.withStroke(linewidth=4, foreground="white")],
            )  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(*limits)
    axis.set_ylim(TOL, 1.5)
    axis.set_xlabel({"passes": "passes over the data", "seconds": "seconds"}[what])
    axis.grid(True, color="0.9", linewidth=0.7)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    if what == "passes":
        notes = {"no curve": missing, "left of the axis": early}
        text = "\n".join(f"{note}: {', '.join(names)}" for note, names in notes.items() if names)
        axis.text(
            0.99, 0.99, text, transform=axis.transAxes, ha="right",
            va="top", fontsize=9, color="0.2", zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5},
        )  # fmt: skip


def legend(figure: Any, styles: dict[str, dict[str, Any]]) -> None:
    """One block of names per family, below the panels."""
    from matplotlib.lines import Line2D

    for k, (family, (_, members)) in enumerate(FAMILIES.items()):
        handles = [Line2D([], [], **styles[name]) for name in members]
        block = figure.legend(
            handles, members, title=family, loc="upper left", frameon=False, handlelength=3.6,
            bbox_to_anchor=(0.03 + 0.14 * k, 0.205), alignment="left", labelspacing=0.35,
        )  # fmt: skip
        block.get_title().set_fontweight("bold")
        for text in block.get_texts():
            text.set_fontweight("bold" if text.get_text() in PAPER else "normal")


if __name__ == "__main__":
    main()
