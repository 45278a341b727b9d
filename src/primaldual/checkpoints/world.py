"""What a solve is given: the problem, its data and generators, which a checkpoint names."""

from __future__ import annotations

import hashlib
import weakref
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from ..data.matrix import Matrix
from .names import Names

LAYOUTS = ("by_example", "by_feature")

# The parts of a problem that states refer to. They are named instead of being written down.
_PARTS = (
    *("loss", "y", "sample_weight", "classes", "codes", "features", "examples", "matrix"),
    *("matrix.stored", "matrix.by_example", "matrix.by_feature"),
)


def cannot_save(where: str, kind: str) -> TypeError:
    """The error for something that a file cannot hold."""
    return TypeError(
        f"a checkpoint cannot save {where or 'this value'}: it is {kind}. Numbers, arrays, NumPy "
        "generators, lists, dicts, sets, tuples, dataclasses, methods, and classes at the top of "
        "the method's own module can be saved."
    )


class Digests:
    """SHA-256 of arrays, each computed once while the array lives."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[weakref.ref[Any], str]] = {}

    def of(self, array: Any) -> str:
        """The first 16 digits, with the type and the shape of the array."""
        return f"{array.dtype} {array.shape} {self.whole(array)[:16]}"

    def whole(self, array: Any) -> str:
        """All digits."""
        reference, text = self.known.get(id(array), (None, ""))
        if reference is None or reference() is not array:
            bits = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            text = hashlib.sha256(bits.data).hexdigest()
            self.known[id(array)] = (weakref.ref(array), text)
        return text


class World:
    """What a solve is given: states refer to it, and files name it."""

    def __init__(
        self, problem: Any, rng: Generator, others: tuple[Any, ...], digests: Digests
    ) -> None:
        self.problem = problem
        self.before = dict(vars(problem))
        self.rng = rng
        self.digests = digests
        self.names = Names(others)
        self.problems = {"problem": problem}

    def data(self) -> str:
        """The data in words and digests."""
        return words_for(self.problem.matrix, self.digests)

    def targets(self) -> Any:
        """The array of the targets."""
        codes = getattr(self.problem, "codes", None)
        return self.problem.y if codes is None else codes

    def secret(self) -> str:
        """What only one who has the data knows: the whole digests, of which files show a part."""
        arrays = (*self.problem.matrix.stored, self.targets(), self.problem.sample_weight)
        return " ".join(self.digests.whole(array) for array in arrays)

    def changes(self) -> dict[str, Any]:
        """What the solve has changed about its problem: layouts built, attributes replaced."""
        kind = type(self.problem)
        return {
            **layouts_of(self.problem.matrix),
            "attributes": {
                name: value
                for name, value in vars(self.problem).items()
                if self.before.get(name) is not value
                and not isinstance(getattr(kind, name, None), cached_property)
            },
        }

    def change(self, changes: dict[str, Any]) -> None:
        """Make the same changes: attributes may say where a search starts."""
        set_layouts(self.problem.matrix, changes["layouts"])
        for name, value in changes["attributes"].items():
            if not self.may_change(name, value):
                raise ValueError(f"the problem's {name} is not a solve's to change")
            setattr(self.problem, name, value)

    def may_change(self, name: str, value: Any) -> bool:
        """Whether a solve may have left this: an array in the place of None or of its like.

        ``near``, where the search for the intercept begins, may also be a number.
        """
        if name == "near" and type(value) is float:
            return type(self.before.get(name)) is float
        if name not in self.before or name in _PARTS or not isinstance(value, np.ndarray):
            return False
        old = self.before[name]
        return old is None or (
            isinstance(old, np.ndarray) and (old.shape, old.dtype) == (value.shape, value.dtype)
        )

    def named(self) -> dict[int, str]:
        """The names of the objects that are given, by their identity."""
        found = {id(self.problem): "problem", id(self.rng): "rng"}
        for base, problem in self.problems.items():
            for part in _PARTS:
                value = _look_up(problem, part)
                if value is not None and not isinstance(value, str | int | float):
                    found.setdefault(id(value), f"{base}.{part}")
        return found

    def blocks(self) -> list[tuple[int, int, str, Any]]:
        """Where the data lies in memory: first and last address, name and array."""
        found = []
        for base, problem in self.problems.items():
            for part in _PARTS:
                value: Any = _look_up(problem, part)
                arrays = {part: value} if isinstance(value, np.ndarray) else {}
                if part.startswith("matrix.") and value is not None:
                    arrays = {f"{part}.{key}": array for key, array in value._asdict().items()}
                for name, array in arrays.items():
                    if array.size and array.flags.c_contiguous and not array.dtype.hasobject:
                        first = array.ctypes.data
                        found.append((first, first + array.nbytes, f"{base}.{name}", array))
        return found

    def adopt(self, problem: Any, where: str) -> None:
        """Take up a problem that the method has made from the given one."""
        given = self.problem
        same = (
            "densified" not in self.problems
            and not problem.matrix.is_sparse
            and given.matrix.is_sparse
            and all(getattr(problem, key) is getattr(given, key) for key in ("loss", "lam"))
            and np.array_equal(problem.y, given.y)
            and np.array_equal(problem.sample_weight, given.sample_weight)
        )
        if not same:
            raise cannot_save(where, "a problem of the method's own making")
        self.problems["densified"] = problem

    def value(self, name: str) -> Any:
        """The object of a name that ``named`` or ``blocks`` gave."""
        if name == "rng":
            return self.rng
        base, _, part = name.partition(".")
        owner, _, field = part.rpartition(".")
        is_array = owner.startswith("matrix.") and owner in _PARTS
        if base not in ("problem", "densified") or (part and part not in _PARTS and not is_array):
            raise LookupError(f"{name!r} is not known")
        if base == "densified" and base not in self.problems:
            self.problems[base] = self.problem.densified()
        found = self.problems[base]
        for key in (owner if is_array and part not in _PARTS else part).split(".") if part else ():
            found = getattr(found, key)
        return found if not part or part in _PARTS else found._asdict()[field]


def _look_up(problem: Any, part: str) -> Any:
    """A part of a problem that exists already; nothing is built."""
    found = problem
    for key in part.split("."):
        found = vars(found).get(key)
        if found is None:
            return None
    return found


def words_for(matrix: Matrix, digests: Digests) -> str:
    """A matrix in words and digests."""
    kind = "sparse" if matrix.is_sparse else "dense"
    arrays = ", ".join(digests.of(array) for array in matrix.stored)
    return f"{matrix.shape[0]} × {matrix.shape[1]}, {kind} by {matrix.stored_by}, {arrays}"


def layouts_of(matrix: Matrix) -> dict[str, Any]:
    """The layouts of the data that were built so far."""
    return {"layouts": [name for name in LAYOUTS if name in vars(matrix)]}


def set_layouts(matrix: Matrix, layouts: list[str]) -> None:
    """Have just these layouts."""
    if not isinstance(layouts, list) or not all(name in LAYOUTS for name in layouts):
        raise ValueError(f"the layouts of the data are {', '.join(LAYOUTS)}")
    for name in LAYOUTS:
        if name in layouts:
            getattr(matrix, name)
        else:
            vars(matrix).pop(name, None)
