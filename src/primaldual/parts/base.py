"""What every backend offers: ``sum``, ``map``, ``then``, ``count``, and a meter of the rounds."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from .._threads import one_blas_thread
from .tree import size_in_bytes, tree_sum

Step = Callable[..., Any]
Self = TypeVar("Self", bound="Parts")


class PartError(RuntimeError):
    """A part that cannot be read or worked on, or workers that are gone."""


class PartsWarning(UserWarning):
    """Parts that will make a fit slow."""


class Block(NamedTuple):
    """The examples of one part, as a user stores them."""

    X: Any  # array or sparse matrix, one example per row
    y: Any = None  # labels or targets, one per row
    sample_weight: Any = None  # one per row; None for equal weights
    checksum: int | None = None  # of the numbers, where whoever loads the block verifies it


@dataclass
class Meter:
    """What has been asked of the parts."""

    rounds: int = 0  # calls of sum and map, each of which visits every part once
    bytes_moved: int = 0  # numbers sent to the parts and back, 0 inside one process


class Parts(ABC):
    """Parts of the data with numbers 0, 1, … that do not change.

    Attributes
    ----------
    count : int
        The number of parts.
    sources : sequence of str
        Where each part comes from, for error messages.
    """

    count: int
    sources: Sequence[str]
    is_on_disk = False  # whether every round reads the parts anew from this machine's disk
    is_remote = False  # whether what is shared travels to other processes

    def __init__(self) -> None:
        self.meter = Meter()

    def sum(self, step: Step, *shared: Any) -> Any:
        """Σ over the parts of ``step(part, *shared)``, added in a fixed tree over part numbers.

        Parameters
        ----------
        step : callable
            A function of a module, without side effects; its result is an array, a number, or a
            tuple of them.
        *shared
            What every part is given.

        Returns
        -------
        As the step's results.
        """
        total = self._sum(step, shared)
        self._count(shared, total, self.count)
        return total

    def map(self, step: Step, *shared: Any) -> list[Any]:
        """``step(part, *shared)`` for every part, in the order of their numbers.

        Parameters
        ----------
        step : callable
            As for ``sum``.
        *shared
            What every part is given.

        Returns
        -------
        list
        """
        results = self._map(step, shared)
        self._count(shared, results, 1)
        return results

    @abstractmethod
    def then(self, step: Step, *shared: Any, each: Sequence[Any] | None = None) -> Parts:
        """The parts ``step(part, *shared)``, or ``step(part, each[number], *shared)``.

        They are kept where the parts are kept, and made again whenever a part is loaded again. A
        step that returns None leaves the part out of all that follows.
        """

    def beside(self, step: Step, each: Sequence[Any], *shared: Any) -> Parts:
        """The parts step(part, each[number], *shared) of this fit, on the same meter."""
        made = self.then(step, *shared, each=each)
        made.meter = self.meter
        if self.is_remote:
            self.meter.bytes_moved += size_in_bytes(list(each))
        return made

    def workers(self) -> int:
        """How many parts are worked on at a time."""
        return 1

    def apart(self) -> Parts | None:
        """The smallest parts there are, where ``load`` brings one here; None if they are far."""
        return None

    def load(self, number: int) -> Any:
        """One part, where parts are within reach."""
        raise NotImplementedError

    def metered(self: Self) -> Self:
        """The same parts with a meter of their own that begins at 0."""
        made = copy.copy(self)
        made.meter = Meter()
        return made

    @abstractmethod
    def _map(self, step: Step, shared: tuple[Any, ...]) -> list[Any]:
        """One result per part."""

    def _sum(self, step: Step, shared: tuple[Any, ...]) -> Any:
        return tree_sum(self._map(step, shared))

    def _count(self, shared: tuple[Any, ...], results: Any, copies: int) -> None:
        self.meter.rounds += 1
        if self.is_remote:
            there, back = self.count * size_in_bytes(shared), copies * size_in_bytes(results)
            self.meter.bytes_moved += there + back


def call(step: Step, number: int, source: str, part: Any, shared: tuple[Any, ...]) -> Any:
    """step(part, *shared), or an error that names the part; nothing for a part that is left out."""
    if part is None:
        return None
    try:
        with one_blas_thread():
            return step(part, *shared)
    except PartError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise PartError(f"part {number} ({source}): {kind}: {error}") from error
