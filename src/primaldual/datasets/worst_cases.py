"""Matrices that attain the bounds of the theory: Theorems 3 and 4 of the paper."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from .._types import IntArray, Side
from ..binary import require_feasible
from .matrices import Seed, csr, random_signs, require_choice, require_shape

Corner: TypeAlias = Literal["primal_worst", "dual_worst", "both_best", "both_worst"]

# The small entries of a worst case, relative to the point where both parts of the cost are equal:
# their square is how far the ratio of the costs stays from its limit.
SMALL_ENTRIES = 0.1


# ---- worst cases of Theorem 3


def cross_matrix(d: int, n: int, a: float, b: float, c: float) -> sparse.csr_array:
    """Return X(a, b, c): one full example and one full feature that cross, nothing else.

    The full example has entries a, the full feature has entries b, and c is where they meet.
    Then C_P = (d−1) a² + n (n−1) b² + n c² and C_D = d (d−1) a² + (n−1) b² + d c².

    Parameters
    ----------
    d, n
        Numbers of features and of examples.
    a, b, c
        Entries, none of them zero.

    Returns
    -------
    csr_array of shape (n, d)
        Example 0 is (c, a, …, a); feature 0 is (c, b, …, b).

    Notes
    -----
    Csiba & Richtárik, Theorem 3: with b and c small C_P / C_D tends to 1 / d, its lower bound
    for any matrix, with a and c small to n, its upper bound.

    Examples
    --------
    >>> cross_matrix(d=4, n=3, a=1.0, b=2.0, c=3.0).toarray()
    array([[3., 1., 1., 1.],
           [2., 0., 0., 0.],
           [2., 0., 0., 0.]])
    """
    require_shape(d, n)
    entries = np.array([a, b, c], dtype=np.float64)
    if not np.all(np.isfinite(entries) & (entries != 0)):
        raise ValueError(
            f"a, b and c must be finite and not zero, got {a}, {b} and {c}. "
            "Zero is only a limit here: it would empty rows or columns. Use small values."
        )
    values = np.concatenate([[c], np.full(d - 1, a), np.full(n - 1, b)])
    features = np.concatenate([np.arange(d), np.zeros(n - 1)]).astype(np.int32)
    starts = np.concatenate([[0], np.arange(d, d + n)]).astype(np.int32)
    return sparse.csr_array((values, features, starts), shape=(n, d))


def worst_case(d: int, n: int, side: Side) -> sparse.csr_array:
    """Return a matrix on which one side needs nearly as many times more work as is possible.

    Parameters
    ----------
    d, n
        Numbers of features and of examples, at least two each.
    side
        The side that suffers. ``"dual"``: C_P / C_D is 1 to 2% above its lower bound 1 / d.
        ``"primal"``: C_D / C_P is 1 to 2% above its lower bound 1 / n.

    Returns
    -------
    csr_array of shape (n, d)
        X(1, r, r) with r = 0.1 √((d−1) / (n (n−1))) for the dual, and its mirror X(r, 1, r) with
        r = 0.1 √((n−1) / (d (d−1))) for the primal.

    Notes
    -----
    Csiba & Richtárik, Theorem 3. Both bounds are limits that no matrix attains.

    Examples
    --------
    >>> X = worst_case(d=1000, n=1000, side="dual")
    >>> X.shape, X.nnz
    ((1000, 1000), 1999)
    """
    require_choice("side", side, Side)
    require_shape(d, n)
    if min(d, n) < 2:
        raise ValueError(
            f"d and n must be at least 2, got d = {d} and n = {n}. "
            "With one feature or one example C_P / C_D is the same for every matrix."
        )
    if side == "dual":
        small = SMALL_ENTRIES * math.sqrt((d - 1) / (n * (n - 1)))
        return cross_matrix(d, n, a=1.0, b=small, c=small)
    small = SMALL_ENTRIES * math.sqrt((n - 1) / (d * (d - 1)))
    return cross_matrix(d, n, a=small, b=1.0, c=small)


# ---- extremes of Theorem 4


def extremal_binary(
    d: int,
    n: int,
    nnz: int,
    corner: Corner,
    seed: Seed = None,
    *,
    signs: bool = False,
    shuffle: bool = False,
) -> sparse.csr_array:
    """Return a binary matrix whose C_P and C_D are both extreme for its size and density.

    Parameters
    ----------
    d, n
        Numbers of features and of examples.
    nnz
        Number of nonzeros, between max(d, n) and d n.
    corner
        ``"primal_worst"``: largest C_P and smallest C_D. ``"dual_worst"``: smallest C_P and
        largest C_D. ``"both_best"``: both smallest. ``"both_worst"``: both largest, which only
        exists for min(d, n) ≤ 2, nnz ≤ d + n or nnz ≥ d n − 1.
    seed
        For the random signs and permutations; not used without them.
    signs
        Give every nonzero a random sign instead of 1. Neither cost changes.
    shuffle
        Permute the examples and the features at random. Neither cost changes.

    Returns
    -------
    csr_array of shape (n, d)
        No row and no column is empty.

    Notes
    -----
    The extremes are those of :func:`primaldual.binary.cost_ranges`: Csiba & Richtárik,
    Theorem 4, whose bounds on C_P / C_D are attained by the first two.

    Examples
    --------
    >>> extremal_binary(d=4, n=4, nnz=7, corner="dual_worst").toarray()
    array([[1., 1., 1., 1.],
           [1., 0., 0., 0.],
           [0., 1., 0., 0.],
           [0., 0., 1., 0.]])
    """
    require_choice("corner", corner, Corner)
    nnz, d, n = require_feasible(nnz, d, n)
    if corner == "primal_worst":
        features, examples = _fill_cyclically(_uneven_counts(nnz, d, n), n)
    elif corner == "dual_worst":
        examples, features = _fill_cyclically(_uneven_counts(nnz, n, d), d)
    elif corner == "both_best":
        features, examples = _fill_cyclically(_even_counts(nnz, d), n)
    else:
        features, examples = _fill_corner(nnz, d, n)

    rng = np.random.default_rng(seed)
    values = random_signs(nnz, rng) if signs else np.ones(nnz)
    if shuffle:
        features = rng.permutation(d)[features]
        examples = rng.permutation(n)[examples]
    return csr(values, examples, features, (n, d))


def _even_counts(nnz: int, coordinates: int) -> IntArray:
    """Return counts that add up to nnz and differ by at most one: the smallest Σ count²."""
    counts = np.full(coordinates, nnz // coordinates)
    counts[: nnz % coordinates] += 1
    return counts


def _uneven_counts(nnz: int, coordinates: int, length: int) -> IntArray:
    """Return counts that add up to nnz, all 1 or ``length`` but one: the largest Σ count²."""
    counts = np.ones(coordinates, dtype=np.int64)
    if length > 1:
        full, left = divmod(nnz - coordinates, length - 1)
        counts[:full] = length
        counts[full : full + 1] += left
    return counts


def _fill_cyclically(counts: IntArray, length: int) -> tuple[IntArray, IntArray]:
    """Deal nonzeros to the other side in turn, so that its counts differ by at most one."""
    total = int(counts.sum())
    return np.repeat(np.arange(len(counts)), counts), np.arange(total) % length


def _fill_corner(nnz: int, d: int, n: int) -> tuple[IntArray, IntArray]:
    """Positions of a d × n pattern in which the counts of both sides are most uneven.

    With nnz ≥ d + n there are a full feature and a full example. If some feature holds a single
    nonzero, all examples but two do as well, and the full feature has used them up: at most one
    nonzero is left, and nnz ≤ d + n. If none does, one place at most is empty, or min(d, n) ≤ 2.
    """
    if min(d, n) > 2 and d + n < nnz < d * n - 1:
        raise ValueError(
            f"No binary matrix with d = {d}, n = {n} and nnz = {nnz} has the largest C_P and the "
            f"largest C_D at once: that takes min(d, n) <= 2, nnz <= d + n = {d + n} or "
            f"nnz >= d * n - 1 = {d * n - 1}. Change nnz, or use 'primal_worst' or 'dual_worst'."
        )
    if nnz < d + n:
        # One feature and one example that meet in the corner; the others pair off, one to one.
        in_feature, in_example = nnz - d + 1, nnz - n + 1
        features = [np.zeros(in_feature, dtype=np.int64), np.arange(1, d)]
        examples = [
            np.arange(in_feature),
            np.zeros(in_example - 1, dtype=np.int64),
            np.arange(in_feature, n),
        ]
        return np.concatenate(features), np.concatenate(examples)
    by_feature = _uneven_counts(nnz, d, n)
    starts = np.repeat(np.cumsum(by_feature) - by_feature, by_feature)
    return np.repeat(np.arange(d), by_feature), np.arange(nnz) - starts
