"""Named columns become features: which ones, numbers or categories, one-hot, without gaps.

A *schema* says how: the columns in order, each a number or a category with its levels, what fills
a missing number, and the target. It is made from the first file and replayed on others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .labels import is_numeric, numbers_of, polars_module, require_words, words_of
from .sources import Source, shown
from .table import FileWarning

if TYPE_CHECKING:
    import polars

IMPUTE = ("mean", "median", "zero")
# Names listed in a message, and columns with missing values, of which each has its count.
MOST_NAMES, MOST_COUNTS = 20, 40
# A column in which all of at least this many values differ looks like an id.
LEAST_IDS = 30
# Rows that become sparse ones at a time: what is made on the way stays in a near cache.
ROWS = 4096


@dataclass(frozen=True)
class Wanted:
    """Which columns of a file are read, and which one holds the labels.

    ``drop`` and ``keep`` are names, or numbers from 0 where no column has that name.
    """

    target: str | int | None = None
    drop: Sequence[str] = ()
    keep: Sequence[str] | None = None
    impute: str | None = None
    schema: dict[str, Any] | None = None

    def label(self, source: Source, names: list[str]) -> int | None:
        """The place of the column with the labels; ``None`` if the schema's is not there."""
        if self.target is not None:
            return _place(source, names, self.target, "for the target")
        if self.schema is None:
            return len(names) - 1
        found = self.schema["target"]
        return names.index(found) if found in names else None

    def places(self, source: Source, names: list[str]) -> list[int]:
        """The places of the columns to read, in order, that of the labels among them."""
        label = self.label(source, names)
        if self.schema is not None:
            known = {column["name"] for column in self.schema["columns"]}
            chosen = [place for place, name in enumerate(names) if name in known]
        else:
            chosen = list(range(len(names)))
            if self.keep is not None:
                kept = self._places_of(source, names, self.keep, "to keep")
                chosen = [place for place in chosen if place in kept]
            dropped = self._places_of(source, names, self.drop, "to drop")
            if label in dropped:
                raise source.error(
                    f"column {names[label]!r} holds the labels and cannot be dropped. Name another "
                    "one with target=."
                )
            chosen = [place for place in chosen if place not in dropped]
        if label is not None and label not in chosen:
            chosen.append(label)
        _require_single_names(source, names, sorted(chosen))
        return sorted(chosen)

    def _places_of(
        self, source: Source, names: list[str], asked: Sequence[str], why: str
    ) -> set[int]:
        """All columns of those names: a name that stands twice means both."""
        found: set[int] = set()
        for one in asked:
            same = [place for place, name in enumerate(names) if name == one]
            found.update(same or [_place(source, names, one, why)])
        return found


def _place(source: Source, names: list[str], asked: str | int, why: str) -> int:
    """The place of a column given by its name or, failing that, its number from 0."""
    if isinstance(asked, str) and asked in names:
        if names.count(asked) > 1 and why == "for the target":
            raise _twice(source, names, asked)
        return names.index(asked)
    try:
        return range(len(names))[int(asked)]
    except (ValueError, IndexError):
        listed = ", ".join(map(shown, names[:MOST_NAMES]))
        listed += ", …" if len(names) > MOST_NAMES else ""
        raise source.error(f"has no column {asked!r} {why}, only {listed}.") from None


def _require_single_names(source: Source, names: list[str], places: list[int]) -> None:
    """Refuse a name that two of the columns to read have."""
    seen = set()
    for place in places:
        if names[place] in seen:
            raise _twice(source, names, names[place])
        seen.add(names[place])


def _twice(source: Source, names: list[str], name: str) -> Exception:
    places = [str(place + 1) for place, other in enumerate(names) if other == name]
    return source.error(
        f"{len(places)} columns are called {shown(name)}: number {', '.join(places[:-1])} and "
        f"{places[-1]}. Rename all but one, or leave them out with drop=."
    )


# ---- from columns to a schema


def make_schema(
    source: Source, frame: polars.DataFrame, label: str, label_type: str, impute: str | None
) -> dict[str, Any]:
    """Decide what becomes of each column.

    Parameters
    ----------
    source
        For messages.
    frame
        The columns.
    label, label_type
        Name of the column with the labels, and whether those are a ``"number"`` or a ``"word"``.
    impute
        What replaces a missing number; ``None`` to refuse missing values.
    """
    columns: list[dict[str, Any]] = []
    for name in frame.columns:
        if name == label:
            continue
        if is_numeric(frame[name]):
            fill = None if impute is None else _fill(source, frame[name], impute)
            columns.append({"name": name, "type": "number", "fill": fill})
        else:
            column = words_of(source, frame[name])
            require_words(source, column)
            levels = sorted(column.drop_nulls().unique().to_list())
            columns.append(
                {"name": name, "type": "category", "levels": levels, "fill": impute is not None}
            )
    width = sum(len(column["levels"]) if "levels" in column else 1 for column in columns)
    if width > source.limits.features:
        most = max(columns, key=lambda column: len(column.get("levels", ())))
        raise source.error(
            f"the columns become {width:,} features, more than {source.limits.features:,}: "
            f"{most['name']!r} alone has {len(most['levels']):,} different words. Leave such "
            "columns out with drop=, or raise Limits(features=…)."
        )
    return {"kind": "columns", "columns": columns, "target": label, "target_type": label_type}


def _fill(source: Source, column: polars.Series, impute: str) -> float:
    """The number that stands for a missing one."""
    if impute == "zero":
        return 0.0
    known = numbers_of(source, column)
    known = known[~np.isnan(known)]
    if known.size == 0:
        raise source.error(
            f"column {column.name!r} has no values to take a {impute} of. Leave it out with drop=, "
            "or impute zero."
        )
    return float(np.mean(known) if impute == "mean" else np.median(known))


def columns_of_words(schema: dict[str, Any] | None) -> list[str]:
    """The columns that a schema knows as text."""
    if schema is None:
        return []
    return [column["name"] for column in schema["columns"] if column["type"] == "category"]


# ---- from columns and a schema to features


def encode(
    source: Source, frame: polars.DataFrame, schema: dict[str, Any], is_new: bool
) -> tuple[Any, list[str]]:
    """Return X and the names of its columns; X is sparse if there are categories.

    ``is_new`` says that the schema was made from this very file.
    """
    for column in schema["columns"]:
        if column["name"] not in frame.columns:
            raise source.error(f"has no column {column['name']!r}, which the model was trained on.")
    if not schema["columns"]:
        raise source.error("has no column but the target.")
    parts = [_part(source, frame[column["name"]], column) for column in schema["columns"]]
    _require_no_gaps(source, frame, schema, parts, is_new)
    names: list[str] = []
    for column in schema["columns"]:
        name = column["name"]
        if column["type"] == "number":
            names.append(name)
        else:
            names += [f"{name}={level}" for level in column["levels"]]
    _warn_of_unknown(source, frame, schema, parts)
    if any(column["type"] == "category" for column in schema["columns"]):
        return _one_hot(schema, parts, frame.height), names
    return np.column_stack(parts), names


def _part(source: Source, column: polars.Series, description: dict[str, Any]) -> Any:
    """Numbers with NaN where one is missing, or the places of words among the levels, else −1."""
    if description["type"] == "number":
        if not is_numeric(column):
            words = words_of(source, column)
            require_words(source, words)
            raise source.error(f"column {column.name!r} holds words, and numbers are expected.")
        values = numbers_of(source, column)
        if description["fill"] is not None:
            values[np.isnan(values)] = description["fill"]
        return values
    levels = description["levels"]
    words = words_of(source, column)
    if not levels:
        return np.full(len(words), -1, dtype=np.int64)
    places = words.replace_strict(
        levels, range(len(levels)), default=-1, return_dtype=polars_module().Int64
    )
    return places.to_numpy()


def _one_hot(schema: dict[str, Any], parts: list[Any], height: int) -> sparse.csr_array:
    """Numbers and one-hot words side by side, zeros left out: some rows at a time."""
    words = [column["type"] != "number" for column in schema["columns"]]
    widths = [len(column.get("levels", "1")) for column in schema["columns"]]
    *starts, width = np.cumsum([0, *widths]).tolist()
    most = height * len(parts)
    kind = np.int32 if max(width, most) < 2**31 else np.int64
    values, places = np.empty((ROWS, len(parts))), np.empty((ROWS, len(parts)), dtype=kind)
    places[:] = starts
    data, indices = np.empty(most), np.empty(most, dtype=kind)
    ends, end = np.zeros(height + 1, dtype=kind), 0
    for first in range(0, height, ROWS):
        rows = slice(first, min(first + ROWS, height))
        here, at = values[: rows.stop - first], places[: rows.stop - first]
        for k, part in enumerate(parts):
            if words[k]:
                np.add(part[rows], starts[k], out=at[:, k], casting="same_kind")
            here[:, k] = part[rows] >= 0 if words[k] else part[rows]
        filled = here != 0.0
        ends[rows.start + 1 : rows.stop + 1] = end + np.cumsum(np.count_nonzero(filled, axis=1))
        some = slice(end, int(ends[rows.stop]))
        data[some], indices[some], end = here[filled], at[filled], some.stop
    if end < most:
        data, indices = data[:end].copy(), indices[:end].copy()
    return sparse.csr_array((data, indices, ends), shape=(height, width))


def _warn_of_unknown(
    source: Source, frame: polars.DataFrame, schema: dict[str, Any], parts: list[Any]
) -> None:
    """Count the words that the training data did not have, column by column."""
    unknown = []
    for column, part in zip(schema["columns"], parts, strict=True):
        if column["type"] == "category":
            count = int(np.count_nonzero(part < 0)) - frame[column["name"]].null_count()
            if count:
                unknown.append(f"{count} in {column['name']!r}")
    if unknown:
        message = (
            f"{source.name}: values that the training data did not have, taken as zero: "
            f"{', '.join(unknown)}."
        )
        warnings.warn(message, FileWarning, stacklevel=5)


def _require_no_gaps(
    source: Source, frame: polars.DataFrame, schema: dict[str, Any], parts: list[Any], is_new: bool
) -> None:
    """Refuse missing values that nothing fills: all columns that have some, with their counts."""
    counts: dict[str, int] = {}
    numbers, words, row = "", "", frame.height
    for column, part in zip(schema["columns"], parts, strict=True):
        name = column["name"]
        is_number = column["type"] == "number"
        if not is_number and column["fill"]:
            continue
        gaps = np.isnan(part) if is_number else frame[name].is_null().to_numpy()
        count = int(np.count_nonzero(gaps))
        if count:
            counts[name] = count
            row = min(row, int(gaps.argmax()))
            numbers, words = (numbers or name, words) if is_number else (numbers, words or name)
    if not counts:
        return
    what = "column has" if len(counts) == 1 else "columns have"
    listed = ", ".join(
        f"{name!r} {count:,} ({_share(count, frame.height)})"
        for name, count in list(counts.items())[:MOST_COUNTS]
    )
    listed += ", …" if len(counts) > MOST_COUNTS else ""
    raise source.error(
        f"{len(counts)} {what} missing values: {listed}; the first is in row {row + 1}. "
        + (_would_fill(frame, numbers, words) if is_new else _WAS_COMPLETE)
    )


def _share(count: int, height: int) -> str:
    """A fraction of the rows in per cent; some are never 0 %."""
    return "under 1%" if count < 0.01 * height else f"{count / height:.0%}"


_WAS_COMPLETE = (
    "The model was trained on data without missing values in these columns: fill them in the file, "
    "leave the rows out, or train the model again with impute."
)


def _would_fill(frame: polars.DataFrame, numbers: str, words: str) -> str:
    """What each way to impute would do, with an example."""
    said = []
    if numbers:
        column = frame[numbers].drop_nans() if frame[numbers].dtype.is_float() else frame[numbers]
        mean: Any = column.mean()
        median: Any = column.median()
        if mean is not None:
            said.append(
                f'impute="mean" puts the mean of its column for a missing number ({numbers!r}: '
                f'{mean:.6g}), impute="median" the median ({median:.6g}), impute="zero" 0'
            )
        else:
            said.append('impute="zero" puts 0 for a missing number')
    if words and numbers:
        said.append("each of them counts a missing word as none of the words of its column")
    elif words:
        said.append(f'impute="zero" counts a missing word as none of the words of {words!r}')
    text = "; ".join(said)
    return f"{text}. Or leave out the rows, or the columns with drop=."


# ---- what is odd about columns


def remarks_on(frame: polars.DataFrame, schema: dict[str, Any]) -> tuple[str, ...]:
    """Columns that look like ids: whole numbers or words that are all different."""
    ids = []
    for column in schema["columns"]:
        series = frame[column["name"]]
        whole = column["type"] == "category" or series.dtype.is_integer()
        if whole and LEAST_IDS <= frame.height == series.n_unique():
            ids.append(repr(column["name"]))
    if not ids:
        return ()
    subject = f"column {ids[0]} looks like an id" if len(ids) == 1 else "columns look like ids"
    named = "" if len(ids) == 1 else f": {', '.join(ids[:MOST_NAMES])}"
    verb, it = ("its", "it") if len(ids) == 1 else ("their", "them")
    names = ",".join(ids).replace("'", "")
    return (
        f"{subject}{named}: all {frame.height:,} of {verb} values are different, so they say "
        f"nothing about other data. Leave {it} out with drop={names!r}.",
    )


def require_impute(impute: str | None) -> None:
    """Refuse a word that is no way to fill gaps."""
    if impute is not None and impute not in IMPUTE:
        listed = ", ".join(map(repr, IMPUTE))
        raise ValueError(f"impute must be one of {listed} or None, got {impute!r}.")
