"""primaldual.parts: two verbs, stable numbers, one order of sums on every backend."""

from __future__ import annotations

import numpy as np
import pytest

from primaldual.parts import Block, InMemory, PartError, Parts, cut
from primaldual.parts.tree import add, pairs, size_in_bytes, tree_sum


def scaled(part, factor):
    return factor * part


def moments(part, power):
    return part.sum(), (part**power).reshape(1, -1)[:, :2]


def fails_on_two(part):
    if part[0] == 2.0:
        raise OSError("disk on fire")
    return part


def numbers(count, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(3) * 10.0 ** rng.integers(-8, 8) for _ in range(count)]


def level_by_level(items):
    while len(items) > 1:
        items = [pair[0] if len(pair) == 1 else add(*pair) for pair in pairs(items)]
    return items[0]


@pytest.mark.parametrize("count", range(1, 40))
def test_a_stream_is_added_in_the_same_tree_as_level_by_level(count):
    items = numbers(count, seed=count)
    assert np.array_equal(tree_sum(items), level_by_level(items))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_sums_have_the_same_bits_with_any_number_of_threads(threads):
    items = numbers(23)
    expected = level_by_level([scaled(item, 1 / 3) for item in items])
    assert np.array_equal(InMemory(items, threads).sum(scaled, 1 / 3), expected)


def test_map_keeps_the_order_of_the_parts():
    assert InMemory([3.0, 1.0, 2.0], threads=3).map(scaled, 2.0) == [6.0, 2.0, 4.0]


def test_sums_of_tuples_are_added_entry_by_entry():
    items = numbers(5)
    total, powers = InMemory(items).sum(moments, 2)
    assert total == level_by_level([item.sum() for item in items])
    assert powers.shape == (1, 2)


def test_what_a_step_makes_of_parts_are_parts_again():
    parts = InMemory([1.0, 2.0, 3.0]).then(scaled, 10.0)
    assert isinstance(parts, Parts) and parts.map(scaled, 1.0) == [10.0, 20.0, 30.0]
    own = InMemory([1.0, 2.0]).then(
        lambda part, mine, shared: part * mine + shared, 5.0, each=[1, 2]
    )
    assert own.map(scaled, 1.0) == [6.0, 9.0]


def test_a_part_of_which_a_step_made_nothing_is_left_out():
    parts = InMemory([1.0, 2.0, 3.0]).then(lambda part: None if part == 2.0 else part)
    assert parts.sum(scaled, 1.0) == 4.0
    assert parts.map(scaled, 1.0) == [1.0, None, 3.0]


def test_an_error_names_the_part_and_its_source():
    parts = InMemory([np.ones(1), 2 * np.ones(1)], sources=["one.npy", "two.npy"])
    with pytest.raises(PartError, match=r"part 1 \(two.npy\): OSError: disk on fire"):
        parts.sum(fails_on_two)


def test_rounds_are_counted_and_nothing_moves_inside_one_process():
    parts = InMemory(numbers(4))
    parts.sum(scaled, 1.0)
    parts.map(scaled, 1.0)
    assert (parts.meter.rounds, parts.meter.bytes_moved) == (2, 0)
    assert parts.metered().meter.rounds == 0


def test_the_bytes_of_a_message_are_those_of_its_numbers():
    assert size_in_bytes((np.zeros(10), 1.0, None, [np.zeros((2, 2), dtype=np.float32)])) == 104


def test_data_is_cut_into_consecutive_rows_without_a_copy():
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    parts = cut(X, y, 3)
    blocks = parts.map(lambda block: block)
    assert [len(block.y) for block in blocks] == [3, 3, 4]
    assert isinstance(blocks[0], Block) and np.shares_memory(blocks[1].X, X)
    assert parts.sources[1] == "rows 3 to 5"
