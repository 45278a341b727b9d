"""The methods, one file each, in the order the documentation lists them."""

from __future__ import annotations

from .base import Method
from .nsync import NSync
from .quartz import Quartz

METHODS: dict[str, type[Method]] = {
    "nsync": NSync,
    "quartz": Quartz,
}

__all__ = ["METHODS", "Method", "NSync", "Quartz"]
