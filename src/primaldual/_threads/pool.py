"""One pool of threads per process: made when first needed, safe to fork, gone at exit.

Whoever asks for work to be done takes part in it, so that nothing waits for a thread that is busy
elsewhere. Parts are begun in their order; what fails is raised once, and nothing goes on behind it.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, TypeVar

from .._numba.clock import Signal, heeding, look_at_clock
from .blas import one_blas_thread
from .scope import Scope, current, enter, leave

Part = TypeVar("Part")
Found = TypeVar("Found")


class _Pool:
    """The helpers of this process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, as in a forked child, which has none of its parent's threads."""
        self.lock = threading.Lock()
        self.executor: ThreadPoolExecutor | None = None
        self.size = 0
        self.busy = 0  # computations that use it now

    def start(self, count: int, work: Callable[[], None]) -> list[Future[None]]:
        """Let up to that many helpers do the work; fewer where the interpreter is about to end."""
        started: list[Future[None]] = []
        with self.lock:
            if self.executor is None or self.size < count:
                if self.executor is not None:
                    self.executor.shutdown(wait=False)
                self.executor = ThreadPoolExecutor(count, thread_name_prefix="primaldual")
                self.size = count
            self.busy += 1
            try:
                for _ in range(count):
                    started.append(self.executor.submit(copy_context().run, work))
            except RuntimeError:  # no new threads: the caller does what is left
                pass
        return started

    def end(self) -> None:
        """One computation is over."""
        with self.lock:
            self.busy -= 1

    def before_fork(self) -> None:
        """Let the helpers go if they are idle: then the process forks with one thread less."""
        self.lock.acquire()
        if self.executor is not None and self.busy == 0:
            self.executor.shutdown(wait=True)
            self.executor, self.size = None, 0


_POOL = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_POOL.before_fork,
        after_in_parent=lambda: _POOL.lock.release(),
        after_in_child=_POOL.forget,
    )


def for_each(step: Callable[[Part], Found], parts: Sequence[Part]) -> list[Found]:
    """The step's results for all parts, in their order.

    Parts are executed by the threads of the current scope. They may write into arrays of which
    each has its own piece.
    """
    scope = current()
    if len(parts) < 2 or scope.count() < 2:
        found = []
        for part in parts:
            look_at_clock()
            found.append(step(part))
        return found
    region = _Region(step, parts, scope)
    return region.run()


def tasks(step: Callable[[Part], Found], parts: Sequence[Part], keeps: bool = False) -> list[Found]:
    """The same for tasks that take long, and end early where Ctrl-C has interrupted one of them.

    A solve is such a task: it keeps its best iterate. Where the results are no use then, an
    interrupt is raised once the tasks have ended; not so if they are to be kept.
    """
    region = _Region(step, parts, current(), keeps)
    found = region.run()
    if region.signal.is_set and not keeps:
        raise KeyboardInterrupt
    return found


class _Region:
    """Parts that are being executed."""

    def __init__(
        self, step: Callable[[Any], Any], parts: Sequence[Any], scope: Scope, keeps: bool = False
    ) -> None:
        self.step, self.parts, self.keeps = step, parts, keeps
        self.threads = min(scope.count(), len(parts))
        self.inner = Scope(1, scope.part, inside=scope.inside or self.threads > 1)
        if self.threads == 1:
            self.inner = scope
        scope.used = max(scope.used, self.threads)
        self.results: list[Any] = [None] * len(parts)
        self.errors: dict[int, BaseException] = {}
        self.numbers = itertools.count()  # its steps are atomic
        self.stopped = False
        self.signal = Signal()

    def run(self) -> list[Any]:
        """Execute all parts; the results in their order."""
        helpers = _POOL.start(self.threads - 1, self.help) if self.threads > 1 else []
        try:
            with one_blas_thread(self.threads > 1):
                token = enter(self.inner)
                try:
                    self.work()
                finally:
                    leave(token)
                self.join(helpers)
        except BaseException:
            self.stopped = self.signal.is_set = True
            _settle(helpers)
            raise
        finally:
            if self.threads > 1:
                _POOL.end()
        if self.errors:
            raise self.errors[min(self.errors)]
        return self.results

    def join(self, helpers: list[Future[None]]) -> None:
        """Wait for the helpers; those that have not begun are not needed any more."""
        try:
            _join(helpers)
        except KeyboardInterrupt:
            if not self.keeps:
                raise
            self.signal.is_set = True  # tasks end by themselves, and have something to show
            _settle(helpers)

    def help(self) -> None:
        """What a helper does, in a copy of the caller's context."""
        token = enter(self.inner)
        try:
            self.work()
        finally:
            leave(token)

    def work(self) -> None:
        """Execute parts until there are no more."""
        while not self.stopped:
            number = next(self.numbers)
            if number >= len(self.parts):
                return
            try:
                look_at_clock()
                with heeding(self.signal):
                    self.results[number] = self.step(self.parts[number])
            except BaseException as error:
                self.errors[number] = error
                self.stopped = self.signal.is_set = True


def _join(helpers: list[Future[None]]) -> None:
    for helper in helpers:
        if not helper.cancel():
            helper.result()


def _settle(helpers: list[Future[None]]) -> None:
    """Wait until no helper is at work, whatever interrupts that: a part takes a moment."""
    while True:
        try:
            wait([helper for helper in helpers if not helper.cancel()])
            return
        except KeyboardInterrupt:
            continue
