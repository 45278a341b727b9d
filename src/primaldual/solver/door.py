"""The door: what ``solve`` is given, checked and turned into a run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import checkpoints
from .._threads import one_blas_thread, using
from .._types import FloatArray
from ..advice import Advice
from ..engine import SIDES, Auto
from ..engine.forecast_on_parts import ExpectedOnParts
from ..engine.on_parts import parts_method
from ..engine.softmax import SoftmaxAuto
from ..losses.custom import loss_name
from ..methods import ENGINE, METHODS, Method
from ..methods.base import ANY_SAMPLING, as_written, completed, coordinates, takes_loss
from ..methods.engine import engine_method
from ..methods.parts import ON_PARTS
from ..problem import Problem
from ..problem.multinomial import Multinomial
from ..problem.on_parts import PartsProblem
from ..result import Result
from ..samplings import SAMPLINGS, Sampling, as_sampling
from .loop import solved
from .run import Callback, Limits, Run, Start
from .seeds import generator, made
from .units import in_units, result_in_units, start_in

NUMBERS = (float, int, np.number)
# Entries of the data from which on a call of BLAS may use several threads: 9216 in OpenBLAS.
BLAS_ENTRIES = 9216


def solve(
    problem: Problem | Multinomial | PartsProblem,
    method: str | Method | Advice | ExpectedOnParts = "auto",
    sampling: str | Sampling | None = None,
    tol: float = 1e-6,
    max_passes: float = 1000,
    max_time: float | None = None,
    seed: Any = None,
    callback: Callback | None = None,
    start: Any = None,
    *,
    side: str = "auto",
    max_iter: float | None = None,
    threads: int | None = None,
) -> Result:
    """Minimise P(w) until the certified relative gap (P(w) − D(α))/P(0) is at most ``tol``.

    Parameters
    ----------
    problem : Problem, Multinomial or PartsProblem
    method : str or Method
        A name in ``METHODS``, one of its classes or objects, or "auto": the engine picks the
        method that should be cheapest, watches it, and changes it if it is slow. An ``Advice`` on
        this problem does the same, beginning with the method that it names.
    sampling : str or Sampling, optional
        A name in ``SAMPLINGS`` or an object for the method's side. By default the method's own.
    tol : float
        The relative duality gap to reach.
    max_passes : float
        Stop after this many passes; a pass visits as many nonzeros as the data has.
    max_time : float, optional
        Stop after this many seconds, checks included, compiling and loading of kernels not.
    seed : int, Generator, optional
        The same seed gives the same bits.
    callback : callable, optional
        Called with a ``Progress`` after every check; the solve stops when it returns True.
    start : Result or (w, alpha), optional
        Where to start: an earlier result, or a pair of which one half may be None.
    side : {"auto", "primal", "dual"}
        The side on which ``method="auto"`` may look for methods.
    max_iter : float, optional
        Stop after this many iterations: a pass of coordinate descent counts as one, and so does a
        step of any other method of the engine. A round that was begun is finished.
    threads : int, optional
        How many threads may work; -1 stands for all cores that the process may use, which is also
        the default, unless ``PRIMALDUAL_NUM_THREADS`` gives another number. In a worker of joblib,
        dask or pytest-xdist the default is 1. The number changes no bit of the result.

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
    if isinstance(problem, Problem) and problem.units is not None:
        begin = None if start is None else _start_point(problem, start)
        inner = solve(
            problem.standard, method, sampling, tol, max_passes, max_time, seed,
            in_units(callback, problem.units), start_in(begin, problem.units), side=side,
            max_iter=max_iter,
        )  # fmt: skip
        return result_in_units(inner, problem)
    limits = _limits(tol, max_passes, max_iter, max_time)
    if isinstance(problem, PartsProblem):
        problem = problem.metered()
    elif isinstance(problem, Multinomial):
        problem = problem.remembering()
    begin = Start() if start is None else _start_point(problem, start)
    name, runner = _as_method(problem, method, tol, side, begin.is_guess)
    chosen = require_usable(problem, name, runner, sampling)
    run = Run(problem, name, runner, limits, callback)
    with using(threads), one_blas_thread(problem.n * problem.d >= BLAS_ENTRIES):
        return _solved(run, chosen, seed, begin)


def _solved(run: Run, chosen: Sampling | None, seed: Any, begin: Start) -> Result:
    """The result of the run, from the open checkpoint if there is one."""
    checkpoint = checkpoints.current()
    if checkpoint is None:
        return solved(run, chosen, generator(seed), begin)
    problem, name, limits, callback = run.problem, run.name, run.limits, run.callback
    rng = made(seed)
    with checkpoint.entry(
        problem, name, as_written(run.method), chosen, rng, seed is not None, begin,
        tol=limits.tol, max_passes=limits.max_passes, max_iter=limits.max_iter,
        callback=callback is not None,
    ) as entry:  # fmt: skip
        result = entry.result()
        if result is None:
            result = solved(run, chosen, rng, begin, entry)
            entry.finish(result)
        return result


def _as_method(problem: Any, method: Any, tol: float, side: str, warm: bool) -> tuple[str, Method]:
    """The method's name and the method, ready to start."""
    if side not in SIDES:
        raise ValueError(f"side must be one of {', '.join(SIDES)}, got {side!r}.")
    if isinstance(method, str) and method == "auto":
        if isinstance(problem, Multinomial):
            return "auto", SoftmaxAuto(tol, side)
        if isinstance(problem, PartsProblem):
            return "auto", parts_method(side)
        return "auto", Auto(tol, side, warm)
    if side != "auto":
        raise ValueError(
            f"side={side!r} needs method='auto', got {method!r}: a method has a side of its own. "
            "Leave one of the two out."
        )
    if isinstance(method, ExpectedOnParts) and isinstance(problem, PartsProblem):
        return "auto", parts_method("auto")
    if isinstance(method, Advice):
        return "auto", Auto(tol, first=_advised(problem, method))
    if isinstance(method, str):
        if isinstance(problem, PartsProblem) and method in ON_PARTS:
            return method, ON_PARTS[method]()
        if not isinstance(problem, Problem):
            kind = type(problem).__name__
            raise ValueError(f"method must be 'auto' for a {kind}, got {method!r}.")
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


def _advised(problem: Any, advice: Advice) -> str:
    """The method that the advice names."""
    if (advice.n, advice.d) != (problem.n, problem.d):
        raise ValueError(
            f"method: the advice is on {advice.n} examples of {advice.d} features, the problem has "
            f"{problem.n} of {problem.d}. Ask again: solve(problem, advise(problem))."
        )
    return advice.verdict.method


def require_usable(problem: Any, name: str, method: Method, sampling: Any) -> Sampling | None:
    """The sampling the method will use; refused if it cannot use it, or not on this problem."""
    if not takes_loss(method, problem):
        able = [known for known, kind in METHODS.items() if takes_loss(kind, problem)]
        loss = loss_name(problem.loss)
        if problem.is_smooth:
            raise ValueError(
                f"method {name!r} needs a bound β of φ'', and {loss!r} has none. Use the method "
                f"auto, {' or '.join(able)}."
            )
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


def _start_point(problem: Any, start: Any) -> Start:
    """w and α to start from, each checked, or None."""
    pair = (start.w, start.alpha) if hasattr(start, "alpha") else start
    try:
        w, alpha = pair
    except (TypeError, ValueError):
        raise TypeError(
            "start must be a Result or a pair (w, alpha) of which one may be None, "
            f"got {type(start).__name__}."
        ) from None
    shapes = problem.shapes
    is_guess = isinstance(start, Start) and start.is_guess
    return Start(_point("w", w, shapes[0]), _point("alpha", alpha, shapes[1]), is_guess)


def _point(name: str, values: Any, shape: tuple[int, ...]) -> FloatArray | None:
    """A copy of w or α, checked."""
    if values is None:
        return None
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        size = " × ".join(str(length) for length in shape)
        raise ValueError(f"start: {name} must hold {size} finite numbers, got shape {array.shape}.")
    return array


def _limits(tol: float, max_passes: float, max_iter: Any, max_time: Any) -> Limits:
    """The limits, checked; without one of the last two, there is none."""
    max_iter = math.inf if max_iter is None else max_iter
    max_time = math.inf if max_time is None else max_time
    given = Limits(tol, max_passes, max_iter, max_time)
    for number, value in enumerate(given):
        if not isinstance(value, NUMBERS) or not value >= 0:
            name = Limits._fields[number]
            raise ValueError(f"{name} must be a nonnegative number, got {value!r}.")
    return given
