"""Data larger than memory: ``shard`` writes a folder of shards, ``fit`` trains from one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from . import data
from .groups import Answer, Asked, Reading, Strength
from .live import working
from .terminal import plural, say, say_json

# Bytes of the units that --memory takes.
UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "KI": 2**10, "MI": 2**20, "GI": 2**30}

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE…",
        help="As for fit. LIBSVM text is read in pieces and may be larger than memory; other files "
        "are read one at a time.",
        exists=True,
        dir_okay=False,
    ),
]
Folder = Annotated[
    Path, typer.Option("-o", "--output", metavar="FOLDER", help="The folder to make.")
]
Count = Annotated[int, typer.Option("--count", help="The number of shards.", min=1)]
ShuffleSeed = Annotated[int, typer.Option("--seed", help="For the order of the rows.", min=0)]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Of a folder of shards: the memory that the command may take in all, such as 2GB.",
        rich_help_panel="Data",
    ),
]
DaskAddress = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Of a folder of shards that all workers see: train on this Dask cluster, such as "
        "tcp://host:8786.",
        rich_help_panel="Data",
    ),
]


def shard(
    files: Files, output: Folder, answer: Answer, count: Count = 64, seed: ShuffleSeed = 0
) -> None:
    """Write files to a folder of shards, rows shuffled, for data that is larger than memory.

    Given again after an interruption, the command goes on where it was.
    """
    from .. import shards

    names = f"{files[0]}" if len(files) == 1 else f"{len(files)} files"
    with working(f"reading {names}") as say_now:

        def progress(done: int, total: int | None) -> None:
            of = "" if total is None else f" of {total / 1e6:.0f}"
            say_now(f"reading {names}: {done / 1e6:.0f}{of} MB")

        shards.write(list(files), output, count=count, seed=seed, progress=progress)
    opened = shards.open(output)
    size = sum(entry["bytes"] for entry in opened.manifest["shards"])
    facts = {
        "folder": str(output), "examples": opened.n, "features": opened.d,
        "nonzeros": opened.nnz, "shards": count, "bytes": size,
    }  # fmt: skip
    if answer.as_json:
        say_json(facts)
    elif not answer.quiet:
        say(
            f"{plural(opened.n, 'example', 'examples')}, "
            f"{plural(opened.d, 'feature', 'features')}, {size / 1e6:.1f} MB in "
            f"{plural(count, 'shard', 'shards')}. Train with: primaldual fit {output} -o MODEL"
        )


def size_in_bytes(text: str | None) -> float | None:
    """The bytes that --memory names."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?I?)B?\s*", text.upper())
    if found is None or found[2] not in UNITS:
        raise typer.BadParameter(f"must be a size such as 500MB or 2GB, got {text!r}")
    return float(found[1]) * UNITS[found[2]]


def is_folder(file: str) -> bool:
    """Whether a file to train on is a folder of shards."""
    return Path(file).is_dir()


def refuse(file: str, **given: str | None) -> None:
    """Refuse options that are for folders of shards."""
    for name, value in given.items():
        if value is not None:
            raise typer.BadParameter(
                f"--{name} is for a folder of shards; make one with: primaldual shard {file} -o "
                "FOLDER"
            )


def prepared(
    file: str, source: Reading, asked: Asked, memory: str | None, dask: str | None
) -> data.Labelled:
    """The data of a folder of shards, its labels understood; it stays where it is."""
    if source != Reading():
        raise typer.BadParameter(
            "options about columns, scaling and formats are for files; shards are used as they are"
        )
    from ..files import Table
    from ..shards import open as open_folder

    most = size_in_bytes(memory)
    if dask is None and most is not None:
        most = left_for_data(open_folder(file), most)
    opened = open_folder(file, most)
    y, counts = all_labels(opened)
    table = Table(opened, y, None, opened.manifest["schema"], file)
    given = data.labelled(table, asked.loss, asked.task)
    if given.classes is not None and counts is not None:
        given = replace(given, counts=counts)
    parts: Any = opened if dask is None else on_cluster(file, most, dask)
    whole = given.classes is not None and given.y.dtype.kind == "i"
    return replace(given, parts=parts.then(with_whole_labels) if whole else parts)


def problem(
    given: data.Labelled, strength: Strength, epsilon: float | None, intercept: bool
) -> Any:
    """The problem to look at; of several classes the largest one against the rest."""
    from ..problem.on_parts import PartsProblem

    lam = strength.lam_for(given.loss, given.n)
    positive = None if given.classes is None else given.positive
    loss = data.loss_of(given, epsilon)
    return PartsProblem(given.parts, loss, lam, intercept, positive)


def left_for_data(opened: Any, total: float) -> float:
    """Of the memory for everything, what is left beside the program and the model."""
    from .. import estimators  # noqa: F401  what is loaded now counts as there
    from ..files.memory import in_words, resident
    from ..shards.reading import SHARE

    n, d = opened.shape
    vectors = 8.0 * min(MATRICES * d * d, VECTORS * d) + PER_EXAMPLE * n
    taken = resident() + KERNELS + vectors
    least = max(entry["bytes"] for entry in opened.manifest["shards"]) / SHARE
    if total - taken < least:
        raise typer.BadParameter(
            f"must be at least {in_words(1.01 * (taken + least))} here, got {in_words(total)}: the "
            f"program takes {in_words(resident() + KERNELS)}, a model of {d} features on {n} "
            f"examples {in_words(vectors)}, and the parts {in_words(least)}; with a larger --count "
            "of shards these are smaller",
            param_hint="--memory",
        )
    return total - taken


# Beside the data a fit takes: kernels being compiled or loaded; square matrices or vectors of the
# features, whichever is less; and labels and α with their copies. Bytes, seen on text.
KERNELS, MATRICES, VECTORS, PER_EXAMPLE = 60e6, 5.0, 40.0, 40.0
# Different labels of a part up to which they are counted there.
COUNTED = 1000


def all_labels(opened: Any) -> tuple[Any, Any]:
    """The labels and the number of each; of few different ones each twice, in place of all."""
    import numpy as np

    found = opened.map(label_counts)
    if any(counts is None for _, counts in found):
        return np.concatenate([labels for labels, _ in found]), None
    values, codes = np.unique(np.concatenate([one for one, _ in found]), return_inverse=True)
    every = np.concatenate([counts for _, counts in found])
    counts = np.bincount(codes, weights=every).astype(np.int64)
    return np.tile(values, 2) if counts.max() > 1 else values, counts


def on_cluster(file: str, memory: float | None, address: str) -> Any:
    """The parts of a folder, read by the workers of a Dask cluster."""
    from distributed import Client

    from ..parts.on_dask import OnDask, task
    from ..shards import open as open_folder

    opened = open_folder(file, memory)
    client = Client(address)
    place = str(Path(file).absolute())
    blocks = [task(read_part)(place, memory, number) for number in range(opened.count)]
    return OnDask(blocks, opened.sources, client)


def score_of(model: Any, given: data.Labelled) -> float:
    """Accuracy or R² on the training data, where it is."""
    if given.parts is None:
        return float(model.score(given.table.X, given.y))
    if given.classes is not None:
        return float(given.parts.sum(correct, model)) / given.n
    squares, total, of_squares = given.parts.sum(residuals, model)
    spread = of_squares - total * total / given.n
    return 1.0 - float(squares) / spread if spread > 0 else float("nan")


# --------------------------------------------------------------------------------------------
# Steps


def label_counts(block: Any) -> tuple[Any, Any]:
    """The different labels of one part and how often each is there; all if they are too many."""
    import numpy as np

    values, counts = np.unique(block.y, return_counts=True)
    return (values, counts) if len(values) <= COUNTED else (np.array(block.y), None)


def with_whole_labels(block: Any) -> Any:
    """The part with labels that are whole numbers as such."""
    return block._replace(y=block.y.astype("int64"))


def read_part(folder: str, memory: float | None, number: int) -> Any:
    """One part of a folder of shards."""
    from ..shards import open as open_folder

    return open_folder(folder, memory).load(number)


def correct(block: Any, model: Any) -> float:
    """The number of examples whose class is predicted."""
    return float((model.predict(block.X) == block.y).sum()) if len(block.y) else 0.0


def residuals(block: Any, model: Any) -> tuple[float, float, float]:
    """Σ (y − prediction)², Σ y and Σ y²."""
    if not len(block.y):
        return 0.0, 0.0, 0.0
    apart = block.y - model.predict(block.X)
    return float(apart @ apart), float(block.y.sum()), float(block.y @ block.y)
