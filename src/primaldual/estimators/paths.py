"""Paths along the regularisation: one problem for several λ."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from .._types import FloatArray
from ..parts.collections import as_parts, is_collection
from ..problem import Problem
from ..problem.on_parts import PartsProblem
from ..result import Result
from .solving import Request, solve_one

# The solutions along a path are extrapolated by a polynomial in log λ of this degree at most.
DEGREE = 1


def path(
    X: Any,
    y: Any,
    lams: Any,
    loss: Any = "logistic",
    *,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: float | None = 1000,
    max_time: float | None = None,
    side: str = "auto",
    seed: Any = 0,
) -> list[Result]:
    """Solve the same problem for several λ, each from the solutions before it.

    Parameters
    ----------
    X, y, loss, sample_weight, fit_intercept
        As for ``Problem``. X may be data in parts, as for the estimators.
    lams : array of positive floats
        The values of λ, in any order; they are solved from the largest to the smallest.
    tol : float, default=1e-6
        The certified relative duality gap of every solution.
    max_iter : int or None, default=1000
        Passes over the data for every λ; a Newton step counts as one.
    max_time : float, optional
        Seconds for the whole path.
    side : {"auto", "primal", "dual"}, default="auto"
        "auto" decides again for every λ: the cheaper side depends on it.
    seed : int or Generator, default=0
        For the order of steps.

    Returns
    -------
    list of Result
        In the order of ``lams``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from primaldual.estimators import path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> results = path(scale(X), y, np.logspace(0, -3, 4))
    >>> [result.converged for result in results]
    [True, True, True, True]
    >>> bool(np.all(np.diff([np.linalg.norm(result.w) for result in results]) > 0))
    True
    """
    values = np.asarray(lams, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"lams must be a list of positive numbers, got {lams!r}.")
    problem: Any
    if is_collection(X):
        parts = as_parts(X, y, sample_weight)
        problem = PartsProblem(parts, loss, float(values.max()), fit_intercept)
    else:
        problem = Problem(X, y, loss, float(values.max()), sample_weight, fit_intercept)
    return walk(problem, values, Request(tol, max_iter, max_time, side, seed))


def walk(problem: Any, lams: FloatArray, request: Request) -> list[Result]:
    """The results for ``lams``, in their order, each started where the last ones point to."""
    deadline = None if request.max_time is None else time.perf_counter() + request.max_time
    results: dict[int, Result] = {}
    steps: list[tuple[float, Result]] = []  # log λ and result so far
    for index in np.argsort(-lams, kind="stable"):
        lam = float(lams[index])
        if not steps or steps[-1][0] != math.log(lam):
            problem = problem.related(lam=lam)  # with what the last one has computed
            start, near = _extrapolated(steps[-DEGREE - 1 :], math.log(lam))
            if near is not None:
                problem.near = near
            steps.append(
                (math.log(lam), solve_one(problem, request, request.seed, deadline, start))
            )
        results[int(index)] = steps[-1][1]
    return [results[index] for index in range(len(lams))]


def _extrapolated(steps: list[tuple[float, Any]], log_lam: float) -> tuple[Any, Any]:
    """(w, α) and the intercept on the polynomial in log λ through the given solutions."""
    if not steps:
        return None, None
    at = np.array([place for place, _ in steps])
    shares = np.ones(len(at))
    for k in range(len(at)):  # Lagrange's basis at the new place
        others = np.delete(at, k)
        shares[k] = np.prod((log_lam - others) / (at[k] - others))

    def combined(name: str) -> Any:
        parts = [getattr(result, name) for _, result in steps]
        return sum(share * part for share, part in zip(shares, parts, strict=True))

    # On data in parts α is no array that could be combined: it follows from w.
    has_alpha = all(isinstance(result.alpha, np.ndarray) for _, result in steps)
    return (combined("w"), combined("alpha") if has_alpha else None), combined("intercept")
