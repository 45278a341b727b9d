"""A loss with kinks on data in parts: the smoothed problem around an α, and the α it leads to."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._types import FloatArray
from .intercept import rebalanced
from .on_parts import PartsProblem
from .one_part import Part


@dataclass
class SmoothedPart(Part):
    """A part whose kinks are rounded, and the part as it was."""

    sharp: Part | None = None


def smoothed(problem: PartsProblem, gamma: float, alphas: list[Any]) -> PartsProblem:
    """The problem with (γ/2)(a_j − α_j/c_j)² added to each φ*, as ``Problem.smoothed`` makes it.

    ``alphas`` has an array per part, and None for an empty one.
    """
    made = copy.copy(problem)
    made.__dict__.pop("primal_at_zero", None)
    made.loss = problem.loss.smoothed(gamma)  # type: ignore[attr-defined]
    made.beta, made.is_smooth = float(made.loss.smoothness), True
    made.parts = problem.parts.beside(smoothed_part, alphas, made.loss, gamma)
    return made


def dual_at(problem: PartsProblem, point: FloatArray) -> tuple[list[Any], float]:
    """α at a point of the smoothed problem, part by part, and Σ_j c_j of its gaps on the true one.

    α is in the domain of the true conjugate and, with a free intercept, in the plane Σ_j α_j = 0.
    """
    found = problem.parts.map(dual_and_gap, point)
    alphas = [None if each is None else each[0] for each in found]
    gap = sum(each[1] for each in found if each is not None)
    if problem.fit_intercept:
        there = [alpha for alpha in alphas if alpha is not None]
        moved = rebalanced(np.concatenate(there))
        pieces = iter(np.split(moved, np.cumsum([len(alpha) for alpha in there])[:-1]))
        alphas = [None if alpha is None else next(pieces) for alpha in alphas]
    return alphas, float(gap)


# --------------------------------------------------------------------------------------------
# Steps


def smoothed_part(part: Part, alpha: FloatArray, loss: Any, gamma: float) -> SmoothedPart:
    """The part of the smoothed problem: its targets are y_j + γ α_j/c_j."""
    c = part.sample_weight
    shift = np.divide(alpha, c, out=np.zeros(part.n), where=c > 0)
    fields = (part.matrix, part.y + gamma * shift, c, loss, part.fit_intercept)
    return SmoothedPart(*fields, sharp=replace(part, alpha=None))


def dual_and_gap(part: SmoothedPart, point: FloatArray) -> tuple[FloatArray, float]:
    """α_j = −c_j φ'_γ(z_j), and Σ_j c_j [φ(z_j) + φ*(−a_j) + a_j z_j] of the loss with kinks."""
    assert part.sharp is not None
    z = part.scores(point)
    alpha = -part.slopes(z)[0]
    return alpha, part.sharp.gaps(z, alpha)[1]
