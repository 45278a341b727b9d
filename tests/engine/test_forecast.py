"""What is expected of each side before a solve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from engine_data import chain, tall

from primaldual import Problem
from primaldual.engine import choose
from primaldual.engine.forecast import expected, likely_side


@pytest.mark.parametrize("scale", [1e200, 1e-200, 0.0])
@pytest.mark.parametrize("shape", [(60, 5), (5, 60)])
def test_likely_side_has_an_answer_for_numbers_of_any_size(shape, scale):
    X = scale * np.random.default_rng(0).standard_normal(shape)
    y = np.where(np.arange(shape[0]) % 2, 1.0, -1.0)
    with np.errstate(over="ignore"):
        likely = likely_side(Problem(X, y, loss="squared", lam=1e-3), closely=True)
    assert likely.method in ("primal_cd", "dual_cd") and likely.factor >= 1


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_likely_side_follows_the_spectrum(loss):
    X, y = chain(2000, 40, 0.0)
    assert likely_side(Problem(X, y, loss=loss, lam=1e-6), closely=True).method == "primal_cd"
    X, y = chain(2000, 40, 0.999)  # one feature is nearly the next
    alike = likely_side(Problem(X, y, loss=loss, lam=1e-2), closely=True)
    assert alike.method == "dual_cd" and alike.factor > 1
    X, y = chain(40, 4000, 0.5)
    assert likely_side(Problem(X, y, loss=loss, lam=1e-2)).method == "dual_cd"


def test_likely_side_looks_only_where_that_is_cheap_and_can_decide():
    """The factor is NaN where it did not look, and infinite where there is no question."""
    X, y = chain(100, 40, 0.5)
    assert math.isnan(likely_side(Problem(X, y, loss="squared", lam=1e-3)).factor)
    easy = likely_side(Problem(X, y, loss="squared", lam=100.0))
    assert easy.method == "dual_cd" and easy.factor == math.inf
    X, y = chain(40_000, 40, 0.5)
    assert 1 <= likely_side(Problem(X, y, loss="squared", lam=1e-6)).factor < math.inf


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_a_side_is_expected_to_start_with_the_method_that_is_chosen_for_it(loss):
    problem = Problem(*tall(300, 60), loss=loss, lam=1e-3)
    for side in ("primal", "dual"):
        found = expected(problem, side, 1e-6)
        if side == "primal" and loss == "hinge":
            assert found == ("none", math.inf, math.inf)
        else:
            assert found.method == choose(problem, 1e-6, side).method
            assert found.passes > 0 and found.seconds > 0
