"""Measure reading LIBSVM text against scikit-learn: ``python -m benchmarks.reading``.

Both read the same files in turn, each time in a new process. Reported are the smallest processor
time of the repeats, and the peak of the memory while reading, as a multiple of the matrix that
comes out. Compiling is left out: it happens once per machine.

Without file names three are made: ``news20-rebuilt`` from the folder of data sets, unpacked, if it
is there; numbers with 17 digits, as programs write them; and short rows of ones.
"""

from __future__ import annotations

import argparse
import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from .cases import data_folder

READERS = ("primaldual", "scikit-learn")


def measure(reader: str, path: str) -> dict[str, float]:
    """Read a file in this process."""
    import re
    import time

    from primaldual.files import read

    def peak() -> int:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        return int(found[1]) * 1024 if found else 0

    if reader == "primaldual":
        with tempfile.NamedTemporaryFile(suffix=".svm") as small:
            small.write(b"1 1:2\n")
            small.flush()
            read(small.name)  # compiles
    else:
        from sklearn.datasets import load_svmlight_file
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before, began = peak(), time.process_time()
    X = read(path).X if reader == "primaldual" else load_svmlight_file(path)[0]
    seconds = time.process_time() - began
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return {"seconds": seconds, "peak": peak() - before, "size": size, "nnz": X.nnz}


def compare(path: Path, repeats: int) -> str:
    """One line of the table."""
    found: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
    for _ in range(repeats):
        for reader in READERS:
            command = [sys.executable, "-m", __spec__.name, "--measure", reader, str(path)]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            found[reader].append(json.loads(run.stdout))
    ours, theirs = (min(run["seconds"] for run in found[reader]) for reader in READERS)
    peaks = [max(run["peak"] for run in found[reader]) for reader in READERS]
    sizes = [found[reader][0]["size"] for reader in READERS]
    return (
        f"{path.stem:18}{path.stat().st_size / 1e6:>8.1f}{ours:>10.3f}{theirs:>10.3f}"
        f"{theirs / ours:>8.1f}{peaks[0] / sizes[0]:>14.2f}{peaks[1] / sizes[1]:>8.2f}"
        f"{sizes[0] / 1e6:>12.1f}{sizes[1] / 1e6:>8.1f}"
    )


def made(folder: Path) -> list[Path]:
    """The files to read where none are named."""
    paths = []
    data = data_folder()
    if data is not None and (data / "news20-rebuilt.svm.xz").is_file():
        paths.append(folder / "news20-rebuilt.svm")
        with lzma.open(data / "news20-rebuilt.svm.xz") as archive:
            paths[-1].write_bytes(archive.read())
    rng = np.random.default_rng(0)
    paths.append(folder / "17-digits.svm")
    with paths[-1].open("w") as file:
        for row in rng.standard_normal((4000, 500)).tolist():
            file.write("1 " + " ".join(f"{j}:{x!r}" for j, x in enumerate(row, 1)) + "\n")
    paths.append(folder / "short-rows.svm")
    with paths[-1].open("w") as file:
        for row in np.sort(rng.integers(1, 10**6, (300_000, 8))).tolist():
            file.write("-1 " + " ".join(f"{j}:1" for j in dict.fromkeys(row)) + "\n")
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", choices=READERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, str(options.files[0]))))
        return
    print(
        f"{'':18}{'MB':>8}{'ours, s':>10}{'theirs':>10}{'ratio':>8}{'ours, peak':>14}"
        f"{'theirs':>8}{'ours, MB':>12}{'theirs':>8}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for path in options.files or made(Path(folder)):
            print(compare(path, options.repeats))


if __name__ == "__main__":
    main()
