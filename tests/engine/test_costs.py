"""What the methods should cost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from engine_data import counted, tall

from primaldual import LOSSES, Problem, solve
from primaldual.engine.costs import SHORTEST_FALL, Costs


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("lam_n", [0.3, 3.0])
def test_dual_epochs_are_about_what_the_bound_says(loss, lam_n):
    X, y = tall(2000, 20, 0.5)
    problem = Problem(X, y, loss=loss, lam=lam_n / 2000)
    run = solve(problem, "dual_cd", tol=1e-6, seed=0)
    assert run.converged
    assert 1 / 3 <= run.passes / Costs(problem).expected_epochs(1e-6) <= 3


def test_orthogonal_examples_are_expected_to_need_few_epochs():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 4000))
    y = np.sign(rng.standard_normal(100))
    apart = Problem(X, y, lam=1e-4)
    together = Problem(X + 3.0, y, lam=1e-4)
    assert Costs(apart).expected_epochs(1e-6) < Costs(together).expected_epochs(1e-6)
    assert solve(apart, "dual_cd", tol=1e-6, seed=0).passes <= 2 * Costs(apart).expected_epochs(
        1e-6
    )


def test_conjugate_gradients_cost_more_the_further_the_gap_has_to_fall():
    """By less than in proportion: for the same epochs a further fall means a smaller κ."""
    costs_of = Costs(Problem(*tall(40, 400), loss="squared", lam=1e-3))
    costs = [costs_of.conjugate(30.0, fall) for fall in (0.0, SHORTEST_FALL, 2 * SHORTEST_FALL)]
    assert costs[0] == costs[1] < costs[2] < 1.5 * costs[1]


def test_a_matrix_that_costs_too_much_is_not_priced_exactly():
    X, y = tall(300, 2000)
    costs = Costs(Problem(X, y))
    assert costs.gram(most=0.0) == np.inf
    assert 0 < costs.gram() < np.inf
    assert costs.newton(most=0.0) == np.inf
    assert 0 < costs.newton() < np.inf


@pytest.mark.parametrize(
    ("kind", "part"), [("dense", 0.3), ("tall", 0.3), ("sparse", 0.9)], ids=str
)
def test_newton_on_some_examples_is_for_sparse_data_with_few_active(kind, part):
    X, y = counted(60, 400)
    if kind == "dense":
        X = X.toarray()
    if kind == "tall":
        X, y = counted(600, 400)
    assert Costs(Problem(X, y, loss="squared_hinge")).active(part) == math.inf
    some = Costs(Problem(*counted(60, 400), loss="squared_hinge"))
    assert 0 < some.active(0.3) < some.active(0.6) < math.inf
    assert some.active(0.3, most=1.0) == math.inf


def test_a_loss_without_flat_sides_is_curved_unless_it_is_quadratic():
    X, y = tall(20, 5)
    targets = {name: y if kind().targets == "any" else abs(y) for name, kind in LOSSES.items()}
    curved = {name for name in LOSSES if Costs(Problem(X, targets[name], loss=name)).curved}
    assert curved >= {"logistic", "log_cosh", "probit", "poisson", "gamma"}
    assert not curved & {"squared", "squared_hinge", "smoothed_hinge", "huber", "hinge"}
