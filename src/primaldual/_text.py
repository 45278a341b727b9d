"""Strings from files, shown to people."""

from __future__ import annotations

import re
from typing import Any

# What steers a terminal or a reader's eye instead of being read: the control characters C0 and C1,
# marks of invisible width and of the direction of writing, separators of lines and paragraphs, and
# halves of surrogate pairs.
_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff]"
)


def visible(text: Any) -> str:
    r"""A string with all that could steer a terminal written as an escape.

    Control characters, line breaks, marks that change the direction of writing, and halves of
    surrogate pairs become ``\x1b``, ``\n``, ``\u202e``; letters of any language stay.

    Examples
    --------
    >>> print(visible("caf\u00e9 \x1b[31m"))
    café \x1b[31m
    """
    return _STEERING.sub(lambda found: repr(found[0])[1:-1], str(text))


def visible_lines(text: str) -> str:
    """The same for a text of several lines, whose line breaks stay."""
    return "\n".join(map(visible, text.split("\n")))


def visible_json(text: str) -> str:
    r"""JSON that means the same, without what could steer a terminal.

    Examples
    --------
    >>> print(visible_json('{"label": "\u009b31m"}'))
    {"label": "\u009b31m"}
    """
    lines = text.split("\n")  # JSON itself has line breaks only between its parts
    return "\n".join(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in lines)
