"""The Huber loss with its scale fitted as well: a convex problem in w, b and σ, and its dual.

    P(w, b, σ) = Σ_j s_j [σ + σ H(r_j/σ)] + α ‖w‖²,   r_j = y_j − ⟨x_j, w⟩ − b,   σ > 0,

with H(u) = u² for |u| ≤ ε and 2ε|u| − ε² beyond. Its perspective is σ H(r/σ) = max_u (u r − σ u²/4)
over |u| ≤ 2ε, so that, with S = Σ s_j,

    D(u) = Σ_j s_j u_j y_j − ‖Σ_j s_j u_j x_j‖²/(4α)
    for |u_j| ≤ 2ε,   Σ_j s_j u_j = 0 (the intercept),   Σ_j s_j u_j² ≤ 4S (the scale)

is below P everywhere. For fixed σ the rest is an ordinary Huber problem in w/σ with targets y/σ and
λ = ασ/S. Its optimum has u_j = 2 clip(r_j/σ, ±ε), and a derivative in σ with the sign of σ − T(σ),
where T(σ) is the best scale for its residuals. The search is for σ = T(σ), by secants in a bracket.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._types import FloatArray
from ..problem import Problem
from ..result import Result, Status

# Scales tried at most. About ten are usual.
MOST_SCALES = 60
# Scales in a row without a smaller gap after which rounding is taken to be the reason. The scale's
# constraint is active, so that rounding in u costs its own size: about 1e-14 of the relative gap.
MOST_IDLE = 4
# The fraction of tol to which one scale is solved, and by how much more after scales that did not
# help: the joint gap falls with the error of u, that of one scale with its square.
TIGHTEN = 1e-3
# log σ − log T(σ) below which the scale is known to rounding.
SCALE_ROUNDING = 1e-15
# The relative gap at which to stop where tol asks for less: the last scales cost little.
EXACT = 1e-14
# The smallest scale, in units of the one that predicting the mean has. If most residuals can be 0
# the best one is 0, where P is not defined.
SMALLEST_SCALE = 1e-9

# Solves a problem from a start to a fraction of tol, and says whether to stop the search.
Solver = Callable[[Problem, Any, float], tuple[Result, bool]]


class Fit(NamedTuple):
    """A point and what it proves."""

    w: FloatArray
    intercept: float
    scale: float
    u: FloatArray
    gap: float  # P − D
    results: list[Result]  # one for every scale tried
    stopped: bool = False  # by a callback


class Huber:
    """The joint problem on the data, weights and targets of a ``Problem`` with the Huber loss."""

    def __init__(self, problem: Problem, epsilon: float, alpha: float, total: float) -> None:
        self.problem, self.epsilon, self.alpha = problem, epsilon, alpha
        self.y = problem.y
        self.s = problem.sample_weight * (total / problem.n)
        self.total = total

    def best_scale(self, residuals: FloatArray) -> float:
        """σ with Σ s_j min(r_j²/σ², ε²) = S; 0 if there is none."""
        order = np.argsort(-np.abs(residuals))
        sizes, weights = np.abs(residuals)[order], self.s[order]
        squares = weights * sizes**2
        # With the k largest residuals beyond εσ, for all k at once.
        inside = squares.sum() - np.concatenate([[0.0], np.cumsum(squares)[:-1]])
        inside = np.maximum(inside, 0.0)
        outside = np.concatenate([[0.0], np.cumsum(weights)[:-1]])
        room = self.total - self.epsilon**2 * outside
        known = room > 1e-12 * self.total
        scales = np.sqrt(np.divide(inside, room, out=np.zeros(len(room)), where=known))
        fits = known & (self.epsilon * scales >= sizes * (1.0 - 1e-14))
        return float(scales[np.argmax(fits)]) if fits.any() else 0.0

    def primal(self, w: FloatArray, residuals: FloatArray, scale: float) -> float:
        """P(w, b, σ)."""
        sizes = np.abs(residuals) / scale
        curved, e = np.minimum(sizes, self.epsilon), self.epsilon
        values = curved**2 + 2.0 * e * (sizes - curved)
        return float(scale * (self.total + self.s @ values) + self.alpha * (w @ w))

    def feasible(self, u: FloatArray) -> FloatArray:
        """The u, made smaller until its squares are few enough."""
        squares = float(self.s @ u**2)
        return u * math.sqrt(4.0 * self.total / squares) if squares > 4.0 * self.total else u

    def gap(self, w: FloatArray, b: float, residuals: FloatArray, scale: float, u: Any) -> float:
        """P − D as a sum of terms that are not negative, so that a small one keeps its digits.

        They are what each example, the scale and the coefficients fall short of.
        """
        sizes, along = np.abs(residuals) / scale, np.where(residuals < 0, -u, u)
        e = self.epsilon
        curved = (sizes - along / 2.0) ** 2
        straight = (2.0 * e - along) * (sizes - (2.0 * e + along) / 4.0)
        losses = float(self.s @ np.where(sizes <= e, curved, straight))
        room = max(self.total - float(self.s @ u**2) / 4.0, 0.0)
        apart = w - self.problem.matrix.transposed_times(self.s * u) / (2.0 * self.alpha)
        balance = abs(b * float(self.s @ u))
        return scale * (losses + room) + self.alpha * float(apart @ apart) + balance

    def at_zero(self) -> float:
        """P at zero coefficients and the mean, the unit of the relative gap; 0 if y is constant."""
        scale = self.best_scale(self.y)
        return self.primal(np.zeros(self.problem.d), self.y, scale) if scale > 0 else 0.0

    def fit(self, tol: float, solve: Solver, first: float | None = None, start: Any = None) -> Fit:
        """The joint optimum, from a first scale; ``solve`` solves the problem of one scale."""
        unit, least = self.at_zero(), SMALLEST_SCALE * max(self.best_scale(self.y), 1e-300)
        scale = max(first or self.best_scale(self.y), least)
        search, best, results = Search(math.log(least)), None, []
        stop, idle, tighter = False, 0, TIGHTEN
        for _ in range(MOST_SCALES):
            made = self.problem.related(self.alpha * scale / self.total, self.y / scale)
            result, stop = solve(made, start, tighter)
            results.append(result)
            found, following = self._look(result, scale, least)
            idle += 1
            tighter *= TIGHTEN if idle > 1 else 1.0
            if best is None or found.gap < best.gap:
                best, idle = found, 0
            is_done = abs(math.log(scale / following)) <= SCALE_ROUNDING
            exact = best.gap <= min(tol, EXACT) * unit
            halted = stop or result.status in (Status.STOPPED, Status.INTERRUPTED)
            if is_done or exact or halted or idle == MOST_IDLE:
                break
            following = math.exp(search.next(math.log(scale), math.log(following)))
            if following == scale or result.status is Status.MAX_TIME:
                break
            start = (result.w * (scale / following), None)
            scale = following
        assert best is not None
        return best._replace(results=results, stopped=stop)

    def _look(self, result: Result, scale: float, least: float) -> tuple[Fit, float]:
        """What the solution at one scale proves, at its best scale, and that scale."""
        w, b = result.w * scale, float(result.intercept) * scale
        residuals = self.y - self.problem.margins(w, b)
        following = max(self.best_scale(residuals), least)
        c = self.problem.sample_weight
        own = 2.0 * np.divide(result.alpha, c, out=np.zeros(len(c)), where=c > 0)
        # A σ above the best one, or rounding, leaves the squares of u fewer than they may be.
        points = [own, self._filled(own), self._filled(2.0 * residuals / following)]
        points = [self.feasible(u) for u in points]
        gaps = [self.gap(w, b, residuals, following, u) for u in points]
        k = int(np.argmin(gaps))
        return Fit(w, b, following, points[k], gaps[k], []), following

    def _filled(self, u: FloatArray) -> FloatArray:
        """The u made larger until its squares are as many as they may be, still balanced."""
        most = 2.0 * self.epsilon
        kept = np.clip(u, -most, most)
        squares = float(self.s @ kept**2)
        if 0 < squares < 4.0 * self.total:
            kept = np.clip(kept * math.sqrt(4.0 * self.total / squares), -most, most)
        moved = self.problem.rebalanced(self.s * kept)
        return np.divide(moved, self.s, out=np.zeros(len(u)), where=self.s > 0)


class Search:
    """The root of log σ − log T(σ), which increases through it, by secants in a bracket."""

    def __init__(self, lowest: float) -> None:
        self.low, self.high = lowest, math.inf
        self.last: tuple[float, float] | None = None

    def next(self, at: float, following: float) -> float:
        """The next log σ, after log T(σ) = ``following`` at log σ = ``at``."""
        height = at - following
        if height > 0:
            self.high = min(self.high, at)
        else:
            self.low = max(self.low, at)
        guess = following
        if self.last is not None and height != self.last[1]:
            slope = (height - self.last[1]) / (at - self.last[0])
            if slope > 0:
                guess = at - height / slope
        self.last = (at, height)
        if not self.low <= guess <= self.high:
            guess = 0.5 * (self.low + self.high) if self.high < math.inf else following
        return guess
