"""The search for alpha that ``RidgeCV`` and ``RidgeClassifierCV`` share, and its routing."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import check_scalar
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import _check_method_params

from .._types import FloatArray
from ..problem import Problem
from .checks import InvalidParameterError, require_choice
from .folds import (
    accuracies,
    coefficients_of_determination,
    predictions,
    rows,
    takes_weights,
)
from .left_out import leave_one_out
from .paths import walk
from .threading import in_threads


class Given(NamedTuple):
    """The examples of a fit."""

    X: Any
    y: Any  # targets or labels, as scorers see them
    targets: FloatArray  # numbers, one column per problem
    weights: FloatArray | None
    split: dict[str, Any]  # metadata for the splitter
    score: dict[str, Any]  # and for the scorer


class RidgeSearch:
    """What ``RidgeCV`` and ``RidgeClassifierCV`` share: the search for alpha, and its routing."""

    alphas: Any
    cv: Any
    scoring: Any
    store_cv_results: bool
    fit_intercept: bool
    n_jobs: int | None
    alpha_: Any
    # The scorer without ``scoring``, and parameters that only one of the two has.
    _default_score = "r2"
    gcv_mode: Any = None
    alpha_per_target: bool = False

    def _values(self) -> FloatArray:
        """The values of alpha to try."""
        return np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))

    def _strengths(self) -> Any:
        found = getattr(self, "alpha_", None)
        return self._values() if found is None else found

    def _require_parameters(self) -> None:
        self.__dict__.pop("alpha_", None)
        values = [self.alphas] if np.ndim(self.alphas) == 0 else list(self.alphas)
        if not values:
            raise InvalidParameterError("alphas must have at least one value to try, got none.")
        bounds = "neither" if self.cv is None else "left"
        for index, alpha in enumerate(values):
            name = "alphas" if len(values) == 1 else f"alphas[{index}]"
            check_scalar(alpha, name, numbers.Real, min_val=0.0,
                         include_boundaries=bounds)  # fmt: skip
        super()._require_parameters()  # type: ignore[misc]
        for name in ("store_cv_results", "alpha_per_target"):
            if self.cv is not None and getattr(self, name):
                raise ValueError(
                    f"cv!=None and {name}=True are incompatible: only leave-one-out (cv=None) "
                    "predicts every example once."
                )
        if self.gcv_mode is not None:
            require_choice("gcv_mode", self.gcv_mode, ("auto", "eigen", "svd"))

    # ---- routing of metadata

    def _scorer(self) -> Any:
        """The scorer; without ``scoring`` it asks for the weights where metadata is routed."""
        if _routing_enabled() and self.scoring is None:
            return get_scorer(self._default_score).set_score_request(sample_weight=True)
        return check_scoring(self, scoring=self.scoring, allow_none=True)

    def get_metadata_routing(self) -> Any:
        """Where metadata goes: from ``fit`` to the scorer and to the splitter.

        Returns
        -------
        MetadataRouter
        """
        to_scorer = MethodMapping().add(caller="fit", callee="score")
        to_splitter = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(scorer=self._scorer(), method_mapping=to_scorer)
        router.add(splitter=self.cv, method_mapping=to_splitter)
        return router

    def _routed(self, weights: FloatArray | None, params: dict[str, Any]) -> tuple[Any, Any]:
        """The metadata of the splitter and that of the scorer.

        Without routing the scorer gets the weights if it takes any, as in scikit-learn.
        """
        named = {} if weights is None else {"sample_weight": weights}
        if not _routing_enabled():
            scorer = check_scoring(self, scoring=self.scoring)
            return {}, named if named and takes_weights(scorer) else {}
        routed = process_routing(self, "fit", **named, **params)
        return routed.splitter.split, routed.scorer.score

    # ---- the search

    def _search(self, given: Given) -> None:
        """Set ``alpha_``, ``best_score_`` and the scores they come from."""
        values = self._values()
        score = self._scores_left_out if self.cv is None else self._scores_of_folds
        self.cv_scores_ = score(given, values)  # (folds or targets or 1, values)
        if self._is_per_target(given):
            best = self.cv_scores_.argmax(axis=1)
            self.best_score_ = self.cv_scores_.max(axis=1)
            self.alpha_ = values[best]
            return
        mean = self.cv_scores_.mean(axis=0)
        self.best_score_ = mean.max()
        best = values[mean.argmax()]
        self.alpha_ = float(best) if self.cv is None else best  # scikit-learn's types

    def _is_per_target(self, given: Given) -> bool:
        return self.alpha_per_target and given.targets.shape[1] > 1

    def _scores_left_out(self, given: Given, values: FloatArray) -> FloatArray:
        """One score per alpha, or with ``alpha_per_target`` per target and alpha."""
        mode = self.gcv_mode or "auto"
        if mode == "svd" and sparse.issparse(given.X):
            warnings.warn(
                "The 'svd' mode is not supported for sparse X, which it would make dense: "
                "'eigen' is used in its place. Use gcv_mode='auto', which decides by alpha.",
                FutureWarning,
                stacklevel=4,
            )
            mode = "eigen"
        predicted = leave_one_out(
            given.X, given.targets, values, given.weights, bool(self.fit_intercept), mode
        )
        errors = (given.targets[:, :, None] - predicted) ** 2
        if given.weights is not None:
            errors *= given.weights[:, None, None]
        is_flat = np.ndim(given.y) == 1 and given.targets.shape[1] == 1
        if self.store_cv_results:
            kept = errors if self.scoring is None else predicted
            drop = is_flat and not is_classifier(self)
            self.cv_results_ = (kept[:, 0] if drop else kept).astype(given.X.dtype, copy=False)
        if self.scoring is None:
            if self._is_per_target(given):
                return np.asarray(-errors.mean(axis=0))
            return np.asarray(-errors.mean(axis=(0, 1))[None])
        scorer, judge = self._scorer(), self._judge()
        pages = np.moveaxis(predicted, 2, 0)
        if self._is_per_target(given):
            return np.array([
                [scorer(judge, page[:, k], given.y[:, k], **given.score) for page in pages]
                for k in range(given.targets.shape[1])
            ])  # fmt: skip
        pages = pages[:, :, 0] if is_flat else pages
        return np.array([[scorer(judge, page, given.y, **given.score) for page in pages]])

    def _scores_of_folds(self, given: Given, values: FloatArray) -> FloatArray:
        """One score per fold and alpha."""
        splitter = check_cv(self.cv, given.y, classifier=is_classifier(self))
        folds = splitter.split(given.X, given.y, **given.split)
        scorer = check_scoring(self, scoring=self.scoring)
        if _routing_enabled():
            scorer = self._scorer()
        runs = in_threads(
            lambda fold: self._fold(given, values, scorer, *fold), folds, given.X.size
        )
        return np.array(runs)

    def _fold(
        self, given: Given, values: FloatArray, scorer: Any, train: Any, test: Any
    ) -> list[float]:
        """The scores on the left-out part for every alpha."""
        model = self._blank()
        X = rows(given.X, train)
        weights = None if given.weights is None else given.weights[train]
        found = self._path(X, given.targets[train], weights, values)
        metadata = _check_method_params(X=given.X, params=given.score, indices=test)
        held_out, truth = rows(given.X, test), given.y[test]
        if self.scoring is None and not metadata and not _routing_enabled():
            quick = self._quick_scores(held_out, found, given.targets[test])
            if quick is not None:
                return [float(score) for score in quick]
        scores = []
        for model.coef_, model.intercept_ in found:
            if np.ndim(given.y) == 1 and not is_classifier(self):
                model.coef_, model.intercept_ = model.coef_[0], float(model.intercept_[0])
            scores.append(float(scorer(model, held_out, truth, **metadata)))
        return scores

    def _quick_scores(self, X: Any, found: Any, targets: FloatArray) -> FloatArray | None:
        """The default scores for all alphas by one product; None where it needs a scorer."""
        coefs, intercepts = (np.array(parts) for parts in zip(*found, strict=True))
        scores = predictions(X, coefs, intercepts)
        if not is_classifier(self):
            return coefficients_of_determination(scores, targets)
        if getattr(self, "multilabel_", False):
            return None
        codes = targets[:, 0] > 0 if targets.shape[1] == 1 else targets.argmax(axis=1)
        return accuracies(scores, codes, None)

    def _path(
        self, X: Any, targets: FloatArray, weights: FloatArray | None, values: FloatArray
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Coefficients and intercepts for every alpha, each started where the last ones point."""
        own: Any = self
        offsets = np.zeros(targets.shape[1])
        if self.fit_intercept:
            offsets = np.average(targets, axis=0, weights=weights)
        total = float(len(targets) if weights is None else weights.sum())
        lams = np.array([own._lam(float(value), total, X) for value in values])
        request = own._request()
        found = [
            walk(
                Problem(X, column, "squared", 1.0, weights, bool(self.fit_intercept)),
                lams, request,
            )
            for column in (targets - offsets).T
        ]  # fmt: skip
        return [
            (np.stack([r.w for r in results]), np.array([r.intercept for r in results]) + offsets)
            for results in zip(*found, strict=True)
        ]

    def _settings(self) -> dict[str, Any]:
        """The parameters of the final fit."""
        names = ("fit_intercept", "max_iter", "tol", "random_state", "verbose", "n_jobs", "side",
                 "max_time", "callback")  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def _judge(self) -> Any:
        """An estimator that predicts what it is given."""
        raise NotImplementedError

    def _blank(self) -> Any:
        """An estimator for coefficients found elsewhere."""
        raise NotImplementedError


class AsGiven(RegressorMixin, BaseEstimator):
    """Predicts what it is given as X."""

    def predict(self, X: Any) -> Any:
        """X itself."""
        return X


class LabelsAsGiven(ClassifierMixin, BaseEstimator):
    """Takes what it is given as X for the values of the decision function."""

    def __init__(self, classes: Any, is_multilabel: bool) -> None:
        self.classes_, self.is_multilabel = classes, is_multilabel

    def decision_function(self, X: Any) -> Any:
        """X itself."""
        return X

    def predict(self, X: Any) -> Any:
        """The labels to which those values belong."""
        if self.is_multilabel:
            return (X > 0).astype(int)
        return self.classes_[(X > 0).astype(int) if X.ndim == 1 else X.argmax(axis=1)]
