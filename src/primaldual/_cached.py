"""Attributes that are computed on first use."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):
        """``functools.cached_property`` without its lock, which Python 3.12 dropped as well.

        The lock costs as much as a small problem's norms. Two threads may compute the same value
        twice, and then agree on it.
        """

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value
