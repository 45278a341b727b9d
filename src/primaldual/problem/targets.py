"""What a problem is given besides its data: targets, labels, weights and λ, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._numba.compile import kernel
from .._types import FloatArray
from ..data.checks import finite_nonzeros, frozen, plain
from ..losses.custom import loss_name

# Integers below this are different as float64 too.
EXACT = 2.0**53


# The weights of examples that have none: small problems share them.
_SOME_ONES = frozen(np.ones(4096))


def positive(lam: Any) -> float:
    """λ as a float; refused if it is not positive and finite."""
    try:
        value = float("no number" if isinstance(lam, str) else lam)
    except (TypeError, ValueError):
        raise TypeError(f"lam must be a positive number, got {lam!r}.") from None
    if not (0 < value < np.inf):
        raise ValueError(
            f"lam must be positive and finite, got {lam!r}. "
            "With lam = 0 the dual problem is not defined; try a small one such as 1e-6."
        )
    return value


def vector(values: Any, size: int, name: str) -> FloatArray:
    """The values as float64; refused if they are not as many as needed."""
    array: FloatArray = plain(values, np.float64)
    if array.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {array.shape}.")
    return array


def _column(values: Any, n: int, name: str) -> Any:
    """A one-dimensional array with one entry per example."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must hold one number per example, got ragged lists.") from error
    if array.ndim == 2 and array.shape[1] == 1 and array.shape[0] == n:
        raise ValueError(f"{name} must have one dimension, got {array.shape}. Use {name}.ravel().")
    if array.shape != (n,):
        raise ValueError(
            f"{name} must have one entry for each of the {n} examples of X, "
            f"got shape {array.shape}."
        )
    if array.dtype.kind == "c":
        raise ValueError(f"{name} must be real, got complex numbers.")
    return array


def weights_of(sample_weight: Any, n: int) -> tuple[FloatArray, bool]:
    """The weights scaled to mean 1, read-only, and whether they differ."""
    weights = None if sample_weight is None else _mean_one(sample_weight, n)
    if weights is not None:
        return frozen(weights), True
    return _SOME_ONES[:n] if n <= len(_SOME_ONES) else frozen(np.ones(n)), False


def _mean_one(sample_weight: Any, n: int) -> FloatArray | None:
    """The weights scaled to mean 1, or None where they are all equal."""
    array = _column(sample_weight, n, "sample_weight")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"sample_weight must hold numbers, got dtype {array.dtype}.")
    weights = array.astype(np.float64)
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.max() == 0:
        raise ValueError(
            "sample_weight must be finite and nonnegative with a positive sum, got values from "
            f"{weights.min()} to {weights.max()}."
        )
    if weights.min() == weights.max():
        return None
    weights /= weights.max()  # keeps the sum finite for weights up to 1e308
    return np.asarray(weights * (n / weights.sum()))


def targets_of(
    y: Any, n: int, loss: Any, weights: FloatArray | None
) -> tuple[Any | None, FloatArray]:
    """Class labels (or None) and the targets as float64: −1/+1, or the numbers themselves."""
    array = _column(y, n, "y")
    if not loss.classification:
        if array.dtype.kind not in "fiub":
            raise ValueError(
                f"y must hold numbers for loss {loss_name(loss)!r}, got dtype {array.dtype}. "
                "For class labels use a classification loss such as 'logistic'."
            )
        targets = array.astype(np.float64)
        if finite_nonzeros(targets) < 0:
            raise ValueError(_Y_NOT_FINITE)
        _require_domain(targets, loss)
        return None, targets
    is_plain = array.dtype.kind in "fiub" and array.dtype.itemsize <= 8
    if is_plain and (weights is None or weights.min() > 0):
        targets = np.empty(n)
        low, high, others = _signs(frozen(array), targets)
        if others == 0 and low != high and max(abs(low), abs(high)) < EXACT:
            return np.array([low, high], dtype=array.dtype), targets
    return _classes(array, loss, weights)


def other_targets(targets: Any, loss: Any, weights: FloatArray) -> FloatArray:
    """Targets for the same data, copied; −1 and +1 if the loss is for two classes."""
    values = np.array(targets, dtype=np.float64)
    if values.shape != weights.shape:
        raise ValueError(f"targets must have shape {weights.shape}, got {values.shape}.")
    if loss.classification and not (np.abs(values) == 1.0).all():
        raise ValueError(f"targets must be -1 or +1 for loss {loss_name(loss)!r}.")
    _require_domain(values, loss)
    return values


def column_of(values: Any, n: int, name: str) -> FloatArray:
    """Finite numbers, one per example or feature, as float64."""
    array = _column(values, n, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, got dtype {array.dtype}.")
    numbers: FloatArray = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite, got NaN or infinite values.")
    return numbers


def _require_domain(targets: FloatArray, loss: Any) -> None:
    """Refuse targets that the loss is not made for."""
    least = float(targets.min(initial=np.inf))
    if loss.targets != "any" and (least < 0 or (loss.targets == "positive" and least == 0)):
        raise ValueError(
            f"y must be {loss.targets} for loss {loss_name(loss)!r}, got {least:g}. The loss is of "
            "a mean exp(z), which is positive: use 'squared' or 'huber' for targets of any sign."
        )


_Y_NOT_FINITE = "y must be finite, got NaN or infinite values. Drop those examples."


@kernel
def _signs(labels, targets):  # type: ignore[no-untyped-def]
    """Fill in −1 for the smallest and +1 for the largest label; both, and how many are neither."""
    low = high = labels[0]
    for j in range(labels.size):
        low, high = min(low, labels[j]), max(high, labels[j])
    others = 0
    for j in range(labels.size):
        targets[j] = 1.0 if labels[j] == high else -1.0
        others += not (labels[j] == low or labels[j] == high)
    return low, high, others


def _classes(array: Any, loss: Any, weights: FloatArray | None) -> tuple[Any, FloatArray]:
    """The same for labels of any kind; those of weight zero do not count."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(_Y_NOT_FINITE)
    seen = array if weights is None or (weights > 0).all() else array[weights > 0]
    try:
        classes = np.unique(seen)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in seen.tolist()})
        raise ValueError(
            f"y must hold labels of one kind, got a mixture of {', '.join(kinds)}."
        ) from None
    if len(classes) != 2:
        what = "one class" if len(classes) == 1 else f"{len(classes)} classes"
        advice = (
            "Both classes must be present (with positive weight)."
            if len(classes) == 1
            else "Train one problem per class (one against the rest)."
        )
        raise ValueError(
            f"y must have exactly two classes for loss {loss_name(loss)!r}, got {what}. {advice}"
        )
    return classes, np.where(array == classes[1], 1.0, -1.0)
