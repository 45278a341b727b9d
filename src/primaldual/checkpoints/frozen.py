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
import sys
import weakref
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum, EnumMeta
from functools import cached_property
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence

from .._types import FloatArray
from ..data.matrix import Matrix
from ..problem import Problem

_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_LAYOUTS = ("by_example", "by_feature")

# The parts of a problem that states refer to. They are named instead of being written down.
_PARTS = (
    *("loss", "y", "sample_weight", "classes", "codes", "features", "examples", "matrix"),
    *("matrix.stored", "matrix.by_example", "matrix.by_feature"),
)


class ThawError(ValueError):
    """A frozen value that does not fit the code that is to use it."""


class Digests:
    """SHA-256 of arrays, each computed once while the array lives."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[weakref.ref[Any], str]] = {}

    def of(self, array: Any) -> str:
        """The first 16 digits, with the type and the shape of the array."""
        reference, text = self.known.get(id(array), (None, ""))
        if reference is None or reference() is not array:
            bits = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            text = hashlib.sha256(bits.data).hexdigest()[:16]
            self.known[id(array)] = (weakref.ref(array), text)
        return f"{array.dtype} {array.shape} {text}"


def digest(value: Any, world: World) -> str:
    """The first 16 digits of the SHA-256 of anything that can be saved."""
    tree, arrays = freeze(value, world)
    found = hashlib.sha256(json.dumps(tree, sort_keys=True).encode())
    for array in arrays:
        found.update(array.data)
    return found.hexdigest()[:16]


# --------------------------------------------------------------------------------------------
# What is there again in another run


class World:
    """What a solve is given: states refer to it, and files name it."""

    def __init__(
        self, problem: Any, rng: Generator, others: tuple[Any, ...], digests: Digests
    ) -> None:
        self.problem = problem
        self.before = dict(vars(problem))
        self.rng = rng
        self.digests = digests
        # Beside the package's own, only classes and functions from here are found by their names.
        self.modules = {type(other).__module__ for other in others} - {"builtins"}
        self.problems = {"problem": problem}

    def data(self) -> str:
        """The data in words and digests."""
        return _words_for(self.problem.matrix, self.digests)

    def changes(self) -> dict[str, Any]:
        """What the solve has changed about its problem: layouts built, attributes replaced."""
        kind = type(self.problem)
        return {
            **_layouts_of(self.problem.matrix),
            "attributes": {
                name: value
                for name, value in vars(self.problem).items()
                if self.before.get(name) is not value
                and not isinstance(getattr(kind, name, None), cached_property)
            },
        }

    def change(self, changes: dict[str, Any]) -> None:
        """Make the same changes: layouts decide the order of sums, attributes where one starts."""
        _set_layouts(self.problem.matrix, changes["layouts"])
        for name, value in changes["attributes"].items():
            setattr(self.problem, name, value)

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
            raise _cannot_save(where, "a problem of the method's own making")
        self.problems["densified"] = problem

    def value(self, name: str) -> Any:
        """The object of a name."""
        if name == "rng":
            return self.rng
        base, _, part = name.partition(".")
        owner = part.rpartition(".")[0]
        if part and part not in _PARTS and owner not in _PARTS:
            raise LookupError(f"{name!r} is not known")
        if base == "densified" and base not in self.problems:
            self.problems[base] = self.problem.densified()
        found = self.problems[base]
        for key in part.split(".") if part else ():
            found = getattr(found, key)
        return found


def _look_up(problem: Any, part: str) -> Any:
    """A part of a problem that exists already; nothing is built."""
    found = problem
    for key in part.split("."):
        found = vars(found).get(key)
        if found is None:
            return None
    return found


def _words_for(matrix: Matrix, digests: Digests) -> str:
    kind = "sparse" if matrix.is_sparse else "dense"
    arrays = ", ".join(digests.of(array) for array in matrix.stored)
    return f"{matrix.shape[0]} × {matrix.shape[1]}, {kind} by {matrix.stored_by}, {arrays}"


def _layouts_of(matrix: Matrix) -> dict[str, Any]:
    """The layouts of the data that were built so far."""
    return {"layouts": [name for name in _LAYOUTS if name in vars(matrix)]}


def _set_layouts(matrix: Matrix, layouts: list[str]) -> None:
    """Have just these layouts."""
    for name in _LAYOUTS:
        if name in layouts:
            getattr(matrix, name)
        else:
            vars(matrix).pop(name, None)


# --------------------------------------------------------------------------------------------
# Generators


class _Stream(NamedTuple):
    """Where a generator stands."""

    kind: str
    state: dict[str, Any]
    entropy: Any
    spawn_key: tuple[int, ...]
    pool_size: int
    children: int  # generators spawned so far


def stream_of(rng: Generator) -> _Stream:
    """Where a generator stands now."""
    bits = rng.bit_generator
    seed: Any = bits.seed_seq
    kind = type(bits).__name__
    if kind not in _BIT_GENERATORS or type(seed) is not SeedSequence:
        raise TypeError(
            f"a checkpoint can save NumPy's generators {', '.join(_BIT_GENERATORS)} with a "
            f"SeedSequence, got {kind} with {type(seed).__name__}."
        )
    state: Any = bits.state
    return _Stream(
        kind, state, seed.entropy, seed.spawn_key, seed.pool_size, seed.n_children_spawned
    )


def _made(stream: _Stream) -> Generator:
    """A generator that stands there."""
    if stream.kind not in _BIT_GENERATORS:
        raise LookupError(f"the generator {stream.kind!r} is not known")
    seed = SeedSequence(
        stream.entropy, spawn_key=stream.spawn_key, pool_size=stream.pool_size,
        n_children_spawned=stream.children,
    )  # fmt: skip
    bits = getattr(np.random, stream.kind)(seed)
    bits.state = stream.state
    return Generator(bits)


def turn(rng: Generator, stream: _Stream) -> None:
    """Let a generator of the caller's stand there."""
    rng.bit_generator.state = stream.state
    seed: Any = rng.bit_generator.seed_seq
    if stream.children > seed.n_children_spawned:
        seed.spawn(stream.children - seed.n_children_spawned)


# --------------------------------------------------------------------------------------------
# From objects to JSON and bytes


def freeze(value: Any, world: World) -> tuple[Any, list[Any]]:
    """A value as JSON and arrays of bytes; the arrays may be views of those in the value."""
    freezer = _Freezer(world)
    tree = freezer.node(value, "")
    return tree, freezer.bytes()


def _cannot_save(where: str, kind: str) -> TypeError:
    return TypeError(
        f"a checkpoint cannot save {where or 'this value'}: it is {kind}. Numbers, arrays, NumPy "
        "generators, lists, dicts, sets, tuples, dataclasses, methods, and classes at the top of "
        "the method's own module can be saved."
    )


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
            return {"matrix": major, **known, **_layouts_of(value)}
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
        elif self.is_home(kind) and kind.__dictoffset__:
            held = vars(value)
        else:
            raise _cannot_save(where, _kind_of(value))
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
            "data": _words_for(value.matrix, self.world.digests),
            **_layouts_of(value.matrix),
        }

    def is_home(self, kind: Any) -> bool:
        """Whether names of its module may be used in a file."""
        return _is_home(kind.__module__, self.world)

    def name(self, kind: Any, where: str) -> str:
        """The name of a class or function by which ``_found`` finds it again."""
        text = f"{kind.__module__}:{kind.__qualname__}"
        if not self.is_home(kind) or _found(text) is not kind:
            raise _cannot_save(where, f"of {text}, which cannot be found by its name")
        return text

    def array(self, value: Any, where: str) -> dict[str, Any]:
        """An array as a piece of memory, which may be that of the data or be shared."""
        if value.dtype.hasobject:
            raise _cannot_save(where, "an array of objects")
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
            raise _cannot_save(where, "a view of memory with gaps")
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


def _is_home(module: str, world: World) -> bool:
    return module.split(".")[0] == "primaldual" or module in world.modules


def _found(name: str) -> Any:
    """The class or function of a name ``module:qualified.name``, if its module is loaded."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for key in path.split("."):
        found = getattr(found, key, None)
    return found


# --------------------------------------------------------------------------------------------
# And back


def thaw(tree: Any, arrays: Iterable[Any], world: World) -> Any:
    """What ``freeze`` was given, in new objects; only what the world has is the same object."""
    try:
        return _Thaw(arrays, world).value(tree)
    except ThawError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ThawError(f"its parts do not fit together ({error})") from error


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
            return np.frombuffer(bytes.fromhex(node["bits"]), dtype=node["scalar"])[0]
        if "enum" in node:
            kind = self.called(node["enum"])
            return kind[node["member"]] if isinstance(kind, EnumMeta) else None
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
            return _made(self.value(node["generator"]))
        if "set" in node:
            return set(map(self.value, node["set"]))
        if "matrix" in node:
            shape = (node["shape"][0], node["shape"][1])
            matrix = Matrix.of_rows(self.value(node["matrix"]), node["by"], shape)
            matrix.nnz = node["nnz"]
            _set_layouts(matrix, node["layouts"])
            return matrix
        values = tuple(map(self.value, node["tuple"]))
        return self.called(node["of"])._make(values) if "of" in node else values

    def instance(self, node: dict[str, Any], number: int) -> Any:
        """An object without its constructor, its attributes set one by one."""
        kind = self.called(node["object"])
        made = self.made[number] = object.__new__(kind)
        if is_dataclass(kind) and {field.name for field in fields(kind)} != set(node["fields"]):
            raise ThawError(f"{node['object']} has other fields")
        for key, inside in node["fields"].items():
            object.__setattr__(made, key, self.value(inside))
        return made

    def given(self, node: dict[str, Any]) -> Any:
        """Something of the world, in the layouts it had."""
        found = self.world.value(node["given"])
        if "data" in node:
            if _words_for(found.matrix, self.world.digests) != node["data"]:
                raise ThawError("a problem that the method derives has other data")
            _set_layouts(found.matrix, node["layouts"])
        return found

    def array(self, piece: dict[str, Any]) -> FloatArray:
        """An array in its memory."""
        dtype, shape = np.dtype(piece["dtype"]), tuple(piece["shape"])
        if dtype.hasobject:
            raise TypeError("an array of objects")
        if 0 in shape:
            made: Any = np.empty(shape, dtype=dtype)
        else:
            root = self.world.value(piece["data"]) if "data" in piece else None
            memory = self.memory[piece["root"]] if root is None else root
            made = np.ndarray(shape, dtype, memory, piece["offset"], tuple(piece["strides"]))
        if not piece["writeable"]:
            made.flags.writeable = False
        return made

    def called(self, name: str) -> Any:
        """The class or function of a name."""
        found = _found(name) if _is_home(name.partition(":")[0], self.world) else None
        if not isinstance(found, type | FunctionType):
            raise ThawError(f"{name} is not known")
        return found
