"""Tables, JSON and the performance profile."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from . import THREADS
from .measure import Outcome
from .peers import OURS

HEADER = f"""\
Time to a relative suboptimality (P(w) − P*)/(P(0) − P*), threads: {THREADS}, data in memory.
Ours: Problem(...) and solve(...), certificate included. Peers: training only, their conversion
of the data not counted. Times depend on the machine and its load; only ratios are meaningful.
ratio = ours / best peer: below 1, ours is faster.
"""
COLUMNS = f"{'case':<20} {'loss':<13} {'λn':>4}  {'target':<7} {'ours':>9} {'best peer':>9}"
COLUMNS += f" {'ratio':>6}  peer"
PACKAGES = (
    "primaldual",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "liblinear-official",
    "snapml",
    "cyanure",
    "glum",
    "sklearn-contrib-lightning",
)


def rows(outcome: Outcome, targets: list[float]) -> str:
    """The lines of one task, one for each target, and what was odd about it."""
    task = outcome.task
    lines = []
    for number, target in enumerate(targets):
        label = f"{task['case']:<20} {task['loss']:<13} {task['lam_n']:>4g}"
        ours = outcome.fastest(OURS, target)
        peer, best = outcome.best_peer(target)
        lines.append(
            f"{label if number == 0 else '':<39}  {target:<7.0e} {spelled(ours):>9} "
            f"{spelled(best):>9} {_ratio(ours, best):>6}  {peer}"
        )
    return "\n".join(lines + [f"    note: {note}" for note in outcome.notes])


def summary(outcomes: list[Outcome], targets: list[float]) -> str:
    """Geometric means of the ratios, and how often ours is faster than each peer."""
    lines = ["", "geometric mean of ours / best peer"]
    for target in targets:
        ratios = [_quotient(outcome, target) for outcome in outcomes]
        known = [ratio for ratio in ratios if 0 < ratio < math.inf]
        wins = sum(ratio < 1 for ratio in ratios)
        failed = sum(outcome.fastest(OURS, target) == math.inf for outcome in outcomes)
        mean = math.exp(sum(map(math.log, known)) / len(known)) if known else math.nan
        lines.append(
            f"  {target:.0e}: {mean:.2f} over {len(known)} tasks; ours faster on {wins} of "
            f"{len(ratios)}, target missed on {failed}"
        )
    target = middle(targets)
    lines += ["", f"tasks on which ours is faster, at {target:.0e} (of those that either reaches)"]
    for peer, wins, total, mean in shares(outcomes, target):
        lines.append(f"  {peer:<28} {wins:>3} of {total:<3}  geometric mean {mean:.2f}")
    return "\n".join(lines)


def shares(outcomes: list[Outcome], target: float) -> list[tuple[str, int, int, float]]:
    """For each peer: tasks ours wins, tasks that either solves, geometric mean of ours / peer."""
    found: dict[str, list[tuple[float, float]]] = {}
    for outcome in outcomes:
        ours = outcome.fastest(OURS, target)
        for peer in sorted({run.solver for run in outcome.runs} - {OURS}):
            pair = (ours, outcome.fastest(peer, target))
            if min(pair) < math.inf:
                found.setdefault(peer, []).append(pair)
    table = []
    for peer, pairs in sorted(found.items()):
        logs = [math.log(a / b) for a, b in pairs if a < math.inf and b < math.inf]
        mean = math.exp(sum(logs) / len(logs)) if logs else math.nan
        table.append((peer, sum(a < b for a, b in pairs), len(pairs), mean))
    return table


def middle(targets: list[float]) -> float:
    """The target of the per-peer figures: 1e-6 if it is among them."""
    return 1e-6 if 1e-6 in targets else sorted(targets)[len(targets) // 2]


def write_json(
    path: Path, outcomes: Iterable[Outcome], targets: list[float], about: dict[str, Any]
) -> None:
    """Everything that was measured."""
    tasks = []
    for outcome in outcomes:
        entry = asdict(outcome)
        for run, record in zip(outcome.runs, entry["runs"], strict=True):
            record["suboptimality"] = outcome.suboptimality(run)
        entry["seconds_to"] = {
            f"{target:g}": {name: outcome.fastest(name, target) for name in _names(outcome)}
            for target in targets
        }
        tasks.append(entry)
    everything = finite({"about": {**about, **machine()}, "tasks": tasks})
    text = json.dumps(everything, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def plot(path: Path, outcomes: list[Outcome], target: float) -> None:
    """Draw the share of tasks each library does within a factor of the fastest."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise SystemExit("--plot needs matplotlib: pip install matplotlib") from error
    factors = _factors(outcomes, target)
    figure, axes = pyplot.subplots(figsize=(9, 6))
    for name in sorted(factors, key=lambda name: -sum(f <= 2 for f in factors[name])):
        reached = sorted(factor for factor in factors[name] if factor < math.inf)
        shares = [(rank + 1) / len(outcomes) for rank in range(len(reached))]
        last = shares[-1] if shares else 0.0
        axes.step(
            [1.0, *reached, 100.0],
            [0.0, *shares, last],
            where="post",
            label=name,
            linewidth=3 if name == OURS else 1,
        )
    axes.set(xscale="log", xlim=(1, 100), ylim=(0, 1.02))
    axes.set(xlabel="time / time of the fastest library", ylabel="share of tasks")
    axes.set_title(f"{len(outcomes)} tasks to {target:.0e}, threads: {THREADS}")
    axes.legend(loc="lower right", fontsize="small")
    figure.savefig(path, dpi=150, bbox_inches="tight")


def _factors(outcomes: list[Outcome], target: float) -> dict[str, list[float]]:
    """How many times the shortest time each library took, with its best solver, task by task."""
    factors: dict[str, list[float]] = {}
    for outcome in outcomes:
        times: dict[str, float] = {}
        for name in _names(outcome):
            library = name.split()[0]
            seconds = outcome.fastest(name, target)
            times[library] = min(seconds, times.get(library, math.inf))
        best = min(times.values())
        for library, seconds in times.items():
            factor = seconds / best if seconds < math.inf else math.inf
            factors.setdefault(library, []).append(factor)
    return factors


def finite(value: Any) -> Any:
    """The same with null for infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _names(outcome: Outcome) -> list[str]:
    return sorted({run.solver for run in outcome.runs})


def _quotient(outcome: Outcome, target: float) -> float:
    """Ours / best peer; 0 if only ours gets there, infinite if only a peer does."""
    ours, best = outcome.fastest(OURS, target), outcome.best_peer(target)[1]
    if ours == math.inf:
        return math.nan if best == math.inf else math.inf
    return ours / best


def _ratio(ours: float, best: float) -> str:
    return f"{ours / best:.2f}" if max(ours, best) < math.inf else "-"


def spelled(seconds: float) -> str:
    if seconds == math.inf:
        return "-"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def machine() -> dict[str, Any]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": versions,
    }
