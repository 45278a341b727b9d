"""Methods over a Workers object: the same numbers wherever the parts live, and their rates."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from oracles import REFERENCE_OPTIMA, dense_data, dual_value, random_problem, reference_problem
from oracles import scipy_optimum as optimum
from scipy import sparse

from primaldual import Problem, solve
from primaldual.complexity import complexity
from primaldual.data.copies import consecutive, on_support
from primaldual.data.rows import DenseRows
from primaldual.methods.literature.approx import Approx, Hydra2
from primaldual.methods.literature.cocoa import CoCoA
from primaldual.methods.literature.hydra import Hydra
from primaldual.methods.literature.workers import InProcess, cut
from primaldual.methods.nsync import NSync
from primaldual.methods.quartz import Quartz
from primaldual.samplings import Distributed, Draws, Permutation, Uniform


class FarAway(InProcess):
    """Parts that share no memory with the method: everything is copied on its way."""

    def run(self, step, *shared):
        answers = []
        for part in self.parts:
            sent = pickle.loads(pickle.dumps(shared))
            answers.append(pickle.loads(pickle.dumps(step(part, *sent))))
        return answers


def one_by_one(coordinates) -> Draws:
    coordinates = np.asarray(coordinates, dtype=np.int64)
    return Draws(np.arange(len(coordinates) + 1), coordinates)


def piece(draws: Draws, first: int, last: int) -> Draws:
    begin, end = draws.starts[first], draws.starts[last]
    return Draws(draws.starts[first : last + 1] - begin, draws.coordinates[begin:end])


def after(method, problem, sampling, draws, **start):
    state = method.start(problem, sampling, **start)
    method.advance(state, draws)
    w, alpha = method.iterate(state)
    return w.copy(), None if alpha is None else alpha.copy()


def weights(n: int) -> np.ndarray:
    return 1.0 + np.arange(n) % 3


# --------------------------------------------------------------------------------------------
# Workers and parts


def test_workers_answer_in_order_and_keep_their_parts():
    workers = InProcess([[1], [2], [3]])
    assert workers.run(lambda part, x: part[0] * x, 10) == [10, 20, 30]
    workers.run(lambda part: part.append(0))
    assert workers.run(len) == [2, 2, 2]


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_parts_put_together_are_the_data(as_sparse):
    problem = random_problem(1, n=11, d=7, density=0.3, as_sparse=as_sparse)
    X = dense_data(problem)
    blocks = cut(11, 3, 4)
    assert blocks == [(0, 3), (3, 6), (6, 9), (9, 11)]
    for first, last in blocks:
        rows, support = on_support(consecutive(problem.examples.rows, first, last), 7)
        found = np.zeros((last - first, 7))
        for k in range(last - first):
            for column, feature in enumerate(support):
                unit = np.zeros(len(support))
                unit[column] = 1.0
                found[k, feature] = rows.dot(k, unit)
        np.testing.assert_array_equal(found, X[first:last])
        if not isinstance(rows, DenseRows):
            np.testing.assert_array_equal(support, np.flatnonzero(X[first:last].any(axis=0)))


# --------------------------------------------------------------------------------------------
# Hydra


@pytest.mark.parametrize("crew", [InProcess, FarAway])
@pytest.mark.parametrize(
    ("as_sparse", "loss"), [(True, "logistic"), (False, "squared")], ids=["sparse", "dense"]
)
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["through zero", "intercept"])
def test_hydra_is_nsync_to_the_bit(as_sparse, loss, crew, fit_intercept):
    problem = random_problem(
        2, n=15, d=11, loss=loss, as_sparse=as_sparse, sample_weight=weights(15),
        fit_intercept=fit_intercept,
    )  # fmt: skip
    sampling = Distributed(11, 3, 2)
    draws = sampling.draw(np.random.default_rng(0), 120)
    start = np.random.default_rng(1).standard_normal(11)
    w, _ = after(Hydra(workers=crew), problem, sampling, draws, w=start)
    expected, _ = after(NSync(), problem, sampling, draws, w=start)
    assert w.tobytes() == expected.tobytes()


def test_hydra_nodes_own_their_features():
    problem = random_problem(2, n=15, d=11, as_sparse=True)
    method = Hydra(blocks=4, tau=1)
    state = method.start(problem, method.plan(problem))
    nodes = state.workers.parts
    assert [len(node.w) for node in nodes] == [3, 3, 3, 2]
    assert sum(len(node.rows.values) for node in nodes) == problem.matrix.nnz


def test_more_blocks_than_features_fill_leave_nodes_empty():
    problem = random_problem(2, n=15, d=5, as_sparse=True)
    result = solve(problem, Hydra(blocks=4, tau=1), tol=1e-8, max_passes=5000, seed=0)
    assert result.converged


def test_hydra2_is_approx_with_the_distributed_sampling():
    problem = random_problem(3, n=15, d=12, as_sparse=True)
    method = Hydra2(blocks=3, tau=2)
    sampling = method.plan(problem)
    assert (sampling.blocks, sampling.tau) == (3, 2)
    draws = sampling.draw(np.random.default_rng(0), 100)
    w, _ = after(method, problem, sampling, draws)
    assert w.tobytes() == after(Approx(), problem, sampling, draws)[0].tobytes()


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_mean_error_of_hydra_stays_under_the_stated_rate(loss):
    problem, method = reference_problem(loss), Hydra(blocks=2, tau=1)
    sampling = method.plan(problem)
    K = method.complexity(problem, sampling).iterations
    assert complexity(problem.features, sampling).iterations == K
    best = REFERENCE_OPTIMA[loss][0]
    stride, checks, seeds = 10, 10, 20
    errors = np.zeros(checks)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        state = method.start(problem, sampling)
        for k in range(checks):
            method.advance(state, sampling.draw(rng, stride))
            errors[k] += (problem.primal(method.iterate(state)[0]) - best) / seeds
    bound = (1 - 1 / K) ** (stride * np.arange(1, checks + 1))
    assert (errors <= bound * (problem.primal(np.zeros(4)) - best)).all()


# --------------------------------------------------------------------------------------------
# CoCoA+


def naive_cocoa(problem, alpha, order, nodes, gamma, sigma, round_length):
    """α after the draws, the last round ended where they end; dense loops from the definition."""
    X, y, c, loss = dense_data(problem), problem.y, problem.sample_weight, problem.loss
    n, lam_n = problem.n, problem.lam * problem.n
    block = np.arange(n) // -(-n // nodes)
    for first in range(0, len(order), round_length):
        delta = np.zeros(n)
        w = X.T @ alpha / lam_n
        for j in order[first : first + round_length]:
            own = block == block[j]
            local = w + sigma / lam_n * X[own].T @ delta[own]
            kappa = c[j] * sigma * (X[j] @ X[j]) / lam_n
            a = (alpha[j] + delta[j]) / c[j]
            delta[j] += c[j] * loss.dual_step(a, X[j] @ local, y[j], kappa)
        alpha = alpha + gamma * delta
    return X.T @ alpha / lam_n, alpha


@pytest.mark.parametrize("crew", [InProcess, FarAway])
@pytest.mark.parametrize(
    ("nodes", "gamma", "local_epochs", "steps"),
    [(3, 1.0, 1.0, 200), (3, 0.4, 0.5, 200), (4, 1.0, 2.5, 170), (1, 1.0, 1.0, 90)],
)
def test_cocoa_equals_the_naive_recursion(nodes, gamma, local_epochs, steps, crew):
    """Rounds and the draws do not end together: the iterate is as if the round ended there."""
    problem = random_problem(4, n=17, d=9, density=0.3, as_sparse=True, sample_weight=weights(17))
    order = np.random.default_rng(0).integers(17, size=steps)
    method = CoCoA(nodes, gamma, local_epochs=local_epochs, workers=crew)
    begin, length = problem.dual_point(np.zeros(17)), round(local_epochs * 17)
    w, alpha = after(method, problem, Uniform(17), one_by_one(order), alpha=begin)
    expected_w, expected = naive_cocoa(problem, begin, order, nodes, gamma, gamma * nodes, length)
    np.testing.assert_allclose(alpha, expected, atol=1e-12)
    np.testing.assert_allclose(w, expected_w, atol=1e-12)


def test_dense_cocoa_equals_the_naive_recursion():
    problem = random_problem(4, n=17, d=9, loss="squared")
    order = np.random.default_rng(0).integers(17, size=150)
    w, alpha = after(CoCoA(3, sigma=2.5), problem, Uniform(17), one_by_one(order))
    expected_w, expected = naive_cocoa(problem, np.zeros(17), order, 3, 1.0, 2.5, 17)
    np.testing.assert_allclose(alpha, expected, atol=1e-12)
    np.testing.assert_allclose(w, expected_w, atol=1e-12)


def test_one_node_is_dual_coordinate_descent():
    problem = random_problem(5, n=17, d=9, as_sparse=True)
    draws = Uniform(17).draw(np.random.default_rng(0), 150)
    _, alpha = after(CoCoA(1), problem, Uniform(17), draws)
    _, expected = after(Quartz(), problem, Uniform(17), draws)
    np.testing.assert_allclose(alpha, expected, atol=1e-12)


@pytest.mark.parametrize(
    "make", [CoCoA, lambda: CoCoA(4), lambda: CoCoA(4, gamma=0.25, local_epochs=3)],
    ids=["two nodes", "four nodes", "averaging"],
)  # fmt: skip
def test_dual_value_never_falls_from_round_to_round(make):
    problem = random_problem(6, n=24, d=10, lam=0.01, as_sparse=True)
    method = make()
    state = method.start(problem, Uniform(24))
    values = [problem.dual(np.zeros(24))]
    rng = np.random.default_rng(0)
    for _ in range(30):
        method.advance(state, Uniform(24).draw(rng, state.round))
        w, alpha = method.iterate(state)
        values.append(dual_value(problem, alpha))
        np.testing.assert_allclose(state.w, w, atol=1e-13)
    assert (np.diff(values) >= -1e-15).all()


@pytest.mark.parametrize("make", [CoCoA, lambda: CoCoA(3, 1 / 3, local_epochs=2)])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_mean_dual_error_stays_under_the_stated_rate(make, loss):
    problem, method = reference_problem(loss), make()
    K = method.complexity(problem, Uniform(6)).iterations
    best = REFERENCE_OPTIMA[loss][0]
    checks, seeds = 10, 20
    errors = np.zeros(checks)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        state = method.start(problem, Uniform(6))
        for k in range(checks):
            method.advance(state, Uniform(6).draw(rng, state.round))
            errors[k] += (best - problem.dual(method.iterate(state)[1])) / seeds
    rounds = K / state.round
    bound = (1 - 1 / rounds) ** np.arange(1, checks + 1)
    assert (errors <= bound * (best - problem.dual(np.zeros(6)))).all()


def test_cocoa_nodes_hold_no_more_numbers_than_their_data():
    """A million features: a node's vectors are as long as the list of features it has."""
    rng = np.random.default_rng(0)
    n, d, k = 2000, 10**6, 20
    X = sparse.csr_array(
        (rng.standard_normal(n * k), rng.integers(d, size=n * k), np.arange(0, n * k + 1, k)),
        shape=(n, d),
    )
    problem = Problem(X, np.where(rng.random(n) < 0.5, 1, -1), lam=1 / n)
    for method in (CoCoA(), CoCoA(8)):
        state = method.start(problem, Uniform(n))
        for node in state.workers.parts:
            assert len(node.w) <= len(node.rows.values)
        draws = Uniform(n).draw(rng, 3000)
        expected = problem.examples.counts[draws.coordinates].sum()
        assert method.advance(state, draws) == expected
        assert problem.certify(*method.iterate(state)).gap < problem.primal_at_zero


# --------------------------------------------------------------------------------------------
# Promises of every method


FAMILY = {
    "hydra": Hydra,
    "hydra three": lambda: Hydra(blocks=3, tau=2),
    "cocoa": CoCoA,
    "cocoa averaging": lambda: CoCoA(4, gamma=0.25, local_epochs=2),
}
EVERY = pytest.mark.parametrize("make", FAMILY.values(), ids=FAMILY.keys())


@EVERY
@pytest.mark.parametrize(
    ("loss", "as_sparse", "n", "d"),
    [("squared", False, 40, 10), ("logistic", True, 40, 10), ("logistic", True, 20, 60)],
    ids=["squared dense", "logistic sparse", "logistic sparse d > n"],
)
def test_gap_reaches_the_tolerance_within_the_stated_passes(make, loss, as_sparse, n, d):
    problem = random_problem(7, n=n, d=d, loss=loss, lam=0.02, as_sparse=as_sparse)
    method = make()
    stated = method.complexity(problem, method.plan(problem))
    limit = min(1 + 1.2 * stated.passes(1e-8), 20_000)
    result = solve(problem, method, tol=1e-8, max_passes=limit, seed=0)
    assert result.converged, result


@EVERY
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["through zero", "intercept"])
def test_weighted_problem_reaches_the_optimum(make, fit_intercept):
    problem = random_problem(
        8, n=20, d=8, as_sparse=True, sample_weight=weights(20), fit_intercept=fit_intercept
    )
    w, intercept, value = optimum(problem)
    result = solve(problem, make(), tol=1e-13, max_passes=5000, seed=0)
    assert result.certificate.primal == pytest.approx(value, abs=1e-11)
    np.testing.assert_allclose(result.w, w, atol=1e-5)
    assert result.intercept == pytest.approx(intercept, abs=1e-5)


@EVERY
def test_calls_may_be_cut_anywhere(make):
    problem = random_problem(9, n=15, d=12, as_sparse=True)
    method = make()
    sampling = method.plan(problem)
    draws = sampling.draw(np.random.default_rng(0), 100)
    whole, parts = method.start(problem, sampling), method.start(problem, sampling)
    visited = method.advance(whole, draws)
    cuts = [0, 1, 14, 15, 16, 16, 77, 100]
    again = 0.0
    for first, last in itertools.pairwise(cuts):
        again += method.advance(parts, piece(draws, first, last))
    assert visited == again
    for one, other in zip(method.iterate(whole), method.iterate(parts), strict=True):
        assert one is other is None or one.tobytes() == other.tobytes()


@EVERY
def test_optimum_is_a_fixed_point(make):
    problem = random_problem(10, n=20, d=12, as_sparse=True)
    w, _, _ = optimum(problem)
    method = make()
    sampling = method.plan(problem)
    draws = sampling.draw(np.random.default_rng(0), 200)
    for start in ({"w": w}, {"alpha": problem.certify(w).alpha}):
        moved, _ = after(method, problem, sampling, draws, **start)
        np.testing.assert_allclose(moved, w, atol=1e-9)


def test_permutations_are_a_local_order_too():
    problem = random_problem(11, n=30, d=10, lam=0.02, as_sparse=True)
    assert solve(problem, CoCoA(), Permutation(30), tol=1e-10, max_passes=5000, seed=0).converged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 0}, "nodes must be"),
        ({"gamma": 0.0}, "gamma must be"),
        ({"gamma": 1.5}, "gamma must be"),
        ({"sigma": -1.0}, "sigma must be"),
        ({"local_epochs": 0}, "local_epochs must be"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        CoCoA(**options)
