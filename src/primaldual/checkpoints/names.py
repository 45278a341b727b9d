"""The classes that a checkpoint may name: a table, made by this package and not by the file.

A file names a class by a string. The string is looked up in the table and nowhere else: it is not
taken apart, no module is imported and no attribute is followed for it. Code that is not in the
table cannot be reached from a file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FunctionType
from typing import Any

# The modules, each with those below it, whose classes make up a state or a result.
HOMES = (
    "primaldual.checkpoints.streams",
    "primaldual.data.rows",
    "primaldual.engine",
    "primaldual.losses",
    "primaldual.methods",
    "primaldual.problem.certificate",
    "primaldual.problem.recipe",
    "primaldual.result",
    "primaldual.samplings",
    "primaldual.solver.run",
)


def _name(kind: Any) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _is_ours(module: str) -> bool:
    return any(module == home or module.startswith(f"{home}.") for home in HOMES)


def _defined_in(module: str) -> Iterable[type]:
    """The classes that a loaded module defines at its top; none that acts when it is deleted."""
    for value in vars(sys.modules.get(module, object)).values():
        if not isinstance(value, type) or value.__module__ != module:
            continue
        if not hasattr(value, "__del__") and not issubclass(value, BaseException):
            yield value


class Names:
    """What a file may name in one solve.

    Parameters
    ----------
    given
        The method and the sampling of the solve. The classes of their modules may be named too,
        and the functions that are among their attributes.
    """

    def __init__(self, given: Iterable[Any] = ()) -> None:
        given = tuple(given)
        homes = [name for name in list(sys.modules) if _is_ours(name)]
        others = {type(value).__module__ for value in given} - {"builtins"}
        self.table: dict[str, Any] = {
            _name(kind): kind for module in (*homes, *others) for kind in _defined_in(module)
        }
        for value in given:
            for inside in vars(value).values() if hasattr(value, "__dict__") else ():
                if isinstance(inside, FunctionType):
                    self.table[_name(inside)] = inside

    def of(self, kind: Any) -> str | None:
        """The name of a class or function; None if it has none in the table."""
        name = _name(kind)
        return name if self.table.get(name) is kind else None

    def called(self, name: Any) -> Any:
        """The class or function of a name; LookupError if the table has none."""
        if not isinstance(name, str) or name not in self.table:
            raise LookupError(f"{name} is not known")
        return self.table[name]
