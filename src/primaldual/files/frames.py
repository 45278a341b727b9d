"""CSV and Parquet: named columns become features, categories one-hot.

A *schema* says how: the columns in order, each a number or a category with its levels, what fills
a missing number, and the target. It is made from the first file and replayed on others.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._types import FloatArray
from .sources import UTF8_MARK, Source, shown
from .table import FileWarning

if TYPE_CHECKING:
    import polars

IMPUTE = ("mean", "median", "zero")
# What stands for a missing value in a CSV file.
MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "?"]
SEPARATORS = ",;\t|"
# A column of words with a larger share of numbers is a column of numbers with a slip.
MOSTLY_NUMBERS = 0.5


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise ModuleNotFoundError(
            "Reading CSV and Parquet files needs polars: pip install 'primaldual[io]'."
        ) from None
    return polars


# ---- from bytes to columns


def read_csv(source: Source, words: list[str]) -> polars.DataFrame:
    """Read text with one column name each in its first line, or none if all are numbers.

    Parameters
    ----------
    source
        The stream.
    words
        Columns to be read as text even if all their values look like numbers.
    """
    pl = _polars()
    first = source.head.removeprefix(UTF8_MARK).split(b"\n")[0].decode("utf-8", "replace").strip()
    separator = "\t" if source.ending == ".tsv" else max(SEPARATORS, key=first.count)
    has_names = not all(_is_number(field.strip(' "')) for field in first.split(separator))
    options: dict[str, Any] = {
        "separator": separator,
        "has_header": has_names,
        "null_values": MISSING,
    }

    content = source.read_all()
    if content.startswith(UTF8_MARK):
        del content[: len(UTF8_MARK)]

    def parse() -> Any:
        # Polars leaves the doubled quotes of a quoted name as they are.
        raw = pl.read_csv(io.BytesIO(content), n_rows=0, **options).columns
        names = {name: name.replace('""', '"') for name in raw}
        overrides = {name: pl.String for name in raw if names[name] in words}
        options.update(infer_schema_length=None, schema_overrides=overrides)
        frame = pl.read_csv(io.BytesIO(content), **options).rename(names)
        return frame.with_columns(_unpadded(column) for column in frame if column.name not in words)

    return _parsed(source, parse)


def _unpadded(column: polars.Series) -> polars.Series:
    """A column of numbers with blanks around them as numbers; any other as it is."""
    pl = _polars()
    if column.dtype != pl.String:
        return column
    numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    missing = column.null_count()
    return numbers if numbers.null_count() == missing < len(column) else column


# Damaged files can make polars end the process, so a process of its own unpacks them.
UNPACK = """
import io, sys, polars
frame = polars.read_parquet(io.BytesIO(sys.stdin.buffer.read()))
frame.write_ipc(sys.stdout.buffer)
"""


def read_parquet(source: Source) -> polars.DataFrame:
    """Read a Parquet file."""
    pl = _polars()
    command = [sys.executable, "-P", "-c", UNPACK]
    environment = {**os.environ, "RUST_BACKTRACE": "0"}
    content = source.read_all()
    unpacked = subprocess.run(
        command, input=content, capture_output=True, env=environment, check=False
    )
    if unpacked.returncode:
        said = unpacked.stderr.decode("utf-8", "replace").strip().splitlines()
        said = [line for line in said if not line.startswith("note:")]
        reason = said[-1] if said else f"polars ended with code {unpacked.returncode}"
        reason = re.sub(r"^[\w.]+(Error|Exception): ", "", reason)
        raise source.error(f"cannot be read: {reason.rstrip('.')}.")
    return _parsed(source, lambda: pl.read_ipc(io.BytesIO(unpacked.stdout)))


def _parsed(source: Source, parse: Callable[[], Any]) -> Any:
    """The columns, or an error in words; polars panics on some damaged files."""
    pl = _polars()
    try:
        frame = parse()
    except (Exception, pl.exceptions.PanicException) as error:
        reason = " ".join(str(error).split("\n\n")[0].split()) or type(error).__name__
        raise source.error(f"cannot be read: {reason.rstrip('.')}.") from None
    if frame.height == 0 or frame.width == 0:
        raise source.error("has no rows.")
    return frame


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def columns_of_words(schema: dict[str, Any] | None) -> list[str]:
    """The columns that a schema knows as text, the target among them."""
    if schema is None:
        return []
    names = [column["name"] for column in schema["columns"] if column["type"] == "category"]
    return [*names, schema["target"]] if schema["target_type"] == "word" else names


# ---- from columns to a schema


def make_schema(
    source: Source, frame: polars.DataFrame, target: str | int | None, impute: str | None
) -> dict[str, Any]:
    """Decide what becomes of each column.

    Parameters
    ----------
    source
        For messages.
    frame
        The columns.
    target
        Name or number of the column with the labels; ``None`` for the last.
    impute
        What replaces a missing number; ``None`` to refuse missing values.
    """
    label = frame.columns[-1] if target is None else _named(source, frame, target)
    columns: list[dict[str, Any]] = []
    for name in frame.columns:
        if name == label:
            continue
        if _is_numeric(frame[name]):
            fill = None if impute is None else _fill(source, frame[name], impute)
            columns.append({"name": name, "type": "number", "fill": fill})
        else:
            column = _words(source, frame[name])
            _require_words(source, column)
            levels = sorted(column.drop_nulls().unique().to_list())
            columns.append(
                {"name": name, "type": "category", "levels": levels, "fill": impute is not None}
            )
    width = sum(len(column["levels"]) if "levels" in column else 1 for column in columns)
    if width > source.limits.features:
        raise source.error(
            f"the columns become {width:,} features, more than {source.limits.features:,}. Leave "
            "out columns with too many different words, or raise Limits(features=…)."
        )
    kind = "number" if _is_numeric(frame[label]) else "word"
    return {"kind": "columns", "columns": columns, "target": label, "target_type": kind}


def _named(source: Source, frame: polars.DataFrame, target: str | int) -> str:
    """The name of a column given by its name or, failing that, its number from 0."""
    names = frame.columns
    if isinstance(target, str) and target in names:
        return target
    try:
        return names[int(target)]
    except (ValueError, IndexError):
        listed = ", ".join(map(shown, names[:20])) + (", …" if len(names) > 20 else "")
        raise source.error(f"has no column {target!r} for the target, only {listed}.") from None


def _is_numeric(column: polars.Series) -> bool:
    """Whether a column holds numbers, truth values or nothing at all."""
    empty = column.null_count() == len(column)
    return column.dtype.is_numeric() or column.dtype == _polars().Boolean or empty


def _words(source: Source, column: polars.Series) -> polars.Series:
    """A column as text."""
    pl = _polars()
    if column.dtype in (pl.String, pl.Categorical, pl.Enum) or _is_numeric(column):
        return column.cast(pl.String)
    raise source.error(
        f"column {column.name!r} holds {column.dtype}, neither numbers nor words. Convert it, or "
        "leave it out."
    )


def _require_words(source: Source, column: polars.Series) -> None:
    """Refuse a column of numbers in which a few values are not."""
    pl = _polars()
    numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    known = len(column) - column.null_count()
    odd = numbers.is_null() & column.is_not_null()
    if odd.any() and numbers.len() - numbers.null_count() > MOSTLY_NUMBERS * known:
        row = int(odd.arg_max() or 0)
        raise source.error(
            f"column {column.name!r}, row {row + 1}: {shown(column[row])} is not a number, but "
            "most of the column is. Correct it, or leave it empty and impute."
        )


def _fill(source: Source, column: polars.Series, impute: str) -> float:
    """The number that stands for a missing one."""
    if impute == "zero":
        return 0.0
    known = _numbers(source, column)
    known = known[~np.isnan(known)]
    if known.size == 0:
        raise source.error(
            f"column {column.name!r} has no values to take a {impute} of. Leave it out, or impute "
            "zero."
        )
    return float(np.mean(known) if impute == "mean" else np.median(known))


# ---- from columns and a schema to features


def encode(
    source: Source, frame: polars.DataFrame, schema: dict[str, Any]
) -> tuple[Any, list[str]]:
    """Return X and the names of its columns; X is sparse if there are categories."""
    parts: list[Any] = []
    names: list[str] = []
    unknown: dict[str, int] = {}
    for column in schema["columns"]:
        name = column["name"]
        if name not in frame.columns:
            raise source.error(f"has no column {name!r}, which the model was trained on.")
        if column["type"] == "number":
            parts.append(_number_part(source, frame[name], column["fill"]))
            names.append(name)
        else:
            part, count = _category_part(source, frame[name], column)
            parts.append(part)
            names += [f"{name}={level}" for level in column["levels"]]
            if count:
                unknown[name] = count
    if unknown:
        listed = ", ".join(f"{count} in {name!r}" for name, count in unknown.items())
        message = (
            f"{source.name}: values that the training data did not have, taken as zero: {listed}."
        )
        warnings.warn(message, FileWarning, stacklevel=4)
    if any(sparse.issparse(part) for part in parts):
        parts = [
            part if sparse.issparse(part) else sparse.csc_array(part[:, None]) for part in parts
        ]
        return sparse.csr_array(sparse.hstack(parts, format="csr")), names
    if not parts:
        raise source.error("has no column but the target.")
    return np.column_stack(parts), names


def encode_target(
    source: Source, frame: polars.DataFrame, schema: dict[str, Any], target: str | int | None
) -> Any:
    """Return the labels, or ``None`` if the schema's target column is not there or empty."""
    name = schema["target"] if target is None else _named(source, frame, target)
    if name not in frame.columns or frame[name].null_count() == frame.height:
        return None
    column = frame[name]
    if column.null_count():
        raise _missing(source, column.name, column.is_null().arg_max(), "Leave the row out.")
    if schema["target_type"] == "word":
        return np.array(_words(source, column).to_list(), dtype=np.str_)
    return _number_part(source, column, None)


def _number_part(source: Source, column: polars.Series, fill: float | None) -> FloatArray:
    """A column of numbers without gaps."""
    if not _is_numeric(column):
        words = _words(source, column)
        _require_words(source, words)
        raise source.error(f"column {column.name!r} holds words, and numbers are expected.")
    values = _numbers(source, column)
    gaps = np.isnan(values)
    if gaps.any():
        if fill is None:
            raise _missing(source, column.name, int(gaps.argmax()), "Leave the row out, or impute.")
        values[gaps] = fill
    return values


def _numbers(source: Source, column: polars.Series) -> FloatArray:
    """A copy of a column of numbers, NaN where a value is missing; infinities are refused."""
    pl = _polars()
    values = np.array(column.cast(pl.Float64).to_numpy(), dtype=np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        row = int(infinite.argmax())
        raise source.error(f"column {column.name!r}, row {row + 1}: {values[row]} is not finite.")
    return values


def _category_part(
    source: Source, column: polars.Series, description: dict[str, Any]
) -> tuple[sparse.csc_array, int]:
    """One-hot columns, one a level, and the number of values that are none of them."""
    words = _words(source, column)
    if words.null_count() and not description["fill"]:
        advice = "Leave the row out, or impute."
        raise _missing(source, column.name, words.is_null().arg_max(), advice)
    places = {level: k for k, level in enumerate(description["levels"])}
    codes = np.array([places.get(word, -1) for word in words.to_list()], dtype=np.int64)
    rows = np.flatnonzero(codes >= 0)
    shape = (len(codes), len(places))
    part = sparse.csc_array((np.ones(len(rows)), (rows, codes[rows])), shape=shape)
    return part, len(codes) - len(rows) - words.null_count()


def _missing(source: Source, name: str, row: int | None, advice: str) -> Exception:
    return source.error(f"column {name!r}, row {int(row or 0) + 1}: the value is missing. {advice}")


def require_impute(impute: str | None) -> None:
    """Refuse a word that is no way to fill gaps."""
    if impute is not None and impute not in IMPUTE:
        listed = ", ".join(map(repr, IMPUTE))
        raise ValueError(f"impute must be one of {listed} or None, got {impute!r}.")
