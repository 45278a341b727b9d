"""Throw damaged files at the readers: ``python tests/tools/fuzz_readers.py --seconds 60``.

The files of `malformed` are mutated. A mutant that makes a reader go along a new pair of lines,
inside the kernels as well, joins the corpus. Nothing but `FileError` may come out; what is
read must be sound, and compiled kernels must agree with the same code run by Python.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import gzip
import io
import lzma
import random
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from malformed import CASES, PLAIN
from scipy import sparse

import primaldual.files
from primaldual.files import FileError, FileWarning, Limits, mtx, read, svmlight, tokens

SOURCE = str(Path(primaldual.files.__file__).parent)
LIMITS = Limits(features=2**16, line=2**16)
# Larger seeds are left out, and larger mutants cut.
LARGEST = 2**12
# A file this small must not take longer, even on a busy machine.
SECONDS = 20.0
REPLAYED = {"kind": "indices", "n_features": 3, "zero_based": None}
PIECES = [
    *(b"\n", b"\r\n", b" ", b"\t", b":", b"#", b",", b";", b'"', b"\x00", b"\xff", b"\xef\xbb\xbf"),
    *(b"0", b"1", b"-1", b"1:", b"qid:1", b"1e400", b"1e-400", b"nan", b"-inf", b"NA", b"true"),
    *(b"18446744073709551616", b"9" * 40, b"0." + b"0" * 30 + b"1", b"123456789012345678e-30"),
    *(b"2147483648", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"%%MatrixMarket", b"symmetric"),
    *(b"array", b"pattern", b"1 1:2\n", b"(3, 3)", b"'<f8'", b"|O", b"<U4", b"True"),
]


# ---- seeds


def _parquet() -> list[bytes]:
    import polars

    frames = [
        polars.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "y": [0, 1]}),
        polars.DataFrame({"a": [1, None, 3], "c": [True, False, None], "y": ["u", "v", "u"]}),
        polars.DataFrame({"a": list(range(300)), "y": [0.5] * 300}),
    ]
    seeds = []
    for frame in frames:
        for compression in ("uncompressed", "zstd"):
            stream = io.BytesIO()
            frame.write_parquet(stream, compression=compression)  # type: ignore[arg-type]
            seeds.append(stream.getvalue())
    return seeds


def _archives() -> list[bytes]:
    return [pack(PLAIN) for pack in (gzip.compress, bz2.compress, lzma.compress)]


def _named(*endings: str) -> Callable[[], list[bytes]]:
    return lambda: [case.content for case in CASES if Path(case.name).suffix in endings]


# Reader: its seeds.
READERS: dict[str, Callable[[], list[bytes]]] = {
    "svmlight": _named(".svm"),
    "archives": _archives,
    "csv": _named(".csv", ".tsv"),
    "parquet": _parquet,
    "npz": _named(".npz"),
    "npy": _named(".npy"),
    "mtx": _named(".mtx"),
}


# ---- mutants


def mutated(content: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """A copy with a few changes."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 2, 8, 64)))
        change = rng.randrange(7)
        if change == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif change == 1:
            data[at:end] = rng.randbytes(end - at)
        elif change == 2:
            data[at:at] = rng.choice(PIECES)
        elif change == 3:
            data[at:end] = b""
        elif change == 4:
            data[at:at] = data[at:end] * rng.choice((1, 2, 30))
        elif change == 5:
            data[at:end] = rng.choice(PIECES)
        else:
            other = rng.choice(others)
            cut = rng.randrange(len(other) + 1)
            data[at:] = other[cut:]
    return bytes(data[:LARGEST])


def mutated_zip(content: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """An archive of which a member was changed before it was packed; its checksum is right."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(list(members))
    except Exception:  # a mutant that is no archive any more
        return mutated(content, others, rng)
    members[name] = mutated(members[name], list(members.values()), rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return stream.getvalue()


# ---- one run


@contextlib.contextmanager
def traced(seen: set[tuple[str, int, int]]) -> Iterator[None]:
    """Collect the pairs of lines of the readers that follow each other."""
    last: dict[int, int] = {}

    def trace(frame: Any, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(SOURCE):
            return None
        seen.add((name, last.get(id(frame), 0), frame.f_lineno))
        last[id(frame)] = frame.f_lineno
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Let Python run the kernels, to see the lines it goes along."""
    with contextlib.ExitStack() as stack:
        for module, name in ((svmlight, "parse_lines"), (mtx, "parse_numbers")):
            plain = getattr(getattr(tokens, name), "py_func", getattr(tokens, name))
            stack.enter_context(mock.patch.object(module, name, plain))
        stack.enter_context(np.errstate(over="ignore"))
        yield


def outcome(path: Path, reader: str, schema: dict[str, Any] | None = None) -> Any:
    """What reading gives: the table, or the message of the refusal."""
    kind = "svmlight" if reader == "archives" else reader
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        try:
            table = read(path, format=kind, schema=schema, limits=LIMITS)
        except FileError as error:
            assert str(error).startswith(str(path)), f"no file name in {str(error)!r}"
            return str(error)
    X, y = table.X, table.y
    assert X.ndim == 2 and (y is None or y.shape == (X.shape[0],))
    if sparse.issparse(X):
        X.check_format(full_check=True)
        return X.shape, X.indptr.tobytes(), X.indices.tobytes(), X.data.tobytes(), str(y)
    assert np.isfinite(X).all()
    return X.shape, X.tobytes(), str(y)


@dataclass
class Fuzz:
    """A corpus that grows by what is new."""

    reader: str
    folder: Path
    rng: random.Random
    seen: set[tuple[str, int, int]] = field(default_factory=set)
    corpus: list[bytes] = field(default_factory=list)
    runs: int = 0

    def start(self) -> None:
        """Run the seeds."""
        for content in READERS[self.reader]():
            if len(content) <= LARGEST:
                self.run(content)
                self.corpus.append(content)

    def step(self) -> None:
        """Run a mutant of something in the corpus."""
        change = mutated_zip if self.reader == "npz" and self.rng.random() < 0.8 else mutated
        content = change(self.rng.choice(self.corpus), self.corpus, self.rng)
        before = len(self.seen)
        self.run(content)
        if len(self.seen) > before:
            self.corpus.append(content)

    def run(self, content: bytes) -> None:
        """Read it traced, and again compiled; the file stays where it is if that fails."""
        path = self.folder / f"{self.reader}.data"
        path.write_bytes(content)
        began = time.perf_counter()
        # A model of three features leaves the others out.
        schemas = [None, REPLAYED] if self.reader == "svmlight" else [None]
        with traced(self.seen), uncompiled():
            first = [outcome(path, self.reader, schema) for schema in schemas]
        if self.reader in ("svmlight", "archives", "mtx"):  # with compiled parts
            second = [outcome(path, self.reader, schema) for schema in schemas]
            assert first == second, f"{first!r} != {second!r}"
        assert time.perf_counter() - began < SECONDS, "too slow"
        self.runs += 1


def fuzz(reader: str, folder: Path, *, seed: int, seconds: float, runs: float = np.inf) -> Fuzz:
    """Run mutants until the time or the number is used up; the first failure is raised."""
    this = Fuzz(reader, folder, random.Random(seed))
    end = time.monotonic() + seconds
    this.start()
    while time.monotonic() < end and this.runs < runs:
        this.step()
    return this


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", help=f"some of {', '.join(READERS)}; all by default")
    parser.add_argument("--seconds", type=float, default=60, help="for each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the last file of a crash is left")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    if len(options.readers) == 1:
        this = fuzz(options.readers[0], folder, seed=options.seed, seconds=options.seconds)
        size = f"{len(this.corpus)} files, {len(this.seen)} pairs of lines"
        print(f"{this.reader:9} {this.runs:7} runs, {size}")
        return
    failed = []
    for reader in options.readers or READERS:  # each in a process of its own, which may die
        arguments = [reader, "--seconds", str(options.seconds), "--seed", str(options.seed)]
        command = [sys.executable, __file__, *arguments, "--folder", str(folder)]
        if subprocess.run(command, check=False).returncode:
            failed.append(reader)
            print(f"{reader:9} FAILED: see {folder / reader}.data")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
