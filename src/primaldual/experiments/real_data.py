"""The two real data sets of the paper."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from primaldual.datasets import data_folder, load


def leukemia() -> tuple[Any, Any, str]:
    """X, y and a label of the leukemia training data, as LIBSVM distributes it."""
    return (*load("leu"), "leukemia")


def news() -> tuple[Any, Any, str]:
    """X, y and a label of news20.binary, or of its rebuild where only that is at hand."""
    name = "news20.binary"
    folder = data_folder()
    if folder is not None and not any(folder.glob(f"{name}.*")):
        rebuilt = "news20-rebuilt"
        name = rebuilt if any(folder.glob(f"{rebuilt}.*")) else name
    label = "news" if name == "news20.binary" else "news (rebuild, not the original file)"
    return (*_load_once(name), label)


@lru_cache(maxsize=1)
def _load_once(name: str) -> tuple[Any, Any]:
    """Reading the news takes seconds, and two items want them."""
    return load(name)
