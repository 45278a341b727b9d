"""Checkpoints: a run that is killed goes on where it was last saved, and ends in the same bits.

Inside ``checkpointing(path)`` every solve saves now and then, between two rounds, all that its
future depends on: the method's state, its random numbers, and the best points so far. Run again
with the same inputs, solves that were finished are read from the file, and the one that was
under way goes on.
"""

from __future__ import annotations

import hmac
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from .._text import visible
from ..result import Result, Status
from ..writing import remove_leftovers
from .file import CheckpointError, Record, records, require_place, write
from .frozen import ThawError, digest, freeze, thaw
from .proofs import require_proved, require_whole
from .seal import seal
from .streams import stream_of, turn
from .world import Digests, World

# A solve that ended for one of these reasons can go on in another run.
_UNFINISHED = (Status.MAX_TIME, Status.INTERRUPTED)


class CheckpointWarning(UserWarning):
    """A checkpoint that could not be written, or that was left behind."""


# --------------------------------------------------------------------------------------------
# The block


@contextmanager
def checkpointing(path: str | os.PathLike[str], every: float = 30.0) -> Iterator[Checkpoint]:
    """Save every solve inside the block to a file, and go on from it in another run.

    Parameters
    ----------
    path : path
        The checkpoint. If it exists, the solves in the block are taken up from it; they must be
        the same ones, in the same order. Otherwise it is created at the first save.
    every : float
        Seconds between two saves: a run that is killed loses this much work at most, and the
        round that was under way.

    Yields
    ------
    Checkpoint
        With ``path``, ``resumed`` (whether there was a file to go on from), ``saves`` (how often
        it was written) and ``unfinished`` (whether a solve ended by max_time or Ctrl-C).

    Raises
    ------
    CheckpointError
        If the file belongs to another run: other data, settings or version of primaldual.
    ContainerError
        If the file is damaged or no checkpoint at all.

    Notes
    -----
    The file is removed at the end of the block. It is kept if the block ends by an error, or if
    a solve in it ended by max_time or Ctrl-C and so has more to do. What is to be safe before
    the file goes, such as a model on disk, belongs inside the block.

    Estimators solve their problems one after the other inside the block, whatever ``n_jobs`` is:
    threads then share the work on one. Solves in threads of your own cannot be put in order and
    are refused.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from primaldual import Problem, solve
    >>> from primaldual.checkpoints import checkpointing
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> path = os.path.join(tempfile.mkdtemp(), "run.checkpoint")
    >>> with checkpointing(path, every=0.0) as checkpoint:
    ...     result = solve(Problem(X, np.sign(X[:, 0]), lam=0.1), "quartz", seed=0)
    >>> result.converged, checkpoint.saves > 0, os.path.exists(path)
    (True, True, False)
    """
    if not isinstance(every, int | float | np.number) or not every >= 0:
        raise ValueError(f"every must be a nonnegative number of seconds, got {every!r}.")
    here = threading.current_thread()
    if here in _open:
        raise RuntimeError(
            f"the checkpoint {_open[here].path} is open already. Blocks cannot be nested: end "
            "the one before the other."
        )
    checkpoint = Checkpoint(path, float(every))
    _open[here] = checkpoint
    try:
        yield checkpoint
    except BaseException:
        checkpoint._leave()
        raise
    else:
        checkpoint._end()
    finally:
        del _open[here]


_open: dict[threading.Thread, Checkpoint] = {}  # by the thread that opened it


def is_open() -> bool:
    """Whether this thread is inside a checkpoint's block."""
    return threading.current_thread() in _open


def current() -> Checkpoint | None:
    """The checkpoint that a solve starting here has to use; None without one."""
    if not _open:
        return None
    here = threading.current_thread()
    own = _open.get(here)
    if own is not None:
        return own if own._is_recording else None
    for checkpoint in list(_open.values()):
        checkpoint._require_elder(here)
    return None


class Checkpoint:
    """An open checkpoint: the solves of this run so far, finished or under way."""

    def __init__(self, path: str | os.PathLike[str], every: float) -> None:
        self.path = Path(path).absolute()
        self.every = every
        self.saves = 0
        self.unfinished = False
        require_place(self.path)
        self._records = records(self.path) if self.path.exists() else []
        self.resumed = bool(self._records)
        self._begun = 0  # solves of this run so far
        self._busy = False  # a solve inside a callback of another one is not recorded
        self._news = False  # whether a solve was finished since the last save
        self._digests = Digests()
        self._last = time.monotonic()
        self._elders = weakref.WeakSet(threading.enumerate())
        remove_leftovers(self.path)

    @property
    def _is_recording(self) -> bool:
        return not self._busy and not self.unfinished

    def _require_elder(self, thread: threading.Thread) -> None:
        """Refuse a solve in a thread that began inside the block."""
        if thread not in self._elders:
            raise RuntimeError(
                f"a solve in a worker thread cannot be saved to the checkpoint {self.path}: the "
                "order of such solves changes from run to run. Solve one after the other "
                "inside checkpointing()."
            )

    @contextmanager
    def entry(
        self,
        problem: Any,
        name: str,
        method: Any,
        sampling: Any,
        rng: Generator,
        is_seeded: bool,
        start: Any,
        **limits: float,
    ) -> Iterator[Entry]:
        """The place of the next solve in the file; refused if another solve is there.

        ``limits`` are numbers that the result depends on.
        """
        world = World(problem, rng, (method, sampling), self._digests)
        parts = _fingerprint(world, name, method, sampling, start, limits, is_seeded)
        if self._begun == len(self._records):
            self._records.append(Record(parts))
        record = self._records[self._begun]
        _require_same(self.path, self._begun, record.parts, parts)
        self._begun += 1
        self._busy = True
        try:
            yield Entry(self, record, world, method, self._begun, limits["tol"])
        finally:
            self._busy = False

    def _is_due(self) -> bool:
        return time.monotonic() - self._last >= self.every

    def _write(self) -> None:
        """Write all records. The run is worth more than the file: a failure is a warning."""
        try:
            write(self.path, self._records)
        except OSError as error:
            warnings.warn(
                f"the checkpoint {self.path} could not be written: {error}. The run goes on, and "
                f"it is tried again in {self.every:g} s; until then a killed run goes back to the "
                "last save that succeeded, if any.",
                CheckpointWarning,
                stacklevel=2,
            )
        else:
            self.saves += 1
            self._news = False
        self._last = time.monotonic()

    def _leave(self) -> None:
        """The block has ended early: keep the file, with all that was finished."""
        if self._news:
            self._write()

    def _end(self) -> None:
        """The block has ended well: remove the file, unless there is more to do."""
        if self.unfinished:
            self._leave()
            return
        if self._begun < len(self._records):
            warnings.warn(
                f"the checkpoint {self.path} was kept: it holds {len(self._records)} solves, and "
                f"this run asked for {self._begun}. Delete it if they are not needed.",
                CheckpointWarning,
                stacklevel=2,
            )
            return
        try:
            self.path.unlink(missing_ok=True)
            remove_leftovers(self.path)
        except OSError as error:
            warnings.warn(
                f"the checkpoint {self.path} could not be removed, and is not needed: {error}.",
                CheckpointWarning,
                stacklevel=2,
            )


class Entry:
    """The place of one solve in a checkpoint: the solve of that number, with its ``tol``."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        record: Record,
        world: World,
        method: Any,
        number: int,
        tol: float,
    ) -> None:
        self._number, self._tol = number, tol
        self._checkpoint = checkpoint
        self._record = record
        self._world = world
        self._method = method

    def result(self) -> Result | None:
        """The result if the solve is finished; everything is left as it was after the solve."""
        if not self._record.is_finished:
            return None
        found: Result = self._restored()["result"]
        return found

    def earlier(self) -> dict[str, Any] | None:
        """What was last saved, if anything; generator, method and problem are set back to it."""
        return None if self._record.tree is None else self._restored()

    def rehearse(self, snapshot: dict[str, Any]) -> None:
        """Find out at once if there is something that cannot be saved."""
        freeze(snapshot, self._world)

    def offer(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Save if the time has come."""
        if self._checkpoint._is_due():
            self.save(snapshot())

    def save(self, snapshot: dict[str, Any]) -> None:
        """Save the solve as it is now."""
        try:
            self._keep(snapshot)
            self._checkpoint._write()
        finally:
            self._record.arrays = ()  # those of the state, which moves on
            self._record.tree = None

    def finish(self, result: Result) -> None:
        """Keep the result, so that it is not computed again."""
        checkpoint = self._checkpoint
        if result.status in _UNFINISHED:
            checkpoint.unfinished = True
            return
        self._record.is_finished = True
        self._keep({"result": result})
        self._record.arrays = [array.copy() for array in self._record.arrays]
        checkpoint._news = True
        if checkpoint._is_due():
            checkpoint._write()

    def _keep(self, values: dict[str, Any]) -> None:
        world = self._world
        whole = {
            **values,
            "method": self._method,
            "rng": stream_of(world.rng),
            "problem": world.changes(),
        }
        self._record.tree, self._record.arrays = freeze(whole, world)
        self._record.seal = self._seal()

    def _seal(self) -> str:
        """The seal that fits the record and the data at hand."""
        record = self._record
        return seal(
            self._world.secret(), self._number, record.parts, record.is_finished, record.tree,
            record.arrays,
        )  # fmt: skip

    def _restored(self) -> dict[str, Any]:
        """The saved values; what lives outside of them is brought to the same moment."""
        world, record, path = self._world, self._record, self._checkpoint.path
        if not hmac.compare_digest(record.seal, self._seal()):
            raise CheckpointError(
                f"{path}: this checkpoint was changed after it was saved, by someone who does not "
                "have the data. Do not trust it: delete the file or use another name to start "
                "afresh."
            )
        try:
            whole: dict[str, Any] = thaw(record.tree, record.arrays, world)
            require_whole(whole, record.is_finished, self._method)
            for proof in whole["best"] if "best" in whole else (whole["result"],):
                require_proved(world.problem, proof, self._tol)
            world.change(whole.pop("problem"))
            turn(world.rng, whole.pop("rng"))
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            how = error if isinstance(error, ThawError) else f"its parts do not fit ({error})"
            raise CheckpointError(
                f"{path}: this checkpoint was saved by other code: {visible(how)}. Delete the file "
                "or use another name to start afresh."
            ) from None
        vars(self._method).update(vars(whole.pop("method")))
        return whole


# --------------------------------------------------------------------------------------------
# Which solve it is


def _fingerprint(
    world: World,
    name: str,
    method: Any,
    sampling: Any,
    start: Any,
    limits: dict[str, float],
    is_seeded: bool,
) -> dict[str, str]:
    """All that the result depends on, part by part, so that a difference can be named."""
    problem = world.problem
    return {
        "the version of primaldual": _version(),
        "the kind of problem": type(problem).__name__,
        "the data": world.data(),
        "the targets": world.digests.of(world.targets()),
        "the sample weights": world.digests.of(problem.sample_weight),
        "the loss": repr(problem.loss) if isinstance(problem.loss, tuple) else "softmax",
        "lam": repr(float(problem.lam)),
        "fit_intercept": str(problem.fit_intercept),
        "the method": f"{name}, {digest(method, world)}",
        "the sampling": "none" if sampling is None else digest(sampling, world),
        "the seed": digest(stream_of(world.rng), world) if is_seeded else "none",
        "the start": digest(start, world),
        **{key: repr(value) for key, value in limits.items()},
    }


def _version() -> str:
    from importlib.metadata import version  # slow to load, and rarely needed

    return version("primaldual")


def _require_same(path: Path, number: int, there: dict[str, str], here: dict[str, str]) -> None:
    """Refuse to go on with another problem or with other settings."""
    different = [key for key in here if there.get(key) != here[key]]
    if not different:
        return
    listed = "; ".join(
        f"{key} was {visible(there.get(key))}, now is {visible(here[key])}" for key in different
    )
    raise CheckpointError(
        f"{path}: this checkpoint belongs to another run. In its solve number {number + 1}, "
        f"{listed}. Run with the same inputs to go on, or delete the file or use another name to "
        "start afresh."
    )
