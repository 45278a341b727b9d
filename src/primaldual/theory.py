"""What the paper's bound says of the paper's two methods: T of both sides, and what decides."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ._types import Side
from .complexity import (
    Complexity,
    complexity,
    importance_complexity,
    structure_cost,
    unbounded,
)
from .losses.custom import loss_name
from .problem import Coordinates, Problem
from .samplings import as_sampling
from .wording import number

# Ratios of T closer to 1 than this are called a tie in words; the smaller T still wins.
TIE = 1.1


@dataclass(frozen=True)
class Theory:
    """What the paper's bound guarantees of the paper's two methods, nsync and quartz."""

    primal: Complexity
    dual: Complexity
    side: Side  # with the smaller T
    reason: str

    @property
    def ratio(self) -> float:
        """T_P / T_D; 1 where both are infinite."""
        if self.primal.total == self.dual.total:
            return 1.0
        return self.primal.total / self.dual.total if self.dual.total else 1.0


def theory_of(problem: Problem, sampling: str) -> Theory:
    """T of both sides with that sampling, and what it says."""
    sides = (problem.features, problem.examples)
    if problem.beta == math.inf:
        name = repr(loss_name(problem.loss))
        reason = (
            f"the loss {name} has a φ'' without a bound: β and with it both bounds are infinite."
            if problem.is_smooth
            else f"the loss {name} has kinks, so that β and with it both bounds are infinite; only "
            "the dual has coordinate steps."
        )
        return Theory(unbounded(sides[0]), unbounded(sides[1]), "dual", reason)
    if sampling == "importance":
        primal, dual = map(importance_complexity, sides)
    else:
        primal, dual = (complexity(one, as_sampling(sampling, one)) for one in sides)
    side: Side = "primal" if primal.total <= dual.total else "dual"
    return Theory(primal, dual, side, _reason(problem, primal, dual, side))


def _reason(problem: Problem, primal: Complexity, dual: Complexity, side: Side) -> str:
    """One sentence a person can repeat: what about this data decides."""
    features, examples = problem.features, problem.examples
    winner, loser = (primal, dual) if side == "primal" else (dual, primal)
    if winner.total == 0 or loser.total / winner.total < TIE:
        if max(primal.total, dual.total) < 2 * problem.matrix.nnz:
            return (
                "λ is so large that both sides need only a few passes; the choice hardly matters."
            )
        return (
            "the nonzeros are spread alike over features and examples; the choice hardly matters."
        )
    typical_feature, typical_example = _typical_count(features), _typical_count(examples)
    few, many = (
        (("feature", typical_feature), ("example", typical_example))
        if side == "primal"
        else (("example", typical_example), ("feature", typical_feature))
    )
    sentence = (
        f"the weight of the data sits in {few[0]}s with about {number(few[1])} nonzeros each, "
        f"against {number(many[1])} per {many[0]}"
    )
    by_shape: Side = "primal" if problem.d >= problem.n else "dual"
    if by_shape != side:
        heavy = features if side == "dual" else examples
        share = _heaviest_share(heavy)
        return (
            f"although {'d ≥ n' if by_shape == 'primal' else 'n > d'}, {sentence}: "
            f"the heaviest 1 % of {many[0]}s carry {share:.0%} of it."
        )
    return f"{sentence}, so its steps are cheap."


def _typical_count(side: Coordinates) -> float:
    """C/‖X‖_F²: the nonzeros of a row, averaged with the rows' squared norms as weights."""
    norms = side.squared_norms
    if side.multipliers is not None:
        norms = norms * side.multipliers
    total = float(norms.sum())
    return structure_cost(side) / total if total > 0 else 0.0


def _heaviest_share(side: Coordinates) -> float:
    """The part of ‖X‖_F² in the heaviest 1 % of the rows (at least one row)."""
    norms = side.squared_norms
    top = max(1, side.size // 100)
    return float(np.partition(norms, side.size - top)[side.size - top :].sum() / norms.sum())
