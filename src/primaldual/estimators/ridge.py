"""Ridge regression, on numbers and on labels −1 and +1."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._types import FloatArray
from ..losses.custom import as_loss
from . import to_sklearn
from .base import Objective, to_dense
from .checks import checked_weights
from .classifier import LinearClassifierBase
from .parameters import documented
from .regressor import LinearRegressorBase


@documented
class Ridge(MultiOutputMixin, LinearRegressorBase):
    """Ridge regression: Σ s_j (y_j − z_j)² + alpha ‖w‖² at its certified minimum.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        The strength of the regularisation, positive; λ = alpha/Σ s_j.
    {shared}
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    n_jobs : int, optional
        Threads for several targets.
    verbose : int, default=0
        Whether to print a line for every check.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
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

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
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
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective(as_loss("squared"))

    def to_sklearn(self) -> Any:
        """The equivalent fitted ``sklearn.linear_model.Ridge``.

        Returns
        -------
        sklearn.linear_model.Ridge
        """
        check_is_fitted(self)
        return to_sklearn.ridge(self, alpha=self._strengths(), fit_intercept=self.fit_intercept)


@documented
class RidgeClassifier(LinearClassifierBase):
    """Ridge regression on labels −1 and +1, as scikit-learn's ``RidgeClassifier``.

    Several labels per example are taken as there: y of zeros and ones, one column per label.

    Parameters
    ----------
    alpha : float, default=1.0
        The strength of the regularisation: Σ s_j (y_j − z_j)² + alpha ‖w‖² is minimised.
    {shared}
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with ``sample_weight``.
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    n_jobs : int, optional
        Threads for the one-against-the-rest problems.
    verbose : int, default=0
        Whether to print a line for every check.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
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

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        class_weight: Any = None,
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
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
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

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective(as_loss("squared"))

    def _codes(self, y: Any, weights: FloatArray | None) -> Any:
        self.multilabel_ = type_of_target(y) == "multilabel-indicator"
        if not self.multilabel_:
            return super()._codes(column_or_1d(y, warn=True), weights)
        self.classes_ = np.arange(y.shape[1])
        return np.asarray(to_dense(y))

    def _with_class_weights(self, codes: Any, weights: FloatArray | None) -> FloatArray | None:
        if not self.multilabel_:
            return super()._with_class_weights(codes, weights)
        if self.class_weight is None:
            return weights
        by_class = compute_sample_weight(self.class_weight, codes)
        return checked_weights(by_class if weights is None else weights * by_class, len(codes))

    def _targets(self, codes: Any) -> list[FloatArray]:
        if not self.multilabel_:
            return super()._targets(codes)
        return [np.where(column != 0, 1.0, -1.0) for column in codes.T]

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
        return to_sklearn.ridge_classifier(
            self, alpha=self.alpha, fit_intercept=self.fit_intercept, class_weight=self.class_weight
        )
