"""The pool: every part once and in its place, one error, no thread left, safe to fork."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time

import joblib
import numpy as np
import pytest

from primaldual._numba.clock import look_at_clock
from primaldual._threads import count, current, for_each, one_blas_thread, tasks, using
from primaldual._threads.blas import _libraries

WAIT = 60.0  # seconds that a thread may take on a busy machine


def meeting(parties):
    """A barrier that gives up."""
    return threading.Barrier(parties, timeout=WAIT)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_part_is_executed_once_and_its_result_is_in_its_place(threads):
    with using(threads):
        assert for_each(lambda k: k * k, range(50)) == [k * k for k in range(50)]


def test_parts_run_at_the_same_time():
    barrier = meeting(3)
    with using(3) as scope:
        for_each(lambda k: barrier.wait(), range(3))
    assert scope.used == 3


def test_work_inside_a_part_has_one_thread():
    with using(4):
        assert for_each(lambda k: current().count(), range(4)) == [1] * 4
        assert tasks(lambda k: for_each(lambda m: (k, m), range(2)), range(2)) == [
            [(0, 0), (0, 1)], [(1, 0), (1, 1)],
        ]  # fmt: skip
        assert current().count() == 4


def test_a_number_that_is_asked_for_inside_a_part_is_not_given():
    def inside(k):
        with using(8) as scope:
            return scope.count()

    with using(2):
        assert for_each(inside, range(2)) == [1, 1]


@pytest.mark.parametrize("threads", [1, 4])
def test_an_error_in_a_part_surfaces_once_with_its_traceback(threads):
    def fail(k):
        if k in (3, 4):
            raise KeyError(k)
        return k

    with using(threads), pytest.raises(KeyError, match="3") as caught:
        for_each(fail, range(6))
    assert caught.traceback[-1].name == "fail"


def test_an_error_stops_what_has_not_begun():
    begun = []

    def fail(k):
        begun.append(k)
        raise ValueError

    with using(2), pytest.raises(ValueError):
        for_each(fail, range(1000))
    assert len(begun) <= 2


def test_no_more_threads_are_kept_than_were_asked_for():
    before = threading.active_count()
    with using(3):
        for _ in range(20):
            for_each(time.sleep, [0.0] * 6)
    assert threading.active_count() <= max(before, 1 + 2) + 2


def test_calls_from_several_threads_at_once_do_not_wait_for_each_other():
    found = {}

    def call(name):
        with using(3):
            found[name] = [for_each(lambda k: (name, k), range(20)) for _ in range(20)]

    callers = [threading.Thread(target=call, args=(name,)) for name in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(WAIT)
    assert found == {name: [[(name, k) for k in range(20)]] * 20 for name in range(4)}


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="needs signals")
def test_ctrl_c_leaves_parallel_work_once_its_parts_have_ended():
    running, ended = threading.Event(), []

    def part(k):
        if threading.current_thread() is threading.main_thread():
            assert running.wait(WAIT)
            signal.raise_signal(signal.SIGINT)
        running.set()
        time.sleep(0.05)
        ended.append(k)

    with using(2), pytest.raises(KeyboardInterrupt):
        for_each(part, range(1000))
    assert 1 <= len(ended) < 20
    settled = list(ended)
    time.sleep(0.1)
    assert ended == settled


def test_ctrl_c_reaches_tasks_in_other_threads_which_keep_what_they_have():
    running = threading.Event()

    def task(k):
        try:
            if threading.current_thread() is threading.main_thread():
                assert running.wait(WAIT)
                signal.raise_signal(signal.SIGINT)
            running.set()
            end = time.monotonic() + WAIT
            while time.monotonic() < end:
                look_at_clock()
                time.sleep(0.001)
        except KeyboardInterrupt:
            from primaldual._numba.clock import pass_on_interrupt

            pass_on_interrupt()
            return f"the best of {k}"
        return "not interrupted"

    with using(2):
        assert tasks(task, range(2), keeps=True) == ["the best of 0", "the best of 1"]


# ---- processes


def _child(queue):
    with using(2):
        queue.put(for_each(lambda k: k, range(10)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_a_pool_of_its_own():
    with using(2):
        for_each(lambda k: k, range(4))
    forked = multiprocessing.get_context("fork")
    queue = forked.Queue()
    child = forked.Process(target=_child, args=(queue,))
    child.start()
    assert queue.get(timeout=WAIT) == list(range(10))
    child.join(WAIT)
    assert child.exitcode == 0
    with using(2):
        assert for_each(lambda k: k, range(4)) == list(range(4))


def _counted(_):
    from primaldual._threads import default_count

    return default_count()


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_a_worker_of_joblib_has_one_thread(backend, monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv(count.VARIABLE, raising=False)
    parallel = joblib.Parallel(n_jobs=2, backend=backend, timeout=WAIT)
    assert parallel(joblib.delayed(_counted)(k) for k in range(2)) == [1, 1]
    assert count.default_count() == count.cores()


# ---- how many


def test_the_variable_gives_the_default(monkeypatch):
    monkeypatch.setenv(count.VARIABLE, "5")
    assert count.default_count() == 5
    monkeypatch.setenv(count.VARIABLE, "many")
    with pytest.raises(ValueError, match="PRIMALDUAL_NUM_THREADS must be a positive number"):
        count.default_count()


def test_negative_numbers_count_from_all_cores(monkeypatch):
    monkeypatch.setattr(count, "cores", lambda: 6)
    assert [count.checked("n_jobs", asked) for asked in (None, 3, -1, -2, -9)] == [
        None, 3, 6, 5, 1,
    ]  # fmt: skip


@pytest.mark.parametrize("bad", [0, 1.5, "2", True])
def test_a_bad_number_is_refused(bad):
    with pytest.raises(ValueError, match="threads must be a positive number of threads"):
        using(bad)


@pytest.mark.skipif(sys.platform != "linux", reason="control groups")
@pytest.mark.parametrize("text, cores", [("150000 100000", 2), ("max 100000", os.cpu_count())])
def test_the_quota_of_a_control_group_counts(text, cores, tmp_path, monkeypatch):
    file = tmp_path / "cpu.max"
    file.write_text(text)
    monkeypatch.setattr(count, "QUOTA", file)
    count._quota.cache_clear()
    try:
        assert count._quota() == cores
    finally:
        monkeypatch.undo()
        count._quota.cache_clear()


# ---- BLAS


def test_blas_is_held_to_one_thread_and_gets_back_what_it_had():
    from threadpoolctl import threadpool_limits

    with threadpool_limits(2, user_api="blas"):
        before = [library.num_threads for library in _libraries()]
        with one_blas_thread(), one_blas_thread():
            assert [library.num_threads for library in _libraries()] == [1] * len(before)
        assert [library.num_threads for library in _libraries()] == before


def test_parallel_products_with_blas_leave_it_as_it_was():
    before = [library.num_threads for library in _libraries()]
    X = np.ones((64, 8))
    with using(2):
        for_each(lambda k: X.T @ X, range(8))
    assert [library.num_threads for library in _libraries()] == before
