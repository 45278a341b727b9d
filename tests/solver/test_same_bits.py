"""The same problem gives the same bits: solved again, after other methods, or in two threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy import sparse

from primaldual import Problem, solve
from primaldual.multinomial import Multinomial

# Methods that need the rows by feature, by example, both, and more than products.
METHODS = ["auto", "nsync", "quartz", "newton", "gram_newton", "newton_cg", "dual_cd", "primal_cd"]
KINDS = {
    "C order": np.ascontiguousarray,
    "F order": np.asfortranarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
}


def made(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70, 30)) * (rng.random((70, 30)) < 0.6)
    y = np.sign(X[:, 0] + rng.standard_normal(70))
    return Problem(KINDS[kind](X), y, "logistic", lam=0.01, fit_intercept=True)


def bits(problem, method):
    result = solve(problem, method, tol=1e-8, max_passes=12, seed=0)
    proof = result.certificate
    return result.w.tobytes(), result.alpha.tobytes(), proof.gap, result.passes, result.status


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_solved_before_changes_no_bit(kind):
    shared = made(kind)
    _ = shared.matrix.by_feature, shared.matrix.by_example  # as some method may have needed them
    for method in METHODS:
        alone = bits(made(kind), method)
        assert bits(shared, method) == alone == bits(shared, method), method


@pytest.mark.parametrize("kind", KINDS)
def test_threads_that_solve_the_same_problem_at_once_change_no_bit(kind):
    expected = {method: bits(made(kind), method) for method in METHODS}
    shared, found = made(kind), {}

    def work(methods):
        for method in methods:
            found[method] = bits(shared, method)

    threads = [
        threading.Thread(target=work, args=(part,), daemon=True)
        for part in (METHODS[::2], METHODS[1::2])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert found == expected


@pytest.mark.parametrize("side", ["primal", "dual"])
def test_a_softmax_problem_gives_the_same_bits_again(side):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 6)), rng.integers(0, 3, 60)

    def found(problem):
        result = solve(problem, tol=1e-8, seed=0, side=side)
        return result.w.tobytes(), result.intercept.tobytes(), result.certificate.gap

    shared = Multinomial(X, y, lam=0.01, fit_intercept=True)
    alone = found(Multinomial(X, y, lam=0.01, fit_intercept=True))
    shared.certify(np.ones((3, 6)))
    assert found(shared) == alone == found(shared)
