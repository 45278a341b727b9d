"""Shrinking: examples that stay on a flat side of their loss are left out of most epochs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._numba.compile import kernel_part
from ..._types import IntArray

# How much these matter, in passes to a gap of 1e-6 on three problems of generated text (squared
# hinge and hinge, 150 to 200 examples, two seeds): IDLE_VISITS of 1 or 4, FULL_EVERY of 4 or 16,
# SELDOM of 8 or 256, GROWTH of 0 or 0.1 and MOST_ACTIVE of 0.95 change them by at most 9 %, up or
# down.

# Visits in a row after which an example that does not move, on a flat side of its loss, becomes
# inactive.
IDLE_VISITS = 2
# All examples are visited in one epoch out of FULL_EVERY; in one out of twice as many, and so on up
# to SELDOM, while that makes the active set larger by no more than the fraction GROWTH.
FULL_EVERY, SELDOM = 8, 64
GROWTH = 0.02
# Nothing is left out where more than this fraction of the examples is active: an epoch would be
# hardly shorter, and the gap seen along it would not be that of all examples. With 0.6 the problems
# above take 8 to 37 % more passes.
MOST_ACTIVE = 0.8


class ActiveSet(NamedTuple):
    """The examples that epochs visit; numbers that change are arrays of one entry."""

    order: IntArray  # all examples, the active ones first
    idle: IntArray  # visits in a row in which an example has not moved, at most IDLE_VISITS
    size: IntArray  # the number of active examples
    size_before: IntArray  # what it was before the last epoch over all examples
    since_full: IntArray  # epochs since then
    full_every: IntArray  # epochs from one over all examples to the next


def all_active(n: int) -> ActiveSet:
    """The active set of all n examples."""
    idle = np.zeros(n, dtype=np.int8)
    return ActiveSet(np.arange(n), idle, *(np.array([k]) for k in (n, n, FULL_EVERY, FULL_EVERY)))


@kernel_part
def next_size(active):  # type: ignore[no-untyped-def]
    """The number of examples that the next epoch visits: the active ones, or all if that is due."""
    if active.since_full[0] < active.full_every[0]:
        return active.size[0]
    active.since_full[0], active.size_before[0] = 0, active.size[0]
    return active.order.size


@kernel_part
def shrink(active, visited):  # type: ignore[no-untyped-def]
    """After an epoch over the first ``visited`` examples: move idle ones behind the active ones."""
    order, idle, n = active.order, active.idle, active.order.size
    size = 0
    for k in range(visited):
        j = order[k]
        if idle[j] < IDLE_VISITS:
            order[size], order[k] = j, order[size]
            size += 1
    if visited == n:
        steady = size <= (1.0 + GROWTH) * active.size_before[0] < n
        active.full_every[0] = min(2 * active.full_every[0], SELDOM) if steady else FULL_EVERY
    active.size[0] = size if size <= MOST_ACTIVE * n else n
