"""What all estimators share: problems built and solved, attributes set."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from .._cached import cached_property
from .._types import FloatArray
from ..advice import Advice
from ..engine import SIDES
from ..problem import Problem
from ..result import Result, Status
from .callbacks import CallbackSupportMixin
from .checks import require_choice, require_dual, require_number
from .estimating import estimated
from .outcome import Outcome, finishing_side, reason_to_stop
from .solving import Request, problems_on, solve_all

FORMATS = ("csr", "csc", "coo")
# What is made from the outcome of a fit when it is asked for.
ON_REQUEST = ("advice_", "history_")


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


class LinearModel(CallbackSupportMixin, BaseEstimator):
    """The shared part of the estimators; not an estimator by itself."""

    _strength = "C"
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
        values = np.broadcast_to(self._strengths(), len(targets))
        lams = [regularisation(self._strength, float(v), total, objective.scale) for v in values]
        first = Problem(X, targets[0], objective.loss, lams[0], weights, bool(self.fit_intercept))
        return problems_on(first, lams, targets, self._side())

    def _solve_all(
        self,
        problems: list[Any],
        starts: list[Any],
        data: dict[str, Any],
        attributes: Callable[[FloatArray, Any], dict[str, Any]],
    ) -> list[Result]:
        """Solve the problems, in parallel threads if asked to; the same numbers either way."""
        n_jobs = getattr(self, "n_jobs", None)
        return solve_all(self, self._request(), problems, starts, data, attributes, n_jobs)

    def _request(self) -> Request:
        """What the parameters ask of ``solve``."""
        return Request(self.tol, self.max_iter, self.max_time, self._side(), self._seed())

    def _seed(self) -> int:
        """A number from ``random_state``; without one the order of steps is always the same."""
        if getattr(self, "random_state", None) is None:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _starts(self, problems: list[Any], rows: int) -> list[Any]:
        """Where to start: the last fit's coefficients if asked for and of the same shape."""
        if not getattr(self, "warm_start", False) or not hasattr(self, "coef_"):
            return [None] * len(problems)
        coef = np.atleast_2d(to_dense(self.coef_))
        if coef.shape != (rows, problems[0].d) or not np.isfinite(coef).all():
            return [None] * len(problems)
        dual = np.atleast_2d(self.dual_coef_)
        starts = []
        for k, problem in enumerate(problems):
            alpha = dual[k] * (problem.lam * problem.n) if dual.shape[1] == problem.n else None
            if alpha is not None and not np.isfinite(problem.dual(alpha)):
                alpha = None
            starts.append((coef[k], alpha))
        return starts

    def _report(self, results: list[Result]) -> None:
        """Set the attributes that say how the fit went, and warn if it fell short."""
        worst = max(results, key=lambda result: result.certificate.relative_gap)
        gap = worst.certificate.relative_gap
        sides = [finishing_side(result) for result in results]
        self.n_iter_ = max(math.ceil(result.iterations) for result in results)
        self.dual_gap_ = gap
        self.side_ = max(("primal", "dual"), key=sides.count)
        self.stop_reason_ = reason_to_stop(worst.status, gap <= self.tol)
        self._keep(Outcome(results))
        if gap > self.tol and worst.status is not Status.STOPPED:
            warnings.warn(
                f"{type(self).__name__} stopped at a relative duality gap of {gap:.2e}, above "
                f"tol={self.tol:g}. {self.stop_reason_} "
                "The objective is above its minimum by at most that fraction of its value at zero "
                "coefficients. Scaling the features (for example with "
                "sklearn.preprocessing.StandardScaler) or more regularisation makes it faster.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _keep(self, outcome: Outcome) -> None:
        """Keep what is left of a fit, in place of what was left of the one before."""
        for name in ON_REQUEST:
            self.__dict__.pop(name, None)
        self._outcome = outcome

    # ---- before and after fitting

    @cached_property
    def advice_(self) -> Advice:
        """What the theory says about the two sides of the fitted problem."""
        return self._outcome.advice()

    @cached_property
    def history_(self) -> dict[str, Any]:
        """One array per quantity, with an entry per check."""
        return self._outcome.history()

    def __getstate__(self) -> dict[str, Any]:
        """All attributes; those that are made on request in place of what they are made from."""
        state = dict(super().__getstate__())
        if state.pop("_outcome", None) is not None:
            state |= {name: getattr(self, name) for name in ON_REQUEST}
        return state

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
