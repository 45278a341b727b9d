"""What the classifiers share: labels, class weights, one problem per class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from .._types import FloatArray
from ..parts.collections import by_block, is_collection
from .base import LinearModel, as_rows
from .callbacks import with_callbacks
from .certified import CertifiedLabels
from .checks import checked_weights, weights_of_classes
from .known import known_of, require_none
from .threading import threaded

# The kinds of arrays that hold class labels whatever their values are.
DISCRETE = "iubUS"


class LinearClassifierBase(CertifiedLabels, LinearClassifierMixin, LinearModel):
    """The shared part of the classifiers; not an estimator by itself."""

    _multi_label = False
    _has_classes = True

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    @threaded
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, prior: Any = None
    ) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 is the same as the example twice.
        offset : array of shape (n_samples,), optional
            The known part o_j of the scores ⟨x_j, w⟩ + b + o_j. ``predict`` leaves it out.
        prior : fitted model or array like ``coef_``, optional
            Coefficients to shrink towards in the place of 0; those of a model like this one.

        Returns
        -------
        self
        """
        if is_collection(X):
            require_none("data in parts", offset, prior)
            return self._fit_parts(X, y, sample_weight)
        given = {"sample_weight": sample_weight, "offset": offset, "prior": prior}
        metadata = {name: value for name, value in given.items() if value is not None}
        data = {"X": X, "y": y, "metadata": metadata or None}
        X, codes, weights = self._read(X, y, sample_weight)
        known = known_of(self, len(codes), offset, prior)
        if known:
            self._train_known(X, codes, weights, data, known)
        else:
            self._train(X, codes, weights, data)
        self._shape(X)
        return self

    def _shape(self, X: Any) -> None:
        """Give the attributes the shapes and types that scikit-learn's class has."""
        self._rounded(X)

    def _train(self, X: Any, codes: Any, weights: FloatArray | None, data: dict[str, Any]) -> None:
        """Solve one problem per column of targets and set the attributes."""
        self._train_known(X, codes, weights, data, {})

    def _train_known(
        self,
        X: Any,
        codes: Any,
        weights: FloatArray | None,
        data: dict[str, Any],
        known: dict[str, Any],
    ) -> None:
        """The same with offsets, a prior or a penalty per feature."""
        columns = self._targets(codes)
        objective = self._objective(columns, weights)._replace(known=known)
        problems = self._problems(X, columns, weights, objective)
        starts = self._starts(problems, len(problems))
        results = self._solve_all(problems, starts, data, self._described)
        self.coef_ = as_rows([result.w for result in results])
        self.intercept_ = np.array([result.intercept for result in results])
        self.dual_coef_ = as_rows([r.alpha / (r.problem.lam * r.problem.n) for r in results])
        self._report(results)
        self._warn_of_obstacles(X, results)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, FloatArray | None]:
        """The data checked, the labels as 0, 1, …, and the weights of examples and classes."""
        self._require_parameters()
        # Whether X is finite is for the problem to look at, which counts its nonzeros as well.
        X, y = self._checked(X, y, multi_output=self._multi_label, ensure_all_finite=False)
        if y.ndim != 1 or y.dtype.kind not in DISCRETE:
            check_classification_targets(y)
        weights = checked_weights(sample_weight, X.shape[0])
        codes = self._codes(y, weights)
        if self.class_weight is None:
            return X, codes, weights
        return X, codes, self._with_class_weights(codes, weights)

    def _codes(self, y: Any, weights: FloatArray | None) -> Any:
        """The labels as 0, 1, …, their place in ``classes_``."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {self.classes_[0]!r}."
            )
        return codes

    def _with_class_weights(self, codes: Any, weights: FloatArray | None) -> FloatArray | None:
        """The examples' weights times those of their classes."""
        own = np.ones(len(codes)) if weights is None else weights
        by_class = weights_of_classes(self.class_weight, self.classes_, codes, own)
        return checked_weights(own * by_class[codes], len(codes))

    def _targets(self, codes: Any) -> list[FloatArray]:
        """−1 and +1: one column for two classes, otherwise each class against the rest."""
        if len(self.classes_) == 2:
            return [np.where(codes == 1, 1.0, -1.0)]
        return [np.where(codes == k, 1.0, -1.0) for k in range(len(self.classes_))]

    def _described(self, w: FloatArray, intercept: Any) -> dict[str, Any]:
        """A fitted model's attributes at an iterate, for callbacks."""
        return {
            "coef_": np.atleast_2d(w).copy(),
            "intercept_": np.atleast_1d(intercept),
            "classes_": self.classes_,
        }

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> list[Any]:
        return self._one_per_target(*self._read(X, y, sample_weight))

    def _one_per_target(self, X: Any, codes: Any, weights: FloatArray | None) -> list[Any]:
        columns = self._targets(codes)
        return self._problems(X, columns, weights, self._objective(columns, weights))

    @by_block
    def decision_function(self, X: Any) -> Any:
        """The signed distance to the decision boundary, times the norm of the coefficients.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            For two classes one number, positive for ``classes_[1]``.
        """
        scores = self._scores(X)
        return scores.ravel() if scores.shape[-1] == 1 or scores.ndim == 1 else scores

    @by_block
    def predict(self, X: Any) -> Any:
        """The predicted class labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]


def by_link(scores: Any, link: Any) -> Any:
    """Probabilities from scores; with several classes normalised over them."""
    if scores.ndim == 1:
        return np.stack([link(-scores), link(scores)], axis=1)
    each = link(scores)
    total = each.sum(axis=1, keepdims=True)
    # All classes ruled out at once: nothing is known.
    even = np.full_like(each, 1 / each.shape[1])
    return np.divide(each, total, out=even, where=total > 0)


def near_one(exact: Any, probabilities: Any) -> Any:
    """Logarithms of probabilities that agree with them: near 1 those of the rounded numbers."""
    return np.where(probabilities > 0.5, log(probabilities), exact)


def log(values: Any) -> Any:
    """ln, −inf at 0 without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(values)
