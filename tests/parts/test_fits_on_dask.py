"""Fits on a real Dask cluster have the bits of threads, also where workers die on the way."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

from primaldual import datasets, solve  # noqa: E402
from primaldual.parts import cut  # noqa: E402
from primaldual.parts.on_dask import OnDask  # noqa: E402
from primaldual.problem.on_parts import PartsProblem  # noqa: E402


def blocks_of(X, y, count):
    return [dask.delayed(block) for block in cut(X, y, count).parts]


@pytest.fixture(scope="module")
def data():
    X = datasets.zipf_text(3500, 2000, 30, seed=0)
    return X, datasets.labels(X, noise=0.1, seed=1)


@pytest.fixture(scope="module")
def expected(data):
    return solve(PartsProblem(cut(*data, 4), lam=1 / 2000, fit_intercept=True), tol=1e-6)


def test_a_fit_has_the_bits_of_threads_with_one_worker_or_two(mortal, data, expected):
    for workers in (2, 1):
        parts = OnDask(blocks_of(*data, 4), client=mortal)
        if workers == 1:
            mortal.cluster.scale(1)
        result = solve(PartsProblem(parts, lam=1 / 2000, fit_intercept=True), tol=1e-6)
        assert result.converged
        assert np.array_equal(result.w, expected.w) and result.intercept == expected.intercept
        assert result.rounds == expected.rounds
        assert result.bytes_moved > 4 * 8 * 3500 * result.rounds / 3


def test_advice_on_a_cluster_names_rounds_bytes_and_seconds_before_the_fit(client, data, expected):
    from primaldual import advise

    problem = PartsProblem(OnDask(blocks_of(*data, 4), client=client), lam=1 / 2000)
    before = problem.parts.meter.rounds
    advice = advise(problem, tol=1e-6)
    assert problem.parts.meter.rounds == before
    assert advice.method == "averaged_newton" and advice.side == "primal" and advice.seconds > 0
    result = solve(problem, advice)
    assert result.converged
    assert advice.rounds / 2 <= result.rounds <= 2 * advice.rounds
    assert advice.bytes_moved / 3 <= result.bytes_moved <= 3 * advice.bytes_moved
    assert "rounds" in str(advice) and advice.numbers()["rounds"] == advice.rounds


def test_workers_killed_at_random_moments_change_no_bit(mortal, data, expected):
    rng, running, kills = random.Random(0), threading.Event(), []

    def killer():
        while not running.wait(rng.uniform(0.2, 0.6)) and len(kills) < 3:
            cluster = mortal.cluster  # not those that are starting: a nanny gives them up
            there = cluster.scheduler.workers
            nannies = list(cluster.workers.values())
            workers = [nanny.pid for nanny in nannies if nanny.worker_address in there]
            if workers:
                kills.append(rng.choice(workers))
                os.kill(kills[-1], signal.SIGKILL)
            if running.wait(1.5):
                return

    thread = threading.Thread(target=killer, daemon=True)
    parts = OnDask(blocks_of(*data, 4), client=mortal)
    thread.start()
    problem = PartsProblem(parts, lam=1 / 2000, fit_intercept=True)
    result = solve(problem, tol=1e-6, callback=lambda progress: time.sleep(0.3))
    running.set()
    thread.join(timeout=10)
    assert kills
    assert np.array_equal(result.w, expected.w) and result.intercept == expected.intercept
