"""What an experiment hands back: claims, figures and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from primaldual.wording import grouped, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Claim", "Item", "Row", "grouped", "number"]

Row: TypeAlias = dict[str, Any]  # column -> value, one line of a table


@dataclass(frozen=True)
class Claim:
    """One thing the paper says, next to what was measured."""

    paper: str
    measured: str
    agrees: bool | None  # None: not judged, and ``measured`` says why

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        return {True: "agrees", False: "differs", None: "not judged"}[self.agrees]


def on_other_data(claim: Claim, label: str) -> Claim:
    """The claim as it was measured on data that stands in for the paper's: never judged."""
    said = f"On other data than the paper's, so not judged. {claim.measured}"
    return claim if is_original(label) else Claim(claim.paper, said, None)


def is_original(label: str) -> bool:
    """Whether data with this label is the paper's own."""
    return not any(word in label for word in ("stand-in", "rebuild"))


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
