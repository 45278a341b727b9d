"""A sum over numbered parts, added in a tree that depends on their number alone.

Neighbours are added first, then neighbouring pairs, and so on; one without a neighbour waits. A sum
is an array, a number, a tuple of sums, or None for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def add(left: Any, right: Any) -> Any:
    """The sum of two results of a step; None counts as nothing."""
    if left is None or right is None:
        return right if left is None else left
    if isinstance(left, tuple):
        added = [add(one, other) for one, other in zip(left, right, strict=True)]
        return type(left)(*added) if hasattr(left, "_fields") else tuple(added)
    return left + right


def tree_sum(results: Iterable[Any]) -> Any:
    """The sum of results that come in the order of their numbers, few of them held at a time.

    Examples
    --------
    >>> tree_sum([0.1, 0.2, 0.3, 0.4, 0.5]) == ((0.1 + 0.2) + (0.3 + 0.4)) + 0.5
    True
    """
    waiting: list[tuple[int, Any]] = []  # (how many levels were added, sum), from the left
    for result in results:
        level, total = 0, result
        while waiting and waiting[-1][0] == level:
            total = add(waiting.pop()[1], total)
            level += 1
        waiting.append((level, total))
    total = None
    while waiting:
        total = add(waiting.pop()[1], total)
    return total


def pairs(items: list[Any]) -> list[tuple[Any, ...]]:
    """Neighbours, to be added on one level of the tree; the last may be alone."""
    return [tuple(items[i : i + 2]) for i in range(0, len(items), 2)]


def size_in_bytes(value: Any) -> int:
    """The bytes of the numbers in a result, or in what is shared."""
    if value is None:
        return 0
    if isinstance(value, tuple | list):
        return sum(size_in_bytes(each) for each in value)
    if is_dataclass(value):
        return sum(size_in_bytes(getattr(value, field.name)) for field in fields(value))
    return int(np.asarray(value).nbytes) if isinstance(value, np.ndarray | np.number) else 8
