"""Time every solver on a task, and say how near the minimum each run came."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

from primaldual import Certificate, datasets, solve

from .cases import Task
from .peers import OURS, Solver
from .peers.base import Fit

Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}

# Runs shorter than this are made twice when the knobs are tried, and the better time is kept.
SHORT = 0.1
# A run shorter than this is timed right after an untimed one of its own: what thirty other solvers
# leave in the caches costs it more than its work, and people fit models this small many at a time.
BRIEF = 0.01
# One shorter than this is timed as one of a series that takes about so long, as ``timeit`` does:
# two readings of the clock, and code that has run but once before, are a good part of 0.05 ms.
SERIES = 0.005
# Runs are repeated until they have taken this long together, at most MOST_REPEATS times.
ENOUGH = 0.05
MOST_REPEATS = 25
# Solvers slower than the fastest, and than ours, by this factor are not timed again.
HOPELESS = 3.0
# A solver is given up when a run that is not accurate enough took this many times the time in
# which another solver was, and longer than NOISE: it is too slow for every target.
BEATEN = 10.0
NOISE = 0.01
# Knobs that reach a target within this factor of the solver's fastest are timed again.
CLOSE = 1.5
# All knobs of a solver together may take this many times the limit of one run.
KNOBS_SHARE = 3.0
# A peer below our P* by more than this part of it is a fault of ours, and flagged.
P_STAR_SLACK = 1e-10


@dataclass
class Run:
    """One solver with one value of its stopping parameter."""

    solver: str
    knob: float
    primal: float  # P(w)
    tried: float  # seconds when the knobs were tried
    repeated: list[float] = field(default_factory=list)  # seconds of the timed repeats

    @property
    def seconds(self) -> float:
        """The median of the repeats, or of the trial if there were none."""
        return median(self.repeated) if self.repeated else self.tried


@dataclass
class Outcome:
    """All that was measured on one task."""

    task: dict[str, Any]
    p_zero: float
    p_star: float
    gap: float  # the certified P(w) − D(α) of our own solution
    runs: list[Run]
    skipped: dict[str, str]
    notes: list[str]

    def suboptimality(self, run: Run) -> float:
        """(P(w) − P*)/(P(0) − P*)."""
        return (run.primal - self.p_star) / (self.p_zero - self.p_star)

    def fastest(self, solver: str, target: float) -> float:
        """Seconds to the target, infinite if no run reached it; repeated runs count first."""
        good = [
            run for run in self.runs if run.solver == solver and self.suboptimality(run) <= target
        ]
        sure = [run for run in good if run.repeated] or good
        return min((run.seconds for run in sure), default=math.inf)

    def best_peer(self, target: float) -> tuple[str, float]:
        """The fastest peer and its seconds."""
        peers = {run.solver for run in self.runs if not run.solver.startswith(OURS)}
        times = {peer: self.fastest(peer, target) for peer in sorted(peers)}
        name = min(times, key=lambda peer: times[peer], default="")
        return (name, times[name]) if name and times[name] < math.inf else ("", math.inf)


def measure(
    task: Task,
    solvers: list[Solver],
    targets: list[float],
    repeats: int = 3,
    clock: Clock = time.perf_counter,
) -> Outcome:
    """Try every solver's knobs from loose to tight, then repeat the runs that matter."""
    with quiet():
        proof = _certified(task)
        fits, skipped = _prepare(task, solvers)
        # A collection between two runs would walk through all objects of all libraries, and leave
        # cold caches to whoever is next.
        gc.collect()
        gc.freeze()
        # A run this low needs no tighter knob. The gap is taken off because P* may be lower.
        span = task.problem.primal_at_zero - proof.primal
        enough = proof.primal - proof.gap + 0.5 * min(targets) * span
        runs = _try_knobs(task, fits, enough, skipped, clock)
        outcome = _outcome(task, proof.primal, proof.gap, runs, skipped, targets)
        _repeat(outcome, {solver.name: fit for solver, fit in fits}, targets, repeats, clock)
    return outcome


def _certified(task: Task) -> Certificate:
    """Our best solution. A first call may spend its time on compiling: then there is a second."""
    limits = {"max_passes": math.inf, "max_time": max(2 * task.seconds, 10.0)}
    found = [solve(task.problem, tol=1e-13, seed=0, **limits)]
    if not found[0].converged:
        found.append(solve(task.problem, tol=1e-13, seed=0, start=found[0], **limits))
    return min((result.certificate for result in found), key=lambda proof: proof.gap)


def _prepare(task: Task, solvers: list[Solver]) -> tuple[list[tuple[Solver, Fit]], dict[str, str]]:
    """Convert the data for every solver that can take the task, and warm it up."""
    fits: list[tuple[Solver, Fit]] = []
    skipped: dict[str, str] = {}
    for solver in solvers:
        if task.loss not in solver.losses:
            continue
        reason = solver.unfit(task)
        if reason:
            skipped[solver.name] = reason
            continue
        try:
            fit = solver.prepare(task)
            fit(solver.knobs[0])
        except Exception as error:  # whatever a peer raises is a result, not our failure
            skipped[solver.name] = f"{type(error).__name__}: {error}"
            continue
        fits.append((solver, fit))
    return fits, skipped


def _try_knobs(
    task: Task,
    fits: list[tuple[Solver, Fit]],
    enough: float,
    skipped: dict[str, str],
    clock: Clock,
) -> list[Run]:
    """Turn all knobs one notch at a time, until P(w) ≤ enough or the time is up."""
    runs: list[Run] = []
    spent = {solver.name: 0.0 for solver, _ in fits}
    active = list(fits)
    record = math.inf  # the shortest run that was accurate enough
    for notch in range(max((len(solver.knobs) for solver, _ in fits), default=0)):
        still = []
        for solver, fit in active:
            if notch >= len(solver.knobs):
                continue
            try:
                run = _try_one(task, solver, fit, solver.knobs[notch], clock)
            except Exception as error:  # see _prepare
                skipped[solver.name] = f"{type(error).__name__}: {error}"
                continue
            runs.append(run)
            spent[solver.name] += run.tried
            slow = run.tried > task.seconds or spent[solver.name] > KNOBS_SHARE * task.seconds
            if run.primal <= enough:
                record = min(record, run.tried)
            elif slow:
                skipped[solver.name] = f"tighter than {run.knob:g}: over the time limit"
            elif run.tried > max(BEATEN * record, NOISE):
                skipped[solver.name] = f"tighter than {run.knob:g}: {BEATEN:g} times slower"
            else:
                still.append((solver, fit))
        active = still
    return runs


def _try_one(task: Task, solver: Solver, fit: Fit, knob: float, clock: Clock) -> Run:
    seconds, w = timed(fit, knob, clock)
    if seconds < SHORT:
        seconds = min(seconds, timed(fit, knob, clock)[0])
    w = np.asarray(w, dtype=np.float64)
    primal = task.problem.primal(w) if np.isfinite(w).all() else math.inf
    return Run(solver.name, knob, float(primal), seconds)


def _outcome(
    task: Task,
    ours: float,
    gap: float,
    runs: list[Run],
    skipped: dict[str, str],
    targets: list[float],
) -> Outcome:
    """Settle P*: our certified solution, or the lowest value that anyone found."""
    lowest = min([run.primal for run in runs] + [ours])
    p_zero = task.problem.primal_at_zero
    notes = []
    if ours - lowest > P_STAR_SLACK * abs(ours):
        notes.append(f"P* was lowered by {(ours - lowest) / abs(ours):.1e} to that of a peer")
    # The gap bounds the error; where peers agree with us it is smaller.
    if gap > 0.1 * min(targets) * (p_zero - lowest):
        notes.append(f"P* is certified only to {gap / (p_zero - lowest):.1e}")
    about = {
        "case": task.case,
        "loss": task.loss,
        "lam_n": task.lam_n,
        "n": task.n,
        "d": task.d,
        "nnz": task.nnz,
        "sparse": bool(task.is_sparse),
    }
    return Outcome(about, p_zero, lowest, gap, runs, skipped, notes)


def _repeat(
    outcome: Outcome, fits: dict[str, Fit], targets: list[float], repeats: int, clock: Clock
) -> None:
    """Time the runs that matter again, all solvers in turn within each repeat."""
    chosen = _that_matter(outcome, targets)
    while True:
        open_runs = [run for run in chosen if not _is_settled(run, repeats)]
        if not open_runs:
            return
        for run in open_runs:
            fit = fits[run.solver]
            if run.tried < BRIEF:
                fit(run.knob)
            times = max(1, int(SERIES / max(run.tried, 1e-6)))
            run.repeated.append(timed(fit, run.knob, clock, times)[0])


def _that_matter(outcome: Outcome, targets: list[float]) -> list[Run]:
    """For each target the runs that could be a solver's fastest, of solvers in the contest."""
    chosen: list[Run] = []
    for target in targets:
        times = {name: outcome.fastest(name, target) for name in {r.solver for r in outcome.runs}}
        ours = times.get(OURS, math.inf)
        best = min(times.values(), default=math.inf)
        for run in outcome.runs:
            reached = outcome.suboptimality(run) <= target
            known = times[run.solver]
            near = [t for t in (best, ours) if t < math.inf]
            contends = run.solver == OURS or any(known <= HOPELESS * t for t in near)
            if reached and contends and run.tried <= CLOSE * known and run not in chosen:
                chosen.append(run)
    return chosen


def _is_settled(run: Run, repeats: int) -> bool:
    count = len(run.repeated)
    return count >= repeats and (sum(run.repeated) >= ENOUGH or count >= MOST_REPEATS)


def timed(fit: Fit, knob: float, clock: Clock, times: int = 1) -> tuple[float, Any]:
    """Seconds per run of a series, and what the last run found."""
    gc.disable()
    try:
        before = clock()
        for _ in range(times):
            w = fit(knob)
        return (clock() - before) / times, w
    finally:
        gc.enable()


@contextmanager
def quiet() -> Iterator[None]:
    """Without the solvers' warnings: how far they came is measured, not believed.

    Some are printed by compiled code, past Python's own streams, and held back in its buffers.
    """
    streams = (sys.stdout, sys.stderr)
    for stream in streams:
        stream.flush()
    kept = [os.dup(number) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        for stream in streams:
            stream.flush()
        if os.name == "posix":
            ctypes.CDLL(None).fflush(None)
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)


# ---- do the peers solve our problem?


def check_solvers(solvers: list[Solver]) -> tuple[list[Solver], dict[str, str]]:
    """The solvers with the losses for which they minimise our objective; what is left out, why."""
    faults: dict[str, str] = {}
    with quiet():
        for task in _small_tasks():
            p_star = solve(task.problem, tol=1e-13, seed=0).certificate.primal
            for solver in solvers:
                if task.loss in solver.losses and not solver.unfit(task):
                    fault = _fault(solver, task, p_star)
                    if fault:
                        faults[_entry(solver, task.loss)] = fault
    kept = []
    for solver in solvers:
        losses = tuple(loss for loss in solver.losses if _entry(solver, loss) not in faults)
        if losses:
            kept.append(replace(solver, losses=losses))
    return kept, faults


def _entry(solver: Solver, loss: str) -> str:
    return f"{solver.name}, {loss}"


def _fault(solver: Solver, task: Task, p_star: float) -> str:
    """How the tightest run misses the minimum of our objective; empty if it does not."""
    try:
        w = np.asarray(solver.prepare(task)(solver.knobs[-1]), dtype=np.float64)
        apart = abs(task.problem.primal(w) - p_star) / (task.problem.primal_at_zero - p_star)
    except Exception as error:  # see _prepare
        return f"{type(error).__name__}: {error}"
    kind = "sparse" if task.is_sparse else "dense"
    return "" if apart <= solver.accuracy else f"off by {apart:.1e} on a small {kind} problem"


def _small_tasks() -> Iterator[Task]:
    """Problems on which a factor of two in λ costs at least 1e-3."""
    X = np.random.default_rng(0).standard_normal((80, 12))
    y = datasets.labels(X, noise=0.1, seed=0)
    # The first label is the one that LIBLINEAR would not expect.
    y[0] = -1.0
    for data in (X, sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))):
        for loss in ("logistic", "squared_hinge", "squared"):
            yield Task("small", data, y, loss, lam_n=5.0)
