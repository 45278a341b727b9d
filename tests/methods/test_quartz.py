"""Algorithm 2 and the original Quartz: trajectories by hand, rates, and the step of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import (
    REFERENCE_OPTIMA,
    dense_data,
    dual_value,
    random_problem,
    reference_problem,
    scipy_optimum,
)
from scipy.special import expit

from primaldual import LOSSES, Problem, solve
from primaldual.complexity import complexity
from primaldual.methods import Quartz
from primaldual.methods.literature.averaged_quartz import AveragedQuartz
from primaldual.samplings import Draws, Importance, TauNice, Uniform

STEPS = pytest.mark.parametrize("step", ["exact", "inexact"])


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


def after(method, problem, sampling, draws) -> tuple[np.ndarray, np.ndarray]:
    state = method.start(problem, sampling)
    method.advance(state, draws)
    w, alpha = method.iterate(state)
    return w.copy(), alpha.copy()


def vector(text: str) -> np.ndarray:
    return np.array(text.split(), dtype=float)


# --------------------------------------------------------------------------------------------
# Trajectories on the reference instance, by hand


def test_first_cycle_with_exact_steps():
    problem = reference_problem("logistic")
    w, alpha = after(Quartz(), problem, Uniform(6), one_by_one(range(6)))
    expected = vector(".119710481 -.0903974609 .102842637 -.2320624771 .118709715 -.019984057")
    np.testing.assert_allclose(alpha, expected, atol=5.1e-11)
    expected = vector("-0.9407450076 -0.4233616874 0.1416824239 0.7176088146")
    np.testing.assert_allclose(w, expected, atol=5.1e-11)
    assert problem.primal(w) == pytest.approx(0.3969216164, abs=5.1e-11)


def test_first_cycle_with_inexact_steps():
    problem = reference_problem("logistic")
    w, alpha = after(Quartz("inexact"), problem, Uniform(6), one_by_one(range(6)))
    expected = vector(".0967741935 -.0672826254 .080647942 -.1891711455 .0978152239 -.0098487952")
    np.testing.assert_allclose(alpha, expected, atol=5.1e-11)
    expected = vector("-0.7239053272 -0.3571424535 0.1302848587 0.513733731")
    np.testing.assert_allclose(w, expected, atol=5.1e-11)
    assert problem.primal(w) == pytest.approx(0.3979891252, abs=5.1e-11)


def test_two_examples_at_once_start_from_the_same_point():
    problem = reference_problem("logistic")
    nice = TauNice(6, 2)
    v = nice.eso(problem.examples, "sparsity")
    np.testing.assert_allclose(v, [14, 22.2, 16, 11.2, 16, 22.2])
    w, _ = after(Quartz(), problem, WithBound(nice, v), together(0, 1))
    expected = vector("-0.3496839011 0.2766799517 -0.480355954 0.2331226007")
    np.testing.assert_allclose(w, expected, atol=5.1e-11)
    assert problem.primal(w) == pytest.approx(0.5365212016, abs=5.1e-11)


@pytest.mark.parametrize(
    ("step", "alpha_text", "w_text", "value"),
    [
        (
            "exact",
            ".119710481 -.0903974609 .102842637 -.2320624771 .118709715 -.019984057",
            "-0.054421718 -0.0002391828 -0.0386672135 0.0731819737",
            0.6186738236,
        ),
        (
            "inexact",
            ".0967741935 -.0729945868 .0962470352 -.1226698602 .095931996 -.0614712147",
            "-0.0420436328 0.0125193896 -0.0439871725 0.0648267183",
            0.6287938559,
        ),
    ],
    ids=["option I", "option II"],
)
def test_first_cycle_with_averaging(step, alpha_text, w_text, value):
    problem = reference_problem("logistic")
    importance = Importance.plan(problem.examples)
    expected = vector(
        "0.1542288557 0.2039800995 0.1542288557 0.1293532338 0.1542288557 0.2039800995"
    )
    np.testing.assert_allclose(importance.probabilities(), expected, atol=5.1e-11)
    w, alpha = after(AveragedQuartz(step), problem, importance, one_by_one(range(6)))
    np.testing.assert_allclose(alpha, vector(alpha_text), atol=5.1e-11)
    np.testing.assert_allclose(w, vector(w_text), atol=5.1e-11)
    assert problem.primal(w) == pytest.approx(value, abs=5.1e-11)


@pytest.mark.parametrize(
    ("loss", "primal", "dual"),
    [
        ("squared", 1.2551385483, 0.1066597975),
        ("squared_hinge", 0.3038741867, 0.0361429640),
        ("smoothed_hinge", 0.3767910210, 0.0385940236),
        ("huber", 0.6861643362, 0.1066597975),
        ("log_cosh", 0.7699315637, 0.1066278366),
    ],
)
def test_first_cycle_on_other_losses(loss, primal, dual):
    problem = reference_problem(loss)
    w, alpha = after(Quartz(), problem, Uniform(6), one_by_one(range(6)))
    assert problem.primal(w) == pytest.approx(primal, abs=5.1e-11)
    assert problem.dual(alpha) == pytest.approx(dual, abs=5.1e-11)
    if loss == "squared":
        expected = vector(
            "-0.0566037736 -0.0038769708 0.1121102913 0.1215204938 -0.0523091555 0.1744930061"
        )
        np.testing.assert_allclose(alpha, expected, atol=5.1e-11)


def test_visited_nonzeros_are_those_of_the_drawn_examples():
    problem = reference_problem("logistic")
    counts = [2, 3, 2, 2, 2, 3]
    for method, reads in ((Quartz(), 1), (AveragedQuartz(), 2)):
        state = method.start(problem, Uniform(6))
        read = method.advance(state, one_by_one([0, 1, 1]))
        assert read == reads * (counts[0] + 2 * counts[1])


def test_unknown_step_is_refused():
    with pytest.raises(ValueError, match=r"step must be 'exact' or 'inexact', got 'newton'\."):
        Quartz(step="newton")


# --------------------------------------------------------------------------------------------
# The averaged form against the definition


def naive_quartz(problem, sampling, draws, step):
    """Quartz as it is written: w ← (1 − θ) w + θ w(α) with all d entries, then the dual step."""
    X, y, c = dense_data(problem), problem.y, problem.sample_weight
    lam_n = problem.lam * problem.n
    v, q = sampling.eso(problem.examples), sampling.probabilities()
    theta = (q * lam_n / (problem.beta * c * v + lam_n)).min()
    alpha, w = np.zeros(problem.n), np.zeros(problem.d)
    for k in range(draws.steps):
        w_of_alpha = X.T @ alpha / lam_n
        w = (1 - theta) * w + theta * w_of_alpha
        new = alpha.copy()
        for j in draws.coordinates[draws.starts[k] : draws.starts[k + 1]]:
            if step == "exact":
                z, kappa = X[j] @ w_of_alpha, c[j] * v[j] / lam_n
                new[j] += c[j] * problem.loss.dual_step(alpha[j] / c[j], z, y[j], kappa)
            else:
                slope = c[j] * problem.loss.derivative(X[j] @ w, y[j])
                new[j] -= theta / q[j] * (slope + alpha[j])
        alpha = new
    return w, alpha


@STEPS
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_averaging_equals_the_naive_recursion(step, weighted):
    weights = 1.0 + np.arange(12) % 3 if weighted else None
    problem = random_problem(seed=8, sample_weight=weights)
    for sampling in (Importance.plan(problem.examples), TauNice(12, 3)):
        draws = sampling.draw(np.random.default_rng(0), 60)
        w, alpha = after(AveragedQuartz(step), problem, sampling, draws)
        naive_w, naive_alpha = naive_quartz(problem, sampling, draws, step)
        np.testing.assert_allclose(alpha, naive_alpha, atol=1e-12)
        np.testing.assert_allclose(w, naive_w, atol=1e-12)


@STEPS
def test_averaging_survives_the_rescaling_after_many_steps(step):
    """With θ = 1/33.5 the scale passes 1e-100 after some 7600 steps; then it starts again."""
    problem = reference_problem("logistic")
    importance = Importance.plan(problem.examples)
    draws = importance.draw(np.random.default_rng(0), 8000)
    method = AveragedQuartz(step)
    state = method.start(problem, importance)
    method.advance(state, draws)
    assert 1e-100 <= state.scale[0] <= 1
    assert np.log(state.scale[0]) > 8000 * np.log(1 - state.theta) + 200
    w, alpha = method.iterate(state)
    naive_w, naive_alpha = naive_quartz(problem, importance, draws, step)
    np.testing.assert_allclose(alpha, naive_alpha, atol=1e-12)
    np.testing.assert_allclose(w, naive_w, atol=1e-12)


@STEPS
def test_rescaling_in_full_flight_changes_nothing(step):
    """The pair (scale, apart) is moved near the threshold while the two vectors still differ."""
    problem = random_problem(seed=8)
    importance = Importance.plan(problem.examples)
    draws = importance.draw(np.random.default_rng(1), 60)
    method = AveragedQuartz(step)
    state = method.start(problem, importance)
    half = draws.starts[20]
    method.advance(state, Draws(draws.starts[:21], draws.coordinates[:half]))
    state.apart *= state.scale[0] / 2e-100
    state.scale[0] = 2e-100
    method.advance(state, Draws(draws.starts[20:] - half, draws.coordinates[half:]))
    assert state.scale[0] > 1e-3  # it was rescaled
    w, alpha = method.iterate(state)
    naive_w, naive_alpha = naive_quartz(problem, importance, draws, step)
    np.testing.assert_allclose(alpha, naive_alpha, atol=1e-12)
    np.testing.assert_allclose(w, naive_w, atol=1e-12)


@STEPS
@pytest.mark.parametrize("kind", [Quartz, AveragedQuartz])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["through zero", "intercept"])
def test_every_variant_reaches_scipys_optimum(step, kind, fit_intercept):
    problem = random_problem(
        seed=9, sample_weight=1.0 + np.arange(12) % 3, fit_intercept=fit_intercept
    )
    w, intercept, value = scipy_optimum(problem)
    for sampling in ("importance", "uniform", "tau_nice"):
        method = kind(step)
        result = solve(problem, method, sampling, tol=1e-13, max_passes=20_000, seed=0)
        assert result.certificate.primal == pytest.approx(value, abs=1e-11)
        np.testing.assert_allclose(result.w, w, atol=1e-6)
        assert result.intercept == pytest.approx(intercept, abs=1e-6)


# --------------------------------------------------------------------------------------------
# Theorem 1 (ii) and what is behind it


def mean_over_seeds(method, problem, sampling, measure, stride, checks, seeds=40):
    means = np.zeros(checks)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        state = method.start(problem, sampling)
        for k in range(checks):
            method.advance(state, sampling.draw(rng, stride))
            means[k] += measure(*method.iterate(state)) / seeds
    return means


@STEPS
@pytest.mark.parametrize("kind", ["uniform", "importance", "tau-nice"])
def test_mean_dual_error_stays_under_the_bound_of_theorem_1(step, kind):
    problem = reference_problem("logistic")
    side = problem.examples
    sampling = {
        "uniform": Uniform(6),
        "importance": Importance.plan(side),
        "tau-nice": TauNice(6, 2),
    }[kind]
    optimum = REFERENCE_OPTIMA["logistic"][0]
    contraction = 1 - 1 / complexity(side, sampling).iterations
    errors = mean_over_seeds(
        Quartz(step), problem, sampling, lambda w, alpha: optimum - problem.dual(alpha), 10, 12
    )
    bound = contraction ** (10.0 * np.arange(1, 13)) * (optimum - problem.dual(np.zeros(6)))
    assert (errors <= bound).all()


@STEPS
@pytest.mark.parametrize("kind", ["uniform", "importance"])
def test_mean_gap_with_averaging_contracts_by_theta(step, kind):
    problem = reference_problem("logistic")
    side = problem.examples
    sampling = Uniform(6) if kind == "uniform" else Importance.plan(side)
    theta = 1 / complexity(side, sampling).iterations
    gaps = mean_over_seeds(
        AveragedQuartz(step),
        problem,
        sampling,
        lambda w, alpha: problem.certify(w, alpha).gap,
        10,
        15,
    )
    first = problem.certify(np.zeros(4), np.zeros(6)).gap
    assert (gaps <= (1 - theta) ** (10.0 * np.arange(1, 16)) * first).all()


@pytest.mark.parametrize("loss", [name for name, kind in LOSSES.items() if kind().targets == "any"])
def test_inexact_step_gains_at_least_its_share_of_the_fenchel_gap(loss):
    """n (D(α + Δ_j e_j) − D(α)) ≥ η_j G_j, from any feasible α; hence the rate."""
    rng = np.random.default_rng(0)
    for draw in range(40):
        lam = 10.0 ** rng.uniform(-3, 1)
        problem = random_problem(seed=draw, n=7, d=4, loss=loss, lam=lam)
        X, y, function = dense_data(problem), problem.y, problem.loss
        alpha = np.array([-function.derivative(3 * rng.standard_normal(), label) for label in y])
        alpha *= rng.uniform(0, 1)
        j = int(rng.integers(problem.n))
        lam_n, v = lam * problem.n, X[j] @ X[j]
        eta = lam_n / (problem.beta * v + lam_n)
        z = X[j] @ (X.T @ alpha) / lam_n
        gap = function.value(z, y[j]) + function.conjugate(alpha[j], y[j]) + alpha[j] * z
        moved = alpha.copy()
        moved[j] -= eta * (function.derivative(z, y[j]) + alpha[j])
        gain = problem.n * (dual_value(problem, moved) - dual_value(problem, alpha))
        exact = alpha.copy()
        exact[j] += function.dual_step(alpha[j], z, y[j], v / lam_n)
        most = problem.n * (dual_value(problem, exact) - dual_value(problem, alpha))
        slack = 1e-11 * (1 + abs(dual_value(problem, alpha)))
        assert gain >= eta * gap - slack
        assert most >= gain - slack


def test_inexact_step_is_the_exact_one_for_the_squared_loss():
    problem = random_problem(seed=10, loss="squared", sample_weight=1.0 + np.arange(12) % 3)
    for sampling in (Uniform(12), TauNice(12, 4)):
        draws = sampling.draw(np.random.default_rng(0), 40)
        w, alpha = after(Quartz("exact"), problem, sampling, draws)
        other_w, other_alpha = after(Quartz("inexact"), problem, sampling, draws)
        np.testing.assert_allclose(alpha, other_alpha, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(w, other_w, rtol=1e-12, atol=1e-14)


def test_dual_value_never_falls_with_serial_steps():
    problem = random_problem(seed=11)
    for step in ("exact", "inexact"):
        method = Quartz(step)
        state = method.start(problem, Uniform(12))
        values = [problem.dual(state.alpha)]
        for j in np.random.default_rng(0).integers(12, size=80):
            method.advance(state, one_by_one([j]))
            values.append(problem.dual(state.alpha))
        assert (np.diff(values) >= -1e-15).all()


# --------------------------------------------------------------------------------------------
# The step as it is printed


def gap_after(problem: Problem, sign: float, divide: bool, steps: int) -> float:
    """The gap after Δ_j = ±η (φ'_j + α_j) or ±(η/q_j)(φ'_j + α_j), in plain NumPy."""
    X, y, lam_n = dense_data(problem), problem.y, problem.lam * problem.n
    s = problem.beta * (X * X).sum(axis=1) + lam_n
    q = s / s.sum()
    eta = (q * lam_n / s).min()
    alpha = np.zeros(problem.n)
    for j in np.random.default_rng(0).choice(problem.n, size=steps, p=q):
        z = X[j] @ (X.T @ alpha) / lam_n
        slope = -y[j] * expit(-y[j] * z)
        alpha[j] += sign * (eta / q[j] if divide else eta) * (slope + alpha[j])
    w = X.T @ alpha / lam_n
    primal = np.logaddexp(0, -y * (X @ w)).mean() + 0.5 * problem.lam * w @ w
    # Outside its domain φ* is infinite; inside the nearest point of it the gap is finite.
    alpha = y * np.clip(y * alpha, 0, 1)
    return primal - dual_value(problem, alpha)


def test_printed_logistic_step_has_the_wrong_sign_and_lacks_a_division():
    problem = reference_problem("logistic")
    start = problem.certify(np.zeros(4), np.zeros(6)).gap
    steps = 30 * problem.n
    printed = gap_after(problem, sign=1.0, divide=False, steps=steps)
    assert printed > start
    assert gap_after(problem, sign=1.0, divide=True, steps=steps) > start
    slow = gap_after(problem, sign=-1.0, divide=False, steps=steps)
    right = gap_after(problem, sign=-1.0, divide=True, steps=steps)
    assert right < 0.1 * slow < start
