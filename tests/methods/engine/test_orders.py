"""Random orders: complete, and with neighbours together only where that pays."""

from __future__ import annotations

import numpy as np
import pytest

from primaldual.methods.engine import orders


@pytest.mark.parametrize(("size", "run"), [(1, 3), (10, 4), (1000, 7), (64, 16)])
def test_random_runs_keep_neighbours_together_and_leave_none_out(size, run):
    order, cuts = np.empty(size, dtype=np.int64), set()
    for seed in range(1, 40):
        orders.random_runs(seed, run, order)
        assert sorted(order) == list(range(size))
        # One and the same run for all but those where the runs are cut and the order jumps.
        apart = np.abs(np.diff(order)) >= run
        assert apart.sum() <= size // run + 1
        cuts.add(tuple(order[:run]))
    assert len(cuts) > min(size, 20) // 2


def test_neighbours_are_visited_together_only_where_there_are_very_many_of_them():
    far = orders.FAR + 1
    assert orders.run_length(10 * orders.RUNS, orders.FAR) == 1  # in a cache: nothing to gain
    assert orders.run_length(2 * orders.RUNS - 1, far) == 1
    assert orders.run_length(2 * orders.RUNS, far) == 2
    assert orders.run_length(10**9, far) == orders.LONGEST_RUN
