"""Fits on data in parts: ``python -m benchmarks.parts`` prints rounds, bytes and seconds.

Each data set is trained by threads and on a local Dask cluster of worker processes, to a certified
relative gap of 1e-6 at C = 1, several classes with the softmax loss. Bits are compared, and the
objective with that of data in memory; rounds, bytes and seconds stand beside what ``advise`` says.
With ``--kills N`` workers are killed at random moments of N further fits; ``--model`` prints what
larger clusters should take by a formula, without running anything.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import threading
import time
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from primaldual import Problem, advise, datasets, solve
from primaldual.multinomial import Multinomial, solve_multinomial
from primaldual.parts import Block, InMemory, cut
from primaldual.parts.on_dask import OnDask, task
from primaldual.problem.on_parts import PartsProblem
from primaldual.problem.softmax_on_parts import PartsMultinomial
from primaldual.shards import open as open_shards
from primaldual.shards import write as write_shards

TOL = 1e-6
# Seconds that a cluster has to close.
CLOSING = 20
# Bytes of an array that would make the graph slow to send.
LARGE = 50e6


def digits() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def dense() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000_000, 50))
    return X, np.sign(X @ rng.standard_normal(50) + 2 * rng.standard_normal(len(X)))


def text() -> tuple[Any, Any]:
    X = datasets.zipf_text(47_000, 20_000, 75, seed=0)
    return X, datasets.labels(X, noise=0.1, seed=1)


# The model of a cluster. Seconds per round beside messages and work: 0.05 to 0.1 measured with 2
# and 4 workers of one host. Bytes per second of a link: 10 Gbit/s, assumed. Seconds per nonzero
# and reading on one core: 0.8 to 1 ns by benchmarks.calibrate. Readings of the data per round.
ROUND, LINK, NONZERO, READINGS = 0.1, 1.25e9, 1e-9, 3
# Rounds to a gap of 1e-6 on text, and nonzeros of the data that is thought of.
ROUNDS, NONZEROS = 15, 1e10

# Name: how to get the data, None for a named data set.
DATA: dict[str, Any] = {
    "a9a": None, "w8a": None, "rcv1-like": text, "news20-rebuilt": None, "dense": dense,
    "digits": digits,
}  # fmt: skip


def loaded(name: str) -> tuple[Any, Any]:
    make = DATA.get(name)
    X, y = datasets.load(name) if make is None else make()
    order = np.random.default_rng(0).permutation(X.shape[0])
    return X[order], y[order]


def problem_on(parts: Any, n: int, classes: int) -> PartsProblem:
    """The logistic loss, or the softmax loss for several classes."""
    if classes > 2:
        return PartsMultinomial(parts, 1.0 / n, True)
    return PartsProblem(parts, "logistic", 1.0 / n, True)


def in_memory(X: Any, y: Any, classes: int) -> Any:
    lam = 1.0 / X.shape[0]
    if classes > 2:
        return solve_multinomial(Multinomial(X, y, lam, None, True), tol=TOL)
    return solve(Problem(X, y, lam=lam, fit_intercept=True), tol=TOL)


def on_dask(X: Any, y: Any, count: int, client: Any) -> OnDask:
    """Parts that are rows of X: in the graph, or large ones sent to the workers before."""
    whole, blocks = task(itself), cut(X, y, count).parts
    if not hasattr(X, "nnz") and X.nbytes > LARGE:
        blocks = client.scatter(blocks)
    return OnDask([whole(block) for block in blocks], client=client)


def itself(block: Any) -> Any:
    return block


def fit(parts: Any, n: int, classes: int) -> tuple[Any, float]:
    began = time.perf_counter()
    return solve(problem_on(parts, n, classes), tol=TOL), time.perf_counter() - began


def same(ours: Any, theirs: Any) -> str:
    equal = np.array_equal(ours.w, theirs.w) and np.array_equal(ours.intercept, theirs.intercept)
    return "same bits" if equal else "OTHER BITS"


def killing(cluster: Any, seconds: float, over: threading.Event, killed: list[int]) -> None:
    """Kill a random worker after some seconds."""
    rng = random.Random(seconds)
    if over.wait(seconds):
        return
    there = cluster.scheduler.workers  # not those that are still starting: a nanny gives them up
    workers = [nanny.pid for nanny in cluster.workers.values() if nanny.worker_address in there]
    if workers:
        killed.append(rng.choice(workers))
        os.kill(killed[-1], signal.SIGKILL)


def started(workers: int) -> Any:
    from distributed import Client, LocalCluster

    place = "127.0.0.1:0"
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
        dashboard_address=place, worker_dashboard_address=place,
    )  # fmt: skip
    return cluster, Client(cluster)


def measure(name: str, count: int, clusters: dict[int, Any]) -> None:
    X, y = loaded(name)
    (n, d), classes = X.shape, len(np.unique(y))
    parts = cut(X, y, count)
    thought = advise(problem_on(parts, n, classes))
    expected, seconds = fit(parts, n, classes)
    began = time.perf_counter()
    memory = in_memory(X, y, classes)
    alone = time.perf_counter() - began
    apart = abs(expected.certificate.primal - memory.certificate.primal)
    gap = expected.certificate.relative_gap
    rounds = f"{expected.rounds:4} ({thought.rounds:.0f} expected)"
    head = f"{name:15} {n:8} {d:8} {classes:3} {count:3} {rounds}  {gap:7.1e} {apart:7.1e}"
    print(f"{head}  memory {alone:6.1f} s   threads {seconds:6.1f} s", flush=True)
    with TemporaryDirectory() as folder:
        write_shards((X, y), f"{folder}/shards", count=count)
        opened = open_shards(f"{folder}/shards")
        blocks = [Block(b.X.copy(), b.y.copy(), None) for b in opened.map(itself)]
        name_of = expected.trace.methods[-1]
        ours = solve(problem_on(opened, n, classes), name_of, tol=TOL)
        theirs = solve(problem_on(InMemory(blocks), n, classes), name_of, tol=TOL)
        print(f"{'':15} shards and their threads: {same(ours, theirs)}", flush=True)
    for workers, (_, client) in clusters.items():
        made = on_dask(X, y, count, client)
        thought = advise(problem_on(made, n, classes))
        result, seconds = fit(made, n, classes)
        moved, before = result.bytes_moved / 1e6, thought.bytes_moved / 1e6
        print(
            f"{'':15} {workers} workers: {seconds:6.1f} s ({thought.seconds:.1f} expected), "
            f"{moved:9.1f} MB ({before:.1f} expected), {same(result, expected)}", flush=True,
        )  # fmt: skip


def survive(names: list[str], count: int, kills: int, size: int) -> None:
    """Fits with a worker killed in each: the same bits, and how much longer they took.

    Each has a cluster of its own: a nanny does not always bring its worker back.
    """
    rng, total = random.Random(0), 0
    for number in range(kills):
        cluster, client = started(size)
        name = names[number % len(names)]
        X, y = loaded(name)
        n, classes = X.shape[0], len(np.unique(y))
        expected, undisturbed = fit(on_dask(X, y, count, client), n, classes)
        over, killed = threading.Event(), []
        moment = rng.uniform(0.05, 0.7) * undisturbed
        killer = threading.Thread(target=killing, args=(cluster, moment, over, killed))
        killer.start()
        result, seconds = fit(on_dask(X, y, count, client), n, classes)
        over.set()
        killer.join()
        client.close()
        close(cluster)
        total += len(killed)
        print(
            f"fit {number + 1:2} on {name:12} {len(killed)} killed, {same(result, expected)}, "
            f"{seconds:5.1f} s instead of {undisturbed:5.1f} s", flush=True,
        )  # fmt: skip
    print(f"{total} workers were killed.")


def close(cluster: Any) -> None:
    """Close a cluster; a nanny whose worker was killed may wait for ever for the next one."""
    with suppress(TimeoutError):
        cluster.close(timeout=CLOSING)


def modelled(workers: int, d: float) -> float:
    """Seconds of a fit: rounds × (latency + messages down and up a tree) + work shared by all."""
    levels = max(np.ceil(np.log2(workers)), 1.0) if workers > 1 else 0.0
    message = 2 * levels * 8 * d / LINK
    return float(
        ROUNDS * (ROUND * (workers > 1) + message + READINGS * NONZEROS * NONZERO / workers)
    )


def print_model() -> None:
    print(f"seconds for {NONZEROS:.0e} nonzeros, {ROUNDS} rounds, by workers and features")
    print("      K " + "".join(f"  d = {d:.0e}" for d in (1e5, 1e6, 1e7, 1e8)))
    for workers in (1, 2, 4, 8, 16, 64, 256, 1000):
        cells = [f"{modelled(workers, d):11.1f}" for d in (1e5, 1e6, 1e7, 1e8)]
        print(f"{workers:7} {''.join(cells)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--workers", default="2,4")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--model", action="store_true")
    asked = parser.parse_args()
    if asked.model:
        print_model()
        return
    names = asked.data.split(",")
    clusters = {int(k): started(int(k)) for k in asked.workers.split(",") if k}
    print("data                   n        d cls parts rounds  gap     |ΔP|")
    try:
        for name in names:
            measure(name, asked.parts, clusters)
        if asked.kills:
            survive(names, asked.parts, asked.kills, next(iter(clusters)))
    finally:
        for cluster, client in clusters.values():
            client.close()
            close(cluster)


if __name__ == "__main__":
    main()
