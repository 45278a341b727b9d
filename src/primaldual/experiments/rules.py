"""Rules that choose a side from the data, and what following them costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primaldual import METHODS

from .record import Row

SIDES = {"primal": "primal_cd", "dual": "dual_cd"}  # ours
# A side that did not reach the gap counts as this many times the other side, or as what it used if
# that is more.
PATIENCE = 20.0


def first_side(row: Row) -> str:
    """The side of the method that ``auto`` began with."""
    return METHODS[row["auto"].split("+")[0]].side


RULES: dict[str, Callable[[Row], str]] = {
    "always primal": lambda row: "primal",
    "always dual": lambda row: "dual",
    "dual if n < d (scikit-learn)": lambda row: "dual" if row["n"] < row["d"] else "primal",
    "dual if n ≥ d (Snap ML)": lambda row: "dual" if row["n"] >= row["d"] else "primal",
    "smaller T (the paper)": lambda row: "primal" if row["T_P/T_D"] < 1 else "dual",
    "smaller T, machine constants": (
        lambda row: "primal" if row["c_P T_P/(c_D T_D)"] < 1 else "dual"
    ),
    "auto, the side it starts on": first_side,
    "advise, its verdict": lambda row: row["verdict"],
}

# Not a side but a whole: ``solve(problem, advise(problem))``.
FOLLOWED = "advise, followed, and its own cost"


def decided(rows: list[Row], what: str = "seconds") -> list[Row]:
    """The rows in which at least one side arrived; none did where it was not run."""
    return [row for row in rows if arrived(row, "primal", what) or arrived(row, "dual", what)]


def arrived(row: Row, side: str, what: str) -> bool:
    """Whether the method of a side reached the gap."""
    return bool(row[f"{side} {what.removesuffix(what.split()[-1])}arrived"])


def cost(row: Row, side: str, what: str) -> float:
    """Seconds or passes of a side; at least PATIENCE times the other's if it did not arrive."""
    used = float(row[f"{side} {what}"])
    if not arrived(row, side, what):
        other = "dual" if side == "primal" else "primal"
        used = max(used, PATIENCE * float(row[f"{other} {what}"]))
    return max(used, 1e-9)


def best_cost(row: Row, what: str) -> float:
    """That of the better side."""
    return min(cost(row, side, what) for side in SIDES)


def regrets(rows: list[Row], rule: Callable[[Row], str], what: str) -> Any:
    """Cost of the chosen side over that of the better one, for every row."""
    return np.array(
        [cost(row, rule(row), what) / best_cost(row, what) for row in decided(rows, what)]
    )


def scores(rows: list[Row]) -> list[Row]:
    """How each rule did, in seconds and in passes."""
    table = []
    for name, rule in RULES.items():
        line: Row = {"rule": name}
        for what in ("seconds", "passes", "paper passes"):
            line |= _score(regrets(rows, rule, what), what)
        table.append(line)
    advised = [
        (row["advise seconds"] + cost(row, row["verdict"], "seconds")) / best_cost(row, "seconds")
        for row in decided(rows)
    ]
    whole = {
        "the same and its own cost": advised,
        FOLLOWED: _as_it_ran(rows, "advised"),
        "auto, as it ran": _as_it_ran(rows, "auto"),
    }
    for name, regret in whole.items():
        line = dict.fromkeys(table[0], math.nan)
        table.append(line | {"rule": name, **_score(np.array(regret), "seconds")})
    return table


def _as_it_ran(rows: list[Row], label: str) -> list[float]:
    """The regret of one that chooses and solves, all of its time counted."""

    def regret(row: Row) -> float:
        least = 0.0 if row[f"{label} arrived"] else PATIENCE
        return max(row[f"{label} seconds"] / best_cost(row, "seconds"), least)

    return [regret(row) for row in decided(rows)]


def _score(regret: Any, what: str) -> Row:
    return {
        f"right, {what}": float(np.mean(regret <= 1)),
        f"mean regret, {what}": float(np.exp(np.mean(np.log(regret)))),
        f"95 %, {what}": float(np.quantile(regret, 0.95)),
        f"max, {what}": float(regret.max()),
    }
