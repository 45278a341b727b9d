"""What a file becomes, what is refused, and how it is said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What to do about a missing library, until the package is on PyPI.
INSTALL = "pip install '.[all]' in a checkout of primaldual"


class FileError(ValueError):
    """A file that cannot be read; the text begins with its name, and its line where known."""


class FileWarning(UserWarning):
    """Something in a file that was left out."""


@dataclass(frozen=True)
class Limits:
    """What is refused as implausible, so that a bad file cannot exhaust the memory.

    Attributes
    ----------
    features
        The largest number of features; of rows as well, in formats that declare it. A model of
        the default, 268 million, takes 2 GB.
    ratio
        How many times larger than the archive its content may be. The first 64 MB are free.
    line
        The longest line of a text file, in bytes.

    Examples
    --------
    >>> Limits(features=10**9).ratio
    250.0
    """

    features: int = 2**28
    ratio: float = 250.0
    line: int = 2**28

    def __post_init__(self) -> None:
        for name in ("features", "ratio", "line"):
            if not getattr(self, name) > 0:
                raise ValueError(f"Limits.{name} must be positive, got {getattr(self, name)!r}.")


@dataclass(frozen=True)
class Table:
    """The content of a file: examples, their labels, and where they come from.

    Attributes
    ----------
    X
        Shape (n, d): a :class:`scipy.sparse.csr_array` or an array, of float64 or float32.
    y
        Shape (n,): numbers, or strings if the target is a column of words. ``None`` if the file
        has none.
    feature_names
        One a feature, ``None`` if the file names none.
    schema
        How the file became features, as plain dicts and lists. Pass it to :func:`read` to have
        another file become the same features.
    source
        The name of the file.
    spelling
        Number -> its text in the file, of labels that are not written as Python prints them:
        ``{1.0: "+1"}``. Empty if all are.
    remarks
        What is odd about columns, a sentence each.
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: list[str] | None
    schema: dict[str, Any]
    source: str
    spelling: dict[float, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        labels = "no labels" if self.y is None else f"{len(np.unique(self.y))} different labels"
        shape = " × ".join(map(str, self.X.shape))
        return f"<Table {self.source!r}: {shape} {type(self.X).__name__}, {labels}>"
