"""What a user passes to an estimator, checked: parameters and sample weights."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .._types import FloatArray


def require_number(name: str, value: Any, positive: bool = False) -> None:
    """Raise unless ``value`` is a nonnegative number, or a positive one."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    kind = "positive" if positive else "nonnegative"
    if not is_number:
        raise TypeError(f"{name} must be a {kind} number, got {value!r}.")
    if not (0 <= value < np.inf) or (positive and value == 0):
        more = ""
        if name in ("C", "alpha"):
            more = " A model without regularisation has no dual problem; use a weak one instead."
        raise ValueError(f"{name} must be a {kind} finite number, got {value!r}.{more}")


def require_choice(name: str, value: Any, choices: Any) -> None:
    """Raise unless ``value`` is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")


def require_dual(dual: Any, side: str, loss: Any) -> None:
    """Raise unless ``dual`` is True, False or "auto", and goes with ``side`` and the loss."""
    if not isinstance(dual, bool | np.bool_) and not (isinstance(dual, str) and dual == "auto"):
        raise ValueError(f"dual must be True, False or 'auto', got {dual!r}.")
    if isinstance(dual, str):
        return
    if side == ("primal" if dual else "dual"):
        raise ValueError(
            f"dual={dual} and side={side!r} contradict each other. Leave one of them 'auto'."
        )
    if not dual and loss in ("hinge", "epsilon_insensitive"):
        raise ValueError(
            f"Unsupported set of arguments: loss={loss!r} is not supported when dual=False. The "
            "loss has kinks, and methods on the primal need a smooth one; use dual='auto'."
        )


def checked_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """The weights as float64, one per example, or None for equal ones."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n, float(sample_weight))
    weights = np.asarray(sample_weight)
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {weights.ndim} dimensions."
        )
    if weights.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}!")
    weights = weights.astype(np.float64)
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(
            "sample_weight must be finite and nonnegative, got values from "
            f"{weights.min()} to {weights.max()}."
        )
    if weights.max() == 0:
        raise ValueError("sample_weight must not be all zero: no weights, no examples to fit.")
    return weights
