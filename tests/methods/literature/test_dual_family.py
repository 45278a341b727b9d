"""SDCA and its relatives: the plain methods in full, and the promises all of the family make."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from oracles import (
    dense_data,
    dual_value,
    primal_value,
    random_problem,
    reference_instance,
    scipy_optimum,
)
from scipy import sparse

from primaldual.complexity import importance_complexity, uniform_complexity
from primaldual.methods.literature.acc_prox_sdca import AccProxSDCA
from primaldual.methods.literature.ada_sdca import AdaSDCA, GapSDCA, _find, _settle
from primaldual.methods.literature.apcg import APCG
from primaldual.methods.literature.asdca import ASDCA
from primaldual.methods.literature.df_sdca import MISO, DfSDCA
from primaldual.methods.literature.sdca import SDCA, IProxSDCA
from primaldual.methods.literature.spdc import SPDC
from primaldual.problem import Problem
from primaldual.samplings import Draws, Importance, Permutation, TauNice, Uniform
from primaldual.solver import solve

FAMILY: dict[str, Any] = {
    "sdca": SDCA(),
    "sdca_III": SDCA("III"),
    "sdca_V": SDCA("V"),
    "iprox_sdca": IProxSDCA(),
    "df_sdca": DfSDCA(),
    "miso": MISO(),
    "ada_sdca": AdaSDCA(),
    "ada_sdca_theory": AdaSDCA("theory"),
    "gap_sdca": GapSDCA(),
    "asdca": ASDCA(),
    "acc_prox_sdca": AccProxSDCA(),
    "apcg": APCG(),
    "spdc": SPDC(),
}
every_method = pytest.mark.parametrize("method", FAMILY.values(), ids=FAMILY.keys())


def one_by_one(coordinates: Any) -> Draws:
    return Draws(np.arange(len(coordinates) + 1), np.asarray(coordinates, dtype=np.int64))


def sampling_of(method: Any, problem: Problem) -> Any:
    return method.plan(problem) if method.samplings else Uniform(problem.n)


def small(**options: Any) -> Problem:
    """Forty sparse examples of ten features, logistic loss."""
    return random_problem(3, **{"n": 40, "d": 10, "lam": 0.02, "as_sparse": True, **options})


# --- reference trajectories -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "expected", "value"),
    [
        (SDCA("I"), "-0.9407450076 -0.4233616874 0.1416824239 0.7176088146", 0.3969216164),
        (SDCA("II"), "-0.9407450076 -0.4233616874 0.1416824239 0.7176088146", 0.3969216164),
        (SDCA("III"), "-0.9590620275 -0.4411383805 0.127311428 0.774394188", 0.3936468603),
        (SDCA("V"), "-0.6132001605 -0.1388182955 -0.0107773332 0.4831849566", 0.3719898408),
        (SDCA("eta"), "-0.7239053272 -0.3571424535 0.1302848587 0.513733731", 0.3979891252),
        (MISO(), "-0.3984367823 -0.0511845751 -0.0488187829 0.3401144021", 0.4164637170),
    ],
)
def test_first_cyclic_pass_on_the_reference_instance(
    method: Any, expected: str, value: float
) -> None:
    X, y, lam = reference_instance("classification")
    problem = Problem(sparse.csr_array(X), y, lam=lam)
    state = method.start(problem, Uniform(6))
    method.advance(state, one_by_one(range(6)))
    w, _ = method.iterate(state)
    assert np.allclose(w, np.array(expected.split(), dtype=float), rtol=0, atol=1e-10)
    assert primal_value(problem, w) == pytest.approx(value, abs=1e-10)


def test_reference_dual_iterates() -> None:
    X, y, lam = reference_instance("classification")
    problem = Problem(sparse.csr_array(X), y, lam=lam)
    expected = {
        "I": "0.119710481 -0.0903974609 0.102842637 -0.2320624771 0.118709715 -0.019984057",
        "eta": "0.0967741935 -0.0672826254 0.080647942 -0.1891711455 0.0978152239 -0.0098487952",
    }
    for option, numbers in expected.items():
        method = SDCA(option)
        state = method.start(problem, Uniform(6))
        method.advance(state, one_by_one(range(6)))
        assert np.allclose(state.alpha, np.array(numbers.split(), dtype=float), atol=1e-10)


# --- the compiled methods against the formulas ----------------------------------------------------


def naive_dual_ascent(problem: Problem, order: Any, step: Any) -> np.ndarray:
    """α_j += step(j, α_j, z_j), with w(α) computed anew before every step."""
    X = dense_data(problem)
    alpha = np.zeros(problem.n)
    for j in order:
        w = X.T @ alpha / (problem.lam * problem.n)
        alpha[j] += step(j, alpha[j], X[j] @ w)
    return alpha


def naive_step(option: str, problem: Problem) -> Any:
    """The steps of Prox-SDCA for c_j φ, from their formulas."""
    c, y, loss, lam_n = problem.sample_weight, problem.y, problem.loss, problem.lam * problem.n
    squares = (dense_data(problem) ** 2).sum(axis=1)
    largest = max(c * squares)

    def step(j: int, alpha: float, z: float) -> float:
        gamma = 1 / (problem.beta * c[j])
        q = -c[j] * loss.derivative(z, y[j]) - alpha
        G = c[j] * (loss.value(z, y[j]) + loss.conjugate(alpha / c[j], y[j])) + alpha * z
        norm = squares[j] if option in ("I", "III", "eta") else largest / c[j]
        if option == "I":
            return c[j] * loss.dual_step(alpha / c[j], z, y[j], c[j] * norm / lam_n)
        if option in ("III", "IV"):
            return q * min(1.0, (G + gamma * q * q / 2) / (q * q * (gamma + norm / lam_n)))
        return q * gamma * lam_n / (gamma * lam_n + norm)

    return step


@pytest.mark.parametrize("option", ["I", "III", "IV", "V", "eta"])
def test_sdca_equals_its_formulas(option: str) -> None:
    weights = np.random.default_rng(0).uniform(0.2, 3.0, 40)
    problem = small(sample_weight=weights)
    order = np.random.default_rng(1).integers(40, size=300)
    method = SDCA(option)
    state = method.start(problem, Uniform(40))
    assert method.advance(state, one_by_one(order)) == problem.examples.counts[order].sum()
    expected = naive_dual_ascent(problem, order, naive_step(option, problem))
    assert np.allclose(state.alpha, expected, rtol=0, atol=1e-12)
    assert np.allclose(state.w, problem.primal_point(expected), rtol=0, atol=1e-12)


def test_option_two_is_option_one() -> None:
    """The exact maximiser lies between α_j and −φ'_j, so the best s in [0, 1] finds it."""
    problem = small()
    loss, y = problem.loss, problem.y
    rng = np.random.default_rng(0)
    for j in range(20):
        alpha, z, kappa = y[j] * rng.random(), 3 * rng.standard_normal(), 10 ** rng.uniform(-2, 2)
        q = -loss.derivative(z, y[j]) - alpha
        s = np.linspace(0, 1, 2001)
        values = [
            -loss.conjugate(alpha + t * q, y[j]) - t * q * z - kappa * (t * q) ** 2 / 2 for t in s
        ]
        best = s[int(np.argmax(values))] * q
        assert loss.dual_step(alpha, z, y[j], kappa) == pytest.approx(best, abs=abs(q) / 1000)


def test_eta_step_is_exact_for_the_squared_loss() -> None:
    problem = random_problem(5, n=40, d=10, loss="squared", lam=0.02)
    order = one_by_one(np.random.default_rng(1).integers(40, size=100))
    exact, eta = SDCA("I"), SDCA("eta")
    first, second = exact.start(problem, Uniform(40)), eta.start(problem, Uniform(40))
    exact.advance(first, order)
    eta.advance(second, order)
    assert np.allclose(first.alpha, second.alpha, rtol=0, atol=1e-13)


@pytest.mark.parametrize("method", [DfSDCA(), MISO()])
def test_dual_free_methods_equal_their_formula(method: Any) -> None:
    weights = np.random.default_rng(0).uniform(0.2, 3.0, 40)
    problem = small(sample_weight=weights)
    X, lam_n = dense_data(problem), problem.lam * 40
    s = problem.beta * weights / weights.mean() * (X**2).sum(axis=1)
    q = (s + lam_n) / (s + lam_n).sum()
    delta = (q * lam_n / (s + lam_n)).min() / q
    if isinstance(method, MISO):
        delta = np.full(40, min(1, lam_n / (2 * s.max())))

    def step(j: int, alpha: float, z: float) -> float:
        phi = problem.sample_weight[j] * problem.loss.derivative(z, problem.y[j])
        return -delta[j] * (phi + alpha)

    order = np.random.default_rng(1).integers(40, size=300)
    state = method.start(problem, Importance(q))
    method.advance(state, one_by_one(order))
    assert np.allclose(state.alpha, naive_dual_ascent(problem, order, step), rtol=0, atol=1e-12)


def test_dual_free_batches_move_together() -> None:
    problem = small()
    X, sampling = dense_data(problem), TauNice(40, 4)
    draws = sampling.draw(np.random.default_rng(0), 60)
    method = DfSDCA()
    state = method.start(problem, sampling)
    alpha = np.zeros(40)
    lam_n = problem.lam * 40
    delta = (lam_n / (problem.beta * sampling.eso(problem.examples) + lam_n)).min()
    for S in draws.coordinates.reshape(60, 4):
        z = X @ (X.T @ alpha) / lam_n
        slopes = np.array([problem.loss.derivative(z[j], problem.y[j]) for j in S])
        alpha[S] -= delta * (slopes + alpha[S])
    method.advance(state, draws)
    assert np.allclose(state.alpha, alpha, rtol=0, atol=1e-12)


# --- adaptive probabilities -----------------------------------------------------------------------


def test_sum_tree_draws_by_weight() -> None:
    weights = np.array([0.0, 3.0, 1.0, 0.0, 4.0])
    tree = np.zeros(16)
    tree[8:13] = weights
    _settle(tree, 8, 12)
    assert tree[1] == weights.sum()
    drawn = [_find(tree, u) for u in (np.arange(800) + 0.5) / 800]
    assert np.array_equal(np.bincount(drawn, minlength=5), 100 * weights)
    assert _find(tree, 1.0) == 4  # rounding never leads to a weight of zero
    tree[12] = 0.0
    _settle(tree, 12, 12)
    assert _find(tree, 1.0) == 2


def naive_weights(problem: Problem, alpha: np.ndarray, by_gap: bool) -> np.ndarray:
    X, c, y, loss = dense_data(problem), problem.sample_weight, problem.y, problem.loss
    z = X @ (X.T @ alpha) / (problem.lam * problem.n)
    if by_gap:
        G = [
            c[j] * (loss.value(z[j], y[j]) + loss.conjugate(alpha[j] / c[j], y[j]))
            + alpha[j] * z[j]
            for j in range(problem.n)
        ]
        return np.array(G) / sum(G) / 2 + 1 / (2 * problem.n)
    residues = [alpha[j] + c[j] * loss.derivative(z[j], y[j]) for j in range(problem.n)]
    squares = (X**2).sum(axis=1)
    return np.abs(residues) * np.sqrt(squares + problem.n * problem.lam / (problem.beta * c))


@pytest.mark.parametrize("method", [AdaSDCA(), AdaSDCA("theory"), GapSDCA()])
def test_adaptive_methods_equal_their_formulas(method: Any) -> None:
    problem = small(sample_weight=np.random.default_rng(0).uniform(0.2, 3.0, 40))
    X, lam_n = dense_data(problem), problem.lam * 40
    step = naive_step("I", problem)
    alpha, visited, nnz = np.zeros(40), 0.0, problem.matrix.nnz
    q = np.zeros(40)
    for k, u in enumerate(np.random.default_rng(7).random(150)):
        if k % (1 if method.variant == "theory" else 40) == 0:
            q = naive_weights(problem, alpha, method.by_gap)
            visited += nnz
        j = int(np.searchsorted(np.cumsum(q) / q.sum(), u))
        alpha[j] += step(j, alpha[j], X[j] @ (X.T @ alpha) / lam_n)
        visited += problem.examples.counts[j]
        if isinstance(method, AdaSDCA) and not method.by_gap and method.variant == "plus":
            q[j] /= 10
    state = method.start(problem, None, rng=np.random.default_rng(7))
    assert method.advance(state, one_by_one(range(150))) == visited
    assert np.allclose(state.alpha, alpha, rtol=0, atol=1e-12)


def test_adaptive_methods_stay_calm_where_nothing_is_wrong() -> None:
    """At the optimum all residues may vanish: any example will do."""
    problem = Problem(np.zeros((4, 2)), [1.0, -1, 1, -1], lam=0.1)
    for method in (AdaSDCA(), GapSDCA()):
        state = method.start(problem)
        assert method.advance(state) == 0.0
        assert np.array_equal(method.iterate(state)[1], [0.5, -0.5, 0.5, -0.5])


# --- what every method of the family promises -----------------------------------------------------


@every_method
@pytest.mark.parametrize(
    "problem",
    [
        small(),
        random_problem(4, n=15, d=40, lam=0.02, as_sparse=True),
        random_problem(5, n=40, d=10, loss="squared", lam=0.02),
    ],
    ids=["sparse logistic", "more features than examples", "dense squared"],
)
def test_reaches_a_small_gap(method: Any, problem: Problem) -> None:
    result = solve(problem, method, tol=1e-8, max_passes=200_000, seed=0)
    assert result.converged
    w, _, value = scipy_optimum(problem)
    assert primal_value(problem, result.w) - value <= 2e-8 * problem.primal_at_zero
    assert np.linalg.norm(result.w - w) <= math.sqrt(4e-8 * problem.primal_at_zero / problem.lam)


@every_method
def test_weights_empty_rows_and_zero_weights(method: Any) -> None:
    weights = np.random.default_rng(0).integers(0, 4, 40).astype(float)
    X = dense_data(small())
    X[[3, 7]] = 0.0
    X[:, 2] = 0.0
    y = np.array(small().y)
    problem = Problem(sparse.csr_array(X), y, lam=0.02, sample_weight=weights)
    result = solve(problem, method, tol=1e-10, max_passes=200_000, seed=0)
    assert result.converged
    w, _, _ = scipy_optimum(problem)
    assert np.allclose(result.w, w, atol=1e-4)
    copies = np.repeat(np.arange(40), weights.astype(int))
    twice = Problem(sparse.csr_array(X[copies]), y[copies], lam=0.02)
    # With weights of mean 1, n counts the weightless examples as well: λ means the same.
    assert problem.primal(result.w) == pytest.approx(twice.primal(result.w), rel=1e-12)


@every_method
def test_chunks_do_not_change_a_bit(method: Any) -> None:
    problem = small()
    sampling = sampling_of(method, problem)
    draws = sampling.draw(np.random.default_rng(0), 300)
    whole = method.start(problem, sampling, rng=np.random.default_rng(1))
    pieces = method.start(problem, sampling, rng=np.random.default_rng(1))
    at_once = method.advance(whole, draws)
    visited = 0.0
    for first, last in [(0, 0), (0, 1), (1, 100), (100, 100), (100, 173), (173, 300)]:
        offset, end = draws.starts[first], draws.starts[last]
        part = Draws(draws.starts[first : last + 1] - offset, draws.coordinates[offset:end])
        visited += method.advance(pieces, part)
    assert visited == pytest.approx(at_once, rel=1e-12)
    for one, other in zip(method.iterate(whole), method.iterate(pieces), strict=True):
        assert np.array_equal(one, other)


@every_method
def test_no_steps_change_nothing(method: Any) -> None:
    problem = small()
    alpha = problem.dual_point(np.linspace(-1, 1, 40))
    given = alpha.copy()
    sampling = sampling_of(method, problem)
    state = method.start(problem, sampling, alpha=alpha)
    assert method.advance(state, Uniform(40).draw(np.random.default_rng(0), 0)) == 0.0
    assert np.allclose(method.iterate(state)[1], given, rtol=0, atol=1e-15)
    method.advance(state, sampling.draw(np.random.default_rng(0), 50))
    assert np.array_equal(alpha, given)


@every_method
def test_stays_at_the_optimum(method: Any) -> None:
    problem = small()
    w, _, _ = scipy_optimum(problem)
    alpha = problem.dual_point(problem.margins(w))
    sampling = sampling_of(method, problem)
    for start in ({"w": w}, {"alpha": alpha}):
        state = method.start(problem, sampling, **start)
        method.advance(state, sampling.draw(np.random.default_rng(0), 400))
        there, dual = method.iterate(state)
        assert np.allclose(there, w, rtol=0, atol=1e-7)
        assert np.allclose(dual, alpha, rtol=0, atol=1e-7)


@every_method
def test_iterates_are_feasible_from_the_start(method: Any) -> None:
    problem = small()
    sampling = sampling_of(method, problem)
    state = method.start(problem, sampling)
    draws = np.random.default_rng(0)
    for _ in range(20):
        method.advance(state, sampling.draw(draws, 7))
        _, alpha = method.iterate(state)
        assert np.isfinite(dual_value(problem, alpha))


@every_method
def test_the_same_seed_gives_the_same_bits(method: Any) -> None:
    first, second = (solve(small(), method, tol=1e-3, seed=3) for _ in range(2))
    assert np.array_equal(first.w, second.w)


# --- rates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "margin"),
    [
        (SDCA("I"), 1.0),
        (SDCA("III"), 1.0),
        (SDCA("V"), 1.0),
        (IProxSDCA(), 1.0),
        (AdaSDCA("theory"), 1.0),
        (AdaSDCA(), 1.0),
        (GapSDCA(), 1.0),
        # These two contract a mixture of the distances of w and α, not D itself.
        (DfSDCA(), 4.0),
        (MISO(), 4.0),
    ],
    ids=lambda value: type(value).__name__ + getattr(value, "option", ""),
)
def test_mean_dual_error_contracts_as_stated(method: Any, margin: float) -> None:
    problem = small()
    _, _, optimum = scipy_optimum(problem)
    sampling = sampling_of(method, problem)
    steps = math.ceil(4 * method.complexity(problem, sampling).iterations)
    errors = []
    for seed in range(10):
        state = method.start(problem, sampling, rng=np.random.default_rng(seed))
        method.advance(state, sampling.draw(np.random.default_rng(seed), steps))
        errors.append(optimum - dual_value(problem, method.iterate(state)[1]))
    first = optimum - dual_value(problem, np.zeros(40))
    assert np.mean(errors) <= margin * math.exp(-4) * first


def test_stated_complexities() -> None:
    problem = small()
    examples, uniform, importance = problem.examples, Uniform(40), Importance.plan(small().examples)
    R2, mean = examples.squared_norms.max(), examples.squared_norms.mean()
    for option in ("I", "III", "IV", "V", "eta"):
        stated = SDCA(option).complexity(problem, uniform)
        assert stated.iterations == pytest.approx(40 + 0.25 * R2 / 0.02)
        assert stated.cost == pytest.approx(problem.matrix.nnz / 40)
    best = IProxSDCA().complexity(problem, importance)
    assert best.iterations == pytest.approx(40 + 0.25 * mean / 0.02)
    assert SDCA("V").complexity(problem, importance).iterations > best.iterations
    assert DfSDCA().complexity(problem, importance) == SDCA().complexity(problem, importance)
    assert MISO().complexity(problem, uniform).iterations == pytest.approx(
        max(80, 4 * (0.25 * R2 + 0.02) / 0.02)
    )
    ada, theory = AdaSDCA().complexity(problem), AdaSDCA("theory").complexity(problem)
    assert ada.iterations == theory.iterations == importance_complexity(examples).iterations
    assert theory.cost - ada.cost == pytest.approx(problem.matrix.nnz * (1 - 1 / 40))
    assert GapSDCA().complexity(problem).iterations == 2 * uniform_complexity(examples).iterations


def test_permutations_and_wrong_options() -> None:
    for method in (SDCA(), MISO(), SPDC(), AccProxSDCA()):
        assert solve(small(), method, Permutation(40), tol=1e-6, max_passes=1e5, seed=0).converged
    with pytest.raises(ValueError, match="option must be one of"):
        SDCA("VI")
    with pytest.raises(ValueError, match="importance sampling"):
        IProxSDCA("V")
    with pytest.raises(ValueError, match="variant"):
        AdaSDCA("minus")
    with pytest.raises(ValueError, match="needs the sampling"):
        solve(small(), APCG(), "importance")
    with pytest.raises(ValueError, match="takes no sampling"):
        solve(small(), AdaSDCA(), "uniform")
