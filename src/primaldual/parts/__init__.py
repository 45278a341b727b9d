"""Data in parts: in memory, on disk or on a cluster, behind two verbs.

    parts.sum(step, *shared)   Σ over the parts of step(part, *shared)
    parts.map(step, *shared)   one result per part, in the order of their numbers

A step is a pure function of its part and of what is shared, so that a part that was lost can be
loaded again and nothing else is lost with it. Parts have numbers that do not change, and sums are
added in a tree over these numbers that depends on their count alone: every backend, with any number
of threads or workers, gives the same bits.
"""

from __future__ import annotations

from .base import Block, PartError, Parts, PartsWarning
from .threads import InMemory, cut

__all__ = ["Block", "InMemory", "PartError", "Parts", "PartsWarning", "cut"]
