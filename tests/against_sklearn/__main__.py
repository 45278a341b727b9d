"""Run scikit-learn's installed tests with our estimators in place of its own.

    python -m tests.against_sklearn                      # all files; about ten minutes
    python -m tests.against_sklearn linear_model svm     # files whose path contains a word
    python -m tests.against_sklearn test_ridge -k gcv --failures

Nothing of scikit-learn is copied: a pytest plugin swaps the imports in memory, in one process per
file. Counted are the tests that make or use an estimator of this library. A failure is expected if
``allowed.txt`` lists it with its reason; the exit code is 1 if another test fails or a file does
not import.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import sklearn

from .swap import swapped_names
from .uses import files_that_mention

ROOT = Path(sklearn.__file__).parent
HERE = Path(__file__).parent
ALLOWED = HERE / "allowed.txt"


class Rule(NamedTuple):
    """A line of the allow-list: which failures are expected, and why."""

    pattern: str
    reason: str

    def covers(self, test: str) -> bool:
        """Whether the test is meant; a pattern without parameters means all of them."""
        parts = map(re.escape, self.pattern.split("*"))
        return re.fullmatch(".*".join(parts) + r"(\[.*\])?", test, re.DOTALL) is not None


class Tally(NamedTuple):
    """The tests of one file that use our estimators, by outcome."""

    passed: list[dict[str, Any]]
    allowed: list[dict[str, Any]]
    failed: list[dict[str, Any]]
    imports: list[dict[str, Any]]


def rules(text: str) -> list[Rule]:
    """The allow-list: ``test id  # reason`` per line; ``*`` stands for anything."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, mark, reason = line.partition("  # ")
        if not mark or not reason.strip():
            raise ValueError(f"line {number}: expected 'test id  # reason', got {line!r}")
        found.append(Rule(pattern.strip(), reason.strip()))
    return found


def tally(entries: Iterable[dict[str, Any]], allowed: list[Rule]) -> Tally:
    """The outcomes of the tests that used our estimators."""
    result = Tally([], [], [], [])
    last = {entry["id"]: entry for entry in entries if entry["used"]}
    for entry in last.values():
        if entry["outcome"] == "import":
            result.imports.append(entry)
        elif entry["outcome"] in ("passed", "xfailed"):
            result.passed.append(entry)
        elif entry["outcome"] == "failed":
            expected = any(rule.covers(entry["id"]) for rule in allowed)
            (result.allowed if expected else result.failed).append(entry)
    return result


def run(path: Path, root: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """One file in its own process, with ids relative to ``root``."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.jsonl"
        record.touch()
        configuration = Path(folder) / "pytest.ini"
        configuration.write_text("[pytest]\n")
        command = [
            sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider",
            "-p", "tests.against_sklearn.plugin", "-c", str(configuration),
            f"--rootdir={root.parent}", "--disable-warnings", str(path),
        ]  # fmt: skip
        if options.keyword:
            command += ["-k", options.keyword]
        environment = {
            "OPENBLAS_NUM_THREADS": "1",
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            "MPLBACKEND": "agg",
            "PYTHONPATH": str(HERE.parents[1]),
            "AGAINST_SKLEARN_RECORD": str(record),
            "AGAINST_SKLEARN_SECONDS": str(options.test_seconds),
        }
        error = None
        try:
            done = subprocess.run(
                command, env=environment, timeout=options.file_seconds, capture_output=True,
                text=True, check=False, cwd=folder,
            )  # fmt: skip
            if done.returncode not in (0, 1, 2, 5):  # 2: not importable, recorded; 5: no tests
                error = f"pytest ended with code {done.returncode}: {done.stderr[-200:]}"
        except subprocess.TimeoutExpired:
            error = f"the file was not finished within {options.file_seconds} s"
        entries = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    for entry in entries:
        entry["id"] = entry["id"].removeprefix(f"{root.name}/")
    if error is not None:
        name = path.relative_to(root).as_posix()
        entries.append({"id": name, "outcome": "import", "used": True, "error": error})
    return entries


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.against_sklearn", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("words", nargs="*", help="only files whose path contains one of these")
    parser.add_argument("-k", dest="keyword", help="only tests that match, as for pytest")
    parser.add_argument(
        "--failures", action="store_true", help="print other failures and their error"
    )
    parser.add_argument("--allowed", action="store_true", help="print allowed failures, too")
    parser.add_argument("--record", type=Path, help="add all outcomes to this file, as JSON lines")
    parser.add_argument("--list", action="store_true", help="print the files and stop")
    parser.add_argument("--test-seconds", type=int, default=120, help="of the processor, per test")
    parser.add_argument("--file-seconds", type=int, default=7200, help="per file")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the files, print a line for each, and return the exit code."""
    options = parsed(arguments)
    files = files_that_mention(options.root, swapped_names())
    if options.words:
        files = [name for name in files if any(word in name for word in options.words)]
    if options.list:
        print("\n".join(files))
        return 0
    allowed = rules(ALLOWED.read_text(encoding="utf-8"))
    total, failures = Tally([], [], [], []), set[str]()
    print(f"{'passed':>7} {'allowed':>8} {'failed':>7}")
    for name in files:
        entries = run(options.root / name, options.root, options)
        if options.record:
            with options.record.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(entry) + "\n" for entry in entries)
        counts = tally(entries, allowed)
        for whole, part in zip(total, counts, strict=True):
            whole.extend(part)
        note = "  DOES NOT RUN" if counts.imports else ""
        passed, expected, failed = map(len, counts[:3])
        print(f"{passed:7} {expected:8} {failed:7}  {name}{note}", flush=True)
        shown = counts.imports + (counts.failed if options.failures else [])
        for entry in shown + (counts.allowed if options.allowed else []):
            print(f"    {entry['id'].partition('::')[2] or entry['id']}: {entry['error']}")
        failures |= {entry["id"] for entry in counts.failed + counts.allowed}
    print_summary(total, allowed, failures, files, options)
    return int(bool(total.failed or total.imports))


def print_summary(
    total: Tally, allowed: list[Rule], failures: set[str], files: list[str], options: Any
) -> None:
    """The sums, and lines of the allow-list that no test needs any more."""
    every = len(total.passed) + len(total.allowed) + len(total.failed)
    print(
        f"{len(total.passed)} of {every} tests that use our estimators pass; {len(total.allowed)} "
        f"failures are allowed, {len(total.failed)} are not; {len(total.imports)} files do not run."
    )
    for rule in allowed:
        ran = rule.pattern.partition("::")[0] in files and not options.keyword
        if ran and not any(map(rule.covers, failures)):
            print(f"not needed any more: {rule.pattern}")


if __name__ == "__main__":
    sys.exit(main())
