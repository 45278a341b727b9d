"""Buckets: files to which rows are appended as they come, one set per shard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..parts import Block


class Buckets:
    """The rows of unfinished shards, in raw files; what must survive a kill is in ``state``."""

    def __init__(self, folder: Path, count: int, state: dict[str, Any]) -> None:
        self.place, self.count, self.state = folder / "buckets", count, state
        self.place.mkdir(exist_ok=True)

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.state["highest"]) + 1 - self._shift

    @property
    def schema(self) -> dict[str, Any]:
        """How other files become the same features, as ``files.read`` has it."""
        if self.state["schema"] is not None:
            return dict(self.state["schema"])
        zero_based = self._shift == 0 if self.state["one_based"] else None
        return {"kind": "indices", "n_features": self.width, "zero_based": zero_based}

    @property
    def _shift(self) -> int:
        """1 where indices begin at 1, as LIBSVM's do unless there is an index 0."""
        return int(self.state["one_based"] and self.state["lowest"] != 0)

    def cut_back(self) -> None:
        """Remove what was appended after the journal was last saved."""
        for file in self.place.iterdir():
            size = self.state["sizes"].get(file.name, 0)
            with file.open("r+b") as stream:
                stream.truncate(size)

    def add(self, block: Block, one_based: bool, rng: np.random.Generator) -> None:
        """Deal the rows of a block."""
        X, y = block.X, self._coded(np.asarray(block.y))
        self._require_alike(block, one_based)
        where = rng.integers(self.count, size=X.shape[0])
        for number in np.unique(where).tolist():
            rows = np.flatnonzero(where == number)
            some = X[rows]
            if sparse.issparse(X):
                self._append(number, "lengths", np.diff(some.indptr).astype(np.int64))
                self._append(number, "indices", some.indices.astype(np.int64))
                self._append(number, "data", some.data)
            else:
                self._append(number, "X", np.ascontiguousarray(some))
            self._append(number, "y", y[rows])
            if block.sample_weight is not None:
                weights = np.asarray(block.sample_weight, dtype=np.float64)
                self._append(number, "sample_weight", weights[rows])
        self.state["n"] += int(X.shape[0])

    def _require_alike(self, block: Block, one_based: bool) -> None:
        """Keep what is common to all blocks; refuse one that differs."""
        X, state = block.X, self.state
        mine = {"sparse": bool(sparse.issparse(X)), "weights": block.sample_weight is not None}
        for name, value in mine.items():
            if state[name] is None:
                state[name] = value
            elif state[name] != value:
                raise ValueError(f"all pieces must agree on {name}: {state[name]}, then {value}.")
        highest = X.shape[1] - 1
        if not one_based and state["highest"] not in (-1, highest):
            raise ValueError(
                f"all pieces must have the same features: {state['highest'] + 1}, then "
                f"{highest + 1}."
            )
        state["highest"], state["one_based"] = max(state["highest"], highest), one_based
        if one_based and X.nnz:
            lowest = int(X.indices.min())
            state["lowest"] = lowest if state["lowest"] is None else min(state["lowest"], lowest)

    def _coded(self, y: Any) -> Any:
        """Labels that are texts as whole numbers, in the order in which they were first seen."""
        if y.dtype.kind in "fiub":
            return y.astype(np.float64)
        labels = self.state["labels"] = self.state["labels"] or []
        found, codes = np.unique(y.astype(str), return_inverse=True)
        labels.extend(str(label) for label in found if label not in labels)
        return np.array([labels.index(label) for label in found], dtype=np.float64)[codes]

    def _append(self, number: int, name: str, array: Any) -> None:
        kinds = self.state["kinds"]
        kind = np.dtype(kinds.setdefault(name, array.dtype.str))
        file = self.place / f"{number:05d}-{name}"
        with file.open("ab") as stream:
            stream.write(array.astype(kind, copy=False).tobytes())
            self.state["sizes"][file.name] = stream.tell()

    def shuffled(self, number: int, rng: np.random.Generator) -> Block:
        """All rows of a bucket in random order."""
        y = self._all(number, "y")
        order = rng.permutation(len(y))
        weights = self._all(number, "sample_weight")[order] if self.state["weights"] else None
        if not self.state["sparse"]:
            X = self._all(number, "X").reshape(len(y), self.width)
            return Block(X[order], y[order], weights)
        indptr = np.append(0, np.cumsum(self._all(number, "lengths")))
        indices = self._all(number, "indices") - self._shift
        small = max(int(indptr[-1]), self.width) < 2**31
        kind = np.int32 if small else np.int64
        X = sparse.csr_array(
            (self._all(number, "data"), indices.astype(kind), indptr.astype(kind)),
            shape=(len(y), self.width),
        )[order]
        X.sort_indices()
        return Block(X, y[order], weights)

    def _all(self, number: int, name: str) -> Any:
        """What was appended to one file; nothing if there is none."""
        file, kind = self.place / f"{number:05d}-{name}", self.state["kinds"].get(name, "<f8")
        return np.fromfile(file, dtype=kind) if file.exists() else np.empty(0, dtype=kind)
