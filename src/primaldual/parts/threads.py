"""Parts in the memory of this process, worked on by threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from .._threads import checked, default_count, for_each, using
from .base import Block, Parts, Step, call
from .tree import tree_sum

# Parts per thread whose results are held at a time.
AHEAD = 4


class InMemory(Parts):
    """Parts that are all in memory; kernels release the GIL, so threads share the work.

    Parameters
    ----------
    parts : sequence
        The parts, for ``solve`` and the estimators each a ``Block``.
    threads : int, optional
        How many work at a time; by default as many as the process may use cores, and one in a
        worker of joblib, dask or pytest-xdist.
    sources : sequence of str, optional
        Where the parts come from, for error messages.

    Examples
    --------
    >>> parts = InMemory([[1, 2], [3], []])
    >>> parts.sum(sum), parts.map(len), parts.count
    (6, [2, 1, 0], 3)
    """

    def __init__(
        self,
        parts: Sequence[Any],
        threads: int | None = None,
        sources: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self.parts = list(parts)
        self.count = len(self.parts)
        self.threads = max(1, min(checked("threads", threads) or default_count(), self.count))
        self.sources = ["memory"] * self.count if sources is None else list(sources)

    def then(self, step: Step, *shared: Any, each: Sequence[Any] | None = None) -> InMemory:
        """The parts that a step makes, in memory as well."""
        made = [
            call(step, number, self.sources[number], part, own_first(each, number, shared))
            for number, part in enumerate(self.parts)
        ]
        return InMemory(made, self.threads, self.sources)

    def workers(self) -> int:
        """The threads."""
        return self.threads

    def apart(self) -> InMemory:
        """These parts."""
        return self

    def load(self, number: int) -> Any:
        """One part."""
        return self.parts[number]

    def _map(self, step: Step, shared: tuple[Any, ...]) -> list[Any]:
        return list(self._results(step, shared))

    def _sum(self, step: Step, shared: tuple[Any, ...]) -> Any:
        return tree_sum(self._results(step, shared))

    def _results(self, step: Step, shared: tuple[Any, ...]) -> Iterator[Any]:
        """The results in order; no more are made ahead than a few for every thread."""
        jobs = [(step, k, self.sources[k], part, shared) for k, part in enumerate(self.parts)]
        # With a single part, threads share the work inside it.
        threads = None if self.count == 1 else self.threads
        ahead = AHEAD * self.threads
        for first in range(0, self.count, ahead):
            with using(threads):
                results = for_each(lambda job: call(*job), jobs[first : first + ahead])
            yield from results


def own_first(each: Sequence[Any] | None, number: int, shared: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a step after its part: what belongs to this part, then what is shared."""
    return shared if each is None else (each[number], *shared)


def cut(X: Any, y: Any, count: int, sample_weight: Any = None) -> InMemory:
    """Data in memory as ``count`` parts of consecutive rows, which are not copied.

    Parameters
    ----------
    X : array or sparse matrix in CSR format, of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    count : int
        The number of parts, of about the same number of rows.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    InMemory
    """
    n = X.shape[0]
    ends = [n * k // count for k in range(count + 1)]
    slices = [slice(first, last) for first, last in pairwise(ends)]
    weights = [None if sample_weight is None else sample_weight[rows] for rows in slices]
    blocks = [Block(X[rows], y[rows], w) for rows, w in zip(slices, weights, strict=True)]
    return InMemory(blocks, sources=[f"rows {rows.start} to {rows.stop - 1}" for rows in slices])
