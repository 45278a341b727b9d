"""The estimators against scikit-learn's of the same names: ``python -m benchmarks --door``.

Three lists of tasks: fits with default parameters, fits at matched accuracy, and whole jobs such
as a grid of C with folds. Ours and scikit-learn's take turns in one process with one thread, the
whole ``fit`` is timed for both, and the ratio of a task is the median over its rounds. At matched
accuracy scikit-learn's has the fastest of its solvers, with the largest ``tol`` that reaches the
target.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np

from .door_tasks import JobPair, Set, Twin, fits, jobs
from .measure import CLOCKS, SERIES, Clock, quiet, timed
from .report import finite, machine, spelled

PARTS = ("fits", "matched", "jobs")
# Rounds of a task go on until they have taken this long for both together.
ENOUGH = 0.5
MOST_ROUNDS = 15
# Values of tol that scikit-learn's solvers are tried with.
LADDER = [10.0**-k for k in range(1, 15)]
# Our objective counts as worse if it is above theirs by this fraction of P(0) − P*.
WORSE = 1e-9
# Tasks of --quick have at most this many entries.
QUICK_ENTRIES = 20_000
BEGIN, END = "<!-- door: begin -->", "<!-- door: end -->"


@dataclass
class Line:
    """What was measured on one task."""

    part: str  # of PARTS
    name: str
    data: str
    target: float = math.nan  # at matched accuracy
    ours: float = math.nan  # seconds
    theirs: float = math.nan
    ratio: float = math.nan
    excess: float = math.nan  # (P(ours) − P(theirs))/(P(0) − P*)
    note: str = ""

    @property
    def heading(self) -> str:
        """The list it belongs to."""
        return self.part if math.isnan(self.target) else f"{self.part} {self.target:.0e}"


def main(options: argparse.Namespace) -> None:
    """Measure what was asked for, print it, and keep it where that was asked for."""
    clock, lines = CLOCKS[options.clock], _kept(options)
    print("ratio = ours / scikit-learn's: below 1, ours is faster\n", flush=True)
    try:
        for line in _measured(options, clock):
            lines.append(line)
            print(_row(line), flush=True)
            if options.json:
                about = {"clock": options.clock, **machine()}
                everything = finite({"about": about, "lines": [asdict(line) for line in lines]})
                options.json.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    except KeyboardInterrupt:
        print("interrupted")
    if lines:
        print(summary(lines))
        if options.into:
            write_into(options.into, lines)


def _kept(options: argparse.Namespace) -> list[Line]:
    """The lists of an earlier run that are not measured again, so that each may be run alone."""
    if not options.json or not options.json.exists():
        return []
    entries = json.loads(options.json.read_text(encoding="utf-8"))["lines"]
    lines = [Line(**{k: math.nan if v is None else v for k, v in e.items()}) for e in entries]
    return [line for line in lines if line.part not in options.door]


def _measured(options: argparse.Namespace, clock: Clock) -> Iterator[Line]:
    def is_chosen(name: str, data: Set) -> bool:
        if options.quick and data.entries > QUICK_ENTRIES:
            return False
        return options.cases is None or bool(options.cases.search(f"{name} on {data.name}"))

    known: dict[str, Any] = {}

    def loaded(data: Set) -> Any:
        if data.name not in known:
            known.clear()
            known[data.name] = data.load()
        return known[data.name]

    for part in options.door:
        if part == "jobs":
            for job, data in jobs():
                if is_chosen(job.name, data):
                    yield job_line(job, data.name, *loaded(data), options.repeats, clock)
            continue
        for twin, data in sorted(fits(), key=lambda pair: pair[1].name):
            if not is_chosen(twin.label, data):
                continue
            if part == "fits":
                yield fit_line(twin, data.name, *loaded(data), options.repeats, clock)
            else:
                yield from matched_lines(twin, data.name, *loaded(data), options, clock)


# ---- measurements


def in_turn(
    ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int, clock: Clock
) -> tuple[float, float, float]:
    """Seconds of both, medians over rounds, and the median of the ratios of the rounds."""
    pair = (lambda _: ours(), lambda _: theirs())
    with quiet():
        for fit in pair:
            fit(0.0)
        tried = [timed(fit, 0.0, clock)[0] for fit in pair]
        calls = [max(1, math.ceil(SERIES / max(seconds, 1e-6))) for seconds in tried]
        gc.collect()
        times: list[list[float]] = [[], []]
        while len(times[0]) < MOST_ROUNDS:
            order = (0, 1) if len(times[0]) % 2 == 0 else (1, 0)
            for which in order:
                times[which].append(timed(pair[which], 0.0, clock, calls[which])[0])
            spent = sum(calls[which] * sum(times[which]) for which in (0, 1))
            if len(times[0]) >= repeats and spent >= ENOUGH:
                break
    ratio = median(one / other for one, other in zip(*times, strict=True))
    return median(times[0]), median(times[1]), ratio


def fit_line(twin: Twin, data: str, X: Any, y: Any, repeats: int, clock: Clock) -> Line:
    """Both estimators with their default parameters."""
    line = Line("fits", twin.label, data)
    models = {"ours": twin.ours(), "theirs": twin.theirs()}
    times = in_turn(
        lambda: models["ours"].fit(X, y), lambda: models["theirs"].fit(X, y), repeats, clock
    )
    values = [twin.objective(models[whose], X, y) for whose in ("ours", "theirs")]
    span = _at_zero(twin, models["ours"], X, y) - min(values)
    excess = (values[0] - values[1]) / span
    return replace(line, ours=times[0], theirs=times[1], ratio=times[2], excess=excess)


def _at_zero(twin: Twin, model: Any, X: Any, y: Any) -> float:
    """The objective without coefficients; of a regression at the mean of the targets."""
    nothing = copy.copy(model)
    nothing.coef_ = np.zeros_like(model.coef_)
    is_regression = not hasattr(model, "classes_") and model.fit_intercept
    nothing.intercept_ = np.mean(y) if is_regression else np.zeros_like(model.intercept_)
    return twin.objective(nothing, X, y)


def matched_lines(
    twin: Twin, data: str, X: Any, y: Any, options: argparse.Namespace, clock: Clock
) -> Iterator[Line]:
    """Both estimators at the same accuracy: ours certified, theirs by the objective."""
    given = dict(twin.matched)
    with quiet():
        best = twin.ours(**given, tol=min(options.targets) * 1e-3, max_iter=None).fit(X, y)
        trials = _trials(twin, given, X, y, options.seconds, clock)
    lowest = min([twin.objective(best, X, y), *(value for *_, value in trials)])
    span = _at_zero(twin, best, X, y) - lowest
    if not span > WORSE * abs(lowest):
        return  # zero is the best: without an intercept, on centred features of positive targets
    for target in options.targets:
        line = Line("matched", twin.label, data, target)
        ours = twin.ours(**given, tol=target, max_iter=None)
        reached = [trial for trial in trials if trial[2] - lowest <= target * span]
        if not reached:
            with quiet():
                ours.fit(X, y)
                seconds = timed(lambda _, ours=ours: ours.fit(X, y), 0.0, clock)[0]
            yield replace(line, ours=seconds, theirs=math.inf, note="only ours")
            continue
        setting = min(reached, key=lambda trial: trial[0])[1]
        theirs = twin.theirs(**given, **setting)
        times = in_turn(
            lambda ours=ours: ours.fit(X, y), lambda theirs=theirs: theirs.fit(X, y),
            options.repeats, clock,
        )  # fmt: skip
        excess = (twin.objective(ours, X, y) - lowest) / span
        solver = setting.get("solver", f"dual={setting['dual']}" if "dual" in setting else "")
        done = replace(line, ours=times[0], theirs=times[1], ratio=times[2], excess=excess)
        yield replace(done, note=f"{solver} tol={setting['tol']:g}".strip())


def _trials(
    twin: Twin, given: dict[str, Any], X: Any, y: Any, most: float, clock: Clock
) -> list[tuple[float, dict[str, Any], float]]:
    """Seconds, setting and objective of scikit-learn's solvers, from loose to tight."""
    trials = []
    for solver in twin.solvers:
        for tol in LADDER:
            setting = {**solver, "tol": tol}
            model = twin.theirs(**given, **setting)
            try:
                seconds = timed(lambda _, model=model: model.fit(X, y), 0.0, clock)[0]
                if seconds < SERIES:
                    seconds = timed(lambda _, model=model: model.fit(X, y), 0.0, clock)[0]
            except ValueError:  # L-BFGS gives up on scales it cannot cope with
                break
            trials.append((seconds, setting, twin.objective(model, X, y)))
            if seconds > most:
                break
    return trials


def job_line(job: JobPair, data: str, X: Any, y: Any, repeats: int, clock: Clock) -> Line:
    """A whole job; what was chosen differs at most where scores tie."""
    found: dict[str, float] = {}

    def run(whose: str, work: Any) -> None:
        found[whose] = work(X, y)

    times = in_turn(
        lambda: run("ours", job.ours), lambda: run("theirs", job.theirs), min(repeats, 3), clock
    )
    is_same = math.isclose(found["ours"], found["theirs"], rel_tol=1e-6)
    note = "" if is_same else f"chose {found['ours']:.3g}, theirs {found['theirs']:.3g}"
    line = Line("jobs", job.name, data, note=note)
    return replace(line, ours=times[0], theirs=times[1], ratio=times[2])


# ---- what is printed


def _row(line: Line) -> str:
    ratio = f"{line.ratio:.2f}" if math.isfinite(line.ratio) else "-"
    excess = "" if math.isnan(line.excess) else f"{line.excess:+.0e}"
    return (
        f"{line.heading:<13} {line.name:<36} {line.data:<22} {spelled(line.ours):>9} "
        f"{spelled(line.theirs):>9} {ratio:>6} {excess:>7}  {line.note}"
    )


def summary(lines: list[Line]) -> str:
    """The geometric mean of each list, and the tasks on which we lose."""
    out = []
    for heading in dict.fromkeys(line.heading for line in lines):
        some = [line for line in lines if line.heading == heading and math.isfinite(line.ratio)]
        slow = sorted((line for line in some if line.ratio > 1), key=lambda line: -line.ratio)
        worse = [line for line in some if line.part == "fits" and line.excess > WORSE]
        if not some:
            continue
        mean = geometric_mean(line.ratio for line in some)
        out.append(
            f"\n{heading}: geometric mean {mean:.2f} over {len(some)} tasks, "
            f"{len(slow)} above 1.0, {len(worse)} at a worse objective"
        )
        out += [f"  {line.ratio:5.2f}  {line.name} on {line.data}" for line in slow]
        out += [f"  worse by {line.excess:.0e}: {line.name} on {line.data}" for line in worse]
    return "\n".join(out)


def write_into(page: Path, lines: list[Line]) -> None:
    """Replace what stands between the two marks of a page by tables."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{tables(lines)}\n{END}{after}", encoding="utf-8")


def tables(lines: list[Line]) -> str:
    """Markdown: the means of the lists, and the ratios of each."""
    out = [
        "",
        "| tasks | number | geometric mean | above 1.0 | worst |",
        "| --- | --: | --: | --: | --- |",
    ]
    headings = list(dict.fromkeys(line.heading for line in lines))
    for heading in headings:
        some = [line for line in lines if line.heading == heading and math.isfinite(line.ratio)]
        if some:
            worst = max(some, key=lambda line: line.ratio)
            mean = geometric_mean(line.ratio for line in some)
            out.append(
                f"| {heading} | {len(some)} | {mean:.2f} | {sum(line.ratio > 1 for line in some)} "
                f"| {worst.ratio:.2f}, {worst.name} on {worst.data} |"
            )
    for heading in headings:
        some = [line for line in lines if line.heading == heading]
        out += ["", f"{heading}, ours / scikit-learn's (our time):", ""]
        for name in dict.fromkeys(line.name for line in some):
            cells = [_cell(line) for line in some if line.name == name]
            out.append(f"- {name}: {'; '.join(cells)}.")
    return "\n".join(out)


def _cell(line: Line) -> str:
    ratio = f"{line.ratio:.2f}" if math.isfinite(line.ratio) else "only ours"
    ratio = f"**{ratio}**" if line.ratio > 1 else ratio
    return f"{line.data} {ratio} ({spelled(line.ours)})"
