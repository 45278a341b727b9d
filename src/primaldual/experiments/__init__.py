"""The paper's figures and table again, and its central claim tested on more data.

One module per item, each with a function ``run(quick)`` that returns an :class:`Item`: what the
paper says, what was measured, whether the two agree, the figures and the numbers.
:func:`reproduce` runs items and writes pictures, numbers and one page. The experiments use public
names only. Drawing needs the extra ``plots``.
"""

from __future__ import annotations

from .record import Claim, Item
from .runner import ITEMS, reproduce

__all__ = ["ITEMS", "Claim", "Item", "reproduce"]
