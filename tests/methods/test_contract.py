"""What every method in METHODS promises, whatever its side and whatever it does inside."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import random_problem, scipy_optimum
from scipy import sparse

from primaldual import METHODS, SAMPLINGS, Problem, solve
from primaldual.methods.base import Method, completed

# Plain stochastic gradients converge sublinearly: their own promise is tested with them.
LINEAR = [name for name in METHODS if name != "sgd"]
WITH_INTERCEPT = [name for name in LINEAR if METHODS[name].free_intercept]
EVERY_METHOD = pytest.mark.parametrize("method", LINEAR)
WITH_AND_WITHOUT_INTERCEPT = pytest.mark.parametrize(
    ("method", "fit_intercept"),
    [(name, False) for name in LINEAR] + [(name, True) for name in WITH_INTERCEPT],
)
EVERY_SAMPLING = pytest.mark.parametrize(
    ("method", "sampling", "full"),
    [
        (name, kind, full)
        for name in LINEAR
        for kind in METHODS[name].samplings
        for full in ((False, True) if name in WITH_INTERCEPT else (False,))
    ],
)
MANY = 20_000  # passes: more than any method needs on these problems


def weights(n: int) -> np.ndarray:
    """Positive weights of very different sizes."""
    return 1.0 + np.arange(n) % 4


# --------------------------------------------------------------------------------------------
# Convergence


@EVERY_METHOD
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gap_goes_to_zero(method, loss, as_sparse):
    for n, d in ((12, 5), (5, 12), (8, 8)):
        problem = random_problem(seed=n, n=n, d=d, loss=loss, as_sparse=as_sparse)
        result = solve(problem, method, tol=1e-10, max_passes=MANY, seed=0)
        assert result.converged, result
        assert result.certificate.relative_gap <= 1e-10


@WITH_AND_WITHOUT_INTERCEPT
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_optimum_is_that_of_scipy(method, loss, weighted, fit_intercept):
    problem = random_problem(
        seed=3,
        loss=loss,
        as_sparse=True,
        sample_weight=weights(12) if weighted else None,
        fit_intercept=fit_intercept,
    )
    w, intercept, value = scipy_optimum(problem)
    result = solve(problem, method, tol=1e-14, max_passes=MANY, seed=0)
    assert result.certificate.primal == pytest.approx(value, abs=1e-11)
    # P is λ-strongly convex in w: ‖w − w*‖² ≤ 2 gap/λ.
    np.testing.assert_allclose(result.w, w, atol=1e-6)
    assert result.intercept == pytest.approx(intercept, abs=1e-6)


@EVERY_SAMPLING
def test_every_sampling_converges(method, sampling, full):
    """Data with more coordinates on both sides than a batch holds, and a few heavy ones."""
    rng = np.random.default_rng(0)
    n, d = 30, 20
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.3) * np.geomspace(0.2, 2, d)
    y = np.where(X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    options = {"sample_weight": weights(n), "fit_intercept": True} if full else {}
    problem = Problem(sparse.csr_array(X), y, loss="logistic", lam=0.1, **options)
    result = solve(problem, method, sampling, tol=1e-6, max_passes=MANY, seed=0)
    assert result.converged, result
    again = problem.certify(result.w, result.alpha, result.intercept)
    assert again.relative_gap <= 1e-6 + 1e-14


@EVERY_METHOD
def test_samplings_of_a_method_are_registered(method):
    assert METHODS[method].side in ("primal", "dual")
    assert set(METHODS[method].samplings) <= set(SAMPLINGS)


@EVERY_METHOD
def test_stated_complexity_is_positive_and_finite(method):
    problem = random_problem(seed=1)
    runner = METHODS[method]()
    side = problem.features if runner.side == "primal" else problem.examples
    for name in runner.samplings or (None,):
        sampling = None if name is None else SAMPLINGS[name].plan(side)
        stated = runner.complexity(problem, sampling)
        assert 0 < stated.iterations < np.inf
        assert 0 < stated.cost < np.inf


@pytest.mark.parametrize("method", [name for name in METHODS if not METHODS[name].free_intercept])
def test_a_method_without_free_intercept_says_so(method):
    with pytest.raises(ValueError, match=f"'{method}' cannot train a free intercept"):
        solve(random_problem(seed=1, fit_intercept=True), method)


# --------------------------------------------------------------------------------------------
# Reproducibility


@EVERY_METHOD
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_same_seed_gives_the_same_bits(method, as_sparse):
    def run(seed):
        problem = random_problem(seed=5, n=30, d=20, as_sparse=as_sparse)
        return solve(problem, method, tol=0, max_passes=7, seed=seed)

    one, two = run(11), run(11)
    assert one.w.tobytes() == two.w.tobytes()
    assert one.alpha.tobytes() == two.alpha.tobytes()
    assert one.trace.primal.tobytes() == two.trace.primal.tobytes()
    if METHODS[method].samplings:  # else it may not draw at all
        assert one.w.tobytes() != run(12).w.tobytes()


@EVERY_METHOD
def test_integer_seed_and_its_generator_agree(method):
    problem = random_problem(seed=5)
    one = solve(problem, method, tol=0, max_passes=3, seed=4)
    two = solve(problem, method, tol=0, max_passes=3, seed=np.random.default_rng(4))
    assert one.w.tobytes() == two.w.tobytes()


# A method that draws takes the same steps however the data is stored. One that orders its own
# steps may take other ones, and only its answer has to be the same.
DRAWING = pytest.mark.parametrize("method", [name for name in LINEAR if METHODS[name].samplings])
ORDERING = pytest.mark.parametrize(
    "method", [name for name in LINEAR if not METHODS[name].samplings]
)


@ORDERING
def test_every_storage_gives_the_same_answer(method):
    problem = random_problem(seed=6)
    X, y = problem.matrix.by_example.values, problem.y
    kinds = (X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X))
    answers = [
        solve(Problem(data, y, lam=0.1), method, tol=1e-13, max_passes=MANY, seed=0).w
        for data in kinds
    ]
    for w in answers[1:]:
        np.testing.assert_allclose(w, answers[0], atol=1e-5)


@DRAWING
def test_dense_and_sparse_storage_give_the_same_iterates(method):
    runs = [
        solve(random_problem(seed=6, as_sparse=stored), method, tol=0, max_passes=5, seed=0)
        for stored in (False, True)
    ]
    np.testing.assert_allclose(runs[0].w, runs[1].w, rtol=1e-10, atol=1e-13)


@DRAWING
def test_by_example_and_by_feature_input_give_the_same_iterates(method):
    problem = random_problem(seed=6)
    X = problem.matrix.by_example.values
    y = problem.y
    runs = [
        solve(Problem(data, y, lam=0.1), method, tol=0, max_passes=5, seed=0).w
        for data in (X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X))
    ]
    for w in runs[1:]:
        np.testing.assert_allclose(w, runs[0], rtol=1e-10, atol=1e-13)


# --------------------------------------------------------------------------------------------
# Starting points


@WITH_AND_WITHOUT_INTERCEPT
def test_warm_start_at_the_optimum_stays_there(method, fit_intercept):
    problem = random_problem(seed=7, fit_intercept=fit_intercept)
    w, _, value = scipy_optimum(problem)
    alpha = problem.certify(w).alpha
    for start in ((w, alpha), (w, None), (None, alpha)):
        result = solve(problem, method, tol=0, max_passes=5, seed=0, start=start)
        np.testing.assert_allclose(result.trace.primal, value, atol=1e-12)
        np.testing.assert_allclose(result.w, w, atol=1e-9)


@EVERY_METHOD
def test_start_far_away_does_no_harm(method):
    problem = random_problem(seed=7)
    rng = np.random.default_rng(0)
    start = (30 * rng.standard_normal(problem.d), 30 * rng.standard_normal(problem.n))
    result = solve(problem, method, tol=1e-8, max_passes=MANY, seed=0, start=start)
    assert result.converged, result


@EVERY_METHOD
def test_arguments_are_not_modified(method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 5)) * (rng.random((12, 5)) < 0.7)
    y = np.where(rng.random(12) < 0.5, 3.0, 7.0)
    c, w, alpha = weights(12), rng.standard_normal(5), rng.standard_normal(12)
    stored = sparse.csr_array(X)
    given = [X, y, c, w, alpha, stored.data, stored.indices, stored.indptr]
    before = [array.tobytes() for array in given]
    for data in (X, stored):
        for fit_intercept in {False, method in WITH_INTERCEPT}:
            problem = Problem(data, y, lam=0.1, sample_weight=c, fit_intercept=fit_intercept)
            solve(problem, method, tol=0, max_passes=3, seed=0, start=(w, alpha))
    assert [array.tobytes() for array in given] == before
    assert all(array.flags.writeable for array in given)


# --------------------------------------------------------------------------------------------
# Awkward data


@WITH_AND_WITHOUT_INTERCEPT
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_zero_row_and_zero_column_are_harmless(method, as_sparse, fit_intercept):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((12, 5))
    X[[0, 4]] = 0.0
    X[:, 2] = 0.0
    y = np.where(rng.random(12) < 0.5, 1.0, -1.0)
    data = sparse.csr_array(X) if as_sparse else X
    problem = Problem(data, y, lam=0.1, fit_intercept=fit_intercept)
    w, _, value = scipy_optimum(problem)
    result = solve(problem, method, tol=1e-12, max_passes=MANY, seed=0)
    assert result.converged, result
    assert result.certificate.primal == pytest.approx(value, abs=1e-11)
    np.testing.assert_allclose(result.w, w, atol=1e-5)
    assert abs(result.w[2]) <= 1e-5


@EVERY_METHOD
def test_data_of_zeros_is_solved_at_zero(method):
    y = np.array([1.0, -1, 1])
    result = solve(Problem(np.zeros((3, 2)), y), method, tol=1e-12, seed=0)
    assert result.converged
    np.testing.assert_array_equal(result.w, 0.0)
    assert result.certificate.primal == pytest.approx(np.log(2))


@EVERY_METHOD
def test_example_of_weight_zero_does_not_count(method):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((13, 5))
    y = np.where(rng.random(13) < 0.5, 1.0, -1.0)
    c = np.ones(13)
    c[4] = 0.0
    kept = np.delete(np.arange(13), 4)
    with_it = solve(
        Problem(X, y, lam=0.1, sample_weight=c), method, tol=1e-13, max_passes=MANY, seed=0
    )
    without = solve(Problem(X[kept], y[kept], lam=0.1), method, tol=1e-13, max_passes=MANY, seed=0)
    np.testing.assert_allclose(with_it.w, without.w, atol=1e-5)
    assert with_it.alpha[4] == 0.0


@EVERY_METHOD
@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 1)])
def test_one_example_or_one_feature_is_enough(method, shape):
    X = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    problem = Problem(X, X.sum(axis=1) - 2, loss="squared", lam=0.5)
    result = solve(problem, method, tol=1e-12, max_passes=MANY, seed=0)
    assert result.converged, result
    exact = np.linalg.solve(
        X.T @ X / len(X) + 0.5 * np.eye(shape[1]), X.T @ (X.sum(axis=1) - 2) / len(X)
    )
    np.testing.assert_allclose(result.w, exact, atol=1e-5)


# --------------------------------------------------------------------------------------------
# A method of one's own


class Steepest:
    """Gradient descent on P with step 1/L: the least that a method has to have."""

    side = "primal"
    free_intercept = False
    samplings = ()

    def start(self, problem, sampling=None, w=None, alpha=None, rng=None):
        return {"problem": problem, "w": np.zeros(problem.d) if w is None else w.copy()}

    def advance(self, state, draws=None):
        p, w = state["problem"], state["w"]
        slopes = p.matrix.times(w) - p.y
        gradient = p.matrix.transposed_times(slopes) / p.n + p.lam * w
        w -= gradient / (p.examples.squared_norms.sum() / p.n + p.lam)
        return 2.0 * p.matrix.nnz

    def iterate(self, state):
        return state["w"], None


class Labelled(Steepest, Method):
    """The same with the base class, and a name that changes."""

    def label(self, state):
        return "downhill"


def test_a_method_needs_no_base_class_and_may_have_one():
    problem = random_problem(seed=2, loss="squared")
    plain, derived = (solve(problem, kind(), tol=1e-9) for kind in (Steepest, Labelled))
    assert plain.converged and plain.method == "Steepest"
    assert derived.w.tobytes() == plain.w.tobytes() and derived.method == "Labelled"
    assert set(plain.trace.methods) == {"Steepest"} and set(derived.trace.methods) == {"downhill"}
    with pytest.raises(ValueError, match="needs a smooth loss"):
        solve(random_problem(seed=2, loss="hinge"), Steepest())


def test_a_method_reads_the_rows_of_its_side_unless_it_says_otherwise():
    assert Labelled.layout == completed(Steepest()).layout == "by_feature"
    assert METHODS["nsync"].layout == METHODS["primal_cd"].layout == "by_feature"
    assert METHODS["quartz"].layout == METHODS["newton"].layout == "by_example"
