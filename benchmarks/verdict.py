"""How right the verdict of ``advise`` is: ``python -m benchmarks.verdict [--rows FILE]``.

Solves the problems of the prediction study (generated data and the folder ``PRIMALDUAL_DATA``) by
``solve`` and by every method of the engine, in processor time, and holds the verdict against them:
is its side that of the fastest method in hindsight, or one that takes at most 1.2 times as long;
what does ``solve`` take over that method; do the seconds hold. The numbers by which
``engine.forecast`` turns prices into seconds are fitted on half of the data sets and scored on the
other half, over several splits; those printed at the end are fitted on all.

``--rows FILE`` keeps the measurements and goes on where it stopped; ``--score`` measures nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from primaldual import METHODS, Problem, advise, datasets, solve
from primaldual.engine.forecast import CALL, SPREAD, UNSEEN
from primaldual.experiments.prediction import (
    LOSSES,
    SCALINGS,
    Data,
    generated,
    prepared,
    problem_of,
    stored,
)
from primaldual.methods import ENGINE

from .awkward import awkward

LAM_N = (0.01, 1.0, 100.0)
TOL = 1e-6
# Data of at most this many nonzeros; a method is stopped after this many times the seconds of
# ``solve``, and after at most LONGEST seconds, and takes part only up to this size of its matrix.
MOST_NONZEROS = 350_000
PATIENCE, LONGEST = 3.0, 1.5
MOST_UNKNOWNS = {"newton": 2500, "gram_newton": 4000}
# Runs of which the shortest counts, by the seconds of the first.
RUNS = ((0.1, 1), (0.01, 2), (0.0, 5))
# The chosen side is right if its best method takes at most this many times the best of all.
NEARLY = 1.2
SPLITS = 10
# The interval is from the 6th to the 94th percentile of the half that is fitted, and at least this
# wide: with it about 80 % of the other half are covered.
QUANTILES, NARROWEST = (0.06, 0.94), (0.5, 2.0)
# Ratios of the two sides' seconds by which the confidence is counted.
FACTORS = (3.0, 1.2, 0.0)


def all_data() -> Iterator[Data]:
    """The study's data, and the paper's worst cases in larger sizes."""
    worst = (
        Data(f"worst case for the {side}, n = d = {n}", X, datasets.labels(X, seed=1))
        for n, side in product((2000, 20_000), ("primal", "dual"))
        for X in (datasets.worst_case(n, n, side),)
    )
    return chain(awkward(), generated(), worst, stored(MOST_NONZEROS))


def run(fresh: Callable[[], Problem], method: str, max_time: float) -> tuple[float, Any]:
    """Processor seconds of one solve, infinite if it did not converge, and its result."""
    problem = fresh()
    began = time.process_time()
    result = solve(problem, method, tol=TOL, max_passes=1e7, max_time=max_time, seed=0)
    taken = time.process_time() - began
    return (taken if result.converged else math.inf), result


def measure(fresh: Callable[[], Problem]) -> dict[str, Any]:
    """Seconds of ``solve`` and of every method on one problem, and what was expected."""
    run(fresh, "auto", LONGEST)  # loads what is compiled
    first, result = run(fresh, "auto", 10.0)
    runs = next(number for least, number in RUNS if first >= least)
    limit = max(0.02, min(LONGEST, PATIENCE * first))
    problem, took = fresh(), {"auto": first}
    sizes = {"newton": problem.d, "gram_newton": problem.n}
    usable = [
        name
        for name, kind in ENGINE.items()
        if sizes.get(name, 0) <= MOST_UNKNOWNS.get(name, math.inf)
        and (problem.is_smooth or not kind.smooth_only)
    ]
    for _ in range(runs):
        took["auto"] = min(took["auto"], run(fresh, "auto", 10.0)[0])
        for name in usable:
            if took.get(name, 0.0) <= 5 * took["auto"]:
                took[name] = min(took.get(name, math.inf), run(fresh, name, limit)[0])
    return {"took": took, "path": "+".join(note.split(":")[0] for note in result.trace.notes)}


def measured(place: Path | None, more: bool) -> list[dict[str, Any]]:
    """The rows of the file, and those that are not in it yet, if there are to be more."""
    rows = json.loads(place.read_text()) if place and place.exists() else []
    known = {row["data"] for row in rows}
    for item in all_data() if more else ():
        if item.name in known:
            continue
        for scaling in SCALINGS:
            ready = prepared(item, scaling)
            losses = LOSSES if item.task != "regression" else ("squared",)
            for loss, lam_n in product(losses, LAM_N):
                row = {"data": item.name, "scaling": scaling, "loss": loss, "lam_n": lam_n}
                with threadpool_limits(1):
                    found = measure(lambda r=ready, s=loss, k=lam_n: problem_of(r, s, k))  # type: ignore[misc]
                rows.append(row | found)
        print(f"{item.name}: {len(rows)} problems", flush=True)
        if place:
            place.write_text(json.dumps(rows))
    return rows


def expect(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with what ``advise`` says of them now."""
    items = {item.name: item for item in all_data()}
    for row in rows:
        ready = prepared(items[row["data"]], row["scaling"])
        advice = advise(problem_of(ready, row["loss"], row["lam_n"]), tol=TOL)
        chosen = advice.sides[advice.verdict.side]
        other = advice.sides["dual" if chosen.side == "primal" else "primal"]
        factor = SPREAD.get(chosen.kind, UNSEEN).factor
        methods = {name: took for name, took in row["took"].items() if name != "auto"}
        best = min(methods.values())
        ours = min(took for name, took in methods.items() if METHODS[name].side == chosen.side)
        row |= {
            "kind": chosen.kind,
            "priced": (advice.forecasts[0].seconds - CALL) / factor,
            "ratio": other.seconds / chosen.seconds,
            "regret": row["took"]["auto"] / best,
            "right": ours <= NEARLY * best,
        }
    return rows


def fitted(rows: list[dict[str, Any]]) -> dict[str, tuple[float, float, float, int]]:
    """Factor, ends of the interval and number of problems, by the kind of choice."""
    found = {}
    for kind in sorted({row["kind"] for row in rows}):
        took = np.array([row["took"]["auto"] for row in rows if row["kind"] == kind])
        priced = np.array([row["priced"] for row in rows if row["kind"] == kind])
        factors = np.geomspace(0.02, 5.0, 200)
        errors = [np.abs(np.log(took / (CALL + factor * priced))).mean() for factor in factors]
        factor = float(factors[int(np.argmin(errors))])
        low, high = np.quantile(took / (CALL + factor * priced), QUANTILES)
        found[kind] = (factor, min(low, NARROWEST[0]), max(high, NARROWEST[1]), len(took))
    return found


def unseen(rows: list[dict[str, Any]]) -> Any:
    """For problems of the halves not fitted: covered, within 2, within 5, above 1 ms."""
    names = sorted({row["data"] for row in rows})
    rng, scored = np.random.default_rng(0), []
    for _ in range(SPLITS):
        some = set(rng.permutation(names)[: len(names) // 2])
        for half in (some, set(names) - some):
            found = fitted([row for row in rows if row["data"] in half])
            for row in rows:
                if row["data"] in half or row["kind"] not in found:
                    continue
                factor, low, high, _ = found[row["kind"]]
                ratio = row["took"]["auto"] / (CALL + factor * row["priced"])
                within = [low <= ratio <= high, 1 / 2 < ratio < 2, 1 / 5 < ratio < 5]
                scored.append([*within, row["took"]["auto"] > 1e-3])
    return np.array(scored, dtype=float)


def report(rows: list[dict[str, Any]]) -> None:
    """Print how right sides and seconds are, and the numbers for ``engine.forecast``."""
    scored = unseen(rows)
    for label, least in (("all problems", 0.0), ("above 1 ms", 1e-3)):
        some = [row for row in rows if row["took"]["auto"] > least]
        regret = np.array([row["regret"] for row in some])
        mean, high, most = np.exp(np.log(regret).mean()), np.quantile(regret, 0.95), regret.max()
        halves = scored[scored[:, 3] >= (least > 0)].mean(axis=0)
        print(f"{label} ({len(some)})")
        print(f"  side right {np.mean([row['right'] for row in some]):.1%}")
        print(f"  solve over the best method: mean {mean:.2f}, 95 % {high:.2f}, max {most:.1f}")
        print(
            f"  unseen halves: interval covers {halves[0]:.1%}, seconds within a factor of 2 "
            f"{halves[1]:.1%}, of 5 {halves[2]:.1%}"
        )
    print("\nSPREAD, fitted on all: factor, low, high, problems")
    for kind, numbers in fitted(rows).items():
        print(f"  {kind:18}" + "".join(f"{number:8.3g}" for number in numbers))
    print("\nRIGHT: least ratio of the sides' seconds, fraction right, problems")
    above = math.inf
    for factor in FACTORS:
        some = [row for row in rows if factor <= row["ratio"] < above]
        above = factor
        print(f"  {factor:4.1f}  {np.mean([row['right'] for row in some]):.2f}  {len(some)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, help="a file that keeps the measurements")
    parser.add_argument("--score", action="store_true", help="measure nothing more")
    asked = parser.parse_args()
    report(expect(measured(asked.rows, not asked.score)))


if __name__ == "__main__":
    main()
