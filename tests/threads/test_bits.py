"""The number of threads changes no bit: of a product, of a solve, of an estimator."""

from __future__ import annotations

import multiprocessing
import os
import threading

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from primaldual import Problem, solve
from primaldual._threads import one_blas_thread, using
from primaldual.data.columns import squared_times, times, transposed_times
from primaldual.data.matrix import Matrix
from primaldual.estimators import LogisticRegression, LogisticRegressionCV, Ridge, RidgeCV
from primaldual.methods import ENGINE
from primaldual.multinomial import Multinomial, solve_multinomial
from primaldual.problem.certificate import certify

THREADS = (1, 2, 3, 8)
PART = 64  # nonzeros: the data here is small
WAIT = 120.0


def data(is_sparse, n=500, d=20):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.sign(X @ rng.standard_normal(d) + rng.standard_normal(n))
    if is_sparse:
        X = sparse.csr_array(X * (rng.random((n, d)) < 0.3))
    return X, y


FORMS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "by feature": np.asfortranarray,
    "wide": lambda X: np.ascontiguousarray(X.T),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "wide csr": lambda X: sparse.csr_array(X.T),
}


def products(X):
    """All that threads make of a matrix, and what NumPy makes of it."""
    matrix, (n, d) = Matrix(X), X.shape
    w, a = np.random.default_rng(1).random(d), np.random.default_rng(2).random(n)
    ours = [
        matrix.times(w), matrix.transposed_times(a), *matrix.products(w, a),
        matrix.squared_norms("feature"), matrix.squared_norms("example"),
        matrix.squared_norms("feature", a), matrix.squared_norms("example", w),
        matrix.counts("feature"), matrix.counts("example"),
        np.tril(matrix.gram_of_features(a)), np.tril(matrix.gram_of_examples()),
    ]  # fmt: skip
    D = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    theirs = [
        D @ w, D.T @ a, D @ w, D.T @ a, (D**2).sum(0), (D**2).sum(1), a @ D**2, D**2 @ w,
        (D != 0).sum(0), (D != 0).sum(1), np.tril(D.T * a @ D), np.tril(D @ D.T),
    ]  # fmt: skip
    return ours, theirs


@pytest.mark.parametrize("form", FORMS)
def test_products_norms_and_gram_matrices_have_the_same_bits(form):
    X = FORMS[form](data(False)[0] * (np.random.default_rng(3).random((500, 20)) < 0.5))
    found = []
    for threads in THREADS:
        with using(threads, part=PART) as scope:
            ours, theirs = products(X)
            found.append(ours)
    assert scope.used > 1
    for mine, true in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, true, rtol=1e-5, atol=1e-5)
    for other in found[1:]:
        for mine, first in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(mine, first)


def test_large_tiles_and_blocks_have_the_same_bits():
    """A Gram matrix of several tiles, and a Cholesky factor of several blocks."""
    from primaldual.methods.engine.second_order import cholesky_solver

    X = np.random.default_rng(0).standard_normal((700, 600))
    found = []
    for threads in THREADS:
        with using(threads, part=PART), one_blas_thread():
            H = Matrix(X).gram_of_features(np.ones(700))
            found.append(cholesky_solver(H, 1.0, block=100)(np.ones(600)))
    np.testing.assert_allclose(found[0], np.linalg.solve(X.T @ X + np.eye(600), np.ones(600)))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("form", ["dense", "csr", "csc"])
def test_a_transposed_copy_by_parts_is_that_of_the_whole(form):
    X = FORMS[form](data(False)[0] * (np.random.default_rng(3).random((500, 20)) < 0.5))
    copies = []
    for threads, part in ((1, 1 << 18), (1, PART), (3, PART)):
        with using(threads, part=part) as scope:
            matrix = Matrix(X)
            copies.append(matrix.by_example if form == "csc" else matrix.by_feature)
    assert scope.used == 3
    for copy in copies[1:]:
        for mine, first in zip(copy, copies[0], strict=True):
            assert mine.dtype == first.dtype
            np.testing.assert_array_equal(mine, first)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_products_with_a_column_per_class_have_the_same_bits(form):
    X = FORMS[form](data(False)[0])
    w, a = np.random.default_rng(1).random((20, 3)), np.random.default_rng(2).random((500, 3))
    found = []
    for threads in THREADS:
        with using(threads, part=PART), one_blas_thread():
            matrix = Matrix(X)
            ours = (times(matrix, w), transposed_times(matrix, a), squared_times(matrix, a))
            found.append(ours)
    D = X if form == "dense" else X.toarray()
    for mine, true in zip(ours, (D @ w, D.T @ a, (D**2).T @ a), strict=True):
        np.testing.assert_allclose(mine, true)
    for other in found[1:]:
        for mine, first in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(mine, first)


def same(one, other):
    np.testing.assert_array_equal(one.w, other.w)
    np.testing.assert_array_equal(one.alpha, other.alpha)
    assert one.intercept == other.intercept
    assert one.certificate.gap == other.certificate.gap


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("method", [*ENGINE, "auto"])
def test_every_method_of_the_engine_gives_the_same_bits(method, is_sparse):
    X, y = data(is_sparse)

    def solved(threads):
        with using(part=PART):
            return solve(
                Problem(X, y, "logistic", 0.01, fit_intercept=True), method, tol=1e-8,
                seed=0, threads=threads,
            )  # fmt: skip

    first = solved(1)
    assert first.threads == 1
    assert first.converged
    for threads in THREADS[1:]:
        result = solved(threads)
        assert result.threads > 1
        same(result, first)


def test_losses_with_kinks_and_several_classes_give_the_same_bits():
    X, y = data(True)
    labels = np.arange(len(y)) % 3
    found = []
    for threads in THREADS:
        with using(threads, part=PART):
            kinks = solve(Problem(X, y, "hinge", 0.01), tol=1e-6, seed=0)
            found.append((kinks, solve_multinomial(Multinomial(X, labels, 0.1), tol=1e-8)))
    for pair in found[1:]:
        same(pair[0], found[0][0])
        np.testing.assert_array_equal(pair[1].w, found[0][1].w)


def test_a_certificate_by_parts_is_that_of_the_whole():
    X, y = data(False)
    problem, w = Problem(X, y, "logistic", 0.1), np.full(20, 0.1)
    whole = certify(problem, w, problem.dual_point(problem.margins(w)), None, 1e-6)
    with using(3, part=PART):
        cut = certify(problem, w, problem.dual_point(problem.margins(w)), None, 1e-6)
    assert cut.primal == pytest.approx(whole.primal, rel=1e-14)
    assert cut.gap == pytest.approx(whole.gap, rel=1e-10)


@pytest.mark.parametrize("blas", [1, 2])
def test_the_threads_of_blas_change_nothing(blas):
    X, y = data(False, 400, 90)
    problem = Problem(X, y, "logistic", 0.01)
    with threadpool_limits(1, user_api="blas"):
        first = solve(problem, "newton", tol=1e-8, seed=0)
    with threadpool_limits(blas, user_api="blas"):
        same(solve(problem, "newton", tol=1e-8, seed=0), first)


# ---- estimators


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(tol=1e-8),
        LogisticRegression(multi_class="ovr", tol=1e-8),
        LogisticRegressionCV(Cs=[0.1, 1.0], cv=3, tol=1e-8),
        Ridge(alpha=0.1),
        RidgeCV(alphas=[0.1, 1.0], cv=3),
    ],
    ids=lambda model: type(model).__name__ + getattr(model, "multi_class", ""),
)
def test_estimators_give_the_same_bits(model):
    X, y = data(True)
    target = y if isinstance(model, Ridge | RidgeCV) else (np.arange(len(y)) % 3) * (y > 0)
    if isinstance(model, Ridge):
        target = np.stack([y, -y, y], axis=1)
    found = []
    for threads in THREADS:
        with using(part=PART):
            found.append(model.set_params(n_jobs=threads).fit(X, target).coef_)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def _fitted(threads):
    X, y = data(True)
    with using(part=PART):
        return LogisticRegression(tol=1e-8, n_jobs=threads).fit(X, y).coef_


def _put(queue):
    queue.put(_fitted(2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fit_in_a_forked_child_after_a_fit_has_the_same_bits():
    first = _fitted(2)
    forked = multiprocessing.get_context("fork")
    queue = forked.Queue()
    child = forked.Process(target=_put, args=(queue,))
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=WAIT), first)
    child.join(WAIT)
    assert child.exitcode == 0


def test_two_fits_at_once_have_the_same_bits():
    first, found = _fitted(1), {}
    callers = [threading.Thread(target=lambda k=k: found.update({k: _fitted(2)})) for k in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(WAIT)
    assert len(found) == 2
    for coef in found.values():
        np.testing.assert_array_equal(coef, first)


def test_fits_inside_joblib_and_a_grid_search_have_the_same_bits():
    first = _fitted(1)
    for coef in joblib.Parallel(n_jobs=2, timeout=WAIT)(
        joblib.delayed(_fitted)(threads) for threads in (None, 2)
    ):
        np.testing.assert_array_equal(coef, first)
    X, y = data(True)
    search = GridSearchCV(LogisticRegression(tol=1e-8), {"C": [0.1, 1.0]}, cv=3, n_jobs=2)
    alone = GridSearchCV(LogisticRegression(tol=1e-8), {"C": [0.1, 1.0]}, cv=3)
    np.testing.assert_array_equal(
        search.fit(X, y).best_estimator_.coef_, alone.fit(X, y).best_estimator_.coef_
    )


def test_a_bad_number_of_threads_is_refused():
    X, y = data(False)
    with pytest.raises(ValueError, match="threads must be a positive number of threads"):
        solve(Problem(X, y), threads=0)
    with pytest.raises(ValueError, match="n_jobs must be a positive number of threads"):
        LogisticRegression(n_jobs=0).fit(X, y)
