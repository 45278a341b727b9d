"""What the generated matrices promise, against the theory they illustrate."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from primaldual import datasets
from primaldual.binary import cost_ranges, ratio_range
from primaldual.datasets import real

CORNERS = ("primal_worst", "dual_worst", "both_best", "both_worst")

# Sizes that exercise one feature, one example, sparsest, densest, and everything between.
SIZES = [
    (d, n, nnz) for d in range(1, 8) for n in range(1, 8) for nnz in range(max(d, n), d * n + 1)
]
LARGER = [
    (100, 37, 100),
    (100, 37, 1234),
    (37, 100, 3699),
    (37, 100, 3700),
    (1, 50, 50),
    (50, 1, 50),
]


def costs(X: Any) -> tuple[float, float]:
    """C_P and C_D from their definitions; X has one row per example."""
    dense = X.toarray() if sparse.issparse(X) else X
    nonzero, squares = dense != 0, dense**2
    primal = nonzero.sum(axis=0) @ squares.sum(axis=0)
    dual = nonzero.sum(axis=1) @ squares.sum(axis=1)
    return float(primal), float(dual)


def costs_of_large(X: sparse.csr_array) -> tuple[float, float]:
    """The same without a dense copy."""
    by_feature = np.bincount(X.indices, minlength=X.shape[1])
    by_example = np.diff(X.indptr)
    squares = X.multiply(X)
    return float(by_feature @ squares.sum(axis=0)), float(by_example @ squares.sum(axis=1))


def total_ratio(X: sparse.csr_array, beta: float) -> float:
    """T_P / T_D under importance sampling with λ = 1/n, where β/(λn) = β."""
    primal, dual = costs_of_large(X)
    return (X.nnz + beta * primal) / (X.nnz + beta * dual)


def row_norms(X: sparse.csr_array) -> np.ndarray:
    return np.sqrt(X.multiply(X).sum(axis=1))


def assert_canonical(X: sparse.csr_array, shape: tuple[int, int]) -> None:
    assert isinstance(X, sparse.csr_array)
    assert X.shape == shape
    assert X.dtype == np.float64
    assert X.indices.dtype == X.indptr.dtype == np.int32
    fresh = sparse.csr_array((X.data, X.indices, X.indptr), shape=shape)
    assert fresh.has_canonical_format
    assert np.all(X.data != 0)


def assert_nothing_is_empty(X: sparse.csr_array) -> None:
    assert np.all(np.diff(X.indptr) > 0)
    assert np.all(np.bincount(X.indices, minlength=X.shape[1]) > 0)


def assert_same(X: sparse.csr_array, Y: sparse.csr_array) -> None:
    assert np.array_equal(X.indptr, Y.indptr)
    assert np.array_equal(X.indices, Y.indices)
    assert np.array_equal(X.data, Y.data)


# ---- all generators

GENERATORS: dict[str, Callable[[Any], sparse.csr_array]] = {
    "extremal": lambda seed: datasets.extremal_binary(
        30, 20, 99, "primal_worst", seed, signs=True, shuffle=True
    ),
    "normal": lambda seed: datasets.random_matrix(30, 20, 0.3, mean=1.0, std=2.0, seed=seed),
    "signs": lambda seed: datasets.random_matrix(30, 20, 0.3, "signs", seed=seed),
    "dense": lambda seed: datasets.random_matrix(30, 20, seed=seed),
    "text": lambda seed: datasets.zipf_text(30, 20, 10, seed=seed),
}


@pytest.mark.parametrize("generate", GENERATORS.values(), ids=GENERATORS)
def test_same_seed_same_matrix(generate: Callable[[Any], sparse.csr_array]) -> None:
    assert_same(generate(7), generate(7))
    assert_same(generate(7), generate(np.random.default_rng(7)))
    assert generate(7).shape == generate(None).shape
    assert abs(generate(7) - generate(8)).sum() > 0


@pytest.mark.parametrize("generate", GENERATORS.values(), ids=GENERATORS)
def test_matrices_are_canonical_and_have_one_row_per_example(
    generate: Callable[[Any], sparse.csr_array],
) -> None:
    assert_canonical(generate(0), (20, 30))


# ---- crosses, Theorem 3


@pytest.mark.parametrize(("d", "n"), [(1, 1), (1, 5), (5, 1), (2, 2), (4, 7), (7, 4)])
def test_cross_matrix_has_the_stated_costs(d: int, n: int) -> None:
    a, b, c = 1.5, -0.5, 2.0
    X = datasets.cross_matrix(d, n, a, b, c)
    assert_canonical(X, (n, d))
    assert_nothing_is_empty(X)
    assert X.nnz == d + n - 1
    assert costs(X) == (
        (d - 1) * a**2 + n * (n - 1) * b**2 + n * c**2,
        d * (d - 1) * a**2 + (n - 1) * b**2 + d * c**2,
    )


def test_cross_matrix_puts_a_in_one_example_and_b_in_one_feature() -> None:
    X = datasets.cross_matrix(3, 2, 1.0, 2.0, 5.0).toarray()
    assert np.array_equal(X, [[5.0, 1.0, 1.0], [2.0, 0.0, 0.0]])


@pytest.mark.parametrize(("a", "b", "c"), [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, np.inf, 1)])
def test_cross_matrix_refuses_zero_and_infinity(a: float, b: float, c: float) -> None:
    with pytest.raises(ValueError, match="finite and not zero"):
        datasets.cross_matrix(3, 3, a, b, c)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 40), st.integers(2, 40))
def test_worst_cases_are_within_one_percent_of_the_bounds_of_any_matrix(d: int, n: int) -> None:
    primal, dual = costs(datasets.worst_case(d, n, "dual"))
    assert 1.0 < d * primal / dual <= 1.02
    primal, dual = costs(datasets.worst_case(d, n, "primal"))
    assert 1.0 < n * dual / primal <= 1.02


def test_worst_cases_of_the_two_sides_are_mirror_images() -> None:
    X, mirror = datasets.worst_case(5, 8, "dual"), datasets.worst_case(8, 5, "primal")
    assert np.array_equal(X.toarray(), mirror.toarray().T)


@pytest.mark.parametrize(
    ("d", "n", "r", "entries", "expected_costs", "total"),
    [
        (
            1000,
            1000,
            3.16227766e-3,
            (28.76367114, 0.09095871468),
            (834794.917, 8.26521445e8),
            0.00101967,
        ),
        (
            100,
            100_000,
            9.94992412e-6,
            (9136.711565, 0.09090958678),
            (8.347115853e9, 8.264470331e11),
            0.01010048,
        ),
    ],
)
def test_figure_2_dual_worst_case(
    d: int,
    n: int,
    r: float,
    entries: tuple[float, float],
    expected_costs: tuple[float, float],
    total: float,
) -> None:
    X = datasets.worst_case(d, n, "dual")
    assert X.data[0] == X.data[-1] == pytest.approx(r, rel=1e-8)
    X = datasets.normalize_average(X)
    assert X.data[[1, -1]] == pytest.approx(entries, rel=1e-8)
    assert costs_of_large(X) == pytest.approx(expected_costs, rel=1e-8)
    assert total_ratio(X, beta=0.25) == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize(("d", "n"), [(1, 5), (5, 1)])
def test_worst_case_needs_two_of_each(d: int, n: int) -> None:
    with pytest.raises(ValueError, match="at least 2"):
        datasets.worst_case(d, n, "dual")


# ---- binary extremes, Theorem 4


def extreme(d: int, n: int, nnz: int, corner: str) -> tuple[int, int]:
    ranges: Any = cost_ranges(nnz, d, n)
    return {
        "primal_worst": (ranges.max_primal, ranges.min_dual),
        "dual_worst": (ranges.min_primal, ranges.max_dual),
        "both_best": (ranges.min_primal, ranges.min_dual),
        "both_worst": (ranges.max_primal, ranges.max_dual),
    }[corner]


@pytest.mark.parametrize("corner", CORNERS[:3])
def test_extremal_matrices_attain_the_bounds(corner: Any) -> None:
    for d, n, nnz in SIZES + LARGER:
        X = datasets.extremal_binary(d, n, nnz, corner)
        assert X.nnz == nnz
        assert np.all(X.data == 1)
        assert_canonical(X, (n, d))
        assert_nothing_is_empty(X)
        assert costs(X) == extreme(d, n, nnz, corner), (d, n, nnz)


def test_extremal_matrices_attain_both_bounds_on_the_ratio() -> None:
    for d, n, nnz in SIZES:
        low, high = ratio_range(nnz, d, n)
        primal, dual = costs(datasets.extremal_binary(d, n, nnz, "dual_worst"))
        assert primal / dual == low
        primal, dual = costs(datasets.extremal_binary(d, n, nnz, "primal_worst"))
        assert primal / dual == high


def enumerated_costs(d: int, n: int) -> set[tuple[int, int, int]]:
    """(nnz, C_P, C_D) of all binary matrices without empty rows or columns."""
    codes = np.arange(2 ** (d * n))
    X = (codes[:, None] >> np.arange(d * n) & 1).astype(np.int16).reshape(-1, d, n)
    by_feature, by_example = X.sum(axis=2), X.sum(axis=1)
    kept = by_feature.all(axis=1) & by_example.all(axis=1)
    table = [by_feature.sum(axis=1), (by_feature**2).sum(axis=1), (by_example**2).sum(axis=1)]
    return {tuple(map(int, row)) for row in np.unique(np.column_stack(table)[kept], axis=0)}


def unattainable(d: int, n: int) -> list[int]:
    """The nnz for which both_worst is refused; checks the matrices of all others."""
    refused = []
    for nnz in range(max(d, n), d * n + 1):
        try:
            X = datasets.extremal_binary(d, n, nnz, "both_worst")
        except ValueError:
            refused.append(nnz)
        else:
            assert X.nnz == nnz
            assert_canonical(X, (n, d))
            assert_nothing_is_empty(X)
            assert costs(X) == extreme(d, n, nnz, "both_worst"), (d, n, nnz)
    return refused


@pytest.mark.parametrize(
    ("d", "n"), [(d, n) for d in range(1, 9) for n in range(1, 9) if d * n <= 16]
)
def test_both_worst_exists_exactly_when_enumeration_finds_one(d: int, n: int) -> None:
    found = enumerated_costs(d, n)
    missing = [
        nnz
        for nnz in range(max(d, n), d * n + 1)
        if (nnz, *extreme(d, n, nnz, "both_worst")) not in found
    ]
    assert unattainable(d, n) == missing


@pytest.mark.parametrize(
    ("d", "n", "refused"),
    [(3, 3, [7]), (3, 4, [8, 9, 10]), (4, 4, [9, 10, 11, 12, 13, 14]), (2, 9, []), (9, 1, [])],
)
def test_both_worst_fails_where_it_is_known_to(d: int, n: int, refused: list[int]) -> None:
    assert unattainable(d, n) == refused


def uneven_counts(nnz: int, coordinates: int, length: int) -> list[int]:
    """The only counts with the largest sum of squares, filled greedily."""
    counts = [1] * coordinates
    left = nnz - coordinates
    for k in range(coordinates):
        counts[k] += min(left, length - 1)
        left -= counts[k] - 1
    return counts


def test_both_worst_exists_exactly_under_the_gale_ryser_condition() -> None:
    for d in range(1, 10):
        for n in range(1, 10):
            missing = []
            for nnz in range(max(d, n), d * n + 1):
                by_feature = uneven_counts(nnz, d, n)
                by_example = uneven_counts(nnz, n, d)
                if any(
                    sum(by_feature[:k]) > sum(min(count, k) for count in by_example)
                    for k in range(1, d + 1)
                ):
                    missing.append(nnz)
            assert unattainable(d, n) == missing


def test_refused_both_worst_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"nnz <= d \+ n = 8 .*Change nnz, or use 'primal_worst'"):
        datasets.extremal_binary(4, 4, 10, "both_worst")


@pytest.mark.parametrize("corner", CORNERS)
def test_signs_and_shuffling_leave_the_costs_alone(corner: Any) -> None:
    plain = datasets.extremal_binary(12, 9, 21, corner)
    X = datasets.extremal_binary(12, 9, 21, corner, seed=3, signs=True, shuffle=True)
    assert_canonical(X, (9, 12))
    assert costs(X) == costs(plain)
    assert set(X.data) == {-1.0, 1.0}
    assert not np.array_equal(X.indices, plain.indices)


@pytest.mark.parametrize(
    ("n", "nnz", "primal", "dual", "average", "total"),
    [
        (100, 100, 100, 100, 1, 1.0),
        (100, 200, 400, 10_102, 1.094142, 0.1228),
        (100, 1000, 10_000, 90_190, 1.831623, 0.2260),
        (100, 10**4, 10**6, 10**6, 10, 1.0),
        (1000, 1000, 10**4, 1000, 1, 2.8),
        (1000, 2000, 40_000, 101_110, 1.092317, 0.4477),
        (1000, 10**4, 10**6, 909_190, 1.818539, 1.0872),
        (1000, 10**5, 10**8, 10**7, 10, 2.8),
        (10**4, 10**4, 10**6, 10**4, 1, 20.8),
        (10**4, 2 * 10**4, 4 * 10**6, 1_019_902, 1.090941, 3.6725),
        (10**4, 10**5, 10**8, 9_099_190, 1.818316, 9.7223),
        (10**4, 10**6, 10**10, 10**8, 10, 20.8),
    ],
)
def test_figure_3_dual_worst_binary_matrices(
    n: int, nnz: int, primal: int, dual: int, average: float, total: float
) -> None:
    X = datasets.extremal_binary(100, n, nnz, "dual_worst", seed=0, signs=True, shuffle=True)
    assert costs_of_large(X) == (primal, dual)
    assert row_norms(X).mean() == pytest.approx(average, abs=5.1e-7)
    assert total_ratio(datasets.normalize_average(X), beta=0.25) == pytest.approx(total, abs=5.1e-5)


def test_impossible_extremes_are_refused() -> None:
    with pytest.raises(ValueError, match="nnz must lie between"):
        datasets.extremal_binary(5, 5, 4, "both_best")
    with pytest.raises(ValueError, match="corner must be one of 'primal_worst'"):
        datasets.extremal_binary(5, 5, 6, "worst")


# ---- random matrices


@pytest.mark.parametrize(
    ("options", "primal", "dual"),
    [
        ({"mean": 1.0, "std": 2.0}, 560.0, 980.0),
        ({"density": 0.3, "values": "binary"}, 15.96, 23.52),
        ({"density": 0.3, "values": "signs"}, 15.96, 23.52),
        ({"density": 0.3, "mean": 1.0, "std": 2.0}, 79.8, 117.6),
    ],
    ids=["normal", "binary", "signs", "sparse normal"],
)
def test_random_matrices_have_the_expected_costs(
    options: dict[str, Any], primal: float, dual: float
) -> None:
    rng = np.random.default_rng(2016)
    draws = np.array(
        [costs(datasets.random_matrix(7, 4, seed=rng, **options)) for _ in range(3000)]
    )
    standard_error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - [primal, dual]) < 4 * standard_error)


def test_nonzeros_are_independent_and_equally_likely_everywhere() -> None:
    rng = np.random.default_rng(5)
    patterns = np.array(
        [
            datasets.random_matrix(3, 2, 0.3, "binary", seed=rng).toarray().ravel()
            for _ in range(6000)
        ]
    )
    weights = 2 ** np.arange(6)
    seen = np.bincount((patterns @ weights).astype(int), minlength=64)
    ones = np.array([code.bit_count() for code in range(64)])
    expected = 6000 * 0.3**ones * 0.7 ** (6 - ones)
    # χ² with 63 degrees of freedom: mean 63, standard deviation √126.
    assert ((seen - expected) ** 2 / expected).sum() < 63 + 4 * np.sqrt(126)


def test_density_one_fills_the_matrix() -> None:
    assert datasets.random_matrix(6, 5, seed=0).nnz == 30
    assert np.array_equal(datasets.random_matrix(2, 3, values="binary").toarray(), np.ones((3, 2)))


def test_a_tiny_density_costs_nothing_however_large_the_matrix() -> None:
    X = datasets.random_matrix(10**6, 10**6, 1e-10, seed=0)
    assert_canonical(X, (10**6, 10**6))
    assert 50 < X.nnz < 150
    assert datasets.random_matrix(10, 10, 1e-300, seed=0).nnz == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": 0.0}, "density must be in"),
        ({"density": 1.5}, "density must be in"),
        ({"values": "uniform"}, "values must be one of 'normal', 'binary', 'signs'"),
        ({"values": "signs", "std": 2.0}, "are for values='normal'"),
        ({"std": -1.0}, "std positive"),
        ({"std": 0.0}, "std positive"),
    ],
)
def test_random_matrix_refuses_what_it_cannot_do(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        datasets.random_matrix(3, 3, **options)


# ---- text


def test_text_rows_have_unit_length_so_the_dual_cost_is_nnz() -> None:
    X = datasets.zipf_text(2000, 300, seed=0)
    assert np.allclose(row_norms(X), 1.0, rtol=1e-14)
    assert costs_of_large(X)[1] == pytest.approx(X.nnz, rel=1e-12)


def test_text_has_few_frequent_words_and_many_rare_ones() -> None:
    X = datasets.zipf_text(5000, 1000, words_per_document=50, seed=0)
    documents = np.bincount(X.indices, minlength=5000)
    assert documents[0] > 900
    assert np.median(documents) < 10
    assert documents[:10].sum() > documents[-1000:].sum()
    assert np.all(np.diff(X.indptr) > 0)


def test_text_like_data_at_scale_favours_the_dual_as_news_does() -> None:
    X = datasets.zipf_text(50_000, 2000, words_per_document=200, seed=0)
    assert 1.5 < total_ratio(X, beta=1.0) < 5


def test_text_without_popularity_has_the_stated_number_of_words() -> None:
    X = datasets.zipf_text(10**6, 2000, 60, exponent=0.0, seed=0, normalize=False)
    lengths = np.diff(X.indptr)
    # Hardly any repetition: the mean of the log-normal lengths shows.
    assert abs(lengths.mean() - 60) < 4 * lengths.std() / np.sqrt(2000) + 0.5
    assert X.data.min() == 1
    assert lengths.min() >= 1


@pytest.mark.parametrize("options", [{"words_per_document": 0.5}, {"exponent": -1.0}])
def test_text_refuses_impossible_options(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        datasets.zipf_text(10, 10, **options)


# ---- labels


def test_labels_without_noise_are_separable_by_a_linear_model() -> None:
    X = datasets.random_matrix(40, 20, seed=0)
    y = datasets.labels(X, seed=1, noise=0.0)
    w = np.random.default_rng(1).standard_normal(40)
    assert np.all(y * (X @ w) > 0)
    assert np.array_equal(y, datasets.labels(X.toarray(), seed=1, noise=0.0))


def test_labels_are_flipped_as_often_as_stated() -> None:
    X = datasets.random_matrix(5, 10_000, seed=0)
    flipped = datasets.labels(X, 1, noise=0.2) != datasets.labels(X, 1, noise=0.0)
    assert abs(flipped.mean() - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 10_000)


def test_regression_labels_have_the_stated_noise() -> None:
    X = datasets.random_matrix(5, 10_000, seed=0)
    signal = datasets.labels(X, 1, noise=0.0, task="regression")
    error = datasets.labels(X, 1, noise=0.5, task="regression") - signal
    assert error.std() == pytest.approx(0.5 * signal.std(), rel=4 / np.sqrt(20_000))
    assert np.linalg.lstsq(X.toarray(), signal)[1][0] < 1e-20


def test_both_classes_are_always_present() -> None:
    one_sided = np.array([[1.0], [2.0], [3.0]])
    for seed in range(20):
        assert set(datasets.random_labels(2, seed)) == {-1.0, 1.0}
        assert set(datasets.labels(one_sided, seed, noise=0.0)) == {-1.0, 1.0}
        assert set(datasets.labels(one_sided, seed, noise=0.5)) == {-1.0, 1.0}


def test_random_labels_are_fair_and_reproducible() -> None:
    y = datasets.random_labels(10_000, seed=0)
    assert abs(y.mean()) < 4 / np.sqrt(10_000)
    assert np.array_equal(y, datasets.random_labels(10_000, seed=0))
    assert y.dtype == np.float64


def test_labels_refuse_what_they_cannot_do() -> None:
    X = np.ones((3, 2))
    with pytest.raises(ValueError, match="at least 2 examples, got 1"):
        datasets.random_labels(1)
    with pytest.raises(ValueError, match="noise must be a probability"):
        datasets.labels(X, noise=1.5)
    with pytest.raises(ValueError, match="noise must be"):
        datasets.labels(X, noise=-0.1, task="regression")
    with pytest.raises(ValueError, match="task must be one of"):
        datasets.labels(X, task="ranking")
    assert datasets.labels(X, 0, noise=1.5, task="regression").shape == (3,)


# ---- scaling


@pytest.mark.parametrize(
    "kind", [np.array, sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix]
)
def test_normalising_gives_examples_of_average_length_one(kind: Callable[[Any], Any]) -> None:
    dense = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 7.0], [0.0, 0.0, 0.0]])
    X = kind(dense)
    scaled = datasets.normalize_average(X)
    assert type(scaled) is type(X)
    assert getattr(scaled, "format", None) == getattr(X, "format", None)
    scaled = scaled.toarray() if sparse.issparse(scaled) else scaled
    assert np.allclose(scaled, dense / 4.0, rtol=1e-15)
    assert np.array_equal(X.toarray() if sparse.issparse(X) else X, dense)


def test_normalising_integers_gives_floats() -> None:
    assert np.array_equal(datasets.normalize_average(np.array([[2], [6]])), [[0.5], [1.5]])
    scaled = datasets.normalize_average(sparse.csr_array(np.array([[2], [6]])))
    assert np.array_equal(scaled.toarray(), [[0.5], [1.5]])


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_normalising_refuses_data_without_a_length(value: float) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        datasets.normalize_average(np.full((2, 2), value))


# ---- real data


def test_breast_cancer_is_standardised() -> None:
    X, y = datasets.breast_cancer()
    assert X.shape == (569, 30)
    assert np.allclose(X.mean(axis=0), 0, atol=1e-12)
    assert np.allclose(X.std(axis=0), 1)
    assert set(y) == {-1.0, 1.0}


def test_data_folder_is_the_environment_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PRIMALDUAL_DATA", str(tmp_path))
    assert datasets.data_folder() == tmp_path
    monkeypatch.delenv("PRIMALDUAL_DATA")
    assert datasets.data_folder() is None


def test_load_without_a_folder_says_which_variable_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRIMALDUAL_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"PRIMALDUAL_DATA is not set.*rcv1\.svm\.xz"):
        datasets.load("rcv1")


def test_load_of_a_missing_set_says_where_it_looked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PRIMALDUAL_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"looked for rcv1\.svm, .*rcv1\.svm\.bz2") as error:
        datasets.load("rcv1")
    assert str(tmp_path) in str(error.value)


def write_plain(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def write_with(opener: Callable[..., Any]) -> Callable[[Path, bytes], None]:
    def write(path: Path, content: bytes) -> None:
        with opener(path, "wb") as file:
            file.write(content)

    return write


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        (".svm", write_plain),
        (".svm.xz", write_with(lzma.open)),
        (".svm.gz", write_with(gzip.open)),
        (".svm.bz2", write_with(bz2.open)),
        ("", write_plain),
        (".bz2", write_with(bz2.open)),
    ],
)
def test_load_reads_plain_and_compressed_files(
    ending: str,
    write: Callable[[Path, bytes], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    write(tmp_path / f"small.t{ending}", b"+1 1:0.5 3:2\n-1 2:1\n")
    monkeypatch.setenv("PRIMALDUAL_DATA", str(tmp_path))
    X, y = datasets.load("small.t")
    assert isinstance(X, sparse.csr_array)
    assert X.dtype == np.float64
    assert np.array_equal(X.toarray(), [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]])
    assert np.array_equal(y, [1.0, -1.0])
    assert datasets.load("small.t", n_features=5)[0].shape == (2, 5)


def test_load_reads_heart_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("PRIMALDUAL_DATA") or beside)
    if not any((folder / f"heart_scale{ending}").is_file() for ending in real.ENDINGS):
        pytest.skip("no heart_scale: set PRIMALDUAL_DATA to a folder with heart_scale.svm[.xz]")
    monkeypatch.setenv("PRIMALDUAL_DATA", str(folder))
    X, y = datasets.load("heart_scale")
    assert X.shape == (270, 13)
    assert X.nnz == 3378
    assert set(y) == {-1.0, 1.0}


# ---- downloads

LEU = b"+1 1:0.5 3:2\n-1 2:1\n"


class Site(ThreadingHTTPServer):
    """A web server with one file, which may lie about its size."""

    content = bz2.compress(LEU)
    announced: int | None = len(content)

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/datasets"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Site)
        self.server.asked.append(self.path)
        if self.path != "/datasets/binary/leu.bz2":
            self.send_error(404)
            return
        self.send_response(200)
        if self.server.announced is not None:
            self.send_header("Content-Length", str(self.server.announced))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, format: str, *values: Any) -> None:
        pass


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("PRIMALDUAL_MIRROR", server.address)
        monkeypatch.setenv("PRIMALDUAL_CACHE", str(tmp_path))
        monkeypatch.delenv("PRIMALDUAL_DATA", raising=False)
        monkeypatch.delenv("PRIMALDUAL_OFFLINE", raising=False)
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield server
        server.shutdown()
        thread.join(30)


def test_a_data_set_is_downloaded_once(site: Site) -> None:
    seen: list[tuple[int, int | None]] = []
    X, y = datasets.load("leu", progress=lambda *both: seen.append(both))
    assert X.shape == (2, 3)
    assert list(y) == [1.0, -1.0]
    assert seen[0] == (len(site.content), len(site.content))
    assert datasets.load("leu")[0].shape == (2, 3)
    assert site.asked == ["/datasets/binary/leu.bz2"]
    folder = datasets.cache_folder()
    assert sorted(path.name for path in folder.iterdir()) == ["leu.bz2", "leu.bz2.sha256"]
    digest = hashlib.sha256(site.content).hexdigest()
    assert (folder / "leu.bz2.sha256").read_text() == f"{digest}  leu.bz2\n"


def test_a_data_set_in_the_folder_is_not_downloaded(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_plain(tmp_path / "leu.svm", LEU)
    monkeypatch.setenv("PRIMALDUAL_DATA", str(tmp_path))
    assert datasets.load("leu")[0].shape == (2, 3)
    assert site.asked == []


def test_a_changed_download_is_refused(site: Site) -> None:
    datasets.load("leu")
    path = datasets.cache_folder() / "leu.bz2"
    path.write_bytes(bz2.compress(LEU + b"1 1:1\n"))
    with pytest.raises(ValueError, match=r"leu\.bz2 has changed since it was downloaded: SHA-256"):
        datasets.load("leu")


@pytest.mark.parametrize(
    ("announced", "max_bytes", "message"),
    [
        (len(Site.content) + 5, 2**20, "could not be downloaded from .*was cut short"),
        (10**9, 2**20, "1,000,000,000 bytes or more, beyond the limit"),
        (None, len(Site.content) - 1, "beyond the limit of"),
    ],
    ids=["cut short", "too large", "too large without saying so"],
)
def test_a_download_that_fails_leaves_nothing_behind(
    announced: int | None, max_bytes: int, message: str, site: Site
) -> None:
    site.announced = announced
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        datasets.load("leu", max_bytes=max_bytes)
    assert list(datasets.cache_folder().iterdir()) == []


def test_a_name_that_the_site_does_not_have_says_where_to_put_the_file(site: Site) -> None:
    with pytest.raises(FileNotFoundError, match=r"duke\.bz2 \(HTTP Error 404.*Put one of these"):
        datasets.load("duke")
    with pytest.raises(FileNotFoundError, match="not among those known to be on the LIBSVM site"):
        datasets.load("news20-rebuilt")
    assert site.asked == ["/datasets/binary/duke.bz2"]


def test_offline_says_where_to_put_the_file(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIMALDUAL_MIRROR", "http://127.0.0.1:9/nobody")
    with pytest.raises(
        FileNotFoundError, match=r"could not be downloaded from .*leu\.bz2"
    ) as error:
        datasets.load("leu")
    assert str(datasets.cache_folder()) in str(error.value)
    monkeypatch.setenv("PRIMALDUAL_OFFLINE", "1")
    with pytest.raises(FileNotFoundError, match="PRIMALDUAL_OFFLINE forbids downloads"):
        datasets.load("leu")
    monkeypatch.delenv("PRIMALDUAL_OFFLINE")
    monkeypatch.setenv("PRIMALDUAL_MIRROR", "file:///etc")
    with pytest.raises(ValueError, match="expected an http or https address"):
        datasets.load("leu")


@pytest.mark.parametrize("name", ["", "../leu", "/etc/passwd", "a/b"])
def test_a_name_with_folders_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name must be that of a data set"):
        datasets.load(name)


def test_no_name_is_listed_twice() -> None:
    names = " ".join(real.ON_SITE.values()).split()
    assert len(names) == len(set(names)) > 100
    assert real.address_of("news20.binary") == f"{datasets.SITE}/binary/news20.binary.bz2"
