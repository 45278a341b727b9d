"""Threads: how many, one pool per process for our kernels, and BLAS held to one thread of its own.

Work is cut into parts by the data alone; threads only execute parts, so their number changes no
bit of a result. BLAS is held to one thread because its own cut does: we run several calls of it.
"""

from .blas import one_blas_thread
from .count import checked, default_count
from .pool import for_each, tasks
from .scope import DISPATCH, PART, Scope, current, using

__all__ = [
    "DISPATCH",
    "PART",
    "Scope",
    "checked",
    "current",
    "default_count",
    "for_each",
    "one_blas_thread",
    "tasks",
    "using",
]
