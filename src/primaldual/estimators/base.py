"""What all estimators share: parameters checked, problems built and solved, attributes set."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from .._types import FloatArray
from ..advice import advise
from ..engine.choice import first_choice, well_stored
from ..engine.one_side import SIDES
from ..methods import METHODS
from ..problem import Problem
from ..result import Progress, Result, Status
from ..solver import solve
from .callbacks import CallbackSupportMixin, Task
from .checks import require_choice, require_dual, require_number
from .solving import (
    SMALL_CORNER_ROUNDS,
    SMALL_GAP,
    SMALL_ROUNDS,
    Counted,
    first_on,
    method_for,
    predicted,
    small_method,
    starts_with,
)

FORMATS = ("csr", "csc", "coo")

# The layout of the data that a method reads, built before problems that share it run in parallel.
_LAYOUT = {
    "dual_cd": "by_example",
    "newton": "by_example",
    "newton_cg": "by_example",
    "primal_cd": "by_feature",
    "gram_newton": "by_feature",
    "ssnal": "by_example",
}


def regularisation(name: str, value: float, total_weight: float, loss_scale: float = 1.0) -> float:
    """λ of (1/S) Σ s_j φ_j + (λ/2)‖w‖² for scikit-learn's ``C`` or ``alpha``, S = Σ s_j.

    With ``C`` scikit-learn minimises C Σ s_j ψ_j + ½‖w‖², where ψ is ``loss_scale`` times the
    loss φ of this library: λ = 1/(loss_scale · C · S). With ``alpha`` it minimises
    Σ s_j ψ_j + (loss_scale · alpha/2)‖w‖²: λ = alpha/S.
    """
    if name == "C":
        return 1.0 / (loss_scale * value * total_weight)
    return value / total_weight


class Objective(NamedTuple):
    """What an estimator minimises, in the library's terms."""

    loss: Any
    scale: float = 1.0  # scikit-learn's loss divided by this loss


@dataclass
class Solution:
    """One problem's result, with what the estimator reports of it."""

    result: Result
    passes: list[float]  # over the data, at each check

    @property
    def relative_gap(self) -> float:
        """The certified gap in the unit of ``tol``."""
        return self.result.certificate.relative_gap

    @property
    def side(self) -> str:
        """The side of the method that finished."""
        return str(SIDE_OF[self.result.trace.entries[-1].method])


# Reasons to stop that another method would not change.
_ASKED_FOR = (Status.MAX_TIME, Status.STOPPED, Status.INTERRUPTED)

SIDE_OF: dict[str, str] = {name: method.side for name, method in METHODS.items()}


class LinearModel(CallbackSupportMixin, BaseEstimator):
    """The shared part of the estimators; not an estimator by itself."""

    _strength = "C"
    coef_: Any
    dual_coef_: Any
    intercept_: Any

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        raise NotImplementedError

    def _strengths(self) -> Any:
        """The value of ``C`` or ``alpha``, or several of them."""
        return getattr(self, self._strength)

    def _side(self) -> str:
        """Where to solve: ``side``, or what scikit-learn's ``dual`` says in its place."""
        dual = getattr(self, "dual", "auto")
        if isinstance(dual, str):
            return str(self.side)
        return "dual" if dual else "primal"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- fitting

    def _require_parameters(self) -> None:
        """Raise if a parameter is out of range; the parameters themselves are left alone."""
        for value in np.atleast_1d(np.asarray(self._strengths(), dtype=object)):
            require_number(self._strength, value, positive=True)
        require_number("tol", self.tol)
        if self.max_iter is not None:
            require_number("max_iter", self.max_iter)
        if self.max_time is not None:
            require_number("max_time", self.max_time)
        if getattr(self, "epsilon", None) is not None:
            require_number("epsilon", self.epsilon)
        require_choice("side", self.side, SIDES)
        if hasattr(self, "dual"):
            require_dual(self.dual, self.side, self.loss)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be callable or None, got {self.callback!r}.")

    def _checked(self, X: Any, y: Any = "no_validation", reset: bool = True, **options: Any) -> Any:
        """X (and y) as arrays in their own layout and precision, copied only if they must be."""
        return validate_data(
            self, X, y, reset=reset, accept_sparse=FORMATS, dtype=(np.float64, np.float32),
            **options,
        )  # fmt: skip

    def _problems(
        self, X: Any, targets: list[FloatArray], weights: FloatArray | None, objective: Objective
    ) -> list[Problem]:
        """One problem per column of targets, on the same data."""
        total = float(len(targets[0]) if weights is None else weights.sum())
        value = np.broadcast_to(self._strengths(), len(targets))
        lams = [regularisation(self._strength, float(v), total, objective.scale) for v in value]
        first = Problem(X, targets[0], objective.loss, lams[0], weights, bool(self.fit_intercept))
        if len(targets) == 1:
            return [first]
        side = self._side()
        name = first_choice(first)[0] if side == "auto" else first_on(first, side)[0]
        getattr(first.matrix, _LAYOUT[name])
        return [first.related(lam, column) for lam, column in zip(lams, targets, strict=True)]

    def _solve_all(
        self,
        problems: list[Any],
        starts: list[Any],
        data: dict[str, Any],
        attributes: Callable[[FloatArray, Any], dict[str, Any]] | None = None,
        make: Callable[[Any, str, float], Any] = method_for,
    ) -> list[Solution]:
        """Solve the problems, in parallel threads if asked to; the same numbers either way."""
        seeds = np.random.SeedSequence(self._seed()).spawn(len(problems))
        deadline = None if self.max_time is None else time.perf_counter() + self.max_time
        context = self._init_callback_context(
            task_name="fit", max_subtasks=len(problems), sequential_subtasks=False
        )
        task = Task(context, self, data)
        task.begin()
        parts = [task.part("solve", k, None) for k in range(len(problems))]
        describe = attributes if len(problems) == 1 else None
        runs = (
            delayed(self._solve_one)(problem, start, seed, deadline, part, describe, make)
            for problem, start, seed, part in zip(problems, starts, seeds, parts, strict=True)
        )
        n_jobs = getattr(self, "n_jobs", None)
        solutions: list[Solution] = list(Parallel(n_jobs=n_jobs, prefer="threads")(runs))
        task.end()
        return solutions

    def _solve_one(
        self,
        problem: Any,
        start: Any,
        seed: Any,
        deadline: float | None,
        task: Task,
        attributes: Callable[[FloatArray, Any], dict[str, Any]] | None,
        make: Callable[[Any, str, float], Any],
    ) -> Solution:
        """Solve one problem: to ``tol``, or to machine precision if it is small."""
        max_iter = math.inf if self.max_iter is None else self.max_iter

        def run(method: Any, tol: float, passes: float) -> Solution:
            counted = Counted(method, start)
            result = solve(
                problem, counted, tol=tol, max_passes=passes, seed=seed,
                max_time=None if deadline is None else max(deadline - time.perf_counter(), 0.0),
                callback=self._listener(problem, counted, task, attributes),
            )  # fmt: skip
            return Solution(result, counted.passes)

        task.begin()
        direct = small_method(problem, self._side())
        solution = None
        if direct is not None:
            most = SMALL_ROUNDS if problem.is_smooth else SMALL_CORNER_ROUNDS
            steps = min(max_iter, most)
            solution = run(direct, min(self.tol, SMALL_GAP), steps)
            stopped = solution.result.status in _ASKED_FOR or steps == max_iter
        if solution is None or not (stopped or solution.relative_gap <= self.tol):
            solution = run(make(problem, self._side(), self.tol), self.tol, max_iter)
        task.end()
        return solution

    def _listener(
        self, problem: Any, method: Counted, task: Task, attributes: Any
    ) -> Callable[[Progress], bool] | None:
        """One callback for the user's, scikit-learn's and the printed line; None without any."""
        if self.callback is None and not task.is_watched and not getattr(self, "verbose", 0):
            return None

        def fitted() -> Any:
            if attributes is None:
                return None
            return attributes(method.w, problem.best_intercept(problem.margins(method.w)))

        def listen(progress: Progress) -> bool:
            if getattr(self, "verbose", 0):
                print(
                    f"{type(self).__name__}: iteration {progress.passes:.0f}, {progress.method}, "
                    f"relative gap {progress.relative_gap:.2e}, {progress.seconds:.3g} s"
                )
            stop = self.callback is not None and self.callback(progress) is True
            return (task.is_watched and task.check(fitted)) or stop

        return listen

    def _seed(self) -> int:
        """A number from ``random_state``; without one the order of steps is always the same."""
        if getattr(self, "random_state", None) is None:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _starts(self, problems: list[Any], rows: int) -> list[Any]:
        """Where to start: the last fit's coefficients if asked for and of the same shape."""
        if not getattr(self, "warm_start", False) or not hasattr(self, "coef_"):
            return [(None, None)] * len(problems)
        coef = np.atleast_2d(to_dense(self.coef_))
        if coef.shape != (rows, problems[0].d) or not np.isfinite(coef).all():
            return [(None, None)] * len(problems)
        dual = np.atleast_2d(self.dual_coef_)
        starts = []
        for k, problem in enumerate(problems):
            alpha = dual[k] * (problem.lam * problem.n) if dual.shape[1] == problem.n else None
            if alpha is not None and not np.isfinite(problem.dual(alpha)):
                alpha = None
            starts.append((coef[k], alpha))
        return starts

    def _report(self, solutions: list[Solution]) -> None:
        """Set the attributes that tell how the fit went, and warn if it fell short."""
        worst = max(solutions, key=lambda solution: solution.relative_gap)
        sides = [solution.side for solution in solutions]
        self.n_iter_ = max(math.ceil(solution.result.passes) for solution in solutions)
        self.dual_gap_ = worst.relative_gap
        self.side_ = max(("primal", "dual"), key=sides.count)
        self.advice_ = advise(solutions[0].result.problem).without_data()
        self.stop_reason_ = _sentence(worst.result.status, worst.relative_gap <= self.tol)
        self.history_ = _history(solutions)
        if worst.relative_gap > self.tol and worst.result.status is not Status.STOPPED:
            warnings.warn(
                f"{type(self).__name__} stopped at a relative duality gap of "
                f"{worst.relative_gap:.2e}, above tol={self.tol:g}. {self.stop_reason_} "
                "The objective is above its minimum by at most that part of its value at zero "
                "coefficients. Scaling the features (for example with "
                "sklearn.preprocessing.StandardScaler) or more regularisation makes it faster.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ---- before and after fitting

    def estimate(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Predict the passes and seconds each side would need, without fitting.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.

        Returns
        -------
        dict
            ``"primal"`` and ``"dual"``, each with the ``"method"`` the side would start with, the
            ``"passes"`` over the data and the ``"seconds"`` predicted until the gap is at most
            ``tol``; and ``"side"`` and ``"method"``, with which ``side="auto"`` starts.
            For coordinate descent they come from the theory's bounds, or from the price of the
            second-order method that would take over if that is less: rough, and usually too high.
            With the hinge and the ε-insensitive loss the bounds are infinite, and the primal has no
            method.
        """
        problems, tol = copy.copy(self)._prepared(X, y, sample_weight)
        first = well_stored(problems[0])
        sides: dict[str, Any] = {side: predicted(first, side, tol) for side in ("primal", "dual")}
        for cost in sides.values():
            cost["seconds"] *= len(problems)
        name = starts_with(problems[0], tol)
        return {**sides, "side": SIDE_OF[name], "method": name}

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> tuple[list[Problem], float]:
        """The problems that ``fit`` would solve."""
        raise NotImplementedError

    def densify(self) -> Any:
        """Turn ``coef_`` into a dense array, the default.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = to_dense(self.coef_)
        return self

    def sparsify(self) -> Any:
        """Turn ``coef_`` into a SciPy sparse matrix, which is smaller if most of it is zero.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def save(self, path: Any) -> None:
        """Write the fitted model to a file, without pickle; ``primaldual.load`` reads it.

        Parameters
        ----------
        path : path
            An existing file is replaced when the new one is complete.
        """
        from ..models import save

        check_is_fitted(self)
        save(self, path)

    def _scores(self, X: Any) -> Any:
        """X coef_ᵀ + intercept_, in the precision of X."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        coef = self.coef_ if sparse.issparse(self.coef_) else np.asarray(self.coef_)
        scores = safe_sparse_dot(X, coef.T.astype(X.dtype, copy=False), dense_output=True)
        return np.asarray(scores) + np.asarray(self.intercept_, dtype=scores.dtype)


def as_rows(vectors: list[FloatArray]) -> FloatArray:
    """A matrix with those rows; a single one is not copied."""
    return vectors[0][np.newaxis] if len(vectors) == 1 else np.stack(vectors)


def to_dense(coef: Any) -> Any:
    """An array, whether ``coef`` is one or is sparse."""
    return coef.toarray() if sparse.issparse(coef) else coef


def _sentence(status: Status, reached: bool) -> str:
    """Why the fit stopped, in the estimator's words."""
    if reached:
        return Status.CONVERGED.value
    text = status.value.replace("max_passes", "max_iter")
    return text.replace("the scale of the data and lam", "the scale of the data")


def _history(solutions: list[Solution]) -> dict[str, Any]:
    """One array per quantity, with an entry per check; ``output`` tells the class or target."""
    traces = [solution.result.trace for solution in solutions]

    def joined(columns: list[Any]) -> Any:
        return np.concatenate([np.asarray(column) for column in columns])

    return {
        "output": np.repeat(np.arange(len(traces)), [len(trace) for trace in traces]),
        "iteration": joined([trace.passes for trace in traces]),
        "passes": joined([solution.passes for solution in solutions]),
        "seconds": joined([trace.seconds for trace in traces]),
        "primal": joined([trace.primal for trace in traces]),
        "dual": joined([trace.dual for trace in traces]),
        "relative_gap": joined([trace.relative_gap for trace in traces]),
        "method": joined([trace.methods for trace in traces]),
    }
