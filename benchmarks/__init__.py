"""Time to a given accuracy: primaldual beside the solvers it is compared with.

Every solver gets one thread, or as many as ``--threads`` says. The libraries below read these
variables once, when they are loaded, so they are set before anything else is imported.
"""

import os
import sys


def _threads() -> int:
    """What follows ``--threads`` on the command line, or 1; errors are for the parser to report."""
    words = [part for word in sys.argv for part in word.split("=", 1)]
    after = words[words.index("--threads") + 1 :] if "--threads" in words else []
    return int(after[0]) if after and after[0].isdecimal() and int(after[0]) > 0 else 1


THREADS = _threads()
for _library in (
    "OPENBLAS",
    "OMP",
    "MKL",
    "NUMEXPR",
    "NUMBA",
    "BLIS",
    "VECLIB_MAXIMUM",
    "PRIMALDUAL",
):
    os.environ[f"{_library}_NUM_THREADS"] = str(THREADS)
