"""Lightning (sklearn-contrib-lightning): the scale of each loss is in the tables below."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from lightning.classification import CDClassifier, SAGAClassifier, SDCAClassifier, SVRGClassifier
from lightning.regression import CDRegressor, SAGARegressor, SDCARegressor, SVRGRegressor

from ..cases import LOSSES, Task
from .base import Fit, Solver, decades

NAMES = {"logistic": "log", "squared_hinge": "squared_hinge", "squared": "squared"}
MODELS = {
    "CD": (CDClassifier, CDRegressor),
    "SDCA": (SDCAClassifier, SDCARegressor),
    "SVRG": (SVRGClassifier, SVRGRegressor),
    "SAGA": (SAGAClassifier, SAGARegressor),
}
# Its loss divided by ours; the squared loss is 1 but for coordinate descent.
SCALE = {"logistic": 1.0, "squared_hinge": 2.0, "squared": 1.0}
# β of its losses, for the step of SVRG.
SMOOTHNESS = {"logistic": 0.25, "squared_hinge": 2.0, "squared": 1.0}

# A pass of its stochastic methods takes about this many times longer than assumed.
SLOWER = 8


def solvers() -> list[Solver]:
    """Primal and dual coordinate descent and two variance-reduced gradient methods."""
    return [
        Solver(
            f"lightning {name}",
            ("squared_hinge", "squared") if name == "SDCA" else LOSSES,
            decades(0, -11),
            partial(_prepare, name),
        )
        for name in MODELS
    ]


def _prepare(name: str, task: Task) -> Fit:
    X = task.columns if name == "CD" else task.rows
    scale = 2.0 if (name, task.loss) == ("CD", "squared") else SCALE[task.loss]
    options: dict[str, Any] = {
        "loss": NAMES[task.loss],
        "alpha": scale * task.lam,
        "max_iter": max(task.most_passes // SLOWER, 20),
        "random_state": 0,
    }
    if name == "CD":
        options |= {"penalty": "l2", "C": 1 / task.n}
    if name == "SVRG":
        longest = float(task.problem.examples.squared_norms.max())
        options["eta"] = 1 / (SMOOTHNESS[task.loss] * longest + scale * task.lam)
    kind = MODELS[name][task.loss == "squared"]

    def fit(tol: float) -> Any:
        return np.ravel(kind(tol=tol, **options).fit(X, task.y).coef_)

    return fit
