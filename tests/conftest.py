"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis.configuration import set_hypothesis_home_dir

# A test that needs data it does not find skips: it downloads nothing.
os.environ.setdefault("PRIMALDUAL_OFFLINE", "1")

# In a folder that cannot be written, Hypothesis keeps its examples among the temporary files.
if not os.access(Path(__file__).parent, os.W_OK):
    set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "hypothesis")


def pytest_runtest_logreport(report):
    """Name what fails as it fails: a run that is cut off says at least that."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        why = getattr(getattr(report.longrepr, "reprcrash", None), "message", "")
        first = str(why).splitlines()[0][:200] if why else ""
        print(f"\nFAILED {report.nodeid} ({report.when}) {first}", flush=True)
