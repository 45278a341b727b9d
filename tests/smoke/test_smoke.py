"""One short run through every door: what has to work before anything else is looked at."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

import primaldual
from primaldual import LOSSES, Problem, advise, solve
from primaldual.cli import app

ENGINE = ("auto", "dual_cd", "primal_cd", "newton", "gram_newton", "newton_cg", "gram_newton_cg")


def data(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4)
    return X, np.sign(X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) + 0.1)


@pytest.mark.parametrize("method", ENGINE)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shape", [(120, 30), (40, 90)])
def test_every_engine_method_is_certified(method, stored, shape):
    X, y = data(*shape)
    problem = Problem(stored(X), y, lam=0.01, fit_intercept=True)
    result = solve(problem, method, tol=1e-6, seed=0)
    assert result.converged
    proof = problem.certify(result.w, result.alpha, result.intercept)
    assert proof.relative_gap <= 1e-6


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_is_certified(loss):
    X, y = data(60, 12)
    y = y if LOSSES[loss]().targets == "any" else np.exp(y)
    assert solve(Problem(X, y, loss=loss, lam=0.05), tol=1e-6, seed=0).converged


@pytest.mark.parametrize(
    "name",
    [
        "LogisticRegression",
        "LinearSVC",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "LogisticRegressionCV",
        "LinearClassifier",
        "Ridge",
        "RidgeCV",
        "LinearSVR",
        "HuberRegressor",
        "LinearRegressor",
        "QuantileRegressor",
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_estimator_fits(name, classes):
    X, y = data(90, 6)
    labels = y if classes == 2 else np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    model = getattr(primaldual, name)().fit(X, labels)
    assert model.predict(X).shape == (90,)
    assert model.dual_gap_ <= model.tol


def test_the_command_line_fits_and_predicts(tmp_path):
    X, y = data(50, 5)
    lines = [
        f"{label:g} " + " ".join(f"{i + 1}:{x:.6f}" for i, x in enumerate(row) if x)
        for row, label in zip(X, y, strict=True)
    ]
    file, model = tmp_path / "tiny.svm", tmp_path / "tiny.model"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = CliRunner()
    fitted = run.invoke(app, ["fit", str(file), "-o", str(model), "--json"])
    assert fitted.exit_code == 0, fitted.output
    assert json.loads(fitted.stdout)
    assert run.invoke(app, ["predict", str(model), str(file)]).exit_code == 0


def test_advice_names_a_side():
    X, y = data(60, 8)
    assert advise(Problem(X, y, lam=0.1)).side in ("primal", "dual")
