"""Matrices the theory is about, made on demand, and named real data sets.

The paper writes X as d × n with one *column* per example. Every matrix here is its transpose,
of shape (n, d) with one *row* per example, as scikit-learn has it. "Feature" and "example" mean
the same in both; the formulas in the docstrings are the paper's.

Generated matrices are :class:`scipy.sparse.csr_array` of float64 with sorted int32 indices, made
in time and memory proportional to their nonzeros (up to a sort), and the same ``seed`` gives the
same matrix. A ``seed`` is whatever :func:`numpy.random.default_rng` takes: an integer, a
generator to draw from, or ``None`` for a fresh one.
"""

from __future__ import annotations

from .labelling import Task, labels, random_labels
from .matrices import Seed, normalize_average
from .random import Values, random_matrix, zipf_text
from .real import SITE, Progress, breast_cancer, cache_folder, data_folder, load
from .worst_cases import Corner, cross_matrix, extremal_binary, worst_case

__all__ = [
    "SITE",
    "Corner",
    "Progress",
    "Seed",
    "Task",
    "Values",
    "breast_cancer",
    "cache_folder",
    "cross_matrix",
    "data_folder",
    "extremal_binary",
    "labels",
    "load",
    "normalize_average",
    "random_labels",
    "random_matrix",
    "worst_case",
    "zipf_text",
]
