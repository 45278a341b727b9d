"""solve(problem, …) → Result: the one loop around every method.

``door`` checks what is asked for, ``loop`` advances the method from check to check, ``run`` keeps
what was done and decides when to stop, ``best`` keeps what was proved.
"""

from __future__ import annotations

from .door import require_usable, solve
from .run import Start
from .seeds import Spawned

__all__ = ["Spawned", "Start", "require_usable", "solve"]
