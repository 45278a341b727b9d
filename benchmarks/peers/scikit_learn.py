"""scikit-learn: C = 1/(λn), Ridge's alpha = λn, SGD's alpha = λ; squared hinge twice ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.svm import LinearSVC

from ..cases import LOSSES, Task
from .base import Fit, Solver, decades, needs_few_features, needs_small_matrix

EPOCHS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def solvers() -> list[Solver]:
    """LogisticRegression, LinearSVC, Ridge and SGD with every solver that has our objective."""
    return [*_logistic(), *_svm(), *_ridge(), *_sgd()]


def _logistic() -> list[Solver]:
    knobs = {"sag": decades(-1, -9), "saga": decades(-1, -9)}
    solvers = [
        Solver(
            f"sklearn {name}",
            ("logistic",),
            knobs.get(name, decades(0, -10)),
            partial(_prepare, partial(_logistic_model, name, False)),
            needs_few_features if name == "newton-cholesky" else lambda task: "",
        )
        for name in ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")
    ]
    for dual in (False, True):
        make = partial(_logistic_model, "liblinear", dual)
        name = f"sklearn liblinear {_side(dual)}"
        solvers.append(Solver(name, ("logistic",), decades(0, -10), partial(_prepare, make)))
    return solvers


def _svm() -> list[Solver]:
    return [
        Solver(
            f"sklearn LinearSVC {_side(dual)}",
            ("squared_hinge",),
            decades(0, -10),
            partial(_prepare, partial(_svm_model, dual)),
        )
        for dual in (False, True)
    ]


def _ridge() -> list[Solver]:
    direct = {"cholesky", "svd"}
    return [
        Solver(
            f"sklearn Ridge {name}",
            ("squared",),
            (0.0,) if name in direct else decades(-1, -13),
            partial(_prepare, partial(_ridge_model, name)),
            _unfit_svd if name == "svd" else needs_small_matrix if name in direct else _anything,
        )
        for name in ("cholesky", "svd", "lsqr", "sparse_cg", "sag", "saga")
    ]


def _sgd() -> list[Solver]:
    prepare = partial(_prepare, _sgd_model)
    return [Solver("sklearn SGD", LOSSES, EPOCHS, prepare, accuracy=1e-2)]


def _anything(task: Task) -> str:
    return ""


def _unfit_svd(task: Task) -> str:
    return "needs dense data" if task.is_sparse else needs_small_matrix(task, 1000)


def _side(dual: bool) -> str:
    return "dual" if dual else "primal"


def _prepare(make: Callable[[Task, float], Any], task: Task) -> Fit:
    X = task.rows

    def fit(knob: float) -> Any:
        return np.ravel(make(task, knob).fit(X, task.y).coef_)

    return fit


def _logistic_model(solver: str, dual: bool, task: Task, tol: float) -> LogisticRegression:
    return LogisticRegression(
        C=1 / task.lam_n,
        solver=solver,
        dual=dual,
        tol=tol,
        fit_intercept=False,
        max_iter=task.most_passes,
        random_state=0,
    )


def _svm_model(dual: bool, task: Task, tol: float) -> LinearSVC:
    return LinearSVC(
        C=1 / (2 * task.lam_n),
        dual=dual,
        tol=tol,
        fit_intercept=False,
        max_iter=task.most_passes,
        random_state=0,
    )


def _ridge_model(solver: str, task: Task, tol: float) -> Ridge:
    return Ridge(
        alpha=task.lam_n,
        solver=solver,
        tol=tol,
        fit_intercept=False,
        max_iter=task.most_passes,
        random_state=0,
    )


def _sgd_model(task: Task, epochs: float) -> SGDClassifier | SGDRegressor:
    options = {"fit_intercept": False, "tol": None, "max_iter": int(epochs), "random_state": 0}
    if task.loss == "squared":
        return SGDRegressor(alpha=task.lam, **options)
    if task.loss == "logistic":
        return SGDClassifier(loss="log_loss", alpha=task.lam, **options)
    return SGDClassifier(loss="squared_hinge", alpha=2 * task.lam, **options)
