"""Snap ML: regularizer = λn; its squared hinge is twice ours."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from snapml import LinearRegression, LogisticRegression, SupportVectorMachine

from .. import THREADS
from ..cases import Task
from .base import Fit, Solver, decades

MODELS = {"logistic": LogisticRegression, "squared": LinearRegression}


def solvers() -> list[Solver]:
    """Primal and dual coordinate descent; the support vector machine has only the dual."""
    knobs = decades(-1, -10)
    return [
        Solver("snapml primal", tuple(MODELS), knobs, partial(_prepare, False)),
        Solver("snapml dual", (*MODELS, "squared_hinge"), knobs, partial(_prepare, True)),
    ]


def _prepare(dual: bool, task: Task) -> Fit:
    X = task.rows if dual or not task.is_sparse else task.columns
    options = {"max_iter": task.most_passes, "n_jobs": THREADS, "random_state": 0}

    def fit(tol: float) -> Any:
        if task.loss == "squared_hinge":
            model = SupportVectorMachine(
                loss="squared_hinge", regularizer=2 * task.lam_n, tol=tol, **options
            )
        else:
            model = MODELS[task.loss](regularizer=task.lam_n, dual=dual, tol=tol, **options)
        return np.ravel(model.fit(X, task.y).coef_)

    return fit
