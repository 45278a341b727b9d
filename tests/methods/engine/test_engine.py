"""What the engine's methods do beyond the contract of all methods."""

from __future__ import annotations

import numpy as np
import pytest

from primaldual import Problem, datasets, solve
from primaldual.engine.auto import epochs_left
from primaldual.losses.custom import as_loss
from primaldual.losses.sums import derivatives, sum_values
from primaldual.methods.engine import newton_cg, primal_cd
from primaldual.methods.engine.dual_cd import DualCD
from primaldual.methods.engine.gram_newton import GramNewton
from primaldual.methods.engine.gram_newton_cg import GramNewtonCG
from primaldual.methods.engine.newton import Newton
from primaldual.methods.engine.newton_cg import NewtonCG
from primaldual.methods.engine.primal_cd import PrimalCD
from primaldual.methods.engine.second_order import (
    LOOSEST,
    cholesky_solver,
    is_small,
    line_search,
    next_forcing,
    slopes,
    temper,
)


@pytest.fixture(scope="module")
def text():
    """Zipf-distributed words with labels that a model can mostly explain."""
    X = datasets.zipf_text(3000, 2000, 40, seed=0)
    return X, datasets.labels(X, seed=1)


def test_examples_at_rest_are_left_out_but_not_forgotten(text):
    problem = Problem(*text, loss="squared_hinge", lam=1e-5)
    method = DualCD(1e-9)
    state = method.start(problem, rng=np.random.default_rng(0))
    # A call makes several epochs: the work of one of them.
    work = [method.advance(state) / len(state.gaps) for _ in range(7)]
    assert work[0] == problem.matrix.nnz
    assert work[-1] < 0.9 * problem.matrix.nnz
    assert sorted(state.order) == list(range(problem.n))
    result = solve(problem, method, tol=1e-9, seed=0)
    assert result.converged
    assert result.certificate.relative_gap <= 1e-9


def test_all_examples_are_visited_less_often_while_nobody_wakes_up(text):
    problem = Problem(*text, loss="squared_hinge", lam=1e-5)
    method, full = DualCD(0.0), []
    state = method.start(problem, rng=np.random.default_rng(0))
    while state.epochs < 200:
        before = state.epochs
        method.advance(state)
        full += [before + k for k in range(len(state.parts)) if state.parts[k] == 1.0]
    late = np.diff([epoch for epoch in full if epoch > 10])
    assert late[-1] > 8 and late.max() <= 64


def test_a_gap_that_is_small_enough_has_been_seen_on_all_examples(text):
    problem = Problem(*text, loss="squared_hinge", lam=1e-5)
    method = DualCD(1e-6)
    state = method.start(problem, rng=np.random.default_rng(0))
    for _ in range(200):
        method.advance(state)
        if problem.relative(state.gap) <= 1e-6:
            break
    certificate = problem.certify(*method.iterate(state))
    assert certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("name", ["dual_cd", "primal_cd"])
def test_visiting_neighbours_together_leads_to_the_same_model(text, monkeypatch, name):
    problem = Problem(*text, loss="logistic", lam=1e-3)
    expected = solve(problem, tol=1e-10, seed=0)
    size = {"dual_cd": "MOMENT", "primal_cd": "SMALL"}[name]
    monkeypatch.setattr(f"primaldual.methods.engine.{name}.{size}", 0)  # as if it were large
    monkeypatch.setattr(f"primaldual.methods.engine.{name}.run_length", lambda size, nonzeros: 4)
    found = solve(problem, name, tol=1e-10, seed=0)
    assert found.converged
    assert np.allclose(found.w, expected.w, rtol=0, atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_smaller_model_of_very_many_examples_costs_no_digits(monkeypatch, loss, fit_intercept):
    X = datasets.random_matrix(20, 600, 0.3, seed=0)
    y = datasets.labels(X, seed=1)
    problem = Problem(X, y, loss=loss, lam=1e-4, fit_intercept=fit_intercept)
    monkeypatch.setattr("primaldual.methods.engine.primal_cd.SMALL", 0)
    monkeypatch.setattr(
        "primaldual.methods.engine.primal_cd.MANY_EXAMPLES", 0
    )  # as if it were large
    result = solve(problem, "primal_cd", tol=1e-12, seed=0)
    assert result.converged
    state = PrimalCD().start(problem)
    first, second = slopes(problem, state.z)
    model, gradient = primal_cd._model(problem, first, second)
    assert model.dtype == np.float32 and gradient.any()
    for unsafe in (1e20 * first, 1e-20 * first):
        assert primal_cd._model(problem, unsafe, second)[0].dtype == np.float64


def test_smooth_losses_let_nobody_rest(text):
    problem = Problem(*text, loss="logistic", lam=1e-3)
    state = DualCD().start(problem, rng=np.random.default_rng(0))
    work = {DualCD().advance(state) / len(state.gaps) for _ in range(5)}
    assert work == {float(problem.matrix.nnz)}


def test_the_root_of_a_diagonal_preconditions_unless_it_spans_too_much():
    diagonal = np.array([4.0, 9.0, 1.0])
    temper(diagonal)
    assert diagonal.tolist() == [2.0, 3.0, 1.0]
    units = np.array([1e-7, 1.0, 1e7])
    temper(units)
    assert units.tolist() == [1e-7, 1.0, 1e7]


def test_rare_features_take_few_products():
    """514 passes; with all of the diagonal 798."""
    X = datasets.zipf_text(4000, 1000, 60, seed=0)
    X.data = np.random.default_rng(0).geometric(0.4, X.nnz) * 1.0  # counts
    problem = Problem(X, datasets.labels(X, seed=1), loss="squared", lam=1e-3)
    result = solve(problem, "newton_cg", tol=1e-9, seed=0)
    assert result.converged and result.passes < 650


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_conjugate_residuals_on_the_examples_reach_the_optimum(loss, fit_intercept):
    X = datasets.random_matrix(300, 80, 0.1, seed=0)
    y = datasets.labels(X, seed=1)
    problem = Problem(X, y, loss=loss, lam=1e-3, fit_intercept=fit_intercept)
    ours = solve(problem, GramNewtonCG(1e-9), tol=1e-9)
    direct = solve(problem, "newton", tol=1e-12)
    assert ours.converged
    np.testing.assert_allclose(ours.w, direct.w, atol=2e-3 * np.abs(direct.w).max())
    above = ours.certificate.primal - direct.certificate.primal
    assert abs(above) <= 1e-9 * problem.primal_at_zero


@pytest.mark.parametrize("kind", [NewtonCG, GramNewtonCG])
def test_a_quadratic_loss_takes_one_truncated_step(kind):
    X = datasets.random_matrix(200, 100, 0.1, seed=0)
    problem = Problem(X, datasets.labels(X, seed=1), loss="squared", lam=1e-3)
    method = kind(1e-6)
    state = method.start(problem)
    method.advance(state)
    assert problem.certify(*method.iterate(state)).relative_gap <= 1e-6


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_compiled_run_of_newton_steps_is_newtons_method(loss, fit_intercept, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 7))
    y = np.sign(X @ rng.standard_normal(7) + rng.standard_normal(120))
    problem = Problem(X, y, loss=loss, lam=1e-3, fit_intercept=fit_intercept)
    assert is_small(problem)
    compiled = solve(problem, Newton(), tol=1e-11)
    monkeypatch.setattr("primaldual.methods.engine.newton.is_small", lambda problem: False)
    stepwise = solve(problem, Newton(), tol=1e-11)
    assert compiled.converged and stepwise.converged
    np.testing.assert_allclose(compiled.w, stepwise.w, atol=1e-7)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_only_step_on_the_squared_loss_is_the_same_by_example_and_by_feature(
    fit_intercept, weighted
):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2500, 6)) + 1.0  # two whole blocks of examples and a part of one
    y = X @ rng.standard_normal(6) + rng.standard_normal(2500)
    weights = rng.random(2500) if weighted else None
    found = []
    for order in ("C", "F"):
        problem = Problem(
            np.asarray(X, order=order), y, "squared", 1e-3, weights, fit_intercept=fit_intercept
        )
        assert problem.matrix.is_stored("feature") == (order == "F")
        found.append(solve(problem, "newton", tol=1e-12))
        assert found[-1].converged
        again = solve(problem, "newton", tol=1e-12, start=(found[-1].w + 1.0, None))
        np.testing.assert_allclose(again.w, found[-1].w, rtol=1e-9)
    np.testing.assert_allclose(found[0].w, found[1].w, rtol=1e-9)
    assert found[0].intercept == pytest.approx(found[1].intercept, rel=1e-9)


def test_newton_goes_on_from_its_only_step_when_the_features_have_been_stored_meanwhile():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    problem = Problem(X, X @ rng.standard_normal(4), loss="squared", lam=1e-3)
    method = Newton()
    state = method.start(problem)
    method.advance(state)
    first = state.w.copy()
    problem.matrix.by_feature  # noqa: B018  as a callback may do
    method.advance(state)
    np.testing.assert_allclose(state.w, first, rtol=1e-12)


def test_linear_systems_are_solved_roughly_again_where_the_gap_does_not_fall():
    assert next_forcing(0.1, 0.5, 1.0) == 0.1
    assert next_forcing(0.1, 1e-6, 1.0) == pytest.approx(0.01)
    assert next_forcing(0.01, 2.0, 1.0) == LOOSEST


def test_truncated_newton_aims_lower_where_a_gap_at_the_target_was_not_enough(text):
    problem = Problem(*text, loss="logistic", lam=1e-4, fit_intercept=True)
    method, gaps = NewtonCG(1e-4), []
    state = method.start(problem)
    while len(gaps) < 3:
        method.advance(state)
        method.iterate(state)
        if problem.relative(state.gap) <= 1e-4 * 0.1 ** len(gaps):
            gaps.append(problem.relative(state.gap))
    assert gaps[2] <= 1e-6 < gaps[0] <= 1e-4


def ill_conditioned(loss, lam):
    """Features of all sizes, hidden from the diagonal by a rotation."""
    rng = np.random.default_rng(0)
    hidden = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    X = (rng.standard_normal((400, 300)) * np.logspace(-4, 1, 300)) @ hidden
    return Problem(X, datasets.labels(X, seed=1), loss, lam=lam)


def one_step(problem, tol, forcing=LOOSEST):
    """The state after one Newton step, whose system is solved to that relative residual."""
    method = NewtonCG(tol, budget=0)
    state = method.start(problem)
    state.run = state.run._replace(forcing=forcing)
    method.advance(state)
    return state


def test_a_truncated_step_ends_where_the_model_hardly_falls_any_more():
    exact = one_step(ill_conditioned("squared", 1e-10), 0.0)
    rough = one_step(ill_conditioned("logistic", 1e-10), 0.0, forcing=1e-9)
    assert newton_cg.MANY_STEPS <= rough.run.products < exact.run.products / 2
    inner = rough.run.inner
    assert inner.now > 1e-9**2 * inner.first  # so that was not why it ended


def advanced(method, problem):
    """Advance to the method's own tolerance; the state, and the passes that took."""
    state, work = method.start(problem), 0.0
    while not state.run.linear:
        work += method.advance(state)
    return state, work / problem.matrix.nnz


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_conjugate_gradients_go_on_where_the_model_was_right(fit_intercept):
    """On a quadratic, to stop and look around every few steps costs nothing."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 40)) * np.logspace(0, 1, 40)
    problem = Problem(X, rng.standard_normal(80), "squared", lam=1e-3, fit_intercept=fit_intercept)
    method = NewtonCG(1e-9, most=3, budget=0)
    state = method.start(problem)
    for _ in range(2):
        method.advance(state)
        v, b = state.vectors, state.run.b
        slopes = problem.margins(v.w, b) - problem.y
        np.testing.assert_allclose(v.z, problem.margins(v.w, b), rtol=1e-9)
        gradient = X.T @ slopes + problem.lam * problem.n * v.w
        np.testing.assert_allclose(v.gradient[:-1], gradient, rtol=1e-6, atol=1e-8)
        expected = gradient @ gradient / (2 * problem.lam * problem.n**2)
        assert state.run.gap == pytest.approx(expected, rel=1e-6)
    if not fit_intercept:
        whole, in_pieces = advanced(NewtonCG(1e-9), problem), advanced(method, problem)
        assert in_pieces[1] == whole[1]
        np.testing.assert_allclose(in_pieces[0].w, whole[0].w, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_budget_that_ends_inside_a_step_changes_no_bit(loss, fit_intercept):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 40)) * np.logspace(0, 1, 40)
    y = np.sign(X[:, -1] + rng.standard_normal(80))
    problem = Problem(X, y, loss, lam=1e-3, fit_intercept=fit_intercept)
    whole, pieces = NewtonCG(1e-9), NewtonCG(1e-9, budget=0)  # a call makes one product then
    states = [method.start(problem) for method in (whole, pieces)]
    work = [whole.advance(states[0]), 0.0]
    while work[1] < work[0]:
        work[1] += pieces.advance(states[1])
    assert work[0] == work[1] and states[0].run.products > 5
    np.testing.assert_array_equal(states[0].w, states[1].w)


def test_conjugate_gradients_begin_again_where_it_was_not():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 20))
    for loss, lam in (("logistic", 1e-2), ("squared_hinge", 1e-4)):
        problem = Problem(X, np.sign(X[:, 0] + rng.standard_normal(80)), loss, lam=lam)
        state, models = one_step(problem, 1e-12), 0
        for _ in range(2):
            NewtonCG(1e-12, budget=0).advance(state)
            models += state.run.models
        assert models == 2


def test_newton_stops_at_the_accuracy_it_is_told():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    problem = Problem(X, np.sign(X[:, 0] + rng.standard_normal(200)), lam=1e-3)
    rough, fine = Newton(1e-2), Newton(1e-12)
    work = [method.advance(method.start(problem)) for method in (rough, fine)]
    assert work[0] < work[1]


def test_epochs_left_by_a_steady_fall():
    gaps = [0.5**k for k in range(10)]
    assert epochs_left(gaps, 0.5**20) == pytest.approx(11, rel=1e-6)
    assert epochs_left(gaps, 1.0) == 0.0


def test_epochs_left_does_not_see_the_jump_when_examples_come_back_from_rest():
    gaps = [3.0**-k for k in range(8)] + [3.0**-k for k in range(6, 9)]
    assert epochs_left(gaps, 3.0**-20, wakes=[8]) == pytest.approx(12)
    assert epochs_left(gaps, 3.0**-20) > 20


def test_epochs_left_does_not_take_one_jump_for_the_end():
    assert np.isfinite(epochs_left([1.0, 0.3, 0.1, 0.03, 0.01, 0.03], 1e-6))
    assert epochs_left([1.0] * 30, 1e-6) == np.inf


def test_a_sparse_matrix_without_zeros_is_stored_as_dense_rows():
    from scipy import sparse

    X = np.arange(1.0, 13.0).reshape(4, 3)
    for kind in (sparse.csr_array, sparse.csc_array):
        stored = kind(X)
        problem = Problem(stored, [1, -1, 1, -1])
        assert not problem.matrix.is_sparse
        assert np.shares_memory(problem.matrix.stored.values, stored.data)
        np.testing.assert_array_equal(problem.matrix.times(np.eye(3)[1]), X[:, 1])
        np.testing.assert_array_equal(problem.matrix.counts("feature"), [4, 4, 4])


def test_a_matrix_factored_block_by_block_solves_the_same():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((50, 50))
    hessian, right = A @ A.T, rng.standard_normal(50)
    whole = cholesky_solver(np.tril(hessian), 0.5)(right)
    blocks = cholesky_solver(np.tril(hessian), 0.5, block=8)(right)
    np.testing.assert_allclose(blocks, whole, rtol=1e-10)
    np.testing.assert_allclose(hessian @ whole + 0.5 * whole, right, atol=1e-10)


def test_a_singular_matrix_factored_block_by_block_gets_a_little_more_ridge():
    A = np.random.default_rng(0).standard_normal((50, 20))
    hessian = A @ A.T
    right = hessian @ np.ones(50)
    found = cholesky_solver(hessian.copy(), 0.0, block=8)(right)
    np.testing.assert_allclose(hessian @ found, right, atol=1e-6)


def test_a_line_search_does_not_end_where_a_slope_has_long_been_positive():
    # Both losses are lines but for a bend. The slope goes from −8000 to 2000 at the bend of the
    # first, at s = 0.005: a quarter of its size, but uphill from there.
    loss, y, c = as_loss("logistic"), np.array([1.0, -1.0]), np.ones(2)
    z, change = np.array([-50.0, 1e6]), np.array([1e4, 2e3])
    first, second = np.empty(2), np.empty(2)
    derivatives(loss, z, y, c, first)
    slope = float(first @ change)
    s = line_search(loss, z, change, y, c, slope, 0.0, 1e-9, first, second)
    assert sum_values(loss, z + s * change, y, c) < sum_values(loss, z, y, c)


@pytest.mark.parametrize("method", [GramNewton, GramNewtonCG])
def test_newton_in_the_space_of_the_examples_does_not_start_far_out(method):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 400)) + 2, np.where(rng.random(100) < 0.5, 1.0, -1.0)
    problem, alpha = Problem(X, y, lam=1e-2), y * rng.random(100)
    assert problem.certify(alpha=alpha).primal > 100 * problem.primal_at_zero
    checks = []
    for start in (None, (None, alpha)):
        told = []
        assert solve(problem, method(), tol=1e-6, start=start, callback=told.append).converged
        checks.append(len(told))
    assert checks[1] <= checks[0] + 2  # one of them is that of the start itself
