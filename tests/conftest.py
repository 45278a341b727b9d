"""Fixtures shared by all tests."""

from __future__ import annotations

import os

# A test that needs data it does not find skips: it downloads nothing.
os.environ.setdefault("PRIMALDUAL_OFFLINE", "1")
