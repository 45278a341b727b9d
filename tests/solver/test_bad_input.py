"""Every bad input is refused with a message that says what came."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from primaldual import Problem, advise, faceoff, solve
from primaldual.complexity import Complexity
from primaldual.losses import Huber, SmoothedHinge
from primaldual.samplings import (
    Bucket,
    Distributed,
    Importance,
    Independent,
    Permutation,
    TauNice,
    Uniform,
)

X = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 0.0], [1.0, 1.0]])
Y = np.array([1.0, -1.0, 1.0, -1.0])


def with_entry(value):
    bad = X.copy()
    bad[1, 1] = value
    return bad


def out_of_range(fmt):
    bad = sparse.csr_array(X).asformat(fmt)
    bad.indices[0] = 99
    return bad


# --- the data -------------------------------------------------------------------------------------

BAD_DATA = {
    "NaN": (with_entry(np.nan), "X must be finite, got NaN in 1 entries"),
    "inf": (with_entry(np.inf), "X must be finite, got infinite values in 1 entries"),
    "minus inf": (with_entry(-np.inf), "got infinite values in 1 entries"),
    "both infinities": (np.diag([np.inf, -np.inf, 1, 1]), "got infinite values in 2 entries"),
    "float32 NaN": (with_entry(np.nan).astype(np.float32), "got NaN in 1 entries"),
    "sparse NaN": (sparse.csr_array(with_entry(np.nan)), "got NaN in 1 entries"),
    "sparse inf": (sparse.csc_array(with_entry(np.inf)), "got infinite values in 1 entries"),
    "no examples": (np.empty((0, 2)), r"at least one example and one feature, got shape \(0, 2\)"),
    "no features": (np.empty((4, 0)), r"at least one example and one feature, got shape \(4, 0\)"),
    "sparse, no examples": (sparse.csr_array((0, 2)), r"got shape \(0, 2\)"),
    "one dimension": (X[:, 0], r"X must have two dimensions.*got shape \(4,\)"),
    "three dimensions": (X[None], r"X must have two dimensions.*got shape \(1, 4, 2\)"),
    "sparse, one dimension": (sparse.coo_array(np.ones(3)), r"two dimensions.*got shape \(3,\)"),
    "a number": (3.0, r"X must have two dimensions.*got shape \(\)"),
    "complex": (X + 1j, "X must be real, got complex numbers"),
    "sparse complex": (sparse.csr_array(X + 1j), "X must be real, got complex numbers"),
    "object dtype": (X.astype(object), "X must hold numbers, got dtype object"),
    "None": (None, "X must hold numbers, got dtype object"),
    "text": (X.astype(str), "X must hold numbers, got dtype <U"),
    "ragged lists": ([[1.0, 2.0], [3.0]], "X must be a matrix, got rows of different lengths"),
    "CSR index out of range": (out_of_range("csr"), "X is not a valid sparse matrix: an index"),
    "CSC index out of range": (out_of_range("csc"), "X is not a valid sparse matrix: an index"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused(case):
    data, message = BAD_DATA[case]
    with pytest.raises(ValueError, match=message):
        Problem(data, Y)


def test_a_coo_index_out_of_range_is_refused():
    """In a process of its own, because the failure would be a crash."""
    script = (
        "import numpy as np\n"
        "from scipy import sparse\n"
        "from primaldual import Problem\n"
        "X = sparse.coo_array(np.eye(3))\n"
        "X.coords[0][0] = 10**6\n"
        "try:\n"
        "    Problem(X, [1, -1, 1])\n"
        "except ValueError as error:\n"
        "    assert 'X is not a valid sparse matrix' in str(error)\n"
        "else:\n"
        "    raise AssertionError('accepted')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


# --- labels and targets ---------------------------------------------------------------------------

BAD_TARGETS = {
    "too few": ("logistic", Y[:3], r"one entry for each of the 4 examples of X, got shape \(3,\)"),
    "too many": ("squared", np.ones(5), r"one entry for each of the 4 examples.*\(5,\)"),
    "a column": ("logistic", Y[:, None], r"y must have one dimension, got \(4, 1\). Use y.ravel"),
    "two columns": ("logistic", np.ones((4, 2)), r"got shape \(4, 2\)"),
    "None": ("logistic", None, r"got shape \(\)"),
    "ragged lists": ("squared", [[1], [2, 3], [4], [5]], "y must hold one number per.*ragged"),
    "NaN": ("squared", [1.0, np.nan, 2.0, 3.0], "y must be finite, got NaN"),
    "NaN label": ("logistic", [1.0, np.nan, 1.0, -1.0], "y must be finite, got NaN"),
    "inf": ("squared", [1.0, np.inf, 2.0, 3.0], "y must be finite, got NaN or infinite"),
    "complex": ("squared", Y + 1j, "y must be real, got complex numbers"),
    "text for regression": ("squared", list("abab"), "y must hold numbers for loss 'squared', got"),
    "one class": ("logistic", np.ones(4), "exactly two classes for loss 'logistic', got one class"),
    "three classes": ("logistic", [0, 1, 2, 1], "got 3 classes. Train one problem per class"),
    "mixed types": ("logistic", np.array([1, None, "a", 1], dtype=object), "y must .*got"),
}


@pytest.mark.parametrize("case", BAD_TARGETS)
def test_bad_targets_are_refused(case):
    loss, y, message = BAD_TARGETS[case]
    with pytest.raises(ValueError, match=message):
        Problem(X, y, loss=loss)


def test_a_class_whose_examples_all_have_weight_zero_does_not_count():
    with pytest.raises(ValueError, match=r"got one class. Both classes must be present"):
        Problem(X, Y, sample_weight=(Y > 0).astype(float))


# --- λ, losses, weights ---------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0, 0.0, -1.0, np.nan, np.inf])
def test_lam_out_of_range_is_refused(lam):
    with pytest.raises(ValueError, match=re.escape(f"lam must be positive and finite, got {lam}")):
        Problem(X, Y, lam=lam)


@pytest.mark.parametrize("lam", ["strong", "0.1", None, [0.1, 0.2], 1j])
def test_lam_that_is_no_number_is_refused(lam):
    message = re.escape(f"lam must be a positive number, got {lam!r}")
    with pytest.raises(TypeError, match=message):
        Problem(X, Y, lam=lam)


def test_an_unknown_loss_is_refused_with_the_list_of_known_ones():
    with pytest.raises(ValueError, match=r"loss must be one of squared, logistic.*got 'logit'"):
        Problem(X, Y, loss="logit")


@pytest.mark.parametrize("method", ["nsync", "quartz", "newton", "sdca"])
def test_a_loss_that_is_not_smooth_is_refused_with_the_name_of_one_that_is(method):
    with pytest.raises(ValueError, match=r"'hinge' is not.*auto.*dual_cd.*'smoothed_hinge'"):
        solve(Problem(X, Y, loss="hinge"), method)


def test_an_object_that_is_no_loss_is_refused_with_what_it_lacks():
    with pytest.raises(TypeError, match="got int, which lacks value, derivative"):
        Problem(X, Y, loss=3)


@pytest.mark.parametrize("loss", [SmoothedHinge(0.0), Huber(-1.0), Huber(np.nan), Huber("wide")])
def test_a_loss_with_a_parameter_out_of_range_is_refused(loss):
    with pytest.raises(ValueError, match=re.escape(f"finite number, got {loss[0]!r}")):
        Problem(X, Y, loss=loss)


BAD_WEIGHTS = {
    "negative": ([1, -1, 1, 1], "sample_weight must be finite.*got values from -1.0 to 1.0"),
    "NaN": ([1, np.nan, 1, 1], "sample_weight must be finite.*got values from nan to nan"),
    "inf": ([1, np.inf, 1, 1], "sample_weight must be finite.*got values from 1.0 to inf"),
    "all zero": ([0, 0, 0, 0], "with a positive sum, got values from 0.0 to 0.0"),
    "too few": ([1, 1], r"sample_weight must have one entry for each of the 4.*got shape \(2,\)"),
    "a matrix": (np.ones((4, 2)), r"sample_weight must have one entry.*got shape \(4, 2\)"),
    "text": (list("abcd"), "sample_weight must hold numbers, got dtype <U1"),
    "complex": (Y + 1j, "sample_weight must be real, got complex"),
}


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights_are_refused(case):
    weights, message = BAD_WEIGHTS[case]
    with pytest.raises(ValueError, match=message):
        Problem(X, Y, sample_weight=weights)


# --- points ---------------------------------------------------------------------------------------


@pytest.fixture
def problem():
    return Problem(X, Y, lam=0.5)


def test_a_primal_point_of_wrong_shape_is_refused(problem):
    for call in (problem.primal, problem.certify):
        with pytest.raises(ValueError, match=r"w must have shape \(2,\), got \(3,\)"):
            call(np.ones(3))


def test_a_dual_point_of_wrong_shape_is_refused(problem):
    with pytest.raises(ValueError, match=r"alpha must have shape \(4,\), got \(4, 1\)"):
        problem.dual(np.ones((4, 1)))
    with pytest.raises(ValueError, match=r"alpha must have shape \(4,\), got \(2,\)"):
        problem.certify(alpha=np.ones(2))


# --- solve, advise, faceoff -----------------------------------------------------------------------


@pytest.mark.parametrize("tol", [-1e-6, np.nan, "small", None])
def test_a_bad_tol_is_refused(problem, tol):
    with pytest.raises(ValueError, match=f"tol must be a nonnegative number, got {tol!r}"):
        solve(problem, tol=tol)


@pytest.mark.parametrize("limit", ["max_passes", "max_time"])
def test_a_negative_limit_is_refused(problem, limit):
    with pytest.raises(ValueError, match=f"{limit} must be a nonnegative number, got -1"):
        solve(problem, **{limit: -1})


def test_an_unknown_method_is_refused_with_the_list_of_known_ones(problem):
    with pytest.raises(ValueError, match=r"method must be one of auto, nsync, quartz.*got 'magic'"):
        solve(problem, method="magic")
    with pytest.raises(ValueError, match=r"methods must be names among auto,.*got \['magic'\]"):
        faceoff(problem, methods=["magic"])


def test_an_object_that_is_no_method_is_refused(problem):
    with pytest.raises(TypeError, match=r"method must be a name or an object.*got 3"):
        solve(problem, method=3)


def test_an_unknown_sampling_is_refused_with_the_list_of_known_ones(problem):
    with pytest.raises(ValueError, match=r"sampling must be one of uniform.*got 'random'"):
        solve(problem, method="quartz", sampling="random")
    with pytest.raises(ValueError, match=r"sampling must be one of uniform.*got 'random'"):
        advise(problem, sampling="random")


def test_a_sampling_class_instead_of_an_object_is_refused(problem):
    with pytest.raises(TypeError, match=r"sampling must be a name or an object.*got <class"):
        solve(problem, method="quartz", sampling=TauNice)


def test_a_sampling_of_the_wrong_size_is_refused(problem):
    with pytest.raises(
        ValueError, match=r"chooses from 3 coordinates, but the feature side.*has 2"
    ):
        solve(problem, method="nsync", sampling=Uniform(3))


BAD_STARTS = {
    "w of wrong shape": ((np.ones(3), None), ValueError, r"w must hold 2 finite.*shape \(3,\)"),
    "alpha of wrong shape": ((None, np.ones(2)), ValueError, r"alpha must hold 4 finite.*\(2,\)"),
    "w not finite": ((np.array([np.nan, 0]), None), ValueError, "w must hold 2 finite numbers"),
    "a number": (3, TypeError, r"start must be a Result or a pair \(w, alpha\).*got int"),
    "three things": ((1, 2, 3), TypeError, "start must be a Result or a pair.*got tuple"),
}


@pytest.mark.parametrize("case", BAD_STARTS)
def test_a_bad_start_is_refused(problem, case):
    start, error, message = BAD_STARTS[case]
    with pytest.raises(error, match=message):
        solve(problem, start=start)


@pytest.mark.parametrize("eps", [0.0, 1.0, -0.5, np.nan])
def test_an_accuracy_outside_zero_and_one_is_refused(eps):
    with pytest.raises(ValueError, match=re.escape(f"eps must be between 0 and 1, got {eps}")):
        Complexity(10.0, 2.0, 4).passes(eps)


# --- samplings ------------------------------------------------------------------------------------

BAD_SAMPLINGS = {
    "no coordinates": (lambda: Uniform(0), "at least one coordinate, got 0"),
    "no coordinates to permute": (lambda: Permutation(-1), "at least one coordinate, got -1"),
    "tau zero": (lambda: TauNice(5, 0), r"tau must be between 1 and .*\(5\), got 0"),
    "tau too large": (lambda: TauNice(5, 6), r"tau must be between 1 and .*\(5\), got 6"),
    "too many blocks": (lambda: Distributed(3, 4, 1), r"blocks must be between 1 .*\(3\), got 4"),
    "no blocks": (lambda: Distributed(3, 0, 1), "blocks must be between 1 .*got 0"),
    "tau larger than a block": (lambda: Distributed(6, 2, 4), r"size of a block \(3\), got 4"),
    "sum not 1": (lambda: Importance([0.5, 0.6]), "with sum 1.*got"),
    "zero probability": (lambda: Importance([0.0, 1.0]), "one positive probability.*got"),
    "NaN probability": (lambda: Importance([np.nan, 1.0]), "one positive probability.*got"),
    "probability above 1": (lambda: Independent([0.5, 1.1]), r"probability in \(0, 1\].*got"),
    "no probabilities": (lambda: Independent([]), r"probability in \(0, 1\].*got"),
    "bucket not full": (lambda: Bucket([0.5, 0.4, 1.0], [0, 0, 1]), "sum to 1 in every.*got"),
    "empty bucket": (lambda: Bucket([1.0, 1.0], [0, 2]), "without leaving one empty.*got"),
    "unequal lengths": (lambda: Bucket([1.0], [0, 1]), r"got shapes \(1,\) and \(2,\)"),
}


@pytest.mark.parametrize("case", BAD_SAMPLINGS)
def test_a_bad_sampling_is_refused(case):
    build, message = BAD_SAMPLINGS[case]
    with pytest.raises(ValueError, match=message):
        build()


def test_an_unknown_bound_is_refused(problem):
    with pytest.raises(ValueError, match=r"bound must be one of sparsity, spectral.*got 'tight'"):
        TauNice(2, 1).eso(problem.features, bound="tight")
