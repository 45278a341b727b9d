"""What an experiment hands back: claims, figures and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from primaldual.report.text import grouped, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Claim", "Item", "Row", "grouped", "number"]

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
