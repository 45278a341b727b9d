"""Data that no rule and no price was made on: ``verdict`` scores it apart.

One-hot tables with rare and frequent levels, interactions, counts, nearly collinear blocks, a dense
column among sparse ones, columns in wildly different units, duplicates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

from primaldual.experiments.prediction import Data


def awkward() -> Iterator[Data]:
    """The family, each set with its labels."""
    for name, make in FAMILY.items():
        rng = np.random.default_rng(len(name))
        X = make(rng)
        score = np.asarray(X @ rng.standard_normal(X.shape[1])).ravel()
        score /= score.std()
        y = np.where(score + rng.logistic(size=len(score)) > np.median(score), 1.0, -1.0)
        yield Data(f"awkward: {name}", X, y)


def levels(rng: Generator, n: int, sizes: list[int]) -> list[Any]:
    """A level per example for each column, frequent and rare ones."""
    found = []
    for size in sizes:
        share = 1.0 / np.arange(1, size + 1) ** 1.1
        found.append(rng.choice(size, n, p=share / share.sum()))
    return found


def one_hot(columns: list[Any]) -> sparse.csr_array:
    """Zeros and ones, a column per level."""
    n = len(columns[0])
    parts = [
        sparse.csr_array((np.ones(n), (np.arange(n), column)), shape=(n, int(column.max()) + 1))
        for column in columns
    ]
    return sparse.csr_array(sparse.hstack(parts, format="csr"))


def interactions(rng: Generator) -> sparse.csr_array:
    """Levels of columns and of pairs of them."""
    columns = levels(rng, 6000, [4, 7, 12, 30])
    pairs = [a * (int(b.max()) + 1) + b for k, a in enumerate(columns) for b in columns[:k]]
    return one_hot(columns + pairs)


def counts(rng: Generator) -> sparse.csr_array:
    """Raw word counts of documents whose lengths differ a lot."""
    share = 1.0 / np.arange(1, 6001) ** 1.05
    lengths = rng.lognormal(4.0, 1.0, 1500).astype(int) + 5
    words = rng.choice(6000, int(lengths.sum()), p=share / share.sum())
    rows = np.repeat(np.arange(1500), lengths)
    X = sparse.csr_array((np.ones(len(words)), (rows, words)), shape=(1500, 6000))
    X.sum_duplicates()
    return X


def collinear(rng: Generator) -> Any:
    """Blocks of five columns that differ by a thousandth."""
    base = np.repeat(rng.standard_normal((2000, 12)), 5, axis=1)
    return base + 1e-3 * rng.standard_normal(base.shape)


def dense_column(rng: Generator) -> sparse.csr_array:
    """A constant among features with few nonzeros."""
    X = sparse.random_array((8000, 3000), density=0.002, format="csr", rng=rng)
    return sparse.csr_array(sparse.hstack([X, np.ones((8000, 1))], format="csr"))


def units(rng: Generator) -> Any:
    """Columns in units from 1e-4 to 1e4."""
    return rng.standard_normal((3000, 40)) * 10.0 ** rng.uniform(-4, 4, 40)


def duplicates(rng: Generator) -> Any:
    """Every example ten times."""
    return np.repeat(rng.standard_normal((250, 100)), 10, axis=0)


FAMILY = {
    "one-hot table": lambda rng: one_hot(levels(rng, 20_000, [2, 3, 8, 20, 60, 200, 500, 900])),
    "interactions": interactions,
    "counts": counts,
    "nearly collinear": collinear,
    "one dense column": dense_column,
    "units": units,
    "duplicates": duplicates,
    "wide duplicates": lambda rng: np.repeat(rng.standard_normal((60, 3000)), 3, axis=0),
}
