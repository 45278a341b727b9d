"""Run the benchmark: ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from . import THREADS, door
from .cases import LOSSES, QUICK, Case, Task, all_cases, data_folder
from .measure import CLOCKS, Outcome, check_solvers, measure
from .peers import OURS, Solver, all_solvers
from .report import COLUMNS, HEADER, middle, plot, rows, summary, write_json


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    if options.threads != THREADS:
        raise SystemExit("--threads must be a positive number, given on the command line")
    if options.door:
        door.main(options)
        return
    if options.quick:
        options.lams, options.seconds = [1.0], min(options.seconds, 2.0)
    cases = _chosen_cases(options)
    solvers, missing = all_solvers()
    solvers = [s for s in solvers if s.name == OURS or options.solvers.search(s.name)]
    if options.list:
        _print_list(cases, solvers, missing)
        return
    print(HEADER)
    if data_folder() is None:
        print("No data folder: set PRIMALDUAL_DATA. Only the synthetic cases run.\n")
    for name, reason in missing.items():
        print(f"not installed: {name} ({reason})")
    solvers, faults = check_solvers(solvers)
    for name, reason in faults.items():
        print(f"left out, does not solve our problem: {name}, {reason}")
    print(f"{len(solvers) - 1} peers checked against our objective\n\n{COLUMNS}", flush=True)
    outcomes: list[Outcome] = []
    try:
        for task in _tasks(cases, options):
            outcomes.append(
                measure(task, solvers, options.targets, options.repeats, CLOCKS[options.clock])
            )
            print(rows(outcomes[-1], options.targets), flush=True)
            _save(options, outcomes, missing | faults)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    if outcomes:
        print(summary(outcomes, options.targets))
        if options.plot:
            plot(options.plot, outcomes, middle(options.targets))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=HEADER)
    add = parser.add_argument
    add("--cases", type=re.compile, default=None, metavar="REGEX", help="names that match")
    add("--losses", type=_names, default=list(LOSSES), help=f"of {', '.join(LOSSES)}")
    add("--lams", type=_numbers, default=[0.1, 1.0, 10.0], help="values of λn, 0.1,1,10")
    add("--targets", type=_numbers, default=[1e-3, 1e-6, 1e-9], help="1e-3,1e-6,1e-9")
    add("--solvers", type=re.compile, default=re.compile(""), metavar="REGEX", help="peers to run")
    add("--repeats", type=int, default=3, help="timed runs, at least; short ones get more")
    add("--seconds", type=float, default=10.0, help="limit of one run, 10")
    add("--threads", type=int, default=1, help="for every solver; ours runs with one as well, 1")
    add("--clock", choices=sorted(CLOCKS), default="wall", help="cpu: for a busy machine")
    add("--quick", action="store_true", help="small cases, λn = 1, 2 s a run: a few minutes")
    add("--json", type=Path, metavar="FILE", help="write everything that was measured")
    add("--plot", type=Path, metavar="FILE", help="draw a performance profile")
    add(
        "--door",
        type=_parts,
        nargs="?",
        const=door.PARTS,
        metavar="PARTS",
        help="the estimators against scikit-learn's: all, or some of fits,matched,jobs; of the "
        "other options cases, targets, repeats, seconds, clock, quick and json apply",
    )
    add("--into", type=Path, metavar="FILE", help="write the tables of --door into a page")
    add("--list", action="store_true", help="list cases and solvers, run nothing")
    return parser


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in LOSSES]
    if unknown:
        raise argparse.ArgumentTypeError(f"losses are {', '.join(LOSSES)}, got {unknown[0]}")
    return names


def _parts(text: str) -> list[str]:
    parts = text.split(",")
    unknown = [part for part in parts if part not in door.PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"parts are {', '.join(door.PARTS)}, got {unknown[0]}")
    return parts


def _numbers(text: str) -> list[float]:
    numbers = [float(part) for part in text.split(",")]
    if not all(number > 0 for number in numbers):
        raise argparse.ArgumentTypeError(f"expected positive numbers, got {text}")
    return numbers


def _chosen_cases(options: argparse.Namespace) -> list[Case]:
    """The cases that match; without a pattern all of them, or the quick ones."""
    cases = list(all_cases().values())
    if options.cases is not None:
        return [case for case in cases if options.cases.fullmatch(case.name)]
    return [case for case in cases if not options.quick or case.name in QUICK]


def _tasks(cases: list[Case], options: argparse.Namespace) -> Iterator[Task]:
    for case in cases:
        losses = [loss for loss in options.losses if loss in case.losses]
        if not losses:
            continue
        X, y = case.load()
        for loss in losses:
            for lam_n in options.lams:
                yield Task(case.name, X, y, loss, lam_n, options.seconds)


def _save(options: argparse.Namespace, outcomes: list[Outcome], absent: dict[str, str]) -> None:
    """Write what there is after every task: a long run may be interrupted."""
    if options.json:
        about = {
            "clock": options.clock,
            "threads": THREADS,
            "repeats": options.repeats,
            "seconds": options.seconds,
            "absent": absent,
        }
        write_json(options.json, outcomes, options.targets, about)


def _print_list(cases: list[Case], solvers: list[Solver], missing: dict[str, str]) -> None:
    print("cases")
    for case in cases:
        kind = "regression" if case.regression else "classification"
        print(f"  {case.name:<20} {kind:<15} {case.about}")
    print("solvers")
    for solver in solvers:
        print(f"  {solver.name:<28} {', '.join(solver.losses)}")
    for name, reason in missing.items():
        print(f"  {name:<28} not installed ({reason})")


if __name__ == "__main__":
    main()
