"""Kernels that came with the package: compiled by ``make wheel`` for a common kind of processor.

They are files like those of the user's cache, in the folder ``_kernels`` of the package, made for
the processors that most machines of the last ten years have. They fit one system, one minor
version of Python and one version of Numba: the name of a file is a hash of these. Anything else is
compiled.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from llvmlite import binding  # type: ignore[import-untyped,unused-ignore]
from numba.core import config

FOLDER = Path(__file__).parents[1] / "_kernels"
# LLVM's name of the x86-64 processors since 2013 (Intel) and 2015 (AMD), and what they can do.
CPU = "x86-64-v3"
NEEDED = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
# What ``make wheel`` sets while it compiles: for that processor, and for nothing beyond it.
BUILDING = {"NUMBA_CPU_NAME": CPU, "NUMBA_CPU_FEATURES": ""}


def target(own: tuple[str, ...]) -> tuple[str, ...] | None:
    """The target of the shipped kernels on the system of a target; None if they cannot run here.

    Parameters
    ----------
    own : tuple of str
        System, processor and features of this machine, as Numba names them.
    """
    return (own[0], CPU, "") if _can_run() else None


@cache
def _can_run() -> bool:
    """Whether there are shipped kernels, and the processor can do what they need."""
    if not FOLDER.is_dir() or config.CPU_NAME is not None:  # another processor was asked for
        return False
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # a system that does not say
        return False
    return all(features.get(name, False) for name in NEEDED)
