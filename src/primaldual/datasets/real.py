"""Real data sets: one that comes with scikit-learn, and those of the LIBSVM site by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy import sparse

from .. import files
from .._types import FloatArray
from .downloads import fetch, verify

Progress: TypeAlias = Callable[[int, int | None], object]


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
ENDINGS = (".svm", ".svm.xz", ".svm.gz", ".svm.bz2", ".svm.zst", "", ".bz2", ".xz")

SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"

# Folder and ending on the LIBSVM site: the data sets there.
ON_SITE = {
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


def address_of(name: str) -> str | None:
    """Where a data set is on the LIBSVM site, or a mirror of it; ``None`` for unknown names."""
    site = os.environ.get("PRIMALDUAL_MIRROR") or SITE
    for (folder, ending), names in ON_SITE.items():
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
    path = file_of(name, progress, max_bytes)
    table = files.read(path, format="svmlight", n_features=n_features, progress=progress)
    return table.X, np.asarray(table.y, dtype=np.float64)


def file_of(name: str, progress: Progress | None = None, max_bytes: int = 2**30) -> Path:
    """Return the file of a data set, as :func:`load` finds or downloads it.

    Parameters
    ----------
    name, progress, max_bytes
        As for :func:`load`.

    Returns
    -------
    Path
        A file in LIBSVM's format, plain or packed.
    """
    if not name or Path(name).name != name:
        raise ValueError(f"name must be that of a data set, without folders, got {name!r}.")
    path = _stored(data_folder(), name)
    if path is None:
        path = _stored(cache_folder(), name) or _download(name, progress, max_bytes)
        verify(path)
    return path


def stored(name: str) -> Path | None:
    """Return the file of a data set if it is on disk."""
    return _stored(data_folder(), name) or _stored(cache_folder(), name)


def _stored(folder: Path | None, name: str) -> Path | None:
    """The file of a data set in a folder."""
    if folder is None:
        return None
    paths = [folder / f"{name}{ending}" for ending in ENDINGS]
    return next((path for path in paths if path.is_file()), None)


def _download(name: str, progress: Progress | None, max_bytes: int) -> Path:
    """Fetch a data set into the cache, or say where it could be put."""
    address = address_of(name)
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
    looked = ", ".join(f"{name}{ending}" for ending in ENDINGS)
    raise FileNotFoundError(
        f"No data set {name!r}: {place}, the cache is {cache_folder()}, and {reason}; looked for "
        f"{looked}. Put one of these files in either folder, or set PRIMALDUAL_DATA to the folder "
        "that has it."
    )
