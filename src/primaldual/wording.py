"""Numbers for people."""

from __future__ import annotations

import math
import re
from typing import Any

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def grouped(value: int) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def unbroken(text: str) -> str:
    """A text whose groups of three digits stay on one line, where blanks are between them."""
    return re.sub(r"(?<=\d) (?=\d{3}\b)", "\N{NARROW NO-BREAK SPACE}", text)


def number(value: float, digits: int = 3) -> str:
    """A number for people: few digits, groups of thousands, powers of ten where needed."""
    if value != value:
        return "–"  # noqa: RUF001
    if abs(value) == float("inf"):
        return "∞" if value > 0 else "−∞"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        text = f"{value:,.{max(0, digits - len(str(int(abs(value)))))}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        if value == 0 or abs(value) >= 0.1:
            return text.replace(",", "\N{NARROW NO-BREAK SPACE}")
        return f"{value:.{digits}g}"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def level(value: float) -> str:
    """A number that somebody chose, such as a tolerance: no zeros behind it, "1e-6"."""
    return number(value).replace(".00e", "e").replace("0e", "e")


def times(factor: float) -> str:
    """A factor of at least 1: "2.0×", "350×"."""
    return f"{factor:.1f}×" if factor < 100 else f"{number(factor)}×"


def power_of_ten(exponent: int) -> str:
    """1, 10, 100, 1 000, then powers: "10⁴", "10⁻³"."""
    if 0 <= exponent <= 3:
        return grouped(10**exponent)
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def duration(seconds: float) -> str:
    """Seconds in the largest unit of which there is at least one: "2.5 s", "31 ms", "80 µs"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{number(seconds / size)} {unit}"
    return f"{number(seconds / 1e-6, 2)} µs"


def finite(value: Any) -> Any:
    """The same nested value with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
