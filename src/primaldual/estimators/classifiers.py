"""Classifiers with scikit-learn's names and meanings, and a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, log_softmax, ndtr, softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.linear_model import RidgeClassifier as SklearnRidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import LinearSVC as SklearnSVC
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._types import FloatArray
from ..engine.softmax import softmax_method
from ..losses.custom import as_loss, loss_name
from ..problem.multinomial import Multinomial
from .base import (
    LinearModel,
    Objective,
    as_rows,
    checked_weights,
    regularisation,
    require_choice,
    to_dense,
)
from .callbacks import with_callbacks
from .parameters import documented


class LinearClassifierBase(ClassifierMixin, LinearModel):
    """What the classifiers share: labels, class weights, one problem per class."""

    _multi_label = False

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 is the same as the example twice.

        Returns
        -------
        self
        """
        data = {"X": X, "y": y, "metadata": _metadata(sample_weight)}
        X, codes, weights = self._read(X, y, sample_weight)
        self._train(X, codes, weights, data)
        return self

    def _train(self, X: Any, codes: Any, weights: FloatArray | None, data: dict[str, Any]) -> None:
        """Solve one problem per column of targets and set the attributes."""
        columns = self._targets(codes)
        objective = self._objective(columns, weights)
        problems = self._problems(X, columns, weights, objective)
        starts = self._starts(problems, len(problems))
        solutions = self._solve_all(problems, starts, data, self._described)
        results = [solution.result for solution in solutions]
        self.coef_ = as_rows([result.w for result in results])
        self.intercept_ = np.array([result.intercept for result in results])
        self.dual_coef_ = as_rows([r.alpha / (r.problem.lam * r.problem.n) for r in results])
        self._report(solutions)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, FloatArray | None]:
        """The data checked, the labels as 0, 1, …, and the weights of examples and classes."""
        self._require_parameters()
        X, y = self._checked(X, y, multi_output=self._multi_label)
        check_classification_targets(y)
        weights = checked_weights(sample_weight, X.shape[0])
        codes = self._codes(y, weights)
        return X, codes, self._with_class_weights(codes, weights)

    def _codes(self, y: Any, weights: FloatArray | None) -> Any:
        """The labels as 0, 1, …, their place in ``classes_``."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the "
                f"data contains only one class: {self.classes_[0]!r}."
            )
        if weights is not None and len(np.unique(codes[weights > 0])) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes with positive "
                "sample_weight, but only one class has any."
            )
        return codes

    def _with_class_weights(self, codes: Any, weights: FloatArray | None) -> FloatArray | None:
        """The examples' weights times those of their classes."""
        if self.class_weight is None:
            return weights
        by_class = np.ones(len(self.classes_))
        own = np.ones(len(codes)) if weights is None else weights
        if isinstance(self.class_weight, str):
            require_choice("class_weight", self.class_weight, ("balanced",))
            sums = np.bincount(codes, weights=own)
            by_class = np.divide(own.sum(), len(sums) * sums, out=by_class, where=sums > 0)
        elif isinstance(self.class_weight, dict):
            known = {label: k for k, label in enumerate(self.classes_.tolist())}
            for label, value in self.class_weight.items():
                if label not in known:
                    raise ValueError(
                        f"The classes, {[label]}, are not in class_weight's data: "
                        f"y has the classes {self.classes_.tolist()}."
                    )
                by_class[known[label]] = value
        else:
            raise TypeError(
                f"class_weight must be a dict, 'balanced' or None, got {self.class_weight!r}."
            )
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

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> tuple[list[Any], float]:
        X, codes, weights = self._read(X, y, sample_weight)
        columns = self._targets(codes)
        return self._problems(X, columns, weights, self._objective(columns, weights)), self.tol

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
        return scores.ravel() if scores.shape[1] == 1 else scores

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


def _metadata(sample_weight: Any) -> dict[str, Any] | None:
    return None if sample_weight is None else {"sample_weight": sample_weight}


def _by_link(scores: Any, link: Any) -> Any:
    """Probabilities from scores; with several classes normalised over them."""
    if scores.ndim == 1:
        return np.stack([link(-scores), link(scores)], axis=1)
    each = link(scores)
    total = each.sum(axis=1, keepdims=True)
    # All classes ruled out at once: nothing is known.
    even = np.full_like(each, 1 / each.shape[1])
    return np.divide(each, total, out=even, where=total > 0)


@documented
class LogisticRegression(LinearClassifierBase):
    """Logistic regression: C Σ s_j log(1 + exp(−y_j z_j)) + ½‖w‖² at its certified minimum.

    scikit-learn's ``LogisticRegression`` with the L2 penalty. With more than two classes the loss
    is the softmax loss, as there.

    Parameters
    ----------
    C : float, default=1.0
        The inverse of the strength of the regularisation; λ = 1/(C Σ s_j).
    {shared}
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with ``sample_weight``.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        With more than two classes: one model with the softmax loss, or one model per class
        against the rest.
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last fit.
    n_jobs : int, optional
        Threads for the problems of ``multi_class="ovr"``.
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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from primaldual.estimators import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(C=0.1).fit(scale(X), y)
    >>> model.dual_gap_ <= model.tol
    True
    >>> round(model.score(scale(X), y), 2)
    0.98
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        class_weight: Any = None,
        multi_class: str = "multinomial",
        random_state: Any = None,
        max_iter: int | None = 1000,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _require_parameters(self) -> None:
        super()._require_parameters()
        require_choice("multi_class", self.multi_class, ("multinomial", "ovr"))

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective(as_loss("logistic"))

    def _strength_used(self) -> float:
        """The C of the fitted model."""
        return float(self.C)

    def _is_softmax(self) -> bool:
        return len(self.classes_) > 2 and self.multi_class == "multinomial"

    def _train(self, X: Any, codes: Any, weights: FloatArray | None, data: dict[str, Any]) -> None:
        if not self._is_softmax():
            super()._train(X, codes, weights, data)
            return
        problem = self._softmax_problem(X, codes, weights)
        (solution,) = self._solve_all(
            [problem], [self._softmax_start(problem)], data, self._described, softmax_method
        )
        result = solution.result
        self.coef_, self.intercept_ = np.array(result.w), np.array(result.intercept)
        self.dual_coef_ = result.alpha.T / (problem.lam * problem.n)
        self._report([solution])

    def _softmax_start(self, problem: Multinomial) -> tuple[Any, Any]:
        """The last fit's W and α if asked for and of the same shape."""
        coef = to_dense(getattr(self, "coef_", np.empty(0)))
        usable = coef.shape == problem.shape and np.isfinite(coef).all()
        if not getattr(self, "warm_start", False) or not usable:
            return None, None
        dual = getattr(self, "dual_coef_", np.empty(0))
        if dual.shape != (len(problem.classes), problem.n):
            return coef, None
        return coef, dual.T * (problem.lam * problem.n)

    def _softmax_problem(self, X: Any, codes: Any, weights: FloatArray | None) -> Multinomial:
        total = float(len(codes) if weights is None else weights.sum())
        lam = regularisation("C", float(self.C), total)
        return Multinomial(X, codes, lam, weights, bool(self.fit_intercept))

    def estimate(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Predict the passes and seconds each side would need, without fitting.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.

        Returns
        -------
        dict
            ``"primal"`` and ``"dual"``, each with ``"method"``, ``"passes"`` and ``"seconds"``;
            and ``"side"`` and ``"method"``, with which ``side="auto"`` starts. With the softmax
            loss the prediction is that of one problem per class.
        """
        return super().estimate(X, y, sample_weight)

    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        if self._is_softmax():
            return softmax(self.decision_function(X), axis=1)
        return _by_link(self.decision_function(X), expit)

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if self._is_softmax():
            return log_softmax(self.decision_function(X), axis=1)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([log_expit(-scores), log_expit(scores)], axis=1)
        return _log(self.predict_proba(X))

    def to_sklearn(self) -> Any:
        """The equivalent fitted scikit-learn model.

        Returns
        -------
        sklearn.linear_model.LogisticRegression
            Or, for ``multi_class="ovr"`` with several classes, a
            ``sklearn.multiclass.OneVsRestClassifier`` of them.
        """
        check_is_fitted(self)
        made = {"C": self._strength_used()} | {
            name: getattr(self, name) for name in ("fit_intercept", "class_weight", "random_state")
        }
        if len(self.classes_) == 2 or self._is_softmax():
            twin = self._share(SklearnLogistic(**made))
            twin.n_iter_ = np.array([self.n_iter_], dtype=np.int32)
            return twin
        return _one_vs_rest(self, SklearnLogistic(**made))


def _one_vs_rest(model: Any, single: Any) -> Any:
    """scikit-learn's meta-estimator around one fitted model per class."""
    twin = OneVsRestClassifier(clone(single))
    twin.estimators_ = []
    for coef, intercept in zip(to_dense(model.coef_), model.intercept_, strict=True):
        part = model._share(clone(single), classes_=np.array([0, 1]))
        part.coef_, part.intercept_ = coef[None, :].copy(), np.array([intercept])
        part.n_iter_ = np.array([model.n_iter_], dtype=np.int32)
        twin.estimators_.append(part)
    twin.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(model.classes_)
    twin.classes_ = twin.label_binarizer_.classes_
    twin.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        twin.feature_names_in_ = model.feature_names_in_
    return twin


def _wants_probabilities(model: Any) -> bool:
    return bool(model.probability)


@documented
class LinearSVC(LinearClassifierBase):
    """Linear support vector machine: C Σ s_j max(0, 1 − y_j z_j)² + ½‖w‖², certified.

    With ``loss="hinge"``, C Σ s_j max(0, 1 − y_j z_j) + ½‖w‖². scikit-learn's ``LinearSVC`` with
    the L2 penalty, except that the intercept is not penalised: there is no ``intercept_scaling``
    to get right.

    Parameters
    ----------
    C : float, default=1.0
        The inverse of the strength of the regularisation.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        ψ(m) = max(0, 1 − m)², or the hinge max(0, 1 − m). The hinge has a corner: ``dual=False``
        and ``side="primal"`` are refused for it.
    dual : bool or "auto", default="auto"
        As in scikit-learn: True is ``side="dual"``, False is ``side="primal"``, "auto" leaves it
        to ``side``.
    probability : bool, default=False
        Whether to fit probabilities as well, by a sigmoid on the cross-validated scores
        (``sklearn.calibration.CalibratedClassifierCV`` with ``cv=5``): five more fits. The
        support vector machine itself has none.
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
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from primaldual.estimators import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearSVC(C=0.1).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        dual: bool | str = "auto",
        tol: float = 1e-6,
        C: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        probability: bool = False,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int | None = 1000,
        warm_start: bool = False,
        n_jobs: int | None = None,
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.probability = probability
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _require_parameters(self) -> None:
        super()._require_parameters()
        require_choice("loss", self.loss, ("squared_hinge", "hinge"))

    def _objective(self, targets: Any, weights: FloatArray | None) -> Objective:
        return Objective(as_loss(self.loss), scale=2.0 if self.loss == "squared_hinge" else 1.0)

    def _train(self, X: Any, codes: Any, weights: FloatArray | None, data: dict[str, Any]) -> None:
        super()._train(X, codes, weights, data)
        if self.probability:
            plain = clone(self).set_params(
                probability=False, class_weight=None, warm_start=False, callback=None
            )
            calibrated = CalibratedClassifierCV(plain, method="sigmoid", cv=5, ensemble=False)
            self.calibrated_ = calibrated.fit(X, self.classes_[codes], sample_weight=weights)

    @available_if(_wants_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """The calibrated probabilities of the classes; with ``probability=True`` only.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            In the order of ``classes_``. Their largest need not be the predicted class.
        """
        check_is_fitted(self)
        return self.calibrated_.predict_proba(self._checked(X, reset=False))

    @available_if(_wants_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of the calibrated probabilities; with ``probability=True`` only.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def to_sklearn(self) -> Any:
        """The equivalent fitted ``sklearn.svm.LinearSVC``.

        Returns
        -------
        sklearn.svm.LinearSVC
        """
        check_is_fitted(self)
        return self._share(SklearnSVC(
            loss=self.loss, C=self.C, fit_intercept=self.fit_intercept,
            class_weight=self.class_weight, random_state=self.random_state,
        ))  # fmt: skip


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
        twin = SklearnRidgeClassifier(
            alpha=self.alpha, fit_intercept=self.fit_intercept, class_weight=self.class_weight
        )
        # Its predict asks the binarizer that turned the labels into −1 and +1.
        seen = np.eye(len(self.classes_), dtype=int) if self.multilabel_ else self.classes_
        twin._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(seen)
        return self._share(twin)


# Losses that are the logarithm of a probability, or made to give one: P(y = +1) and its logarithm.
_LINKS: dict[str, tuple[Any, Any]] = {
    "logistic": (expit, log_expit),
    "probit": (ndtr, log_ndtr),
    "modified_huber": (
        lambda scores: (np.clip(scores, -1, 1) + 1) / 2,
        lambda scores: _log((np.clip(scores, -1, 1) + 1) / 2),
    ),
}


def _log(values: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(values)


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
        Threads for the one-against-the-rest problems.
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
        if not getattr(loss, "classification", False):
            raise ValueError(
                f"loss {loss_name(loss)!r} is for regression. Use LinearRegressor, or a "
                "classification loss such as 'logistic'."
            )
        return Objective(loss)

    @available_if(_has_link)
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
        return _by_link(self.decision_function(X), link)

    @available_if(_has_link)
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of the probabilities, for losses that have them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        _, log_link = _LINKS[loss_name(as_loss(self.loss))]
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([log_link(-scores), log_link(scores)], axis=1)
        return _log(self.predict_proba(X))

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
            twin = SklearnSVC(loss=loss, C=self.C, fit_intercept=self.fit_intercept)
            return self._share(twin)
        single = SklearnLogistic(C=self.C, fit_intercept=self.fit_intercept)
        if len(self.classes_) > 2:
            return _one_vs_rest(self, single)
        return self._share(single, n_iter_=np.array([self.n_iter_], dtype=np.int32))
