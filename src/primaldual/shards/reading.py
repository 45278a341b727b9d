"""Shards as the parts of a fit: one is worked on while a thread reads the next."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..parts import Block, Parts
from ..parts.base import Step, call
from ..parts.threads import own_first
from ..parts.tree import tree_sum
from .folder import read_manifest, read_shard, state_of, verify

# Parts that a folder is read in without a memory limit: the fewer, the more each resembles the
# whole; the more, the more evenly they share the work.
PARTS = 8
# Of a memory limit this fraction is one part: one is worked on, one is read, and a fit makes
# vectors and copies of the size of a part beside them.
SHARE = 1 / 5


def open_folder(folder: str | os.PathLike[str], memory: float | None = None) -> Shards:
    """The shards of a folder, to be passed to ``solve`` or to an estimator as X.

    Parameters
    ----------
    folder : path
        Written by ``primaldual.shards.write``.
    memory : float, optional
        Bytes that a fit may use for data; parts are made as small as that needs.

    Returns
    -------
    Shards

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from primaldual import LogisticRegression, shards
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> folder = tempfile.mkdtemp() + "/data"
    >>> shards.write((X, X[:, 0] > 0), folder, count=4)
    >>> opened = shards.open(folder)
    >>> opened.n, opened.d, opened.count
    (200, 3, 4)
    >>> LogisticRegression().fit(opened, None).coef_.shape
    (1, 3)
    """
    return Shards(Path(folder), memory)


class Shards(Parts):
    """Parts on disk; each is one shard, or several that follow each other.

    Attributes
    ----------
    n, d, nnz : int
        Examples, features and stored entries.
    """

    is_on_disk = True

    def __init__(self, folder: Path, memory: float | None = None) -> None:
        super().__init__()
        self.folder, self.manifest = folder, read_manifest(folder)
        self.n, self.d = int(self.manifest["n"]), int(self.manifest["d"])
        entries = self.manifest["shards"]
        self.nnz = sum(entry["nonzeros"] for entry in entries)
        self.groups = _groups([entry["bytes"] for entry in entries], memory, folder)
        self.count = len(self.groups)
        self.sources = [f"{folder}, shards {g[0]} to {g[-1]}" for g in self.groups]
        self.steps: list[tuple[Step, tuple[Any, ...], Sequence[Any] | None]] = []
        self.verified: dict[int, tuple[Any, ...]] = {}  # by shard: what its files were like

    @property
    def shape(self) -> tuple[int, int]:
        """Examples and features."""
        return self.n, self.d

    def then(self, step: Step, *shared: Any, each: Sequence[Any] | None = None) -> Shards:
        """The parts that a step makes whenever they are read."""
        made = copy.copy(self)
        made.steps = [*self.steps, (step, shared, each)]
        return made

    def apart(self) -> Shards:
        """The shards one by one."""
        if any(each is not None for _, _, each in self.steps):
            raise ValueError("these parts have steps with something of their own.")
        made = copy.copy(self)
        made.groups = [[shard] for group in self.groups for shard in group]
        made.count = len(made.groups)
        made.sources = [f"{self.folder}, shard {shard}" for shard in range(made.count)]
        return made

    def load(self, number: int) -> Any:
        """One part, read and verified, with all steps done."""
        part = call(self._read, number, self.sources[number], number, ())
        for step, shared, each in self.steps:
            mine = own_first(each, number, shared)
            part = call(step, number, self.sources[number], part, mine)
        return part

    def _read(self, number: int) -> Block:
        blocks = []
        for shard in self.groups[number]:
            block = read_shard(self.folder, shard, self.d)
            state = state_of(self.folder, shard)
            if self.verified.get(shard) != state:
                verify(self.folder, shard, block, self.manifest["shards"][shard]["checksum"])
                self.verified[shard] = state
            blocks.append(block)
        marks = [self.manifest["shards"][shard]["checksum"] for shard in self.groups[number]]
        block = joined(blocks)
        labels = self.manifest["labels"]
        if labels is not None:
            block = block._replace(y=np.array(labels)[block.y.astype(np.int64)])
        return block._replace(checksum=hash(tuple(marks)))

    def _map(self, step: Step, shared: tuple[Any, ...]) -> list[Any]:
        return list(self._results(step, shared))

    def _sum(self, step: Step, shared: tuple[Any, ...]) -> Any:
        return tree_sum(self._results(step, shared))

    def _results(self, step: Step, shared: tuple[Any, ...]) -> Iterator[Any]:
        """The results in order: while a part is worked on, a thread reads the next one."""
        with ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(self.load, 0)
            for number in range(self.count):
                part = ahead.result()
                if number + 1 < self.count:
                    ahead = reader.submit(self.load, number + 1)
                result = call(step, number, self.sources[number], part, shared)
                del part
                yield result


def joined(blocks: list[Block]) -> Block:
    """Several blocks as one; a single one is not copied."""
    if len(blocks) == 1:
        return blocks[0]
    Xs = [block.X for block in blocks]
    X = sparse.vstack(Xs, format="csr") if sparse.issparse(Xs[0]) else np.concatenate(Xs)
    weights = None
    if blocks[0].sample_weight is not None:
        weights = np.concatenate([block.sample_weight for block in blocks])
    return Block(X, np.concatenate([block.y for block in blocks]), weights)


def _groups(sizes: list[int], memory: float | None, folder: Path) -> list[list[int]]:
    """Shards that follow each other as parts of about the same size, within the memory."""
    count = min(PARTS, len(sizes))
    if memory is not None:
        largest = SHARE * float(memory)
        if max(sizes) > largest:
            raise ValueError(
                f"memory must be at least {max(sizes) / SHARE:.3g} bytes for the shards of "
                f"{folder}, the largest of which has {max(sizes)}, got {memory:.3g}. Write them "
                "again with a larger count."
            )
        while count < len(sizes) and max(map(sum, _cut(sizes, count))) > largest:
            count += 1
    return _cut(list(range(len(sizes))), count)


def _cut(sizes: list[int], count: int) -> list[list[int]]:
    """A list in ``count`` pieces of about the same length."""
    ends = [len(sizes) * k // count for k in range(count + 1)]
    return [sizes[ends[k] : ends[k + 1]] for k in range(count)]
