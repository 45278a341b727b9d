"""Newton's method in the space of the examples, direct and truncated."""

from __future__ import annotations

import numpy as np
import pytest

from primaldual import Problem, datasets, solve
from primaldual.methods.engine.gram_newton import GramNewton
from primaldual.methods.engine.gram_newton_cg import GramNewtonCG


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_conjugate_residuals_on_the_examples_reach_the_optimum(loss, fit_intercept):
    X = datasets.random_matrix(300, 80, 0.1, seed=0)
    y = datasets.labels(X, seed=1)
    problem = Problem(X, y, loss=loss, lam=1e-3, fit_intercept=fit_intercept)
    ours = solve(problem, GramNewtonCG(1e-9), tol=1e-9)
    direct = solve(problem, "newton", tol=1e-12)
    assert ours.converged
    np.testing.assert_allclose(ours.w, direct.w, atol=2e-3 * np.abs(direct.w).max())
    above = ours.certificate.primal - direct.certificate.primal
    assert abs(above) <= 1e-9 * problem.primal_at_zero


@pytest.mark.parametrize("method", [GramNewton, GramNewtonCG])
def test_newton_in_the_space_of_the_examples_does_not_start_far_out(method):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 400)) + 2, np.where(rng.random(100) < 0.5, 1.0, -1.0)
    problem, alpha = Problem(X, y, lam=1e-2), y * rng.random(100)
    assert problem.certify(alpha=alpha).primal > 100 * problem.primal_at_zero
    checks = []
    for start in (None, (None, alpha)):
        told = []
        assert solve(problem, method(), tol=1e-6, start=start, callback=told.append).converged
        checks.append(len(told))
    assert checks[1] <= checks[0] + 2  # one of them is that of the start itself
