"""What all estimators share: problems built and solved, attributes set."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from .._cached import cached_property
from .._in_memory import require_in_memory
from .._types import FloatArray
from .._warn import warn_user
from ..advice import Advice
from ..engine import SIDES
from ..problem import Problem
from ..result import Result, Status, summary
from . import unpenalised
from .callbacks import CallbackSupportMixin
from .checks import (
    InvalidParameterError,
    is_plain,
    require_choice,
    require_number,
    require_strength,
    require_switches,
)
from .estimating import estimated
from .folds import to_dense
from .inference import Inference
from .known import problems_with
from .on_parts import OnParts
from .outcome import Outcome, reason_to_stop
from .solving import Request, problems_on, solve_all, solve_one

FORMATS = ("csr", "csc", "coo")
# What is made from the outcome of a fit when it is asked for.
ON_REQUEST = ("advice_", "history_", "certified_")


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
    known: Any = None  # offset, prior and penalty, by name


class LinearModel(Inference, OnParts, CallbackSupportMixin, BaseEstimator):
    """The shared part of the estimators; not an estimator by itself."""

    _strength = "C"
    _may_vanish = False  # whether the regularisation may be left out
    _has_classes = False
    _certifies = True  # whether the gap is that of the coefficients
    _follows_precision = False  # whether float32 data gives float32 coefficients
    coef_: Any
    dual_coef_: Any
    intercept_: Any
    _outcome: Outcome

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        raise NotImplementedError

    def _strengths(self) -> Any:
        """The value of ``C`` or ``alpha``, or several of them."""
        return getattr(self, self._strength)

    def _side(self) -> str:
        """Where to solve: ``side``, or what is said in its place."""
        return str(self.side)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- fitting

    def _require_parameters(self) -> None:
        """Raise if a parameter is out of range; the parameters themselves are left alone."""
        for value in np.atleast_1d(np.asarray(self._strengths(), dtype=object)):
            require_strength(self._strength, value, self._may_vanish)
        require_number("tol", self.tol)
        if self.max_iter is not None:
            require_number("max_iter", self.max_iter)
        if self.max_time is not None:
            require_number("max_time", self.max_time)
        if getattr(self, "epsilon", None) is not None:
            require_number("epsilon", self.epsilon)
        require_choice("side", self.side, SIDES)
        require_switches(self)
        if self.callback is not None and not callable(self.callback):
            raise InvalidParameterError(
                f"callback must be callable or None, got {self.callback!r}."
            )

    def _checked(self, X: Any, y: Any = "no_validation", reset: bool = True, **options: Any) -> Any:
        """X (and y) as arrays in their own layout and precision, copied only if they must be."""
        looked_at_later = options.get("ensure_all_finite") is False
        if (
            reset and looked_at_later and is_plain(X, y)
        ):  # the usual case, in which scikit-learn changes nothing
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        require_in_memory(X)
        return validate_data(
            self, X, y, reset=reset, accept_sparse=FORMATS, dtype=(np.float64, np.float32),
            **options,
        )  # fmt: skip

    def _problems(
        self, X: Any, targets: list[FloatArray], weights: FloatArray | None, objective: Objective
    ) -> list[Problem]:
        """One problem per column of targets, on the same data."""
        total = float(len(targets[0]) if weights is None else weights.sum())
        given = self._strengths()
        values = [given] if np.ndim(given) == 0 else np.broadcast_to(given, len(targets))
        lams = [self._lam(float(value), total, X, objective.scale) for value in values]
        lams = lams * len(targets) if len(lams) == 1 else lams
        if objective.known:
            if any(self._bare(len(targets))):
                raise ValueError(
                    "a prior and a penalty of each feature need a regularisation, got "
                    f"{self._strength}={self._strengths()!r}."
                )
            intercept = bool(self.fit_intercept)
            return problems_with(
                objective.known, X, targets, objective.loss, lams, weights, intercept
            )
        first = self._first_problem(X, targets[0], objective.loss, lams[0], weights)
        return [first] if len(targets) == 1 else problems_on(first, lams, targets, self._side())

    def _lam(self, value: float, total: float, X: Any, loss_scale: float = 1.0) -> float:
        """λ, next to nothing without regularisation."""
        if value == (math.inf if self._strength == "C" else 0.0):
            return unpenalised.tiny_lam(X)
        return regularisation(self._strength, value, total, loss_scale)

    def _bare(self, count: int) -> list[bool]:
        """For every one of ``count`` problems, whether it has no regularisation."""
        nothing, given = math.inf if self._strength == "C" else 0.0, self._strengths()
        if isinstance(given, float | int):
            return [given == nothing] * count
        return [value == nothing for value in np.broadcast_to(given, count)]

    def _first_problem(
        self, X: Any, targets: FloatArray, loss: Any, lam: float, weights: FloatArray | None
    ) -> Problem:
        """The problem of the first column of targets."""
        # The examples of a class may all have weight zero.
        some_absent = self._has_classes and weights is not None and weights.min() == 0
        make = Problem.of_signs if some_absent else Problem
        return make(X, targets, loss, lam, weights, bool(self.fit_intercept))

    def _solve_all(
        self,
        problems: list[Any],
        starts: list[Any],
        data: dict[str, Any],
        attributes: Callable[[FloatArray, Any], dict[str, Any]] | None,
    ) -> list[Result]:
        """Solve the problems, in parallel threads if asked to; the same numbers either way."""
        return solve_all(self, self._request(), problems, starts, data, attributes, solve_one)

    def _request(self) -> Request:
        """What the parameters ask of ``solve``."""
        seed, n_jobs = 0, getattr(self, "n_jobs", None)  # the order of steps is always the same
        if getattr(self, "random_state", None) is not None:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return Request(self.tol, self.max_iter, self.max_time, self._side(), seed, n_jobs)

    def _starts(self, problems: list[Any], rows: int) -> list[Any]:
        """Where to start: the last fit's coefficients if asked for and of the same shape."""
        if not getattr(self, "warm_start", False) or not hasattr(self, "coef_"):
            return [None] * len(problems)
        coef = np.atleast_2d(to_dense(self.coef_))
        if coef.shape != (rows, problems[0].d) or not np.isfinite(coef).all():
            return [None] * len(problems)
        dual = np.atleast_2d(getattr(self, "dual_coef_", np.empty(0)))  # files may leave it out
        starts = []
        for k, problem in enumerate(problems):
            alpha = dual[k] * (problem.lam * problem.n) if dual.shape[1] == problem.n else None
            if alpha is not None and not np.isfinite(problem.dual(alpha)):
                alpha = None
            starts.append((coef[k], alpha))
        return starts

    def _report(self, results: list[Result]) -> None:
        """Set the attributes that say how the fit went, and warn if it fell short."""
        bare = self._bare(len(results))
        gaps = [
            unpenalised.relative_gap(result) if alone else result.certificate.relative_gap
            for result, alone in zip(results, bare, strict=True)
        ]
        gap = max(gaps)
        worst = results[gaps.index(gap)]
        self._conclude(results, worst, gap, reason_to_stop(worst.status, gap <= self.tol))

    def _conclude(self, results: list[Result], worst: Result, gap: float, reason: str) -> None:
        """Set what is reported, and warn if the gap is above ``tol``."""
        sides = [result.side for result in results]
        self.n_iter_ = self._counted([math.ceil(result.iterations) for result in results])
        self.dual_gap_ = gap
        self.side_ = max(("primal", "dual"), key=sides.count)
        self.stop_reason_ = reason
        self._keep(Outcome(results, self.tol))
        if gap > self.tol and worst.status is not Status.STOPPED:
            warn_user(
                f"{type(self).__name__} stopped at a relative duality gap of {gap:.2e}, above "
                f"tol={self.tol:g}. {self.stop_reason_} "
                "The objective is above its minimum by at most that fraction of its value at zero "
                "coefficients. Scaling the features (for example with "
                "sklearn.preprocessing.StandardScaler) or more regularisation makes it faster.",
                ConvergenceWarning,
            )

    def _counted(self, iterations: list[int]) -> Any:
        """``n_iter_`` in scikit-learn's type, from the iterations of every problem."""
        return max(iterations)

    def _rounded(self, X: Any) -> None:
        """Give ``coef_`` and ``intercept_`` the precision of X, as scikit-learn's class does."""
        if X.dtype == np.float32 and self._follows_precision:
            self.coef_ = np.asarray(self.coef_, dtype=np.float32)
            if self.fit_intercept or np.ndim(self.intercept_):
                self.intercept_ = np.asarray(self.intercept_, dtype=np.float32)[()]

    def _warn_of_obstacles(self, X: Any, results: list[Result]) -> None:
        """Warn if an unpenalised fit has no optimum, or no unique one."""
        for result, alone in zip(results, self._bare(len(results)), strict=True):
            if not alone:
                continue
            reason = unpenalised.obstacle(X, result, bool(self.fit_intercept))
            if reason is not None:
                name = type(self).__name__
                warn_user(f"{name}: {reason}", ConvergenceWarning)
                return

    def _keep(self, outcome: Outcome) -> None:
        """Keep what is left of a fit, in place of what was left of the one before."""
        for name in ON_REQUEST:
            self.__dict__.pop(name, None)
        self._outcome = outcome

    def _html_repr(self) -> str:
        """scikit-learn's box, below a line on how the fit went."""
        box: str = super()._html_repr()
        return box if not hasattr(self, "dual_gap_") else f"<p>{escape(self._summary())}</p>\n{box}"

    def _summary(self) -> str:
        """The fit in one line; without passes and seconds if it was read from a file."""
        if not hasattr(self, "history_"):
            return f"{self.side_} side: certified gap {self.dual_gap_:.2e} of P(0)"
        history = self.history_
        ends = np.flatnonzero(np.diff(history["output"], append=-1))
        passes, seconds = (history[name][ends].sum() for name in ("passes", "seconds"))
        methods = ", ".join(dict.fromkeys(history["method"][ends].tolist()))
        return summary(self.side_, methods, passes, seconds, self.dual_gap_)

    # ---- before and after fitting

    @cached_property
    def advice_(self) -> Advice:
        """The verdict on the two sides of the fitted problem, and what the theory says of them."""
        return self._outcome.advice()

    @cached_property
    def certified_(self) -> dict[str, Any]:
        """How far the optimum may be: radius, and low and high of the intercept's distance."""
        if self._certifies and not any(self._bare(np.size(self._strengths()))):
            return self._outcome.certified()
        raise AttributeError(
            f"{type(self).__name__} has no certified predictions"
            + (" without a regularisation." if self._certifies else ".")
        )

    @cached_property
    def history_(self) -> dict[str, Any]:
        """One array per quantity, with an entry per check."""
        return self._outcome.history()

    def __getstate__(self) -> dict[str, Any]:
        """All attributes as plain data and arrays, so that files need trust no class but this.

        Those that are made on request take the place of what they are made from.
        """
        state = dict(super().__getstate__())
        if state.pop("_outcome", None) is not None:
            state |= {name: getattr(self, name) for name in ON_REQUEST if hasattr(self, name)}
        if isinstance(state.get("advice_"), Advice):
            state["advice_"] = state["advice_"].plain()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = state.get("advice_")
        if isinstance(kept, dict):
            state = {**state, "advice_": Advice.of_plain(kept)}
        super().__setstate__(state)

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
            They are those of ``advise``: ``"price"`` is the seconds per pass. With the hinge and
            the ε-insensitive loss the primal has no method.
        """
        problems = copy.copy(self)._prepared(X, y, sample_weight)
        return estimated(problems[0], self.tol, len(problems))

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> list[Problem]:
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

    def save(self, path: Any, *, dual: bool = False) -> None:
        """Write the fitted model to a file, without pickle; ``primaldual.load`` reads it.

        Parameters
        ----------
        path : path
            An existing file is replaced when the new one is complete.
        dual : bool
            Keep ``dual_coef_`` as well, which has a number for each training example.
        """
        from ..models import save

        check_is_fitted(self)
        save(self, path, dual=dual)

    def _scores(self, X: Any) -> Any:
        """X coef_ᵀ + intercept_, in the higher precision of X and ``coef_``."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        coef = self.coef_ if sparse.issparse(self.coef_) else np.asarray(self.coef_)
        return np.asarray(safe_sparse_dot(X, coef.T, dense_output=True)) + self.intercept_


def as_rows(vectors: list[FloatArray]) -> FloatArray:
    """A matrix with those rows; a single one is not copied."""
    return vectors[0][np.newaxis] if len(vectors) == 1 else np.stack(vectors)
