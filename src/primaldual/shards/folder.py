"""The format: names of files, checksums, and one shard written or read."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..parts import Block, PartError
from ..writing import write_text

FORMAT = 1
MANIFEST = "shards.json"
SPARSE, DENSE, BESIDE = ("indptr", "indices", "data"), ("X",), ("y", "sample_weight")


def shard_name(number: int) -> str:
    """The folder of a shard."""
    return f"shard-{number:05d}"


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a file that is complete whenever it is there."""
    write_text(path, json.dumps(content, indent=1))


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a finished folder holds; an error that says what is wrong with one that is not."""
    path = folder / MANIFEST
    if not path.exists():
        raise FileNotFoundError(
            f"{folder} is no folder of shards: it has no {MANIFEST}. Write one by "
            "primaldual.shards.write, or by the command primaldual shard; if that was "
            "interrupted, give the same command again."
        )
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if content.get("format") != FORMAT:
        raise ValueError(f"{path} has format {content.get('format')!r}, expected {FORMAT}.")
    return content


def write_shard(folder: Path, number: int, block: Block) -> dict[str, Any]:
    """Write one shard, complete whenever its folder is there; its entry in the manifest."""
    place = folder / shard_name(number)
    beside = folder / f"{place.name}.tmp"
    beside.mkdir(exist_ok=True)
    arrays = _arrays_of(block)
    for name, array in arrays.items():
        np.save(beside / f"{name}.npy", array, allow_pickle=False)
    entry = {
        "rows": int(block.X.shape[0]),
        "nonzeros": int(block.X.nnz if sparse.issparse(block.X) else block.X.size),
        "bytes": int(sum(array.nbytes for array in arrays.values())),
        "checksum": checksum(arrays),
    }
    write_json(beside / "entry.json", entry)
    os.replace(beside, place)
    return entry


def read_shard(folder: Path, number: int, d: int) -> Block:
    """One shard, mapped into memory."""
    place = folder / shard_name(number)

    def mapped(name: str) -> Any:
        path = place / f"{name}.npy"
        return np.load(path, mmap_mode="r", allow_pickle=False) if path.exists() else None

    try:
        y, weights, X = mapped("y"), mapped("sample_weight"), mapped("X")
        if X is None:
            indptr, indices, data = (np.asarray(mapped(name)) for name in SPARSE)
            X = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, d))
            X.has_canonical_format = True
    except (OSError, ValueError, TypeError) as error:
        raise PartError(f"shard {number} ({place}) cannot be read: {error}") from error
    return Block(X, np.asarray(y), None if weights is None else np.asarray(weights))


def verify(folder: Path, number: int, block: Block, expected: int) -> None:
    """Raise unless the shard is what was written."""
    if checksum(_arrays_of(block)) != expected:
        raise PartError(
            f"shard {number} ({folder / shard_name(number)}): its checksum has changed since it "
            "was written. The disk is damaged, or the file was edited: write the shards again."
        )


def state_of(folder: Path, number: int) -> tuple[Any, ...]:
    """Size and time of change of a shard's files: if they are the same, so is the content."""
    place = folder / shard_name(number)
    files = sorted(place.glob("*.npy"))
    return tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files)


def checksum(arrays: dict[str, Any]) -> int:
    """CRC-32 of arrays in the order of their names."""
    total = 0
    for name in sorted(arrays):
        total = zlib.crc32(np.ascontiguousarray(arrays[name]).data, total)
    return total


def _arrays_of(block: Block) -> dict[str, Any]:
    """The arrays of a block by the names of their files."""
    if sparse.issparse(block.X):
        arrays = {name: getattr(block.X, name) for name in SPARSE}
    else:
        arrays = {"X": np.ascontiguousarray(block.X)}
    arrays["y"] = np.asarray(block.y)
    if block.sample_weight is not None:
        arrays["sample_weight"] = np.asarray(block.sample_weight, dtype=np.float64)
    return arrays
