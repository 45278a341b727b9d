"""solve(problem, …) → Result: the one loop around every method.

Stopping, timing, tracing, seeding and the certificate live here and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._compile import seconds_compiling
from ._types import FloatArray
from .methods import METHODS, Method
from .methods.auto import Auto
from .methods.base import ANY_SAMPLING, CHUNK, coordinates, default_sampling
from .problem import Certificate, Problem
from .result import Progress, Result, Status, Trace
from .samplings import SAMPLINGS, Draws, Sampling, as_sampling

# Methods that tell their gap along the way are checked after this many rounds even so.
FIRST_CHECK = 16

# A check comes after every pass at first, later after every twentieth part of what was done.
CHECKS_PER_DOUBLING = 20

# So many checks without a fall of the gap by 1 % mean that it will not fall any more.
STALL_CHECKS = 12

Callback = Callable[[Progress], Any]


def solve(
    problem: Problem,
    method: str | Method = "auto",
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
        method that should be cheapest, watches it, and changes it if it is slow.
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
    run = _Run(problem, tol, max_passes, max_time, callback)
    name, runner = _as_method(method, tol)
    chosen = require_usable(problem, name, runner, sampling)
    w, alpha = _start_point(problem, start)
    # What overflows is not finite, and is reported as such by the certificate.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        _drive(run, name, runner, chosen, np.random.default_rng(seed), w, alpha)
    proof = run.best.certificate()
    status = Status.CONVERGED if proof.relative_gap <= tol else run.status
    assert status is not None
    return Result(proof.w, proof.intercept, proof.alpha, proof, status, name, run.trace, problem)


def _drive(
    run: _Run,
    name: str,
    method: Method,
    sampling: Sampling | None,
    rng: np.random.Generator,
    w: FloatArray | None,
    alpha: FloatArray | None,
) -> None:
    """Run one method until the run has a status."""
    with run.clock():
        state = method.start(run.problem, sampling, w=w, alpha=alpha, rng=rng.spawn(1)[0])
    if sampling is None:
        ahead = _own_order(run, method, state)
    else:
        ahead = _drawn(run, method, state, sampling, rng)
    label = getattr(method, "label", lambda state: name)
    run.trace.notes = getattr(state, "log", [])
    try:
        if sampling is not None or w is not None or alpha is not None or not run.max_passes:
            run.check(label(state), *method.iterate(state))
        while run.status is None:
            next(ahead)
            run.check(label(state), *method.iterate(state))
    except KeyboardInterrupt:
        run.callback = None  # it may have been the one to interrupt
        run.check(label(state), *method.iterate(state))
        run.status = Status.INTERRUPTED


def _drawn(
    run: _Run, method: Method, state: Any, sampling: Sampling, rng: np.random.Generator
) -> Iterator[None]:
    """Advance by draws from the sampling; yield when it is time for a check."""
    side = coordinates(run.problem, method.side)
    cost = float(sampling.probabilities() @ side.counts)  # W, eqs. (10), (11)
    pass_steps = side.nnz / cost if cost > 0 else side.size
    method.advance(state, sampling.draw(rng, 0))  # compiles the kernel outside the clock
    steps = 0
    while True:
        draws = sampling.draw(rng, max(1, round(pass_steps * run.passes_ahead())))
        for chunk in _chunks(draws, side.counts):
            with run.clock():
                run.visited += method.advance(state, chunk)
            if run.out_of_time():
                break
        steps += draws.steps
        # A method may visit more than the rows it draws: learn from what it has visited.
        pass_steps = steps / max(run.passes, 1e-300) if run.passes > 0 else pass_steps
        yield


def _own_order(run: _Run, method: Method, state: Any) -> Iterator[None]:
    """Advance a method that orders its own steps; yield when it is time for a check.

    A certificate costs about as much as an epoch. Where the method can tell its gap along the
    way, it is made only when the gap is about to be small enough, and now and then.
    """
    estimate = getattr(method, "gap_estimate", None)
    before, rounds, due = np.inf, 0, 1 if run.callback is not None else FIRST_CHECK
    while True:
        with run.clock():
            run.visited += method.advance(state, None)
        rounds += 1
        over = run.out_of_time() or run.passes >= run.max_passes
        if estimate is not None and rounds < due and not over:
            gap = run.problem.relative(estimate(state))
            # The gap along an epoch is as old as the epoch: now it is a contraction smaller.
            now, before = gap * (min(gap / before, 1.0) if 0 < before < np.inf else 1.0), gap
            if not now <= run.tol:
                continue
        due = max(due, rounds + max(1, rounds // CHECKS_PER_DOUBLING))
        yield


@dataclass
class _Run:
    """One solve in progress: its limits, and what has been done and proved so far."""

    problem: Problem
    tol: float
    max_passes: float
    max_time: float | None
    callback: Callback | None
    visited: float = 0.0  # nonzeros
    seconds: float = 0.0  # in methods, checks not counted
    status: Status | None = None
    began: float = field(default_factory=lambda: time.perf_counter() - seconds_compiling())
    trace: Trace = field(default_factory=Trace)

    def __post_init__(self) -> None:
        self.best = _Best(self.problem)

    @property
    def passes(self) -> float:
        """Passes over the data so far."""
        return self.visited / max(self.problem.matrix.nnz, 1)

    def passes_ahead(self) -> float:
        """How many passes to make before the next check."""
        return min(max(1.0, self.passes / CHECKS_PER_DOUBLING), self.max_passes - self.passes)

    @contextmanager
    def clock(self) -> Iterator[None]:
        """Count the time spent inside, less what went into compiling kernels."""
        before = time.perf_counter() - seconds_compiling()
        yield
        self.seconds += time.perf_counter() - seconds_compiling() - before

    def out_of_time(self) -> bool:
        """Whether max_time is over."""
        if self.max_time is None:
            return False
        return time.perf_counter() - seconds_compiling() - self.began > self.max_time

    def _stalled(self, name: str) -> bool:
        """Whether one of the engine's methods has long not brought the gap down."""
        if name not in METHODS or METHODS[name].samplings or len(self.trace) <= STALL_CHECKS:
            return False
        earlier = self.trace.entries[-1 - STALL_CHECKS]
        return earlier.method == name and self.best.relative_gap > 0.99 * earlier.relative_gap

    def check(self, name: str, w: FloatArray, alpha: FloatArray | None) -> None:
        """Certify an iterate, record it, tell the callback, and decide whether to stop."""
        seen = self.best.look(w, alpha)
        entry = Progress(
            self.passes, self.seconds, seen.primal, self.best.dual, self.best.relative_gap, name
        )
        self.trace.entries.append(entry)
        stop = self.callback is not None and self.callback(entry) is True
        if not np.isfinite(seen.primal):
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
        apart = max(self.upper.primal - self.lower.dual, 0.0)
        if self.upper is self.lower:
            apart = self.upper.gap
        return self.problem.relative(min(self.upper.gap, self.lower.gap, apart))

    def certificate(self) -> Certificate:
        """The best pair and its gap, from scratch."""
        assert self.upper is not None and self.lower is not None
        pairs = [self.upper, self.lower]
        if self.upper is not self.lower:
            pairs.append(self.problem.certify(self.upper.w, self.lower.alpha, self.upper.intercept))
        return min(pairs, key=lambda pair: pair.gap)

    def proves(self, tol: float) -> bool:
        """Whether a gap from scratch meets ``tol``."""
        return self.relative_gap <= tol and self.certificate().relative_gap <= tol


def _chunks(draws: Draws, counts: Any) -> Iterator[Draws]:
    """The draws in pieces of whole steps that visit about CHUNK nonzeros each."""
    work = np.concatenate([[0], np.cumsum(counts[draws.coordinates])])[draws.starts]
    first = 0
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


def _as_method(method: Any, tol: float) -> tuple[str, Method]:
    """The method's name and the method, ready to start."""
    if isinstance(method, str) and method == "auto":
        return "auto", Auto(tol)
    if isinstance(method, str):
        if method not in METHODS:
            raise ValueError(f"method must be one of auto, {', '.join(METHODS)}, got {method!r}.")
        return method, METHODS[method]()
    if isinstance(method, type):
        method = method()
    needed = ("side", "free_intercept", "samplings", "start", "advance", "iterate")
    missing = [name for name in needed if not hasattr(method, name)]
    if missing:
        raise TypeError(
            f"method must be a name or an object with {', '.join(needed)}, got {method!r}."
        )
    names = {kind: name for name, kind in METHODS.items()}
    return names.get(type(method), type(method).__name__), method


def require_usable(problem: Problem, name: str, method: Method, sampling: Any) -> Sampling | None:
    """The sampling the method will use; refused if it cannot use it, or not on this problem."""
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
        return default_sampling(method, problem)
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
        if not isinstance(value, int | float | np.number) or not value >= 0:
            raise ValueError(f"{name} must be a nonnegative number, got {value!r}.")
