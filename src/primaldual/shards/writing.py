"""Write shards: rows are dealt to buckets at random as they come, then every bucket is shuffled.

Memory holds one piece of the source or one bucket at a time. What was dealt is kept in a journal,
so that the same call goes on where an earlier one was killed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..parts import Block
from .buckets import Buckets
from .folder import FORMAT, MANIFEST, read_manifest, shard_name, write_json, write_shard
from .sources import feed, identity

JOURNAL = "writing.json"
# Shards of 1.6 % of the data each.
COUNT = 64

Progress = Callable[[int, int | None], object]


def write(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    count: int = COUNT,
    seed: int = 0,
    progress: Progress | None = None,
) -> None:
    """Write data to a folder of shards, its rows shuffled.

    Parameters
    ----------
    source : path, list of paths, (X, y), (X, y, sample_weight), Parts, or iterable of Block
        Files as ``primaldual.files.read`` takes them; LIBSVM text is read in pieces and may be
        larger than memory, other files are read one at a time. X may be a Dask collection.
    folder : path
        Created if it does not exist. A call that was interrupted goes on if it is made again.
    count : int
        The number of shards.
    seed : int
        For the order of the rows.
    progress : callable, optional
        Called with the bytes read and the bytes of all files, where they are known.
    """
    place = Path(folder)
    if (place / MANIFEST).exists():
        raise FileExistsError(f"{place} holds shards already. Remove it, or name another folder.")
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}.")
    place.mkdir(parents=True, exist_ok=True)
    journal = _Journal(place, {"source": identity(source), "count": count, "seed": seed})
    buckets = Buckets(place, count, journal.state)
    if not journal.state["dealt"]:
        _deal(source, buckets, journal, seed, progress)
    _finish(place, buckets, journal, seed)


def _deal(
    source: Any, buckets: Buckets, journal: _Journal, seed: int, progress: Progress | None
) -> None:
    """Deal the rows of the source to the buckets, piece by piece."""
    seen = 0

    def consume(block: Block, one_based: bool) -> None:
        nonlocal seen
        seen += 1
        if seen > journal.state["pieces"]:
            rng = np.random.default_rng([seed, seen])
            buckets.add(block, one_based, rng)
            journal.state["pieces"] = seen
            journal.save()

    buckets.cut_back()
    schema = feed(source, consume, progress)
    journal.state["schema"] = schema
    if not journal.state["n"]:
        raise ValueError("the source has no examples.")
    journal.state["dealt"] = True
    journal.save()


def _finish(place: Path, buckets: Buckets, journal: _Journal, seed: int) -> None:
    """Shuffle every bucket into a shard; then the manifest, which makes the folder complete."""
    entries = []
    for number in range(buckets.count):
        done = place / shard_name(number) / "entry.json"
        if done.exists():
            entries.append(json.loads(done.read_text(encoding="utf-8")))
            continue
        order = np.random.default_rng([seed, 0, number])
        entries.append(write_shard(place, number, buckets.shuffled(number, order)))
    state = journal.state
    write_json(
        place / MANIFEST,
        {
            "format": FORMAT, "n": state["n"], "d": buckets.width, "labels": state["labels"],
            "sparse": state["sparse"], "seed": seed, "schema": buckets.schema,
            "source": state["source"], "shards": entries,
        },
    )  # fmt: skip
    shutil.rmtree(buckets.place, ignore_errors=True)
    (place / JOURNAL).unlink(missing_ok=True)
    read_manifest(place)


class _Journal:
    """What has been written so far, on disk."""

    def __init__(self, place: Path, asked: dict[str, Any]) -> None:
        self.path = place / JOURNAL
        self.state: dict[str, Any] = {
            **asked, "pieces": 0, "n": 0, "highest": -1, "lowest": None, "one_based": False,
            "sparse": None, "schema": None, "labels": None, "weights": None, "kinds": {},
            "sizes": {}, "dealt": False,
        }  # fmt: skip
        if self.path.exists():
            before = json.loads(self.path.read_text(encoding="utf-8"))
            other = [name for name in asked if before.get(name) != asked[name]]
            if other:
                raise ValueError(
                    f"{place} holds unfinished shards of another {other[0]}: "
                    f"{before.get(other[0])!r} instead of {asked[other[0]]!r}. Remove the folder."
                )
            self.state = before

    def save(self) -> None:
        """Make what was done so far survive a kill."""
        write_json(self.path, self.state)
