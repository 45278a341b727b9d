"""Random orders of the coordinates, new in every epoch of coordinate descent."""

from __future__ import annotations

import numpy as np

from ..._numba.compile import kernel
from ...data.prefetch import FAR

# Where the data is in no cache, neighbours in memory are visited together: at most LONGEST_RUN
# coordinates, as long as RUNS runs of them remain. With 20,000 runs of 16, descent on generated
# text needs more epochs; with 400,000 runs of 4 hardly any more.
RUNS, LONGEST_RUN = 200_000, 16


@kernel
def shuffle(seed, order):  # type: ignore[no-untyped-def]
    """A Fisher-Yates shuffle by Marsaglia's xorshift64; return the generator's new state."""
    state = np.uint64(seed)
    for last in range(order.size - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        # The upper half of the bits as a fraction of 2³²; a remainder takes as long as a visit.
        other = np.int64(((state >> np.uint64(32)) * np.uint64(last + 1)) >> np.uint64(32))
        order[last], order[other] = order[other], order[last]
    return np.int64(state >> np.uint64(1)) | 1


def run_length(coordinates: int, nonzeros: int) -> int:
    """The coordinates in a run of ``random_runs``: 1 unless the data is in no cache."""
    return max(min(coordinates // RUNS, LONGEST_RUN), 1) if nonzeros > FAR else 1


@kernel
def random_runs(seed, run, order):  # type: ignore[no-untyped-def]
    """Fill ``order`` with a random order of all coordinates in which neighbours stay together.

    Runs of ``run`` neighbours are shuffled, and so are the neighbours in each. Where the runs are
    cut is random too: no coordinate has the same neighbours in every epoch. Return the generator's
    new state.
    """
    size = order.size
    cut = np.int64(np.uint64(seed) % np.uint64(run))
    runs = np.empty((size + cut + run - 1) // run, dtype=np.int64)
    for k in range(runs.size):
        runs[k] = k
    seed = shuffle(seed, runs)
    at = 0
    for k in range(runs.size):
        first = max(runs[k] * run - cut, 0)
        last = min(runs[k] * run - cut + run, size)
        for j in range(first, last):
            order[at + j - first] = j
        seed = shuffle(seed, order[at : at + last - first])
        at += last - first
    return seed
