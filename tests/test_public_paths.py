"""The import paths that documentation and users rely on: they stay, whatever moves inside."""

from __future__ import annotations

from importlib import import_module

import pytest

import primaldual

PATHS = {
    "primaldual": primaldual.__all__,
    "primaldual.advice": ["Advice", "advise"],
    "primaldual.binary": [],
    "primaldual.checkpoints": ["checkpointing"],
    "primaldual.cli": ["main"],
    "primaldual.complexity": ["Complexity", "structure_cost", "uniform_complexity"],
    "primaldual.datasets": ["labels", "load", "worst_case", "zipf_text"],
    "primaldual.estimators": [
        "GammaRegressor",
        "HuberRegressor",
        "LinearClassifier",
        "LinearRegressor",
        "LinearSVC",
        "LinearSVR",
        "LogisticRegression",
        "LogisticRegressionCV",
        "PoissonRegressor",
        "QuantileRegressor",
        "Ridge",
        "RidgeCV",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "loo",
        "path",
        "to_sklearn",
    ],
    "primaldual.experiments": ["prediction", "reproduce"],
    "primaldual.files": ["FileError", "read"],
    "primaldual.kernels": [
        "Draws",
        "first_alpha",
        "kernel",
        "loss_derivative",
        "loss_dual_step",
        "loss_value",
        "row_add",
        "row_dot",
    ],
    "primaldual.losses": ["LOSSES", "Loss", "Logistic", "Squared", "loss_dual_step", "loss_value"],
    "primaldual.methods": ["ENGINE", "METHODS", "Method", "NSync", "Quartz"],
    "primaldual.methods.base": ["first_alpha"],
    "primaldual.models": ["header", "load", "save"],
    "primaldual.parts": ["Block", "InMemory", "PartError", "Parts", "cut"],
    "primaldual.problem.on_parts": ["PartsProblem"],
    "primaldual.problem": ["Certificate", "Coordinates", "Problem"],
    "primaldual.report": ["numbers", "page"],
    "primaldual.result": ["Progress", "Result", "Status", "Trace"],
    "primaldual.samplings": ["SAMPLINGS", "Draws"],
    "primaldual.shards": ["Shards", "open", "write"],
    "primaldual.solver": ["solve"],
}


@pytest.mark.parametrize("module", PATHS)
def test_every_public_path_can_be_imported(module):
    found = import_module(module)
    for name in PATHS[module]:
        assert hasattr(found, name), name


def test_a_public_function_is_not_hidden_by_a_module_of_its_name():
    for module in PATHS:
        import_module(module)
    for name in ("advise", "faceoff", "path", "solve"):
        assert callable(getattr(primaldual, name)), name
