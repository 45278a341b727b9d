"""The hinge and the ε-insensitive loss: not smooth, and proved all the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from oracles import dense_data, primal_value, random_problem, scipy_optimum
from scipy import sparse
from sklearn import svm

from primaldual import METHODS, Problem, advise, datasets, faceoff, load, solve
from primaldual.checkpoints import checkpointing
from primaldual.engine import choose
from primaldual.estimators import LinearClassifier, LinearRegressor, LinearSVC, LinearSVR, path
from primaldual.losses import LOSSES, EpsilonInsensitive
from primaldual.report import numbers, page

KINKED = ["hinge", "epsilon_insensitive"]
ABLE = [name for name, kind in METHODS.items() if not kind.smooth_only]

every_loss = pytest.mark.parametrize("loss", KINKED)
every_method = pytest.mark.parametrize("method", ["auto", *ABLE])
with_and_without_intercept = pytest.mark.parametrize("fit_intercept", [False, True])


def hard_problem(loss, n=400, d=12, C=10.0, seed=0, **options):
    """Noisy labels, features in different units: many examples end in a corner or at a bound."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(0.1, 3, d)
    z = X @ rng.standard_normal(d) + 2 * rng.standard_normal(n) + 0.5
    y = np.where(z > 0, 1.0, -1.0) if LOSSES[loss].classification else z
    return Problem(X, y, loss=loss, lam=1 / (C * n), **options)


def within(result, w, lam):
    """P is λ-strongly convex: ‖w − w*‖² ≤ 2 gap/λ."""
    return np.linalg.norm(result.w - w) <= np.sqrt(2 * result.certificate.gap / lam) + 1e-9


# --- the optimum ----------------------------------------------------------------------------------


@every_method
@with_and_without_intercept
@every_loss
def test_every_able_method_finds_the_optimum_of_scipy(loss, fit_intercept, method):
    for as_sparse, seed in ((False, 1), (True, 2)):
        weights = 1.0 + np.arange(14) % 3
        problem = random_problem(
            seed, n=14, loss=loss, as_sparse=as_sparse, fit_intercept=fit_intercept,
            sample_weight=weights,
        )  # fmt: skip
        w, intercept, value = scipy_optimum(problem)
        result = solve(problem, method, tol=1e-9, max_passes=20_000, seed=0)
        assert result.converged, result
        assert value - 1e-12 <= result.certificate.primal <= value + 1e-9
        assert result.certificate.dual <= value + 1e-12
        assert within(result, w, problem.lam)
        assert result.intercept == pytest.approx(intercept, abs=1e-4)
        again = primal_value(problem, result.w, result.intercept)
        assert again == pytest.approx(result.certificate.primal, rel=1e-13)


@pytest.mark.parametrize("shape", [(300, 8), (40, 200)], ids=["tall", "wide"])
@with_and_without_intercept
@every_loss
def test_both_methods_agree_at_many_digits(loss, fit_intercept, shape):
    problem = hard_problem(loss, *shape, C=1.0, fit_intercept=fit_intercept)
    exact = solve(problem, "ssnal", tol=1e-12)
    descent = solve(problem, "dual_cd", tol=1e-7, max_passes=50_000, seed=0)
    assert exact.converged and descent.converged
    assert descent.certificate.primal >= exact.certificate.dual - 1e-12
    assert within(descent, exact.w, problem.lam)


@every_loss
def test_features_in_wild_units_are_solved_to_machine_precision(loss):
    problem = hard_problem(loss)
    X = dense_data(problem) * np.geomspace(1e-3, 1e3, problem.d)
    scaled = Problem(X, problem.y, loss=loss, lam=1e-3 / problem.n, fit_intercept=True)
    result = solve(scaled, tol=1e-11)
    assert result.converged, result


@with_and_without_intercept
def test_the_absolute_loss_fits_a_median(fit_intercept):
    """Without features that matter, the best intercept is the median."""
    y = np.array([3.0, -1.0, 10.0, 4.0, 100.0])
    problem = Problem(np.full((5, 1), 1e-9), y, "epsilon_insensitive", fit_intercept=fit_intercept)
    result = solve(problem, tol=1e-12)
    assert result.intercept == pytest.approx(4.0 if fit_intercept else 0.0)


@every_loss
def test_the_best_intercept_is_the_best_of_all_corners(loss):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        y = np.array([1.0, -1.0, *rng.choice([-1.0, 1.0], n)])
        c = rng.integers(1, 4, n + 2).astype(float)
        kind = loss if loss == "hinge" else EpsilonInsensitive(0.3)
        problem = Problem(np.ones((n + 2, 1)), y, kind, sample_weight=c, fit_intercept=True)
        scores = rng.standard_normal(n + 2).round(1)
        found = problem.best_intercept(scores)

        def value(b, problem=problem, scores=scores):
            return problem.primal_value(np.zeros(1), scores + b)

        corners = np.concatenate([corner - scores for corner in problem.loss.kinks(problem.y)])
        assert value(found) <= min(value(b) for b in corners) + 1e-14


def test_a_problem_that_zero_solves_is_solved_at_zero():
    problem = Problem(np.eye(3), [0.1, -0.1, 0.05], loss=EpsilonInsensitive(0.5), lam=0.1)
    for method in ("auto", *ABLE):
        result = solve(problem, method, tol=1e-12)
        assert result.converged and not result.w.any()


@every_loss
@every_method
def test_empty_examples_and_features_are_harmless(loss, method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 5))
    X[[0, 4]], X[:, 2] = 0.0, 0.0
    y = np.where(rng.random(12) < 0.5, 1.0, -1.0)
    for data in (X, sparse.csr_array(X)):
        result = solve(Problem(data, y, loss, lam=0.1), method, tol=1e-9, max_passes=20_000, seed=0)
        assert result.converged and result.w[2] == 0.0


# --- the certificate ------------------------------------------------------------------------------


@every_loss
@with_and_without_intercept
def test_a_primal_point_alone_has_a_valid_certificate(loss, fit_intercept):
    problem = hard_problem(loss, fit_intercept=fit_intercept)
    value = solve(problem, tol=1e-10).certificate.primal
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 1.0):
        proof = problem.certify(scale * rng.standard_normal(problem.d))
        assert np.isfinite(proof.gap)
        assert proof.dual <= value + 1e-12 <= proof.primal + 2e-12
        assert problem.dual(proof.alpha) == pytest.approx(proof.dual, rel=1e-12, abs=1e-9)


@every_loss
def test_the_optimum_of_a_smoothed_problem_proves_a_gap_of_a_quarter_of_gamma(loss):
    """On the examples in a corner, and nothing on the others."""
    problem = hard_problem(loss)
    for gamma in (0.3, 1e-3):
        smoothed = problem.smoothed(gamma, np.zeros(problem.n))
        optimum = solve(smoothed, "newton", tol=1e-12)
        gap = problem.certify(optimum.w, optimum.alpha).gap
        share = np.mean((np.abs(optimum.alpha) > 1e-9) & (np.abs(optimum.alpha) < 1 - 1e-9))
        assert 0 < gap <= gamma / 4 * share + 1e-9


@every_loss
def test_the_smoothed_problem_around_the_optimum_has_the_same_optimum(loss):
    problem = hard_problem(loss, fit_intercept=True)
    exact = solve(problem, tol=1e-12)
    around = solve(problem.smoothed(0.3, exact.alpha), "newton", tol=1e-12)
    np.testing.assert_allclose(around.w, exact.w, atol=1e-4)
    assert problem.certify(around.w, around.alpha).relative_gap <= 1e-6


# --- how it is solved -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ABLE])
def test_methods_that_need_a_smooth_loss_say_so(name):
    problem = random_problem(1, loss="hinge")
    with pytest.raises(ValueError, match=f"'{name}' needs a smooth loss, and 'hinge' is not"):
        solve(problem, name)
    with pytest.raises(ValueError, match="needs a smooth loss"):
        faceoff(problem, [name])


def test_the_engine_starts_where_the_shape_says():
    tall, wide = hard_problem("hinge", 5000, 20), hard_problem("hinge", 300, 3000)
    assert choose(tall).method == "ssnal"
    assert choose(wide).method == "dual_cd"
    for problem in (tall, wide):
        assert solve(problem, tol=1e-6, seed=0).converged


def test_dual_descent_that_is_slow_is_relieved():
    """Some epochs are cheaper than Newton steps on this data, but very many are needed."""
    X = datasets.zipf_text(800, 2000, 30, seed=0)
    problem = Problem(X, datasets.labels(X, noise=0.3, seed=1), "hinge", lam=1e-6)
    assert choose(problem).method == "dual_cd"
    result = solve(problem, tol=1e-9, seed=0)
    assert result.converged, result
    assert result.trace.methods[-1] == "ssnal"
    assert not solve(problem, "dual_cd", tol=1e-9, seed=0).converged


@every_loss
def test_a_warm_start_at_the_optimum_is_enough(loss):
    problem = hard_problem(loss, fit_intercept=True)
    first = solve(problem, tol=1e-9)
    for method in ("auto", "ssnal"):
        again = solve(problem, method, tol=1e-9, start=first)
        assert again.converged and again.passes == 0
        near = solve(problem, method, tol=1e-11, start=first)
        assert near.converged
        assert len(near.trace) <= len(first.trace) + 2


def test_examples_at_their_bounds_leave_the_active_set():
    X = datasets.zipf_text(3000, 2000, 40, seed=0)
    problem = Problem(X, datasets.labels(X, seed=1), "hinge", lam=1e-4)
    method = METHODS["dual_cd"]()
    state = method.start(problem, rng=np.random.default_rng(0))
    active = []
    for _ in range(7):
        method.advance(state)
        active.append(int(state.active.size[0]))
    assert min(active) < 0.9 * problem.n


@every_method
@every_loss
def test_same_seed_gives_the_same_bits(loss, method):
    problem = hard_problem(loss)
    one, two = (solve(problem, method, tol=0, max_passes=30, seed=3) for _ in range(2))
    assert one.w.tobytes() == two.w.tobytes() and one.alpha.tobytes() == two.alpha.tobytes()


@every_method
@every_loss
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(loss, method, tmp_path):
    problem = hard_problem(loss, fit_intercept=True)
    whole = solve(problem, method, tol=1e-10, seed=0, max_passes=100)
    with checkpointing(tmp_path / "run", every=0.0):
        solve(problem, method, tol=1e-10, seed=0, max_passes=100, max_time=0.0)
    with checkpointing(tmp_path / "run", every=0.0):
        resumed = solve(problem, method, tol=1e-10, seed=0, max_passes=100)
    assert resumed.w.tobytes() == whole.w.tobytes()


# --- what is said about it ------------------------------------------------------------------------


@every_loss
@with_and_without_intercept
def test_advice_is_the_dual_with_infinite_bounds(loss, fit_intercept):
    problem = hard_problem(loss, fit_intercept=fit_intercept)
    advice = advise(problem, methods=ABLE)
    assert advice.side == "dual" and advice.ratio == 1.0
    assert advice.primal.total == advice.dual.total == np.inf
    assert "only the dual has coordinate steps" in advice.theory.reason
    assert "nan" not in str(advice)
    assert advice.verdict.side == "dual" and advice.verdict.confidence == 1.0
    everything = advise(problem, methods=list(METHODS))
    assert "nan" not in str(everything)
    assert {name for name, cost in everything.ranking if cost.total < np.inf} == {"ssnal"}
    figure = advice.plot()
    assert figure.axes[-1].texts[0].get_text() == "no method"
    assert "nan" not in advice._repr_html_().lower()
    empty = advise(Problem(np.zeros((2, 2)), [1.0, -1.0], loss))
    assert "nan" not in str(empty)


def test_a_face_off_of_the_able_methods_has_a_report():
    outcome = faceoff(hard_problem("hinge", n=100, d=4, C=0.1), ABLE, tol=1e-6)
    assert "nan" not in str(outcome).lower()
    assert outcome.winner == "dual"
    facts = numbers(outcome)
    assert "NaN" not in json.dumps(facts)
    assert any("compares no costs" in sentence for sentence in facts["verdict"]["sentences"])
    assert ">nan<" not in page(outcome).lower()


# --- the estimators -------------------------------------------------------------------------------


def test_linear_svc_is_scikit_learns():
    problem = hard_problem("hinge", n=200, d=6)
    X, y = dense_data(problem), problem.y
    s = 1.0 + np.arange(len(y)) % 3
    for C in (0.05, 1.0):
        theirs = svm.LinearSVC(
            C=C, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**7, random_state=0
        ).fit(X, y, s)
        ours = LinearSVC(C=C, loss="hinge", fit_intercept=False).fit(X, y, s)
        mine, other = (objective(m.coef_[0], X, y, s, C) for m in (ours, theirs))
        # ½‖w − w*‖² is at most what an objective is above its minimum, which ours is at.
        assert mine <= other * (1 + 1e-9)
        distance = np.linalg.norm(ours.coef_ - theirs.coef_)
        assert distance <= np.sqrt(2 * (other - mine)) + 1e-5


def objective(w, X, y, s, C):
    return C * s @ np.maximum(0.0, 1.0 - y * (X @ w)) + 0.5 * w @ w


def test_linear_svc_has_the_limit_of_their_penalised_intercept():
    problem = hard_problem("hinge", n=150, d=4)
    X, y = dense_data(problem), problem.y
    exact = svm.SVC(C=0.3, kernel="linear", tol=1e-10).fit(X, y)  # its intercept is free
    ours = LinearSVC(C=0.3, loss="hinge").fit(X, y)
    np.testing.assert_allclose(ours.coef_, exact.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, exact.intercept_, atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_linear_svr_is_scikit_learns(epsilon):
    problem = hard_problem("epsilon_insensitive", n=200, d=5)
    X, y = dense_data(problem), problem.y
    theirs = svm.SVR(C=0.7, kernel="linear", epsilon=epsilon, tol=1e-10).fit(X, y)
    ours = LinearSVR(C=0.7, epsilon=epsilon).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], atol=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_[0], abs=1e-4)
    plain = svm.LinearSVR(
        C=0.7, epsilon=epsilon, fit_intercept=False, tol=1e-10, max_iter=10**7, random_state=0
    ).fit(X, y)
    ours = LinearSVR(C=0.7, epsilon=epsilon, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, plain.coef_, atol=1e-3)


def test_dual_says_the_side_as_in_scikit_learn():
    problem = hard_problem("hinge", n=100, d=4)
    X, y = dense_data(problem), problem.y
    for model in (LinearSVC(), LinearSVR(loss="squared_epsilon_insensitive")):
        for dual, side in ((True, "dual"), (False, "primal")):
            assert model.set_params(dual=dual).fit(X, y).side_ == side
    expected = LinearSVC(loss="hinge").fit(X, y).coef_
    for dual in (True, "auto"):
        np.testing.assert_array_equal(LinearSVC(loss="hinge", dual=dual).fit(X, y).coef_, expected)
    for theirs, ours in ((svm.LinearSVC, LinearSVC), (svm.LinearSVR, LinearSVR)):
        assert theirs().dual == ours().dual
        loss = "hinge" if ours is LinearSVC else "epsilon_insensitive"
        for kind in (theirs, ours):
            with pytest.raises(ValueError, match=f"Unsupported set of arguments: .*loss='{loss}'"):
                kind(loss=loss, dual=False).fit(X, y)


def test_linear_svr_has_scikit_learns_default():
    ours, theirs = LinearSVR().get_params(), svm.LinearSVR().get_params()
    assert {key: ours[key] for key in ("loss", "epsilon", "C")} == {
        key: theirs[key] for key in ("loss", "epsilon", "C")
    }


def test_several_classes_and_their_weights():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + 0.5 * rng.standard_normal((150, 3)), axis=1)]
    weight = {"a": 1.0, "b": 2.0, "c": 0.5}
    model = LinearSVC(loss="hinge", class_weight=weight).fit(X, y)
    assert model.coef_.shape == (3, 4) and model.dual_gap_ <= 1e-6
    by_sample = LinearSVC(loss="hinge").fit(X, y, [weight[label] for label in y])
    np.testing.assert_allclose(model.coef_, by_sample.coef_, atol=1e-6)
    k = 1
    s = np.array([weight[label] for label in y])
    problem = Problem(
        X, np.where(y == model.classes_[k], 1.0, -1.0), "hinge", 1 / s.sum(), s, fit_intercept=True
    )
    np.testing.assert_allclose(solve(problem, tol=1e-12).w, model.coef_[k], atol=1e-5)
    again = LinearClassifier(loss="hinge", class_weight=weight, n_jobs=2).fit(X, y)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-6)


def test_converted_models_predict_the_same():
    problem = hard_problem("hinge", n=100, d=4)
    X, y = dense_data(problem), problem.y
    for model in (LinearSVC(loss="hinge"), LinearClassifier(loss="hinge")):
        twin = model.fit(X, y).to_sklearn()
        assert twin.loss == "hinge"
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    for model in (LinearSVR(), LinearRegressor(loss="epsilon_insensitive")):
        np.testing.assert_allclose(model.fit(X, y).to_sklearn().predict(X), model.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(loss="hinge"),
        LinearSVR(epsilon=0.1),
        LinearClassifier(loss="hinge"),
        LinearRegressor(loss=EpsilonInsensitive(0.2)),
    ],
)
def test_models_are_saved_and_loaded(model, tmp_path):
    problem = hard_problem("hinge", n=60, d=3)
    X, y = dense_data(problem), problem.y
    model.fit(X, y).save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.get_params()["loss"] == model.loss
    assert loaded.advice_.dual.total == np.inf


@pytest.mark.parametrize(
    "model",
    [
        LinearClassifier(loss="hinge", side="primal"),
        LinearRegressor(loss="epsilon_insensitive", side="primal"),
    ],
)
def test_the_primal_side_is_refused(model):
    problem = hard_problem("hinge", n=60, d=3)
    for n in (60, 3):
        X, y = dense_data(problem)[:n], np.resize([1.0, -1.0], n)
        with pytest.raises(ValueError, match=r"side must be 'auto' or 'dual'.*kinks"):
            model.fit(X, y)


def test_estimates_know_that_the_primal_has_no_method():
    problem = hard_problem("hinge", n=60, d=3)
    found = LinearSVC(loss="hinge").estimate(dense_data(problem), problem.y)
    assert found["side"] == "dual" and found["dual"]["method"] in ABLE
    assert found["primal"]["method"] == "none"
    assert found["primal"]["passes"] == found["primal"]["seconds"] == np.inf


@every_loss
@pytest.mark.parametrize("side", ["auto", "dual"])
def test_a_path_is_what_single_solves_find(loss, side):
    problem = hard_problem(loss)
    X, lams = dense_data(problem), np.geomspace(1, 1e-3, 5)
    results = path(X, problem.y, lams, loss=loss, tol=1e-8, side=side)
    for lam, result in zip(lams, results, strict=True):
        assert result.converged
        alone = solve(Problem(X, problem.y, loss, lam, fit_intercept=True), tol=1e-12)
        assert within(result, alone.w, lam)
