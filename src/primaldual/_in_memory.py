"""Data that lives elsewhere, refused where it would be loaded silently."""

from __future__ import annotations

from typing import Any


def require_in_memory(X: Any) -> None:
    """Refuse Dask's collections: turning one into an array would load all of it.

    This is the one place that says no; what takes data in parts asks
    ``primaldual.parts.collections.is_collection`` first.
    """
    if not isinstance(X, type) and hasattr(X, "__dask_graph__"):
        kind = f"{type(X).__module__.partition('.')[0]} {type(X).__name__}"
        raise TypeError(
            f"X must be in memory here, got a {kind}. LogisticRegression, Ridge and the other "
            "estimators without CV in their names fit such data where it is; otherwise pass "
            "X.compute() if it fits into memory."
        )
