"""Columns of one kind: numbers, words, and labels that come back as they stood in the file."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import FloatArray
from .sources import Source, shown
from .table import INSTALL, FileWarning

if TYPE_CHECKING:
    import polars

# A column of words with a larger share of numbers is a column of numbers with a slip.
MOSTLY_NUMBERS = 0.5
# Above this float64 does not hold every whole number.
EXACT = 2**53
# Labels with more different values than this are numbers to predict, whose spelling is not kept.
MOST_SPELLINGS = 10_000
# Labels of LIBSVM text are looked at in the first lines; with more different ones they are numbers.
MOST_CLASSES_SPELT = 200
# A whole number that may be beyond that, and is not infinite.
BIG_WHOLE = "[+-]?[0-9]{16,300}"
# 007 is a code, not the number 7.
LEADING_ZERO = r"^[+-]?0[0-9]"


def polars_module() -> Any:
    """The module polars, or an error that says how to install it."""
    try:
        import polars
    except ImportError:
        raise ModuleNotFoundError(
            f"Reading CSV and Parquet files needs polars: {INSTALL}."
        ) from None
    return polars


def is_numeric(column: polars.Series) -> bool:
    """Whether a column holds numbers, truth values or nothing at all."""
    empty = column.null_count() == len(column)
    return column.dtype.is_numeric() or column.dtype == polars_module().Boolean or empty


def words_of(source: Source, column: polars.Series) -> polars.Series:
    """A column as text."""
    pl = polars_module()
    if column.dtype in (pl.String, pl.Categorical, pl.Enum) or is_numeric(column):
        return column.cast(pl.String)
    raise source.error(
        f"column {column.name!r} holds {column.dtype}, neither numbers nor words. Convert it, or "
        "leave it out with drop=."
    )


def require_words(source: Source, column: polars.Series) -> None:
    """Refuse a column of numbers in which a few values are not."""
    pl = polars_module()
    numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    known = len(column) - column.null_count()
    odd = numbers.is_null() & column.is_not_null()
    if odd.any() and numbers.len() - numbers.null_count() > MOSTLY_NUMBERS * known:
        row = int(odd.arg_max() or 0)
        raise source.error(
            f"column {column.name!r}, row {row + 1}: {shown(column[row])} is not a number, but "
            "most of the column is. Correct it, or leave it empty and impute."
        )


def numbers_of(source: Source, column: polars.Series) -> FloatArray:
    """A copy of a column of numbers, NaN where a value is missing; infinities are refused."""
    pl = polars_module()
    _warn_if_rounded(source, column)
    values = np.array(column.cast(pl.Float64).to_numpy(), dtype=np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        row = int(infinite.argmax())
        raise source.error(f"column {column.name!r}, row {row + 1}: {values[row]} is not finite.")
    return values


def _warn_if_rounded(source: Source, column: polars.Series) -> None:
    """Name a column with whole numbers that float64 cannot hold."""
    if not column.dtype.is_integer() or len(column) == column.null_count():
        return
    low, high = column.min(), column.max()
    if low >= -EXACT and high <= EXACT:  # type: ignore[operator]
        return
    rounded = [k for k, value in enumerate(column.to_list()) if _is_inexact(value)]
    if not rounded:
        return
    first = column[rounded[0]]
    warnings.warn(
        f"{source.name}: column {column.name!r} has {len(rounded):,} whole numbers beyond 2^53 "
        f"that are rounded, the first in row {rounded[0] + 1}: {first} becomes {int(float(first))}."
        " If they are ids, leave the column out with drop=.",
        FileWarning,
        stacklevel=6,
    )


def _is_inexact(value: int | None) -> bool:
    return value is not None and abs(value) > EXACT and int(float(value)) != value


# ---- labels


def label_type(source: Source, column: polars.Series) -> str:
    """``"number"``, or ``"word"`` where numbers would change the labels: true, 007, 2^53 + 1."""
    pl = polars_module()
    if column.null_count() == len(column):
        return "number"
    if column.dtype == pl.Boolean:
        return "word"
    if column.dtype.is_integer():
        return "word" if _warn_of_big_labels(source, column.to_list(), column.name) else "number"
    if column.dtype != pl.String:
        return "number" if is_numeric(column) else "word"
    texts = column.str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False)
    if numbers.null_count() > column.null_count() or texts.str.contains(LEADING_ZERO).any():
        return "word"
    if (numbers.abs() >= EXACT).any():
        whole = [int(text) if re.fullmatch(BIG_WHOLE, text or "") else None for text in texts]
        if _warn_of_big_labels(source, whole, column.name):
            return "word"
    return "number"


def _warn_of_big_labels(source: Source, values: list[int | None], name: str) -> bool:
    rounded = [k for k, value in enumerate(values) if _is_inexact(value)]
    if not rounded:
        return False
    warnings.warn(
        f"{source.name}: column {name!r} has {len(rounded):,} labels beyond 2^53, the first in row "
        f"{rounded[0] + 1}: {values[rounded[0]]}. As numbers they would be rounded, so that the "
        "labels are taken for texts.",
        FileWarning,
        stacklevel=6,
    )
    return True


def encode_target(
    source: Source, column: polars.Series | None, kind: str
) -> tuple[Any, dict[float, str]]:
    """The labels, ``None`` if there are none, and how numbers were spelt if not as usual."""
    if column is None or column.null_count() == len(column):
        return None, {}
    missing = column.null_count()
    if missing:
        rows = "1 row has" if missing == 1 else f"{missing:,} rows have"
        raise source.error(
            f"column {column.name!r}: {rows} no label, the first is row "
            f"{int(column.is_null().arg_max() or 0) + 1}. Leave the rows out."
        )
    if kind == "word":
        return np.array(words_of(source, column).to_list(), dtype=np.str_), {}
    texts, column = column, _as_numbers(source, column)
    values = numbers_of(source, column)
    if np.isnan(values).any():
        row = int(np.isnan(values).argmax())
        raise source.error(f"column {column.name!r}, row {row + 1}: the label is missing.")
    return values, _spelling(texts)


def _as_numbers(source: Source, column: polars.Series) -> polars.Series:
    """A column of texts as the numbers they are; truth values are 1 and 0."""
    pl = polars_module()
    if column.dtype != pl.String:
        if not is_numeric(column):
            words_of(source, column)
            raise source.error(f"column {column.name!r} holds words, and numbers are expected.")
        return column
    texts = column.str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False)
    if numbers.null_count() == len(numbers):  # a model of an earlier version took these for 1 and 0
        known = texts.str.to_lowercase()
        if known.is_in(["true", "false"]).all():
            return known.eq("true").cast(pl.Float64).alias(column.name)
    if numbers.null_count():
        require_words(source, column)
        raise source.error(f"column {column.name!r} holds words, and numbers are expected.")
    return numbers


def _spelling(column: polars.Series) -> dict[float, str]:
    """Number -> its most usual text in the file, of labels that are few and spelt differently."""
    pl = polars_module()
    if column.dtype != pl.String:
        return {}
    counts = column.str.strip_chars().value_counts(sort=True)
    if counts.height > MOST_SPELLINGS:
        return {}
    return spelling(counts.to_series(0).to_list())


def spelling(texts: list[str]) -> dict[float, str]:
    """Number -> its first text in the list, if any is not how Python would print the number."""
    found: dict[float, str] = {}
    for text in texts:
        found.setdefault(float(text), text)
    usual = {number: str(int(number) if number == int(number) else number) for number in found}
    return {} if usual == found else found
