"""The solvers that are compared, one file for each library.

A module here has ``solvers() -> list[Solver]``, and raises ImportError if its library is not
installed.
"""

from __future__ import annotations

from importlib import import_module

from .base import Solver

OURS = "primaldual"
MODULES = ("ours", "liblinear", "scikit_learn", "snap_ml", "cyanure", "glum", "lightning")


def all_solvers() -> tuple[list[Solver], dict[str, str]]:
    """Every solver that can run here, and the libraries that cannot with the reason."""
    found: list[Solver] = []
    missing: dict[str, str] = {}
    for name in MODULES:
        try:
            found += import_module(f"{__name__}.{name}").solvers()
        except ImportError as error:
            missing[name] = str(error)
    return found, missing


__all__ = ["OURS", "Solver", "all_solvers"]
