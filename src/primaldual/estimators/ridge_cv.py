"""Ridge regression and classification whose alpha is chosen by leave-one-out or by folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.metadata_routing import _raise_for_params

from .checks import checked_weights
from .folds import adopt
from .parameters import documented
from .ridge import Ridge, RidgeClassifier
from .ridge_search import AsGiven, Given, LabelsAsGiven, RidgeSearch
from .threading import threaded


@documented
class RidgeCV(RidgeSearch, Ridge):
    """Ridge regression whose alpha is chosen by leave-one-out or by cross-validation.

    Parameters
    ----------
    alphas : float or array of floats, default=(0.1, 1.0, 10.0)
        The values to try; positive for leave-one-out.
    cv : int, splitter or iterable, default=None
        None: exact leave-one-out, by one decomposition for all values of alpha.
        Otherwise folds as in scikit-learn, along a warm-started path.
    scoring : str or callable, optional
        As in scikit-learn: None is the negative mean squared error for leave-one-out, and R²
        with ``cv``.
    gcv_mode : {"auto", "eigen", "svd"}, optional
        The decomposition for leave-one-out: eigenvectors of the smaller of XXᵀ and XᵀX, or
        singular vectors of X, if it is dense. "auto" or None: the first, unless alpha is too small
        for it.
    store_cv_results : bool, default=False
        Whether to keep ``cv_results_``; with ``cv=None`` only.
    alpha_per_target : bool, default=False
        Whether every target has its own alpha; with ``cv=None`` only.
    {shared}
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    n_jobs : int, optional
        Threads; None and -1 stand for all cores, None for one in a worker of joblib. The number
        changes no bit. Folds and targets are solved at the same time;
        otherwise threads share the work on large data.
    verbose : int, default=0
        Whether to print a line for every check of the final fit.

    Attributes
    ----------
    alpha_ : float or array of shape (n_targets,)
        The chosen value, or values with ``alpha_per_target``.
    best_score_ : float or array of shape (n_targets,)
    cv_results_ : array of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        Only if ``store_cv_results``: the squared errors of every example left out, times its
        weight; with ``scoring`` the predictions.
    cv_scores_ : array of shape (n_folds, n_alphas)
        For leave-one-out (1, n_alphas), or (n_targets, n_alphas) with ``alpha_per_target``.
    solver_ : str
        The method that finished.
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from primaldual.estimators import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1.0]).fit(X, y).alpha_
    0.01
    """

    _certifies = False  # it is not said which fit the gap is of

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    @threaded
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Choose alpha and fit the model with it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 is the same as the example twice.
        **params
            Metadata for the scorer and the splitter, if scikit-learn's metadata routing is enabled.

        Returns
        -------
        self
        """
        _raise_for_params(params, self, "fit")
        self._require_parameters()
        checked, y = self._checked(X, y, y_numeric=True, multi_output=True)
        y = np.asarray(y, dtype=np.float64)
        weights = checked_weights(sample_weight, checked.shape[0])
        targets = y[:, None] if y.ndim == 1 else y
        self._search(Given(checked, y, targets, weights, *self._routed(weights, params)))
        adopt(self, Ridge(self.alpha_, **self._settings()).fit(checked, y, weights))
        return self

    def _judge(self) -> Any:
        return AsGiven()

    def _blank(self) -> Any:
        model = Ridge()
        model.n_features_in_ = self.n_features_in_
        return model


@documented
class RidgeClassifierCV(RidgeSearch, RidgeClassifier):
    """Ridge regression on labels −1 and +1, with alpha chosen by leave-one-out or by folds.

    Parameters
    ----------
    alphas : float or array of floats, default=(0.1, 1.0, 10.0)
        The values to try; positive for leave-one-out.
    cv : int, splitter or iterable, default=None
        None: exact leave-one-out, by one decomposition for all values of alpha.
        Otherwise folds as in scikit-learn, along a warm-started path.
    scoring : str or callable, optional
        As in scikit-learn: None is the negative mean squared error for leave-one-out, and the
        accuracy with ``cv``.
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with ``sample_weight``.
    store_cv_results : bool, default=False
        Whether to keep ``cv_results_``; with ``cv=None`` only.
    {shared}
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    n_jobs : int, optional
        Threads; None and -1 stand for all cores, None for one in a worker of joblib. The number
        changes no bit. Folds and one-against-the-rest problems are solved at the same time;
        otherwise threads share the work on large data.
    verbose : int, default=0
        Whether to print a line for every check of the final fit.

    Attributes
    ----------
    alpha_ : float
        The chosen value.
    best_score_ : float
    cv_results_ : array of shape (n_samples, n_targets, n_alphas)
        Only if ``store_cv_results``: the squared errors of every example left out, times its
        weight; with ``scoring`` the predictions. There is one target for two classes, otherwise
        one per class.
    cv_scores_ : array of shape (n_folds, n_alphas), or (1, n_alphas) for leave-one-out
    solver_ : str
        The method that finished.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    multilabel_ : bool
        Whether y had one column per label.
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primaldual.estimators import RidgeClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RidgeClassifierCV(alphas=[1e-3, 1e-2, 1e-1, 1.0]).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.96
    """

    _default_score = "accuracy"

    _certifies = False  # it is not said which fit the gap is of

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        class_weight: Any = None,
        store_cv_results: bool = False,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.class_weight = class_weight
        self.store_cv_results = store_cv_results
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    @threaded
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Choose alpha and fit the model with it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,), or of zeros and ones of shape (n_samples, n_labels)
            Class labels.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 is the same as the example twice.
        **params
            Metadata for the scorer and the splitter, if scikit-learn's metadata routing is enabled.

        Returns
        -------
        self
        """
        _raise_for_params(params, self, "fit")
        checked, codes, weights = self._read(X, y, sample_weight)
        assert_all_finite(checked, estimator_name=type(self).__name__, input_name="X")
        labels = codes if self.multilabel_ else self.classes_[codes]
        targets = np.stack(self._targets(codes), axis=1)
        self._search(Given(checked, labels, targets, weights, *self._routed(weights, params)))
        final = RidgeClassifier(self.alpha_, **self._settings()).fit(checked, labels, weights)
        adopt(self, final)
        return self

    def _judge(self) -> Any:
        return LabelsAsGiven(self.classes_, self.multilabel_)

    def _blank(self) -> Any:
        model = RidgeClassifier()
        for name in ("n_features_in_", "classes_", "multilabel_"):
            setattr(model, name, getattr(self, name))
        return model
