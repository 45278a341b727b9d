"""CSV and Parquet: from bytes to named columns, by polars."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .columns import Wanted, columns_of_words
from .labels import polars_module
from .memory import ADVICE, LEAST, POLARS_SPACE, address_space, available, expected, shortage
from .sources import FREE, UTF8_MARK, Source
from .table import FileError

if TYPE_CHECKING:
    import polars

# What stands for a missing value in a CSV file.
MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "?"]
SEPARATORS = ",;\t|"
# Rows by which the types of CSV columns are first guessed: looking at all of them takes five times
# as long as reading does. Where a later row is of another type, all are looked at.
GUESS_ROWS = 1000
# Bytes from which the names of the columns are taken.
BEGINNING = 1 << 20


# ---- from bytes to columns


def read_csv(source: Source, wanted: Wanted) -> tuple[polars.DataFrame, str | None]:
    """Read text with one column name each in its first line, or none if all are numbers.

    Parameters
    ----------
    source
        The stream.
    wanted
        Which columns to read.

    Returns
    -------
    frame
        The columns; those of labels, and of what a schema knows as words, as text.
    label
        The name of the column with the labels; ``None`` if there is none.
    """
    require_memory(source, "csv")
    pl = polars_module()
    first = source.head.removeprefix(UTF8_MARK).split(b"\n")[0].decode("utf-8", "replace").strip()
    separator = "\t" if source.ending == ".tsv" else max(SEPARATORS, key=first.count)
    has_names = not all(_is_number(field.strip(' "')) for field in first.split(separator))
    options: dict[str, Any] = {"separator": separator, "null_values": MISSING}

    content = bytes(source.read_all())
    content = content.removeprefix(UTF8_MARK)
    label: str | None = None

    def parse() -> Any:
        nonlocal label
        beginning = _beginning(content)
        names = _names(beginning, has_names, options)
        places = wanted.places(source, names)
        at = wanted.label(source, names)
        label = None if at is None else names[at]
        texts = {*columns_of_words(wanted.schema), *([] if label is None else [label])}
        # Polars makes names single; only their places are certain.
        own = pl.read_csv(beginning, n_rows=0, has_header=has_names, **options).columns
        options.update(
            has_header=has_names,
            columns=places,
            schema_overrides={own[k]: pl.String for k in places if names[k] in texts},
        )
        frame = _typed(content, options)
        frame.columns = [names[k] for k in places]
        return frame.with_columns(_unpadded(column) for column in frame if column.name not in texts)

    return _parsed(source, parse), label


def _beginning(content: bytes) -> bytes:
    """Some whole lines, by which the names are known; all where a line may be longer."""
    if len(content) <= BEGINNING:
        return content
    end = content.rfind(b"\n", 0, BEGINNING) + 1
    quoted = content.count(b'"', 0, end) % 2  # a line break inside quotes
    return content if end == 0 or quoted else content[:end]


def require_memory(source: Source, kind: str) -> None:
    """Refuse a file that cannot be held, before polars ends the process for it."""
    own = 0.0 if "polars" in sys.modules else POLARS_SPACE
    size = source.size or 0
    space, there = address_space(), available()
    if space is not None:
        there = max(space - own, 0.0)
    if there is not None and LEAST[kind] * size > there:
        need = expected(kind, size, source.is_packed)
        raise FileError(shortage(source.name, need, there))


def _names(content: bytes, has_names: bool, options: dict[str, Any]) -> list[str]:
    """The names of the columns as they stand in the file, also if one stands twice."""
    pl = polars_module()
    if not has_names:
        names = pl.read_csv(content, n_rows=0, has_header=False, **options).columns
        return [str(name) for name in names]
    line = {"separator": options["separator"], "has_header": False, "infer_schema": False}
    row = pl.read_csv(content, n_rows=1, **line).row(0)
    # Polars leaves the doubled quotes of a quoted name as they are.
    return [(name or "").replace('""', '"') for name in row]


def _typed(content: bytes, options: dict[str, Any]) -> polars.DataFrame:
    """The columns, of types by the first rows; by all rows if a later one does not fit."""
    pl = polars_module()
    try:
        return pl.read_csv(content, infer_schema_length=GUESS_ROWS, **options)
    except pl.exceptions.ComputeError:
        return pl.read_csv(content, infer_schema_length=None, **options)


def _unpadded(column: polars.Series) -> polars.Series:
    """A column of numbers with blanks around them as numbers; any other as it is."""
    pl = polars_module()
    if column.dtype != pl.String:
        return column
    numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    missing = column.null_count()
    return numbers if numbers.null_count() == missing < len(column) else column


# Damaged files can make polars end the process, so a process of its own unpacks them.
UNPACK = """
import io, sys, polars
content, most, ratio = sys.stdin.buffer.read(), float(sys.argv[1]), float(sys.argv[2])
lazy = polars.scan_parquet(io.BytesIO(content))
rows, width = lazy.select(polars.len()).collect().item(), len(lazy.collect_schema())
large = (
    f"it unpacks to {rows:,} rows of {width:,} columns, more than {ratio:g} times its size, which "
    "real data hardly does. If it is right, raise Limits(ratio=…)"
)
if 8.0 * rows * width > most:
    sys.exit(large)
frame = polars.read_parquet(io.BytesIO(content))
if frame.estimated_size() > most:
    sys.exit(large)
frame.write_ipc(sys.stdout.buffer)
"""


def read_parquet(source: Source) -> polars.DataFrame:
    """Read a Parquet file."""
    pl = polars_module()
    content, ratio = source.read_all(), source.limits.ratio
    most = max(FREE, ratio * len(content))  # bytes
    command = [sys.executable, "-P", "-c", UNPACK, repr(most), repr(ratio)]
    environment = {**os.environ, "RUST_BACKTRACE": "0", "PYTHONIOENCODING": "utf-8"}
    unpacked = subprocess.run(
        command, input=content, capture_output=True, env=environment, check=False
    )
    if unpacked.returncode:
        said = unpacked.stderr.decode("utf-8", "replace").strip().splitlines()
        said = [line for line in said if not line.startswith("note:")]
        reason = said[-1] if said else f"polars ended with code {unpacked.returncode}"
        if unpacked.returncode < 0 or "memory allocation" in reason:
            reason = f"polars ran out of memory ({reason}). {ADVICE}"
        reason = re.sub(r"^[\w.]+(Error|Exception): ", "", reason)
        raise source.error(f"cannot be read: {reason.rstrip('.')}.")
    return _parsed(source, lambda: pl.read_ipc(io.BytesIO(unpacked.stdout)))


def _parsed(source: Source, parse: Callable[[], Any]) -> Any:
    """The columns, or an error in words; polars panics on some damaged files."""
    pl = polars_module()
    try:
        frame = parse()
    except FileError:
        raise
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
