"""States as JSON and bytes, and back: what checkpoints are made of.

A state is frozen by walking it. What another run is given again (the problem, its data, the
generator of the draws) is named; everything else is written down, once for each object, so that
what was shared before is shared after: arrays that are views of one memory, a generator that two
states use. Floats keep their bits. What comes out can be written as JSON and arrays of bytes, and
holds nothing that could be executed.

One file because freezing and thawing mirror each other, kind by kind: a change in one has to be
made beside the other.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum, EnumMeta
from types import FunctionType
from typing import Any

import numpy as np
from numpy.random import Generator

from .._text import visible
from .._types import FloatArray
from ..data.checks import Stored
from ..data.matrix import Matrix
from ..problem import Problem
from .streams import made as made_generator
from .streams import stream_of
from .world import World, cannot_save, layouts_of, set_layouts, words_for

# Of arrays and scalars in a file: booleans, numbers and strings.
_DTYPE = re.compile(r"[<>|=]?[?biufcSU]\d{0,6}")
# What a file that was changed may raise while it is read.
_REFUSED = (
    *(LookupError, TypeError, ValueError, AttributeError),
    *(RecursionError, OverflowError, MemoryError),
)


class ThawError(ValueError):
    """A frozen value that does not fit the code that is to use it."""


def digest(value: Any, world: World) -> str:
    """The first 16 digits of the SHA-256 of anything that can be saved."""
    tree, arrays = freeze(value, world)
    found = hashlib.sha256(json.dumps(tree, sort_keys=True).encode())
    for array in arrays:
        found.update(array.data)
    return found.hexdigest()[:16]


# --------------------------------------------------------------------------------------------
# From objects to JSON and bytes


def freeze(value: Any, world: World) -> tuple[Any, list[Any]]:
    """A value as JSON and arrays of bytes; the arrays may be views of those in the value."""
    freezer = _Freezer(world)
    tree = freezer.node(value, "")
    return tree, freezer.bytes()


def _kind_of(value: Any) -> str:
    return f"a {type(value).__module__}.{type(value).__qualname__}"


class _Freezer:
    """One walk through an object and all that it refers to."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.given = world.named()
        self.blocks = world.blocks()
        self.numbers: dict[int, int] = {}  # of the objects met so far, by identity
        self.alive: list[Any] = []  # an identity is one only while the object lives
        self.roots: list[Any] = []  # arrays that own memory
        self.extents: list[list[int]] = []  # the first and last byte of each that is used
        self.pieces: list[dict[str, Any]] = []  # the nodes of arrays, to be completed

    def node(self, value: Any, where: str) -> Any:
        """The value as JSON."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.generic) and not value.dtype.hasobject:
            return {"scalar": value.dtype.str, "bits": value.tobytes().hex()}
        if id(value) in self.given:
            return {"given": self.given[id(value)]}
        if id(value) in self.numbers:
            return {"again": self.numbers[id(value)]}
        if isinstance(value, Enum):
            return {"enum": self.name(type(value), where), "member": value.name}
        if isinstance(value, type | FunctionType):
            return {"name": self.name(value, where)}
        if isinstance(value, Problem):
            return self.derived(value, where)
        number = self.numbers[id(value)] = len(self.alive)
        self.alive.append(value)
        return {"id": number, **self.contents(value, where)}

    def contents(self, value: Any, where: str) -> dict[str, Any]:
        """What an object consists of."""
        if isinstance(value, np.ndarray):
            return {"array": self.array(value, where)}
        if isinstance(value, Generator):
            return {"generator": self.node(stream_of(value), where)}
        if type(value) is Matrix:
            major = self.node(value.stored, f"{where}.values")
            known = {"by": value.stored_by, "shape": list(value.shape), "nnz": value.nnz}
            return {"matrix": major, **known, **layouts_of(value)}
        if isinstance(value, tuple):
            kind = {} if type(value) is tuple else {"of": self.name(type(value), where)}
            return {"tuple": self.nodes(value, where), **kind}
        if type(value) is list:
            return {"list": self.nodes(value, where)}
        if type(value) is set:
            return {"set": self.nodes(sorted(value, key=repr), where)}
        if type(value) is dict:
            keys, values = self.nodes(value, where), []
            for key, item in value.items():
                values.append(self.node(item, f"{where}.{key}" if where else str(key)))
            return {"dict": [keys, values]}
        return self.object(value, where)

    def object(self, value: Any, where: str) -> dict[str, Any]:
        """A dataclass, or another object of this package or of the method's module."""
        kind = type(value)
        if is_dataclass(kind):
            held = {field.name: getattr(value, field.name) for field in fields(kind)}
        elif self.world.names.of(kind) and kind.__dictoffset__:
            held = vars(value)
        else:
            raise cannot_save(where, _kind_of(value))
        inside = {
            key: self.node(item, f"{where}.{key}" if where else key) for key, item in held.items()
        }
        return {"object": self.name(kind, where), "fields": inside}

    def nodes(self, values: Iterable[Any], where: str) -> list[Any]:
        """One node for each value."""
        return [self.node(value, f"{where}[{number}]") for number, value in enumerate(values)]

    def derived(self, value: Problem, where: str) -> Any:
        """A problem that the method has made itself, which another run can make again."""
        if value is not self.world.problems.get("densified"):
            self.world.adopt(value, where)
            self.given |= self.world.named()
            self.blocks = self.world.blocks()
        return {
            "given": "densified",
            "data": words_for(value.matrix, self.world.digests),
            **layouts_of(value.matrix),
        }

    def name(self, kind: Any, where: str) -> str:
        """The name of a class or function by which it is found again."""
        name = self.world.names.of(kind)
        if name is None:
            text = f"{kind.__module__}:{kind.__qualname__}"
            raise cannot_save(where, f"of {text}, which a checkpoint may not name")
        return name

    def array(self, value: Any, where: str) -> dict[str, Any]:
        """An array as a piece of memory, which may be that of the data or be shared."""
        if value.dtype.hasobject:
            raise cannot_save(where, "an array of objects")
        piece: dict[str, Any] = {
            "dtype": value.dtype.str,
            "shape": list(value.shape),
            "strides": list(value.strides),
            "writeable": bool(value.flags.writeable),
        }
        if value.size == 0:
            return piece
        first = value.ctypes.data
        low, high = _bounds(value)
        for begin, end, name, _ in self.blocks:
            if begin <= low and high <= end:
                return {**piece, "data": name, "offset": first - begin}
        root = value
        while isinstance(root.base, np.ndarray):
            root = root.base
        if not (root.flags.c_contiguous or root.flags.f_contiguous):
            raise cannot_save(where, "a view of memory with gaps")
        begin = root.ctypes.data
        low, high = low - begin, high - begin
        for number, known in enumerate(self.roots):
            if known is root:
                extent = self.extents[number]
                extent[:] = min(low, extent[0]), max(high, extent[1])
                break
        else:
            number = len(self.roots)
            self.roots.append(root)
            self.extents.append([low, high])
        piece |= {"root": number, "offset": first - begin}
        self.pieces.append(piece)
        return piece

    def bytes(self) -> list[Any]:
        """The memory that is used of each root; the nodes are completed."""
        for extent in self.extents:
            extent[0] -= extent[0] % 64
        for piece in self.pieces:
            piece["offset"] -= self.extents[piece["root"]][0]
        return [
            root.reshape(-1, order="A").view(np.uint8)[low:high]
            for root, (low, high) in zip(self.roots, self.extents, strict=True)
        ]


def _bounds(array: Any) -> tuple[int, int]:
    """The first address of an array's memory, and the one after the last."""
    reach = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    low = array.ctypes.data + sum(min(step, 0) for step in reach)
    return low, array.ctypes.data + sum(max(step, 0) for step in reach) + array.itemsize


# --------------------------------------------------------------------------------------------
# And back


def thaw(tree: Any, arrays: Iterable[Any], world: World) -> Any:
    """What ``freeze`` was given, in new objects; only what the world has is the same object."""
    try:
        return _Thaw(arrays, world).value(tree)
    except ThawError:
        raise
    except _REFUSED as error:
        raise ThawError(f"its parts do not fit together ({visible(error)})") from None


def _dtype(code: Any) -> np.dtype[Any]:
    """The type of numbers or strings of a code in a file."""
    if not isinstance(code, str) or not _DTYPE.fullmatch(code):
        raise TypeError(f"{code!r} is not a type of numbers")
    return np.dtype(code)


class _Thaw:
    """One walk through the JSON of a frozen object."""

    def __init__(self, arrays: Iterable[Any], world: World) -> None:
        self.world = world
        self.memory = [np.array(array) for array in arrays]
        self.made: dict[int, Any] = {}  # by number

    def value(self, node: Any) -> Any:
        """The object of a node."""
        if not isinstance(node, dict):
            return node
        if "again" in node:
            return self.made[node["again"]]
        if "given" in node:
            return self.given(node)
        if "scalar" in node:
            return np.frombuffer(bytes.fromhex(node["bits"]), dtype=_dtype(node["scalar"]))[0]
        if "enum" in node:
            kind = self.called(node["enum"])
            if not isinstance(kind, EnumMeta):
                raise TypeError(f"{node['enum']} has no members")
            return kind[node["member"]]
        if "name" in node:
            return self.called(node["name"])
        return self.built(node)

    def built(self, node: dict[str, Any]) -> Any:
        """A new object; one that can refer to itself is known before its contents are."""
        number = node["id"]
        if "list" in node:
            whole: list[Any] = []
            self.made[number] = whole
            whole.extend(map(self.value, node["list"]))
        elif "dict" in node:
            table: dict[Any, Any] = {}
            self.made[number] = table
            keys, values = ([self.value(each) for each in part] for part in node["dict"])
            table.update(zip(keys, values, strict=True))
        elif "object" in node:
            self.made[number] = self.instance(node, number)
        else:
            self.made[number] = self.plain(node)
        return self.made[number]

    def plain(self, node: dict[str, Any]) -> Any:
        """An object whose contents come before it."""
        if "array" in node:
            return self.array(node["array"])
        if "generator" in node:
            return made_generator(self.value(node["generator"]))
        if "set" in node:
            return set(map(self.value, node["set"]))
        if "matrix" in node:
            shape = (node["shape"][0], node["shape"][1])
            matrix = Matrix(Stored(self.value(node["matrix"]), node["by"], shape, node["nnz"]))
            set_layouts(matrix, node["layouts"])
            return matrix
        values = tuple(map(self.value, node["tuple"]))
        if "of" not in node:
            return values
        kind = self.called(node["of"])
        if not (isinstance(kind, type) and issubclass(kind, tuple)):
            raise TypeError(f"{node['of']} is not a tuple")
        return kind._make(values)  # type: ignore[attr-defined]

    def instance(self, node: dict[str, Any], number: int) -> Any:
        """An object without its constructor, its attributes set one by one."""
        kind, held = self.called(node["object"]), node["fields"]
        if not isinstance(kind, type) or not isinstance(held, dict):
            raise TypeError(f"{node['object']} is not the class of an object")
        made: Any = object.__new__(kind)
        self.made[number] = made
        if is_dataclass(kind):
            if {field.name for field in fields(kind)} != set(held):
                raise ThawError(f"{node['object']} has other fields")
            for key, inside in held.items():
                object.__setattr__(made, key, self.value(inside))
            return made
        for key, inside in held.items():
            if callable(getattr(kind, key, None)):
                raise ThawError(f"{visible(key)} of {node['object']} is code, not data")
            vars(made)[key] = self.value(inside)
        return made

    def given(self, node: dict[str, Any]) -> Any:
        """Something of the world, in the layouts it had."""
        found = self.world.value(node["given"])
        if "data" in node:
            if words_for(found.matrix, self.world.digests) != node["data"]:
                raise ThawError("a problem that the method derives has other data")
            set_layouts(found.matrix, node["layouts"])
        return found

    def array(self, piece: dict[str, Any]) -> FloatArray:
        """An array in its memory."""
        dtype, shape = _dtype(piece["dtype"]), tuple(piece["shape"])
        if 0 in shape:
            made: Any = np.empty(shape, dtype=dtype)
        else:
            root = self.world.value(piece["data"]) if "data" in piece else None
            memory = self.memory[piece["root"]] if root is None else root
            if not isinstance(memory, np.ndarray):
                raise TypeError(f"{piece['data']} is not an array")
            made = np.ndarray(shape, dtype, memory, piece["offset"], tuple(piece["strides"]))
        if not piece["writeable"]:
            made.flags.writeable = False
        return made

    def called(self, name: Any) -> Any:
        """The class or function of a name."""
        try:
            return self.world.names.called(name)
        except LookupError as error:
            raise ThawError(visible(str(error.args[0]))) from None
