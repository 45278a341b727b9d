"""The array types of the library, one line each."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]
Side = Literal["primal", "dual"]
Layout = Literal["by_example", "by_feature"]
