"""The softmax loss where the examples of some classes all have weight zero.

With free intercepts such a class is best ruled out: its intercept falls without limit, its
coefficients go to 0, and what is left is the problem of the other classes. That one is solved and
certified; the intercept of a class without weight is set so low that the loss grows by no more than
rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from .._types import FloatArray, IntArray
from ..problem import Problem
from ..problem.multinomial import Multinomial
from ..result import Result

UNIT = float(np.finfo(np.float64).eps)  # the rounding unit


def present_classes(codes: IntArray, weights: FloatArray | None, count: int) -> IntArray | None:
    """The classes with a positive weight; None if all ``count`` of them have one."""
    if weights is None:
        return None
    present = np.flatnonzero(np.bincount(codes, weights=weights, minlength=count) > 0)
    return None if len(present) == count else present


def problem_of(
    X: Any, codes: IntArray, lam: float, weights: FloatArray | None, present: IntArray
) -> Any:
    """The problem of the classes with weight, with free intercepts.

    The other examples are given the first of these classes: without weight they have no say.
    """
    if len(present) == 1:
        return Problem.of_signs(X, np.ones(len(codes)), "logistic", lam, weights, True)
    place = np.zeros(int(codes.max()) + 1, dtype=codes.dtype)
    place[present] = np.arange(len(present))
    return Multinomial(X, place[codes], lam, weights, True)


def for_all_classes(
    result: Result, present: IntArray, count: int, mass: float = UNIT
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coefficients, intercepts and dual variables of all classes, one row per class.

    ``mass`` is the probability that the classes without weight have together, at most.
    """
    problem: Any = result.problem
    coef, dual = np.zeros((count, problem.d)), np.zeros((count, problem.n))
    intercept = np.zeros(count)
    if len(present) == 1:
        intercept[present] = result.intercept
    else:
        coef[present] = result.w
        dual[present] = result.alpha.T / (problem.lam * problem.n)
        lowest = float(logsumexp(problem.margins(result.w) + result.intercept, axis=1).min())
        intercept[:] = lowest + np.log(mass / count)
        intercept[present] = result.intercept
    return coef, intercept - intercept.mean(), dual
