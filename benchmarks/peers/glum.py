"""glum: the same objective as ours, alpha = λ; logistic and squared losses."""

from __future__ import annotations

from functools import partial
from typing import Any

import tabmat
from glum import GeneralizedLinearRegressor

from ..cases import Task
from .base import Fit, Solver, decades, needs_few_features

FAMILIES = {"logistic": "binomial", "squared": "normal"}


def solvers() -> list[Solver]:
    """Iteratively reweighted least squares, L-BFGS and, for the squared loss, the closed form."""
    both, knobs = tuple(FAMILIES), decades(0, -12)
    closed = partial(_prepare, "closed-form")
    return [
        Solver("glum irls-ls", both, knobs, partial(_prepare, "irls-ls"), needs_few_features),
        Solver("glum lbfgs", both, knobs, partial(_prepare, "lbfgs")),
        Solver("glum closed-form", ("squared",), (1e-4,), closed, needs_few_features),
    ]


def _prepare(solver: str, task: Task) -> Fit:
    X = (tabmat.SparseMatrix if task.is_sparse else tabmat.DenseMatrix)(task.columns)
    y = task.y if task.loss == "squared" else (task.y + 1) / 2

    def fit(tol: float) -> Any:
        model = GeneralizedLinearRegressor(
            family=FAMILIES[task.loss],
            alpha=task.lam,
            l1_ratio=0,
            fit_intercept=False,
            solver=solver,
            gradient_tol=tol,
            max_iter=task.most_passes,
        )
        return model.fit(X, y).coef_

    return fit
