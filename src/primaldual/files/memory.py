"""How much memory there is, and how much a file will take."""

from __future__ import annotations

import os
from pathlib import Path

# Bytes of memory at the peak of reading, per byte of the file: text and its columns, then the
# matrix and what it is made from. Measured on a table of 27 columns, two of them words (6.3), and
# on LIBSVM text; an archive's content is taken for UNPACKED times larger, as with such text in xz.
FACTORS = {"csv": 6.0, "parquet": 12.0, "svmlight": 2.0, "npz": 2.0, "npy": 1.5, "mtx": 2.5}
UNPACKED = 6.0
# What reading a CSV takes at least: the text twice, and its columns. With less memory than that
# polars ends the process.
LEAST = {"csv": 2.5}
# Address space that polars takes for itself with its threads, of which it uses little.
POLARS_SPACE = 1.1e9

ADVICE = (
    "Leave out columns (--drop) or rows, write LIBSVM text to a folder of shards (primaldual "
    "shard) and fit that, or in Python map an NPY file (numpy.load(path, mmap_mode='r'))."
)


def available() -> float | None:
    """Bytes that this process can still get; None where the system does not say."""
    found = [_free(), _within_group(), address_space()]
    known = [value for value in found if value is not None]
    return min(known) if known else None


def resident() -> float:
    """Bytes of memory that this process has now; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return float(pages * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, AttributeError):
        return 0.0


def _free() -> float | None:
    """Of the machine."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * float(line.split()[1])
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, AttributeError):
        return None


def _within_group() -> float | None:
    """Of a container, by its control group."""
    try:
        folder = Path("/sys/fs/cgroup")
        most = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = (folder / "memory.current").read_text(encoding="ascii")
        return None if most == "max" else max(float(most) - float(used), 0.0)
    except (OSError, ValueError):
        return None


def address_space() -> float | None:
    """Of the address space, by ``ulimit -v``."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return max(float(most) - pages * os.sysconf("SC_PAGE_SIZE"), 0.0)
    except (ImportError, OSError, ValueError):
        return None


def expected(kind: str, size: int, is_packed: bool) -> float:
    """Bytes at the peak of reading a file of that format and size."""
    return FACTORS[kind] * size * (UNPACKED if is_packed else 1.0)


def in_words(size: float) -> str:
    """Bytes as a person says them."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} bytes"


def shortage(name: str, need: float, there: float | None) -> str:
    """The message where memory is not enough."""
    free = "" if there is None else f", and {in_words(there)} are free"
    return f"{name}: not enough memory: reading it takes about {in_words(need)}{free}. {ADVICE}"
