"""That a kernel is being compiled, said to whoever wants to know."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("primaldual")

_said: list[str] = []


def announce(kernel: str, place: object) -> None:
    """Log that a kernel is compiled: the first of a process as information, all for debugging."""
    if not _said:
        _said.append(kernel)
        kept = f"kept in {place}" if place is not None else "not kept: there is no cache"
        LOGGER.info("compiling kernels for this kind of problem, once; they are %s", kept)
    LOGGER.debug("compiling %s", kernel)
