"""Between a problem with a prior or a penalty per feature, and its standard form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..problem import Problem
from ..problem.standard import Units
from ..result import Progress, Result
from .run import Callback, Start


def start_in(start: Start | None, units: Units) -> Start | None:
    """A start for the standard form."""
    if start is None or start.w is None:
        return start
    return start._replace(w=units.inward(start.w))


def in_units(callback: Callback | None, units: Units) -> Callback | None:
    """The callback, which sees coefficients in the user's units."""
    if callback is None:
        return None

    def report(progress: Progress) -> Any:
        proof = progress.proof
        if proof is not None:
            progress = progress._replace(proof=proof._replace(w=units.outward(proof.w)))
        return callback(progress)

    return report


def result_in_units(result: Result, problem: Problem) -> Result:
    """The result on the standard form as one on the problem itself."""
    assert problem.units is not None
    w = problem.units.outward(result.w)
    proof = result.certificate._replace(w=w)
    return replace(result, w=w, certificate=proof, problem=problem)
