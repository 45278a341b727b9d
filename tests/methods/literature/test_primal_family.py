"""NSync's relatives and the accelerated primal methods: trajectories, naive forms, rates."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from oracles import (
    REFERENCE_OPTIMA,
    dense_data,
    primal_gradient,
    primal_value,
    random_problem,
    reference_problem,
    scipy_optimum,
)
from scipy import sparse

from primaldual import Problem, solve
from primaldual.methods.literature.approx import Alpha, Approx, Hydra2
from primaldual.methods.literature.nsync_newton import NSyncNewton
from primaldual.methods.literature.nu_acdm import NUACDM
from primaldual.methods.literature.rcdm import PCDM, RCDM, UCDC
from primaldual.methods.nsync import NSync
from primaldual.samplings import Bucket, Draws, Importance, Independent, TauNice, Uniform

FAMILY = {
    "nsync newton": lambda: NSyncNewton(),
    "rcdm": RCDM,
    "rcdm a=1/2": lambda: RCDM(0.5),
    "ucdc": UCDC,
    "pcdm": PCDM,
    "pcdm uniform": lambda: PCDM(3, bound="uniform"),
    "approx": Approx,
    "approx adaptive": lambda: Approx("adaptive"),
    "alpha": Alpha,
    "alpha adaptive": lambda: Alpha("adaptive"),
    "hydra2": Hydra2,
    "nu_acdm": NUACDM,
}
EVERY = pytest.mark.parametrize("make", FAMILY.values(), ids=FAMILY.keys())
ACCELERATED = pytest.mark.parametrize(
    "make", [Approx, lambda: Approx("adaptive"), Alpha, NUACDM],
    ids=["approx", "approx adaptive", "alpha", "nu_acdm"],
)  # fmt: skip


def one_by_one(coordinates) -> Draws:
    coordinates = np.asarray(coordinates, dtype=np.int64)
    return Draws(np.arange(len(coordinates) + 1), coordinates)


def cyclic(steps: int, size: int) -> Draws:
    return one_by_one(np.arange(steps) % size)


def piece(draws: Draws, first: int, last: int) -> Draws:
    begin, end = draws.starts[first], draws.starts[last]
    return Draws(draws.starts[first : last + 1] - begin, draws.coordinates[begin:end])


def after(method, problem, sampling, draws, **start) -> np.ndarray:
    state = method.start(problem, sampling, **start)
    method.advance(state, draws)
    return method.iterate(state)[0].copy()


def weights(n: int) -> np.ndarray:
    return 1.0 + np.arange(n) % 3


# --------------------------------------------------------------------------------------------
# Trajectories on the reference instance


def agrees(problem, w, expected, value):
    np.testing.assert_allclose(w, expected, atol=5.1e-11)
    assert problem.primal(w) == pytest.approx(value, abs=5.1e-11)


@pytest.mark.parametrize("method", [RCDM(), RCDM(0.3), UCDC()], ids=["a=1", "a=0.3", "ucdc"])
def test_serial_relatives_take_the_steps_of_nsync(method):
    problem = reference_problem("logistic")
    w = after(method, problem, method.plan(problem), cyclic(4, 4))
    by_hand = [-0.5511811024, -0.1616044589, -0.2513292642, 0.4292381767]
    agrees(problem, w, by_hand, 0.3681825952)


def test_pcdm_on_two_coordinates():
    problem = reference_problem("logistic")
    draws = Draws(np.array([0, 2]), np.array([0, 1]))
    w = after(PCDM(), problem, TauNice(4, 2), draws)
    agrees(problem, w, [-0.3743315508, 0, 0, 0], 0.5461071382)


@pytest.mark.parametrize("restart", ["none", "periodic"])
def test_approx_on_two_cycles(restart):
    problem = reference_problem("logistic")
    w = after(Approx(restart), problem, Uniform(4), cyclic(8, 4))
    by_hand = [-0.6271324254, -0.4406289666, -0.3305386481, 0.5853070421]
    agrees(problem, w, by_hand, 0.3306255706)


def test_nu_acdm_on_two_cycles():
    problem = reference_problem("logistic")
    method = NUACDM()
    w = after(method, problem, method.plan(problem), cyclic(8, 4))
    by_hand = [-0.8978544077, -0.5678818103, -0.4023421834, 0.7032082858]
    agrees(problem, w, by_hand, 0.3218991427)


# --------------------------------------------------------------------------------------------
# The efficient forms are the naive recursions


def naive_approx(problem, sampling, draws, smooth, restart):
    """x after the draws, and the number of restarts, straight from the recursion."""
    n, lam = problem.n, problem.lam
    p = sampling.probabilities()
    v = problem.beta * sampling.eso(problem.features) / n + (lam if smooth else 0.0)
    first = 1.0 if smooth else p.min()
    V = first**2 * (v / p**2).max()
    period = math.ceil((2 / first) * (math.sqrt(math.e * (1 + V / lam)) - 1) + 1)
    every = math.ceil(problem.d / p.sum())
    x, z, theta = np.zeros(problem.d), np.zeros(problem.d), first
    age, restarts, last = 0, 0, primal_value(problem, x)
    for k in range(draws.steps):
        S = draws.coordinates[draws.starts[k] : draws.starts[k + 1]]
        y = (1 - theta) * x + theta * z
        gradient = primal_gradient(problem, y) - lam * y
        t = np.zeros(problem.d)
        if smooth:
            t[S] = -(gradient + lam * y)[S] / (theta * v / p)[S]
        else:
            t[S] = -(gradient + lam * z)[S] / (theta * v / p + lam)[S]
        z = z + t
        x = y + theta * t / p
        theta = (math.sqrt(theta**4 + 4 * theta**2) - theta**2) / 2
        age += 1
        due = restart != "none" and age == period
        if restart == "adaptive" and (due or age % every == 0):
            value = primal_value(problem, x)
            due, last = due or value > last, value
        if due:
            z, theta, age, restarts = x.copy(), first, 0, restarts + 1
    return x, restarts


@pytest.mark.parametrize("restart", ["none", "periodic", "adaptive"])
@pytest.mark.parametrize("kind", ["uniform", "tau-nice", "importance", "independent"])
def test_approx_and_alpha_equal_the_naive_recursion(kind, restart):
    problem = random_problem(1, n=15, d=6, lam=0.5, as_sparse=True, sample_weight=weights(15))
    smooth = kind in ("importance", "independent")
    sampling = {
        "uniform": Uniform(6),
        "tau-nice": TauNice(6, 3),
        "importance": Alpha().plan(problem),
        "independent": Independent(np.linspace(0.2, 1.0, 6)),
    }[kind]
    # Near the optimum rounding decides whether P has risen: fewer steps with adaptive restarts.
    draws = sampling.draw(np.random.default_rng(0), 60 if restart == "adaptive" else 300)
    expected, restarts = naive_approx(problem, sampling, draws, smooth, restart)
    method = (Alpha if smooth else Approx)(restart)
    np.testing.assert_allclose(after(method, problem, sampling, draws), expected, atol=1e-12)
    assert (restarts > 0) == (restart != "none")


def test_dense_approx_equals_the_naive_recursion():
    problem = random_problem(2, n=12, d=5, loss="squared", lam=0.3)
    draws = Uniform(5).draw(np.random.default_rng(0), 200)
    expected, _ = naive_approx(problem, Uniform(5), draws, False, "periodic")
    np.testing.assert_allclose(after(Approx(), problem, Uniform(5), draws), expected, atol=1e-12)


def naive_nu_acdm(problem, sampling, draws):
    p, lam = sampling.probabilities(), problem.lam
    squares = (problem.sample_weight[:, None] * dense_data(problem) ** 2).sum(axis=0)
    L = problem.beta * squares / problem.n + lam
    S = (np.sqrt(L) / p).max()
    tau = 2 / (1 + math.sqrt(4 * S**2 / lam + 1))
    eta = 1 / (tau * S**2)
    y, z = np.zeros(problem.d), np.zeros(problem.d)
    for i in draws.coordinates:
        x = tau * z + (1 - tau) * y
        step = np.zeros(problem.d)
        step[i] = primal_gradient(problem, x)[i]
        y = x - step / L[i]
        z = (z + eta * lam * x - eta / p[i] * step) / (1 + eta * lam)
    return y


@pytest.mark.parametrize("kind", ["own", "uniform"])
def test_nu_acdm_equals_the_naive_recursion_through_a_change_of_scale(kind):
    problem = random_problem(3, n=10, d=4, lam=0.5, as_sparse=True, sample_weight=weights(10))
    method = NUACDM()
    sampling = method.plan(problem) if kind == "own" else Uniform(4)
    draws = sampling.draw(np.random.default_rng(0), 1200)
    state = method.start(problem, sampling)
    for steps in (20, 150, 1200):
        part = piece(draws, 0, steps)
        expected = naive_nu_acdm(problem, sampling, part)
        np.testing.assert_allclose(after(method, problem, sampling, part), expected, atol=1e-12)
    method.advance(state, draws)
    assert state.rho**1200 < 1e-100 < state.scale[0]


def test_nu_acdm_has_the_smallest_sum_of_roots():
    """With p ∝ √L the parameter S of the theory is Σ √L_i, and K is about Σ √(s_i/λn)."""
    problem = reference_problem("logistic")
    method = NUACDM()
    stated = method.complexity(problem, method.plan(problem))
    assert stated.iterations == pytest.approx(10.9913003156, abs=0.52)
    assert stated.iterations < method.complexity(problem, Uniform(4)).iterations


# --------------------------------------------------------------------------------------------
# The Newton step


def test_newton_step_keeps_the_promised_decrease():
    problem = random_problem(4, n=20, d=8, lam=1e-3, as_sparse=True, sample_weight=weights(20))
    method = NSyncNewton()
    state = method.start(problem, Uniform(8), w=3 * np.random.default_rng(1).standard_normal(8))
    for i in np.random.default_rng(0).integers(8, size=150):
        before, slope = problem.primal(state.w), primal_gradient(problem, state.w)[i]
        method.advance(state, one_by_one([i]))
        promised = 0.9 * slope**2 * state.step[i] / 2
        assert problem.primal(state.w) <= before - promised + 1e-15


@pytest.mark.parametrize("loss", ["squared_hinge", "log_cosh", "huber"])
def test_newton_step_on_other_losses_is_monotone(loss):
    problem = reference_problem(loss)
    method = NSyncNewton()
    state = method.start(problem, Uniform(4))
    values = [problem.primal(state.w)]
    for i in np.random.default_rng(0).integers(4, size=400):
        method.advance(state, one_by_one([i]))
        values.append(problem.primal(state.w))
    assert (np.diff(values) <= 1e-15).all()
    assert values[-1] == pytest.approx(REFERENCE_OPTIMA[loss][0], abs=1e-9)


def test_newton_step_is_the_fixed_one_for_the_squared_loss():
    problem = random_problem(5, loss="squared", sample_weight=weights(12))
    draws = Uniform(5).draw(np.random.default_rng(0), 40)
    w = after(NSyncNewton(), problem, Uniform(5), draws)
    np.testing.assert_allclose(w, after(NSync(), problem, Uniform(5), draws), atol=1e-13)
    method = NSyncNewton()
    visited = method.advance(method.start(problem, Uniform(5)), draws)
    assert visited == problem.features.counts[draws.coordinates].sum()


def test_newton_step_needs_fewer_iterations_where_the_curvature_is_small():
    X = 6 * random_problem(6, n=30, d=30, density=0.3).matrix.by_example.values
    problem = Problem(sparse.csr_array(X), np.where(X[:, 0] > 0, 1, -1), lam=1e-3)
    draws = Importance.plan(problem.features).draw(np.random.default_rng(0), 3000)
    sampling = Importance.plan(problem.features)
    fixed, newton = (
        problem.certify(after(method, problem, sampling, draws)).gap
        for method in (NSync(), NSyncNewton())
    )
    assert newton < 0.1 * fixed


def test_newton_step_refuses_batches():
    problem = random_problem(5)
    with pytest.raises(ValueError, match="needs the sampling importance or uniform or permutation"):
        solve(problem, NSyncNewton(), TauNice(5, 2), seed=0)


# --------------------------------------------------------------------------------------------
# Convergence and rates


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
    limit = 1 + 1.2 * stated.passes(1e-8)
    result = solve(problem, method, tol=1e-8, max_passes=limit, seed=0)
    assert result.converged, result


@EVERY
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["through zero", "intercept"])
def test_weighted_problem_reaches_the_optimum(make, fit_intercept):
    problem = random_problem(
        8, n=20, d=8, as_sparse=True, sample_weight=weights(20), fit_intercept=fit_intercept
    )
    w, intercept, value = scipy_optimum(problem)
    result = solve(problem, make(), tol=1e-13, max_passes=5000, seed=0)
    assert result.certificate.primal == pytest.approx(value, abs=1e-11)
    np.testing.assert_allclose(result.w, w, atol=1e-5)
    assert result.intercept == pytest.approx(intercept, abs=1e-5)


def mean_errors(method, problem, optimum, sampling, stride, checks, seeds=30):
    errors = np.zeros(checks)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        state = method.start(problem, sampling)
        for k in range(checks):
            method.advance(state, sampling.draw(rng, stride))
            errors[k] += (problem.primal(method.iterate(state)[0]) - optimum) / seeds
    return errors / (problem.primal(np.zeros(problem.d)) - optimum)


@pytest.mark.parametrize(
    "make", [RCDM, lambda: RCDM(0.5), UCDC, lambda: PCDM(2), lambda: NSyncNewton()],
    ids=["rcdm", "rcdm a=1/2", "ucdc", "pcdm", "newton"],
)  # fmt: skip
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_mean_error_stays_under_the_stated_rate(make, loss):
    problem, method = reference_problem(loss), make()
    sampling = method.plan(problem)
    K = method.complexity(problem, sampling).iterations
    errors = mean_errors(method, problem, REFERENCE_OPTIMA[loss][0], sampling, 10, 12)
    assert (errors <= (1 - 1 / K) ** (10 * np.arange(1, 13))).all()


@pytest.mark.parametrize(
    "make", [Approx, Alpha, lambda: Hydra2(blocks=2, tau=1)], ids=["approx", "alpha", "hydra2"]
)
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_mean_error_falls_by_e_in_every_period(make, loss):
    problem, method = reference_problem(loss), make()
    sampling = method.plan(problem)
    K = round(method.complexity(problem, sampling).iterations)
    errors = mean_errors(method, problem, REFERENCE_OPTIMA[loss][0], sampling, K, 4)
    assert (errors <= np.exp(-np.arange(1, 5))).all()


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_mean_error_of_nu_acdm_stays_under_twice_the_stated_rate(loss):
    """The potential counts the distance of z as well, which doubles the error at the start."""
    problem, method = reference_problem(loss), NUACDM()
    sampling = method.plan(problem)
    K = method.complexity(problem, sampling).iterations
    errors = mean_errors(method, problem, REFERENCE_OPTIMA[loss][0], sampling, 5, 16)
    assert (errors <= 2 * (1 - 1 / K) ** (5 * np.arange(1, 17))).all()


def test_alpha_takes_every_sampling():
    problem = random_problem(9, n=20, d=12, lam=0.05, as_sparse=True)
    side = problem.features
    for sampling in (Bucket.plan(side, 3), Independent.plan(side, 3), TauNice(12, 4), Uniform(12)):
        result = solve(problem, Alpha(), sampling, tol=1e-8, max_passes=20_000, seed=0)
        assert result.converged, result


def test_acceleration_pays_on_an_ill_conditioned_problem():
    X = random_problem(10, n=40, d=40, density=0.4, lam=1e-5).matrix.by_example.values
    problem = Problem(sparse.csr_array(X), np.where(X.sum(axis=1) > 0, 1, -1), lam=1e-5)
    plain = solve(problem, NSync(), tol=1e-8, max_passes=60_000, seed=0).trace.passes[-1]
    for method in (Approx(), Alpha(), NUACDM()):
        result = solve(problem, method, tol=1e-8, max_passes=0.5 * plain, seed=0)
        assert result.converged, (result, plain)


# --------------------------------------------------------------------------------------------
# The protocol


@EVERY
def test_calls_may_be_cut_anywhere(make):
    problem = random_problem(11, n=15, d=9, lam=0.3, as_sparse=True)
    method = make()
    sampling = method.plan(problem)
    draws = sampling.draw(np.random.default_rng(0), 150)
    whole = method.start(problem, sampling)
    visited = method.advance(whole, draws)
    parts = method.start(problem, sampling)
    cuts = [0, 1, 2, 30, 30, 31, 77, 78, 150]
    again = sum(method.advance(parts, piece(draws, *ends)) for ends in itertools.pairwise(cuts))
    assert visited == again
    w, _ = method.iterate(whole)
    assert w.tobytes() == method.iterate(parts)[0].tobytes()


@ACCELERATED
def test_cut_calls_with_an_intercept_agree_too(make):
    problem = random_problem(11, n=15, d=9, lam=0.3, as_sparse=True, fit_intercept=True)
    method = make()
    sampling = method.plan(problem)
    draws = sampling.draw(np.random.default_rng(0), 150)
    parts = method.start(problem, sampling)
    for first in range(0, 150, 7):
        method.advance(parts, piece(draws, first, min(first + 7, 150)))
    w = after(method, problem, sampling, draws)
    assert w.tobytes() == method.iterate(parts)[0].tobytes()


@EVERY
def test_no_steps_change_nothing(make):
    problem = random_problem(11, as_sparse=True)
    method = make()
    sampling = method.plan(problem)
    w = np.random.default_rng(0).standard_normal(problem.d)
    state = method.start(problem, sampling, w=w)
    assert method.advance(state, sampling.draw(np.random.default_rng(0), 0)) == 0
    np.testing.assert_array_equal(method.iterate(state)[0], w)


@EVERY
def test_optimum_is_a_fixed_point(make):
    problem = random_problem(12, n=20, d=9, as_sparse=True)
    w, _, _ = scipy_optimum(problem)
    method = make()
    sampling = method.plan(problem)
    draws = sampling.draw(np.random.default_rng(0), 300)
    for start in ({"w": w}, {"alpha": problem.certify(w).alpha}):
        np.testing.assert_allclose(after(method, problem, sampling, draws, **start), w, atol=1e-10)


def test_visited_nonzeros_on_a_wide_problem():
    """A million features: a step visits its own rows, once per vector it keeps."""
    rng = np.random.default_rng(0)
    n, d, k = 2000, 10**6, 20
    X = sparse.csr_array(
        (rng.standard_normal(n * k), rng.integers(d, size=n * k), np.arange(0, n * k + 1, k)),
        shape=(n, d),
    )
    problem = Problem(X, np.where(rng.random(n) < 0.5, 1, -1), lam=1 / n)
    counts = problem.features.counts
    present = np.flatnonzero(counts)
    for method, reads in ((RCDM(), 1), (UCDC(), 1), (Approx(), 2), (Alpha(), 2), (NUACDM(), 2)):
        sampling = method.plan(problem)
        draws = one_by_one(rng.choice(present, 500))
        state = method.start(problem, sampling)
        assert method.advance(state, draws) == reads * counts[draws.coordinates].sum()
        assert np.isfinite(problem.primal(method.iterate(state)[0]))
    method = NSyncNewton()
    state = method.start(problem, Uniform(d))
    # At zero margins the curvature of the logistic loss is its bound, and nothing is tried.
    once = counts[draws.coordinates].sum()
    assert once < method.advance(state, draws) < 2 * once


def test_plans_are_what_the_methods_ask_for():
    problem = reference_problem("squared")
    L = np.array([23, 6, 14, 23]) + 0.6
    np.testing.assert_allclose(RCDM().plan(problem).p, L / L.sum())
    np.testing.assert_allclose(RCDM(0.0).plan(problem).p, 0.25)
    root = np.sqrt(L)
    for method in (RCDM(0.5), Alpha(), NUACDM()):
        np.testing.assert_allclose(method.plan(problem).p, root / root.sum())
    assert PCDM(3).plan(problem).tau == 3
    u = PCDM(bound="uniform").eso(problem, TauNice(4, 2))
    np.testing.assert_allclose(u, (1 + 2 / 3) * np.array([23, 6, 14, 23]))
    np.testing.assert_allclose(PCDM().eso(problem, TauNice(4, 2)), [35, 25 / 3, 19, 35])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RCDM(1.5), "a must be between"),
        (lambda: PCDM(0), "tau must be"),
        (lambda: PCDM(bound="tight"), "bound must be"),
        (lambda: Approx("often"), "restart must be"),
        (lambda: Hydra2(restart="often"), "restart must be"),
    ],
)
def test_options_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_intercept_needs_restarts():
    with pytest.raises(ValueError, match="restart='none'"):
        solve(random_problem(1, fit_intercept=True), Approx("none"))
