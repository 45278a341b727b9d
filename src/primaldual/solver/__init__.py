"""solve(problem, …) → Result: the one loop around every method.

Stopping, timing, tracing, seeding and the certificate live here and nowhere else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import checkpoints
from .._cached import cached_property
from .._numba.compile import seconds_compiling
from .._types import FloatArray
from ..advice import Advice
from ..checkpoints import Entry
from ..engine.auto import Auto, engine_method
from ..engine.choice import dense_pays, well_stored
from ..losses.custom import loss_name
from ..methods import ENGINE, METHODS, Method
from ..methods.base import ANY_SAMPLING, CHUNK, completed, coordinates
from ..problem import Certificate, Problem
from ..result import Progress, Result, Status, Trace
from ..samplings import SAMPLINGS, Draws, Sampling, as_sampling

# Methods that tell their gap along the way are checked after this many rounds even so.
FIRST_CHECK = 16

# A check comes after every pass at first, later after every twentieth part of what was done.
CHECKS_PER_DOUBLING = 20

# A round of few passes costs no more than a check: then only one round in so many is checked.
CHEAP_PASSES = 4
CHEAP_ROUNDS = 16
# A round that visits fewer nonzeros than the data has counts as a part of one, at least this.
LEAST_ROUND = 0.1

# A method's own estimate of its gap is corrected by what the last check found, within these.
LEAST_FACTOR, MOST_FACTOR = 0.3, 100.0

# So many checks without a fall of the gap by 1 % mean that it will not fall any more.
STALL_CHECKS = 12
# On a loss with corners, where descent has no rate, so many times more.
CORNER_PATIENCE = 5

# So many nonzeros are copied into dense rows in next to no time.
FEW_TO_COPY = 10_000

NUMBERS = (float, int, np.number)
Callback = Callable[[Progress], Any]


def solve(
    problem: Problem,
    method: str | Method | Advice = "auto",
    sampling: str | Sampling | None = None,
    tol: float = 1e-6,
    max_passes: float = 1000,
    max_time: float | None = None,
    seed: Any = None,
    callback: Callback | None = None,
    start: Any = None,
) -> Result:
    """Minimise P(w) until the certified relative gap (P(w) − D(α))/P(0) is at most ``tol``.

    Parameters
    ----------
    problem : Problem
    method : str or Method
        A name in ``METHODS``, one of its classes or objects, or "auto": the engine picks the
        method that should be cheapest, watches it, and changes it if it is slow. An ``Advice`` on
        this problem does the same, beginning with the method that it names.
    sampling : str or Sampling, optional
        A name in ``SAMPLINGS`` or an object for the method's side. By default the method's own.
    tol : float
        The relative duality gap to reach.
    max_passes : float
        Stop after this many passes; a pass is as many visited nonzeros as the data has.
    max_time : float, optional
        Stop after this many seconds, checks included, compilation not.
    seed : int, Generator, optional
        The same seed gives the same bits.
    callback : callable, optional
        Called with a ``Progress`` after every check; the solve stops when it returns True.
    start : Result or (w, alpha), optional
        Where to start: an earlier result, or a pair of which one half may be None.

    Returns
    -------
    Result
        With the best w and α seen, and their gap recomputed from scratch. Not reaching ``tol``
        is no error: look at ``status`` and ``certificate``.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, solve
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> result = solve(Problem(X, np.sign(X[:, 0]), lam=0.1), tol=1e-8, seed=0)
    >>> result.converged, result.certificate.relative_gap <= 1e-8
    (True, True)
    """
    _require_limits(tol, max_passes, max_time)
    name, runner = _as_method(problem, method, tol)
    chosen = require_usable(problem, name, runner, sampling)
    checkpoint = checkpoints.current()
    watched = checkpoint is not None or callback is not None or start is not None
    deferred = _generator(seed)
    if isinstance(runner, Auto) and runner is not method and max_passes and not watched:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # as in _solved
            result = _at_once(problem, name, runner, tol)
        if result is not None:
            return result
    run = _Run(problem, tol, max_passes, max_time, callback)
    w, alpha = _start_point(problem, start)
    if checkpoint is None:
        return _solved(run, name, runner, chosen, deferred, w, alpha, None)
    rng = np.random.default_rng(seed)
    with checkpoint.entry(
        problem, name, runner, chosen, rng, seed is not None, (w, alpha),
        tol=float(tol), max_passes=float(max_passes), callback=callback is not None,
    ) as entry:  # fmt: skip
        result = entry.result()
        if result is None:
            result = _solved(run, name, runner, chosen, rng, w, alpha, entry)
            entry.finish(result)
        return result


def _at_once(problem: Problem, asked: str, auto: Auto, tol: float) -> Result | None:
    """The result, where the first round of a small problem proves it; else None.

    Bit by bit what the loop below would make of it, also of Ctrl-C, without all that is kept for a
    second round, which takes a fifth of 0.08 ms.
    """
    began = time.perf_counter() - seconds_compiling()
    if problem.matrix.nnz > FEW_TO_COPY and dense_pays(problem):
        return None  # the loop would copy them once more
    stored = well_stored(problem)
    chosen = auto.in_one_call(stored)
    if chosen is None:
        return None
    method, name, why = chosen
    state = method.start(stored)
    visited, interrupted = 0.0, False
    try:
        visited = method.advance(state)
    except KeyboardInterrupt:
        interrupted = True
    seconds = time.perf_counter() - seconds_compiling() - began
    if not (interrupted or problem.relative(method.gap_estimate(state)) <= tol):
        return None
    w, alpha = method.iterate(state)
    proof = problem.certify(w.copy(), None if alpha is None else alpha.copy())
    status = Status.CONVERGED if proof.relative_gap <= tol else Status.INTERRUPTED
    if status is Status.INTERRUPTED and not interrupted:
        return None
    passes = visited / max(problem.matrix.nnz, 1)
    entry = Progress(passes, seconds, proof.primal, proof.dual, proof.relative_gap, name)
    pair = (proof.w, proof.intercept, proof.alpha)
    trace = Trace([entry], [f"{name}: {why}"])
    return Result(*pair, proof, status, asked, trace, problem)


def _solved(
    run: _Run,
    name: str,
    method: Method,
    sampling: Sampling | None,
    rng: np.random.Generator,
    w: FloatArray | None,
    alpha: FloatArray | None,
    entry: Entry | None,
) -> Result:
    """Run one method to its end; the best pair, certified."""
    # What overflows is not finite, and is reported as such by the certificate.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        _drive(run, name, method, sampling, rng, w, alpha, entry)
    proof = run.best.certificate()
    status = Status.CONVERGED if proof.relative_gap <= run.tol else run.status
    assert status is not None
    pair = (proof.w, proof.intercept, proof.alpha)
    return Result(*pair, proof, status, name, run.trace, run.problem)


def _drive(
    run: _Run,
    name: str,
    method: Method,
    sampling: Sampling | None,
    rng: np.random.Generator,
    w: FloatArray | None,
    alpha: FloatArray | None,
    entry: Entry | None,
) -> None:
    """Run one method until the run has a status, from where the entry was saved if it was."""
    saved = None if entry is None else entry.earlier()
    if saved is None:
        with run.clock:
            # Draws and the method's own choices come from two generators.
            own = rng if sampling is None else rng.spawn(1)[0]
            state = method.start(run.problem, sampling, w=w, alpha=alpha, rng=own)
    else:
        state = saved["state"]
    ahead: _OwnOrder | _Drawn
    if sampling is None:
        ahead = _OwnOrder(run, method, state)
    else:
        ahead = _Drawn(run, method, state, sampling, rng)
    if saved is not None:
        run.go_on(saved)
        ahead.go_on(saved)
    if entry is not None:
        entry.rehearse(_snapshot(run, ahead))
        ahead.pause = lambda: entry.offer(lambda: _snapshot(run, ahead))
    run.trace.notes = getattr(state, "log", [])
    try:
        given = w is not None or alpha is not None
        if saved is None and (sampling is not None or given or not run.max_passes):
            run.check(method.label(state) or name, *method.iterate(state))
        while run.status is None:
            ahead.to_next_check()
            run.check(method.label(state) or name, *method.iterate(state))
    except KeyboardInterrupt:
        run.callback = None  # it may have been the one to interrupt
        run.check(method.label(state) or name, *method.iterate(state))
        run.status = Status.INTERRUPTED
    if entry is not None and run.status is Status.MAX_TIME:
        entry.save(_snapshot(run, ahead))  # with more time it can go on


def _generator(seed: Any) -> Any:
    """NumPy's generator for the seed; made on first use where that cannot fail."""
    simple = seed is None or (type(seed) is int and seed >= 0)
    return _Deferred(seed) if simple else np.random.default_rng(seed)


class _Deferred:
    """A generator that is made when it is needed: some problems are solved in less time."""

    def __init__(self, seed: int | None) -> None:
        self.seed = seed

    @cached_property
    def made(self) -> np.random.Generator:
        """The generator itself."""
        return np.random.default_rng(self.seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.made, name)


class _Drawn:
    """Advances a method by draws from its sampling, from one check to the next."""

    def __init__(
        self, run: _Run, method: Method, state: Any, sampling: Sampling, rng: np.random.Generator
    ) -> None:
        self.run, self.method, self.state = run, method, state
        self.sampling, self.rng = sampling, rng
        self.pause: Callable[[], None] | None = None  # called where the run can be saved
        self.side = coordinates(run.problem, method.side)
        cost = float(sampling.probabilities() @ self.side.counts)  # W, eqs. (10), (11)
        self.pass_steps = self.side.nnz / cost if cost > 0 else float(self.side.size)
        self.is_compiled = False
        self.steps = 0  # taken before the last check
        self.draws: Draws | None = None  # for the steps until the next check
        self.at = 0  # how many of them are taken
        self.origin: Any = None  # the generator's state before they were drawn

    def to_next_check(self) -> None:
        """Advance until it is time for a check."""
        run, method, state = self.run, self.method, self.state
        if self.pause is not None:
            self.pause()
        if not self.is_compiled:
            method.advance(state, self.sampling.draw(self.rng, 0))  # outside the clock
            self.is_compiled = True
        if self.draws is None:
            if self.pause is not None:
                self.origin = self.rng.bit_generator.state
            count = max(1, round(self.pass_steps * run.passes_ahead()))
            self.draws = self.sampling.draw(self.rng, count)
        for chunk in _chunks(self.draws, self.side.counts, self.at):
            with run.clock:
                run.visited += method.advance(state, chunk)
            self.at += chunk.steps
            if run.out_of_time():
                break
            if self.pause is not None:
                self.pause()
        self.steps += self.draws.steps
        self.draws, self.at = None, 0
        # A method may visit more than the rows it draws: learn from what it has visited.
        if run.passes > 0:
            self.pass_steps = self.steps / max(run.passes, 1e-300)

    def position(self) -> dict[str, Any]:
        """What to save beside the state; the draws are made again."""
        pending = None if self.draws is None else (self.origin, self.draws.steps, self.at)
        return {"drawn": (self.pass_steps, self.is_compiled, self.steps), "pending": pending}

    def go_on(self, saved: dict[str, Any]) -> None:
        """Go back to a saved position."""
        self.pass_steps, self.is_compiled, self.steps = saved["drawn"]
        if saved["pending"] is not None:
            self.origin, count, self.at = saved["pending"]
            self.rng.bit_generator.state = self.origin
            self.draws = self.sampling.draw(self.rng, count)


class _OwnOrder:
    """Advances a method that orders its own steps, from one check to the next.

    A certificate costs about as much as an epoch. Where the method can tell its gap along the
    way, it is made only when the gap is about to be small enough, and now and then.
    """

    def __init__(self, run: _Run, method: Method, state: Any) -> None:
        self.run, self.method, self.state = run, method, state
        self.pause: Callable[[], None] | None = None  # called where the run can be saved
        self.expected = np.inf  # the relative gap that the method told before the last check
        self.factor = 1.0  # what that check found, over what was expected
        self.checked = False  # whether there was one since the last round
        self.rounds = 0.0
        self.due = 1.0 if run.callback is not None else float(FIRST_CHECK)

    def to_next_check(self) -> None:
        """Advance until it is time for a check."""
        run = self.run
        if self.checked and 0 < self.expected < np.inf:
            found = run.best.relative_gap / self.expected
            self.factor = min(max(found, LEAST_FACTOR), MOST_FACTOR)
        self.checked = False
        while True:
            if self.pause is not None:
                self.pause()
            with run.clock:
                work = self.method.advance(self.state, None)
            run.visited += work
            estimate = self.method.gap_estimate(self.state)
            cheap = estimate is not None and work <= CHEAP_PASSES * run.problem.matrix.nnz
            share = work / max(run.problem.matrix.nnz, 1)
            self.rounds += min(max(share, LEAST_ROUND), 1.0) if cheap else 1.0
            over = run.out_of_time() or run.passes >= run.max_passes
            if estimate is None:
                break
            self.expected = run.problem.relative(estimate)
            if self.rounds >= self.due or over or self.expected * self.factor <= run.tol:
                break
        self.checked = True
        every = CHEAP_ROUNDS if cheap and run.callback is None else 1
        self.due = max(self.due, self.rounds + max(every, self.rounds / CHECKS_PER_DOUBLING))

    def position(self) -> dict[str, Any]:
        """What to save beside the state."""
        return {"own_order": (self.expected, self.factor, self.checked, self.rounds, self.due)}

    def go_on(self, saved: dict[str, Any]) -> None:
        """Go back to a saved position."""
        self.expected, self.factor, self.checked, self.rounds, self.due = saved["own_order"]


def _snapshot(run: _Run, ahead: _OwnOrder | _Drawn) -> dict[str, Any]:
    """All that the rest of a run depends on, at a moment between two rounds."""
    return {"state": ahead.state, **run.position(), **ahead.position()}


class _Clock:
    """Counts the seconds spent inside ``with clock``, less what goes into compiling kernels."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.entered = 0.0

    def __enter__(self) -> None:
        self.entered = time.perf_counter() - seconds_compiling()

    def __exit__(self, *error: object) -> None:
        self.seconds += time.perf_counter() - seconds_compiling() - self.entered


@dataclass
class _Run:
    """One solve in progress: its limits, and what has been done and proved so far."""

    problem: Problem
    tol: float
    max_passes: float
    max_time: float | None
    callback: Callback | None
    visited: float = 0.0  # nonzeros
    clock: _Clock = field(default_factory=_Clock)  # in methods, checks not counted
    status: Status | None = None
    began: float = field(default_factory=lambda: time.perf_counter() - seconds_compiling())
    trace: Trace = field(default_factory=Trace)

    def __post_init__(self) -> None:
        self.best = _Best(self.problem)

    @property
    def passes(self) -> float:
        """Passes over the data so far."""
        return self.visited / max(self.problem.matrix.nnz, 1)

    def position(self) -> dict[str, Any]:
        """What to save of the run: what was done, and the best so far."""
        elapsed = time.perf_counter() - seconds_compiling() - self.began
        return {
            "done": (self.visited, self.clock.seconds, elapsed),
            "best": (self.best.upper, self.best.lower),
            "entries": self.trace.entries,
        }

    def go_on(self, saved: dict[str, Any]) -> None:
        """Go back to a saved position; the time that was spent before counts."""
        self.visited, self.clock.seconds, elapsed = saved["done"]
        self.began = time.perf_counter() - seconds_compiling() - elapsed
        self.best.upper, self.best.lower = saved["best"]
        self.trace.entries = saved["entries"]

    def passes_ahead(self) -> float:
        """How many passes to make before the next check."""
        return min(max(1.0, self.passes / CHECKS_PER_DOUBLING), self.max_passes - self.passes)

    def out_of_time(self) -> bool:
        """Whether max_time is over."""
        if self.max_time is None:
            return False
        return time.perf_counter() - seconds_compiling() - self.began > self.max_time

    def _stalled(self, name: str) -> bool:
        """Whether one of the engine's methods has long not brought the gap down."""
        checks = STALL_CHECKS * (1 if self.problem.is_smooth else CORNER_PATIENCE)
        if name not in METHODS or METHODS[name].samplings or len(self.trace) <= checks:
            return False
        earlier = self.trace.entries[-1 - checks]
        return earlier.method == name and self.best.relative_gap > 0.99 * earlier.relative_gap

    def check(self, name: str, w: FloatArray, alpha: FloatArray | None) -> None:
        """Certify an iterate, record it, tell the callback, and decide whether to stop."""
        seen = self.best.look(w, alpha)
        entry = Progress(
            self.passes,
            self.clock.seconds,
            seen.primal,
            self.best.dual,
            self.best.relative_gap,
            name,
        )
        self.trace.entries.append(entry)
        stop = self.callback is not None and self.callback(entry) is True
        if not math.isfinite(seen.primal):
            self.status = Status.NOT_FINITE
        elif self.best.proves(self.tol):
            self.status = Status.CONVERGED
        elif stop:
            self.status = Status.STOPPED
        elif self._stalled(name):
            self.status = Status.STALLED
        elif self.out_of_time():
            self.status = Status.MAX_TIME
        elif self.passes >= self.max_passes:
            self.status = Status.MAX_PASSES


@dataclass
class _Best:
    """The best primal and the best dual point seen, each with its certificate."""

    problem: Problem
    upper: Certificate | None = None  # smallest P(w)
    lower: Certificate | None = None  # largest D(α): earlier dual values stay valid bounds

    def look(self, w: FloatArray, alpha: FloatArray | None) -> Certificate:
        """Certify an iterate and keep what is better than before."""
        seen = self.problem.certify(w.copy(), None if alpha is None else alpha.copy())
        if self.upper is None or seen.primal < self.upper.primal:
            self.upper = seen
        if self.lower is None or seen.dual > self.lower.dual:
            self.lower = seen
        return seen

    @property
    def dual(self) -> float:
        """The best lower bound on P*."""
        return self.lower.dual if self.lower is not None else -np.inf

    @property
    def relative_gap(self) -> float:
        """The gap of the best pair divided by P(0), by the values at hand."""
        assert self.upper is not None and self.lower is not None
        if self.upper is self.lower:
            return self.upper.relative_gap
        apart = max(self.upper.primal - self.lower.dual, 0.0)
        return self.problem.relative(min(self.upper.gap, self.lower.gap, apart))

    def certificate(self) -> Certificate:
        """The best pair and its gap, from scratch."""
        assert self.upper is not None and self.lower is not None
        if self.upper is self.lower:
            return self.upper
        both = self.problem.certify(self.upper.w, self.lower.alpha, self.upper.intercept)
        return min(self.upper, self.lower, both, key=lambda pair: pair.gap)

    def proves(self, tol: float) -> bool:
        """Whether a gap from scratch meets ``tol``."""
        return self.relative_gap <= tol and self.certificate().relative_gap <= tol


def _chunks(draws: Draws, counts: Any, first: int) -> Iterator[Draws]:
    """The draws from a step on, in pieces of whole steps that visit about CHUNK nonzeros each."""
    work = np.concatenate([[0], np.cumsum(counts[draws.coordinates])])[draws.starts]
    while first < draws.steps:
        last = int(np.searchsorted(work, work[first] + CHUNK, side="right")) - 1
        last = min(max(last, first + 1), draws.steps)
        offset = draws.starts[first]
        yield Draws(
            draws.starts[first : last + 1] - offset,
            draws.coordinates[offset : draws.starts[last]],
        )
        first = last


# --------------------------------------------------------------------------------------------
# At the door


def _as_method(problem: Problem, method: Any, tol: float) -> tuple[str, Method]:
    """The method's name and the method, ready to start."""
    if isinstance(method, str) and method == "auto":
        return "auto", Auto(tol)
    if isinstance(method, Advice):
        return "auto", Auto(tol, _advised(problem, method))
    if isinstance(method, str):
        if method not in METHODS:
            raise ValueError(f"method must be one of auto, {', '.join(METHODS)}, got {method!r}.")
        return method, engine_method(method, tol) if method in ENGINE else METHODS[method]()
    if isinstance(method, type):
        method = method()
    needed = ("side", "free_intercept", "samplings", "start", "advance", "iterate")
    missing = [name for name in needed if not hasattr(method, name)]
    if missing:
        raise TypeError(
            f"method must be a name or an object with {', '.join(needed)}, got {method!r}."
        )
    names = {kind: name for name, kind in METHODS.items()}
    return names.get(type(method), type(method).__name__), completed(method)


def _advised(problem: Problem, advice: Advice) -> tuple[str, str]:
    """The method that the advice names, and why it is taken."""
    if advice.practice is None:
        raise ValueError(
            "method: this advice comes without its data, so it names no method. "
            "Ask again: solve(problem, advise(problem))."
        )
    if (advice.n, advice.d) != (problem.n, problem.d):
        raise ValueError(
            f"method: the advice is on {advice.n} examples of {advice.d} features, the problem has "
            f"{problem.n} of {problem.d}. Ask again: solve(problem, advise(problem))."
        )
    return advice.practice.method, "as advised"


def require_usable(problem: Problem, name: str, method: Method, sampling: Any) -> Sampling | None:
    """The sampling the method will use; refused if it cannot use it, or not on this problem."""
    if method.smooth_only and not problem.is_smooth:
        able = [known for known, kind in METHODS.items() if not kind.smooth_only]
        loss = loss_name(problem.loss)
        raise ValueError(
            f"method {name!r} needs a smooth loss, and {loss!r} is not. Use the method auto, "
            f"{' or '.join(able)}, or a smooth loss such as 'smoothed_{loss}'."
        )
    if problem.fit_intercept and not method.free_intercept:
        raise ValueError(
            f"method {name!r} cannot train a free intercept. Use another method, such as nsync or "
            "quartz, or fit_intercept=False with a constant feature in X."
        )
    if not method.samplings:
        if sampling is not None:
            raise ValueError(
                f"method {name!r} orders its own steps and takes no sampling, got {sampling!r}. "
                "Leave sampling out."
            )
        return None
    if sampling is None:
        return method.plan(problem)
    chosen = as_sampling(sampling, coordinates(problem, method.side))
    kinds = tuple(SAMPLINGS[known] for known in method.samplings)
    if method.samplings != ANY_SAMPLING and not isinstance(chosen, kinds):
        raise ValueError(
            f"method {name!r} needs the sampling {' or '.join(method.samplings)}, "
            f"got {type(chosen).__name__}. Leave sampling out to use the method's own."
        )
    return chosen


def _start_point(problem: Problem, start: Any) -> tuple[FloatArray | None, FloatArray | None]:
    """w and α to start from, each checked, or None."""
    if start is None:
        return None, None
    pair = (start.w, start.alpha) if hasattr(start, "alpha") else start
    try:
        w, alpha = pair
    except (TypeError, ValueError):
        raise TypeError(
            "start must be a Result or a pair (w, alpha) of which one may be None, "
            f"got {type(start).__name__}."
        ) from None
    checked: list[FloatArray | None] = []
    for name, values, size in (("w", w, problem.d), ("alpha", alpha, problem.n)):
        array = None if values is None else np.array(values, dtype=np.float64)
        if array is not None and (array.shape != (size,) or not np.isfinite(array).all()):
            raise ValueError(
                f"start: {name} must hold {size} finite numbers, got shape {array.shape}."
            )
        checked.append(array)
    return checked[0], checked[1]


def _require_limits(tol: float, max_passes: float, max_time: float | None) -> None:
    for name, value in (("tol", tol), ("max_passes", max_passes), ("max_time", max_time)):
        if value is None and name == "max_time":
            continue
        if not isinstance(value, NUMBERS) or not value >= 0:
            raise ValueError(f"{name} must be a nonnegative number, got {value!r}.")
