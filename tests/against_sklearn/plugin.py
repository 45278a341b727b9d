"""The pytest plugin: swaps the imports, keeps the tests that can use ours, records outcomes.

One line of JSON per finished test goes to the file named by ``AGAINST_SKLEARN_RECORD``: id,
outcome, whether an estimator of this library was made or used, and the first line of the error.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from .swap import Uses, swap
from .uses import definitions_that_reach


def pytest_configure(config: Any) -> None:
    config.pluginmanager.register(
        Recorder(
            Path(os.environ["AGAINST_SKLEARN_RECORD"]), int(os.environ["AGAINST_SKLEARN_SECONDS"])
        )
    )


class Recorder:
    """The hooks, and what they know: the swapped classes, their uses, where to write."""

    def __init__(self, record: Path, seconds: int) -> None:
        self.record, self.seconds = record, seconds
        self.classes = swap()
        self.uses = Uses()
        self.uses_before = 0
        self.reaching: dict[Path, set[str]] = {}

    def write(self, **entry: Any) -> None:
        with self.record.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def can_use(self, item: Any) -> bool:
        """Whether the test's source or parameters mention one of the classes."""
        if item.path not in self.reaching:
            source = item.path.read_text(encoding="utf-8")
            self.reaching[item.path] = definitions_that_reach(source, self.classes)
        owner = getattr(item, "cls", None)
        name = owner.__name__ if owner else getattr(item, "originalname", item.name)
        return name in self.reaching[item.path] or self.in_parameters(item)

    def in_parameters(self, item: Any) -> bool:
        callspec = getattr(item, "callspec", None)
        return callspec is not None and any(map(self.uses.holds, callspec.params.values()))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        kept = [item for item in items if self.can_use(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            last = str(report.longrepr).strip().splitlines()[-1:]
            self.write(id=report.nodeid, outcome="import", used=True, error="".join(last)[:300])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        self.uses_before = self.uses.count

        def too_long(*_: Any) -> None:
            pytest.fail(f"not finished within {self.seconds} s", pytrace=False)

        # Processor time: the machine may be busy. Who waits for ever is ended with the file.
        signal.signal(signal.SIGPROF, too_long)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = yield
        if report.when == "call" or report.outcome != "passed":
            used = self.uses.count > self.uses_before or self.in_parameters(item)
            error = "" if call.excinfo is None else call.excinfo.exconly().replace("\n", " ")
            outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
            self.write(id=item.nodeid, outcome=outcome, used=used, error=error[:300])
        return report
