"""The estimators that choose the regularisation by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from .._types import FloatArray
from ..problem import Problem
from .base import regularisation
from .checks import checked_weights
from .logistic import LogisticRegression
from .parameters import documented
from .paths import walk
from .ridge import Ridge

# Leave-one-out errors need a dense copy of the data of at most this many entries.
MOST_ENTRIES = 50_000_000


@documented
class LogisticRegressionCV(LogisticRegression):
    """Logistic regression whose C is chosen by cross-validation, along a warm-started path.

    Parameters
    ----------
    Cs : int or array of floats, default=10
        The values of C, or how many of them between 1e-4 and 1e4.
    cv : int, splitter or iterable, default=None
        As in scikit-learn: None is 5 stratified folds.
    scoring : str or callable, optional
        As in scikit-learn: None is the accuracy.
    refit : bool, default=True
        Whether to fit all data with the best C. Otherwise the folds' coefficients at their
        best values of C are averaged.
    {shared}
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with ``sample_weight``.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        As for ``LogisticRegression``.
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    n_jobs : int, optional
        Threads for the folds.
    verbose : int, default=0
        Whether to print a line for every check of the final fit.

    Attributes
    ----------
    C_ : float
        The chosen value.
    Cs_ : array of shape (n_cs,)
    scores_ : array of shape (n_folds, n_cs)
    coefs_paths_ : list of arrays of shape (n_cs, n_problems, n_features)
        One per fold.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from primaldual.estimators import LogisticRegressionCV
    >>> X, y = load_wine(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], cv=3).fit(scale(X), y)
    >>> model.scores_.shape
    (3, 3)
    """

    def __init__(
        self,
        *,
        Cs: Any = 10,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        class_weight: Any = None,
        multi_class: str = "multinomial",
        random_state: Any = None,
        max_iter: int | None = 1000,
        verbose: int = 0,
        n_jobs: int | None = None,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _strengths(self) -> Any:
        return getattr(self, "C_", None) or _values(self.Cs)

    def _strength_used(self) -> float:
        return float(self.C_)

    def _require_parameters(self) -> None:
        self.__dict__.pop("C_", None)
        super()._require_parameters()

    def _train(self, X: Any, codes: Any, weights: FloatArray | None, data: dict[str, Any]) -> None:
        self.Cs_ = _values(self.Cs)
        labels = self.classes_[codes]
        folds = list(check_cv(self.cv, labels, classifier=True).split(X, labels))
        runs = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._fold)(X, labels, weights, train, test) for train, test in folds
        )
        self.scores_ = np.array([scores for scores, _ in runs])
        models = [model for _, model in runs]
        self.coefs_paths_ = [np.stack([coef for coef, _ in model]) for model in models]
        best = int(self.scores_.mean(axis=0).argmax())
        self.C_ = float(self.Cs_[best])
        final = self._plain(self.C_, verbose=self.verbose, callback=self.callback)
        final.fit(X, labels, weights)
        _adopt(self, final)
        if not self.refit:
            chosen = self.scores_.argmax(axis=1)
            self.C_ = float(np.mean(self.Cs_[chosen]))
            pairs = [model[k] for model, k in zip(models, chosen, strict=True)]
            self.coef_ = np.mean([coef for coef, _ in pairs], axis=0)
            self.intercept_ = np.mean([intercept for _, intercept in pairs], axis=0)

    def _plain(self, C: float, **more: Any) -> LogisticRegression:
        """The estimator for one C; class weights are in the examples' weights by now."""
        return LogisticRegression(
            C=C, tol=self.tol, fit_intercept=self.fit_intercept, multi_class=self.multi_class,
            random_state=self.random_state, max_iter=self.max_iter, side=self.side,
            max_time=self.max_time, **more,
        )  # fmt: skip

    def _fold(
        self, X: Any, labels: Any, weights: FloatArray | None, train: Any, test: Any
    ) -> tuple[list[float], list[tuple[FloatArray, FloatArray]]]:
        """The scores on the left-out part for every C, and the models."""
        model = self._plain(1.0)
        own = None if weights is None else weights[train]
        X_train, codes, own = model._read(_rows(X, train), labels[train], own)
        total = float(len(codes) if own is None else own.sum())
        lams = np.array([regularisation("C", C, total) for C in self.Cs_])
        columns = [codes] if model._is_softmax() else model._targets(codes)
        models: list[list[tuple[FloatArray, Any]]] = [[] for _ in lams]
        for column in columns:
            results = walk(
                model._softmax_problem(X_train, codes, own)
                if model._is_softmax()
                else Problem(X_train, column, "logistic", 1.0, own, bool(self.fit_intercept)),
                lams, self._request(),
            )  # fmt: skip
            for k, result in enumerate(results):
                models[k].append((np.atleast_2d(result.w), np.atleast_1d(result.intercept)))
        scorer = check_scoring(model, scoring=self.scoring)
        keys = {} if weights is None else {"sample_weight": weights[test]}
        pairs, scores = [], []
        for parts in models:
            model.coef_ = np.concatenate([coef for coef, _ in parts])
            model.intercept_ = np.concatenate([intercept for _, intercept in parts])
            pairs.append((model.coef_, model.intercept_))
            scores.append(float(scorer(model, _rows(X, test), labels[test], **keys)))
        return scores, pairs

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of the predictions, by ``scoring`` or else the accuracy.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if self.scoring is None:
            return float(super().score(X, y, sample_weight))
        scorer = get_scorer(self.scoring)
        keys = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer(self, X, y, **keys))


@documented
class RidgeCV(Ridge):
    """Ridge regression whose alpha is chosen by leave-one-out or by cross-validation.

    Parameters
    ----------
    alphas : array of positive floats, default=(0.1, 1.0, 10.0)
        The values to try.
    cv : int, splitter or iterable, default=None
        None: the exact leave-one-out errors, from one decomposition of the (dense) data.
        Otherwise folds as in scikit-learn, along a warm-started path.
    scoring : str or callable, optional
        As in scikit-learn: None is the negative mean squared error for leave-one-out, and R²
        with ``cv``. Leave-one-out takes None only.
    {shared}
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    n_jobs : int, optional
        Threads for the folds and for several targets.
    verbose : int, default=0
        Whether to print a line for every check of the final fit.

    Attributes
    ----------
    alpha_ : float
        The chosen value.
    best_score_ : float
    cv_scores_ : array of shape (n_folds, n_alphas), or (1, n_alphas) for leave-one-out
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

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
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
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _strengths(self) -> Any:
        return getattr(self, "alpha_", None) or _values(self.alphas)

    def _require_parameters(self) -> None:
        self.__dict__.pop("alpha_", None)
        super()._require_parameters()
        if self.cv is None and self.scoring is not None:
            raise ValueError(
                f"scoring={self.scoring!r} needs folds, and cv is None (leave-one-out by mean "
                "squared error). Set cv, for example cv=5."
            )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Choose alpha and fit the model with it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 is the same as the example twice.

        Returns
        -------
        self
        """
        self._require_parameters()
        checked, targets = self._checked(X, y, y_numeric=True, multi_output=True)
        targets = np.asarray(targets, dtype=np.float64)
        weights = checked_weights(sample_weight, checked.shape[0])
        values = _values(self.alphas)
        if self.cv is None:
            errors = leave_one_out(checked, targets, values, weights, bool(self.fit_intercept))
            scores = -errors[None, :]
        else:
            folds = check_cv(self.cv, targets, classifier=False).split(checked, targets)
            scores = np.array(
                Parallel(n_jobs=self.n_jobs, prefer="threads")(
                    delayed(self._fold)(checked, targets, weights, values, train, test)
                    for train, test in folds
                )
            )
        self.cv_scores_ = scores
        mean = scores.mean(axis=0)
        final = Ridge(
            float(values[mean.argmax()]), fit_intercept=self.fit_intercept,
            max_iter=self.max_iter, tol=self.tol, random_state=self.random_state,
            verbose=self.verbose, n_jobs=self.n_jobs, side=self.side, max_time=self.max_time,
            callback=self.callback,
        ).fit(checked, targets, weights)  # fmt: skip
        _adopt(self, final)
        self.best_score_ = float(mean.max())
        self.alpha_ = final.alpha
        return self

    def _fold(
        self, X: Any, y: FloatArray, weights: Any, values: FloatArray, train: Any, test: Any
    ) -> list[float]:
        """The scores on the left-out part for every alpha."""
        model = Ridge(fit_intercept=self.fit_intercept, tol=self.tol)
        own = None if weights is None else weights[train]
        X_train, y_train, own = model._read(_rows(X, train), y[train], own)
        columns, offsets = model._columns(y_train, own)
        total = float(len(y_train) if own is None else own.sum())
        lams = np.array([regularisation("alpha", value, total) for value in values])
        found = [
            walk(
                Problem(X_train, column, "squared", 1.0, own, bool(self.fit_intercept)),
                lams, self._request(),
            )
            for column in columns
        ]  # fmt: skip
        scorer = check_scoring(model, scoring=self.scoring)
        keys = {} if weights is None else {"sample_weight": weights[test]}
        scores = []
        for results in zip(*found, strict=True):
            model.coef_ = np.stack([result.w for result in results])
            model.intercept_ = np.array([result.intercept for result in results]) + offsets
            if y.ndim == 1:
                model.coef_, model.intercept_ = model.coef_[0], float(model.intercept_[0])
            scores.append(float(scorer(model, _rows(X, test), y[test], **keys)))
        return scores


def leave_one_out(
    X: Any, y: FloatArray, alphas: FloatArray, weights: FloatArray | None, intercept: bool
) -> FloatArray:
    """The weighted mean squared leave-one-out errors of ridge regression, one per alpha.

    With H the matrix that maps targets to fitted values, the error of example j when it is left
    out is r_j/(1 − H_jj). One singular value decomposition gives H for every alpha.
    """
    n, d = X.shape
    if n * d > MOST_ENTRIES:
        raise ValueError(
            f"leave-one-out errors need a dense decomposition, too large for {n} × {d} data. "
            "Set cv, for example cv=5."
        )
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    s = np.ones(n) if weights is None else weights
    root = np.sqrt(s)[:, None]
    columns = y[:, None] if y.ndim == 1 else y
    constant = np.zeros(n)
    if intercept:
        dense = dense - np.average(dense, axis=0, weights=s)
        columns = columns - np.average(columns, axis=0, weights=s)
        constant = s / s.sum()
    left, singular, _ = np.linalg.svd(root * dense, full_matrices=False)
    projected = left.T @ (root * columns)
    errors = []
    for alpha in alphas:
        shrink = singular**2 / (singular**2 + alpha)
        residual = root * columns - left @ (shrink[:, None] * projected)
        leverage = (left**2) @ shrink + constant
        apart = residual / np.maximum(1.0 - leverage, 1e-15)[:, None]
        errors.append(float((apart**2).sum() / (s.sum() * columns.shape[1])))
    return np.array(errors)


def _values(given: Any) -> FloatArray:
    """The values to try: as given, or that many between 1e-4 and 1e4."""
    if isinstance(given, int | np.integer):
        return np.logspace(-4, 4, int(given))
    return np.atleast_1d(np.asarray(given, dtype=np.float64))


def _rows(X: Any, index: Any) -> Any:
    """Some of the examples."""
    return X.tocsr()[index] if sparse.issparse(X) else X[index]


def _adopt(model: Any, fitted: Any) -> None:
    """Take over the fitted attributes of another estimator, but not what is known of the input."""
    known = ("n_features_in_", "feature_names_in_", "classes_")
    for name, value in vars(fitted).items():
        if name.endswith("_") and name not in known:
            setattr(model, name, value)
    model._keep(fitted._outcome)
