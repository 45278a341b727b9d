"""A real cluster of worker processes on the loopback, which is gone after the tests."""

from __future__ import annotations

from contextlib import contextmanager, suppress

import pytest

# Seconds after which a cluster that closes is killed. All tests have a deadline (pyproject.toml).
CLOSING = 15


@contextmanager
def start(workers):
    """A cluster of that many processes, which listens on the loopback only."""
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    import psutil

    before = set(psutil.Process().children(recursive=True))
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
        dashboard_address="127.0.0.1:0", worker_dashboard_address="127.0.0.1:0",
    )  # fmt: skip
    try:
        yield cluster
    finally:
        try:
            with suppress(TimeoutError):  # a nanny whose worker was killed may wait for the next
                cluster.close(timeout=CLOSING)
        finally:
            left = set(psutil.Process().children(recursive=True)) - before
            # Python's own tracker of resources lives as long as this process.
            workers = [each for each in left if "resource_tracker" not in " ".join(each.cmdline())]
            for process in workers:
                process.kill()
            psutil.wait_procs(workers, timeout=CLOSING)


@pytest.fixture(scope="package")
def cluster():
    """Two worker processes, shared by the tests of this folder that kill none."""
    with start(2) as running:
        yield running


@pytest.fixture()
def client(cluster):
    from distributed import Client

    with Client(cluster) as connected:
        yield connected


@pytest.fixture()
def started():
    """A function that starts a cluster of a number of processes of its own."""
    return start


@pytest.fixture()
def mortal():
    """A client of a cluster of two processes of its own, whose workers a test may kill."""
    from distributed import Client

    with start(2) as running, Client(running) as connected:
        yield connected
