"""Algorithm 1: hand-computed trajectories, and the rate of Theorem 1."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import REFERENCE_OPTIMA, random_problem, reference_problem

from primaldual.complexity import complexity
from primaldual.methods import NSync
from primaldual.samplings import Draws, Importance, TauNice, Uniform


class WithBound:
    """A sampling that uses one particular ESO vector."""

    def __init__(self, sampling, v):
        self.sampling, self.v, self.size = sampling, v, sampling.size

    def probabilities(self):
        return self.sampling.probabilities()

    def eso(self, side):
        return self.v

    def draw(self, rng, steps):
        return self.sampling.draw(rng, steps)


def one_by_one(coordinates) -> Draws:
    coordinates = np.asarray(coordinates, dtype=np.int64)
    return Draws(np.arange(len(coordinates) + 1), coordinates)


def together(*coordinates: int) -> Draws:
    return Draws(np.array([0, len(coordinates)]), np.array(coordinates))


def after(problem, sampling, draws) -> np.ndarray:
    method = NSync()
    state = method.start(problem, sampling)
    method.advance(state, draws)
    return method.iterate(state)[0].copy()


# --------------------------------------------------------------------------------------------
# Trajectories on the reference instance, by hand


def test_first_cycle_on_the_logistic_loss():
    problem = reference_problem("logistic")
    w = after(problem, Uniform(4), one_by_one(range(4)))
    by_hand = [-0.5511811024, -0.1616044589, -0.2513292642, 0.4292381767]
    np.testing.assert_allclose(w, by_hand, atol=5.1e-11)
    assert problem.primal(w) == pytest.approx(0.3681825952, abs=5.1e-11)


def test_two_coordinates_at_once_start_from_the_same_point():
    problem = reference_problem("logistic")
    nice = TauNice(4, 2)
    v = nice.eso(problem.features, "sparsity")
    np.testing.assert_allclose(v, [35, 25 / 3, 19, 35])
    w = after(problem, WithBound(nice, v), together(0, 1))
    np.testing.assert_allclose(w, [-0.3743315508, 0, 0, 0], atol=5.1e-11)
    assert problem.primal(w) == pytest.approx(0.5461071382, abs=5.1e-11)


@pytest.mark.parametrize(
    ("loss", "value"),
    [
        ("squared", 0.5744903422),
        ("squared_hinge", 0.1815198905),
        ("smoothed_hinge", 0.6254167707),
        ("huber", 0.6762489435),
        ("log_cosh", 0.6751895505),
    ],
)
def test_first_cycle_on_other_losses(loss, value):
    problem = reference_problem(loss)
    w = after(problem, Uniform(4), one_by_one(range(4)))
    assert problem.primal(w) == pytest.approx(value, abs=5.1e-11)
    if loss == "squared":
        by_hand = [0.593220339, 0.4211607601, 0.3946359345, 0.1229198439]
        np.testing.assert_allclose(w, by_hand, atol=5.1e-11)


def test_kernel_equals_the_pseudocode():
    """Subsets of any size, also empty, with weights: the two lines of Algorithm 1 in NumPy."""
    c = 1.0 + np.arange(12) % 3
    problem = random_problem(seed=1, sample_weight=c)
    X, n, lam = problem.matrix.by_example.values, problem.n, problem.lam
    nice = TauNice(5, 3)
    u = nice.eso(problem.features)
    draws = Draws(np.array([0, 3, 3, 4, 9, 11]), np.array([0, 1, 4, 2, 0, 1, 2, 3, 4, 3, 1]))
    w = np.zeros(5)
    for k in range(draws.steps):
        S = draws.coordinates[draws.starts[k] : draws.starts[k + 1]]
        slopes = [problem.loss.derivative(t, y) for t, y in zip(X @ w, problem.y, strict=True)]
        gradient = X.T @ (problem.sample_weight * slopes) / n + lam * w
        w[S] -= n / (problem.beta * u[S] + lam * n) * gradient[S]
    np.testing.assert_allclose(after(problem, nice, draws), w, rtol=1e-12, atol=1e-14)


def test_visited_nonzeros_are_those_of_the_drawn_features():
    problem = reference_problem("logistic")
    method = NSync()
    state = method.start(problem, Uniform(4))
    counts = [4, 3, 3, 4]
    assert method.advance(state, one_by_one([0, 1, 1])) == counts[0] + 2 * counts[1]
    assert method.advance(state, one_by_one([])) == 0


def test_intercept_is_optimal_after_every_call():
    problem = random_problem(seed=2, fit_intercept=True)
    method = NSync()
    state = method.start(problem, Uniform(5))
    for coordinates in ([0], [1, 2], [3, 4, 0]):
        method.advance(state, one_by_one(coordinates))
        slopes = [problem.loss.derivative(t, y) for t, y in zip(state.z, problem.y, strict=True)]
        assert sum(slopes) == pytest.approx(0.0, abs=1e-12)


# --------------------------------------------------------------------------------------------
# Theorem 1 (i)


@pytest.mark.parametrize("kind", ["uniform", "importance", "tau-nice"])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_mean_error_stays_under_the_bound_of_theorem_1(loss, kind):
    problem = reference_problem(loss)
    side = problem.features
    sampling = {
        "uniform": Uniform(4),
        "importance": Importance.plan(side),
        "tau-nice": TauNice(4, 2),
    }[kind]
    optimum = REFERENCE_OPTIMA[loss][0]
    contraction = 1 - 1 / complexity(side, sampling).iterations
    stride, checks, seeds = 10, 12, 40
    errors = np.zeros(checks)
    method = NSync()
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        state = method.start(problem, sampling)
        for k in range(checks):
            method.advance(state, sampling.draw(rng, stride))
            errors[k] += (problem.primal(method.iterate(state)[0]) - optimum) / seeds
    bound = contraction ** (stride * np.arange(1, checks + 1))
    assert (errors <= bound * (problem.primal(np.zeros(4)) - optimum)).all()


def test_every_step_decreases_the_objective():
    """The ESO of a serial sampling makes each step safe, not only the average one."""
    problem = random_problem(seed=4)
    method = NSync()
    state = method.start(problem, Uniform(5))
    values = [problem.primal(state.w)]
    for i in np.random.default_rng(0).integers(5, size=60):
        method.advance(state, one_by_one([i]))
        values.append(problem.primal(state.w))
    assert (np.diff(values) <= 1e-15).all()
