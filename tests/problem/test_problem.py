"""The problem: values, certificates, weights, labels, intercept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import (
    REFERENCE_OPTIMA,
    dual_value,
    nearest_feasible,
    primal_gradient,
    primal_value,
    random_matrix,
    random_problem,
    reference_instance,
    reference_problem,
    scipy_optimum,
)
from scipy import sparse

from primaldual import LOSSES, Problem, advise
from primaldual.problem.intercept import intercept_strength

modestly = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10**6)
scales = st.sampled_from([0.01, 1.0, 30.0])


def random_pair(problem, seed, scale):
    """Any w, and any feasible α."""
    rng = np.random.default_rng(seed)
    w = scale * rng.standard_normal(problem.d)
    return w, nearest_feasible(problem, scale * rng.standard_normal(problem.n))


# --- values and gaps ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
@modestly
@given(seed=seeds, scale=scales)
def test_the_primal_is_never_below_the_dual(name, seed, scale):
    problem = reference_problem(name)
    w, alpha = random_pair(problem, seed, scale)
    primal, dual = problem.primal(w), problem.dual(alpha)
    rounding = 1e-13 * (1 + abs(primal) + abs(dual))
    assert np.isfinite(primal) and np.isfinite(dual)
    assert primal >= dual - rounding
    assert problem.primal(w) == pytest.approx(primal_value(problem, w), rel=1e-12)
    assert dual == pytest.approx(dual_value(problem, alpha), rel=1e-9, abs=rounding)


@pytest.mark.parametrize("name", LOSSES)
@modestly
@given(seed=seeds, scale=scales)
def test_the_certificate_is_the_difference_of_the_two_values(name, seed, scale):
    problem = reference_problem(name)
    w, alpha = random_pair(problem, seed, scale)
    proof = problem.certify(w, alpha)
    # Where φ' has no bound, exp multiplies the rounding of margins of some 100, which gaps contain.
    digits = 1e-12 if problem.beta < np.inf or not problem.is_smooth else 1e-11
    rounding = digits * (1 + abs(proof.primal) + abs(proof.dual))
    assert proof.gap >= 0
    assert proof.primal == pytest.approx(problem.primal(w), rel=1e-14)
    assert proof.primal - proof.dual == pytest.approx(proof.gap, abs=rounding)
    assert problem.primal(w) - problem.dual(alpha) == pytest.approx(proof.gap, abs=rounding)
    assert proof.relative_gap == pytest.approx(proof.gap / problem.primal(np.zeros(problem.d)))


@pytest.mark.parametrize("name", LOSSES)
@modestly
@given(seed=seeds, scale=scales)
def test_the_gap_of_a_primal_point_is_its_squared_gradient(name, seed, scale):
    problem = reference_problem(name)
    w, _ = random_pair(problem, seed, scale)
    gradient = primal_gradient(problem, w)
    expected = gradient @ gradient / (2 * problem.lam)
    alone = problem.certify(w)
    assert alone.gap == pytest.approx(expected, rel=1e-9)
    # Through the values: φ*(−α) is evaluated at φ', where rounding of α costs digits.
    together = problem.certify(w, alone.alpha)
    assert together.gap == pytest.approx(expected, rel=1e-6, abs=1e-9 * (1 + alone.primal))


@pytest.mark.parametrize("name", REFERENCE_OPTIMA)
def test_optimal_values_have_all_printed_digits(name):
    problem = reference_problem(name)
    value, w, alpha = REFERENCE_OPTIMA[name]
    assert problem.primal(w) == pytest.approx(value, abs=1e-12)
    assert problem.dual(alpha) == pytest.approx(value, abs=1e-12)
    if problem.is_smooth:  # at a corner φ' is one of many subgradients, and not the optimal α
        assert problem.certify(w).gap <= 1e-20
    # With kinks, what rounding may do to the margins counts in full.
    enough = 1e-15 if problem.is_smooth else 2e-14
    assert problem.certify(alpha=alpha).gap <= enough
    assert problem.certify(w, alpha).gap <= enough


@pytest.mark.parametrize("name", REFERENCE_OPTIMA)
def test_each_optimum_gives_the_other(name):
    """w* = w(α*) and α*_j = −φ'(⟨x_j, w*⟩), with the minus sign."""
    problem = reference_problem(name)
    _, w, alpha = REFERENCE_OPTIMA[name]
    np.testing.assert_allclose(problem.primal_point(alpha), w, atol=1e-10)
    found = problem.dual_point(problem.margins(w))
    off_corners = np.abs(alpha - found) < 1e-10
    if problem.is_smooth:
        assert off_corners.all()
    else:  # at a corner w* tells only that α*_j is between two values of −φ'
        inside = (np.abs(alpha) > 0) & (np.abs(alpha) < 1)
        assert (off_corners | inside).all() and inside.any() and off_corners.any()


@pytest.mark.parametrize("name", ["logistic", "squared"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_certificates_bracket_the_optimum_found_by_scipy(name, fit_intercept):
    weights = np.linspace(0.5, 2.0, 12)
    problem = random_problem(4, loss=name, fit_intercept=fit_intercept, sample_weight=weights)
    w, intercept, value = scipy_optimum(problem)
    best = problem.certify(w)
    assert best.gap <= 1e-12
    assert best.primal == pytest.approx(value, abs=1e-13)
    assert best.intercept == pytest.approx(intercept, abs=1e-8)
    rng = np.random.default_rng(0)
    for _ in range(10):
        away = problem.certify(w + rng.standard_normal(problem.d))
        assert away.dual <= value + 1e-13 <= away.primal + 2e-13


def test_sparse_and_dense_problems_have_the_same_certificate():
    dense, stored = (random_problem(8, n=20, d=9, as_sparse=flag) for flag in (False, True))
    w = np.random.default_rng(2).standard_normal(9)
    one, other = dense.certify(w), stored.certify(w)
    assert one.primal == pytest.approx(other.primal, rel=1e-14)
    assert one.gap == pytest.approx(other.gap, rel=1e-12)


def test_a_point_outside_the_dual_domain_proves_nothing():
    problem = reference_problem("logistic")
    alpha = 1.5 * problem.y
    assert problem.dual(alpha) == -np.inf
    proof = problem.certify(np.zeros(4), alpha)
    assert proof.gap == np.inf and proof.dual == -np.inf


def test_a_point_that_is_not_finite_proves_nothing():
    proof = reference_problem("logistic").certify([np.nan, 0.0, 0.0, 0.0])
    assert proof.gap == np.inf and proof.relative_gap == np.inf


def test_certify_needs_at_least_one_point():
    with pytest.raises(ValueError, match="certify needs w, alpha or both"):
        reference_problem("squared").certify()


def test_certify_and_construction_leave_their_arguments_alone():
    X, y, lam = reference_instance("classification")
    weights = np.arange(1.0, 7.0)
    kept = X.copy(), y.copy(), weights.copy()
    problem = Problem(X, y, "logistic", lam, weights)
    w, alpha = np.ones(4), 0.3 * problem.y
    problem.certify(w, alpha)
    problem.certify(w)
    for now, then in zip((X, y, weights, w), (*kept, np.ones(4)), strict=True):
        np.testing.assert_array_equal(now, then)
    np.testing.assert_array_equal(alpha, 0.3 * problem.y)


# --- sample weights -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logistic", "squared"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_integer_weights_equal_repeated_examples(name, fit_intercept):
    X = random_matrix(1, 8, 4, 0.8)
    y = np.array([1.0, -1, 1, 1, -1, -1, 1, -1])
    times = np.array([1, 3, 2, 1, 1, 4, 2, 2])
    options = {"loss": name, "lam": 0.2, "fit_intercept": fit_intercept}
    weighted = Problem(X, y, sample_weight=times, **options)
    repeated = Problem(np.repeat(X, times, axis=0), np.repeat(y, times), **options)
    w = np.array([0.3, -1.0, 2.0, 0.1])
    one, other = weighted.certify(w), repeated.certify(w)
    assert one.primal == pytest.approx(other.primal, rel=1e-13)
    assert one.gap == pytest.approx(other.gap, rel=1e-11)
    assert one.relative_gap == pytest.approx(other.relative_gap, rel=1e-11)
    assert one.intercept == pytest.approx(other.intercept, abs=1e-12)
    assert weighted.dual(one.alpha) == pytest.approx(repeated.dual(other.alpha), rel=1e-12)
    # The primal side of the theory sees the same matrix, too.
    assert advise(weighted).primal.iterations == pytest.approx(advise(repeated).primal.iterations)


def test_only_the_ratios_of_weights_matter():
    weights = np.linspace(1.0, 3.0, 12)
    w = np.arange(5.0)
    one, other = (
        random_problem(2, sample_weight=scale * weights).certify(w) for scale in (1.0, 1e300)
    )
    assert one.primal == pytest.approx(other.primal, rel=1e-14)
    assert one.gap == pytest.approx(other.gap, rel=1e-13)


def test_equal_weights_are_no_weights():
    problem = random_problem(2, sample_weight=np.full(12, 7))
    assert not problem.is_weighted
    w = np.arange(5.0)
    assert problem.primal(w) == random_problem(2).primal(w)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_zero_weights_equal_removed_examples(fit_intercept):
    X, y, lam = reference_instance("classification")
    X, y = np.vstack([X, X + 1]), np.concatenate([y, -y])
    kept = np.array([1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1], dtype=bool)
    options = {"loss": "logistic", "lam": lam, "fit_intercept": fit_intercept}
    weighted = Problem(X, y, sample_weight=kept.astype(float), **options)
    removed = Problem(X[kept], y[kept], **options)
    w = np.array([0.5, -0.2, 0.1, 1.0])
    one, other = weighted.certify(w), removed.certify(w)
    assert one.primal == pytest.approx(other.primal, rel=1e-14)
    assert one.gap == pytest.approx(other.gap, rel=1e-12)
    assert weighted.dual(one.alpha) == pytest.approx(removed.dual(other.alpha), rel=1e-12)
    assert (one.alpha[~kept] == 0).all()
    assert weighted.dual(np.where(kept, one.alpha, 0.1 * weighted.y)) == -np.inf


# --- free intercept -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logistic", "smoothed_hinge"])
@modestly
@given(seed=seeds, scale=scales)
def test_the_best_intercept_balances_the_dual_point(name, seed, scale):
    problem = random_problem(seed, loss=name, fit_intercept=True)
    w = scale * np.random.default_rng(seed).standard_normal(problem.d)
    proof = problem.certify(w)
    assert np.isfinite(proof.gap) and proof.gap >= 0
    assert abs(proof.alpha.sum()) <= 1e-10 * np.abs(proof.alpha).sum()
    rounding = 1e-12 * (1 + proof.primal)
    assert proof.primal == pytest.approx(primal_value(problem, w, proof.intercept), rel=1e-12)
    for step in (-1e-3, 1e-3):
        assert problem.primal(w, proof.intercept + step) >= proof.primal - rounding
    gradient = primal_gradient(problem, w, proof.intercept)
    expected = gradient @ gradient / (2 * problem.lam)
    assert proof.gap == pytest.approx(expected, rel=1e-6, abs=1e-9 * (1 + proof.primal))


def test_an_unbalanced_dual_point_is_infeasible_with_a_free_intercept():
    problem = reference_problem("squared", fit_intercept=True)
    alpha = np.array([1.0, -1.0, 2.0, -2.0, 0.0, 0.0])
    assert np.isfinite(problem.dual(alpha))
    alpha[0] += 1e-3
    assert problem.dual(alpha) == -np.inf
    assert problem.certify(np.zeros(4), alpha).gap == np.inf


def test_the_intercept_asked_for_is_used():
    problem = reference_problem("squared", fit_intercept=True)
    w = np.array([1.0, 0.0, -1.0, 0.5])
    assert problem.primal(w, 0.7) == pytest.approx(primal_value(problem, w, 0.7), rel=1e-14)
    assert problem.certify(w, intercept=0.7).intercept == 0.7
    assert reference_problem("squared").certify(w).intercept == 0.0


# --- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        (-1, 1),
        (0, 1),
        (1, 2),
        (-1.5, 7.25),
        ("ham", "spam"),
        (False, True),
        (np.str_("a"), np.str_("b")),
    ],
)
def test_any_two_labels_become_minus_and_plus_one(labels):
    X, y, lam = reference_instance("classification")
    named = np.array([labels[int(sign > 0)] for sign in y])
    problem = Problem(X, named, "logistic", lam)
    np.testing.assert_array_equal(problem.y, y)
    assert list(problem.classes) == list(labels)


@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.float32, np.float64])
def test_labels_keep_their_kind(kind):
    X, y, lam = reference_instance("classification")
    problem = Problem(X, np.where(y > 0, 7, 3).astype(kind), "logistic", lam)
    np.testing.assert_array_equal(problem.y, y)
    assert problem.classes.dtype == kind


@pytest.mark.parametrize("labels", [(2**53, 2**53 + 1), (-1e300, 1e300)])
def test_labels_too_large_to_be_told_apart_as_floats_are_told_apart(labels):
    X, y, lam = reference_instance("classification")
    problem = Problem(X, np.where(y > 0, labels[1], labels[0]), "logistic", lam)
    np.testing.assert_array_equal(problem.y, y)
    assert problem.classes.tolist() == list(labels)


def test_labels_in_an_object_array_work():
    X, y, lam = reference_instance("classification")
    named = np.array(["no", "yes"], dtype=object)[(y > 0).astype(int)]
    np.testing.assert_array_equal(Problem(X, named, "logistic", lam).y, y)


def test_regression_targets_are_kept_as_they_are():
    X, y, lam = reference_instance("regression")
    problem = Problem(X, y.astype(int), "squared", lam)
    assert problem.classes is None and problem.y.dtype == np.float64
    np.testing.assert_array_equal(problem.y, y)


# --- invariances ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logistic", "squared"])
@modestly
@given(seed=seeds, c=st.sampled_from([-3.0, 1e-3, 0.5, 1e4]))
def test_scaling_the_data_and_lam_together_changes_nothing(name, seed, c):
    one = random_problem(seed, loss=name, lam=0.1)
    X = random_matrix(seed, 12, 5, 0.7)
    other = Problem(c * X, one.y, name, c**2 * 0.1)
    w = np.random.default_rng(seed).standard_normal(5)
    first, second = one.certify(w), other.certify(w / c)
    assert first.primal == pytest.approx(second.primal, rel=1e-12)
    assert first.gap == pytest.approx(second.gap, rel=1e-9)
    for side in ("primal", "dual"):
        before, after = getattr(advise(one), side), getattr(advise(other), side)
        assert before.iterations == pytest.approx(after.iterations, rel=1e-12)
        assert before.total == pytest.approx(after.total, rel=1e-12)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_empty_features_and_examples_are_harmless(as_sparse):
    X, y, lam = reference_instance("regression")
    value, w, alpha = REFERENCE_OPTIMA["squared"]
    wide = np.insert(X, 2, 0.0, axis=1)
    wide = sparse.csr_array(wide) if as_sparse else wide
    problem = Problem(wide, y, "squared", lam)
    assert problem.certify(np.insert(w, 2, 0.0), alpha).gap <= 1e-15
    assert problem.primal(np.insert(w, 2, 0.0)) == pytest.approx(value, abs=1e-12)

    tall = np.vstack([X, np.zeros((1, 4))])
    tall = sparse.csr_array(tall) if as_sparse else tall
    problem = Problem(tall, np.append(y, 5.0), "squared", lam * 6 / 7)
    proof = problem.certify(w)
    assert proof.gap <= 1e-20
    assert proof.alpha[-1] == 5.0
    assert proof.primal == pytest.approx((6 * value + 12.5) / 7, abs=1e-11)


# --- losses of your own ---------------------------------------------------------------------------


class Scaled:
    """φ = scale (z − y)²/2, with only what a loss must have."""

    def __init__(self, scale):
        self.scale = scale
        self.smoothness = scale

    def value(self, z, y):
        return 0.5 * self.scale * (z - y) ** 2

    def derivative(self, z, y):
        return self.scale * (z - y)

    def second_derivative(self, z, y):
        return self.scale


def test_a_loss_of_the_users_own_gets_the_same_certificates():
    X, y, lam = reference_instance("regression")
    own = Problem(X, y, Scaled(2.0), 2 * lam)
    value, w, alpha = REFERENCE_OPTIMA["squared"]
    assert own.beta == 2.0
    assert own.primal(w) == pytest.approx(2 * value, abs=1e-11)
    assert own.dual(2 * alpha) == pytest.approx(2 * value, abs=1e-9)
    assert own.certify(w).gap <= 1e-14  # its conjugate is found by a search
    assert own.certify(w, 2 * alpha).gap <= 1e-9
    assert "Scaled" in repr(own)


def test_repr_says_what_the_problem_is():
    text = repr(reference_problem("huber"))
    assert text == "Problem(6 examples, 4 features, dense, loss='huber', lam=0.1)"


def test_vectors_that_are_not_aligned_are_certified_too():
    problem = Problem(np.eye(3), [1.0, -1.0, 1.0], loss="squared", lam=0.5)
    raw = np.zeros(8 * 3 + 1, dtype=np.uint8)
    w = raw[1:].view(np.float64)
    w[:] = [0.1, -0.2, 0.3]
    assert not w.flags.aligned
    assert problem.certify(w).gap == problem.certify(w.copy()).gap


# --------------------------------------------------------------------------------------------
# Problems on the same data


@pytest.mark.parametrize("fit_intercept", [False, True], ids=["through zero", "intercept"])
def test_a_related_problem_is_what_a_new_one_would_be(fit_intercept):
    problem = random_problem(8, n=20, d=9, fit_intercept=fit_intercept)
    w, alpha = random_pair(problem, seed=3, scale=1.0)
    assert problem.examples.bound > 0 and problem.features.bound > 0  # known before
    y = np.where(np.arange(20) % 3 == 0, 1.0, -1.0)
    made = problem.related(lam=0.7, targets=y)
    new = Problem(problem.matrix.stored.values, y, "logistic", 0.7, fit_intercept=fit_intercept)
    assert made.certify(w, alpha).primal == pytest.approx(new.certify(w, alpha).primal, rel=1e-14)
    for side in ("examples", "features"):
        assert getattr(made, side).bound == pytest.approx(getattr(new, side).bound, rel=1e-14)
    assert problem.lam != 0.7, "the first problem is left alone"


def test_a_related_problem_is_checked():
    problem = random_problem(8, n=20, d=9)
    with pytest.raises(ValueError, match="lam must be positive"):
        problem.related(lam=0.0)
    with pytest.raises(ValueError, match=r"targets must have shape \(20,\)"):
        problem.related(targets=np.ones(3))
    with pytest.raises(ValueError, match="targets must be -1 or \\+1"):
        problem.related(targets=np.full(20, 0.5))


def test_the_intercept_has_one_rule_for_all_losses():
    for loss in ("logistic", "squared", "hinge"):
        problem = random_problem(8, n=20, d=9, loss=loss, fit_intercept=True)
        square = float(np.mean(np.sum(problem.matrix.stored.values**2, axis=1)))
        expected = min(problem.beta / 32, 10 * problem.lam / square)
        assert intercept_strength(problem.examples, problem.lam) == pytest.approx(expected)
        assert problem.examples.constant == pytest.approx(problem.lam / expected)
