"""Parts on a real Dask cluster: the same bits as in memory, also after a worker was killed."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

from primaldual.parts import InMemory, PartError  # noqa: E402
from primaldual.parts.on_dask import OnDask  # noqa: E402


def scaled(part, factor):
    return factor * part


def slowly(part, seconds):
    time.sleep(seconds)
    return part


def process(part):
    return os.getpid()


def broken(number):
    raise OSError(f"cannot open file {number}")


def numbers(count, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(3) * 10.0 ** rng.integers(-8, 8) for _ in range(count)]


def on_dask(items, **options):
    return OnDask([dask.delayed(item) for item in items], **options)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_sums_have_the_bits_of_threads(client, count):
    items = numbers(count)
    assert np.array_equal(on_dask(items).sum(scaled, 1 / 3), InMemory(items).sum(scaled, 1 / 3))


def test_without_a_cluster_dasks_own_scheduler_gives_the_same_bits():
    items = numbers(7)
    parts = on_dask(items)
    assert parts.client is None
    assert np.array_equal(parts.sum(scaled, 1 / 3), InMemory(items).sum(scaled, 1 / 3))


def test_map_and_then_keep_the_numbers_of_the_parts(client):
    parts = on_dask([1.0, 2.0, 3.0]).then(scaled, 10.0)
    assert parts.map(scaled, 1.0) == [10.0, 20.0, 30.0]


def test_bytes_are_counted_there_and_back(client):
    parts = on_dask([np.zeros(100)] * 4)
    parts.sum(scaled, np.ones(100))
    assert (parts.meter.rounds, parts.meter.bytes_moved) == (1, 4 * 800 + 4 * 800)


def test_a_worker_killed_in_a_round_changes_no_bit(mortal):
    items = numbers(6)
    parts = on_dask(items, client=mortal).then(slowly, 0.05)
    expected = InMemory(items).sum(slowly, 0.0)
    victim = parts.map(process)[0]
    killer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
    killer.start()
    total = parts.sum(slowly, 0.2)
    killer.join()
    assert np.array_equal(total, expected)
    assert np.array_equal(parts.sum(slowly, 0.0), expected)


def test_a_part_that_cannot_be_read_is_named(client):
    blocks = [dask.delayed(np.ones)(2), dask.delayed(broken)(1)]
    parts = OnDask(blocks, sources=["a.csv", "b.csv"])
    with pytest.raises(PartError, match=r"part 1 \(b.csv\): OSError: cannot open file 1"):
        parts.sum(scaled, 1.0)


def test_a_part_that_cannot_be_read_is_named_without_a_cluster():
    with pytest.raises(PartError, match=r"part 1 \(b.csv\): OSError"):
        OnDask([dask.delayed(np.ones)(2), dask.delayed(broken)(1)], sources=["a.csv", "b.csv"])


def test_all_workers_gone_is_an_error_after_a_deadline(started):
    from distributed import Client

    with started(1) as cluster, Client(cluster, set_as_default=False) as client:
        parts = on_dask(numbers(3), client=client, patience=1.0)
        parts.map(process)
        cluster.scale(0)
        began = time.monotonic()
        with pytest.raises(PartError, match="no worker has been there for 1 seconds"):
            parts.sum(slowly, 0.1)
        assert time.monotonic() - began < 20


class Idle:
    """A client whose one worker never gets a task."""

    def persist(self, parts, optimize_graph):
        return parts

    def compute(self, root, optimize_graph):
        return self

    def processing(self):
        return {"tcp://127.0.0.1:1": ()}

    def add_done_callback(self, call):
        self.call = call

    def cancel(self):
        self.cancelled = True


def test_a_cluster_that_never_starts_a_task_is_an_error_after_a_deadline():
    parts = on_dask(numbers(2), client=Idle(), patience=1.0)
    with pytest.raises(PartError, match="no worker has had a task for 1 seconds"):
        parts.sum(scaled, 1.0)
    assert parts.client.cancelled


class Silent(Idle):
    """A client whose scheduler takes tasks and then never answers."""

    def processing(self):
        threading.Event().wait()

    def cancel(self):
        threading.Event().wait()


class Deaf(Silent):
    """A client whose scheduler does not even take tasks."""

    def compute(self, root, optimize_graph):
        threading.Event().wait()


@pytest.mark.parametrize("kind, words", [(Silent, "has not answered"), (Deaf, "took no tasks")])
def test_a_scheduler_that_never_answers_is_an_error_after_a_deadline(kind, words):
    parts = on_dask(numbers(2), client=kind(), patience=0.5)
    with pytest.raises(PartError, match=words):
        parts.sum(scaled, 1.0)


def test_an_error_from_outside_ends_the_wait():
    def stop(number, frame):
        raise TimeoutError("from outside")

    parts = on_dask(numbers(2), client=Idle(), patience=60.0)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(PartError, match="from outside"):
            parts.sum(scaled, 1.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_cancels_the_task_and_goes_through():
    def stop(number, frame):
        raise KeyboardInterrupt

    parts = on_dask(numbers(2), client=Idle(), patience=60.0)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            parts.sum(scaled, 1.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert parts.client.cancelled and time.monotonic() - began < 30


def test_no_port_is_open_beyond_the_loopback(client):
    import psutil

    ours = psutil.Process()
    open_ports = [
        connection.laddr.ip
        for each in (ours, *ours.children(recursive=True))
        for connection in each.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(open_ports) >= 3 and set(open_ports) == {"127.0.0.1"}


def test_two_users_of_one_cluster_do_not_meet(client):
    first, second = numbers(5, seed=1), numbers(5, seed=2)
    found = {}

    def run(name, items):
        found[name] = on_dask(items, client=client).sum(slowly, 0.05)

    threads = [
        threading.Thread(target=run, args=pair, daemon=True)
        for pair in (("a", first), ("b", second))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert np.array_equal(found["a"], InMemory(first).sum(slowly, 0.0))
    assert np.array_equal(found["b"], InMemory(second).sum(slowly, 0.0))
