"""Estimators on data in parts: the same parameters and attributes, fitted in rounds of sums."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._types import FloatArray
from ..parts import Block, Parts
from ..parts.collections import as_parts
from ..problem.on_parts import PartsProblem, classes_of
from ..problem.one_part import fact_of
from ..problem.softmax_on_parts import PartsMultinomial
from ..result import Result
from ..solver import Start, solve
from .checks import weights_of_classes
from .solving import listener


class OnParts:
    """The door of the estimators for data in parts; not an estimator by itself."""

    def _fit_parts(self: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        """Fit on a Dask collection, a list of delayed blocks or parts."""
        self._require_parameters()
        parts = as_parts(X, y, sample_weight)
        self.__dict__.pop("dual_coef_", None)  # of an earlier fit in memory
        results = self._fit_classes(parts) if is_classifier(self) else self._fit_numbers(parts)
        self.n_features_in_ = results[0].problem.d
        self.rounds_ = sum(result.rounds for result in results)
        self.bytes_moved_ = sum(result.bytes_moved for result in results)
        self._report(results)
        like = np.empty((0, self.n_features_in_))  # what of X decides on shapes and precision
        one = is_classifier(self) or results[0].problem.column is None
        self._shape(
            *((like,) if is_classifier(self) else (like, np.empty((0,) if one else (0, 0))))
        )
        return self

    def _fit_classes(self: Any, parts: Parts) -> list[Result]:
        """One problem for two classes, else one per class against the rest."""
        facts = parts.map(fact_of, True)
        self.classes_ = classes_of(facts)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least two classes, got only {self.classes_[0]!r}.")
        if self._multi_label:
            self.multilabel_ = False
        if getattr(self, "class_weight", None) is not None:
            # RidgeClassifier counts the examples, as scikit-learn's does, the others their weights.
            sums = np.sum(parts.map(label_weights, self.classes_, not self._multi_label), axis=0)
            codes = np.arange(len(self.classes_))
            by_class = weights_of_classes(self.class_weight, self.classes_, codes, sums)
            parts = parts.then(with_class_weights, self.classes_, by_class)
        if len(self.classes_) > 2 and getattr(self, "multi_class", "ovr") != "ovr":
            return self._fit_softmax(parts)
        labels = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        first = self._problem_on(parts, labels[0])
        problems = [first, *(first.for_class(label) for label in labels[1:])]
        results = self._solve_parts(problems)
        self.coef_ = np.stack([result.w for result in results])
        self.intercept_ = np.array([result.intercept for result in results])
        return results

    def _fit_softmax(self: Any, parts: Parts) -> list[Result]:
        """One problem for all classes."""
        problem = PartsMultinomial(parts, 1.0, bool(self.fit_intercept))
        (result,) = self._solve_parts([self._with_lam(problem, 0, 1.0)])
        self.coef_, self.intercept_ = np.array(result.w), np.array(result.intercept)
        return [result]

    def _fit_numbers(self: Any, parts: Parts) -> list[Result]:
        """One problem per target, without their means where an intercept takes them up."""
        totals, weights, columns = zip(*parts.map(target_sums), strict=True)
        count, offsets = columns[0], np.zeros(len(totals[0]))
        if self.fit_intercept and self._any_loss().shift_invariant:
            offsets = np.sum(totals, axis=0) / np.sum(weights)
            parts = parts.then(without_offset, offsets)
        if count is not None and not self._multi_output:
            raise ValueError(
                f"y must hold one number per example for {type(self).__name__}, got {count} "
                "columns."
            )
        first = self._problem_on(parts, None, None if count is None else 0)
        problems = [first, *(first.for_target(k) for k in range(1, count or 1))]
        if np.size(self._strengths()) not in (1, len(problems)):
            raise ValueError(
                f"Number of targets and number of penalties do not correspond: got "
                f"{np.size(self._strengths())} values of {self._strength} for {len(problems)} "
                "targets."
            )
        scale = self._objective(None, None).scale
        problems = [self._with_lam(each, k, scale) for k, each in enumerate(problems)]
        results = self._solve_parts(problems, offsets)
        self.coef_ = np.stack([result.w for result in results])
        self.intercept_ = np.array([result.intercept for result in results]) + offsets
        return results

    def _problem_on(
        self: Any, parts: Parts, positive: Any, column: int | None = None
    ) -> PartsProblem:
        """The problem with λ from ``C`` or ``alpha``, of the first class or target."""
        objective = self._objective(None, None)
        intercept = bool(self.fit_intercept)
        problem = PartsProblem(parts, objective.loss, 1.0, intercept, positive, column)
        return self._with_lam(problem, 0, objective.scale)

    def _with_lam(self: Any, problem: Any, number: int, scale: float) -> Any:
        """The problem with λ from ``C`` or ``alpha``, of which there may be one per target."""
        from .base import regularisation
        from .mean_loss import MeanLoss

        values = np.ravel(self._strengths())
        if is_classifier(self) and len(values) != 1:
            raise ValueError(f"{self._strength} must be one number on data in parts.")
        value = float(values[number % len(values)])
        if isinstance(self, MeanLoss):
            return problem.related(value)
        return problem.related(regularisation(self._strength, value, problem.total_weight, scale))

    def _solve_parts(self: Any, problems: list[PartsProblem], offsets: Any = 0.0) -> list[Result]:
        """Solve the problems one after the other."""
        deadline = None if self.max_time is None else time.perf_counter() + self.max_time
        starts = self._warm(problems, offsets)
        return [
            solve(
                problem, tol=self.tol, max_passes=math.inf, max_iter=self.max_iter,
                max_time=None if deadline is None else max(deadline - time.perf_counter(), 0.0),
                seed=0, side=self._side(), start=start, callback=listener(self, None, None),
            )
            for problem, start in zip(problems, starts, strict=True)
        ]  # fmt: skip

    def _warm(self: Any, problems: list[PartsProblem], offsets: Any) -> list[Any]:
        """The last fit's coefficients, if asked for and of the same shape."""
        from .base import to_dense

        coef = np.array(to_dense(getattr(self, "coef_", np.empty(0))), dtype=np.float64)
        shape = problems[0].shapes[0]
        rows = coef.reshape(-1, *shape) if coef.size == len(problems) * math.prod(shape) else ()
        if not getattr(self, "warm_start", False) or not len(rows) or not np.isfinite(coef).all():
            return [None] * len(problems)
        if self.fit_intercept:
            near = np.broadcast_to(self.intercept_ - offsets, (len(problems), *shape[:-1]))
            for problem, b in zip(problems, near, strict=True):
                problem.near = np.array(b, dtype=np.float64)
        return [Start(w.copy(), None, is_guess=True) for w in rows]


# --------------------------------------------------------------------------------------------
# Steps


def label_weights(block: Block, classes: Any, weighted: bool) -> FloatArray:
    """The weight of every class in one block, or the number of its examples."""
    codes = np.searchsorted(classes, block.y)
    weights = block.sample_weight if weighted else None
    return np.bincount(codes, weights=weights, minlength=len(classes)).astype(float)


def with_class_weights(block: Block, classes: Any, by_class: FloatArray) -> Block:
    """The block with its weights times those of the classes."""
    weights = by_class[np.searchsorted(classes, block.y)]
    own = block.sample_weight
    return block._replace(sample_weight=weights if own is None else own * weights)


def target_sums(block: Block) -> tuple[FloatArray, float, int | None]:
    """Σ_j s_j y_j of every target, Σ_j s_j, and the columns of y if it has two dimensions."""
    y = np.asarray(block.y, dtype=np.float64)
    s = np.ones(len(y)) if block.sample_weight is None else np.asarray(block.sample_weight)
    return np.atleast_1d(s @ y), float(s.sum()), y.shape[1] if y.ndim == 2 else None


def without_offset(block: Block, offsets: FloatArray) -> Block:
    """The block with its targets shifted."""
    y = np.asarray(block.y, dtype=np.float64)
    return block._replace(y=y - (offsets if y.ndim == 2 else offsets[0]))
