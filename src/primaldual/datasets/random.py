"""Random matrices: independent entries, and text-like data."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from .._types import IntArray
from .matrices import Seed, csr, random_signs, require_choice, require_shape, row_norms

Values: TypeAlias = Literal["normal", "binary", "signs"]

# Spread of the logarithm of document lengths: two documents in three are within a factor of two.
LENGTH_SPREAD = 0.7


def random_matrix(
    d: int,
    n: int,
    density: float = 1.0,
    values: Values = "normal",
    *,
    mean: float = 0.0,
    std: float = 1.0,
    seed: Seed = None,
) -> sparse.csr_array:
    """Return a matrix with independent, identically distributed entries.

    Parameters
    ----------
    d, n
        Numbers of features and of examples.
    density
        Probability that an entry is not zero, in (0, 1]. Rows and columns may come out empty.
    values
        What the nonzeros are: ``"normal"``, ``"binary"`` (all 1) or ``"signs"`` (1 or −1).
    mean, std
        Of the normal nonzeros; for ``values="normal"`` only.
    seed
        An integer, a generator, or ``None``.

    Returns
    -------
    csr_array of shape (n, d)
        In expectation C_P = d n m (1 + (n−1) density) and C_D = d n m (1 + (d−1) density),
        where m is the mean square of an entry, zeros included.

    Notes
    -----
    Csiba & Richtárik, Section 6.1, whose printed expectations hold for 0/1 entries only.

    Examples
    --------
    >>> X = random_matrix(d=50, n=200, density=0.1, values="signs", seed=0)
    >>> X.shape, bool(abs(X.nnz - 1000) < 100)
    ((200, 50), True)
    """
    require_choice("values", values, Values)
    require_shape(d, n)
    if not 0 < density <= 1:
        raise ValueError(f"density must be in (0, 1], got {density}.")
    if values != "normal" and (mean, std) != (0.0, 1.0):
        raise ValueError(
            f"mean and std are for values='normal', got values={values!r}. Leave them out."
        )
    if not (math.isfinite(mean) and math.isfinite(std) and std >= 0 and (mean or std)):
        raise ValueError(
            "mean must be finite and std positive (or zero, if the mean is not), "
            f"got mean = {mean} and std = {std}."
        )
    rng = np.random.default_rng(seed)
    positions = _bernoulli_positions(n * d, density, rng)
    if values == "normal":
        entries = rng.normal(mean, std, len(positions))
    elif values == "signs":
        entries = random_signs(len(positions), rng)
    else:
        entries = np.ones(len(positions))
    examples, features = np.divmod(positions, d)
    return csr(entries, examples, features, (n, d))


def _bernoulli_positions(total: int, density: float, rng: np.random.Generator) -> IntArray:
    """Positions of the successes among ``total`` independent trials: the gaps are geometric."""
    expected = total * density
    batch = int(expected + 6 * math.sqrt(expected)) + 10
    parts, last = [], -1
    while last < total:
        # Gaps beyond the end are cut, so that their sum cannot overflow.
        gaps = np.minimum(rng.geometric(density, batch), total + 1)
        parts.append(last + np.cumsum(gaps))
        last = int(parts[-1][-1])
    positions = np.concatenate(parts)
    return positions[: np.searchsorted(positions, total)]


def zipf_text(
    d: int,
    n: int,
    words_per_document: float = 100.0,
    exponent: float = 1.0,
    *,
    seed: Seed = None,
    normalize: bool = True,
) -> sparse.csr_array:
    """Return a matrix like a collection of texts: few frequent words, many rare ones.

    The words of a document are independent, the k-th most popular one with probability
    proportional to 1 / k^exponent; the lengths of documents are log-normal. An entry is
    1 + log(occurrences of the word in the document).

    Parameters
    ----------
    d, n
        Numbers of features (the vocabulary) and of examples (documents).
    words_per_document
        Mean number of words drawn for a document, repetitions included; each gets at least one.
    exponent
        How uneven the popularity is: 0 for equal, about 1 in natural language.
    seed
        An integer, a generator, or ``None``.
    normalize
        Divide every row by its length, as text data usually come.

    Returns
    -------
    csr_array of shape (n, d)
        No row is empty; rare words may not occur at all.

    Examples
    --------
    >>> X = zipf_text(d=1000, n=50, seed=0)
    >>> X.shape, np.allclose((X * X).sum(axis=1), 1.0)
    ((50, 1000), True)
    """
    require_shape(d, n)
    if not (math.isfinite(words_per_document) and words_per_document >= 1):
        raise ValueError(f"words_per_document must be at least 1, got {words_per_document}.")
    if not (math.isfinite(exponent) and exponent >= 0):
        raise ValueError(f"exponent must be at least 0, got {exponent}.")
    rng = np.random.default_rng(seed)
    # The mean of a log-normal is exp(μ + σ²/2).
    location = math.log(words_per_document) - LENGTH_SPREAD**2 / 2
    lengths = np.maximum(np.rint(rng.lognormal(location, LENGTH_SPREAD, n)), 1).astype(np.int64)

    popularity = np.cumsum(np.arange(1, d + 1, dtype=np.float64) ** -exponent)
    drawn = rng.random(lengths.sum()) * popularity[-1]
    words = np.minimum(np.searchsorted(popularity, drawn, side="right"), d - 1)
    documents = np.repeat(np.arange(n), lengths)

    X = csr(np.ones(len(words)), documents, words, (n, d))  # adds repetitions up
    X.data = 1 + np.log(X.data)
    if normalize:
        X.data /= np.repeat(row_norms(X), np.diff(X.indptr))
    return X
