"""The door of the readers: which format, which options, which columns."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from typing import Any

from scipy import sparse

from . import arrays, columns, frames, labels
from .sources import UTF8_MARK, Progress, Source
from .table import FileWarning, Limits, Table

# Format: the endings of its files.
FORMATS: dict[str, tuple[str, ...]] = {
    "svmlight": (".svm", ".libsvm", ".svmlight", ".txt"),
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet", ".pq"),
    "npz": (".npz",),
    "npy": (".npy",),
    "mtx": (".mtx",),
}
FIRST_BYTES = {
    b"PAR1": "parquet",
    b"PK\x03\x04": "npz",
    b"\x93NUMPY": "npy",
    b"%%MatrixMarket": "mtx",
}


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    target: str | int | None = None,
    schema: dict[str, Any] | None = None,
    n_features: int | None = None,
    impute: str | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Table:
    r"""Read examples and labels from a file.

    Parameters
    ----------
    path
        A file, plain or packed by gzip, bzip2, xz or zstd; ``"-"`` is standard input.
    format
        A name in ``FORMATS``; by default the ending of the file name decides, else its content.
    target
        Where the labels are. CSV and Parquet: name or number of a column, by default the last.
        NPY, MTX, NPZ: number of a column, or another file (NPY, MTX, or text with a number a
        line); by default the ``y`` of an NPZ, else there are none. LIBSVM: not to be given.
    schema
        The ``schema`` of the table a model was trained on, to get the same features: named
        columns are looked up, further columns are ignored, unknown categories become zeros.
        From LIBSVM text, indices that the training data did not reach are left out.
        :class:`FileWarning` says how many values were concerned.
    n_features
        Number of features. LIBSVM text may have fewer, other files may not.
    impute
        What replaces missing numbers in CSV and Parquet files, ``"mean"``, ``"median"`` or
        ``"zero"``; a missing category is all zeros then. By default they are refused.
    drop, keep
        Columns of a CSV or Parquet file to leave out, or to use and no others, by name or number.
        The column of the labels need not be among those to keep.
    limits
        What is refused as implausible; see :class:`Limits`.
    progress
        Called with the bytes done and the bytes in total (``None`` for a pipe) while reading.

    Returns
    -------
    Table
        ``X``, ``y``, ``feature_names``, ``schema``, ``source``.

    Raises
    ------
    FileError
        If the file cannot be read, or holds what a linear model cannot use.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "small.svm")
    >>> _ = path.write_text("+1 1:0.5 3:2  # a comment\n-1 2:1\n")
    >>> table = read(path)
    >>> table.X.toarray(), table.y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1., -1.]))
    >>> folder.cleanup()
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be positive, got {n_features}.")
    columns.require_impute(impute)
    chosen = {"impute": impute, "drop": drop or None, "keep": keep}
    given = [name for name, value in chosen.items() if value is not None]
    if schema is not None and given:
        raise ValueError(f"{given[0]} is part of the schema. Leave it out where a schema is given.")
    limits = Limits() if limits is None else limits
    with Source(path, limits, progress) as source:
        kind = format or guess_format(source)
        if kind in ("csv", "parquet"):
            wanted = columns.Wanted(target, drop, keep, impute, schema)
            return _read_columns(source, kind, wanted, n_features)
        if given:
            raise ValueError(
                f"{given[0]} is for the named columns of CSV and Parquet files, and {source.name} "
                f"is {kind}."
            )
        zero_based = None
        if schema is not None:
            if schema["kind"] != "indices":
                raise source.error("has no named columns, which the model was trained on.")
            zero_based = schema["zero_based"]
            n_features = schema["n_features"] if n_features is None else n_features
        if kind == "svmlight":
            if target is not None:
                raise ValueError(
                    "target is for other formats: a LIBSVM line begins with its label."
                )
            return _read_lines(source, n_features, zero_based, drop=schema is not None)
        return _read_matrix(source, kind, target, n_features)


def guess_format(source: Source) -> str:
    """The format by the ending of the name, by the first bytes, or by the first line."""
    for name, endings in FORMATS.items():
        if source.ending in endings:
            return name
    for magic, name in FIRST_BYTES.items():
        if source.head.startswith(magic):
            return name
    lines = source.head.removeprefix(UTF8_MARK).splitlines()
    first = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    if re.fullmatch(rb"\s*[^\s,;:]+(\s+(qid|[0-9]+):\S+)*\s*(#.*)?", first):
        return "svmlight"
    return "csv" if re.search(rb"[,;\t]", first) else "svmlight"


def _read_lines(
    source: Source, n_features: int | None, zero_based: bool | None, drop: bool
) -> Table:
    from .svmlight import read_svmlight  # compiled code: not loaded for other formats

    X, y, zero_based, dropped = read_svmlight(
        source, n_features=n_features, zero_based=zero_based, drop=drop
    )
    if dropped:
        message = (
            f"{source.name}: {dropped} entries of features that the training data did not have "
            "were left out."
        )
        warnings.warn(message, FileWarning, stacklevel=3)
    schema = {"kind": "indices", "n_features": X.shape[1], "zero_based": zero_based}
    return Table(X, y, None, schema, source.name, labels.spelling(_first_labels(source.head)))


def _first_labels(head: bytes) -> list[str]:
    """The labels in the first lines of LIBSVM text, as they stand there."""
    lines = head.removeprefix(UTF8_MARK).split(b"\n")[:-1]
    tokens = (line.split(b"#")[0].split() for line in lines)
    texts = dict.fromkeys(parts[0].decode("ascii") for parts in tokens if parts)
    return list(texts) if len(texts) <= labels.MOST_CLASSES_SPELT else []


def _read_columns(
    source: Source, kind: str, wanted: columns.Wanted, n_features: int | None
) -> Table:
    schema = wanted.schema
    if schema is not None and schema["kind"] != "columns":
        raise source.error(
            "has named columns, but the model was trained on a matrix without names."
        )
    if kind == "csv":
        frame, label = frames.read_csv(source, wanted)
    else:
        frame = frames.read_parquet(source)
        at = wanted.label(source, frame.columns)
        label = None if at is None else frame.columns[at]
        frame = frame[:, wanted.places(source, frame.columns)]
    found = None if label is None else frame[label]
    remarks: tuple[str, ...] = ()
    is_new = schema is None
    if schema is None:
        label, found = str(label), frame[str(label)]
        kind_of_label = labels.label_type(source, found)
        schema = columns.make_schema(source, frame, label, kind_of_label, wanted.impute)
        remarks = columns.remarks_on(frame, schema)
    X, names = columns.encode(source, frame, schema, is_new)
    _require_width(source, X, n_features)
    y, spelling = labels.encode_target(source, found, schema["target_type"])
    return Table(X, y, names, schema, source.name, spelling, remarks)


def _read_matrix(
    source: Source, kind: str, target: str | int | None, n_features: int | None
) -> Table:
    X, y = arrays.read_npz(source) if kind == "npz" else (_read_array(source, kind), None)
    X = arrays.require_matrix(source, X)
    if target is not None:
        if re.fullmatch(r"-?[0-9]+", str(target)):
            X, y = arrays.split_column(source, X, int(target))
        else:
            y = _read_labels(str(target), source.limits)
    if y is not None:
        y = arrays.require_labels(source, y, X.shape[0])
    _require_width(source, X, n_features)
    schema = {"kind": "indices", "n_features": X.shape[1], "zero_based": None}
    return Table(X, y, None, schema, source.name)


def _read_array(source: Source, kind: str) -> Any:
    if kind == "npy":
        return arrays.read_npy(source)
    from .mtx import read_mtx  # compiled code: not loaded for other formats

    return read_mtx(source)


def _read_labels(path: str, limits: Limits) -> Any:
    """The labels in a file of their own."""
    with Source(path, limits) as source:
        kind = guess_format(source)
        if kind == "svmlight":
            table = _read_lines(source, None, None, drop=False)
            if table.X.nnz:
                raise source.error("expected one number a line, the labels, and found index:value.")
            return table.y
        if kind in ("npy", "mtx"):
            y = _read_array(source, kind)
            return y.toarray() if sparse.issparse(y) else y
        raise source.error("labels are read from NPY, MTX, or text with one number a line.")


def _require_width(source: Source, X: Any, n_features: int | None) -> None:
    if n_features is not None and X.shape[1] != n_features:
        raise source.error(f"has {X.shape[1]} features; expected {n_features}.")
