"""Free functions that run a method of their first argument, in plain Python and in kernels.

Compiled code cannot call the methods of a named tuple, but it can call a function that is given a
body by the type of its arguments. ``@operation("value")`` makes such a function: it runs the method
``value`` of its first argument's class, chosen while a kernel is compiled, so that a call costs
what the method costs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from numba import types
from numba.extending import overload

from .compile import COMMON

F = TypeVar("F", bound=Callable[..., Any])


def operation(*methods: str, **options: Any) -> Callable[[F], F]:
    """Make a function run a method of the class of its first argument.

    Parameters
    ----------
    methods
        Names of methods, the first that the class has is run. A class that has none of them gets
        the body of the function.
    options
        Options of the compiler, as for ``numba.njit``.
    """

    def make(default: F) -> F:
        def choose(owner: type) -> Callable[..., Any]:
            found = (getattr(owner, name) for name in methods if hasattr(owner, name))
            return next(found, default)

        @wraps(default)
        def run(self: Any, *arguments: Any) -> Any:
            return choose(type(self))(self, *arguments)

        # Not strict: a strict overload compares the names and annotations of the arguments.
        @overload(run, jit_options={**COMMON, **options}, strict=False)
        def compiled(self: Any, *arguments: Any) -> Any:
            if isinstance(self, types.BaseNamedTuple):
                return choose(self.instance_class)

        return cast(F, run)

    return make
