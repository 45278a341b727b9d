"""K, W and T: the paper's closed forms against the definitions, and its Theorem 3."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import random_matrix, reference_problem
from scipy import sparse

from primaldual import Problem
from primaldual.complexity import (
    accelerated_complexity,
    complexity,
    importance_complexity,
    ratio_bounds,
    structure_bounds,
    structure_cost,
    uniform_complexity,
)
from primaldual.samplings import Importance, TauNice, Uniform

modestly = settings(max_examples=30, deadline=None, derandomize=True)
seeds = st.integers(0, 10**6)

# K, W and T with importance sampling, K and T with uniform sampling, K and T accelerated.
REFERENCE = {
    ("squared", "features"): (
        *(114, 3.6900584795, 420.6666666667, 157.3333333333, 550.6666666667),
        *(20.7927661342, 74.9215568840),
    ),
    ("squared", "examples"): (
        *(116, 2.4195402299, 280.6666666667, 146, 340.6666666667),
        *(26.2612248348, 62.3882153941),
    ),
    ("logistic", "features"): (
        *(31.5, 3.6719576720, 115.6666666667, 42.3333333333, 148.1666666667),
        *(10.9913003156, 39.4803080454),
    ),
    ("logistic", "examples"): (
        *(33.5, 2.4079601990, 80.6666666667, 41, 95.6666666667),
        *(14.1288858951, 33.4859008373),
    ),
}


def random_sides(seed, n=9, d=6, as_sparse=True, **options):
    """Both sides of a random problem whose data has no empty row or column."""
    rng = np.random.default_rng(seed)
    X = random_matrix(seed, n, d, rng.choice([0.1, 0.4, 1.0]), full_support=True)
    X *= rng.lognormal(size=d)
    data = sparse.csr_array(X) if as_sparse else X
    lam = float(10 ** rng.uniform(-4, 1))
    problem = Problem(data, rng.standard_normal(n), "squared", lam, **options)
    return problem.features, problem.examples


@pytest.mark.parametrize(("loss", "side"), REFERENCE)
def test_the_reference_instance_has_its_known_complexities(loss, side):
    coordinates = getattr(reference_problem(loss), side)
    importance = importance_complexity(coordinates)
    uniform = uniform_complexity(coordinates)
    accelerated = accelerated_complexity(coordinates)
    found = (
        *(importance.iterations, importance.cost, importance.total),
        *(uniform.iterations, uniform.total),
        *(accelerated.iterations, accelerated.total),
    )
    np.testing.assert_allclose(found, REFERENCE[loss, side], rtol=1e-11, atol=5e-11)


def test_the_reference_instance_has_its_known_structure_costs():
    problem = reference_problem("squared")
    assert problem.matrix.nnz == 14
    assert structure_cost(problem.features) == 244
    assert structure_cost(problem.examples) == 160


OPTIONS = {
    "plain": {},
    "weighted": {"sample_weight": np.linspace(0.2, 3.0, 9)},
    "free intercept": {"fit_intercept": True},
}


@pytest.mark.parametrize("case", OPTIONS)
@modestly
@given(seed=seeds)
def test_closed_forms_equal_the_definitions(case, seed):
    """Eq. (15) against eqs. (8) to (13)."""
    for side in random_sides(seed, **OPTIONS[case]):
        for form, sampling in (
            (uniform_complexity(side), Uniform.plan(side)),
            (importance_complexity(side), Importance.plan(side)),
        ):
            definition = complexity(side, sampling)
            assert form.iterations == pytest.approx(definition.iterations, rel=1e-12)
            assert form.cost == pytest.approx(definition.cost, rel=1e-12)
            assert form.total == pytest.approx(definition.total, rel=1e-12)
        extra = side.beta / side.lam_n * structure_cost(side)
        if not side.constant:
            assert importance_complexity(side).total == pytest.approx(side.nnz + extra, rel=1e-12)


@pytest.mark.parametrize("case", ["plain", "weighted"])
@modestly
@given(seed=seeds)
def test_iterations_of_the_sides_differ_by_d_minus_n(case, seed):
    features, examples = random_sides(seed, n=9, d=6, **OPTIONS[case])
    primal, dual = importance_complexity(features), importance_complexity(examples)
    assert primal.iterations - dual.iterations == pytest.approx(6 - 9, abs=1e-9 * dual.iterations)


@modestly
@given(seed=seeds)
def test_the_primal_of_the_data_is_the_dual_of_its_transpose(seed):
    X = random_matrix(seed, 9, 6, 0.5)
    features = Problem(X, np.arange(9.0), "squared", 0.3).features
    turned = Problem(np.ascontiguousarray(X.T), np.arange(6.0), "squared", 0.3).examples
    turned = dataclasses.replace(turned, lam_n=features.lam_n)
    assert structure_cost(features) == pytest.approx(structure_cost(turned), rel=1e-13)
    for form in (uniform_complexity, importance_complexity, accelerated_complexity):
        assert form(features).iterations == pytest.approx(form(turned).iterations, rel=1e-12)
        assert form(features).total == pytest.approx(form(turned).total, rel=1e-12)


@pytest.mark.parametrize("shape", [(9, 6), (3, 11), (1, 5), (5, 1), (1, 1)])
@modestly
@given(seed=seeds)
def test_structure_costs_and_totals_stay_within_the_bounds(shape, seed):
    """Theorem 3, for data without empty rows and columns."""
    n, d = shape
    features, examples = random_sides(seed, n=n, d=d)
    slack = 1 + 1e-12
    for side in (features, examples):
        low, high = structure_bounds(side)
        assert low / slack <= structure_cost(side) <= high * slack
    low, high = ratio_bounds(d, n)
    assert (low, high) == (1 / d, n)
    ratio = structure_cost(features) / structure_cost(examples)
    assert low / slack <= ratio <= high * slack
    ratio = importance_complexity(features).total / importance_complexity(examples).total
    assert low / slack <= ratio <= high * slack


def test_the_bounds_of_theorem_3_are_approached():
    """The family with one heavy row or column."""
    n, d, tiny = 7, 5, 1e-6
    for heavy, expected in (("column", n), ("row", 1 / d)):
        X = np.zeros((n, d))
        X[0], X[:, 0] = (1.0, tiny) if heavy == "row" else (tiny, 1.0)
        X[0, 0] = tiny
        problem = Problem(X, np.arange(float(n)), "squared", 1.0)
        ratio = structure_cost(problem.features) / structure_cost(problem.examples)
        assert ratio == pytest.approx(expected, rel=1e-9)


def test_dense_data_costs_its_shape():
    X = np.random.default_rng(0).standard_normal((7, 4))
    problem = Problem(X, np.arange(7.0), "squared", 1.0)
    assert structure_cost(problem.features) == pytest.approx(7 * (X**2).sum(), rel=1e-13)
    assert structure_cost(problem.examples) == pytest.approx(4 * (X**2).sum(), rel=1e-13)


@modestly
@given(seed=seeds)
def test_the_total_of_nice_samplings_grows_with_the_batch(seed):
    side, _ = random_sides(seed)
    totals = []
    for tau in range(1, side.size + 1):
        sampling = TauNice(side.size, tau)
        totals.append(complexity(side, sampling, sampling.eso(side, "sparsity")).total)
    assert (np.diff(totals) >= -1e-12 * totals[-1]).all()
    assert totals[0] == pytest.approx(uniform_complexity(side).total, rel=1e-12)


def test_eso_parameters_given_are_used():
    side = reference_problem("squared").features
    sampling = Uniform(4)
    doubled = complexity(side, sampling, 2 * sampling.eso(side))
    assert doubled.iterations == pytest.approx(4 * (1 + 46 / 0.6))


def test_passes_count_the_logarithm_of_the_accuracy():
    costs = importance_complexity(reference_problem("squared").features)
    expected = costs.total * math.log(1e6) / 14
    assert costs.passes(1e-6) == pytest.approx(expected, rel=1e-14)
