"""What the number of nonzeros alone says about matrices with entries in {-1, 0, 1}.

For such a matrix the two structure costs of Csiba & Richtárik, eq. (16), are sums of squared
counts of nonzeros,

    C_P = Σ_features (nonzeros of the feature)²,   C_D = Σ_examples (nonzeros of the example)²,

so the number of features d, of examples n and of nonzeros bound both of them, and their ratio,
exactly (Theorem 4). No feature and no example may be empty, hence
max(d, n) ≤ nnz ≤ d n throughout. For entries in {-a, 0, a} multiply the costs by a².

Every count may be an integer or an array of integers; arrays broadcast. The arithmetic is exact:
Python integers for integers, and for arrays int64 while every cost stays below 2⁵³, Python
integers in an object array beyond. Ratios are floats, correctly rounded from exact integers.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ._types import FloatArray, IntArray, Side

Count: TypeAlias = int | IntArray


class CostRanges(NamedTuple):
    """The smallest and the largest C_P and C_D of a binary matrix; each of the four is attained."""

    min_primal: Count
    max_primal: Count
    min_dual: Count
    max_dual: Count


def min_cost(nnz: Count, coordinates: Count) -> Any:
    """Return the smallest Σ_k count_k² of ``nnz`` nonzeros over ``coordinates`` coordinates.

    This is L(nnz, coordinates) of the paper: the counts are as equal as possible.

    Parameters
    ----------
    nnz
        Number of nonzeros.
    coordinates
        Number of rows, or of columns, they are spread over: ``min_cost(nnz, d)`` is the
        smallest C_P, ``min_cost(nnz, n)`` the smallest C_D.

    Returns
    -------
    int or array of int
        The exact minimum.

    Notes
    -----
    Csiba & Richtárik, lemma before Theorem 4.

    Examples
    --------
    Seven nonzeros over four examples: counts 2, 2, 2, 1.

    >>> min_cost(7, 4)
    13
    """
    nnz, coordinates = _exact(nnz, coordinates)
    if np.any(coordinates < 1) or np.any(nnz < coordinates):
        raise ValueError(
            "There must be at least one nonzero per coordinate and at least one coordinate, "
            f"got nnz = {nnz} and coordinates = {coordinates}. Drop empty rows and columns first."
        )
    return _lowest(nnz, coordinates)


def max_cost(nnz: Count, length: Count, coordinates: Count) -> Any:
    """Return the largest Σ_k count_k² of ``nnz`` nonzeros over ``coordinates`` coordinates.

    This is U(nnz, length, coordinates) of the paper: as many full coordinates as possible, one
    partly filled, and a single nonzero in each of the others.

    Parameters
    ----------
    nnz
        Number of nonzeros.
    length
        The most nonzeros one coordinate can hold.
    coordinates
        Number of coordinates: ``max_cost(nnz, n, d)`` is the largest C_P and
        ``max_cost(nnz, d, n)`` the largest C_D.

    Returns
    -------
    int or array of int
        The exact maximum.

    Notes
    -----
    Csiba & Richtárik, lemma before Theorem 4. A length of one, where the printed formula
    divides by zero, forces one nonzero in every coordinate.

    Examples
    --------
    Seven nonzeros over four examples of four features: counts 4, 1, 1, 1.

    >>> max_cost(7, 4, 4)
    19
    """
    return _highest(*require_feasible(nnz, length, coordinates))


def cost_ranges(nnz: Count, d: Count, n: Count) -> CostRanges:
    """Return the exact ranges of C_P and C_D over all binary matrices of one size and density.

    Parameters
    ----------
    nnz
        Number of nonzeros, between max(d, n) and d n.
    d, n
        Numbers of features and of examples.

    Returns
    -------
    CostRanges
        ``min_primal``, ``max_primal``, ``min_dual`` and ``max_dual``. The smallest of one and
        the largest of the other are attained together, by
        :func:`primaldual.datasets.extremal_binary`.

    Notes
    -----
    Csiba & Richtárik, lemma before Theorem 4.

    Examples
    --------
    >>> cost_ranges(6, d=3, n=4)
    CostRanges(min_primal=12, max_primal=18, min_dual=10, max_dual=12)
    """
    nnz, d, n = require_feasible(nnz, d, n)
    return CostRanges(
        min_primal=_lowest(nnz, d),
        max_primal=_highest(nnz, n, d),
        min_dual=_lowest(nnz, n),
        max_dual=_highest(nnz, d, n),
    )


def ratio_bound(nnz: Count, d: Count, n: Count) -> float | FloatArray:
    """Return the largest C_P / C_D of a binary matrix: R(nnz, d, n) = max C_P / min C_D.

    Where it is at most one, the primal side is no worse whatever the pattern of the nonzeros.

    Parameters
    ----------
    nnz
        Number of nonzeros, between max(d, n) and d n.
    d, n
        Numbers of features and of examples.

    Returns
    -------
    float or array of float
        The bound; some matrix attains it.

    Notes
    -----
    Csiba & Richtárik, Theorem 4, with R = U(nnz, n, d) / L(nnz, n). The paper prints
    U(nnz, d, n) in the numerator, which is the largest C_D and not the largest C_P; the
    theorem, its lemma and Theorem 5 hold for the R given here.

    Examples
    --------
    >>> ratio_bound(1999, d=1000, n=1000)
    250.43757...
    """
    nnz, d, n = require_feasible(nnz, d, n)
    return _divide(_highest(nnz, n, d), _lowest(nnz, n))


def ratio_range(nnz: Count, d: Count, n: Count) -> tuple[float | FloatArray, float | FloatArray]:
    """Return the smallest and the largest C_P / C_D of a binary matrix.

    Parameters
    ----------
    nnz
        Number of nonzeros, between max(d, n) and d n.
    d, n
        Numbers of features and of examples.

    Returns
    -------
    low, high : float or array of float
        1 / R(nnz, n, d) and R(nnz, d, n); some matrix attains each.

    Notes
    -----
    Csiba & Richtárik, Theorem 4, with R as in :func:`ratio_bound`.

    Examples
    --------
    >>> ratio_range(6, d=3, n=4)
    (1.0, 1.8)
    """
    ranges = cost_ranges(nnz, d, n)
    return (
        _divide(ranges.min_primal, ranges.max_dual),
        _divide(ranges.max_primal, ranges.min_dual),
    )


def decided_side(nnz: int, d: int, n: int) -> Side | None:
    """Return the side that is no worse on every binary matrix of this size, if proven.

    ``"primal"`` (C_P ≤ C_D) when d ≥ n and nnz ≥ n² + 3n; ``"dual"`` (C_D ≤ C_P) when n ≥ d and
    nnz ≥ d² + 3d; ``None`` otherwise, when the pattern of the nonzeros may matter.

    Parameters
    ----------
    nnz
        Number of nonzeros, between max(d, n) and d n.
    d, n
        Numbers of features and of examples.

    Returns
    -------
    "primal", "dual" or None
        What Theorem 5 proves from the three numbers alone.

    Notes
    -----
    Csiba & Richtárik, Theorem 5. Since nnz ≥ d, it decides every matrix with d ≥ n² + 3n
    (Corollary 6). The condition is sufficient, not necessary: :func:`ratio_range` is exact, and
    a range on one side of 1 decides too.

    Examples
    --------
    >>> decided_side(2000, d=1000, n=40)
    'primal'
    >>> print(decided_side(1700, d=1000, n=40))
    None
    """
    nnz, d, n = require_feasible(nnz, d, n)
    if d >= n and nnz >= n * n + 3 * n:
        return "primal"
    if n >= d and nnz >= d * d + 3 * d:
        return "dual"
    return None


def require_feasible(nnz: Count, d: Count, n: Count) -> tuple[Any, Any, Any]:
    """Return the counts ready for exact arithmetic if such a matrix exists, else raise.

    A d × n matrix without empty rows or columns has between max(d, n) and d n nonzeros.

    Parameters
    ----------
    nnz
        Number of nonzeros.
    d, n
        Numbers of features and of examples.

    Returns
    -------
    nnz, d, n : int or array of int
        Python integers, or arrays that hold every cost exactly.

    Raises
    ------
    ValueError
        If no matrix of that size has that many nonzeros and no empty row or column.

    Examples
    --------
    >>> require_feasible(4, 3, 3)
    (4, 3, 3)
    >>> require_feasible(2, 3, 3)
    Traceback (most recent call last):
    ...
    ValueError: nnz must lie between max(d, n) = 3 and d * n = 9, got nnz = 2 ...
    """
    nnz, d, n = _exact(nnz, d, n)
    possible = (d >= 1) & (n >= 1) & (d <= nnz) & (n <= nnz) & (nnz <= d * n)
    if not np.all(possible):
        first = np.flatnonzero(np.logical_not(possible))[0]
        nnz, d, n = (int(c.flat[first]) for c in np.broadcast_arrays(nnz, d, n))
        if min(d, n) < 1:
            raise ValueError(f"d and n must be at least 1, got d = {d} and n = {n}.")
        raise ValueError(
            f"nnz must lie between max(d, n) = {max(d, n)} and d * n = {d * n}, got nnz = {nnz} "
            f"for d = {d} and n = {n}. Empty rows and columns are not allowed: drop them first."
        )
    return nnz, d, n


def _lowest(nnz: Any, coordinates: Any) -> Any:
    """L(nnz, coordinates), arranged so that nothing exceeds the result."""
    each, left = nnz // coordinates, nnz % coordinates
    return coordinates * each * each + left * (2 * each + 1)


def _highest(nnz: Any, length: Any, coordinates: Any) -> Any:
    """U(nnz, length, coordinates), with ``full`` full coordinates; rd(·, 0) = 0 for length 1."""
    extra = nnz - coordinates
    full = extra // (length - 1 + (length == 1))
    left = extra - full * (length - 1)
    return full * (length - 1) * (length + 1) + coordinates - 1 + (left + 1) * (left + 1)


def _divide(numerator: Any, denominator: Any) -> float | FloatArray:
    """Correctly rounded quotient: exact for Python integers, and for int64 below 2⁵³."""
    quotient = numerator / denominator
    return quotient.astype(np.float64) if isinstance(quotient, np.ndarray) else float(quotient)


def _exact(nnz: Count, *sides: Count) -> tuple[Any, ...]:
    """Python integers if all are scalars, else arrays in which no cost can lose a digit."""
    counts = (nnz, *sides)
    if all(np.ndim(count) == 0 for count in counts):
        return tuple(operator.index(count) for count in counts)
    arrays = [np.asarray(count) for count in counts]
    for array in arrays:
        if array.dtype.kind not in "iuO":
            raise TypeError(f"Counts must be arrays of integers, got an array of {array.dtype}.")
    largest = [max(int(a.max(initial=0)), -int(a.min(initial=0))) for a in arrays]
    # A cost is at most nnz times the length of a coordinate, which is unknown given one side only.
    longest = max(largest[1:]) if len(sides) == 2 else largest[0]
    dtype = np.int64 if max(largest) * longest < 2**53 else object
    return tuple(array.astype(dtype) for array in arrays)
