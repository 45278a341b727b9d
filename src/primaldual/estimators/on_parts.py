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
        results = self._fit_classes(parts) if is_classifier(self) else [self._fit_numbers(parts)]
        self.n_features_in_ = results[0].problem.d
        self.rounds_ = sum(result.rounds for result in results)
        self.bytes_moved_ = sum(result.bytes_moved for result in results)
        self._report(results)
        like = np.empty((0, self.n_features_in_))  # what of X decides on shapes and precision
        self._shape(*((like,) if is_classifier(self) else (like, np.empty(0))))
        return self

    def _fit_classes(self: Any, parts: Parts) -> list[Result]:
        """One problem for two classes, else one per class against the rest."""
        facts = parts.map(fact_of, True)
        self.classes_ = classes_of(facts)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least two classes, got only {self.classes_[0]!r}.")
        if len(self.classes_) > 2 and getattr(self, "multi_class", "ovr") != "ovr":
            raise ValueError(
                f"y has {len(self.classes_)} classes, and the softmax loss is not available on "
                "data in parts. Use multi_class='ovr', one model per class against the rest."
            )
        if self._multi_label:
            self.multilabel_ = False
        if getattr(self, "class_weight", None) is not None:
            # RidgeClassifier counts the examples, as scikit-learn's does, the others their weights.
            sums = np.sum(parts.map(label_weights, self.classes_, not self._multi_label), axis=0)
            codes = np.arange(len(self.classes_))
            by_class = weights_of_classes(self.class_weight, self.classes_, codes, sums)
            parts = parts.then(with_class_weights, self.classes_, by_class)
        labels = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        first = self._problem_on(parts, labels[0])
        problems = [first, *(first.for_class(label) for label in labels[1:])]
        results = self._solve_parts(problems)
        self.coef_ = np.stack([result.w for result in results])
        self.intercept_ = np.array([result.intercept for result in results])
        return results

    def _fit_numbers(self: Any, parts: Parts) -> Result:
        """One problem on targets without their mean, where an intercept takes it up."""
        offset = 0.0
        if self.fit_intercept and self._any_loss().shift_invariant:
            total, weight = np.sum(parts.map(target_sums), axis=0)
            offset = float(total / weight)
            parts = parts.then(without_offset, offset)
        (result,) = self._solve_parts([self._problem_on(parts, None)])
        self.coef_ = result.w[np.newaxis]
        self.intercept_ = np.array([result.intercept + offset])
        return result

    def _problem_on(self: Any, parts: Parts, positive: Any) -> PartsProblem:
        """The problem with λ from ``C`` or ``alpha``."""
        from .base import regularisation

        objective = self._objective(None, None)
        problem = PartsProblem(
            parts, objective.loss, fit_intercept=bool(self.fit_intercept), positive=positive
        )
        value = float(np.max(self._strengths()))
        if np.size(self._strengths()) != 1:
            raise ValueError(f"{self._strength} must be one number on data in parts.")
        lam = regularisation(self._strength, value, problem.total_weight, objective.scale)
        return problem.related(lam)

    def _solve_parts(self: Any, problems: list[PartsProblem]) -> list[Result]:
        """Solve the problems one after the other."""
        deadline = None if self.max_time is None else time.perf_counter() + self.max_time
        starts = self._warm(len(problems), problems[0].d)
        return [
            solve(
                problem, tol=self.tol, max_passes=math.inf, max_iter=self.max_iter,
                max_time=None if deadline is None else max(deadline - time.perf_counter(), 0.0),
                seed=0, side=self._side(), start=start, callback=listener(self, None, None),
            )
            for problem, start in zip(problems, starts, strict=True)
        ]  # fmt: skip

    def _warm(self: Any, rows: int, d: int) -> list[Any]:
        """The last fit's coefficients, if asked for and of the same shape."""
        coef = np.atleast_2d(getattr(self, "coef_", np.empty(0)))
        if not getattr(self, "warm_start", False) or coef.shape != (rows, d):
            return [None] * rows
        return [Start(np.array(w, dtype=np.float64), None, is_guess=True) for w in coef]


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


def target_sums(block: Block) -> FloatArray:
    """Σ_j s_j y_j and Σ_j s_j."""
    y = np.asarray(block.y, dtype=np.float64)
    s = np.ones(len(y)) if block.sample_weight is None else np.asarray(block.sample_weight)
    return np.array([s @ y, s.sum()])


def without_offset(block: Block, offset: float) -> Block:
    """The block with its targets shifted."""
    return block._replace(y=np.asarray(block.y, dtype=np.float64) - offset)
