"""What an experiment hands back: claims, figures and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row: TypeAlias = dict[str, Any]  # column -> value, one line of a table


@dataclass(frozen=True)
class Claim:
    """One thing the paper says, next to what was measured."""

    paper: str
    measured: str
    agrees: bool | None  # None: could not be measured, and ``measured`` says why


@dataclass(frozen=True)
class Item:
    """A figure or table of the paper, reproduced."""

    name: str
    title: str
    claims: list[Claim]
    errata: list[str] = field(default_factory=list)  # slips of the paper that matter here
    note: str = ""  # the setting, and what to look for
    remarks: list[str] = field(default_factory=list)  # why it came out that way
    figures: dict[str, Figure] = field(default_factory=dict)  # file name without ending -> figure
    captions: dict[str, str] = field(default_factory=dict)  # what a reader sees in each figure
    tables: dict[str, list[Row]] = field(default_factory=dict)  # file name without ending -> rows
    shown: tuple[str, ...] = ()  # the tables that are printed on the page as well

    @property
    def agrees(self) -> bool | None:
        """Whether every claim that was measured agrees; None if none was."""
        verdicts = [claim.agrees for claim in self.claims if claim.agrees is not None]
        return all(verdicts) if verdicts else None


def grouped(value: int) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


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
