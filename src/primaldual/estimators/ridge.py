"""Ridge regression, on numbers and on labels −1 and +1."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.linear_model import Ridge as ScikitRidge
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._types import FloatArray
from ..parts.collections import by_block
from ..result import Result
from . import least_squares, twins
from .base import LinearModel, Objective, to_dense
from .checks import (
    RIDGE_SOLVERS,
    checked_weights,
    require_any_sign,
    require_solver,
    weights_of_classes,
)
from .classifier import LinearClassifierBase
from .parameters import documented
from .regressor import LinearRegressorBase
from .solving import solve_all


@cache
def flattens_columns() -> bool:
    """Whether scikit-learn's ridge regression of one column of targets has flat ``coef_``.

    That changed from one version to another, so the installed one is asked.
    """
    return bool(ScikitRidge().fit([[0.0], [1.0]], [[0.0], [1.0]]).coef_.ndim == 1)


class ToRounding(LinearModel):
    """What the ridge estimators share: coefficients to rounding where that is cheap."""

    def _solve_all(
        self, problems: list[Any], starts: list[Any], data: dict[str, Any], attributes: Any
    ) -> list[Result]:
        """By one factorisation where that is cheap and on a side that is allowed."""
        first = problems[0]
        side = "dual" if first.d > first.n else "primal"
        if not least_squares.is_cheap(first.matrix.shape) or self._side() not in ("auto", side):
            return super()._solve_all(problems, starts, data, attributes)
        exact = least_squares.Exact(problems, self._bare(len(problems)))
        request = self._request()
        return solve_all(self, request, problems, starts, data, attributes, exact.solve_one)

    def _counted(self, iterations: list[int]) -> Any:
        return np.array(iterations, dtype=np.int32)

    def _report(self, results: list[Result]) -> None:
        super()._report(results)
        self.solver_ = results[0].trace.entries[-1].method


@documented
class Ridge(MultiOutputMixin, ToRounding, LinearRegressorBase):
    """Ridge regression: Σ s_j (y_j − z_j)² + alpha ‖w‖² at its certified minimum.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        The strength of the regularisation; λ = alpha/Σ s_j. 0 is least squares, with the smallest
        norm where X is rank deficient; ``dual_gap_`` then speaks of coefficients up to ten times as
        long as ``coef_``.
    {shared}
    copy_X : bool, default=True
        Not used: X is never overwritten.
    solver : str, default="auto"
        Any of scikit-learn's names. Not used; said at ``verbose``.
    positive : bool, default=False
        As in scikit-learn; True is refused.
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    n_jobs : int, optional
        Threads; None and -1 stand for all cores, None for one in a worker of joblib. The number
        changes no bit. Targets are solved at the same time;
        otherwise threads share the work on large data.
    verbose : int, default=0
        Whether to print a line for every check.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    solver_ : str
        The method that finished.
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from primaldual.estimators import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(Ridge(alpha=0.1).fit(X, y).score(X, y), 3)
    0.513
    """

    _multi_output = True
    _follows_precision = True
    _may_vanish = True

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _require_parameters(self) -> None:
        super()._require_parameters()
        require_any_sign(getattr(self, "positive", False))
        require_solver(self, RIDGE_SOLVERS)

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective("squared")

    def _shape(self, X: Any, y: FloatArray) -> None:
        super()._shape(X, y)
        if y.ndim == 2 and y.shape[1] == 1 and flattens_columns():
            self.coef_ = self.coef_[0]

    def to_sklearn(self) -> Any:
        """The equivalent fitted ``sklearn.linear_model.Ridge``.

        Returns
        -------
        sklearn.linear_model.Ridge
        """
        check_is_fitted(self)
        return twins.ridge(self, alpha=self._strengths(), fit_intercept=self.fit_intercept)


@documented
class RidgeClassifier(ToRounding, LinearClassifierBase):
    """Ridge regression on labels −1 and +1, as scikit-learn's ``RidgeClassifier``.

    Several labels per example are taken as there: y of zeros and ones, one column per label.

    Parameters
    ----------
    alpha : float, default=1.0
        The strength of the regularisation: Σ s_j (y_j − z_j)² + alpha ‖w‖² is minimised.
    {shared}
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with ``sample_weight``.
    copy_X : bool, default=True
        Not used: X is never overwritten.
    solver : str, default="auto"
        Any of scikit-learn's names. Not used; said at ``verbose``.
    positive : bool, default=False
        As in scikit-learn; True is refused.
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    n_jobs : int, optional
        Threads; None and -1 stand for all cores, None for one in a worker of joblib. The number
        changes no bit. One-against-the-rest problems are solved at the same time;
        otherwise threads share the work on large data.
    verbose : int, default=0
        Whether to print a line for every check.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_classes, n_features)
        As in the installed scikit-learn: some versions have (1, n_features) for two classes.
    intercept_ : array of shape (1,) or (n_classes,), or 0.0 without an intercept
    classes_ : array of shape (n_classes,)
    solver_ : str
        The method that finished.
    multilabel_ : bool
        Whether y had one column per label.
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from primaldual.estimators import RidgeClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> RidgeClassifier().fit(X, y).score(X, y)
    1.0
    """

    _strength = "alpha"
    _multi_label = True
    _follows_precision = True
    _may_vanish = True

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        class_weight: Any = None,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _require_parameters(self) -> None:
        super()._require_parameters()
        require_any_sign(getattr(self, "positive", False))  # RidgeClassifierCV has none
        require_solver(self, RIDGE_SOLVERS)

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective("squared")

    def _codes(self, y: Any, weights: FloatArray | None) -> Any:
        self.multilabel_ = type_of_target(y) == "multilabel-indicator"
        if not self.multilabel_:
            found, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
            # As scikit-learn's LabelBinarizer: strings are an array of strings, not of objects.
            self.classes_ = np.array(found.tolist()) if found.dtype.kind == "O" else found
            return codes
        self.classes_ = np.arange(y.shape[1])
        return np.asarray(to_dense(y))

    def _with_class_weights(self, codes: Any, weights: FloatArray | None) -> FloatArray | None:
        if self.multilabel_:
            by_class = compute_sample_weight(self.class_weight, codes)
        else:
            # As in scikit-learn, "balanced" counts the examples here and not their weights.
            each = np.ones(len(codes))
            by_class = weights_of_classes(self.class_weight, self.classes_, codes, each)[codes]
        return checked_weights(by_class if weights is None else weights * by_class, len(codes))

    def _targets(self, codes: Any) -> list[FloatArray]:
        if not self.multilabel_:
            if len(self.classes_) == 1:
                return [np.full(len(codes), -1.0)]  # one class, predicted wherever z < 0
            return super()._targets(codes)
        return [np.where(column != 0, 1.0, -1.0) for column in codes.T]

    def _shape(self, X: Any) -> None:
        if not self.fit_intercept:
            self.intercept_ = 0.0
        if len(self.coef_) == 1 and flattens_columns():
            self.coef_ = self.coef_[0]
        super()._shape(X)

    @by_block
    def predict(self, X: Any) -> Any:
        """The predicted class labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,), or of zeros and ones of shape (n_samples, n_labels)
        """
        check_is_fitted(self)
        if not self.multilabel_:
            return super().predict(X)
        return (self._scores(X) > 0).astype(int)

    def to_sklearn(self) -> Any:
        """The equivalent fitted ``sklearn.linear_model.RidgeClassifier``.

        Returns
        -------
        sklearn.linear_model.RidgeClassifier
        """
        check_is_fitted(self)
        return twins.ridge_classifier(
            self, alpha=self._strengths(), fit_intercept=self.fit_intercept,
            class_weight=self.class_weight,
        )  # fmt: skip
