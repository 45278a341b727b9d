"""Labels: explained by a hidden linear model, or random."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import numpy as np

from .._types import FloatArray
from .matrices import Seed, random_signs, require_choice

Task: TypeAlias = Literal["classification", "regression"]


def labels(
    X: Any, seed: Seed = None, *, noise: float = 0.1, task: Task = "classification"
) -> FloatArray:
    """Return labels that a hidden linear model explains, up to noise.

    Parameters
    ----------
    X
        Data of shape (n, d), dense or sparse.
    seed
        An integer, a generator, or ``None``.
    noise
        For classification the probability that a label is flipped, in [0, 1]. For regression
        the standard deviation of the noise, relative to that of the signal.
    task
        ``"classification"`` for labels ±1 or ``"regression"`` for real ones.

    Returns
    -------
    array of shape (n,)
        Signs of X w, or X w plus noise, for a standard normal w. Both classes are present.

    Examples
    --------
    >>> from primaldual.datasets import random_matrix
    >>> X = random_matrix(d=5, n=100, seed=0)
    >>> y = labels(X, seed=1)
    >>> np.unique(y)
    array([-1.,  1.])
    """
    require_choice("task", task, Task)
    if not (noise >= 0 and math.isfinite(noise)) or (task == "classification" and noise > 1):
        raise ValueError(
            "noise must be a probability for classification and not negative for regression, "
            f"got {noise} for {task}."
        )
    n, d = X.shape
    rng = np.random.default_rng(seed)
    signal = np.asarray(X @ rng.standard_normal(d), dtype=np.float64)
    if task == "regression":
        return signal + noise * np.std(signal) * rng.standard_normal(n)
    y = np.where(signal >= 0, 1.0, -1.0)
    y[rng.random(n) < noise] *= -1
    return _with_both_classes(y, int(np.argmin(np.abs(signal))))


def random_labels(n: int, seed: Seed = None) -> FloatArray:
    """Return n labels ±1, independent and equally likely, of which not all are the same.

    Parameters
    ----------
    n
        Number of examples, at least two.
    seed
        An integer, a generator, or ``None``.

    Returns
    -------
    array of shape (n,)
        Ones and minus ones.

    Examples
    --------
    >>> np.unique(random_labels(2, seed=0))
    array([-1.,  1.])
    """
    return _with_both_classes(random_signs(n, np.random.default_rng(seed)), 0)


def _with_both_classes(y: FloatArray, least_sure: int) -> FloatArray:
    """Return the labels, with one of them flipped if they are all equal."""
    if len(y) < 2:
        raise ValueError(f"Two classes need at least 2 examples, got {len(y)}. Add examples.")
    if np.all(y == y[0]):
        y[least_sure] *= -1
    return y
