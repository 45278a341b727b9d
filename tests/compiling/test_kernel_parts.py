"""What is compiled, and how often."""

from __future__ import annotations

import numpy as np
import pytest

from primaldual import Problem, solve
from primaldual._numba.compile import COMPILER
from primaldual.methods.engine import dual_cd, newton, second_order

PARTS = (dual_cd.follow, second_order.set_slopes, second_order.take_step)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_a_part_of_a_kernel_is_not_compiled_by_itself(part):
    if not hasattr(part, "targetoptions"):
        pytest.skip("compilation is switched off")
    assert part.targetoptions["inline"] == "always"


def test_a_solve_of_a_new_size_compiles_nothing_new():
    rng = np.random.default_rng(0)
    for n in (60, 90):
        X = rng.standard_normal((n, 4))
        before = COMPILER.seconds
        assert solve(Problem(X, np.sign(X[:, 0]), lam=0.1), tol=1e-8).converged
    assert COMPILER.seconds == before


def test_the_one_step_on_a_quadratic_loss_needs_no_loop_of_steps(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("the loop of Newton steps was called")

    monkeypatch.setattr(newton, "newton_steps", refuse)
    X = np.random.default_rng(0).standard_normal((80, 5))
    assert solve(Problem(X, X[:, 0], loss="squared", lam=0.1), tol=1e-8).method == "auto"
