"""The parts that Newton-type methods share."""

from __future__ import annotations

import numpy as np
import pytest

from primaldual.losses.custom import as_loss
from primaldual.losses.sums import derivatives, sum_values
from primaldual.methods.engine.second_order import (
    LOOSEST,
    cholesky_solver,
    line_search,
    next_forcing,
    temper,
)


def test_the_root_of_a_diagonal_preconditions_unless_it_spans_too_much():
    diagonal = np.array([4.0, 9.0, 1.0])
    temper(diagonal)
    assert diagonal.tolist() == [2.0, 3.0, 1.0]
    units = np.array([1e-7, 1.0, 1e7])
    temper(units)
    assert units.tolist() == [1e-7, 1.0, 1e7]


def test_linear_systems_are_solved_roughly_again_where_the_gap_does_not_fall():
    assert next_forcing(0.1, 0.5, 1.0) == 0.1
    assert next_forcing(0.1, 1e-6, 1.0) == pytest.approx(0.01)
    assert next_forcing(0.01, 2.0, 1.0) == LOOSEST


def test_a_matrix_factored_block_by_block_solves_the_same():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((50, 50))
    hessian, right = A @ A.T, rng.standard_normal(50)
    whole = cholesky_solver(np.tril(hessian), 0.5)(right)
    blocks = cholesky_solver(np.tril(hessian), 0.5, block=8)(right)
    np.testing.assert_allclose(blocks, whole, rtol=1e-10)
    np.testing.assert_allclose(hessian @ whole + 0.5 * whole, right, atol=1e-10)


def test_a_singular_matrix_factored_block_by_block_gets_a_little_more_ridge():
    A = np.random.default_rng(0).standard_normal((50, 20))
    hessian = A @ A.T
    right = hessian @ np.ones(50)
    found = cholesky_solver(hessian.copy(), 0.0, block=8)(right)
    np.testing.assert_allclose(hessian @ found, right, atol=1e-6)


def test_a_line_search_does_not_end_where_a_slope_has_long_been_positive():
    # Both losses are lines but for a bend. The slope goes from −8000 to 2000 at the bend of the
    # first, at s = 0.005: a quarter of its size, but uphill from there.
    loss, y, c = as_loss("logistic"), np.array([1.0, -1.0]), np.ones(2)
    z, change = np.array([-50.0, 1e6]), np.array([1e4, 2e3])
    first, second = np.empty(2), np.empty(2)
    derivatives(loss, z, y, c, first)
    slope = float(first @ change)
    s = line_search(loss, z, change, y, c, slope, 0.0, 1e-9, first, second)
    assert sum_values(loss, z + s * change, y, c) < sum_values(loss, z, y, c)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_a_line_search_whose_slopes_overflow_finds_the_minimum(loss):
    loss, y, c = as_loss(loss), np.array([1.0, -1.0, 1.0]), np.ones(3)
    z, way = np.zeros(3), np.array([1.0, -2.0, -0.25])
    found = []
    for unit in (1.0, 1e300):
        first, second = np.empty(3), np.empty(3)
        derivatives(loss, z, y, c, first)
        slope = float(first @ (unit * way))
        s = line_search(loss, z, unit * way, y, c, slope, 0.0, 0.0, first, second, 1e-6)
        found.append(sum_values(loss, z + s * (unit * way), y, c))
    assert found[1] == pytest.approx(found[0], rel=1e-6)
