"""The swap: scikit-learn's public names lead to this library's estimators, in this process."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import sys
from typing import Any

import sklearn
import sklearn.utils

import primaldual.estimators as ours
from primaldual.estimators.base import LinearModel

PLACES = ("sklearn.linear_model", "sklearn.svm")
# Modules that change scikit-learn when they are imported, or that are tests themselves.
NOT_LIBRARY = ("tests", "externals", "experimental", "conftest")


def swapped_names() -> dict[str, Any]:
    """The classes that both libraries have, by name."""
    theirs = {name for place in PLACES for name in importlib.import_module(place).__all__}
    return {name: getattr(ours, name) for name in ours.__all__ if name in theirs}


def swap() -> dict[str, Any]:
    """Put our classes under scikit-learn's public names; scikit-learn itself keeps its own.

    Its modules are imported first, so that they hold their own classes already and only what is
    imported later, the tests, finds ours.
    """
    for module in pkgutil.walk_packages(sklearn.__path__, "sklearn.", onerror=lambda name: None):
        if not any(part in NOT_LIBRARY for part in module.name.split(".")):
            with contextlib.suppress(ImportError):  # optional dependencies
                importlib.import_module(module.name)
    classes = swapped_names()
    replaced = set()
    for place in map(importlib.import_module, PLACES):
        for name, owner in classes.items():
            if hasattr(place, name):
                replaced.add(getattr(place, name))
                setattr(place, name, owner)
    _hide(replaced)
    return classes


def _hide(replaced: set[Any]) -> None:
    """Let ``all_estimators`` list our classes and not also those they replace."""
    listed = sklearn.utils.all_estimators

    def all_estimators(type_filter: Any = None) -> list[tuple[str, Any]]:
        return [entry for entry in listed(type_filter) if entry[1] not in replaced]

    for module in list(sys.modules.values()):
        if getattr(module, "all_estimators", None) is listed:
            module.all_estimators = all_estimators  # type: ignore[attr-defined]


class Uses:
    """Counts instances of our estimators that are made or used, to see which tests use them."""

    def __init__(self) -> None:
        self.count = 0
        base: Any = LinearModel
        uses, checked = self, base._checked

        def new(cls: Any, *args: Any, **parameters: Any) -> Any:
            uses.count += 1
            return object.__new__(cls)

        def count_and_check(model: Any, *args: Any, **options: Any) -> Any:
            uses.count += 1
            return checked(model, *args, **options)

        base.__new__ = staticmethod(new)
        base._checked = count_and_check

    def holds(self, value: Any, depth: int = 4) -> bool:
        """Whether one of our estimators or its class is in a test's parameter."""
        if depth == 0:
            return False
        if issubclass(value if isinstance(value, type) else type(value), LinearModel):
            return True
        parts: list[Any] = []
        if isinstance(value, dict):
            parts = list(value.values())
        elif isinstance(value, list | tuple):
            parts = list(value)
        elif hasattr(value, "func") and hasattr(value, "args"):  # functools.partial
            parts = [value.func, *value.args]
        elif hasattr(value, "get_params") and not isinstance(value, type):
            parts = list(vars(value).values())
        return any(self.holds(part, depth - 1) for part in parts)
