"""The file of a checkpoint: the records of its solves in a container."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import container
from .._text import visible

FORMAT = 2
_KIND = "checkpoint"


class CheckpointError(ValueError):
    """A checkpoint that belongs to another run, or that cannot be used here."""


@dataclass
class Record:
    """One solve as it is in the file."""

    parts: dict[str, str]  # what was solved, and how
    is_finished: bool = False
    tree: Any = None  # None: begun and never saved
    arrays: Iterable[Any] = ()
    seal: str = ""  # of all of it, made with the data


def write(path: Path, solves: list[Record]) -> None:
    """Write all records, or leave the file as it was."""
    listed = [
        {
            "parts": solve.parts,
            "is_finished": solve.is_finished,
            "tree": solve.tree,
            "seal": solve.seal,
        }
        for solve in solves
    ]
    arrays = {
        f"{number}.{place}": array
        for number, solve in enumerate(solves)
        for place, array in enumerate(solve.arrays)
    }
    container.write(path, {"kind": _KIND, "format": FORMAT, "solves": listed}, arrays)


def require_place(path: Path) -> None:
    """Refuse a place that cannot be written to before anything is computed."""
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(
            f"the checkpoint {path} needs the folder {folder}, which does not exist. Create it, "
            "or use another name."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            f"the checkpoint {path} cannot be written: the folder {folder} is read-only. "
            "Use another name."
        )


def records(path: Path) -> list[Record]:
    """The records of a checkpoint."""
    header, arrays = container.read(path)
    kind, version = header.get("kind"), header.get("format")
    if kind != _KIND:
        raise CheckpointError(
            f"{path}: this is not a checkpoint but a file of kind {kind!r}. Use another name."
        )
    if version != FORMAT:
        raise CheckpointError(
            f"{path}: the checkpoint has format {visible(version)}, this primaldual reads "
            f"{FORMAT}. Go on with the version that wrote it, or delete the file."
        )
    grouped: dict[str, list[Any]] = {}
    for name, array in arrays.items():  # in the order in which they were written
        grouped.setdefault(name.partition(".")[0], []).append(array)
    solves = header.get("solves")
    if not isinstance(solves, list) or not all(map(_is_record, solves)):
        raise CheckpointError(
            f"{path}: this checkpoint cannot be read: it does not list its solves. Delete the file "
            "or use another name to start afresh."
        )
    return [
        Record(
            solve["parts"], solve["is_finished"], solve["tree"], grouped.get(str(number), []),
            solve["seal"],
        )
        for number, solve in enumerate(solves)
    ]  # fmt: skip


def _is_record(solve: Any) -> bool:
    """Whether an entry of a file has what a record has."""
    return (
        isinstance(solve, dict)
        and set(solve) == {"parts", "is_finished", "tree", "seal"}
        and isinstance(solve["parts"], dict)
        and all(isinstance(part, str) for part in solve["parts"].values())
        and type(solve["is_finished"]) is bool
        and isinstance(solve["seal"], str)
        and solve["seal"].isascii()
    )
