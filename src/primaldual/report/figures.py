"""The plots: where the nonzeros are, predicted and measured work, and the gap on its way down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._types import FloatArray
from ..advice import Advice
from ..complexity import structure_bounds, structure_cost
from ..face_off import FaceOff
from ..methods import METHODS
from ..problem import Coordinates, Problem
from ..result import Result
from ..wording import duration, number, power_of_ten
from .drawing import DUAL, INK, PRIMAL, THIRD, look, new_figure, require_plots
from .facts import made, predicted_passes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"primal": PRIMAL, "dual": DUAL, "own": THIRD}
STROKES = ("-", "--", ":", "-.")
# With more contenders than this the curves are named by side only.
FEW = 8
# Scales that span more than this are logarithmic.
WIDE = 20.0

# One panel of the page, in inches: as wide as a phone at a readable size of type.
PANEL = (4.8, 3.1)
SIZE = 11.0


def advice_figure(advice: Advice) -> Figure:
    """Where the nonzeros are, and what each side should take.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, advise
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> figure = advise(Problem(X, np.sign(X[:, 0]), lam=0.02)).plot()
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['nonzeros in a feature', 'nonzeros in an example', 'expected seconds']
    """
    require_plots("matplotlib")
    with look():
        if advice.problem is None:
            figure = new_figure(4.2, 2.6)
            _draw_advice(figure.subplots(), advice)
            return figure
        figure = new_figure(10.5, 2.9)
        features, examples, work = figure.subplots(1, 3)
        draw_spread(features, advice.problem, "features", columns=2)
        draw_spread(examples, advice.problem, "examples", columns=2)
        _draw_advice(work, advice)
    return figure


def result_figure(result: Result) -> Figure:
    """The relative gap against passes and against seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, solve
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> figure = solve(Problem(X, np.sign(X[:, 0]), lam=0.02), seed=0).plot()
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('passes over the data', 'relative duality gap')
    """
    require_plots("matplotlib")
    runs = {result.method: [result]}
    with look():
        figure = new_figure(8.4, 2.9)
        passes, seconds = figure.subplots(1, 2, sharey=True)
        draw_gap(passes, runs, "passes")
        draw_gap(seconds, runs, "seconds")
        seconds.set_ylabel("")
    return figure


def faceoff_figure(outcome: FaceOff) -> Figure:
    """The relative gap of every contender against passes and against seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, faceoff
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> figure = faceoff(Problem(X, np.sign(X[:, 0]), lam=0.02)).plot()
    >>> len(figure.axes)
    2
    """
    require_plots("matplotlib")
    with look():
        figure = new_figure(8.4, 3.2)
        passes, seconds = figure.subplots(1, 2, sharey=True)
        draw_gap(passes, outcome.results, "passes", outcome.tol, outcome.fastest)
        draw_gap(seconds, outcome.results, "seconds", outcome.tol, outcome.fastest)
        seconds.set_ylabel("")
    return figure


def spread_figure(problem: Problem, side: Literal["features", "examples"]) -> Figure:
    """One panel of the page: how the nonzeros are spread over features or examples."""
    return _panel(draw_spread, problem, side)


def work_figure(outcome: FaceOff) -> Figure:
    """One panel of the page: predicted and measured passes of every contender."""
    height = 1.1 + 0.52 * len(outcome.results)
    return _panel(draw_work, outcome, height=height)


def gap_figure(outcome: FaceOff, what: Literal["passes", "seconds"]) -> Figure:
    """One panel of the page: the gap of every contender against passes or seconds."""
    return _panel(draw_gap, outcome.results, what, outcome.tol, outcome.fastest)


def _panel(draw: Any, *arguments: Any, height: float = PANEL[1]) -> Figure:
    with look(font_size=SIZE, axes_titlesize=SIZE, legend_fontsize=SIZE - 1):
        figure = new_figure(PANEL[0], height)
        draw(figure.subplots(), *arguments)
    return figure


# --- where the nonzeros are -----------------------------------------------------------------------


def draw_spread(
    axes: Any, problem: Problem, name: Literal["features", "examples"], columns: int = 3
) -> None:
    """Histogram over the nonzeros per row: filled, the rows; outlined, the nonzeros in them."""
    side: Coordinates = getattr(problem, name)
    colour = COLOURS["primal" if name == "features" else "dual"]
    # The scales are those of both sides together, so that the two plots can be compared.
    most = max(int(problem.features.counts.max()), int(problem.examples.counts.max()), 1)
    edges = np.unique(np.round(np.geomspace(1, most + 1, 17)))
    highest = max(
        float(np.max(_shares(one, edges))) for one in (problem.features, problem.examples)
    )
    rows, entries = _shares(side, edges)
    axes.stairs(rows, edges - 0.5, fill=True, color=colour, alpha=0.45, label=name)
    axes.stairs(entries, edges - 0.5, color=colour, linewidth=1.8, label="nonzeros")
    frobenius = structure_bounds(side)[0]
    if frobenius > 0:
        typical = structure_cost(side) / frobenius
        axes.axvline(
            typical,
            color=INK,
            linestyle=":",
            linewidth=1.6,
            label=f"mean {number(typical)}",
        )
    axes.set(
        xlabel=f"nonzeros in {'a feature' if name == 'features' else 'an example'}",
        ylabel="share, %",
        xlim=(0.5, (most + 0.5) * 1.15),
        ylim=(0, 1.05 * max(highest, 1.0)),
    )
    axes.set_xscale("log")
    _powers(axes.xaxis)
    _legend(axes, columns)


def _shares(side: Coordinates, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Per cent of the rows, and of the nonzeros, by the number of nonzeros in a row."""
    counts = side.counts[side.counts > 0]
    rows, _ = np.histogram(counts, edges)
    entries, _ = np.histogram(counts, edges, weights=counts)
    return 100 * rows / max(side.size, 1), 100 * entries / max(counts.sum(), 1)


# --- predicted and measured work ------------------------------------------------------------------


def draw_work(axes: Any, outcome: FaceOff) -> None:
    """Two bars a contender: the passes that theory allows it, and those it made."""
    names = list(outcome.results)
    predicted = [predicted_passes(outcome, name) for name in names]
    measured = [made(outcome, name, "passes") for name in names]
    start = _log_start([*predicted, *measured])
    end = start
    for k, name in enumerate(names):
        colour = COLOURS[outcome.side_of(name)]
        arrived = np.isfinite(outcome.passes(name))
        bound = f"predicted {number(predicted[k])}" if np.isfinite(predicted[k]) else "no bound"
        label = number(measured[k]) if arrived else f"not there after {number(measured[k])}"
        first, second = _reach(predicted[k], start), _reach(measured[k], start)
        axes.barh(
            k - 0.2, first - start, 0.34, left=start, facecolor="none", edgecolor=colour,
            linewidth=1.3,
        )  # fmt: skip
        axes.barh(
            k + 0.2, second - start, 0.34, left=start, color=colour, alpha=1 if arrived else 0.45
        )
        for at, length, words in ((k - 0.2, first, bound), (k + 0.2, second, label)):
            axes.annotate(
                words, (length, at), xytext=(4, 0), textcoords="offset points", va="center",
                size="small",
            )  # fmt: skip
        end = max(end, first, second)
    axes.set_yticks(
        range(len(names)), labels=[f"{name}\n{outcome.side_of(name)}" for name in names]
    )
    axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="passes over the data")
    axes.set_xscale("log")
    # Room for the words behind the longest bar.
    axes.set_xlim(start, end * (end / start) ** 0.75 if end > start else start * 10)
    axes.tick_params(axis="y", length=0)
    _powers(axes.xaxis)
    # The room for words has no numbers: no bar is there.
    ticks = [tick for tick in axes.get_xticks() if start <= tick <= max(end, start * 10)]
    axes.set_xticks(ticks)


def _draw_advice(axes: Any, advice: Advice) -> None:
    """One bar a side: the seconds that it should take, the verdict's filled."""
    values = {name: side.seconds for name, side in advice.sides.items()}
    lengths = [value if np.isfinite(value) else 0.0 for value in values.values()]
    for k, (side, value) in enumerate(zip(values, lengths, strict=True)):
        axes.barh(k, value, 0.5, facecolor="none", edgecolor=COLOURS[side], linewidth=1.4)
        if side == advice.side:
            axes.barh(k, value, 0.5, color=COLOURS[side], alpha=0.45)
        words = duration(value) if np.isfinite(values[side]) else "no method"
        axes.annotate(words, (value, k), xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_yticks([0, 1], labels=list(values))
    axes.set(
        xlabel="expected seconds",
        xlim=(0, 1.25 * max(lengths) or 1.0),
        ylim=(1.6, -0.6),
    )
    axes.tick_params(axis="y", length=0)


def _log_start(values: Sequence[float]) -> float:
    """Where bars on a logarithmic scale begin: a power of ten below the smallest."""
    positive = [value for value in values if 0 < value < np.inf]
    return float(10 ** np.floor(np.log10(min(positive) / 1.5))) if positive else 0.1


def _reach(value: float, start: float) -> float:
    return max(value, start) if np.isfinite(value) else start


# --- the gap --------------------------------------------------------------------------------------


def draw_gap(
    axes: Any,
    results: dict[str, list[Result]],
    what: Literal["passes", "seconds"],
    tol: float = 0.0,
    fastest: str = "",
) -> None:
    """One curve a run: blue for primal methods, orange for dual ones, green for one's own."""
    few = len(results) <= FEW
    ends = [getattr(run, what) for runs in results.values() for run in runs]
    unit, label_of_x = _unit(what, max(ends))
    positive = [end / unit for end in ends if end > 0]
    seen = dict.fromkeys(COLOURS, 0)
    lowest = tol if tol > 0 else 1.0
    for name, runs in results.items():
        last = runs[0].trace.methods[-1]  # the one that ``auto`` ended with
        side = METHODS[last].side if last in METHODS else "own"
        stroke = STROKES[seen[side] % len(STROKES)] if few else "-"
        label = name if few or name == fastest else (None if seen[side] else f"{side} methods")
        seen[side] += few or name != fastest
        for k, run in enumerate(runs):
            at, gap = _curve(run, what)
            at = at / unit
            if not len(gap):
                continue
            lowest = min(lowest, float(gap.min()))
            axes.plot(
                at, gap, stroke, color=COLOURS[side], label=label if k == 0 else None,
                alpha=1.0 if few or name == fastest else 0.45,
                linewidth=2.2 if name == fastest and len(results) > 1 else 1.3,
                marker="o" if len(gap) <= 2 else None, markersize=4,
            )  # fmt: skip
    if 0 < tol < 1:
        axes.axhline(tol, color=INK, linewidth=0.9, linestyle=(0, (1, 2)))
        axes.annotate(
            "tol", (0, tol), xycoords=("axes fraction", "data"), xytext=(4, 3),
            textcoords="offset points", size="small",
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set(xlabel=label_of_x, ylabel="relative duality gap")
    axes.set_ylim(lowest / 3, None)
    _powers(axes.yaxis)
    axes.set_xlim(0, 1.05 * max(positive, default=1.0))
    if positive and max(positive) > WIDE * min(positive):
        _from_zero_in_powers(axes, min(positive), max(positive))
    else:
        axes.locator_params(axis="x", nbins=5)
    _legend(axes, 3)


def _unit(what: Literal["passes", "seconds"], longest: float) -> tuple[float, str]:
    """The unit of the horizontal axis, and its name."""
    if what == "passes":
        return 1.0, "passes over the data"
    return (1.0, "seconds") if longest >= 0.02 else (1e-3, "milliseconds")


def _curve(run: Result, what: Literal["passes", "seconds"]) -> tuple[FloatArray, FloatArray]:
    """The points that can be drawn, from what w = 0 proves before any pass: a gap of 1.

    Gaps are finite, and zeros lifted to the smallest positive one.
    """
    at, gap = getattr(run.trace, what), run.trace.relative_gap
    shown = np.isfinite(gap)
    at, gap = at[shown], gap[shown]
    positive = gap[gap > 0]
    if len(at) and at[0] > 0:
        at, gap = np.concatenate([[0.0], at]), np.concatenate([[1.0], gap])
    return at, np.maximum(gap, positive.min() if len(positive) else 1e-17)


# --- axes -----------------------------------------------------------------------------------------


def _powers(axis: Any) -> None:
    """Few ticks, at powers of ten, in plain letters; 2 and 5 too where there is but one power."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    decades = np.log10(high / low) if low > 0 else 9
    axis.set_major_locator(LogLocator(10, subs=(1.0,) if decades > 1.5 else (1, 2, 5), numticks=7))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(_tick))


def _from_zero_in_powers(axes: Any, first: float, last: float) -> None:
    """A scale that is linear up to ``first`` and logarithmic beyond."""
    axes.set_xscale("symlog", linthresh=first, linscale=0.5)
    exponents = range(int(np.floor(np.log10(first))), int(np.floor(np.log10(last))) + 1)
    steps = (1.0, 2.0, 5.0) if len(exponents) <= 2 else (1.0,)
    marks = [step * 10.0**k for k in exponents for step in steps]
    marks = [mark for mark in marks if first <= mark <= 1.05 * last]
    ticks = [0.0, *marks[:: -(-len(marks) // 5)]]
    axes.set_xticks(ticks, labels=["0", *(_tick(tick) for tick in ticks[1:])])
    axes.set_xticks([], minor=True)


def _tick(value: float, position: int | None = None) -> str:
    exponent = int(np.floor(np.log10(value) + 1e-9)) if value > 0 else 0
    if abs(value / 10.0**exponent - 1) < 1e-6 and exponent != -1:
        return power_of_ten(exponent)
    return number(value)


def _legend(axes: Any, columns: int) -> None:
    """Above the axes, where it hides nothing."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=columns, borderaxespad=0.2,
        handlelength=1.6, columnspacing=1.2,
    )  # fmt: skip
