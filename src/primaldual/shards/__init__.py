"""Data on disk in shards: written once with its rows shuffled, read as parts of a fit.

A folder holds ``shards.json`` and, for every shard, NumPy arrays that are mapped into memory
without a copy: ``indptr``, ``indices`` and ``data`` of sparse rows or ``X`` of dense ones, ``y``,
and ``sample_weight`` where there are weights. Nothing is pickled; every shard has a checksum.
"""

from __future__ import annotations

from .reading import Shards
from .reading import open_folder as open
from .writing import write

__all__ = ["Shards", "open", "write"]
