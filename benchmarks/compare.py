"""Compare the speed of two revisions: ``python -m benchmarks.compare BASE [HEAD]``.

Each revision has a process of its own with its own compiled kernels. In a round of a task they take
turns, base head head base, in the next one head base base head, with one thread each: only one of
them computes, and both see the same machine. Calls shorter than 5 ms are timed as a series. The
ratio of a round is that of the geometric means of its two times, and the ratio of the task is the
median over the rounds.

Processor time is compared: other processes count less there. On a shared machine even that goes up
and down by half, for some 0.1 s at a time. The shortest of all times tells who was lucky (apart by
5 to 20 % for equal revisions), while the four times of a round mostly share the machine's speed (1
to 3 %). Where the data lies in memory matters as well: it is copied to a new place several times,
and a task beyond a threshold, on either side, is timed again by new processes; all rounds count.

First fits without compiled kernels are timed in processes of their own, and are not part of the
mean. Without HEAD the working tree is compared as it is. Sources and kernels are kept by their
content in ``$XDG_CACHE_HOME/primaldual-bench/compare``: only the first comparison of a revision
compiles. The exit code is 1 if a task fails in either revision, or makes different data there.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
BASE, HEAD = 0, 1

# Calls that take less are timed as a series that takes so long: a round takes four times this.
SERIES = 0.005
# A task has --repeat rounds; no more begin after SECONDS, except for the first LEAST_ROUNDS.
ROUNDS, LEAST_ROUNDS, SECONDS = 80, 4, 4.0
QUICK_ROUNDS = 40
# How often the data is copied to another place.
PLACES = 4
# First fits of each revision.
FIRST_FITS = 2
# What counts as slower: above 1 ms, and below.
SLOWER, SLOWER_BRIEF, BRIEF = 1.10, 1.25, 1e-3
# How often tasks beyond these are timed again.
AGAIN = 2
# Revisions whose sources and kernels are kept.
KEPT = 12


class Failure(Exception):
    """What the user reads in place of a traceback."""


# ---- revisions


@dataclass(frozen=True)
class Tree:
    """The sources of a revision and the place of its kernels."""

    revision: str
    folder: Path

    def environment(self, kernels: Path | None = None) -> dict[str, str]:
        """For a process that imports this revision, single-threaded and offline."""
        libraries = ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "NUMBA", "BLIS", "VECLIB_MAXIMUM")
        libraries += ("PRIMALDUAL",)
        return (
            os.environ
            | {f"{library}_NUM_THREADS": "1" for library in libraries}
            | {
                "PYTHONPATH": os.pathsep.join([str(self.folder / "src"), str(ROOT)]),
                "PYTHONHASHSEED": "0",
                "PRIMALDUAL_CACHE": str(kernels or self.folder / "kernels"),
                "PRIMALDUAL_OFFLINE": "1",
            }
        )


def kept_folder() -> Path:
    """Where the sources and kernels of revisions are kept."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        (home / "primaldual-bench").mkdir(parents=True, exist_ok=True)
    except OSError:
        writable = False
    else:
        writable = os.access(home / "primaldual-bench", os.W_OK)
    if not writable:  # a read-only file system: among the temporary files
        home = Path(tempfile.gettempdir())
    return home / "primaldual-bench" / "compare"


def tree_of(revision: str | None) -> Tree:
    """A revision's sources in a folder named by their content; None is the working tree."""
    kept = kept_folder()
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        tree = Path(scratch) / "tree"
        if revision is None:
            unwanted = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / "src", tree / "src", ignore=unwanted)
        else:
            archive = io.BytesIO(_git("archive", "--format=tar", revision, "src"))
            with tarfile.open(fileobj=archive) as members:
                members.extractall(tree, filter="data")
        folder = kept / _content(tree)
        if not folder.exists():
            tree.rename(folder)
    os.utime(folder)
    _forget_old(kept)
    return Tree(_described(revision), folder)


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True)
    if done.returncode:
        raise Failure(f"git {' '.join(arguments)}: {done.stderr.decode().strip()}")
    return done.stdout


def _described(revision: str | None) -> str:
    if revision is None:
        return "working tree"
    return f"{revision} ({_git('rev-parse', '--short', f'{revision}^0').decode().strip()})"


def _content(folder: Path) -> str:
    """A name made of all files' paths and bytes."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        total.update(f"{path.relative_to(folder).as_posix()} {len(data)}\n".encode())
        total.update(data)
    return total.hexdigest()[:16]


def _forget_old(kept: Path) -> None:
    """Remove what has not been used for longest."""
    folders = sorted(kept.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in folders[KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)


# ---- processes


class Process:
    """A worker of one revision, started again if it has died."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.child: subprocess.Popen[str] | None = None

    def ask(self, do: str, **command: Any) -> dict[str, Any]:
        """The answer to a command."""
        if self.child is None:
            self.child = subprocess.Popen(
                _command(), env=self.tree.environment(), text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
        assert self.child.stdin and self.child.stdout
        try:
            print(json.dumps({"do": do, **command}), file=self.child.stdin, flush=True)
            line = self.child.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        code = self.child.wait()
        self.child = None
        return {"error": f"the process ended with code {code}"}

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        """Let the process end."""
        if self.child is not None:
            self.child.communicate()
            self.child = None


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "benchmarks.compare_worker", *arguments]


# ---- measurements


@dataclass
class Line:
    """All that was measured on one task, base first."""

    name: str
    failed: str = ""
    missing: str = ""
    calls: int = 1  # in a series
    wall: list[list[float]] = field(default_factory=lambda: [[], []])  # seconds of a call
    cpu: list[list[float]] = field(default_factory=lambda: [[], []])  # two of each round
    same: bool = True  # whether the outcomes have the same bits
    difference: float = 0.0  # the largest in the outcomes, relative
    kernels: list[int] | None = None  # compiled by a first fit

    @property
    def measured(self) -> bool:
        """Whether there are times to compare."""
        return not self.failed and not self.missing

    def seconds(self, which: int) -> float:
        """Processor time of a call."""
        return median(self.cpu[which])

    @property
    def ratio(self) -> float:
        """Head over base."""
        return _ratio(self.cpu)

    @property
    def threshold(self) -> float:
        """The ratio that noise does not explain."""
        return SLOWER_BRIEF if self.seconds(BASE) < BRIEF else SLOWER

    @property
    def slower(self) -> bool:
        """Whether head is slower than noise explains."""
        return self.measured and self.ratio > self.threshold

    @property
    def striking(self) -> bool:
        """Whether it is, or faster by as much."""
        return self.measured and abs(math.log(self.ratio)) > math.log(self.threshold)


def _ratio(times: list[list[float]]) -> float:
    """Head over base: the median over rounds, two times of each in a round."""
    rounds = zip(*(_pairs(one) for one in times), strict=True)
    return median(math.sqrt(h1 * h2 / (b1 * b2)) for (b1, b2), (h1, h2) in rounds)


def _pairs(times: list[float]) -> list[tuple[float, float]]:
    return list(zip(times[::2], times[1::2], strict=True))


def warm(line: Line, pair: list[Process], rounds: int, scratch: Path) -> None:
    """Time one task on both revisions in turn; what was measured before is kept."""
    files = [scratch / f"{which}.npz" for which in (BASE, HEAD)]
    answers = [
        process.ask("prepare", task=line.name, save=str(file))
        for process, file in zip(pair, files, strict=True)
    ]
    _judge(line, pair, answers)
    if not line.measured:
        return
    line.same = answers[BASE]["outcome"] == answers[HEAD]["outcome"]
    line.difference = 0.0 if line.same else _difference(*files)
    line.calls = math.ceil(SERIES / min(answer["seconds"] for answer in answers))
    began = time.perf_counter()
    moved = 1
    for turn in range(rounds):
        spent = (time.perf_counter() - began) / SECONDS
        if turn >= LEAST_ROUNDS and spent > 1:
            break
        if max(spent, turn / rounds) >= moved / PLACES:
            moved += 1
            for process in pair:
                process.ask("move")
        if not _round(line, pair, outer=(BASE, HEAD)[turn % 2]):
            return


def _round(line: Line, pair: list[Process], outer: int) -> bool:
    """Time one of them, the other twice, and the first again; False if that failed."""
    times: list[list[dict[str, float]]] = [[], []]
    inner = HEAD if outer == BASE else BASE
    for which in (outer, inner, inner, outer):
        answer = pair[which].ask("time", calls=line.calls)
        if "error" in answer:
            line.failed = f"{pair[which].tree.revision}: {answer['error']}"
            return False
        times[which].append(answer)
    for which in (BASE, HEAD):
        line.wall[which] += [one["wall"] for one in times[which]]
        line.cpu[which] += [one["cpu"] for one in times[which]]
    return True


def _judge(line: Line, pair: list[Process], answers: list[dict[str, Any]]) -> None:
    """Note what keeps a task from being compared."""
    wrong = [
        f"{process.tree.revision}: {answer['error']}"
        for process, answer in zip(pair, answers, strict=True)
        if "error" in answer
    ]
    missing = [answer["missing"] for answer in answers if "missing" in answer]
    if wrong:
        line.failed = "; ".join(wrong)
    elif missing:
        line.missing = missing[0]
    elif answers[BASE]["data"] != answers[HEAD]["data"]:
        line.failed = "the two revisions make different data"


def _difference(base: Path, head: Path) -> float:
    """The largest difference of two outcomes, relative to the largest entry of each array."""
    with np.load(base) as left, np.load(head) as right:
        if [left[name].shape for name in left] != [right[name].shape for name in right]:
            return math.inf
        apart = [
            np.max(np.abs(left[name] - right[name]), initial=0.0)
            / max(np.max(np.abs(left[name]), initial=0.0), np.finfo(float).tiny)
            for name in left
        ]
    return float(max(apart))


def cold(name: str, trees: list[Tree], repeats: int) -> Line:
    """Time a first fit, each in a new process with an empty folder for its kernels."""
    line = Line(name, kernels=[0, 0])
    outcomes = ["", ""]
    for turn in range(repeats):
        for which in (BASE, HEAD) if turn % 2 == 0 else (HEAD, BASE):
            with tempfile.TemporaryDirectory() as folder:
                environment = trees[which].environment(Path(folder))
                began = time.perf_counter()
                done = subprocess.run(
                    _command("first", name), env=environment, stdout=subprocess.PIPE, text=True
                )
                wall = time.perf_counter() - began
                kernels = sum(1 for _ in Path(folder).rglob("*.nbc"))
            answer = json.loads(done.stdout or '{"error": "the process died"}')
            if "error" in answer:
                line.failed = f"{trees[which].revision}: {answer['error']}"
                return line
            line.wall[which].append(wall)
            line.cpu[which].append(answer["cpu"])
            line.kernels[which], outcomes[which] = kernels, answer["outcome"]
    line.same = outcomes[BASE] == outcomes[HEAD]
    return line


# ---- report


def shown(line: Line) -> str:
    """One line of the report."""
    if line.failed or line.missing:
        state = f"FAILED: {line.failed}" if line.failed else f"skipped: {line.missing}"
        return f"{line.name:45} {state}"
    base, head = 1e3 * line.seconds(BASE), 1e3 * line.seconds(HEAD)
    bits = "same bits" if line.same else f"differs by {line.difference:.1e}"
    mark = "  SLOWER" if line.slower else ""
    return f"{line.name:45} {base:10.3f} {head:10.3f} {line.ratio:7.3f}  {bits}{mark}"


def shown_first(line: Line) -> str:
    """One line on a first fit: the least of clock and processor, and the kernels, of both."""
    if not line.measured:
        return shown(line)
    wall, cpu = [min(one) for one in line.wall], [min(one) for one in line.cpu]
    kernels = " -> ".join(map(str, line.kernels or []))
    return (
        f"{line.name:45} wall {wall[BASE]:.2f} -> {wall[HEAD]:.2f} s, "
        f"processor {cpu[BASE]:.2f} -> {cpu[HEAD]:.2f} s ({cpu[HEAD] / cpu[BASE]:.3f}), "
        f"kernels {kernels}, {'same bits' if line.same else 'other bits'}"
    )


def summary(lines: list[Line]) -> str:
    """The geometric mean of the ratios, and how many are above the thresholds."""
    measured = [line for line in lines if line.measured]
    if not measured:
        return "No task was measured."
    worst = max(measured, key=lambda line: line.ratio)
    waited = geometric_mean(_ratio(line.wall) for line in measured)
    return (
        f"geometric mean {geometric_mean(line.ratio for line in measured):.4f} of {len(measured)} "
        f"tasks ({waited:.4f} by wall time), worst {worst.ratio:.3f}: {worst.name}\n"
        f"{sum(line.slower for line in measured)} above {SLOWER:.2f} ({SLOWER_BRIEF:.2f} below "
        f"{1e3 * BRIEF:g} ms), {sum(not line.same for line in measured)} with other bits, "
        f"{sum(bool(line.failed) for line in lines)} failed, "
        f"{sum(bool(line.missing) for line in lines)} skipped"
    )


def as_json(trees: list[Tree], lines: list[Line], firsts: list[Line]) -> str:
    """All numbers, seconds of base before those of head."""
    record: dict[str, Any] = {"base": trees[BASE].revision, "head": trees[HEAD].revision}
    record["tasks"] = [
        asdict(line) | {"ratio": line.ratio if line.measured else None} for line in lines
    ]
    record["first"] = [asdict(line) for line in firsts]
    return json.dumps(record, indent=1) + "\n"


# ---- command line


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    try:
        trees = [tree_of(options.base), tree_of(options.head)]
        tasks, first = _names(trees, options)
        print(f"base: {trees[BASE].revision}, head: {trees[HEAD].revision}\n")
        rounds = options.repeat or (QUICK_ROUNDS if options.quick else ROUNDS)
        lines = compare(trees, tasks, rounds)
        print(f"\n{summary(lines)}\n", flush=True)
        firsts = compare_first(trees, first, options.first)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(as_json(trees, lines, firsts), encoding="utf-8")
    return 1 if any(line.failed for line in [*lines, *firsts]) else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    add = parser.add_argument
    add("base", help="revision to compare with")
    add("head", nargs="?", help="revision to judge; the working tree if left out")
    add("--json", type=Path, metavar="FILE", help="write all numbers there")
    add("--repeat", type=int, metavar="N", help=f"rounds of a task, {ROUNDS}")
    add("--first", type=int, metavar="N", help=f"first fits of each revision, {FIRST_FITS}")
    add("--only", default="", metavar="SUBSTRING", help="tasks whose names contain it")
    add("--quick", action="store_true", help="a few small tasks, few rounds, no first fits")
    options = parser.parse_args(arguments)
    if options.first is None:
        options.first = 0 if options.quick else FIRST_FITS
    return options


def _names(trees: list[Tree], options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The tasks and first fits that were asked for, after a look at what each process loads."""
    for tree in trees:
        with Process(tree) as process:
            known = process.ask("tasks")
        if "error" in known:
            raise Failure(f"{tree.revision}: {known['error']}")
        if not Path(known["library"]).is_relative_to(tree.folder.resolve()):
            raise Failure(f"{tree.revision} was loaded from {known['library']}")
    tasks = [name for name, quick in known["tasks"] if quick or not options.quick]
    first = [name for name in known["first"] if options.only in name]
    return [name for name in tasks if options.only in name], first


def compare(trees: list[Tree], names: list[str], rounds: int) -> list[Line]:
    """Time one task after the other, then the striking ones again."""
    lines = [Line(name) for name in names]
    print(f"{'task':45} {'base ms':>10} {'head ms':>10} {'ratio':>7}", flush=True)
    for again in range(1 + AGAIN):
        chosen = [line for line in lines if line.striking] if again else lines
        if again and chosen:
            print("\nonce more, by new processes:", flush=True)
        with (
            tempfile.TemporaryDirectory() as scratch,
            Process(trees[BASE]) as base,
            Process(trees[HEAD]) as head,
        ):
            for line in chosen:
                warm(line, [base, head], rounds, Path(scratch))
                print(shown(line), flush=True)
    return lines


def compare_first(trees: list[Tree], names: list[str], repeats: int) -> list[Line]:
    """Time the first fits."""
    firsts = []
    for name in names if repeats else []:
        firsts.append(cold(name, trees, repeats))
        print(shown_first(firsts[-1]), flush=True)
    return firsts


if __name__ == "__main__":
    sys.exit(main())
