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
