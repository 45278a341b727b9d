"""The tasks of ``python -m benchmarks --door``: our estimators and scikit-learn's on the same data.

Every objective is the one that scikit-learn documents for its class, computed from the coefficients
alone by NumPy, so that neither library judges itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn import datasets, linear_model, model_selection, svm
from sklearn.preprocessing import StandardScaler

from primaldual import estimators

from .cases import all_cases

Objective = Callable[[Any, Any, Any], float]  # of the model, X and y


@dataclass(frozen=True)
class Twin:
    """An estimator of ours and scikit-learn's of the same name, with the same parameters."""

    name: str
    objective: Objective
    # What makes scikit-learn's fit a contest at matched accuracy: solvers, each at several tol.
    solvers: tuple[dict[str, Any], ...] = ()
    given: dict[str, Any] = field(default_factory=dict)  # parameters for both
    # Parameters for both at matched accuracy: where scikit-learn's penalises the intercept, none.
    matched: dict[str, Any] = field(default_factory=dict)
    multi_class: bool = True
    most_entries: float = 1e9  # larger data is left out

    def ours(self, **more: Any) -> Any:
        """Our estimator."""
        return getattr(estimators, self.name)(**{**self.given, **more})

    def theirs(self, **more: Any) -> Any:
        """scikit-learn's."""
        home = svm if hasattr(svm, self.name) else linear_model
        return getattr(home, self.name)(**{**self.given, **more})

    @property
    def label(self) -> str:
        """The class with the parameters that are not the defaults."""
        return " ".join([self.name, *map(str, self.given.values())])


@dataclass(frozen=True)
class Set:
    """A data set, made or read when it is asked for."""

    name: str
    load: Callable[[], tuple[Any, Any]]
    classes: int = 2  # 0: a regression
    entries: int = 0


# ---- objectives


def _scores(model: Any, X: Any) -> Any:
    """The scores, one column per problem."""
    coef = np.atleast_2d(model.coef_)
    return np.asarray(X @ coef.T) + np.atleast_1d(model.intercept_)


def _signs(y: Any, columns: int) -> Any:
    """Targets −1 and +1, one column per problem."""
    codes = np.unique(y, return_inverse=True)[1]
    if columns == 1:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(columns), 1.0, -1.0)


def _half_norm(model: Any) -> float:
    return 0.5 * float(np.vdot(model.coef_, model.coef_))


def logistic(model: Any, X: Any, y: Any) -> float:
    """C Σ log(1 + exp(−y z)), or the softmax loss, + ½‖w‖²."""
    z = _scores(model, X)
    if z.shape[1] == 1:
        total = np.logaddexp(0.0, -_signs(y, 1) * z).sum()
    else:
        codes = np.unique(y, return_inverse=True)[1]
        total = (logsumexp(z, axis=1) - z[np.arange(len(z)), codes]).sum()
    return float(model.C * total) + _half_norm(model)


def hinges(model: Any, X: Any, y: Any) -> float:
    """C Σ max(0, 1 − y z), or its square, + ½‖w‖²; summed over one model per class."""
    z = _scores(model, X)
    short = np.maximum(1.0 - _signs(y, z.shape[1]) * z, 0.0)
    total = short.sum() if model.loss == "hinge" else (short**2).sum()
    return float(model.C * total) + _half_norm(model)


def ridge(model: Any, X: Any, y: Any) -> float:
    """Σ (y − z)² + α‖w‖²."""
    return float(((_scores(model, X)[:, 0] - y) ** 2).sum()) + model.alpha * 2 * _half_norm(model)


def ridge_of_labels(model: Any, X: Any, y: Any) -> float:
    """The same on labels −1 and +1."""
    z = _scores(model, X)
    left = _signs(y, z.shape[1]) - z
    return float((left**2).sum()) + model.alpha * 2 * _half_norm(model)


def insensitive(model: Any, X: Any, y: Any) -> float:
    """C Σ max(0, |y − z| − ε), or its square, + ½‖w‖²."""
    far = np.maximum(np.abs(_scores(model, X)[:, 0] - y) - model.epsilon, 0.0)
    total = far.sum() if model.loss == "epsilon_insensitive" else (far**2).sum()
    return float(model.C * total) + _half_norm(model)


def huber(model: Any, X: Any, y: Any) -> float:
    """Σ (σ + H((y − z)/σ) σ) + α‖w‖²."""
    size = np.abs(_scores(model, X)[:, 0] - y) / model.scale_
    far = size > model.epsilon
    values = np.where(far, 2 * model.epsilon * size - model.epsilon**2, size**2)
    return float(model.scale_ * (len(y) + values.sum())) + model.alpha * 2 * _half_norm(model)


# ---- twins

NO_INTERCEPT = {"fit_intercept": False}
SMALL = 300_000.0  # entries: beyond, LIBLINEAR's dual descent and Huber's L-BFGS take minutes

FITS = (
    Twin("LogisticRegression", logistic,
         tuple({"solver": name, "max_iter": 100_000}
               for name in ("lbfgs", "newton-cg", "newton-cholesky"))),
    Twin("LinearSVC", hinges,
         ({"dual": True, "max_iter": 1_000_000}, {"dual": False, "max_iter": 1_000_000}),
         matched=NO_INTERCEPT),
    Twin("LinearSVC", hinges, ({"dual": True, "max_iter": 1_000_000},), {"loss": "hinge"},
         NO_INTERCEPT, multi_class=False, most_entries=SMALL),
    Twin("RidgeClassifier", ridge_of_labels, ({"solver": "auto"}, {"solver": "cholesky"})),
    Twin("Ridge", ridge, ({"solver": "auto"}, {"solver": "cholesky"})),
    Twin("LinearSVR", insensitive, ({"dual": True, "max_iter": 1_000_000},), {}, NO_INTERCEPT,
         most_entries=SMALL),
    Twin("LinearSVR", insensitive,
         ({"dual": True, "max_iter": 1_000_000}, {"dual": False, "max_iter": 1_000_000}),
         {"loss": "squared_epsilon_insensitive"}, NO_INTERCEPT, most_entries=SMALL),
    Twin("HuberRegressor", huber, ({"max_iter": 100_000},), most_entries=SMALL),
)  # fmt: skip
CLASSIFIERS = {"LogisticRegression", "LinearSVC", "RidgeClassifier"}


# ---- data


def _sklearn(name: str, is_scaled: bool = False) -> tuple[Any, Any]:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = np.ascontiguousarray(X, dtype=np.float64)
    return (StandardScaler().fit_transform(X) if is_scaled else X), y


def _made(n: int, d: int, classes: int) -> tuple[Any, Any]:
    """Normal features; labels or targets of a linear model with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    z = X @ rng.standard_normal((d, max(classes, 1))) / np.sqrt(d)
    z += 0.5 * rng.standard_normal(z.shape)
    if classes == 0:
        return X, z[:, 0]
    return X, (z[:, 0] > 0).astype(int) if classes == 2 else z.argmax(axis=1)


def _file(name: str) -> tuple[Any, Any]:
    X, y = all_cases()[name].load()
    return (sparse.csr_matrix(X) if sparse.issparse(X) else X), y


def all_sets() -> list[Set]:
    """The data sets: scikit-learn's own, generated ones, and those of the data folder."""
    sets = [
        Set(f"{name}{' scaled' if is_scaled else ''}", partial(_sklearn, name, is_scaled),
            classes, entries)
        for name, classes, entries in (("iris", 3, 600), ("wine", 3, 2314), ("digits", 10, 115_008),
                                       ("breast_cancer", 2, 17_070), ("diabetes", 0, 4420))
        for is_scaled in ((False, True) if name in ("wine", "breast_cancer", "diabetes")
                          else (False,))
    ]  # fmt: skip
    for n, d in ((100, 5), (1000, 20), (300, 400), (5000, 50), (100_000, 100)):
        for classes in (2, 0):
            sets.append(Set(f"{n}x{d}", partial(_made, n, d, classes), classes, n * d))
    sets.append(Set("2000x20", partial(_made, 2000, 20, 5), 5, 40_000))
    known = all_cases()
    for name, entries in (
        ("australian", 9660),
        ("german.numer_scale", 24_000),
        ("a1a", 22_249),
        ("phishing", 331_650),
        ("rcv1-like-small", 400_000),
    ):
        if name in known:
            sets.append(Set(name, partial(_file, name), 2, entries))
    for name, entries in (
        ("abalone_scale", 33_416),
        ("housing_scale", 6578),
        ("cadata", 165_120),
        ("riboflavin", 290_248),
    ):
        if name in known:
            sets.append(Set(name, partial(_file, name), 0, entries))
    return sets


def fits() -> Iterator[tuple[Twin, Set]]:
    """Every estimator with every data set for it."""
    sets = all_sets()
    for twin in FITS:
        for data in sets:
            fitting = (data.classes > 0) == (twin.name in CLASSIFIERS)
            if fitting and data.entries <= twin.most_entries and (
                twin.multi_class or data.classes <= 2
            ):  # fmt: skip
                yield twin, data


# ---- whole jobs

Job = Callable[[Any, Any], Any]  # of X and y, to what was chosen


@dataclass(frozen=True)
class JobPair:
    """A whole job done by both libraries; each returns what it chose."""

    name: str
    ours: Job
    theirs: Job
    regression: bool = False
    multi_class: bool = True
    most_entries: float = SMALL


TEN = np.logspace(-4, 4, 10)
FIFTY = np.logspace(-2, 2, 50)
ALPHAS = np.logspace(-3, 3, 20)


def _cv(module: Any, X: Any, y: Any, **more: Any) -> Any:
    return module.LogisticRegressionCV(**{"Cs": 10, "cv": 5, **more}).fit(X, y)


def _chosen_C(model: Any) -> float:
    return float(np.ravel(model.C_)[0])


def _grid(kind: Any, name: str, values: Any, X: Any, y: Any) -> float:
    search = model_selection.GridSearchCV(kind, {name: values}, cv=5)
    return float(search.fit(X, y).best_params_[name])


def _path_of_theirs(X: Any, y: Any) -> float:
    """scikit-learn has no path: a model that starts from the last one, from weak to strong C."""
    model = linear_model.LogisticRegression(warm_start=True, max_iter=1000)
    for C in FIFTY:
        model.set_params(C=C).fit(X, y)
    return 0.0


def _path_of_ours(X: Any, y: Any) -> float:
    estimators.path(X, y, 1.0 / (FIFTY * len(y)))
    return 0.0


def _ridge_cv(module: Any, cv: Any, X: Any, y: Any) -> float:
    return float(module.RidgeCV(alphas=ALPHAS, cv=cv).fit(X, y).alpha_)


def _labels_cv(module: Any, X: Any, y: Any) -> float:
    return float(module.RidgeClassifierCV(alphas=ALPHAS).fit(X, y).alpha_)


# scikit-learn 1.9 asks for this, and for more than its 100 iterations.
THEIRS = {"max_iter": 1000, "use_legacy_attributes": False}

JOBS = (
    JobPair("LogisticRegressionCV 10x5",
            lambda X, y: _chosen_C(_cv(estimators, X, y, use_legacy_attributes=False)),
            lambda X, y: _chosen_C(_cv(linear_model, X, y, **THEIRS))),
    JobPair("GridSearchCV LogisticRegression 10x5",
            lambda X, y: _grid(estimators.LogisticRegression(), "C", TEN, X, y),
            lambda X, y: _grid(linear_model.LogisticRegression(max_iter=1000), "C", TEN, X, y)),
    JobPair("GridSearchCV LinearSVC 10x5",
            lambda X, y: _grid(estimators.LinearSVC(), "C", np.logspace(-3, 1, 10), X, y),
            lambda X, y: _grid(svm.LinearSVC(), "C", np.logspace(-3, 1, 10), X, y)),
    JobPair("path of 50", _path_of_ours, _path_of_theirs, multi_class=False),
    JobPair("RidgeClassifierCV", partial(_labels_cv, estimators), partial(_labels_cv, linear_model),
            most_entries=5e6),
    JobPair("RidgeCV", partial(_ridge_cv, estimators, None), partial(_ridge_cv, linear_model, None),
            regression=True, most_entries=5e6),
    JobPair("RidgeCV folds", partial(_ridge_cv, estimators, 5), partial(_ridge_cv, linear_model, 5),
            regression=True, most_entries=5e6),
    JobPair("GridSearchCV Ridge 20x5",
            lambda X, y: _grid(estimators.Ridge(), "alpha", ALPHAS, X, y),
            lambda X, y: _grid(linear_model.Ridge(), "alpha", ALPHAS, X, y),
            regression=True),
)  # fmt: skip
# Sets for the jobs: what takes minutes in scikit-learn's version is left out.
JOB_SETS = ("iris", "wine scaled", "digits", "breast_cancer scaled", "diabetes", "1000x20",
            "300x400", "5000x50", "a1a", "housing_scale")  # fmt: skip


def jobs() -> Iterator[tuple[JobPair, Set]]:
    """Every job with every data set for it."""
    sets = [data for data in all_sets() if data.name in JOB_SETS]
    for job in JOBS:
        for data in sets:
            fitting = job.regression == (data.classes == 0) and data.entries <= job.most_entries
            if fitting and (job.multi_class or data.classes <= 2):
                yield job, data
