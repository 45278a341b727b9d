"""The best point in the span of the last epochs: better, feasible, and with its own w."""

from __future__ import annotations

import numpy as np
import pytest

from primaldual import Problem, datasets, solve
from primaldual.methods.engine.dual_cd import DualCD
from primaldual.methods.engine.extrapolation import BLOCK, MOVES, Past, extrapolate, room_for_past
from primaldual.methods.intercept import Intercept


def slow_problem(loss="logistic", **options):
    """Word counts, unscaled: coordinate descent needs many epochs."""
    X = 3.0 * datasets.zipf_text(400, 300, 40, seed=0)
    return Problem(X, datasets.labels(X, noise=0.1, seed=1), loss=loss, lam=1e-4, **options)


def after_epochs(problem, epochs):
    """The state of plain descent, and the points after each epoch."""
    method = DualCD(most_epochs=1, extrapolates=False)
    state = method.start(problem, rng=np.random.default_rng(0))
    points = []
    for _ in range(epochs):
        method.advance(state)
        points.append((state.alpha.copy(), state.w.copy()))
    return state, points


def as_past(points):
    """The points as the method keeps them."""
    alphas, ws = (np.array(part) for part in zip(*points, strict=True))
    return Past(alphas, ws, np.empty(alphas.shape[1], dtype=np.int64), np.array([len(ws)]))


def dual_value(problem, state):
    """−nD with the intercept's proximal term, as the epochs see it."""
    w = problem.primal_point(state.alpha)
    total = float(state.alpha.sum())
    ridge = 0.5 * problem.lam * problem.n * float(w @ w)
    shift, (centre, _) = state.intercept
    free = centre * total + 0.5 * shift * total**2
    conjugates = sum(
        c * problem.loss.conjugate(a / c, y)
        for a, y, c in zip(state.alpha, problem.y, problem.sample_weight, strict=True)
    )
    return ridge + free + conjugates


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "hinge", "huber"])
def test_the_new_point_is_better_and_feasible(loss, weighted, fit_intercept):
    weights = 1.0 + np.arange(300) % 3 if weighted else None
    problem = slow_problem(loss, sample_weight=weights, fit_intercept=fit_intercept)
    state, points = after_epochs(problem, 8)
    past = as_past(points[-MOVES - 1 :])
    before, alpha = dual_value(problem, state), state.alpha.copy()
    moved = extrapolate(
        past, problem.examples.rows, problem.loss, problem.y, problem.sample_weight,
        problem.lam * problem.n, state.alpha, state.w, state.intercept,
    )  # fmt: skip
    assert moved and not np.array_equal(alpha, state.alpha)
    assert dual_value(problem, state) < before
    np.testing.assert_allclose(state.w, problem.primal_point(state.alpha), rtol=1e-9, atol=1e-12)
    assert state.intercept.numbers[1] == pytest.approx(state.alpha.sum(), abs=1e-9)


def test_on_a_quadratic_no_combination_of_the_moves_is_better():
    problem = slow_problem("squared")
    state, points = after_epochs(problem, 6)
    past = as_past(points)
    moves = np.diff(past.alphas, axis=0)
    assert extrapolate(
        past, problem.examples.rows, problem.loss, problem.y, problem.sample_weight,
        problem.lam * problem.n, state.alpha, state.w, state.intercept,
    )  # fmt: skip
    slope = state.alpha - problem.y + problem.matrix.times(problem.primal_point(state.alpha))
    scale = np.linalg.norm(moves, axis=1) * np.linalg.norm(slope)
    np.testing.assert_array_less(np.abs(moves @ slope), 1e-7 * scale)


def test_examples_that_have_not_moved_stay_where_they_are():
    X = np.random.default_rng(0).standard_normal((2 * BLOCK + 100, 5))
    problem = Problem(X, X @ np.arange(5.0), loss="squared", lam=1e-3)
    rng, still = np.random.default_rng(1), np.arange(problem.n) % 3 == 0
    alphas = rng.standard_normal(problem.n) + np.where(
        still, 0.0, 0.1 * rng.standard_normal((MOVES + 1, problem.n))
    )
    past = as_past([(alpha, problem.primal_point(alpha)) for alpha in alphas])
    moves, alpha, w = np.diff(alphas, axis=0), alphas[-1].copy(), past.ws[-1].copy()
    assert extrapolate(
        past, problem.examples.rows, problem.loss, problem.y, problem.sample_weight,
        problem.lam * problem.n, alpha, w, Intercept(0.0, np.array([0.0, alpha.sum()])),
    )  # fmt: skip
    np.testing.assert_array_equal(alpha[still], alphas[-1][still])
    np.testing.assert_allclose(w, problem.primal_point(alpha), rtol=1e-9, atol=1e-12)
    slope = alpha - problem.y + problem.matrix.times(w)
    scale = np.linalg.norm(moves, axis=1) * np.linalg.norm(slope)
    np.testing.assert_array_less(np.abs(moves @ slope), 1e-7 * scale)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
def test_it_saves_epochs_where_descent_is_slow(loss):
    problem = slow_problem(loss)
    quick = solve(problem, "dual_cd", tol=1e-7, seed=0)
    plain = solve(problem, DualCD(1e-7, extrapolates=False), tol=1e-7, seed=0, max_passes=10_000)
    assert quick.converged and plain.converged
    assert quick.passes < 0.8 * plain.passes


def test_moves_of_rounding_size_are_left_alone():
    problem = slow_problem("squared")
    state, points = after_epochs(problem, 3)
    alpha, w = points[-1]
    noise = np.random.default_rng(0).standard_normal((MOVES + 1, problem.n)) * 1e-15
    past = as_past([(alpha + row, w) for row in noise])
    assert not extrapolate(
        past, problem.examples.rows, problem.loss, problem.y, problem.sample_weight,
        problem.lam * problem.n, state.alpha, state.w, state.intercept,
    )  # fmt: skip
    assert np.array_equal(alpha, state.alpha)


def test_points_take_a_part_of_the_datas_memory():
    wide = datasets.random_matrix(1_000_000, 200, 0.002, seed=0)
    problem = Problem(wide, datasets.labels(wide, seed=0), lam=0.1)
    past = room_for_past(problem, True)
    stored = past.alphas.nbytes + past.ws.nbytes + past.moved.nbytes
    assert stored <= 0.4 * 12 * problem.matrix.nnz
    without = Problem(wide, datasets.labels(wide, seed=0), "probit")
    assert room_for_past(without, True).alphas.size == 0
