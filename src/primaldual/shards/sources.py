"""Where shards come from: files, arrays, parts and iterables, as a stream of blocks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..files import read
from ..files.reading import guess_format
from ..files.sources import Source
from ..files.svmlight import each_piece
from ..files.table import Limits
from ..parts import Block, Parts
from ..parts.collections import as_parts, is_collection

# Entries of a piece of LIBSVM text: 64 MB of numbers.
PIECE = 4_000_000
# Rows of a piece of arrays in memory.
ROWS = 100_000

# Called with a block, and whether its indices may begin at 1.
Consume = Callable[[Block, bool], None]


def is_path(source: Any) -> bool:
    """Whether a source is the name of a file."""
    return isinstance(source, str | os.PathLike)


def identity(source: Any) -> Any:
    """What tells one source from another, as far as it is known without reading it."""
    paths = [source] if is_path(source) else source
    if isinstance(paths, list) and paths and all(is_path(path) for path in paths):
        return [[os.fspath(path), os.path.getsize(path)] for path in paths]
    return type(source).__name__


def feed(source: Any, consume: Consume, progress: Any = None) -> dict[str, Any] | None:
    """Hand over the blocks of a source, in its order; the schema of its files, if they have one."""
    if is_path(source):
        source = [source]
    if isinstance(source, list) and source and all(is_path(path) for path in source):
        return _feed_files(source, consume, progress)
    if isinstance(source, Parts):
        for block in source.map(_itself) if source.count else ():
            consume(block, False)
    elif isinstance(source, tuple) and not isinstance(source, Block):
        _feed_arrays(source, consume)
    else:
        for block in [source] if isinstance(source, Block) else source:
            consume(Block(*block), False)
    return None


def _feed_files(paths: list[Any], consume: Consume, progress: Any) -> dict[str, Any] | None:
    total, before, schema = sum(Path(path).stat().st_size for path in paths), 0, None
    for path in paths:
        seen = before

        def watch(done: int, of: int | None, seen: int = seen) -> None:
            if progress is not None:
                progress(seen + done, total)

        with Source(path, Limits(), watch) as opened:
            if guess_format(opened) == "svmlight":
                each_piece(opened, PIECE, lambda X, y: consume(Block(X, y), True))
                before += Path(path).stat().st_size
                continue
        table = read(path, schema=schema, progress=watch)
        if table.y is None:
            raise ValueError(f"{path}: the file has no labels.")
        schema = table.schema
        consume(Block(table.X, table.y), False)
        before += Path(path).stat().st_size
    return schema


def _feed_arrays(source: tuple[Any, ...], consume: Consume) -> None:
    X, y, weights = (*source, None)[:3]
    if is_collection(X):
        parts: Any = as_parts(X, y, weights)
        for number in range(parts.count):
            consume(parts.parts[number].compute(), False)
        return
    X = X.tocsr() if hasattr(X, "tocsr") else X
    for first in range(0, X.shape[0], ROWS):
        rows = slice(first, first + ROWS)
        consume(Block(X[rows], y[rows], None if weights is None else weights[rows]), False)


def _itself(block: Block) -> Block:
    return block
