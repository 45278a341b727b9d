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

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy import sparse

from .. import files
from .._types import FloatArray, IntArray, Side
from ..binary import require_feasible
from .downloads import fetch, verify

Seed: TypeAlias = int | np.random.Generator | None
Corner: TypeAlias = Literal["primal_worst", "dual_worst", "both_best", "both_worst"]
Values: TypeAlias = Literal["normal", "binary", "signs"]
Task: TypeAlias = Literal["classification", "regression"]
Progress: TypeAlias = Callable[[int, int | None], object]

# The small entries of a worst case, relative to the point where both parts of the cost are equal:
# their square is how far the ratio of the costs stays from its limit.
SMALL_ENTRIES = 0.1

# Spread of the logarithm of document lengths: two documents in three are within a factor of two.
LENGTH_SPREAD = 0.7


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
    _require_shape(d, n)
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
    _require_choice("side", side, Side)
    _require_shape(d, n)
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
    _require_choice("corner", corner, Corner)
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
    values = _random_signs(nnz, rng) if signs else np.ones(nnz)
    if shuffle:
        features = rng.permutation(d)[features]
        examples = rng.permutation(n)[examples]
    return _csr(values, examples, features, (n, d))


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


# ---- random matrices


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
    _require_choice("values", values, Values)
    _require_shape(d, n)
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
        entries = _random_signs(len(positions), rng)
    else:
        entries = np.ones(len(positions))
    examples, features = np.divmod(positions, d)
    return _csr(entries, examples, features, (n, d))


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
    _require_shape(d, n)
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

    X = _csr(np.ones(len(words)), documents, words, (n, d))  # adds repetitions up
    X.data = 1 + np.log(X.data)
    if normalize:
        X.data /= np.repeat(_row_norms(X), np.diff(X.indptr))
    return X


# ---- labels


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
    >>> X = random_matrix(d=5, n=100, seed=0)
    >>> y = labels(X, seed=1)
    >>> np.unique(y)
    array([-1.,  1.])
    """
    _require_choice("task", task, Task)
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
    return _with_both_classes(_random_signs(n, np.random.default_rng(seed)), 0)


def _with_both_classes(y: FloatArray, least_sure: int) -> FloatArray:
    """Return the labels, with one of them flipped if they are all equal."""
    if len(y) < 2:
        raise ValueError(f"Two classes need at least 2 examples, got {len(y)}. Add examples.")
    if np.all(y == y[0]):
        y[least_sure] *= -1
    return y


# ---- scaling


def normalize_average(X: Any) -> Any:
    """Return X divided by the average length of its examples, the setting of the experiments.

    Parameters
    ----------
    X
        Data of shape (n, d), dense or sparse; not modified.

    Returns
    -------
    array or sparse array
        Of the same kind as X; the lengths of its rows have mean 1.

    Notes
    -----
    Csiba & Richtárik, Section 7.

    Examples
    --------
    >>> normalize_average(np.array([[3.0, 4.0], [0.0, 15.0]]))
    array([[0.3, 0.4],
           [0. , 1.5]])
    """
    if not sparse.issparse(X):
        X = np.asarray(X)
    average = float(np.mean(_row_norms(X)))
    if not 0 < average < math.inf:
        raise ValueError(
            f"The average length of the examples must be positive and finite, got {average}. "
            "Check X for zeros, infinities and NaN."
        )
    return X / average


def _row_norms(X: Any) -> FloatArray:
    """‖x_j‖ of every example, in float64."""
    X = X.astype(np.float64, copy=False)
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    return np.sqrt(np.asarray(squares.sum(axis=1)).ravel())


# ---- real data


def breast_cancer() -> tuple[FloatArray, FloatArray]:
    """Return scikit-learn's breast cancer data: 569 examples, 30 standardised features.

    Returns
    -------
    X : array of shape (569, 30)
        Every feature has mean 0 and standard deviation 1.
    y : array of shape (569,)
        1 for benign, −1 for malignant.

    Examples
    --------
    >>> X, y = breast_cancer()
    >>> X.shape, int((y == 1).sum())
    ((569, 30), 357)
    """
    from sklearn.datasets import load_breast_cancer

    raw, target = load_breast_cancer(return_X_y=True)
    X = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    return X, np.where(target == 1, 1.0, -1.0)


def data_folder() -> Path | None:
    """Return the folder of data sets named by the environment variable ``PRIMALDUAL_DATA``.

    Returns
    -------
    Path or None
        ``None`` if the variable is not set. The folder need not exist.

    Examples
    --------
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, PRIMALDUAL_DATA="my/sets"):
    ...     data_folder().as_posix()
    'my/sets'
    """
    folder = os.environ.get("PRIMALDUAL_DATA")
    return Path(folder).expanduser() if folder else None


def cache_folder() -> Path:
    """Return the folder that downloaded data sets are kept in.

    Returns
    -------
    Path
        ``data`` in the folder ``PRIMALDUAL_CACHE``, by default ``~/.cache/primaldual``.

    Examples
    --------
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, PRIMALDUAL_CACHE="my/cache"):
    ...     cache_folder().as_posix()
    'my/cache/data'
    """
    base = os.environ.get("PRIMALDUAL_CACHE")
    if base:
        return Path(base).expanduser() / "data"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "primaldual" / "data"


# What follows a data set's name in the name of its file, in the order `load` looks for them; the
# last ones are those of the LIBSVM site.
_ENDINGS = (".svm", ".svm.xz", ".svm.gz", ".svm.bz2", ".svm.zst", "", ".bz2", ".xz")

SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"

# Folder and ending on the LIBSVM site: the data sets there.
_ON_SITE = {
    ("binary", ""): """
        a1a a1a.t a2a a2a.t a3a a3a.t a4a a4a.t a5a a5a.t a6a a6a.t a7a a7a.t a8a a8a.t a9a a9a.t
        australian australian_scale breast-cancer breast-cancer_scale cod-rna cod-rna.t diabetes
        diabetes_scale fourclass fourclass_scale german.numer german.numer_scale heart heart_scale
        ionosphere_scale liver-disorders liver-disorders_scale madelon madelon.t mushrooms phishing
        skin_nonskin sonar_scale splice splice.t splice_scale splice_scale.t svmguide1 svmguide1.t
        svmguide3 svmguide3.t w1a w1a.t w2a w2a.t w3a w3a.t w4a w4a.t w5a w5a.t w6a w6a.t w7a w7a.t
        w8a w8a.t""",
    ("binary", ".bz2"): """
        colon-cancer covtype.libsvm.binary covtype.libsvm.binary.scale duke epsilon_normalized
        epsilon_normalized.t gisette_scale gisette_scale.t ijcnn1 ijcnn1.t leu leu.t news20.binary
        rcv1_test.binary rcv1_train.binary real-sim url_combined""",
    ("multiclass", ""): "dna.scale dna.scale.t iris.scale satimage.scale satimage.scale.t",
    ("multiclass", ".bz2"): "mnist mnist.t news20 news20.t usps usps.t",
    ("regression", ""): """
        abalone abalone_scale bodyfat bodyfat_scale cadata cpusmall cpusmall_scale housing
        housing_scale mg mg_scale mpg mpg_scale pyrim pyrim_scale space_ga space_ga_scale triazines
        triazines_scale""",
    ("regression", ".bz2"): "E2006.test E2006.train YearPredictionMSD YearPredictionMSD.t",
}


def _address(name: str) -> str | None:
    """Where a data set is on the LIBSVM site, or a mirror of it; ``None`` for unknown names."""
    site = os.environ.get("PRIMALDUAL_MIRROR") or SITE
    for (folder, ending), names in _ON_SITE.items():
        if name in names.split():
            return f"{site.rstrip('/')}/{folder}/{name}{ending}"
    return None


def load(
    name: str,
    n_features: int | None = None,
    *,
    progress: Progress | None = None,
    max_bytes: int = 2**30,
) -> tuple[sparse.csr_array, FloatArray]:
    """Return a data set in LIBSVM's format, from disk or from the LIBSVM site.

    The folder ``PRIMALDUAL_DATA`` comes first, then the cache (:func:`cache_folder`). What is in
    neither is downloaded into the cache, unless ``PRIMALDUAL_OFFLINE`` is set;
    ``PRIMALDUAL_MIRROR`` is an address to use instead of the LIBSVM site.

    Parameters
    ----------
    name
        File name without its ending: ``name.svm``, ``name.svm.xz``, ``name.svm.gz``,
        ``name.svm.bz2``, ``name.svm.zst`` are tried in this order, then ``name``, ``name.bz2``
        and ``name.xz``, as the site has them.
    n_features
        Number of columns; by default the largest index in the file. A test set needs the
        number of its training set.
    progress
        Called with bytes done and bytes in total while downloading, then while reading.
    max_bytes
        The largest file to download.

    Returns
    -------
    X : csr_array of shape (n, d)
        The data, float64.
    y : array of shape (n,)
        The labels as they stand in the file.

    Raises
    ------
    FileNotFoundError
        If it is nowhere, and cannot be downloaded.
    ValueError
        If the file is not as it should be, or has changed since it was downloaded. The site
        publishes no checksums: the SHA-256 of the first download is noted and compared.

    Examples
    --------
    >>> import tempfile
    >>> from unittest import mock
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = Path(folder.name, "tiny.svm").write_text("+1 1:0.5 3:2")
    >>> with mock.patch.dict(os.environ, PRIMALDUAL_DATA=folder.name):
    ...     X, y = load("tiny")
    >>> folder.cleanup()
    >>> X.shape, y
    ((1, 3), array([1.]))
    """
    if not name or Path(name).name != name:
        raise ValueError(f"name must be that of a data set, without folders, got {name!r}.")
    path = _stored(data_folder(), name)
    if path is None:
        path = _stored(cache_folder(), name) or _download(name, progress, max_bytes)
        verify(path)
    table = files.read(path, format="svmlight", n_features=n_features, progress=progress)
    return table.X, np.asarray(table.y, dtype=np.float64)


def _stored(folder: Path | None, name: str) -> Path | None:
    """The file of a data set in a folder."""
    if folder is None:
        return None
    paths = [folder / f"{name}{ending}" for ending in _ENDINGS]
    return next((path for path in paths if path.is_file()), None)


def _download(name: str, progress: Progress | None, max_bytes: int) -> Path:
    """Fetch a data set into the cache, or say where it could be put."""
    address = _address(name)
    if address is None:
        reason = "it is not among those known to be on the LIBSVM site"
    elif os.environ.get("PRIMALDUAL_OFFLINE"):
        reason = "PRIMALDUAL_OFFLINE forbids downloads"
    else:
        path = cache_folder() / address.rpartition("/")[2]
        try:
            fetch(address, path, max_bytes=max_bytes, progress=progress)
        except OSError as error:
            reason = f"it could not be downloaded from {address} ({error})"
        else:
            return path
    folder = data_folder()
    place = "PRIMALDUAL_DATA is " + ("not set" if folder is None else f"the folder {folder}")
    looked = ", ".join(f"{name}{ending}" for ending in _ENDINGS)
    raise FileNotFoundError(
        f"No data set {name!r}: {place}, the cache is {cache_folder()}, and {reason}; looked for "
        f"{looked}. Put one of these files in either folder, or set PRIMALDUAL_DATA to the folder "
        "that has it."
    )


# ---- shared


def _csr(
    values: FloatArray, examples: IntArray, features: IntArray, shape: tuple[int, int]
) -> sparse.csr_array:
    """Return a canonical CSR array from entries in any order; those of one place are added."""
    places = (examples.astype(np.int32), features.astype(np.int32))
    X = sparse.csr_array((values, places), shape=shape)
    X.sum_duplicates()
    return X


def _random_signs(size: int, rng: np.random.Generator) -> FloatArray:
    return np.where(rng.integers(0, 2, size) == 1, 1.0, -1.0)


def _require_shape(d: int, n: int) -> None:
    if d < 1 or n < 1:
        raise ValueError(f"Numbers of features and of examples must be positive, got {d} and {n}.")


def _require_choice(name: str, value: str, choices: Any) -> None:
    if value not in get_args(choices):
        listed = ", ".join(map(repr, get_args(choices)))
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
