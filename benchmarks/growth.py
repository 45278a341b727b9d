"""Measure whether the cost grows with the nonzeros: ``python -m benchmarks.growth --plot FILE``.

Processor time per visited nonzero, in nanoseconds, of an epoch of ``dual_cd``, a round of
``primal_cd`` (three visits of every nonzero), a certificate (two) and the transposed copy that the
primal side needs, the least of several. The data is sparse, its nonzeros lie anywhere with equal
probability, which is as hard for the caches as data can be. It grows by examples alone, and by
examples and features alike; the latter also with features as unevenly frequent as words.

Inside the caches everything is faster. What counts is the growth from the first size whose data
does not fit into the last cache, most of which may still be found there, and from the first size of
which the cache holds less than half.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from primaldual import METHODS, Problem
from primaldual.data.matrix import Matrix

ROW = 50  # nonzeros of an example
ROUNDS = 5  # of each measurement, at least; the first may compile
COPIES = 2  # how often the data is transposed
# What is measured, and how it is drawn.
MEASURED = {
    "dual_cd": "epoch of dual_cd",
    "primal_cd": "round of primal_cd",
    "certificate": "certificate",
    "transpose": "transposed copy",
}
# How the data grows, and whether its columns are even.
SERIES = {
    "{d:,} features": "even",
    "as many features as examples": "even",
    "the same, unevenly frequent": "uneven",
}

Line = dict[str, Any]  # one size: its numbers of nonzeros, examples, features, and nanoseconds


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--smallest", type=float, default=1e6, help="nonzeros to begin with")
    parser.add_argument("--largest", type=float, default=1e8, help="nonzeros to end with")
    parser.add_argument("--seconds", type=float, default=0.5, help="of a measurement, at least")
    parser.add_argument("--json", type=Path, help="write the numbers; reuse them if it exists")
    parser.add_argument("--plot", type=Path, help="draw the figure into this file")
    options = parser.parse_args(arguments)
    if options.json and options.json.exists():
        found = json.loads(options.json.read_text())
    else:
        nonzeros = sizes(options.smallest, options.largest)
        found = run(nonzeros, options.seconds)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    print("\n\n".join(table(name, found) for name in SERIES))
    if options.plot:
        draw(found, options.plot)


def sizes(smallest: float, largest: float) -> list[int]:
    """Numbers of nonzeros, two per factor 10, such as 1, 3, 10, 30."""
    found, size = [], smallest
    while size <= 1.01 * largest:
        found.append(round(size))
        size = 3 * size if len(found) % 2 else smallest * 10 ** (len(found) / 2)
    return found


def run(nonzeros: list[int], seconds: float) -> dict[str, Any]:
    """All series. They begin with as many features as examples."""
    first = nonzeros[0] // ROW
    found: dict[str, Any] = {"last_cache": last_cache()}
    for k, (name, columns) in enumerate(SERIES.items()):
        found[name] = []
        for size in nonzeros:
            n = size // ROW
            d = first if k == 0 else n
            found[name].append(measure(n, d, columns, seconds))
            print(name, json.dumps(found[name][-1]), file=sys.stderr, flush=True)
    return found


def last_cache() -> int:
    """Bytes of the largest cache, or 0 where the system does not say."""
    files = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((int(file.read_text().strip().rstrip("K")) << 10 for file in files), default=0)


def measure(n: int, d: int, columns: str, seconds: float) -> Line:
    """Nanoseconds per visited nonzero on one size of data."""
    X, y = sparse_data(n, d, columns=columns)
    problem = Problem(X, y, loss="logistic", lam=1 / n)
    copies = [Matrix(X) for _ in range(COPIES)]
    dual, w, alpha = _method("dual_cd", problem, seconds)
    # The certificate comes before the primal side, while there is no second copy of the data.
    taken = {
        "dual_cd": dual,
        "certificate": least(lambda: problem.certify(w, alpha), ROUNDS, seconds) / 2,
        "primal_cd": _method("primal_cd", problem, seconds)[0] / 3,
        "transpose": least(lambda: copies.pop().by_feature, COPIES, 0.0),
    }
    nonzeros = problem.matrix.nnz
    line: Line = {"nonzeros": nonzeros, "n": n, "d": d, "bytes": size_of(X)}
    return line | {what: 1e9 * time / nonzeros for what, time in taken.items()}


def _method(name: str, problem: Problem, seconds: float) -> tuple[float, Any, Any]:
    """The least seconds of a round of a method, and its iterate after the last one."""
    method = METHODS[name]()
    state = method.start(problem, None)
    taken = least(lambda: method.advance(state, None), ROUNDS, seconds)
    return taken, *method.iterate(state)


def sparse_data(n: int, d: int, dtype: Any = np.float64, columns: str = "even") -> tuple[Any, Any]:
    """CSR data and labels, both random; a row has one nonzero in each of ROW ranges of columns.

    ``even`` ranges are of equal length; ``uneven`` ones grow geometrically, so that a feature's
    frequency falls like one over its rank, as that of words does.
    """
    rng = np.random.default_rng(0)
    step = np.arange(ROW + 1)
    starts = step * (d // ROW)
    if columns == "uneven":  # of at least one column each
        starts = np.maximum.accumulate((d ** (step / ROW)).astype(int) - 1 - step) + step
    starts = starts.astype(np.int32)
    indices = rng.integers(starts[:-1], starts[1:], (n, ROW), dtype=np.int32)
    values = rng.standard_normal(n * ROW, dtype=np.float32).astype(dtype, copy=False)
    values[values == 0] = 1  # a stored zero would have to be taken out, by a copy
    values /= np.sqrt(ROW)
    indptr = np.arange(0, n * ROW + 1, ROW, dtype=np.int32)
    X = sparse.csr_array((values, indices.ravel(), indptr), shape=(n, d))
    return X, np.where(rng.random(n) < 0.5, -1.0, 1.0)


def size_of(X: Any) -> int:
    """Bytes of a dense array or of a CSR matrix."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return sum(part.nbytes for part in parts)


def least(job: Callable[[], Any], rounds: int, seconds: float) -> float:
    """The least processor time of a job over at least ``rounds`` rounds and ``seconds`` seconds."""
    taken: list[float] = []
    gc.disable()
    while len(taken) < rounds or sum(taken) < seconds:
        before = time.process_time()
        job()
        taken.append(time.process_time() - before)
    gc.enable()
    return min(taken)


def growth(found: dict[str, Any], name: str, caches: int = 1) -> dict[str, float]:
    """Nanoseconds at the last size over those at the first beyond ``caches`` last caches."""
    lines = found[name]
    beyond = [line for line in lines if line["bytes"] > caches * found["last_cache"]] or lines
    return {what: lines[-1][what] / beyond[0][what] for what in MEASURED}


def table(name: str, found: dict[str, Any]) -> str:
    """One line per size, as Markdown, and the growth."""
    lines = [
        f"{name.format(d=found[name][0]['d'])}:\n",
        "| nonzeros | examples | features | X | " + " | ".join(MEASURED.values()) + " |",
        "| --: " * (4 + len(MEASURED)) + "|",
    ]
    for line in found[name]:
        numbers = " | ".join(f"{line[what]:.1f}" for what in MEASURED)
        lines.append(
            f"| {line['nonzeros']:.0e} | {line['n']:,} | {line['d']:,} "
            f"| {line['bytes'] / 2**20:,.0f} MiB | {numbers} |"
        )
    for caches, where in ((1, "the last cache"), (2, "twice the last cache")):
        numbers = " | ".join(f"{value:.2f}x" for value in growth(found, name, caches).values())
        lines.append(f"| growth beyond {where} | | | | {numbers} |")
    return "\n".join(lines)


def draw(found: dict[str, Any], out: Path) -> None:
    """One panel per series: nanoseconds per visited nonzero against the number of nonzeros."""
    from primaldual.report.drawing import DUAL, INK, PRIMAL, THIRD, look, new_figure

    colours = {"dual_cd": DUAL, "primal_cd": PRIMAL, "certificate": THIRD}
    with look():
        figure = new_figure(9.5, 3.6)
        panels = figure.subplots(1, len(SERIES), sharey=True)
        for panel, name in zip(panels, SERIES, strict=True):
            lines = found[name]
            nonzeros = [line["nonzeros"] for line in lines]
            for what, colour in colours.items():
                numbers = [line[what] for line in lines]
                panel.plot(
                    nonzeros, numbers, "o-", color=colour, markersize=4, label=MEASURED[what]
                )
            edge = found["last_cache"] * nonzeros[-1] / lines[-1]["bytes"]
            if nonzeros[0] < edge < nonzeros[-1]:
                label = "the data outgrows the last cache"
                panel.axvline(edge, color=INK, linewidth=0.8, linestyle=":", label=label)
            panel.set(xscale="log", xlabel="nonzeros")
            panel.set_title(name.format(d=lines[0]["d"]))
        panels[0].set_ylim(bottom=0)
        panels[0].set_ylabel("ns per visited nonzero")
        handles = panels[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=len(handles[0]))
        figure.savefig(out, facecolor="white", metadata={"Date": None} if _is_svg(out) else None)


def _is_svg(path: Path) -> bool:
    return path.suffix == ".svg"


if __name__ == "__main__":
    main()
