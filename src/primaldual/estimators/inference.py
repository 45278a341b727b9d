"""Leave-one-out without refitting, and standard errors of the penalised coefficients."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray, IntArray
from ..losses import LOSSES
from ..problem import Problem
from .curvature import Curvature
from .folds import to_dense
from .left_out import leave_one_out

# Coefficients whose own gap is above this, at the default tol, solve another problem: a pair of w
# and α with a gap of tol has a w with one of up to some hundred times tol.
SOLVED, DEFAULT_TOL = 1e-3, 1e-6
# The relative gap to which the models that are compared are solved: the difference between two of
# them is to be that of the data.
EXACT = 1e-12
# Both ends of a normal interval of 95 %, in standard errors.
TWO_SIDED = 1.959963984540054

# Of what the errors are.
WHOSE = "of the penalised estimator: how it varies around its own mean, without its bias"


@dataclass(frozen=True)
class LeftOut:
    """What every example gets from the model fitted without it.

    Attributes
    ----------
    predictions : array of shape (n_samples,) or (n_samples, n_problems)
        Predictions of a regressor, decision values of a classifier.
    exact : bool
        Whether they are exact (quadratic losses) or those of one Newton step each.
    checked : array of int
        The examples for which a model was fitted without them.
    error, typical_error : float
        The largest and the root mean square difference between ``predictions`` and those models;
        0 if exact.
    scale : float
        The standard deviation of ``predictions``, to compare the errors with.
    """

    predictions: FloatArray
    exact: bool
    checked: IntArray
    error: float
    typical_error: float
    scale: float

    def __str__(self) -> str:
        if self.exact:
            return f"leave-one-out, exact, {len(self.predictions)} examples"
        return (
            f"leave-one-out, approximate, {len(self.predictions)} examples; on "
            f"{len(self.checked)} that were fitted again the error is at most {self.error:.2g}, "
            f"typically {self.typical_error:.2g}, where predictions vary by {self.scale:.2g}"
        )


def loo(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    refits: int = 10,
    random_state: Any = 0,
) -> LeftOut:
    """Leave-one-out predictions from one fit.

    Exact for the squared loss, by one decomposition; for other smooth losses by one Newton step
    per example from the factored Hessian, with the error found on a sample that is fitted again.

    Parameters
    ----------
    estimator : estimator
        One of this library's with a smooth loss and one problem per class or target; a clone of it
        is fitted. For the choice of C or alpha use ``LogisticRegressionCV(cv="loo")``, ``RidgeCV``.
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,) or, for ``Ridge``, (n_samples, n_targets)
    sample_weight : array of shape (n_samples,), optional
        An example is left out with all its weight.
    refits : int, default=10
        Models to fit for the estimate of the error, where there is one.
    random_state : int, RandomState or None
        Which examples are fitted again.

    Returns
    -------
    LeftOut

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from primaldual import LogisticRegression, loo
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = loo(LogisticRegression(C=0.1), scale(X), y)
    >>> found.error < 0.05 * found.scale
    True
    >>> round(float(((found.predictions > 0) == y).mean()), 3)
    0.977
    """
    model = clone(estimator).set_params(tol=min(estimator.tol, EXACT))
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    y = np.asarray(y)
    model.fit(X, y, sample_weight)
    problems = smooth_problems(model, X, y, sample_weight)
    coefs = np.atleast_2d(model.coef_)
    exact = all(problem.loss.quadratic for problem in problems)
    moves = [shifts(p, w, exact) for p, w in zip(problems, coefs, strict=True)]
    fitted = scores_of(model, X)
    found = fitted + np.stack(moves, axis=1).reshape(fitted.shape)
    checked: IntArray = np.empty(0, dtype=np.int64)
    apart: FloatArray = np.zeros(1)
    if not exact:
        weights = np.broadcast_to(1.0 if sample_weight is None else sample_weight, len(y))
        checked = _sample(model, y, weights, refits, random_state)
        apart = np.array([found[j] - _refitted(model, X, y, weights, int(j)) for j in checked])
    worst, square = np.abs(apart).max(initial=0.0), np.mean(apart**2) if apart.size else 0.0
    return LeftOut(found, exact, checked, float(worst), math.sqrt(square), float(found.std()))


def smooth_problems(model: Any, X: Any, y: Any, sample_weight: Any) -> list[Problem]:
    """The problems of a fitted model, one per row of ``coef_``; refused where there is no Hessian.

    Each has one vector of coefficients and a smooth loss.
    """
    name = type(model).__name__
    if hasattr(model, "cv"):
        raise TypeError(f"expected a model with its C or alpha chosen, got a {name}.")
    if hasattr(model, "scale_"):
        raise TypeError(
            f"{name} fits its scale as well, of which this knows nothing. Use LinearRegressor with "
            "loss=primaldual.LOSSES['huber'](threshold)."
        )
    if hasattr(model, "_is_softmax") and model._is_softmax():
        raise TypeError(
            "the softmax loss has one Hessian for all classes, which is not factored here. Use "
            "LogisticRegression(multi_class='ovr')."
        )
    if getattr(model, "penalty_weights", None) is not None:
        raise TypeError(
            f"{name} has a penalty per feature, of which the Hessian here knows nothing. Use "
            "penalty_weights=None, with the columns of X divided by the roots of the weights."
        )
    problems = copy.copy(model)._prepared(X, y, sample_weight)
    if not problems[0].is_smooth:
        raise TypeError(
            f"the loss of {name} has kinks, where a Hessian says nothing. Use a smooth loss."
        )
    for problem, w in zip(problems, np.atleast_2d(to_dense(model.coef_)), strict=True):
        gap = problem.certify(np.asarray(w, dtype=np.float64)).relative_gap
        if gap > max(SOLVED, SOLVED * model.tol / DEFAULT_TOL):
            raise ValueError(
                f"coef_ is no solution for this X and y: its relative gap is {gap:.1e}. Give the "
                "data of the fit; an offset or prior that it was given is not known here."
            )
    return list(problems)


def shifts(problem: Problem, w: FloatArray, exact: bool) -> FloatArray:
    """By how much the margin of each example moves when it is left out."""
    if not exact:
        return Curvature(problem, w).shifts()
    z = problem.margins(w)
    z += problem.best_intercept(z)
    left_out = leave_one_out(
        problem.matrix.densified().by_example.values, problem.y[:, None],
        np.array([problem.lam * problem.n]), problem.sample_weight, problem.fit_intercept,
    )  # fmt: skip
    return np.asarray(left_out[:, 0, 0] - z)


def left_out_margins(problems: list[Problem], coefs: Any, intercepts: Any) -> FloatArray:
    """The margins of all examples, each by the model without it (approximate)."""
    found = [
        problem.margins(w) + b + shifts(problem, w, False)
        for problem, w, b in zip(problems, coefs, intercepts, strict=True)
    ]
    return found[0] if len(found) == 1 else np.stack(found, axis=1)


def with_margins(model: Any, margins: FloatArray) -> None:
    """Let a model have these decision values, which are known already, for the data at hand."""

    def decision_function(X: Any) -> FloatArray:  # scorers ask for its name
        return margins

    model.decision_function = decision_function


def scores_of(model: Any, X: Any) -> FloatArray:
    """Decision values of a classifier, predictions of a regressor."""
    return np.asarray(model.decision_function(X) if is_classifier(model) else model.predict(X))


def _sample(model: Any, y: Any, weights: FloatArray, count: int, random_state: Any) -> Any:
    """Examples to leave out: of those with weight, and not the only one of a class."""
    usable = weights > 0
    if is_classifier(model):
        _, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
        usable &= sizes[codes] > 1
    candidates = np.flatnonzero(usable)
    rng = check_random_state(random_state)
    return np.sort(rng.choice(candidates, min(count, len(candidates)), replace=False))


def _refitted(model: Any, X: Any, y: Any, weights: FloatArray, j: int) -> FloatArray:
    """What example j gets from a model fitted without it."""
    rest = np.arange(len(y)) != j
    other = clone(model).fit(X[rest], y[rest], weights[rest])
    return np.asarray(scores_of(other, X[[j]])[0])


# --- standard errors ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """The coefficients of one problem, the intercept last, and their standard errors."""

    label: str
    names: list[str]
    coef: FloatArray
    model_error: FloatArray  # Laplace; NaN where the loss is no likelihood
    sandwich_error: FloatArray
    freedom: float  # the effective number of parameters


class Summary:
    """A table of coefficients with standard errors, which are those of the penalised estimator.

    Attributes
    ----------
    blocks : list of Block
        One per class or target.
    """

    def __init__(self, title: str, blocks: list[Block], has_errors: bool) -> None:
        self.title, self.blocks, self.has_errors = title, blocks, has_errors

    def rows(self) -> list[dict[str, Any]]:
        """One dict per coefficient, as for ``pandas.DataFrame``."""
        found = []
        for block in self.blocks:
            columns = (block.names, block.coef, block.model_error, block.sandwich_error)
            for name, coef, own, robust in zip(*columns, strict=True):
                row = {"problem": block.label, "name": name, "coef": float(coef)}
                if self.has_errors:
                    row |= {"model_se": float(own), "sandwich_se": float(robust)}
                    row |= {"low": coef - TWO_SIDED * robust, "high": coef + TWO_SIDED * robust}
                found.append(row)
        return found

    def __str__(self) -> str:
        lines = [self.title]
        if self.has_errors:
            lines += [f"standard errors {WHOSE};", "the interval is that of the sandwich, 95 %"]
        width = max(len(row["name"]) for row in self.rows())
        for block in self.blocks:
            known = [row for row in self.rows() if row["problem"] == block.label]
            head = [block.label.ljust(width), f"{'coef':>11}"]
            if self.has_errors:
                head += [f"{name:>11}" for name in ("model se", "sandwich se", "low", "high")]
            lines.append(" ".join(head))
            for row in known:
                numbers = [value for key, value in row.items() if key not in ("problem", "name")]
                cells = (f"{value:11.4g}" for value in numbers)
                lines.append(" ".join([row["name"].ljust(width), *cells]))
            if self.has_errors:
                lines.append(f"effective number of parameters: {block.freedom:.4g}")
        return "\n".join(lines)

    __repr__ = __str__


class Inference:
    """``summary``, for all estimators."""

    def summary(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Summary:
        """A table of the coefficients by name; with the training data, their standard errors.

        The errors are those of the penalised estimator: its variance around its own mean, which
        the penalty moves towards 0. Without a penalty they are those of maximum likelihood.
        Two kinds: of the model (Laplace, the inverse Hessian; for the squared loss times the
        variance of the residuals), for logistic regression and least squares on numbers; and the
        sandwich (HC0), for any smooth loss and also if the model is wrong.

        Parameters
        ----------
        X, y, sample_weight : optional
            What the model was fitted on, which it does not keep. A weight of 2 is the same as the
            example twice.

        Returns
        -------
        Summary
        """
        check_is_fitted(self)
        model: Any = self
        coefs = np.atleast_2d(to_dense(model.coef_)).astype(np.float64)
        intercepts = np.broadcast_to(model.intercept_, len(coefs))
        names = getattr(model, "feature_names_in_", None)
        names = [f"x{k}" for k in range(coefs.shape[1])] if names is None else list(names)
        if model.fit_intercept:
            names = [*names, "intercept"]
            coefs = np.column_stack([coefs, intercepts])
        unknown = np.full(coefs.shape, math.nan)
        errors = (unknown, unknown, np.full(len(coefs), math.nan))
        if X is not None:
            errors = _errors(model, X, y, sample_weight)
        blocks = [
            Block(label, names, *parts)
            for label, *parts in zip(_labels(model, len(coefs)), coefs, *errors, strict=True)
        ]
        title = f"{type(self).__name__}, relative duality gap {model.dual_gap_:.2g}"
        return Summary(title, blocks, X is not None)


def _labels(model: Any, count: int) -> list[str]:
    """The names of the problems: classes, or targets."""
    if hasattr(model, "classes_"):
        return [str(label) for label in (model.classes_[1:] if count == 1 else model.classes_)]
    return ["target"] if count == 1 else [f"target {k}" for k in range(count)]


def _errors(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Standard errors by the model and by the sandwich, and effective numbers of parameters."""
    problems = smooth_problems(model, X, y, sample_weight)
    own, robust, freedom = [], [], []
    weights = copy.copy(model)._read(X, y, sample_weight)[2]  # those of classes as well
    total = float(problems[0].n if weights is None else weights.sum())
    for problem, w in zip(problems, np.atleast_2d(to_dense(model.coef_)), strict=True):
        found = Curvature(problem, np.asarray(w, dtype=np.float64), on_features=True)
        inverse, sandwich = found.covariances()
        size = problem.n / total  # of a weight's unit
        freedom.append(found.freedom())
        variance = math.nan
        if problem.loss.quadratic and not is_classifier(model):
            squares = float(problem.sample_weight @ found.squares) / size
            variance = squares / (total - freedom[-1]) if total > freedom[-1] else math.nan
        elif isinstance(problem.loss, LOSSES["logistic"]):
            variance = 1.0
        own.append(np.sqrt(variance * size * np.diag(inverse)))
        robust.append(np.sqrt(size * np.diag(sandwich)))
    return own, robust, freedom
