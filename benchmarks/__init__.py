"""Time to a given accuracy: primaldual beside the solvers it is compared with.

Every solver gets one thread. The libraries below read these variables once, when they are
loaded, so they are set before anything else is imported.
"""

import os

for _library in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "NUMBA", "BLIS", "VECLIB_MAXIMUM"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
