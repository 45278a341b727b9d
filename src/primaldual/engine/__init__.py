"""The choice among the engine's methods: what each should cost, and when to change.

``machine`` has the cost of a unit of work, ``costs`` the expected work of each method. ``rules``
chooses the method to start with, ``hand_over`` the one that takes over, and ``Auto`` runs them.
"""

from __future__ import annotations

from .auto import Auto
from .rules import SIDES, Choice, choose, chosen

__all__ = ["SIDES", "Auto", "Choice", "choose", "chosen"]
