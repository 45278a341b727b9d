"""Small files that ask for much memory are refused before it is taken."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest

from primaldual import files
from primaldual.files import FileError, Limits

# Reads a file, and prints the error and the memory it took at its peak. (The maximum that getrusage
# gives is no help: a child process begins with that of its parent.)
READ = """
import sys
from primaldual import files
try:
    files.read(sys.argv[1])
except files.FileError as error:
    print(error)
for line in open("/proc/self/status"):
    if line.startswith("VmHWM:"):
        print(line.split()[1], file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_rows_that_a_matrix_market_file_only_declares_are_refused(tmp_path):
    path = tmp_path / "bomb.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n250000000 2 1\n1 1 1.0\n")
    assert path.stat().st_size < 100
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, timeout=60
    )
    assert "declares 250,000,000 rows" in done.stdout and "raise Limits(ratio" in done.stdout
    assert int(done.stderr.split()[-1]) < 600_000, "kB at the peak"


def test_empty_rows_in_a_matrix_market_file_are_read(tmp_path):
    path = tmp_path / "rows.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n1000000 2 1\n7 2 3.0\n")
    assert files.read(path).X.shape[0] == 1_000_000


def test_a_parquet_file_that_unpacks_to_much_more_is_refused(tmp_path):
    path = tmp_path / "bomb.parquet"
    frame = pl.DataFrame({"a": pl.repeat(0.0, 10_000_000, eager=True)})
    frame.write_parquet(path, compression="zstd")
    assert path.stat().st_size < 300_000
    with pytest.raises(FileError, match=r"10,000,000 rows of 1 columns.*raise Limits\(ratio"):
        files.read(path, limits=Limits(ratio=100.0))


def test_strings_that_unpack_to_much_more_are_refused(tmp_path):
    path = tmp_path / "bomb.parquet"
    frame = pl.DataFrame({"a": ["x" * 1000] * 100_000, "b": [1.0, 2.0] * 50_000})
    frame.write_parquet(path, compression="zstd")
    with pytest.raises(FileError, match=r"100,000 rows of 2 columns.*raise Limits\(ratio"):
        files.read(path, limits=Limits(ratio=2.0))
