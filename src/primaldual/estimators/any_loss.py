"""Linear models with any convex loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..losses.custom import as_loss, loss_name
from ..parts.collections import by_block
from . import twins
from .base import Objective
from .classifier import LinearClassifierBase, by_link, log, near_one
from .parameters import documented
from .regressor import LinearRegressorBase

# Losses that are the logarithm of a probability, or made to give one: P(y = +1) and its logarithm.
_LINKS: dict[str, tuple[Any, Any]] = {
    "logistic": (expit, log_expit),
    "probit": (ndtr, log_ndtr),
    "modified_huber": (
        lambda scores: (np.clip(scores, -1, 1) + 1) / 2,
        lambda scores: log((np.clip(scores, -1, 1) + 1) / 2),
    ),
}


def _has_link(model: Any) -> bool:
    return loss_name(as_loss(model.loss)) in _LINKS


@documented
class LinearClassifier(LinearClassifierBase):
    """A linear classifier with any convex loss φ: C Σ s_j φ(z_j; y_j) + ½‖w‖².

    Parameters
    ----------
    loss : str or loss, default="logistic"
        A name in ``primaldual.LOSSES`` for classification, or an object as ``Problem`` takes it.
    C : float, default=1.0
        The inverse of the strength of the regularisation; λ = 1/(C Σ s_j).
    {shared}
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with ``sample_weight``.
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
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from primaldual.estimators import LinearClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearClassifier(loss="smoothed_hinge").fit(X, y)
    >>> model.coef_.shape
    (3, 4)
    """

    def __init__(
        self,
        loss: Any = "logistic",
        *,
        C: float = 1.0,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        max_iter: int | None = 1000,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        loss = as_loss(self.loss)
        if not loss.classification:
            raise ValueError(
                f"loss {loss_name(loss)!r} is for regression. Use LinearRegressor, or a "
                "classification loss such as 'logistic'."
            )
        return Objective(loss)

    @available_if(_has_link)
    @by_block
    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the classes, for losses that have them.

        Those are ``"logistic"``, ``"probit"`` and ``"modified_huber"``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        link, _ = _LINKS[loss_name(as_loss(self.loss))]
        return by_link(self.decision_function(X), link)

    @available_if(_has_link)
    @by_block
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of the probabilities, for losses that have them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        link, log_link = _LINKS[loss_name(as_loss(self.loss))]
        scores = self.decision_function(X)
        if scores.ndim == 1:
            exact = np.stack([log_link(-scores), log_link(scores)], axis=1)
            return near_one(exact, by_link(scores, link))
        return log(by_link(scores, link))

    @available_if(_has_link)
    def proba_bounds(self, X: Any) -> Any:
        """Between which numbers the probabilities of the exact optimum are, for two classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        lower, upper : arrays of shape (n_samples, 2)
        """
        link, _ = _LINKS[loss_name(as_loss(self.loss))]
        return self._proba_bounds(X, link)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn model with the same decisions.

        Returns
        -------
        object
            ``LogisticRegression`` (or one per class) for the logistic loss, otherwise a
            ``LinearSVC``, which has the same ``predict`` and ``decision_function``.
        """
        check_is_fitted(self)
        name = loss_name(as_loss(self.loss))
        if name != "logistic":
            loss = "hinge" if name == "hinge" else "squared_hinge"
            return twins.svc(self, loss=loss, C=self.C, fit_intercept=self.fit_intercept)
        return twins.logistic(
            self, len(self.classes_) > 2, C=self.C, fit_intercept=self.fit_intercept
        )


@documented
class LinearRegressor(LinearRegressorBase):
    """A linear regressor with any convex loss φ: Σ s_j φ(z_j; y_j) + (alpha/2) ‖w‖².

    Parameters
    ----------
    loss : str or loss, default="squared"
        A name in ``primaldual.LOSSES`` for regression, or an object as ``Problem`` takes it.
    alpha : float, default=1.0
        The strength of the regularisation, positive; λ = alpha/Σ s_j.
    {shared}
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    verbose : int, default=0
        Whether to print a line for every check.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from primaldual.estimators import LinearRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LinearRegressor(loss="log_cosh", alpha=0.1).fit(X, y).stop_reason_
    'The relative duality gap is at most tol.'
    """

    def __init__(
        self,
        loss: Any = "squared",
        *,
        alpha: float = 1.0,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        random_state: Any = None,
        max_iter: int | None = 1000,
        verbose: int = 0,
        warm_start: bool = False,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _any_loss(self) -> Any:
        return as_loss(self.loss)

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        loss = as_loss(self.loss)
        if loss.classification:
            raise ValueError(
                f"loss {loss_name(loss)!r} is for classification. Use LinearClassifier, or a "
                "regression loss such as 'squared'."
            )
        if loss.targets != "any":
            name = loss_name(loss)
            raise ValueError(
                f"loss {name!r} is of a mean exp(z), which LinearRegressor does not predict. Use "
                f"{name.capitalize()}Regressor."
            )
        return Objective(loss)

    def to_sklearn(self) -> Any:
        """A fitted ``sklearn.linear_model.Ridge`` with the same predictions.

        Returns
        -------
        sklearn.linear_model.Ridge
        """
        check_is_fitted(self)
        return twins.ridge(self, alpha=self.alpha, fit_intercept=self.fit_intercept)
