"""What the regressors share: targets and their offset."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from .._types import FloatArray
from ..losses.custom import as_loss
from ..parts.collections import by_block, is_collection
from .base import LinearModel, as_rows
from .callbacks import with_callbacks
from .certified import CertifiedScores
from .checks import checked_weights, require_dense
from .known import known_of, require_none
from .threading import threaded


class LinearRegressorBase(CertifiedScores, RegressorMixin, LinearModel):
    """The shared part of the regressors; not an estimator by itself."""

    _strength = "alpha"
    _multi_output = False

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    @threaded
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, prior: Any = None
    ) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or, where supported, (n_samples, n_targets)
            Targets.
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
        X, y, weights = self._read(X, y, sample_weight)
        known = known_of(self, len(y), offset, prior)
        columns, offsets = self._known_columns(y, weights, known)
        objective = self._objective(columns, weights)._replace(known=known)
        problems = self._problems(X, columns, weights, objective)
        starts = self._starts(problems, len(problems))

        def described(w: FloatArray, intercept: Any) -> dict[str, Any]:
            return {"coef_": w.copy(), "intercept_": float(intercept) + offsets[0]}

        results = self._solve_all(problems, starts, data, described)
        self.coef_ = as_rows([result.w for result in results])
        self.intercept_ = np.array([result.intercept for result in results]) + offsets
        self.dual_coef_ = as_rows([r.alpha / (r.problem.lam * r.problem.n) for r in results])
        self._report(results)
        self._warn_of_obstacles(X, results)
        self._shape(X, y)
        return self

    def _shape(self, X: Any, y: FloatArray) -> None:
        """Give the attributes the shapes and types that scikit-learn's class has."""
        if y.ndim == 1:
            self.coef_ = self.coef_[0]
            if hasattr(self, "dual_coef_"):  # data in parts keeps it
                self.dual_coef_ = self.dual_coef_[0]
            self.intercept_ = self.intercept_[0]
        if not self.fit_intercept:
            self.intercept_ = 0.0
        self._rounded(X)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, FloatArray | None]:
        """The data checked, the targets as float64, and the weights."""
        self._require_parameters()
        require_dense(y)
        X, y = self._checked(
            X, y, y_numeric=True, multi_output=self._multi_output, ensure_all_finite=False
        )
        weights = checked_weights(sample_weight, X.shape[0])
        y = np.asarray(y, dtype=np.float64)
        strengths = np.size(self._strengths())
        if strengths not in (1, 1 if y.ndim == 1 else y.shape[1]):
            raise ValueError(
                f"Number of targets and number of penalties do not correspond: got {strengths} "
                f"values of {self._strength} for {1 if y.ndim == 1 else y.shape[1]} targets."
            )
        return X, y, weights

    def _columns(
        self, y: FloatArray, weights: FloatArray | None
    ) -> tuple[list[FloatArray], FloatArray]:
        """The targets one by one, without their mean where an intercept takes it up.

        A common offset changes neither the coefficients nor the gap, but P(0), the unit of
        ``tol``, is then the loss of predicting the mean.
        """
        columns = [y] if y.ndim == 1 else list(y.T)
        offsets = np.zeros(len(columns))
        if self.fit_intercept and self._any_loss().shift_invariant:
            if weights is None:
                offsets = np.array([column.mean() for column in columns])
            else:
                offsets = np.array([np.average(column, weights=weights) for column in columns])
        pairs = zip(columns, offsets, strict=True)
        return [column - offset for column, offset in pairs], offsets

    def _known_columns(
        self, y: FloatArray, weights: FloatArray | None, known: dict[str, Any]
    ) -> tuple[list[FloatArray], FloatArray]:
        """The same with offsets; where the loss depends on z − y they go into the targets."""
        if "offset" in known and self._any_loss().shift_invariant:
            offset = known.pop("offset")
            y = y - (offset if y.ndim == 1 else offset[:, None])
        return self._columns(y, weights)

    def _any_loss(self) -> Any:
        """The loss, or one of its kind."""
        return as_loss("squared")

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> list[Any]:
        X, y, weights = self._read(X, y, sample_weight)
        columns, _ = self._columns(y, weights)
        return self._problems(X, columns, weights, self._objective(columns, weights))

    @by_block
    def predict(self, X: Any) -> Any:
        """The predicted targets.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
        """
        scores = self._scores(X)
        one = not self._multi_output or np.ndim(self.intercept_) == 0
        return scores.ravel() if one and scores.ndim == 2 and scores.shape[1] == 1 else scores
