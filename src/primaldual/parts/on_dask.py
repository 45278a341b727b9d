"""Parts on a Dask cluster, or on any of Dask's schedulers.

Tasks are not pinned to workers, and what is shared is the result of a task as well: whatever a
lost worker held, Dask makes again from the graph. Every wait looks at the workers now and then.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from .base import PartError, Parts, Step, call
from .deadline import within
from .threads import own_first
from .tree import add, pairs

if TYPE_CHECKING:
    from dask.delayed import Delayed

# Seconds between two looks at the workers, and of no work at all after which a round is given up: a
# nanny brings a new worker in about 6 s, an autoscaling cluster in a minute or two.
LOOK, PATIENCE = 1.0, 120.0
# Seconds that the scheduler has for a short answer.
ANSWER = 10.0


class OnDask(Parts):
    """Parts that are Dask's delayed objects.

    Parameters
    ----------
    parts : sequence of Delayed
        For ``solve`` and the estimators each a ``Block``. They are persisted.
    sources : sequence of str, optional
        Where the parts come from, for error messages.
    client : distributed.Client, optional
        By default the current one; without any, Dask's own scheduler computes.
    patience : float
        Seconds without a worker that has a task, or without an answer of the scheduler, after which
        an error is raised.
    """

    is_remote = True

    def __init__(
        self,
        parts: Sequence[Delayed],
        sources: Sequence[str] | None = None,
        client: Any = None,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__()
        self.client = current_client() if client is None else client
        self.count, self.patience = len(parts), patience
        self.sources = [str(part.key) for part in parts] if sources is None else list(sources)
        self.parts: list[Any] = self._kept(list(parts))

    def workers(self) -> int:
        """The threads of all workers, 1 if there are none now; here, the cores."""
        if self.client is None:
            return len(os.sched_getaffinity(0))
        with self._reachable():
            return max(1, sum(within(self.patience, self.client.nthreads).values()))

    def then(self, step: Step, *shared: Any, each: Sequence[Any] | None = None) -> OnDask:
        """The parts that a step makes, persisted as well."""
        run = task(call)
        made = [
            run(step, number, self.sources[number], part, own_first(each, number, shared))
            for number, part in enumerate(self.parts)
        ]
        return OnDask(made, self.sources, self.client, self.patience)

    def _map(self, step: Step, shared: tuple[Any, ...]) -> list[Any]:
        return list(self._computed(task(list)(self._steps(step, shared))))

    def _sum(self, step: Step, shared: tuple[Any, ...]) -> Any:
        results = self._steps(step, shared)
        plus = task(add)
        while len(results) > 1:
            results = [plus(*pair) if len(pair) > 1 else pair[0] for pair in pairs(results)]
        return self._computed(results[0])

    def _steps(self, step: Step, shared: tuple[Any, ...]) -> list[Delayed]:
        """The step on every part, as tasks."""
        run, given = task(call), task(_given)(*shared)
        named = zip(self.sources, self.parts, strict=True)
        return [run(step, k, source, part, given) for k, (source, part) in enumerate(named)]

    # ---- the schedulers

    def _kept(self, parts: list[Delayed]) -> list[Any]:
        """The parts, held in the memory of the workers from now on."""
        if self.client is not None:
            with _quiet(), self._reachable():
                keep = partial(self.client.persist, optimize_graph=False)
                return list(within(self.patience, keep, parts))
        try:
            import dask

            return list(dask.persist(*parts))
        except PartError:
            raise
        except Exception:
            self._name_the_unreadable(parts)
            raise

    def _computed(self, root: Delayed) -> Any:
        """The value of a task on the current scheduler."""
        if self.client is None:
            return root.compute()
        with _quiet(), self._reachable():
            begin = partial(self.client.compute, optimize_graph=False)
            future = within(self.patience, begin, root)
        try:
            return self._awaited(future)
        except PartError:
            raise
        except KeyboardInterrupt:
            _cancel(future)
            raise
        except Exception as error:
            self._name_the_lost()
            raise PartError(f"the cluster failed: {type(error).__name__}: {error}") from error

    def _awaited(self, future: Any) -> Any:
        """The result of a future; an error once the cluster has done nothing for too long."""
        finished = threading.Event()
        future.add_done_callback(lambda _: finished.set())
        seen = time.monotonic()
        while not finished.wait(LOOK):
            why = self._why_idle()
            if not why:
                seen = time.monotonic()
            elif time.monotonic() - seen > self.patience:
                _cancel(future)
                raise PartError(
                    f"on the cluster {self._address()} {why} for {self.patience:g} seconds. Start "
                    "workers, then fit again; with a checkpoint the fit goes on from its last "
                    "round."
                )
        return within(self.patience, future.result)  # a large one takes a while to arrive

    def _why_idle(self) -> str:
        """What is wrong where no worker has a task; nothing where one has."""
        try:
            tasks = within(min(ANSWER, self.patience), self.client.processing)
        except TimeoutError:
            return "the scheduler has not answered"
        except (OSError, ValueError, RuntimeError):
            return "the scheduler could not be reached"
        if not tasks:
            return "no worker has been there"
        return "" if any(tasks.values()) else "no worker has had a task"

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        """Turn a scheduler that does not take tasks into an error that names it."""
        try:
            yield
        except (OSError, RuntimeError, ValueError) as error:
            if isinstance(error, PartError):
                raise
            raise PartError(
                f"the cluster {self._address()} took no tasks within {self.patience:g} seconds: "
                f"{type(error).__name__}: {error}"
            ) from error

    def _address(self) -> str:
        return str(getattr(getattr(self.client, "scheduler", None), "address", "of this client"))

    def _name_the_lost(self) -> None:
        """Raise an error that names a part which is lost or could not be made, if there is one."""
        from distributed import futures_of

        for number, part in enumerate(self.parts):
            for future in futures_of(part):
                if future.status in ("error", "lost", "cancelled"):
                    error = within(ANSWER, future.exception) if future.status == "error" else None
                    if isinstance(error, PartError):
                        raise error
                    why = future.status if error is None else f"{type(error).__name__}: {error}"
                    raise PartError(f"part {number} ({self.sources[number]}): {why}") from error

    def _name_the_unreadable(self, parts: list[Delayed]) -> None:
        """Raise an error that names the first part which cannot be made."""
        for number, part in enumerate(parts):
            try:
                part.compute()
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                raise PartError(f"part {number} ({self.sources[number]}): {why}") from error


def _cancel(future: Any) -> None:
    """Cancel a task, if the scheduler is there to do it."""
    with suppress(OSError, RuntimeError, ValueError):
        within(LOOK, future.cancel)


def task(function: Any) -> Any:
    """A function whose calls are tasks, each of a name of its own: two fits never share one."""
    from dask.delayed import delayed

    return delayed(function, pure=False)


def current_client() -> Any:
    """The client of ``distributed`` in use here, or None."""
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _given(*shared: Any) -> tuple[Any, ...]:
    """What is shared in a round: a task, so that it can be made again if it is lost."""
    return shared


class _quiet(warnings.catch_warnings):
    """Without the advice to scatter large vectors: scattered data is lost with its workers."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        return entered
