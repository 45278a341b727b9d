"""The data sets of the comparison with scikit-learn."""

from __future__ import annotations

import lzma
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MaxAbsScaler

# Name, number of features, task; the small ones of the collection.
REAL = {
    "a1a": "binary",
    "australian": "binary",
    "breast-cancer": "binary",
    "colon-cancer": "binary",
    "duke": "binary",
    "german.numer_scale": "binary",
    "heart_scale": "binary",
    "ionosphere": "binary",
    "leu": "binary",
    "mushrooms": "binary",
    "splice_scale": "binary",
    "svmguide1": "binary",
    "pcmac": "binary",
    "news20": "20 classes",
    "abalone_scale": "regression",
    "housing_scale": "regression",
    "winequality-white": "regression",
    "riboflavin": "regression",
}
BINARY = [name for name, task in REAL.items() if task == "binary"]
REGRESSION = [name for name, task in REAL.items() if task == "regression"]


def folder() -> Path:
    """Where the data sets are: PRIMALDUAL_DATA, or a folder beside the repository."""
    named = os.environ.get("PRIMALDUAL_DATA")
    return Path(named) if named else Path(__file__).parents[2].parent / "shared" / "data"


@cache
def _load(name):
    path = folder() / f"{name}.svm.xz"
    if not path.exists():
        return None
    with lzma.open(path) as file:
        X, y = load_svmlight_file(file)
    return MaxAbsScaler().fit_transform(X).tocsr(), y


def real(name):
    """The features scaled to [−1, 1] as CSR, and the targets; skips where there is no such file."""
    found = _load(name)
    if found is None:
        pytest.skip(f"no {name}.svm.xz in {folder()}: set PRIMALDUAL_DATA to its folder")
    return found


def weights(n):
    """Integer weights with some zeros, the same every time."""
    return np.random.default_rng(7).integers(0, 4, n).astype(float)
