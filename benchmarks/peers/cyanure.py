"""Cyanure: the same objective and the same losses as ours, lambda_1 = λ."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import numpy as np
from cyanure.estimators import Classifier, Regression

from .. import THREADS
from ..cases import LOSSES, Task
from .base import Fit, Solver, decades

# Its own default. An iteration may be several passes, and a run cannot be interrupted.
MOST_ITERATIONS = 500

NAMES = {"logistic": "logistic", "squared_hinge": "sqhinge"}


def solvers() -> list[Solver]:
    """Its automatic choice, and the two families it chooses from."""
    logging.getLogger("cyanure").setLevel(logging.ERROR)
    return [
        Solver(f"cyanure {name}", LOSSES, decades(-1, -12), partial(_prepare, name))
        for name in ("auto", "qning-ista", "qning-miso")
    ]


def _prepare(solver: str, task: Task) -> Fit:
    X = task.rows
    options = {
        "penalty": "l2",
        "lambda_1": task.lam,
        "fit_intercept": False,
        "solver": solver,
        "max_iter": min(task.most_passes, MOST_ITERATIONS),
        "verbose": False,
        "n_threads": THREADS,
    }

    def fit(tol: float) -> Any:
        if task.loss == "squared":
            model = Regression(tol=tol, **options)
        else:
            model = Classifier(loss=NAMES[task.loss], tol=tol, **options)
        return np.ravel(model.fit(X, task.y).coef_)

    return fit
