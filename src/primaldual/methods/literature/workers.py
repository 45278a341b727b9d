"""Workers: where the parts of a distributed method live and do their work.

A distributed method cuts its data into parts and gives them to a ``Workers`` object. Whatever
crosses between the parts and the method goes through ``run``: the shared arguments on the way
there, the results on the way back. A step may change its part, but not the shared arguments, so
that the same method runs on other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol


class Workers(Protocol):
    """What a method needs of its workers; an object of this kind is built from its parts."""

    def run(self, step: Callable[..., Any], *shared: Any) -> list[Any]:
        """step(part, *shared) on every part, where the part lives; the results in their order."""
        ...


# Builds the workers of a method from its parts.
Crew = Callable[[list[Any]], Workers]


class InProcess:
    """All parts in this process, one after the other.

    Examples
    --------
    >>> workers = InProcess([[1, 2], [3]])
    >>> workers.run(lambda part, factor: factor * sum(part), 10)
    [30, 30]
    """

    def __init__(self, parts: Iterable[Any]) -> None:
        self.parts = list(parts)

    def run(self, step: Callable[..., Any], *shared: Any) -> list[Any]:
        """step(part, *shared) for every part."""
        return [step(part, *shared) for part in self.parts]


def cut(size: int, length: int, parts: int) -> list[tuple[int, int]]:
    """The ends of ``parts`` blocks of ``length`` coordinates each, the last ones cut off."""
    return [(min(part * length, size), min((part + 1) * length, size)) for part in range(parts)]
