"""Train L2-regularised linear models on the cheaper side, primal or dual, with a certificate.

The names below are the public interface. They are loaded on first use, so that importing the
package, and with it the command line, is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .advice import Advice, advise
    from .complexity import Complexity, structure_cost
    from .estimators import (
        GammaRegressor,
        HuberRegressor,
        LinearClassifier,
        LinearRegressor,
        LinearSVC,
        LinearSVR,
        LogisticRegression,
        LogisticRegressionCV,
        PoissonRegressor,
        QuantileRegressor,
        Ridge,
        RidgeClassifier,
        RidgeClassifierCV,
        RidgeCV,
        loo,
        path,
    )
    from .face_off import FaceOff, faceoff
    from .losses import LOSSES
    from .methods import METHODS
    from .models import load
    from .problem import Certificate, Coordinates, Problem
    from .result import Progress, Result, Status, Trace
    from .samplings import SAMPLINGS
    from .solver import solve

_HOME = {
    "Advice": "advice",
    "advise": "advice",
    "Complexity": "complexity",
    "structure_cost": "complexity",
    "FaceOff": "face_off",
    "faceoff": "face_off",
    "GammaRegressor": "estimators",
    "HuberRegressor": "estimators",
    "LinearClassifier": "estimators",
    "LinearRegressor": "estimators",
    "LinearSVC": "estimators",
    "LinearSVR": "estimators",
    "LogisticRegression": "estimators",
    "LogisticRegressionCV": "estimators",
    "PoissonRegressor": "estimators",
    "QuantileRegressor": "estimators",
    "Ridge": "estimators",
    "RidgeCV": "estimators",
    "RidgeClassifier": "estimators",
    "RidgeClassifierCV": "estimators",
    "loo": "estimators",
    "path": "estimators",
    "LOSSES": "losses",
    "METHODS": "methods",
    "load": "models",
    "Certificate": "problem",
    "Coordinates": "problem",
    "Problem": "problem",
    "Progress": "result",
    "Result": "result",
    "Status": "result",
    "Trace": "result",
    "SAMPLINGS": "samplings",
    "solve": "solver",
}

__all__ = [
    "LOSSES",
    "METHODS",
    "SAMPLINGS",
    "Advice",
    "Certificate",
    "Complexity",
    "Coordinates",
    "FaceOff",
    "GammaRegressor",
    "HuberRegressor",
    "LinearClassifier",
    "LinearRegressor",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "PoissonRegressor",
    "Problem",
    "Progress",
    "QuantileRegressor",
    "Result",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "Status",
    "Trace",
    "advise",
    "faceoff",
    "load",
    "loo",
    "path",
    "solve",
    "structure_cost",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("primaldual")
    if name not in _HOME:
        raise AttributeError(f"module 'primaldual' has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
