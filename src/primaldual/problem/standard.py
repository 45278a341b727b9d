"""The standard form: a problem with offsets, a prior and a penalty per feature as one without.

What is asked for is P(w) = (1/n) Σ c_j φ(⟨x_j, w⟩ + b + o_j; y_j) + (λ/2) Σ_i p_i (w_i − w°_i)².
With w = w° + v/√p, the data X/√p and the offsets o + X w° that is a problem for v with the penalty
(λ/2) ‖v‖². An offset goes into the targets: y − o where φ depends on z − y, as the loss says for
means exp(z), and as ``Shifted`` for class labels. α is the same in both forms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._types import FloatArray
from ..data.exact import exact_products
from ..data.matrix import Matrix
from ..data.rows import SparseRows
from ..losses.custom import loss_name
from ..losses.shifted import LARGEST_OFFSET, Shifted
from .targets import column_of


class Units(NamedTuple):
    """How w is made of v: w = prior + scale v."""

    scale: FloatArray | None  # 1/√p; None for ones
    prior: FloatArray | None  # w°; None for zero

    def inward(self, w: FloatArray) -> FloatArray:
        """v for w."""
        v = w if self.prior is None else w - self.prior
        return v if self.scale is None else v / self.scale

    def outward(self, v: FloatArray) -> FloatArray:
        """w for v."""
        w = v if self.scale is None else v * self.scale
        return w if self.prior is None else w + self.prior


class Absorbed(NamedTuple):
    """A problem's loss, targets and weights once they contain the offsets."""

    loss: Any
    y: FloatArray
    weights: FloatArray


def units_of(penalty: Any, prior: Any, d: int) -> Units | None:
    """What the penalty and the prior make of w; None if neither is given."""
    scale = start = None
    if penalty is not None:
        weights = _of_features(penalty, d, "penalty")
        if not weights.min(initial=np.inf) > 0:
            raise ValueError(
                f"penalty must be positive for every feature, got {weights.min():g}. A feature of "
                "penalty 0 would be as free as the intercept, which the dual has no steps for: "
                "give it a small one such as 1e-6."
            )
        scale = 1.0 / np.sqrt(weights)
    if prior is not None:
        start = _of_features(prior, d, "prior")
    return None if scale is None and start is None else Units(scale, start)


def _of_features(values: Any, d: int, name: str) -> FloatArray:
    array = np.asarray(values)
    if array.shape != (d,):
        raise ValueError(
            f"{name} must have one entry for each of the {d} features of X, got shape "
            f"{array.shape}."
        )
    return column_of(array, d, name)


def offsets_of(offset: Any, units: Units | None, matrix: Matrix) -> FloatArray | None:
    """o + X w°, the known part of the margins; None if there is none."""
    n = matrix.shape[0]
    known = None if offset is None else column_of(offset, n, "offset")
    if units is None or units.prior is None:
        return known
    more = exact_products(matrix, units.prior, np.zeros(n))[0].value
    return more if known is None else known + more


def scaled(matrix: Matrix, scale: FloatArray) -> Matrix:
    """A copy of the data with its columns multiplied; sparse data shares its indices."""
    rows = matrix.by_example
    if isinstance(rows, SparseRows):
        values = rows.values * scale[rows.indices]
        shape = matrix.shape
        return Matrix(sparse.csr_array((values, rows.indices, rows.indptr), shape=shape))
    return Matrix(rows.values * scale)


def absorbed(loss: Any, y: FloatArray, weights: FloatArray, offset: FloatArray) -> Absorbed:
    """The loss, the targets and the weights whose loss at z is that of the given ones at z + o."""
    if loss.shift_invariant:
        return Absorbed(loss, y - offset, weights)
    largest = float(np.abs(offset).max(initial=0.0))
    if largest > LARGEST_OFFSET:
        raise ValueError(
            f"offset must be between -{LARGEST_OFFSET:g} and {LARGEST_OFFSET:g} for loss "
            f"{loss_name(loss)!r}, got {largest:g}: exp of it is not a number any more."
        )
    if hasattr(loss, "absorbed"):
        return Absorbed(loss, *loss.absorbed(y, weights, offset))
    if loss.classification and loss.smooth:
        return Absorbed(Shifted(loss), y * np.exp(offset), weights)
    reason = "has kinks" if loss.classification else "does not say that it depends on z - y only"
    raise ValueError(
        f"offset and prior are not available for loss {loss_name(loss)!r}, which {reason}. Use "
        "'squared_hinge' or 'smoothed_hinge' for classes, or a loss with shift_invariant = True."
    )
