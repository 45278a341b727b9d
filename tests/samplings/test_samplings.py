"""Samplings: probabilities, draws, and ESO parameters that satisfy the ESO."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import (
    dense_side,
    eso_tolerance,
    eso_violation,
    is_enumerated,
    membership,
    pair_probabilities,
    random_matrix,
    random_problem,
    reference_problem,
)
from scipy import sparse

from primaldual import SAMPLINGS, Problem
from primaldual.complexity import complexity
from primaldual.samplings import (
    Bucket,
    Distributed,
    Importance,
    Independent,
    Permutation,
    TauNice,
    Uniform,
    spectral_spread,
)
from primaldual.samplings.draws import alias_table

modestly = settings(max_examples=20, deadline=None, derandomize=True)
seeds = st.integers(0, 10**6)


def some_sampling(name, size, seed=0):
    """A sampling of that kind on ``size`` ≥ 4 coordinates; of ours, not the planned one."""
    rng = np.random.default_rng(seed)
    p = rng.random(size) + 0.05
    buckets = rng.permutation(np.arange(size) % 3)
    ours = {
        "uniform": lambda: Uniform(size),
        "importance": lambda: Importance(p / p.sum()),
        "permutation": lambda: Permutation(size),
        "tau_nice": lambda: TauNice(size, int(rng.integers(1, size + 1))),
        "independent": lambda: Independent(np.minimum(p, 1.0)),
        "bucket": lambda: Bucket(p / np.bincount(buckets, weights=p)[buckets], buckets),
        "distributed": lambda: Distributed(size, 3, int(rng.integers(1, -(-size // 3) + 1))),
    }
    if name in ours:
        return ours[name]()
    problem = Problem(random_matrix(seed, 7, size, 0.5), rng.standard_normal(7), "squared", 0.1)
    return SAMPLINGS[name].plan(problem.features)


BOUNDS = {
    "tau_nice": ("sparsity", "spectral", "best"),
    "bucket": ("others", "met", "best"),
    "distributed": ("sparsity", "spectral", "best"),
}
NAME_AND_BOUND = [(name, bound) for name in SAMPLINGS for bound in BOUNDS.get(name, (None,))]


def eso(sampling, side, bound):
    return sampling.eso(side) if bound is None else sampling.eso(side, bound=bound)


def some_side(kind, seed):
    """Six or seven coordinates over sparse data, in every form a side can have."""
    rng = np.random.default_rng(seed)
    X = random_matrix(seed, 7, 6, rng.choice([0.2, 0.5, 0.9]))
    X *= rng.lognormal(size=6)
    weights = rng.random(7) * 2 if "weighted" in kind else None
    lam = float(10 ** rng.uniform(-3, 1))
    problem = Problem(
        sparse.csr_array(X), rng.standard_normal(7), "squared", lam, weights, "constant" in kind
    )
    return problem.features if "features" in kind else problem.examples


# --- ESO ------------------------------------------------------------------------------------------

REFERENCE_ESO = [
    ("features", TauNice(4, 2), "sparsity", [35, 25 / 3, 19, 35]),
    ("features", TauNice(4, 3), "sparsity", [47, 32 / 3, 24, 47]),
    ("features", TauNice(4, 4), "sparsity", [59, 13, 29, 59]),
    ("examples", TauNice(6, 2), "sparsity", [14, 22.2, 16, 11.2, 16, 22.2]),
    ("examples", TauNice(6, 3), "sparsity", [18, 30.4, 22, 14.4, 22, 30.4]),
    ("examples", TauNice(6, 6), "sparsity", [30, 55, 40, 24, 40, 55]),
    ("features", Independent([0.1, 0.2, 0.3, 0.4]), None, [35.2, 8, 17.1, 28.8]),
    (
        "features",
        Bucket([0.25, 0.75, 0.5, 0.5], [0, 0, 1, 1]),
        "others",
        [36.5, 9, 24, 31.75],
    ),
    (
        "features",
        Bucket([0.25, 0.75, 0.5, 0.5], [0, 0, 1, 1]),
        "met",
        [36, 9.875, 22.75, 35.375],
    ),
    ("features", Distributed(4, 2, 1), "sparsity", [37.75, 9.25, 21.25, 37.75]),
    ("features", Distributed(4, 2, 2), "sparsity", [59, 13, 29, 59]),
    ("features", Uniform(4), None, [23, 6, 14, 23]),
    ("examples", Uniform(6), None, [10, 14, 10, 8, 10, 14]),
]


@pytest.mark.parametrize(("side", "sampling", "bound", "expected"), REFERENCE_ESO)
def test_eso_parameters_of_the_reference_instance(side, sampling, bound, expected):
    v = eso(sampling, getattr(reference_problem("squared"), side), bound)
    np.testing.assert_allclose(v, expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "bound"), NAME_AND_BOUND)
@pytest.mark.parametrize("kind", ["features", "examples", "weighted features", "constant examples"])
@modestly
@given(seed=seeds)
def test_the_eso_inequality_holds(name, bound, kind, seed):
    """P∘XXᵀ ⪯ Diag(p∘v), eqs. (5) and (6), with P by enumeration of all subsets."""
    side = some_side(kind, seed)
    sampling = some_sampling(name, side.size, seed)
    v = eso(sampling, side, bound)
    assert eso_violation(side, pair_probabilities(sampling), v) <= eso_tolerance(sampling)


@pytest.mark.parametrize("name", SAMPLINGS)
def test_the_serial_eso_is_the_diagonal_and_no_eso_is_below_it(name):
    side = reference_problem("squared").features
    sampling = some_sampling(name, 4)
    diagonal = (dense_side(side) ** 2).sum(axis=1)
    v = sampling.eso(side)
    assert (v >= diagonal * (1 - 1e-14)).all()
    if name in ("uniform", "importance", "permutation"):
        np.testing.assert_allclose(v, diagonal, rtol=1e-14)


@pytest.mark.parametrize("name", BOUNDS)
@modestly
@given(seed=seeds)
def test_the_best_bound_is_one_of_the_bounds_with_the_smallest_k(name, seed):
    side = some_side("features", seed)
    sampling = some_sampling(name, side.size, seed)
    one, other, best = (sampling.eso(side, bound=bound) for bound in BOUNDS[name])
    assert np.array_equal(best, one) or np.array_equal(best, other)
    iterations = [complexity(side, sampling, v).iterations for v in (one, other, best)]
    assert iterations[2] == min(iterations)


def test_the_entrywise_minimum_of_two_valid_vectors_may_be_invalid():
    X = np.array([[-1.0, -1, 0, 0], [0, -1, -1, -1], [-1, 1, 0, 0]])
    side = Problem(X, [0.0, 1, 2], "squared", 0.1).features
    sampling = Bucket(np.full(4, 0.5), [0, 0, 1, 1])
    P = pair_probabilities(sampling)
    one, other = sampling.eso(side, "others"), sampling.eso(side, "met")
    assert eso_violation(side, P, one) <= 1e-12
    assert eso_violation(side, P, other) <= 1e-12
    assert eso_violation(side, P, np.minimum(one, other)) > 0.02


def test_one_bucket_is_serial_and_singleton_buckets_move_everything():
    side = reference_problem("squared").features
    p = np.array([0.1, 0.2, 0.3, 0.4])
    serial = Bucket(p, np.zeros(4, dtype=int)).eso(side, "others")
    np.testing.assert_allclose(serial, Importance(p).eso(side), rtol=1e-14)
    everything = Bucket(np.ones(4), np.arange(4)).eso(side, "others")
    np.testing.assert_allclose(everything, TauNice(4, 4).eso(side, "sparsity"), rtol=1e-14)
    np.testing.assert_allclose(Independent(np.ones(4)).eso(side), everything, rtol=1e-14)


def test_dense_and_sparse_storage_give_the_same_eso():
    for name in SAMPLINGS:
        one, other = (random_problem(5, n=8, d=6, as_sparse=flag) for flag in (False, True))
        sampling = some_sampling(name, 6)
        np.testing.assert_allclose(
            sampling.eso(one.features), sampling.eso(other.features), rtol=1e-12
        )


# --- the spectrum ---------------------------------------------------------------------------------


def test_spectral_spread_of_the_reference_instance():
    problem = reference_problem("squared")
    assert spectral_spread(problem.features) == pytest.approx(1.9458464451, abs=5e-11)
    assert spectral_spread(problem.examples) == pytest.approx(2.4423558319, abs=5e-11)


@pytest.mark.parametrize("kind", ["features", "examples", "weighted features", "constant examples"])
@modestly
@given(seed=seeds)
def test_spectral_spread_equals_its_definition(kind, seed):
    side = some_side(kind, seed)
    A = dense_side(side)
    A = A[A.any(axis=1)]
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    expected = max(1.0, np.linalg.norm(A, 2) ** 2) if len(A) else 1.0
    assert spectral_spread(side) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_the_spread_of_a_large_side_is_never_underestimated(seed):
    problem = random_problem(seed, n=150, d=90, density=0.1, as_sparse=True)
    A = dense_side(problem.features)
    A = A[A.any(axis=1)]
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    exact = np.linalg.norm(A, 2) ** 2
    assert exact * (1 - 1e-12) <= spectral_spread(problem.features) <= 1.011 * exact


@pytest.mark.parametrize("size", [10, 100])
def test_data_of_zeros_has_no_interaction(size):
    problem = Problem(np.zeros((3, size)), [0.0, 1, 2], "squared", 0.1)
    assert spectral_spread(problem.features) == 1.0


# --- draws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize("size", [5, 6])
def test_draws_match_the_probabilities_of_coordinates_and_pairs(name, size):
    sampling = some_sampling(name, size, seed=size)
    steps = 40_000
    inside = membership(sampling.draw(np.random.default_rng(1), steps), size)
    assert inside.max() == 1.0, "no coordinate twice in one step"
    # Pairs are compared where the subsets are known, coordinates always.
    P = pair_probabilities(sampling) if is_enumerated(sampling) else inside.T @ inside / steps
    np.fill_diagonal(P, sampling.probabilities())
    seen = inside.T @ inside / steps
    deviation = 5 * np.sqrt(P * (1 - np.minimum(P, 1)) / steps) + 1e-12
    assert (np.abs(seen - P) <= deviation).all()


@pytest.mark.parametrize("name", [name for name in SAMPLINGS if name != "permutation"])
def test_steps_are_independent_of_each_other(name):
    sampling = some_sampling(name, 5, seed=3)
    steps = 40_000
    inside = membership(sampling.draw(np.random.default_rng(2), steps), 5)
    p = sampling.probabilities()
    lagged = (inside[1:].T @ inside[:-1]) / (steps - 1)
    product = np.outer(p, p)
    assert (np.abs(lagged - product) <= 6 * np.sqrt(product / steps)).all()


@pytest.mark.parametrize("name", SAMPLINGS)
def test_the_same_generator_state_gives_the_same_draws(name):
    sampling = some_sampling(name, 6)
    one, other = (sampling.draw(np.random.default_rng(7), 50) for _ in range(2))
    np.testing.assert_array_equal(one.starts, other.starts)
    np.testing.assert_array_equal(one.coordinates, other.coordinates)


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize("steps", [0, 1, 13])
def test_draws_have_the_steps_asked_for_and_valid_coordinates(name, steps):
    draws = some_sampling(name, 6).draw(np.random.default_rng(0), steps)
    assert draws.steps == steps and len(draws.starts) == steps + 1
    assert draws.starts[0] == 0 and draws.starts[-1] == len(draws.coordinates)
    assert (np.diff(draws.starts) >= 0).all()
    assert np.isin(draws.coordinates, np.arange(6)).all()
    assert draws.coordinates.dtype.kind == "i" and draws.starts.dtype == np.int64


def test_tau_nice_of_everything_draws_everything():
    inside = membership(TauNice(5, 5).draw(np.random.default_rng(0), 20), 5)
    assert (inside == 1).all()


@pytest.mark.parametrize(("size", "blocks", "tau"), [(5, 2, 2), (7, 3, 3), (5, 4, 1), (3, 3, 1)])
def test_distributed_sampling_works_where_blocks_do_not_divide(size, blocks, tau):
    sampling = Distributed(size, blocks, tau)
    inside = membership(sampling.draw(np.random.default_rng(0), 20_000), size)
    P = pair_probabilities(sampling)
    assert (np.abs(inside.T @ inside / 20_000 - P) <= 5 * np.sqrt(P / 20_000) + 1e-12).all()
    per_block = np.array([inside[:, sampling.block_of == b].sum(axis=1) for b in range(blocks)])
    assert per_block.max() <= tau


def test_independent_sampling_with_certain_and_rare_coordinates():
    p = np.array([1.0, 1e-4, 0.5, 1.0, 3e-9])
    inside = membership(Independent(p).draw(np.random.default_rng(0), 50_000), 5)
    assert (inside[:, [0, 3]] == 1).all()
    assert inside[:, 4].sum() == 0
    assert abs(inside[:, 1].sum() - 5) <= 5 * np.sqrt(5)
    assert abs(inside[:, 2].mean() - 0.5) <= 5 * 0.5 / np.sqrt(50_000)


def test_independent_sampling_ends_also_with_vanishing_probabilities():
    """In a process of its own, because the failure would be a loop without end."""
    script = (
        "import numpy as np\n"
        "from primaldual.samplings import Independent\n"
        "draws = Independent([1e-300, 1.0]).draw(np.random.default_rng(0), 20)\n"
        "assert (draws.coordinates == 1).all() and draws.steps == 20\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=20)


def test_permutations_visit_every_coordinate_once_per_epoch():
    order = Permutation(6).draw(np.random.default_rng(0), 20).coordinates
    for epoch in range(3):
        assert sorted(order[6 * epoch : 6 * epoch + 6]) == list(range(6))
    assert len(order) == 20


@modestly
@given(seed=seeds, size=st.integers(1, 60))
def test_the_alias_table_holds_exactly_the_distribution(seed, size):
    p = np.random.default_rng(seed).lognormal(sigma=3, size=size)
    p /= p.sum()
    accept, alias = alias_table(p)
    assert ((accept >= 0) & (accept <= 1)).all()
    held = (accept + np.bincount(alias, weights=1 - accept, minlength=size)) / size
    np.testing.assert_allclose(held, p, atol=1e-15, rtol=1e-12)


# --- plans ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize("kind", ["features", "weighted features", "constant examples"])
def test_plans_are_valid_samplings_of_the_side(name, kind):
    side = some_side(kind, seed=11)
    sampling = SAMPLINGS[name].plan(side)
    assert sampling.size == side.size
    p = sampling.probabilities()
    assert p.shape == (side.size,) and (p > 0).all() and (p <= 1).all()
    violation = eso_violation(side, pair_probabilities(sampling), sampling.eso(side))
    assert violation <= eso_tolerance(sampling)


@pytest.mark.parametrize("tau", [1, 2, 3])
@modestly
@given(seed=seeds)
def test_planned_probabilities_are_not_worse_than_uniform_ones(tau, seed):
    side = some_side("features", seed)
    planned = Independent.plan(side, tau)
    uniform = Independent(np.full(side.size, tau / side.size))
    assert planned.p.sum() == pytest.approx(tau)
    assert complexity(side, planned).iterations <= complexity(side, uniform).iterations * 1.0000001
    planned = Bucket.plan(side, tau)
    share = 1 / np.bincount(planned.bucket_of)
    uniform = Bucket(share[planned.bucket_of], planned.bucket_of)
    assert complexity(side, planned).iterations <= complexity(side, uniform).iterations * 1.0000001


@pytest.mark.parametrize("side", ["features", "examples"])
def test_importance_probabilities_of_the_reference_instance(side):
    expected = {
        "features": [0.335978836, 0.1111111111, 0.2169312169, 0.335978836],
        "examples": [
            *[0.1542288557, 0.2039800995, 0.1542288557],
            *[0.1293532338, 0.1542288557, 0.2039800995],
        ],
    }
    p = Importance.plan(getattr(reference_problem("logistic"), side)).probabilities()
    np.testing.assert_allclose(p, expected[side], atol=5e-10)


@pytest.mark.parametrize("kind", ["features", "examples", "weighted features", "constant examples"])
@modestly
@given(seed=seeds)
def test_no_serial_sampling_has_smaller_k_or_t_than_importance(kind, seed):
    """Theorem 2."""
    side = some_side(kind, seed)
    best = complexity(side, Importance.plan(side))
    optimal = Importance.plan(side).p
    rng = np.random.default_rng(seed)
    for spread in (0.01, 0.3, 2.0):
        p = optimal * rng.lognormal(sigma=spread, size=side.size)
        other = complexity(side, Importance(p / p.sum()))
        assert best.iterations <= other.iterations * (1 + 1e-12)
        assert best.total <= other.total * (1 + 1e-12)
