"""Features of one scale: measured on the training data, and undone in the coefficients.

A scaled feature is x/s. It is not centred, so that sparse data stays sparse; a free intercept makes
up for that: the model is the one that centred features give. A model w' of scaled features is the
model w'/s of the features themselves, which is what the model file holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .terminal import printable, short

if TYPE_CHECKING:
    from ..files import Table

# A feature whose values are this many times larger or smaller than usual is pointed out: two
# orders of magnitude.
FAR_OFF = 100.0
# Features that a remark names.
_MOST = 5
# A standard deviation that is this fraction of the largest value is rounding: about 45 times the
# precision of float64.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Scaling:
    """By how much every feature was divided."""

    kind: str  # "std" or "max"
    scale: Any  # one positive number per feature; 1 for words, and for features that are constant


def number_features(schema: dict[str, Any] | None, d: int) -> Any:
    """Which features are numbers, not words of a column."""
    import numpy as np

    if schema is None or schema.get("kind") != "columns":
        return np.ones(d, dtype=bool)
    return np.concatenate(
        [
            np.array([True])
            if column["type"] == "number"
            else np.zeros(len(column["levels"]), bool)
            for column in schema["columns"]
        ]
    )


def scaled(table: Table, kind: str) -> tuple[Table, Scaling | None]:
    """The table with its features divided, and by what; the old table's data is used up."""
    import numpy as np

    if kind == "none":
        return table, None
    X = table.X
    size = _deviations(X) if kind == "std" else _largest(X)
    largest = _largest(X)
    usable = number_features(table.schema, X.shape[1]) & np.isfinite(size) & (size > 0)
    usable &= size > _ROUNDING * largest
    scale = np.where(usable, size, 1.0)
    if hasattr(X, "indices"):
        values = X.data / scale[X.indices].astype(X.dtype)
        X = type(X)((values, X.indices, X.indptr), shape=X.shape)
    else:
        X = np.divide(X, scale.astype(X.dtype), out=X if X.flags.writeable else None)
    return replace(table, X=X), Scaling(kind, scale)


def unscaled(model: Any, scaling: Scaling | None) -> Any:
    """The fitted model with its coefficients in the units of the file."""
    if scaling is not None:
        if hasattr(model, "certified_"):  # ρ is that of the scaled features
            known = dict(model.certified_)
            own = 1.0 if known["scale"] is None else known["scale"]
            model.certified_ = {**known, "scale": own / scaling.scale}
        model.coef_ = model.coef_ / scaling.scale
    return model


def _largest(X: Any) -> Any:
    import numpy as np

    if hasattr(X, "indices"):
        found = np.zeros(X.shape[1])
        np.maximum.at(found, X.indices, np.abs(X.data))
        return found
    return np.abs(X).max(axis=0).astype(np.float64)


def _deviations(X: Any) -> Any:
    """The standard deviations of the features, in two passes."""
    import numpy as np

    n, d = X.shape
    if not hasattr(X, "indices"):
        return np.std(X, axis=0, dtype=np.float64)
    means = np.bincount(X.indices, weights=X.data, minlength=d) / n
    squares = np.bincount(X.indices, weights=(X.data - means[X.indices]) ** 2, minlength=d)
    zeros = n - np.bincount(X.indices, minlength=d)
    return np.sqrt((squares + zeros * means**2) / n)


def remarks_on_scale(table: Table) -> list[str]:
    """A sentence that names the features whose values are of another order of magnitude."""
    import numpy as np

    X = table.X
    d = X.shape[1]
    if hasattr(X, "indices"):
        counts = np.bincount(X.indices, minlength=d)
        squares = np.bincount(X.indices, weights=np.square(X.data, dtype=np.float64), minlength=d)
    else:
        counts = np.count_nonzero(X, axis=0)
        squares = np.einsum("ij,ij->j", X, X, dtype=np.float64)
    with np.errstate(over="ignore"):
        sizes = np.sqrt(squares / np.maximum(counts, 1))  # of values that are not zero
    known = np.flatnonzero(counts)
    if len(known) < 2:
        return []
    usual = float(np.sort(sizes[known])[(len(known) - 1) // 2])  # the lower median
    ratio = np.maximum(sizes[known] / usual, usual / sizes[known])
    far = known[ratio >= FAR_OFF]
    if not len(far):
        return []
    order = far[np.argsort(-np.abs(np.log(sizes[far] / usual)), kind="stable")]
    listed = ", ".join(
        f"{feature_name(table, int(k))} about {short(sizes[k])}" for k in order[:_MOST]
    )
    more = f" and {len(far) - _MOST} more" if len(far) > _MOST else ""
    return [
        f"features of another order of magnitude than the rest, whose values are about "
        f"{short(usual)}: {listed}{more}. That slows the fit and penalises them differently; "
        "--scale std puts all on one scale."
    ]


def feature_name(table: Table, k: int) -> str:
    """What a feature is called in a message."""
    if table.feature_names is not None:
        return repr(printable(table.feature_names[k], 40))
    first = int(table.schema.get("zero_based") is False)
    return f"feature {k + first}"
