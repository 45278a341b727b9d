"""Katyusha and L-Katyusha: the sparse form against the plain recursion, rates, promises."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from oracles import dense_data, random_problem, scipy_optimum
from scipy import sparse

from primaldual import Problem, solve
from primaldual.methods.literature.katyusha import Katyusha
from primaldual.methods.literature.l_katyusha import LKatyusha
from primaldual.samplings import Draws, Importance, Uniform

BOTH = pytest.mark.parametrize("method", [Katyusha(), LKatyusha()], ids=["katyusha", "l_katyusha"])


def part(draws: Draws, first: int, last: int) -> Draws:
    starts = draws.starts[first : last + 1]
    return Draws(starts - starts[0], draws.coordinates[starts[0] : starts[-1]])


def sparse_problem(seed=0, n=40, d=10, lam=0.02, loss="logistic", **options) -> Problem:
    """A small sparse problem; its third feature is empty, and decays from where it starts."""
    made = random_problem(seed, n, d, loss=loss, density=0.3)
    X = dense_data(made)
    X[:, 2] = 0.0
    return Problem(sparse.csr_array(X), made.y, loss=loss, lam=lam, **options)


def naive(problem, draws, w, q, lengths, loopless, m=80):
    """y and the snapshots, straight from the formulas."""
    X, y, c, n, lam = dense_data(problem), problem.y, problem.sample_weight, problem.n, problem.lam
    weight = 1 / (n * q)

    def slope(j, x):
        return c[j] * problem.loss.derivative(X[j] @ x, y[j])

    L = (problem.beta * c * weight * (X**2).sum(axis=1)).max()
    if loopless:
        L += lam
        sigma = lam / L
        t2, t1 = 0.5, min(math.sqrt(2 * sigma * n / 3), 0.5)
        eta = t2 / ((1 + t2) * t1)
    else:
        L = max(L, lam)
        t2, t1 = 0.5, min(math.sqrt(m * lam / (3 * L)), 0.5)
        a = 1 / (3 * t1 * L)
    z, at = w, w
    point, points, snapshots, left = w, [], [], 0
    for j in draws.coordinates:
        if left == 0:
            if loopless:
                at = point
            elif points:
                weights = (1 + a * lam) ** np.arange(-m, 0.0)
                at = weights @ np.array(points) / weights.sum()
            points = []
            snapshots.append(at)
            old = np.array([slope(i, at) for i in range(n)])
            F = X.T @ old / n
            left = next(lengths)
        x = t1 * z + t2 * at + (1 - t1 - t2) * point
        g = weight[j] * (slope(j, x) - old[j]) * X[j] + F
        if loopless:
            g = g + lam * x
            new = (eta * sigma * x + z - eta / L * g) / (1 + eta * sigma)
            point, z = x + t1 * (new - z), new
        else:
            z = (z - a * g) / (1 + a * lam)
            point = (3 * L * x - g) / (3 * L + lam)
        points.append(point)
        left -= 1
    return point, snapshots


def forever(draw):
    while True:
        yield draw()


# --------------------------------------------------------------------------------------------
# The sparse form is the plain recursion


@pytest.mark.parametrize("kind", ["uniform", "importance"])
@pytest.mark.parametrize("lam", [5.0, 0.3, 0.02, 1e-4, 1e-10])
@BOTH
def test_sparse_form_is_the_plain_recursion(method, lam, kind):
    """From γ = 0 (large λ) to γ near 1/2 (small λ)."""
    problem = sparse_problem(lam=lam, sample_weight=1.0 + np.arange(40) % 3)
    sampling = Uniform(40) if kind == "uniform" else Importance.plan(problem.examples)
    draws = sampling.draw(np.random.default_rng(1), 330)
    start = np.random.default_rng(2).standard_normal(10)
    loopless = isinstance(method, LKatyusha)
    rng = np.random.default_rng(7)
    lengths = forever(lambda: rng.geometric(1 / 40) if loopless else 80)
    q = sampling.probabilities()
    y, snapshots = naive(problem, draws, start, q, lengths, loopless)
    assert len(snapshots) > 3
    state = method.start(problem, sampling, w=start, rng=np.random.default_rng(7))
    method.advance(state, draws)
    np.testing.assert_allclose(method.iterate(state)[0], y, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(state.anchor, snapshots[-1][state.moving], rtol=1e-12, atol=1e-12)


def test_dense_and_sparse_storage_agree():
    draws = Uniform(40).draw(np.random.default_rng(1), 200)
    found = []
    for as_sparse in (False, True):
        problem = random_problem(3, 40, 10, lam=0.02, as_sparse=as_sparse)
        for method in (Katyusha(), LKatyusha()):
            state = method.start(problem, Uniform(40))
            method.advance(state, draws)
            found.append(method.iterate(state)[0])
    np.testing.assert_allclose(found[:2], found[2:], rtol=1e-12, atol=1e-12)


def test_a_long_epoch_folds_its_scale():
    """θ^m overflows in this epoch, and the mean is still that of the plain recursion."""
    problem = sparse_problem(lam=5.0)
    draws = Uniform(40).draw(np.random.default_rng(1), 2001)
    method = Katyusha(epoch=2000)
    state = method.start(problem, Uniform(40))
    method.advance(state, part(draws, 0, 1000))
    assert state.scale > 1e-200
    assert -1000 * math.log1p(-state.move.decay) > math.log(1e200)
    method.advance(state, part(draws, 1000, 2001))
    lengths = forever(lambda: 2000)
    y, snapshots = naive(problem, draws, np.zeros(10), np.full(40, 1 / 40), lengths, False, m=2000)
    np.testing.assert_allclose(state.anchor, snapshots[-1][state.moving], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(method.iterate(state)[0], y, rtol=1e-12, atol=1e-12)


# --------------------------------------------------------------------------------------------
# Convergence


@BOTH
@pytest.mark.parametrize("lam", [0.05, 1e-3])
def test_reaches_the_optimum_on_sparse_logistic(method, lam):
    problem = sparse_problem(lam=lam)
    for sampling in ("uniform", "importance"):
        result = solve(problem, method, sampling, tol=1e-8, max_passes=20_000, seed=0)
        assert result.converged, result


@BOTH
def test_reaches_the_optimum_on_dense_squared(method):
    for n, d in ((40, 10), (10, 25)):
        problem = random_problem(1, n, d, loss="squared", lam=0.01)
        result = solve(problem, method, tol=1e-8, max_passes=20_000, seed=0)
        assert result.converged, result


@BOTH
def test_weighted_problem_has_the_optimum_of_scipy(method):
    problem = sparse_problem(lam=0.1, sample_weight=1.0 + np.arange(40) % 4)
    w, _, value = scipy_optimum(problem)
    result = solve(problem, method, tol=1e-12, max_passes=20_000, seed=0)
    assert result.certificate.primal == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(result.w, w, atol=1e-5)


@BOTH
@pytest.mark.parametrize("lam", [0.1, 1e-3])
def test_mean_error_is_within_the_stated_rate(method, lam):
    """P − P* after 4K steps, in the mean of 5 seeds, is at most 4 e⁻⁴ of its first value.

    The factor 4 stands for the constants of bounds that contract something else than P − P*.
    """
    problem = sparse_problem(lam=lam)
    _, _, best = scipy_optimum(problem)
    steps = round(4 * method.complexity(problem, Uniform(40)).iterations)
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        state = method.start(problem, Uniform(40), rng=rng.spawn(1)[0])
        method.advance(state, Uniform(40).draw(rng, steps))
        errors.append(problem.primal(method.iterate(state)[0]) - best)
    assert np.mean(errors) <= 4 * math.exp(-4) * (problem.primal(np.zeros(10)) - best)


def test_acceleration_pays_when_the_problem_is_badly_conditioned():
    """K grows with √(1/λ), not with 1/λ."""
    for method in (Katyusha(), LKatyusha()):
        K = [method.complexity(sparse_problem(lam=lam), Uniform(40)).iterations
             for lam in (1e-6, 1e-8)]  # fmt: skip
        assert K[1] / K[0] == pytest.approx(10, rel=0.01)


@BOTH
def test_warm_start_at_the_optimum_stays_there(method):
    problem = sparse_problem(lam=0.01)
    w, _, _ = scipy_optimum(problem)
    state = method.start(problem, Uniform(40), w=w)
    method.advance(state, Uniform(40).draw(np.random.default_rng(0), 500))
    np.testing.assert_allclose(method.iterate(state)[0], w, atol=1e-11)


# --------------------------------------------------------------------------------------------
# Promises of the interface


@BOTH
def test_chunks_do_not_change_a_bit(method):
    problem = sparse_problem()
    draws = Uniform(40).draw(np.random.default_rng(3), 300)
    whole = method.start(problem, Uniform(40), rng=np.random.default_rng(5))
    seen = method.advance(whole, draws)
    pieces = method.start(problem, Uniform(40), rng=np.random.default_rng(5))
    cuts = [0, 0, 1, 2, 17, 80, 81, 81, 111, 300]
    seen_in_pieces = 0.0
    for first, last in itertools.pairwise(cuts):
        seen_in_pieces += method.advance(pieces, part(draws, first, last))
        method.iterate(pieces)  # a look changes nothing
    assert seen_in_pieces == seen
    assert method.iterate(whole)[0].tobytes() == method.iterate(pieces)[0].tobytes()


@BOTH
def test_no_steps_change_nothing(method):
    problem = sparse_problem()
    w = np.arange(10.0)
    state = method.start(problem, Uniform(40), w=w)
    assert method.advance(state, Uniform(40).draw(np.random.default_rng(0), 0)) == 0
    np.testing.assert_allclose(method.iterate(state)[0], w, rtol=1e-15)


def test_visited_nonzeros_are_counted():
    problem = sparse_problem()
    nnz = problem.matrix.nnz
    draws = Uniform(40).draw(np.random.default_rng(0), 90)
    rows = problem.examples.counts[draws.coordinates].sum()
    expected = {
        Katyusha(): 2.5 * rows + 2 * 1.5 * nnz,
        LKatyusha(refresh=1e-9): 2 * rows + 1.5 * nnz,
    }
    for method, count in expected.items():
        state = method.start(problem, Uniform(40))
        assert method.advance(state, draws) == count


def test_options_are_checked():
    with pytest.raises(ValueError, match="epoch must be"):
        Katyusha(epoch=0)
    with pytest.raises(ValueError, match="refresh must be"):
        LKatyusha(refresh=1.5)
