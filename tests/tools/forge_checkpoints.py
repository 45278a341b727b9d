"""Forged checkpoints: changed in content, with a checksum that fits.

    python -m tests.tools.forge_checkpoints 3000

Half of them are made by someone who does not have the data: they must be refused, or lead to the
bits of the run that was not forged. The other half carry a seal that fits, as someone with the same
data could make it: they must be refused when they are read, or hold certificates that are true. In
no case may a file reach code, and none may take more than ten seconds of the processor.
"""

from __future__ import annotations

import copy
import random
import signal
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import sparse

from primaldual import Problem, checkpoints, container, solve
from primaldual.checkpoints import CheckpointError, checkpointing
from primaldual.container import ContainerError
from primaldual.multinomial import Multinomial, solve_multinomial
from primaldual.solver.run import Run

# What forged files are refused with.
REFUSED = (CheckpointError, ContainerError)
# Events of Python's audit hooks that no checkpoint may cause.
FORBIDDEN = ("os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen", "socket")
# Seconds of the processor that a file may take, and of waiting: other processes may be busy.
SECONDS, WAITING = 10, 200
CODE = (
    *("os:popen", "os:system", "builtins:eval", "subprocess:run", "pickle:loads"),
    *("primaldual.checkpoints:os.popen", "primaldual.checkpoints.file:os.system"),
    *("primaldual.methods.nsync:NSync.start", "primaldual.result:Result.plot", "np:load", "", ":"),
)
seen_events: list[str] = []


class Killed(BaseException):
    """The end of a run, right after a save."""


class Read(BaseException):
    """A file was read and its contents accepted."""


def _small():
    X = sparse.random(60, 25, 0.2, random_state=1, format="csr")
    return X, np.sign(np.random.default_rng(0).standard_normal(60))


def _drawn():
    X, y = _small()
    return solve(Problem(X, y, lam=0.02), "quartz", tol=1e-9, seed=0)


def _engine():
    X, y = _small()
    return solve(Problem(X, y, lam=0.02, fit_intercept=True), tol=1e-12, seed=0, side="dual")


def _two():
    X, y = _small()
    return [solve(Problem(X, y, lam=lam), "dual_cd", tol=1e-9, seed=0) for lam in (0.1, 0.01)][-1]


def _classes():
    X, _ = _small()
    codes = np.arange(60) % 3
    problem = Multinomial(X, codes, lam=0.01, fit_intercept=True)
    return solve_multinomial(problem, "dual", tol=1e-9, seed=0)


RUNS = {"drawn": (_drawn, 2), "engine": (_engine, 1), "two": (_two, 3), "classes": (_classes, 2)}


def bits(result):
    proof = result.certificate
    return result.w.tobytes(), result.alpha.tobytes(), proof.gap, result.status, result.method


@contextmanager
def replaced(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def left_behind(run, saves, place):
    """The checkpoint of a run that ends after that many saves."""
    write, left = container.write, [saves]

    def write_and_die(*arguments):
        write(*arguments)
        left[0] -= 1
        if not left[0]:
            raise Killed

    with replaced(container, "write", write_and_die):
        try:
            with checkpointing(place, every=0.0):
                run()
        except Killed:
            return container.read(place)
    raise AssertionError("the run ended before it was killed")


# --- changes --------------------------------------------------------------------------------------


def spots(node, found):
    """(container, key) of every value in a JSON value."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        found.append((node, key))
        if isinstance(value, dict | list):
            spots(value, found)
    return found


def odd_value(rng, header):
    """Something that does not belong there."""
    code = rng.choice(CODE)
    nodes = [
        {"name": code},
        {"object": code, "fields": {"args": "x"}, "id": 10**6},
        {"tuple": [], "of": code, "id": 10**6},
        {"enum": code, "member": "CONVERGED"},
        {
            "given": rng.choice(
                ["problem.y.tofile", "problem.matrix.stored._make", "rng.bytes", "x"]
            )
        },
        {"again": rng.choice([0, 3, 10**9, "0", None])},
        {"scalar": rng.choice(["<f8", "O", "V8", "<f8,O"]), "bits": "00" * 8},
        {"array": {"dtype": "O", "shape": [1], "strides": [8], "writeable": True}, "id": 10**6},
        {"id": 10**6, "list": [{"again": 10**6}]},
    ]
    plain = [None, True, -1, 0, 1, 2**63, 10**30, 1e308, float("nan"), "", "\x1b[2J", code, [], {}]
    other = spots(header, [])
    owner, key = rng.choice(other)
    return rng.choice([*nodes, *plain, copy.deepcopy(owner[key])])


def forged(rng, header, arrays):
    """Another header and other arrays."""
    header = copy.deepcopy(header)
    arrays = {name: array.copy() for name, array in arrays.items()}
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        way = rng.random()
        if way < 0.2 and arrays:
            name = rng.choice(sorted(arrays))
            array = arrays[name]
            if array.size and way < 0.15:
                at = rng.randrange(array.size)
                array.reshape(-1).view(np.uint8)[at] ^= 1 << rng.randrange(8)
            else:
                arrays[name] = array[: array.size // 2]
            continue
        owner, key = rng.choice(spots(header["solves"], []))
        if way < 0.3:
            del owner[key]
            if not header["solves"]:
                break
        elif way < 0.4 and isinstance(owner[key], bool | int | float):
            owner[key] = rng.choice([-owner[key], owner[key] + 1, owner[key] * 2**40])
        else:
            owner[key] = odd_value(rng, header)
    return header, arrays


# --- judgement ------------------------------------------------------------------------------------


def _too_long(number, frame):
    raise TimeoutError("a forged checkpoint took too long")


def blind(run, place, expected):
    """What becomes of a file that was forged without the data: "refused" or "equal"."""
    try:
        with checkpointing(place, every=1000.0):
            found = run()
    except REFUSED:
        return "refused"
    assert bits(found) == expected, "a forged checkpoint led to another result"
    return "equal"


def sealed(run, place):
    """What becomes of a file that was forged with the data: "refused" or "true"."""

    def stop(self, saved):
        for proof in saved["best"]:
            _require_true(self.problem, proof)
        raise Read

    accept = lambda there, here: True  # noqa: E731
    try:
        with (
            replaced(checkpoints.hmac, "compare_digest", accept),
            replaced(Run, "go_on", stop),
            checkpointing(place, every=1000.0),
        ):
            found = run()
    except REFUSED:
        return "refused"
    except Read:
        return "true"
    _require_true(found.problem, found.certificate)
    return "true"


def _require_true(problem, proof):
    if proof is not None and np.isfinite(proof.gap):
        pairs = ((proof.w, proof.alpha), (proof.w, None), (None, proof.alpha))
        gaps = [problem.certify(*pair, proof.intercept).gap for pair in pairs]
        assert min(gaps) <= 2.0 * proof.gap + 1e-11, (gaps, proof.gap)


def fuzz(count, seed=0):
    """So many forged files; how often each outcome was seen."""
    rng, outcomes = random.Random(seed), {}
    folder = Path(tempfile.mkdtemp())
    sources = {
        name: (run, bits(run()), left_behind(run, saves, folder / name))
        for name, (run, saves) in RUNS.items()
    }
    for run, _, _ in sources.values():  # compile what the judges need
        found = run()
        _require_true(found.problem, found.certificate)
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, _too_long)
    for number in range(count):
        name = rng.choice(sorted(sources))
        run, expected, (header, arrays) = sources[name]
        place = folder / f"{name}.forged"
        container.write(place, *forged(rng, header, arrays))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(WAITING)
        try:
            way = "sealed" if number % 2 else "blind"
            found = sealed(run, place) if number % 2 else blind(run, place, expected)
        except Exception as error:
            raise AssertionError(f"forgery {number} of {name}, seed {seed}: {error!r}") from error
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            place.unlink(missing_ok=True)
        outcomes[way, found] = outcomes.get((way, found), 0) + 1
    assert not seen_events, seen_events
    return outcomes


def watch():
    """Record what no checkpoint may cause, from now on."""
    sys.addaudithook(
        lambda event, _: seen_events.append(event) if event.startswith(FORBIDDEN) else None
    )


if __name__ == "__main__":
    watch()
    for (way, outcome), times in sorted(fuzz(int(sys.argv[1])).items()):
        print(f"{way:8} {outcome:8} {times}")
