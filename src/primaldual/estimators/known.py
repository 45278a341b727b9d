"""What a fit is given beside the data: offsets, a prior model and a penalty per feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import FloatArray
from ..problem import Problem
from ..problem.targets import column_of
from .folds import to_dense


def known_of(model: Any, n: int, offset: Any, prior: Any) -> dict[str, Any]:
    """Those that are given: an offset per example, rows of a prior, and a penalty."""
    known: dict[str, Any] = {}
    if offset is not None:
        known["offset"] = column_of(offset, n, "offset")
    if prior is not None:
        known["prior"] = np.atleast_2d(to_dense(getattr(prior, "coef_", prior)))
    if getattr(model, "penalty_weights", None) is not None:
        known["penalty"] = np.asarray(model.penalty_weights)
    return known


def require_none(what: str, offset: Any, prior: Any) -> None:
    """Refuse an offset and a prior where the problem cannot have them."""
    for name, given in (("offset", offset), ("prior", prior)):
        if given is not None:
            raise ValueError(f"{name} is not available for {what}. Leave it out.")


def problems_with(
    known: dict[str, Any],
    X: Any,
    columns: list[FloatArray],
    loss: Any,
    lams: list[float],
    weights: FloatArray | None,
    fit_intercept: bool,
) -> list[Problem]:
    """One problem per column of targets, each with its row of the prior."""
    rest = dict(known)
    rows = rest.pop("prior", None)
    if rows is not None and len(rows) != len(columns):
        raise ValueError(
            f"prior must have the coefficients of {len(columns)} problems, as coef_ has, got "
            f"{len(rows)}."
        )
    return [
        Problem(
            X, column, loss, lams[k], weights, fit_intercept,
            prior=None if rows is None else rows[k], **rest,
        )
        for k, column in enumerate(columns)
    ]  # fmt: skip
