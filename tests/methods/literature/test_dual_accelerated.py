"""The accelerated dual methods: efficient forms against the pseudo-code, and rates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracles import (
    dense_data,
    dual_value,
    nearest_feasible,
    primal_value,
    random_problem,
    reference_instance,
)
from scipy import sparse

from primaldual.methods.literature.acc_prox_sdca import AccProxSDCA
from primaldual.methods.literature.apcg import APCG
from primaldual.methods.literature.asdca import ASDCA
from primaldual.methods.literature.sdca import SDCA
from primaldual.methods.literature.spdc import SPDC
from primaldual.problem import Problem
from primaldual.samplings import Draws, TauNice, Uniform
from primaldual.solver import solve

Recursion = Callable[[Problem, list[np.ndarray]], tuple[np.ndarray, np.ndarray]]


def small(**options: Any) -> Problem:
    """Forty sparse examples of ten features, logistic loss."""
    return random_problem(3, **{"n": 40, "d": 10, "lam": 0.02, "as_sparse": True, **options})


def weighted() -> Problem:
    return small(sample_weight=np.random.default_rng(0).uniform(0.2, 3.0, 40))


# --- reference trajectories -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "expected", "value"),
    [
        (APCG(), "-0.789392093 -0.674200222 -0.37849891 0.7885291114", 0.3179921496),
        (SPDC(), "-0.4881538407 -0.0409102987 -0.1465435338 0.483716295", 0.3782307994),
        (ASDCA(), "-0.0997571708 0.0089449432 -0.0437030683 0.1084514863", 0.5803741826),
    ],
    ids=["apcg", "spdc", "asdca"],
)
def test_two_cyclic_passes_on_the_reference_instance(
    method: Any, expected: str, value: float
) -> None:
    X, y, lam = reference_instance("classification")
    problem = Problem(sparse.csr_array(X), y, lam=lam)
    state = method.start(problem, Uniform(6))
    method.advance(state, Draws(np.arange(13), np.arange(12) % 6))
    w, _ = method.iterate(state)
    assert np.allclose(w, np.array(expected.split(), dtype=float), rtol=0, atol=1e-10)
    assert primal_value(problem, w) == pytest.approx(value, abs=1e-10)


def test_reference_dual_iterate_of_apcg() -> None:
    X, y, lam = reference_instance("classification")
    method = APCG()
    state = method.start(Problem(sparse.csr_array(X), y, lam=lam), Uniform(6))
    method.advance(state, Draws(np.arange(13), np.arange(12) % 6))
    expected = "0.3383307786 -0.0557568854 0.1591641007 -0.3993038986 0.1480330284 -0.0107148075"
    assert np.allclose(method.iterate(state)[1], np.array(expected.split(), float), atol=1e-10)


# --- the recursions as they are written -----------------------------------------------------------


def scaled_square(problem: Problem) -> tuple[np.ndarray, float]:
    squares = problem.sample_weight * (dense_data(problem) ** 2).sum(axis=1)
    return squares, float(squares.max())


def exact_change(problem: Problem, j: int, alpha: float, z: float, kappa: float) -> float:
    """The change of α_j for c_j φ, when κ is the curvature for α_j/√c_j."""
    c = problem.sample_weight[j]
    return float(c * problem.loss.dual_step(alpha / c, z, problem.y[j], kappa))


def slope(problem: Problem, j: int, z: float) -> float:
    return float(problem.sample_weight[j] * problem.loss.derivative(z, problem.y[j]))


def naive_asdca(problem: Problem, batches: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    X, n, lam_n, m = dense_data(problem), problem.n, problem.lam * problem.n, len(batches[0])
    g = lam_n / (problem.beta * scaled_square(problem)[1])
    theta = 0.25 * min(1, math.sqrt(g / m), g, g ** (2 / 3) / m ** (1 / 3))
    alpha, w, mean = np.zeros(n), np.zeros(problem.d), np.zeros(problem.d)
    for S in batches:
        u = (1 - theta) * w + theta * mean
        for j in S:
            alpha[j] = (1 - theta) * alpha[j] - theta * slope(problem, j, X[j] @ u)
        mean = X.T @ alpha / lam_n
        w = (1 - theta) * w + theta * mean
    return w, alpha


def naive_spdc(problem: Problem, batches: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    X, n, lam, m = dense_data(problem), problem.n, problem.lam, len(batches[0])
    R, gamma = math.sqrt(scaled_square(problem)[1]), 1 / problem.beta
    tau = math.sqrt(m * gamma / (n * lam)) / (2 * R)
    sigma = math.sqrt(n * lam / (m * gamma)) / (2 * R)
    theta = 1 - 1 / (n / m + 2 * R * math.sqrt(n / (m * lam * gamma)))
    alpha, x, ahead, u = np.zeros(n), np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    for S in batches:
        delta = np.zeros(n)
        for j in S:
            delta[j] = exact_change(problem, j, alpha[j], X[j] @ ahead, 1 / sigma)
        alpha += delta
        following = (x - tau * (u - X.T @ delta / m)) / (1 + lam * tau)
        u = u - X.T @ delta / n
        ahead = following + theta * (following - x)
        x = following
    return x, alpha


def naive_apcg(problem: Problem, batches: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    X, n, lam_n, c = dense_data(problem), problem.n, problem.lam * problem.n, problem.sample_weight
    gamma = 1 / problem.beta
    L = (scaled_square(problem)[0] + lam_n * gamma) / (lam_n * n)
    a = math.sqrt(gamma / n / L.max()) / n
    x, z = np.zeros(n), np.zeros(n)
    for (j,) in batches:
        y = (x + a * z) / (1 + a)
        start = (1 - a) * z + a * y
        t = X[j] @ (X.T @ y) / lam_n + gamma * (y[j] - start[j]) / c[j]
        following = start.copy()
        following[j] += exact_change(problem, j, start[j], t, max(n * n * a * L[j] - gamma, 0.0))
        x = y + n * a * (following - z) + n * a * a * (z - y)
        z = following
    alpha = nearest_feasible(problem, x)
    return X.T @ alpha / lam_n, alpha


@pytest.mark.parametrize("rescaled", [False, True])
@pytest.mark.parametrize(
    ("method", "recursion", "batch"),
    [
        (ASDCA(), naive_asdca, 1),
        (ASDCA(), naive_asdca, 8),
        (SPDC(), naive_spdc, 1),
        (SPDC(), naive_spdc, 5),
        (SPDC(), naive_spdc, 40),
        (APCG(), naive_apcg, 1),
    ],
    ids=["asdca 1", "asdca 8", "spdc 1", "spdc 5", "spdc 40", "apcg"],
)
def test_efficient_form_equals_the_recursion(
    method: Any, recursion: Recursion, batch: int, rescaled: bool
) -> None:
    problem = weighted()
    sampling = TauNice(40, batch)
    draws = sampling.draw(np.random.default_rng(2), 300)
    batches = list(draws.coordinates.reshape(300, batch))
    state = method.start(problem, sampling)
    if rescaled:
        # The scaled vectors are still zero, so any scale describes the same point.
        state.scale[0] = 1.0001e-100 / state.scale[0]
    for first, last in [(0, 40), (40, 300)]:
        offset, end = draws.starts[first], draws.starts[last]
        part = Draws(draws.starts[first : last + 1] - offset, draws.coordinates[offset:end])
        method.advance(state, part)
        w, alpha = method.iterate(state)
        expected_w, expected_alpha = recursion(problem, batches[:last])
        assert np.allclose(alpha, expected_alpha, rtol=0, atol=1e-12)
        assert np.allclose(w, expected_w, rtol=0, atol=1e-12)
    assert (state.scale[0] > 1e-99) or not rescaled


def test_short_examples_do_not_make_the_curvature_of_apcg_negative() -> None:
    """n²a L_j − γ < 0 for very short rows; a larger L_j is as valid."""
    X = dense_data(small())
    X[:20] *= 1e-3
    problem = Problem(sparse.csr_array(X), small().y, lam=1e-3)
    state = APCG().start(problem, Uniform(40))
    assert (state.kappa == 0).any() and (state.kappa >= 0).all()
    assert solve(problem, APCG(), tol=1e-8, max_passes=10_000, seed=0).converged


def test_accelerated_prox_sdca_equals_its_pseudo_code() -> None:
    problem = weighted()
    X, n, lam, c = dense_data(problem), 40, problem.lam, problem.sample_weight
    squares, R2 = scaled_square(problem)
    pull = max(problem.beta * R2 / n - lam, 0)
    mu = lam / 2
    eta = math.sqrt(mu / (mu + pull))
    order = np.random.default_rng(2).integers(n, size=30 * n)
    alpha, y, previous = np.zeros(n), np.zeros(problem.d), np.zeros(problem.d)
    xi = (1 + eta**-2) * (problem.primal(np.zeros(problem.d)) - problem.dual(alpha))
    centres, visited = 0, float(problem.examples.counts[order].sum())
    for k, j in enumerate(order):
        w = (X.T @ alpha / n + pull * y) / (lam + pull)
        kappa = squares[j] / ((lam + pull) * n)
        alpha[j] += exact_change(problem, j, alpha[j], X[j] @ w, kappa)
        if (k + 1) % (2 * n) == 0:
            w = (X.T @ alpha / n + pull * y) / (lam + pull)
            z, gap = X @ w, 0.0
            visited += problem.matrix.nnz
            for i in range(n):
                value = problem.loss.value(z[i], problem.y[i])
                conjugate = problem.loss.conjugate(alpha[i] / c[i], problem.y[i])
                gap += (c[i] * (value + conjugate) + alpha[i] * z[i]) / n
            if gap <= eta / (2 * (1 + eta**-2)) * xi:
                y, previous = w + (1 - eta) / (1 + eta) * (w - previous), w
                xi *= 1 - eta / 2
                visited += problem.matrix.nnz
                centres += 1
    assert 2 <= centres < 15  # some looks led to a new centre, some did not
    method = AccProxSDCA()
    state = method.start(problem, Uniform(n))
    assert method.advance(state, Draws(np.arange(30 * n + 1), order)) == visited
    w, dual = method.iterate(state)
    assert np.allclose(dual, alpha, rtol=0, atol=1e-11)
    assert np.allclose(w, (X.T @ alpha / n + pull * y) / (lam + pull), rtol=0, atol=1e-11)


def test_accelerated_prox_sdca_is_sdca_where_that_is_fast() -> None:
    problem = small(lam=1.0)
    draws = Uniform(40).draw(np.random.default_rng(0), 200)
    plain, outer = SDCA(), AccProxSDCA()
    first, second = plain.start(problem, Uniform(40)), outer.start(problem, Uniform(40))
    plain.advance(first, draws)
    outer.advance(second, draws)
    assert second.pull == 0.0
    assert np.array_equal(first.alpha, second.alpha)


# --- rates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "batch"),
    [(ASDCA(), 8), (ASDCA(), 1), (APCG(), 1), (SPDC(), 1), (SPDC(), 8), (AccProxSDCA(), 1)],
    ids=["asdca 8", "asdca 1", "apcg", "spdc 1", "spdc 8", "acc_prox_sdca"],
)
def test_mean_error_contracts_as_stated(method: Any, batch: int) -> None:
    """The bounds have constants, and one has logarithms, but none is needed here: margin 1."""
    problem = small(lam=0.002)
    sampling = Uniform(40) if batch == 1 else TauNice(40, batch)
    steps = math.ceil(6 * method.complexity(problem, sampling).iterations)
    errors = []
    for seed in range(10):
        state = method.start(problem, sampling)
        method.advance(state, sampling.draw(np.random.default_rng(seed), steps))
        w, alpha = method.iterate(state)
        errors.append(primal_value(problem, w) - dual_value(problem, alpha))
    first = problem.primal_at_zero - problem.dual(np.zeros(40))
    assert np.mean(errors) <= math.exp(-6) * first


def test_stated_complexities() -> None:
    problem = small()
    R2, nnz = problem.examples.squared_norms.max(), problem.matrix.nnz
    apcg = APCG().complexity(problem, Uniform(40))
    assert apcg.iterations == pytest.approx(40 * math.sqrt(1 + 0.25 * R2 / (0.02 * 40)))
    spdc = SPDC().complexity(problem, TauNice(40, 4))
    assert spdc.iterations == pytest.approx(10 + 2 * math.sqrt(R2 * 10 * 0.25 / 0.02))
    assert spdc.cost == pytest.approx(2.5 * nnz / 10)
    nested = AccProxSDCA().complexity(problem, Uniform(40))
    assert nested.iterations == pytest.approx(40 + math.sqrt(40 * 0.25 * R2 / 0.02))
    g = 0.02 * 40 / (0.25 * R2)
    serial = ASDCA().complexity(problem, Uniform(40))
    assert serial.iterations == pytest.approx(4 * 40 / min(1, g))
    batch = ASDCA().complexity(problem, TauNice(40, 4))
    assert batch.iterations < serial.iterations
    assert batch.cost == pytest.approx(4 * serial.cost)


def test_acceleration_pays_on_ill_conditioned_problems() -> None:
    """At small λ the accelerated methods need fewer passes than SDCA."""
    problem = random_problem(8, n=200, d=20, lam=2e-6, as_sparse=True)
    passes = {}
    for method in (SDCA(), APCG(), SPDC(), AccProxSDCA()):
        result = solve(problem, method, tol=1e-5, max_passes=1e5, seed=0)
        assert result.converged
        passes[result.method] = result.trace.entries[-1].passes
    plain = passes.pop("sdca")
    assert max(passes.values()) < 0.2 * plain


def test_visited_counts() -> None:
    problem = small()
    draws = TauNice(40, 5).draw(np.random.default_rng(0), 12)
    touched = problem.examples.counts[draws.coordinates].sum()
    for method, reads in ((ASDCA(), 2), (SPDC(), 2.5)):
        assert method.advance(method.start(problem, TauNice(40, 5)), draws) == reads * touched
    serial = Uniform(40).draw(np.random.default_rng(0), 12)
    touched = problem.examples.counts[serial.coordinates].sum()
    assert APCG().advance(APCG().start(problem, Uniform(40)), serial) == 2 * touched
