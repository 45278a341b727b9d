"""What is promised about binary matrices, against enumeration and against the paper's figures."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from primaldual.binary import (
    cost_ranges,
    decided_side,
    max_cost,
    min_cost,
    ratio_bound,
    ratio_range,
    require_feasible,
)

# (d, n, nnz): smallest C_P, largest C_P, smallest C_D, largest C_D, all by enumeration.
KNOWN = {
    (3, 4, 4): (6, 6, 4, 4),
    (3, 4, 5): (9, 11, 7, 7),
    (3, 4, 6): (12, 18, 10, 12),
    (3, 4, 7): (17, 21, 13, 15),
    (3, 4, 8): (22, 26, 16, 20),
    (3, 4, 9): (27, 33, 21, 23),
    (3, 4, 10): (34, 36, 26, 28),
    (3, 4, 11): (41, 41, 31, 31),
    (3, 4, 12): (48, 48, 36, 36),
    (2, 5, 5): (13, 17, 5, 5),
    (2, 5, 6): (18, 26, 8, 8),
    (2, 5, 7): (25, 29, 11, 11),
    (2, 5, 8): (32, 34, 14, 14),
    (2, 5, 9): (41, 41, 17, 17),
    (2, 5, 10): (50, 50, 20, 20),
    (4, 4, 4): (4, 4, 4, 4),
    (4, 4, 5): (7, 7, 7, 7),
    (4, 4, 6): (10, 12, 10, 12),
    (4, 4, 7): (13, 19, 13, 19),
    (4, 4, 8): (16, 22, 16, 22),
    (4, 4, 9): (21, 27, 21, 27),
    (4, 4, 10): (26, 34, 26, 34),
    (4, 4, 12): (36, 42, 36, 42),
    (4, 4, 14): (50, 52, 50, 52),
    (4, 4, 16): (64, 64, 64, 64),
    (1, 4, 4): (16, 16, 4, 4),
    (4, 1, 4): (4, 4, 16, 16),
}

TINY = [(d, n) for d in range(1, 13) for n in range(1, 13) if d * n <= 12]


def all_costs(d: int, n: int) -> np.ndarray:
    """(nnz, C_P, C_D) of every d × n matrix of zeros and ones without empty rows or columns."""
    codes = np.arange(2 ** (d * n))
    X = (codes[:, None] >> np.arange(d * n) & 1).reshape(-1, d, n)
    by_feature, by_example = X.sum(axis=2), X.sum(axis=1)
    kept = by_feature.all(axis=1) & by_example.all(axis=1)
    costs = (by_feature.sum(axis=1), (by_feature**2).sum(axis=1), (by_example**2).sum(axis=1))
    return np.column_stack(costs)[kept]


def printed_ratio_bound(nnz: int, d: int, n: int) -> Fraction:
    """R as the paper prints it, U(nnz, d, n) / L(nnz, n)."""
    return Fraction(max_cost(nnz, d, n), min_cost(nnz, n))


def every_nnz(d: int, n: int) -> np.ndarray:
    return np.arange(max(d, n), d * n + 1)


@pytest.mark.parametrize(("size", "expected"), KNOWN.items(), ids=str)
def test_ranges_equal_the_known_ones(size: tuple[int, int, int], expected: tuple[int, ...]) -> None:
    d, n, nnz = size
    assert cost_ranges(nnz, d, n) == expected


@pytest.mark.parametrize(("d", "n"), TINY)
def test_ranges_and_ratios_are_exact_over_all_tiny_matrices(d: int, n: int) -> None:
    costs = all_costs(d, n)
    assert set(costs[:, 0]) == set(every_nnz(d, n))
    for nnz in every_nnz(d, n):
        primal, dual = costs[costs[:, 0] == nnz, 1:].T
        expected = (primal.min(), primal.max(), dual.min(), dual.max())
        assert cost_ranges(int(nnz), d, n) == expected
        assert ratio_range(int(nnz), d, n) == ((primal / dual).min(), (primal / dual).max())


@pytest.mark.parametrize(
    ("d", "n", "nnz", "low", "high"), [(4, 4, 7, 13 / 19, 19 / 13), (3, 4, 6, 1.0, 1.8)]
)
def test_ratio_extremes_equal_the_known_ones(
    d: int, n: int, nnz: int, low: float, high: float
) -> None:
    assert ratio_range(nnz, d, n) == (low, high)
    assert ratio_bound(nnz, d, n) == high


def test_printed_ratio_bound_is_wrong() -> None:
    """It has the largest C_D where the largest C_P belongs; here C_P / C_D exceeds it."""
    costs = all_costs(2, 5)
    primal, dual = costs[costs[:, 0] == 6, 1:].T
    assert (primal / dual).max() == 26 / 8
    assert printed_ratio_bound(6, 2, 5) == 1


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_the_two_sides_mirror_each_other(d: int, n: int, data: st.DataObject) -> None:
    nnz = data.draw(st.integers(max(d, n), d * n))
    ours, mirrored = cost_ranges(nnz, d, n), cost_ranges(nnz, n, d)
    assert (ours.min_primal, ours.max_primal) == (mirrored.min_dual, mirrored.max_dual)
    low, high = ratio_range(nnz, d, n)
    assert low == pytest.approx(1 / ratio_bound(nnz, n, d), rel=1e-15)
    assert high == ratio_bound(nnz, d, n)
    assert 1 / d <= low <= high <= n


# ---- Theorem 5


def test_theorem_5_holds_for_all_small_sizes() -> None:
    for n in range(1, 13):
        for d in range(n, 60):
            nnz = every_nnz(d, n)
            decided = nnz >= n * n + 3 * n
            assert np.all(ratio_bound(nnz, d, n)[decided] <= 1)
            assert np.all(ratio_range(nnz, n, d)[0][decided] >= 1)


def test_corollary_6_decides_every_matrix_with_many_more_features_than_examples() -> None:
    for n in range(1, 7):
        for d in range(n * n + 3 * n, n * n + 3 * n + 20):
            assert np.all(ratio_bound(every_nnz(d, n), d, n) <= 1)
            assert decided_side(d, d, n) == "primal"
            assert decided_side(d, n, d) == "dual"


def test_theorem_5_fails_for_the_printed_ratio_bound() -> None:
    n, d = 3, 30
    assert decided_side(40, d, n) == "primal"
    assert printed_ratio_bound(40, d, n) > 1


@pytest.mark.parametrize("n", range(1, 13))
def test_a_side_is_decided_exactly_from_the_stated_number_of_nonzeros_on(n: int) -> None:
    enough = n * n + 3 * n
    for d in range(n, 60):
        for nnz in {d, enough - 1, enough, n * d} & set(range(d, n * d + 1)):
            assert decided_side(nnz, d, n) == ("primal" if nnz >= enough else None)
            assert decided_side(nnz, n, d) == ("dual" if nnz >= enough else None)


@pytest.mark.parametrize("n", range(3, 21))
def test_exact_bound_decides_earlier_than_theorem_5(n: int) -> None:
    """Computed, not proven: nnz ≥ n² − 1 or d ≥ ⌊(n+1)²/4⌋ suffice for d ≥ n ≥ 3."""
    enough_features = (n + 1) ** 2 // 4
    for d in range(n, enough_features + 10):
        nnz = every_nnz(d, n)
        worse = nnz[ratio_bound(nnz, d, n) > 1]
        assert not np.any(worse >= n * n - 1)
        if d >= enough_features:
            assert worse.size == 0
    assert ratio_bound(n * n - 2, n, n) > 1


@pytest.mark.parametrize("n", [1, 2])
def test_primal_is_never_worse_with_one_or_two_examples(n: int) -> None:
    for d in range(n, 40):
        assert np.all(ratio_bound(every_nnz(d, n), d, n) <= 1)


# ---- the figure of the ratio bound, n = 1000

N = 1000


def figure_1_counts(d: int) -> np.ndarray:
    """Every nnz up to n² + 3n, beyond which Theorem 5 says R ≤ 1, and some of those beyond."""
    dense = np.geomspace(d, N * d, 1000).astype(np.int64)
    return np.union1d(np.arange(d, min(N * d, N * N + 3 * N) + 1), dense)


@pytest.mark.parametrize(
    ("d", "largest", "attained_at"),
    [
        (1000, 250.437578, 1999),
        (2000, 125.234455, 3998),
        (10_000, 25.049398, 19_990),
        (100_000, 2.504996, 199_900),
        (200_000, 1.252500, 399_800),
        (250_499, 1.000004, 500_249),
        (250_500, 1.000000, 500_250),
        (500_000, 0.501000, 999_500),
    ],
)
def test_figure_1_largest_ratio(d: int, largest: float, attained_at: int) -> None:
    nnz = figure_1_counts(d)
    ratio = np.asarray(ratio_bound(nnz, d, N))
    assert nnz[ratio.argmax()] == attained_at
    assert ratio.max() == pytest.approx(largest, abs=5.1e-7)


@pytest.mark.parametrize(
    ("d", "last"),
    [(1000, 999_998), (10_000, 990_680), (100_000, 888_319), (250_499, 501_248), (250_500, None)],
)
def test_figure_1_where_the_ratio_crosses_one(d: int, last: int | None) -> None:
    nnz = figure_1_counts(d)
    worse = nnz[ratio_bound(nnz, d, N) > 1]
    assert (int(worse.max()) if worse.size else None) == last


@pytest.mark.parametrize("d", [1000, 10_000, 250_000, 1_000_000])
def test_figure_1_edges_of_the_density_range(d: int) -> None:
    assert ratio_bound(N * d, d, N) == N / d
    assert ratio_bound(d, d, N) == N / d


# ---- numbers


def test_arrays_broadcast_and_agree_with_integers() -> None:
    d = np.array([[3], [4], [6]])
    nnz = np.array([6, 9, 12])
    ranges = cost_ranges(nnz, d, 4)
    low, high = ratio_range(nnz, d, 4)
    for i, j in np.ndindex(3, 3):
        one = cost_ranges(int(nnz[j]), int(d[i, 0]), 4)
        broadcast = [np.broadcast_to(field, (3, 3))[i, j] for field in ranges]
        assert broadcast == list(one)
        pair = (np.asarray(low)[i, j], np.asarray(high)[i, j])
        assert pair == ratio_range(int(nnz[j]), int(d[i, 0]), 4)


@pytest.mark.parametrize("d", [10**4, 10**6, 10**8, 10**12])
def test_no_digit_is_lost_however_large_the_matrix(d: int) -> None:
    n, nnz = d // 2 + 1, d * (d // 3) + 7
    full, left = divmod(nnz - n, d - 1)
    expected = full * d**2 + (left + 1) ** 2 + (n - full - 1)
    scalar = max_cost(nnz, d, n)
    assert type(scalar) is int
    assert scalar == expected
    array: Any = max_cost(np.array([nnz], dtype=object), d, n)
    assert int(array[0]) == expected
    ratio: Any = ratio_bound(np.array([nnz], dtype=object), d, n)
    assert ratio.dtype == np.float64
    assert ratio[0] == float(Fraction(max_cost(nnz, n, d), min_cost(nnz, n)))


def test_min_cost_of_arrays_keeps_every_digit() -> None:
    nnz = np.array([4 * 10**9 + 1])
    assert int(min_cost(nnz, 1)[0]) == (4 * 10**9 + 1) ** 2


def test_counts_may_be_numpy_integers() -> None:
    assert cost_ranges(np.int32(6), np.int64(3), np.uint8(4)) == (12, 18, 10, 12)
    assert cost_ranges(np.array([6], dtype=np.uint8), 3, 4) == (12, 18, 10, 12)


# ---- errors


@pytest.mark.parametrize(
    ("nnz", "d", "n"), [(3, 3, 4), (13, 3, 4), (0, 1, 1), (np.array([4, 13, 14]), 3, 4)]
)
def test_impossible_counts_are_refused_with_the_possible_range(nnz: Any, d: int, n: int) -> None:
    for function in (require_feasible, cost_ranges, ratio_bound, ratio_range, max_cost):
        with pytest.raises(ValueError, match=r"nnz must lie between .* got nnz = (0|3|13) "):
            function(nnz, d, n)


def test_empty_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, got d = 0 and n = 3"):
        require_feasible(3, 0, 3)
    with pytest.raises(ValueError, match="at least one nonzero per coordinate"):
        min_cost(2, 3)
    with pytest.raises(ValueError, match="at least one coordinate"):
        min_cost(2, 0)


def test_fractional_counts_are_refused() -> None:
    with pytest.raises(TypeError):
        cost_ranges(6.0, 3, 4)
    with pytest.raises(TypeError, match="float64"):
        cost_ranges(np.array([6.0]), 3, 4)
