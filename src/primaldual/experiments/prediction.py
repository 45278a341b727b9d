"""Beyond the paper: how often T_P / T_D names the side that is faster.

Every data set, loss, strength of regularisation and scaling is solved to the same certified gap on
both sides, by the library's own coordinate methods. Then simple rules that choose a side from the
data are held against the outcome.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped,unused-ignore]

from primaldual import Advice, Problem, advise, solve, structure_cost
from primaldual import datasets as data

from .contenders import CHOOSING, REPEATS, SHORT, Contender, in_turn, load_kernels
from .drawing import DUAL, INK, PRIMAL, THIRD, look, new_figure
from .record import Claim, Item, Row, number
from .rules import FOLLOWED, PATIENCE, RULES, SIDES, arrived, cost, decided, scores

TOL = 1e-6
PAPER = {"primal": "nsync", "dual": "quartz"}
LAM_N = (0.01, 0.1, 1.0, 10.0, 100.0)
LOSSES = ("logistic", "squared", "squared_hinge")
SCALINGS = ("raw", "rows")

# Data with more than this share of nonzeros is stored densely, for all contenders.
DENSE_SHARE = 0.25
# Files whose labels are real numbers, and one with twenty classes, of which half against half.
REGRESSION = {"riboflavin", "abalone_scale", "housing_scale", "cadata", "winequality-white"}
QUICK_FILES = ("heart_scale", "colon-cancer")
# The slower side is stopped after PATIENCE times the seconds of the faster one, but not before
# this many seconds.
LEAST = 0.2
# The paper's own two methods take part up to this many nonzeros.
PAPER_NNZ = 400_000


@dataclass(frozen=True)
class Data:
    """One matrix with its labels."""

    name: str
    X: Any
    y: Any
    task: str = "classification"


# ---- what is solved


def generated() -> Iterator[Data]:
    """Matrices of the paper's theory, small enough to solve in a moment."""
    shapes: list[tuple[str, Callable[[], Any]]] = [
        ("worst case for the dual", lambda: data.worst_case(400, 400, "dual")),
        ("worst case for the primal", lambda: data.worst_case(400, 400, "primal")),
        ("dense, n = 10 d", lambda: data.random_matrix(100, 1000, seed=0)),
        ("dense, d = 10 n", lambda: data.random_matrix(1000, 100, seed=0)),
        ("sparse, n = 10 d", lambda: data.random_matrix(400, 4000, 0.02, seed=0)),
        ("sparse, d = 10 n", lambda: data.random_matrix(4000, 400, 0.02, seed=0)),
        ("text, d = 20 n", lambda: data.zipf_text(10_000, 500, seed=0)),
        ("text, n = 2 d", lambda: data.zipf_text(1000, 2000, 50, seed=0)),
        (
            "binary, against the dual",
            lambda: data.extremal_binary(100, 2000, 4000, "dual_worst", 0, signs=True),
        ),
        (
            "binary, against the primal",
            lambda: data.extremal_binary(2000, 100, 4000, "primal_worst", 0, signs=True),
        ),
    ]
    for name, make in shapes:
        X = make()
        yield Data(name, X, data.labels(X, seed=1))


def stored(max_nnz: float = math.inf, names: Sequence[str] | None = None) -> Iterator[Data]:
    """The data sets in the folder ``PRIMALDUAL_DATA``, or those of the names given."""
    folder = data.data_folder()
    if folder is None or not folder.is_dir():
        return
    found = sorted({path.name.split(".svm")[0] for path in folder.glob("*.svm*")})
    for name in found if names is None else [name for name in names if name in found]:
        # A nonzero takes a dozen bytes at most, compressed: larger files need not be read.
        if _bytes(folder, name) > 12 * max_nnz:
            continue
        X, y = data.load(name)
        if X.nnz > max_nnz:
            continue
        task = "regression" if name in REGRESSION else "classification"
        if task == "classification" and len(np.unique(y)) > 2:
            y = np.where(y > np.median(y), 1.0, -1.0)
        yield Data(name, X, y, task)


def _bytes(folder: Path, name: str) -> int:
    return min(path.stat().st_size for path in folder.glob(f"{name}.svm*"))


def problem_of(item: Data, loss: str, lam_n: float) -> Problem:
    """A fresh problem: nothing computed for one contender helps another."""
    return Problem(item.X, item.y, loss=loss, lam=lam_n / item.X.shape[0])


def prepared(item: Data, scaling: str) -> Data:
    """The data as it is solved: labels ±1 also for the squared loss, rows scaled or not."""
    X, y = sparse.csr_array(item.X), item.y
    if item.task != "regression":
        y = np.where(y == np.max(y), 1.0, -1.0)
    if scaling == "rows":
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        X = sparse.csr_array(X / np.where(norms > 0, norms, 1.0)[:, None])
    if X.nnz > DENSE_SHARE * X.shape[0] * X.shape[1]:
        X = X.toarray()
    return Data(item.name, X, y, item.task)


# ---- what is measured


def measure(item: Data, loss: str, lam_n: float, scaling: str, max_time: float) -> Row:
    """Predictions for one problem, and what both sides, ``advise`` and ``auto`` needed for it.

    ``item`` is ``prepared``.
    """

    def fresh() -> Problem:
        return problem_of(item, loss, lam_n)

    row = _predictions(item, loss, lam_n, scaling)
    nnz, is_sparse = row["nnz"], row["sparse"]
    order = ("primal", "dual") if row["T_P/T_D"] < 1 else ("dual", "primal")
    ours: list[Contender] = []
    for kind, methods in (("", SIDES), ("paper ", PAPER if nnz <= PAPER_NNZ else {})):
        limit = max_time
        for side in order:
            row[f"{side} {kind}passes"] = row[f"{side} {kind}seconds"] = math.nan
            row[f"{side} {kind}arrived"] = False
            if not methods:
                continue
            load_kernels(loss, methods[side], is_sparse)
            contender = Contender(f"{side} {kind}", fresh, methods[side], TOL, limit)
            contender.run()
            if contender.best.converged:
                limit = min(max_time, max(LEAST, PATIENCE * contender.seconds))
            row |= contender.entries()
            if not kind:
                ours.append(contender)
    for label, method in zip(("advised ", "auto "), CHOOSING[::-1], strict=True):
        load_kernels(loss, method, is_sparse)
        ours.append(Contender(label, fresh, method, TOL, max_time))
        ours[-1].run()
    in_turn(ours)
    for contender in ours:
        row |= contender.entries()
    row["auto"] = "+".join(note.split(":")[0] for note in ours[-1].best.trace.notes)
    return row


def _predictions(item: Data, loss: str, lam_n: float, scaling: str) -> Row:
    """What is known of a problem before it is solved."""
    problem = problem_of(item, loss, lam_n)
    n, d, nnz = problem.n, problem.d, problem.matrix.nnz
    weight = problem.features.beta / lam_n
    T_P = nnz + weight * structure_cost(problem.features)  # eq. (15)
    T_D = nnz + weight * structure_cost(problem.examples)
    is_sparse = problem.matrix.is_sparse
    price = seconds_per_nonzero("primal", loss, is_sparse) / seconds_per_nonzero(
        "dual", loss, is_sparse
    )
    advice, seconds_advising = _advised(lambda: problem_of(item, loss, lam_n))
    return {
        "data": item.name,
        "n": n,
        "d": d,
        "nnz": nnz,
        "sparse": is_sparse,
        "loss": loss,
        "lam_n": lam_n,
        "scaling": scaling,
        "T_P/nnz": T_P / nnz,
        "T_D/nnz": T_D / nnz,
        "T_P/T_D": T_P / T_D,
        "c_P T_P/(c_D T_D)": price * T_P / T_D,
        "theory": advice.theory.side,
        "verdict": advice.verdict.side,
        "advise seconds": seconds_advising,
    }


def _advised(fresh: Callable[[], Problem]) -> tuple[Advice, float]:
    """The advice on a problem, and its seconds of processor time, the least of a few.

    The verdict is found when it is asked for: that is part of the time.
    """
    taken: list[float] = []
    while len(taken) <= REPEATS and sum(taken) < SHORT:  # the first may load code
        problem = fresh()
        began = time.process_time()
        advice = advise(problem)
        _ = advice.verdict
        taken.append(time.process_time() - began)
    return advice, min(taken)


@cache
def seconds_per_nonzero(side: str, loss: str, is_sparse: bool) -> float:
    """The machine's constant: seconds per visited nonzero of one side's method on random data."""
    X: Any = data.random_matrix(2000, 2000, 0.05, seed=0)
    if not is_sparse:
        X = data.random_matrix(450, 450, seed=0).toarray()
    y = data.labels(X, seed=0)
    load_kernels(loss, SIDES[side], is_sparse)
    prices = []
    for seed in range(REPEATS):
        problem = Problem(X, y, loss=loss, lam=1 / X.shape[0])
        run = solve(problem, SIDES[side], tol=1e-12, max_passes=15, seed=seed)
        prices.append(run.seconds / (run.passes * problem.matrix.nnz))
    return min(prices)


def study(
    sets: Iterator[Data],
    lam_n: Sequence[float] = LAM_N,
    losses: Sequence[str] = LOSSES,
    scalings: Sequence[str] = SCALINGS,
    max_time: float = 30.0,
    progress: Callable[[Row], None] | None = None,
) -> list[Row]:
    """One row per data set, loss, strength and scaling."""
    rows: list[Row] = []
    for item in sets:
        fitting = [loss for loss in losses if item.task != "regression" or loss == "squared"]
        for scaling in scalings:
            ready = prepared(item, scaling)
            for loss, strength in product(fitting, lam_n):
                # One thread for all: several would wait for each other on a busy machine.
                with threadpool_limits(limits=1):
                    rows.append(measure(ready, loss, strength, scaling, max_time))
                if progress is not None:
                    progress(rows[-1])
    return rows


# ---- the item


def run(quick: bool = False, max_nnz: float = math.inf, max_time: float = 30.0) -> Item:
    """The study on generated and stored data; ``quick`` takes a handful of small problems.

    ``max_nnz`` leaves out larger files, ``max_time`` bounds the seconds of a run.
    """
    if quick:
        sets = [*[*generated()][:6], *stored(names=QUICK_FILES)]
        rows = study(iter(sets), (0.1, 10.0), LOSSES[:2], SCALINGS[:1], max_time=0.5)
    else:
        rows = study(chain(generated(), stored(max_nnz)), max_time=max_time)
    return report(rows)


def report(rows: list[Row]) -> Item:
    """Claims, table and pictures from the rows of a study."""
    table = scores(rows)
    by_rule = {line["rule"]: line for line in table}
    auto, advised = by_rule["auto, as it ran"], by_rule[FOLLOWED]
    count = len(decided(rows))
    return Item(
        name="prediction",
        title="Beyond the paper: does the prediction hold?",
        claims=_claims(rows, by_rule),
        remarks=[
            "T_P and T_D know β, λ and where the nonzeros are. They do not know that for n > d the "
            "examples together make P strongly convex, far beyond λ, and for d > n the same of D: "
            "so each bound is most pessimistic where its side is fastest.",
            "Our auto, which is not in the paper and may leave both coordinate methods for "
            f"Newton's, takes {number(auto['mean regret, seconds'])} times the better coordinate "
            f"method's time on average, its own choosing included (95th percentile "
            f"{number(auto['95 %, seconds'])}, at worst {number(auto['max, seconds'])}). "
            "Our advise, and then auto with its advice, both timed: "
            f"{number(advised['mean regret, seconds'])}, {number(advised['95 %, seconds'])} and "
            f"{number(advised['max, seconds'])}.",
        ],
        note=(
            f"Both coordinate methods of the library to a certified relative gap of {TOL:g}; "
            "regret is the cost of the chosen side over that of the better one. A side that did "
            f"not arrive counts as {PATIENCE:g} times the other, or as what it used if more. "
            "'Paper passes' are those of Algorithms 1 and 2 with importance sampling. "
            f"{len(rows) - count} problems that neither side solved in time are left out."
        ),
        figures={"prediction": draw(rows)},
        captions={
            "prediction": (
                "Predicted against measured ratio, primal over dual; in the shaded quarters the "
                "prediction is wrong. Triangles: one side did not arrive."
            )
        },
        tables={"prediction": rows, "prediction_rules": table},
        shown=("prediction_rules",),
    )


def _claims(rows: list[Row], by_rule: dict[str, Row]) -> list[Claim]:
    """Whether the smaller T is the better choice, for both pairs of methods."""
    paper = by_rule["smaller T (the paper)"]
    simple = {name: by_rule[name] for name in list(RULES)[:4]}
    count, all_sets = len(decided(rows)), len({row["data"] for row in rows})
    return [
        Claim(
            "T_P/T_D predicts which of the paper's two methods needs fewer passes.",
            f"{len(decided(rows, 'paper passes'))} problems on {all_sets} data sets. "
            + _compared(paper, simple, "paper passes"),
            _better(paper, simple, "paper passes"),
        ),
        Claim(
            "The same for methods of today: epochs in random order, local curvature.",
            f"Our two coordinate methods, {count} problems. " + _compared(paper, simple, "passes"),
            _better(paper, simple, "passes"),
        ),
        Claim(
            "T_P/T_D predicts which side is faster (the paper counts nonzeros, not seconds).",
            _compared(paper, simple, "seconds"),
            _better(paper, simple, "seconds"),
        ),
    ]


def _compared(line: Row, others: dict[str, Row], what: str) -> str:
    """One rule next to the best of others, by their mean regret."""
    name = min(others, key=lambda rule: others[rule][f"mean regret, {what}"])
    return (
        f"The smaller T is right in {line[f'right, {what}']:.0%}, with a regret of "
        f"{number(line[f'mean regret, {what}'])} on average, {number(line[f'95 %, {what}'])} at "
        f"the 95th percentile and {number(line[f'max, {what}'])} at worst. The best rule that "
        f"looks at n and d only, {name}: {others[name][f'right, {what}']:.0%}, and "
        f"{number(others[name][f'mean regret, {what}'])}, {number(others[name][f'95 %, {what}'])}, "
        f"{number(others[name][f'max, {what}'])}."
    )


def _better(line: Row, others: dict[str, Row], what: str) -> bool:
    """Whether a rule is right more often than a coin, and has less regret than all others."""
    column = f"mean regret, {what}"
    least = min(other[column] for other in others.values())
    return bool(line[f"right, {what}"] > 0.5 and line[column] <= least)


def draw(rows: list[Row]) -> Any:
    """Three clouds over the predicted ratio: passes of both pairs of methods, and seconds."""
    colours = dict(zip(LOSSES, (PRIMAL, DUAL, THIRD), strict=True))
    with look():
        figure = new_figure(9.6, 3.5)
        measures = {
            "paper passes": "passes, Algorithms 1 and 2",
            "passes": "passes, our coordinate methods",
            "seconds": "seconds, our coordinate methods",
        }
        for axes, what in zip(figure.subplots(1, 3), measures, strict=True):
            axes.set(xscale="log", yscale="log", title=measures[what])
            for loss, colour in colours.items():
                for whole, marker in ((True, "o"), (False, "^")):
                    some = [
                        row
                        for row in decided(rows, what)
                        if row["loss"] == loss
                        and all(arrived(row, side, what) for side in SIDES) == whole
                    ]
                    axes.scatter(
                        [row["T_P/T_D"] for row in some],
                        [cost(row, "primal", what) / cost(row, "dual", what) for row in some],
                        s=11, color=colour, marker=marker, alpha=0.6, linewidths=0,
                        label=loss.replace("_", " ") if whole else None, rasterized=len(rows) > 500,
                    )  # fmt: skip
            _shade_wrong_quarters(axes)
            axes.set(xlabel="predicted T_P / T_D", ylabel="measured primal / dual")
        figure.axes[0].legend(loc="lower right", fontsize=8, handletextpad=0.2)
    return figure


def _shade_wrong_quarters(axes: Any) -> None:
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    left, right, low, high = min(left, 0.5), max(right, 2), min(low, 0.5), max(high, 2)
    axes.fill_between([left, 1], 1, high, color=INK, alpha=0.09, linewidth=0)
    axes.fill_between([1, right], low, 1, color=INK, alpha=0.09, linewidth=0)
    axes.axhline(1, color=INK, linewidth=0.6)
    axes.axvline(1, color=INK, linewidth=0.6)
    axes.set(xlim=(left, right), ylim=(low, high))
