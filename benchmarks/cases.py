"""The data sets, and the tasks made of them: data, loss and λn."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from primaldual import Problem, datasets

LOSSES = ("logistic", "squared_hinge", "squared")
ENDINGS = (".svm", ".svm.xz", ".svm.gz", ".svm.bz2")

# Real-valued targets. Every other set is a classification; integers may be either.
REGRESSIONS = {"abalone_scale", "cadata", "housing_scale", "riboflavin", "winequality-white"}
# Sets whose last features do not occur in the file.
FEATURES = {"a1a": 123, "a9a.t": 123}
# Sets with a larger part of nonzeros are stored as plain arrays, as their users would.
DENSE = 0.4

QUICK = ("australian", "a1a", "a9a", "basehock", "leu", "housing_scale", "rcv1-like-small")
QUICK += ("dense-small", "worst-dual", "worst-primal")


@dataclass(frozen=True)
class Case:
    """A data set that is read or made when it is asked for."""

    name: str
    load: Callable[[], tuple[Any, Any]]  # X, y
    about: str
    regression: bool = False

    @property
    def losses(self) -> tuple[str, ...]:
        """The losses that fit its labels; the squared loss also takes ±1."""
        return ("squared",) if self.regression else LOSSES


@dataclass(frozen=True, eq=False)
class Task:
    """One objective to minimise: P(w) = (1/n) Σ_j φ(⟨x_j, w⟩; y_j) + (λ/2) ‖w‖²."""

    case: str
    X: Any  # csr_array or C-ordered array, float64
    y: Any  # ±1 in a classification
    loss: str
    lam_n: float
    seconds: float = 10.0  # what one run may take

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def lam(self) -> float:
        """λ."""
        return self.lam_n / self.n

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return int(self.X.nnz if self.is_sparse else self.X.size)

    @property
    def is_sparse(self) -> bool:
        """Whether X is a sparse matrix."""
        return sparse.issparse(self.X)

    @cached_property
    def problem(self) -> Problem:
        """Our own view of the task, by which every solution is judged."""
        return Problem(self.X, self.y, loss=self.loss, lam=self.lam)

    @cached_property
    def csr(self) -> sparse.csr_matrix:
        """The data as the matrix class that peers expect."""
        return sparse.csr_matrix(self.X)

    @cached_property
    def csc(self) -> sparse.csc_matrix:
        """The data by columns."""
        return sparse.csc_matrix(self.X)

    @property
    def rows(self) -> Any:
        """The data as a CSR matrix or a C-ordered array."""
        return self.csr if self.is_sparse else self.X

    @cached_property
    def columns(self) -> Any:
        """The data as a CSC matrix or a Fortran-ordered array."""
        return self.csc if self.is_sparse else np.asfortranarray(self.X)

    @property
    def most_passes(self) -> int:
        """About the passes over the data that fit in the time limit, between 20 and 10000."""
        one = 3e-9 * self.nnz + 5e-8 * self.n
        return int(np.clip(self.seconds / one, 20, 10_000))


def all_cases() -> dict[str, Case]:
    """Every case by name: the files of the data folder, then the synthetic ones."""
    return {case.name: case for case in [*_files(), *_synthetic()]}


def data_folder() -> Path | None:
    """``PRIMALDUAL_DATA``, or ``../shared/data`` beside the repository, or None."""
    named = datasets.data_folder()
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = named or beside
    return folder if folder.is_dir() else None


# ---- files


def _files() -> list[Case]:
    folder = data_folder()
    if folder is None:
        return []
    os.environ["PRIMALDUAL_DATA"] = str(folder)
    cases = []
    for path in sorted(folder.iterdir()):
        ending = next((e for e in ENDINGS if path.name.endswith(e)), None)
        if ending is not None:
            name = path.name.removesuffix(ending)
            load = partial(_read, path, name)
            cases.append(Case(name, load, f"file {path.name}", name in REGRESSIONS))
    return cases


def _read(path: Path, name: str) -> tuple[Any, Any]:
    """A file's data, from the cache if it has been read before."""
    status = path.stat()
    cached = cache_folder() / f"{name}-{status.st_size}-{int(status.st_mtime)}.npz"
    if cached.is_file():
        with np.load(cached) as parts:
            triple = (parts["values"], parts["indices"], parts["indptr"])
            X, y = sparse.csr_array(triple, shape=tuple(parts["shape"])), parts["y"]
    else:
        X, y = datasets.load(name, FEATURES.get(name))
        parts = {"values": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
        cached.parent.mkdir(parents=True, exist_ok=True)
        partial_file = cached.with_name(f"{os.getpid()}-{cached.name}")
        np.savez(partial_file, y=y, **parts)
        partial_file.replace(cached)
    if name not in REGRESSIONS:
        y = _signs(y)
    if X.nnz >= DENSE * X.shape[0] * X.shape[1]:
        return np.ascontiguousarray(X.toarray()), y
    # Several peers refuse wider indices.
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def cache_folder() -> Path:
    """Where data sets are kept once they have been read from text."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "primaldual-bench"


def _signs(y: Any) -> Any:
    """Labels ±1: the larger of two labels, or the most frequent of several, against the rest."""
    labels, counts = np.unique(y, return_counts=True)
    positive = labels[-1] if len(labels) == 2 else labels[np.argmax(counts)]
    return np.where(y == positive, 1.0, -1.0)


# ---- synthetic


def _synthetic() -> list[Case]:
    text = partial(datasets.zipf_text, seed=0)
    worst = partial(datasets.worst_case, 1000, 1000)
    binary = partial(datasets.extremal_binary, 1000, 1000, 30_000)
    dense = "independent normal features"
    return [
        _labelled("rcv1-like", partial(text, 47_236, 20_242), "Zipf words, 20242×47236, sparse"),
        _labelled("rcv1-like-small", partial(text, 12_000, 5_000), "the same, 5000×12000"),
        _labelled("dense", partial(_normal, 100_000, 100), f"{dense}, 100000×100"),
        _labelled("dense-small", partial(_normal, 10_000, 50), f"{dense}, 10000×50"),
        _labelled("tall", partial(_tall, 500_000), "10 real and 44 indicator features, 500000×54"),
        _labelled("correlated", partial(_correlated, 2000, 2000), "ρ = 0.95, dense 2000×2000"),
        _labelled("worst-dual", partial(worst, "dual"), "Theorem 3, C_D/C_P nearly d"),
        _labelled("worst-primal", partial(worst, "primal"), "Theorem 3, C_P/C_D nearly n"),
        _labelled("binary-dual", partial(binary, "dual_worst"), "Theorem 4, 3% nonzeros"),
        _labelled("binary-primal", partial(binary, "primal_worst"), "Theorem 4, 3% nonzeros"),
    ]


def _labelled(name: str, make: Callable[[], Any], about: str) -> Case:
    """A case with labels from a linear model, one in ten flipped."""

    def load() -> tuple[Any, Any]:
        X = make()
        return X, datasets.labels(X, noise=0.1, seed=1)

    return Case(name, load, about)


def _normal(n: int, d: int) -> Any:
    return np.random.default_rng(0).standard_normal((n, d))


def _correlated(n: int, d: int, rho: float = 0.95) -> Any:
    """Features in a chain, each with correlation ρ to the one before."""
    X = _normal(n, d)
    for i in range(1, d):
        X[:, i] = rho * X[:, i - 1] + np.sqrt(1 - rho**2) * X[:, i]
    return X


def _tall(n: int) -> Any:
    """Ten real features, and one of 4 and one of 40 indicators set, as in forest cover data."""
    rng = np.random.default_rng(0)
    indices = np.empty((n, 12), dtype=np.int32)
    indices[:, :10] = np.arange(10)
    indices[:, 10] = 10 + rng.integers(0, 4, n)
    indices[:, 11] = 14 + np.minimum(rng.geometric(0.12, n) - 1, 39)
    values = np.ones((n, 12))
    values[:, :10] = rng.random((n, 10))
    indptr = np.arange(0, 12 * n + 1, 12, dtype=np.int32)
    return sparse.csr_array((values.ravel(), indices.ravel(), indptr), shape=(n, 54))
