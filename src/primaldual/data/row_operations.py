"""The operations of a row as functions, for kernels and plain Python.

Each runs the method of the storage that it names, chosen while a kernel is compiled.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .._numba.compile import REORDERED
from .._numba.operation import operation
from .._types import FloatArray

if TYPE_CHECKING:
    from .rows import DenseRows, Rows, SparseRows

# Operations of rows are put where they are called. A call would hand over each array of the storage
# as seven numbers, which takes as long as to read ten nonzeros.
row_operation = partial(operation, forceinline=True)


@row_operation("begin")
def row_begin(rows: Rows, i: int) -> int:
    """The position of the first entry of row_i."""
    raise NotImplementedError


@row_operation("end")
def row_end(rows: Rows, i: int) -> int:
    """The position after the last entry of row_i."""
    raise NotImplementedError


@row_operation("column")
def row_column(rows: Rows, i: int, k: int) -> int:
    """The column of the entry of row_i at position k."""
    raise NotImplementedError


@row_operation("value")
def row_value(rows: Rows, i: int, k: int) -> float:
    """The value of the entry of row_i at position k; entries of dense rows may be zero."""
    raise NotImplementedError


@row_operation("entry")
def row_entry(rows: SparseRows, first: Any, k: Any) -> float:
    """The value at position k of the sparse row whose positions begin at ``first``."""
    raise NotImplementedError


@row_operation("valued")
def row_valued(rows: SparseRows, first: Any, last: Any) -> Any:
    """Where the positions end whose values are read of a sparse row."""
    raise NotImplementedError


@row_operation("dot")
def row_dot(rows: Rows, i: int, vector: FloatArray) -> float:
    """⟨row_i, vector⟩."""
    raise NotImplementedError


@row_operation("add")
def row_add(rows: Rows, i: int, scale: float, out: FloatArray) -> None:
    """Out += scale · row_i."""
    raise NotImplementedError


@row_operation("add_back")
def row_add_back(rows: Rows, i: int, scale: float, out: FloatArray) -> None:
    """Out += scale · row_i, where row_i was just read."""
    raise NotImplementedError


@row_operation("slope")
def row_slope(rows: Rows, i: int, loss: Any, z: FloatArray, y: FloatArray, c: FloatArray) -> float:
    """Σ_j c_j φ'(z_j; y_j) · row_i[j]."""
    raise NotImplementedError


@row_operation("prefetch")
def prefetch_row(rows: Rows, i: int, later: int) -> None:
    """Prefetch row_i, which will be read soon, and where row ``later`` begins."""
    raise NotImplementedError


@row_operation("prefetch_near")
def prefetch_row_near(rows: Rows, i: int) -> None:
    """Prefetch row_i into the first cache, where ``prefetch_row`` took only the second one."""
    raise NotImplementedError


@operation("prefetch_targets")
def prefetch_targets(rows: Rows, i: int, vector: FloatArray) -> None:
    """Prefetch what row_i will look up in ``vector`` soon."""
    raise NotImplementedError


@row_operation("add_model")
def row_add_model(
    rows: Rows, i: int, first: float, second: float, slope: FloatArray, curvature: FloatArray
) -> None:
    """Slope += first · row_i, curvature += second · row_i²."""
    raise NotImplementedError


@row_operation("products")
def rows_products(
    rows: Rows, first: int, last: int, vector: FloatArray, scales: FloatArray,
    dots: FloatArray, out: FloatArray
) -> None:  # fmt: skip
    """dots_i = ⟨row_i, vector⟩ and out += scales_i · row_i for a range of rows, read once."""
    raise NotImplementedError


@row_operation("hessian_product")
def hessian_product(
    rows: Rows, h: FloatArray, vector: FloatArray, shift: float, dots: FloatArray, out: FloatArray
) -> float:
    """Out += Σ_i h_i dots_i row_i with dots_i = ⟨row_i, vector⟩ + shift; return Σ_i h_i dots_i².

    Rows with h_i = 0 may be left out, and then their dots_i too.
    """
    raise NotImplementedError


@row_operation("add_four")
def add_four(
    rows: DenseRows, i: int, a: float, b: float, c: float, e: float, out: FloatArray
) -> None:
    """Add four rows, beginning at row_i, to ``out``."""
    raise NotImplementedError


@row_operation("model_slope", fastmath=REORDERED)
def model_slope(rows: Rows, i: int, model: FloatArray) -> tuple[float, float]:
    """Slope and curvature along row_i of a quadratic model with those (slope, curvature) rows."""
    raise NotImplementedError


@row_operation("model_add")
def model_add(rows: Rows, i: int, scale: float, model: FloatArray) -> None:
    """Move a quadratic model by scale · row_i."""
    raise NotImplementedError
