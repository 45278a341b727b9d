"""What is decided around a computation: how many threads it has, and how large its parts are."""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any

from .count import checked, default_count

# Nanoseconds that it takes to hand a part to another thread and to learn that it is done:
# ``dispatch`` of ``python -m benchmarks.calibrate``.
DISPATCH = 40_000
# Nonzeros, or entries of dense rows four times as many, of a part at least: some 0.3 ms, of which
# handing over takes a seventh. Work of fewer than two parts is done by one thread, as one part.
PART = 1 << 18


@dataclass
class Scope:
    """How many threads a computation has; the parts of its work do not depend on it."""

    threads: int | None = None  # None: the default, found when it is first asked for
    part: int = PART  # the least work of a part
    inside: bool = False  # whether this is a part of parallel work: then there is one thread
    used: int = 1  # the most threads that have worked at the same time

    def count(self) -> int:
        """The number of threads."""
        if self.inside:
            return 1
        if self.threads is None:
            self.threads = default_count()
        return self.threads


_scope: ContextVar[Scope | None] = ContextVar("primaldual_threads", default=None)


def current() -> Scope:
    """The scope of this computation."""
    return _scope.get() or Scope()


def enter(scope: Scope) -> Token[Scope | None]:
    """Make it the current one; to be ended with ``leave``."""
    return _scope.set(scope)


def leave(token: Token[Scope | None]) -> None:
    """The scope before again."""
    _scope.reset(token)


class using:
    """Inside, computations have that number of threads; None keeps what there is.

    Parameters
    ----------
    threads : int, optional
        -1 stands for all cores that the process may use. In a part of parallel work there is one.
    part : int, optional
        The least work of a part; for tests, whose problems are small. The bits depend on it.
    name : str
        What ``threads`` is called in error messages.
    """

    def __init__(self, threads: Any = None, part: int | None = None, name: str = "threads") -> None:
        count, outer = checked(name, threads), current()
        self.scope = Scope(
            outer.threads if count is None else count, outer.part if part is None else part,
            outer.inside,
        )  # fmt: skip

    def __enter__(self) -> Scope:
        self.token = enter(self.scope)
        return self.scope

    def __exit__(self, *error: object) -> None:
        leave(self.token)
        outer = _scope.get()
        if outer is not None:
            outer.used = max(outer.used, self.scope.used)
