"""The softmax loss: ``Multinomial``, one problem for all classes, and ``solve_multinomial``."""

from __future__ import annotations

from typing import Any

from .problem.multinomial import Multinomial
from .result import Result
from .solver import solve

__all__ = ["Multinomial", "solve_multinomial"]


def solve_multinomial(
    problem: Multinomial, side: str = "auto", tol: float = 1e-6, **options: Any
) -> Result:
    """Minimise P(W) until the certified relative gap is at most ``tol``.

    Parameters
    ----------
    problem : Multinomial
    side : {"auto", "primal", "dual"}
        Which methods may be used.
    tol : float
        The relative duality gap to reach.
    **options
        ``max_passes``, ``max_time``, ``seed`` and ``callback`` as in ``solve``.

    Returns
    -------
    Result
        With ``w`` of shape (K, d), ``intercept`` of shape (K,) and ``alpha`` of shape (n, K).
    """
    return solve(problem, tol=tol, side=side, **options)
