"""P, D and the gap of a pair in high precision: an oracle that shares no line with the library.

Products of two floats are split into two floats without error; sums are made by ``math.fsum``,
which rounds once, and by a second call for the rest; losses and conjugates are written from their
definitions in mpmath.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
from scipy import sparse

# Dual variables beyond the edge of their domain by this much are those of rounding.
EDGE = mp.mpf("2e-14")
# By which Dekker's splitting multiplies: 2^27 + 1.
SPLITTER = 134217729.0


class Exact(NamedTuple):
    """What a pair proves."""

    primal: Any
    dual: Any
    gap: Any
    at_zero: Any  # P(0), without an intercept


def exact_gap(problem: Any, w: Any, alpha: Any, b: float, digits: int = 60) -> Exact:
    """P(w, b), D(α) and their gap; the dual is −∞ where α is not feasible.

    Where Σ_j α_j is not quite 0, a free intercept makes P − D + b Σ_j α_j/n the sum of the gaps of
    all examples, to which |b Σ_j α_j|/n is added.
    """
    with mp.workdps(digits):
        z, point = _products(problem, w, alpha)
        c = [mp.mpf(float(x)) for x in problem.sample_weight]
        y = [mp.mpf(float(x)) for x in problem.y]
        a = [mp.mpf(float(x)) for x in alpha]
        lam, n = mp.mpf(problem.lam), problem.n
        value, conjugate = FORMULAS[type(problem.loss).__name__](problem.loss)
        b = mp.mpf(float(b))
        losses = mp.fsum(cj * value(zj + b, yj) for cj, zj, yj in zip(c, z, y, strict=True) if cj)
        primal = losses / n + lam / 2 * mp.fsum(mp.mpf(float(x)) ** 2 for x in w)
        bounds = mp.fsum(
            cj * conjugate(aj / cj, yj) if cj else (mp.inf if aj else mp.mpf(0))
            for cj, aj, yj in zip(c, a, y, strict=True)
        )
        dual = -lam / 2 * mp.fsum(x**2 for x in point) / (lam * n) ** 2 - bounds / n
        at_zero = mp.fsum(cj * value(mp.mpf(0), yj) for cj, yj in zip(c, y, strict=True) if cj) / n
        off = b * mp.fsum(a) / n if problem.fit_intercept else mp.mpf(0)
        return Exact(primal, dual, primal - dual + off + abs(off), at_zero)


def exact_softmax_gap(problem: Any, w: Any, alpha: Any, b: Any, digits: int = 60) -> Exact:
    """The same for the softmax loss: W has a row per class, α a column."""
    with mp.workdps(digits):
        X, lam, n = stored_rows(problem), mp.mpf(problem.lam), problem.n
        kinds = range(len(w))
        z = [exact_times(X, row) for row in w]
        points = [exact_times(sparse.csr_array(X.T), column) for column in alpha.T]
        b = [mp.mpf(float(x)) for x in b]
        losses, entropies, at_zero = mp.mpf(0), mp.mpf(0), mp.mpf(0)
        for j, (y, c) in enumerate(zip(problem.codes, problem.sample_weight, strict=True)):
            c, a = mp.mpf(float(c)), [mp.mpf(float(x)) for x in alpha[j]]
            if not c:
                entropies += mp.inf if any(a) else 0
                continue
            scores = [z[k][j] + b[k] for k in kinds]
            top = max(scores)
            losses += c * (top - scores[y] + mp.log(mp.fsum(mp.exp(s - top) for s in scores)))
            at_zero += c * mp.log(len(w))
            q = [(1 if k == y else 0) - a[k] / c for k in kinds]
            if min(q) < -EDGE:
                entropies += mp.inf
            entropies += c * mp.fsum(_entropy(x) for x in q)
        sizes = mp.fsum(mp.mpf(float(x)) ** 2 for x in w.ravel())
        primal = losses / n + lam / 2 * sizes
        squares = mp.fsum(x**2 for point in points for x in point) / (lam * n) ** 2
        dual = -lam / 2 * squares - entropies / n
        off = mp.mpf(0)
        for k in kinds if problem.fit_intercept else ():
            total = b[k] * mp.fsum(mp.mpf(float(x)) for x in alpha[:, k]) / n
            off += total + abs(total)
        return Exact(primal, dual, primal - dual + off, at_zero / n)


def stored_rows(problem: Any) -> Any:
    """X as the problem holds it."""
    rows = problem.matrix.stored
    if hasattr(rows, "indptr"):
        kind = sparse.csr_array if problem.matrix.stored_by == "example" else sparse.csc_array
        X = kind((np.asarray(rows.values, float), rows.indices, rows.indptr), problem.matrix.shape)
    else:
        values = np.asarray(rows.values, float)
        X = sparse.csr_array(values if problem.matrix.stored_by == "example" else values.T)
    return sparse.csr_array(X)


def _products(problem: Any, w: Any, alpha: Any) -> tuple[list[Any], list[Any]]:
    """X w and Xᵀ α in mpmath numbers."""
    X = stored_rows(problem)
    return exact_times(X, w), exact_times(sparse.csr_array(X.T), alpha)


def exact_times(X: Any, vector: Any) -> list[Any]:
    vector = np.asarray(vector, float)
    high = X.data * vector[X.indices]
    low = _lost(X.data, vector[X.indices], high)
    out = []
    for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        terms = [*high[first:last].tolist(), *low[first:last].tolist()]
        total = math.fsum(terms)
        out.append(mp.mpf(total) + mp.mpf(math.fsum([*terms, -total])))
    return out


def _lost(a: Any, b: Any, product: Any) -> Any:
    """A b − product without error, by Dekker's splitting, in units that do not overflow."""
    (a, p), (b, q) = np.frexp(a), np.frexp(b)
    product = np.ldexp(np.ldexp(product, -p), -q)
    high = [SPLITTER * x - (SPLITTER * x - x) for x in (a, b)]
    low = [a - high[0], b - high[1]]
    rest = ((high[0] * high[1] - product) + high[0] * low[1] + low[0] * high[1]) + low[0] * low[1]
    return np.ldexp(rest, p + q)


# --- the losses, from their definitions ---------------------------------------------------------


def _inside(x: Any, low: Any, high: Any) -> Any:
    """X in [low, high], moved there if rounding has put it outside; None if it is farther off."""
    scale = max(1, abs(low) if mp.isfinite(low) else 0, abs(high) if mp.isfinite(high) else 0)
    if x < low - EDGE * scale or x > high + EDGE * scale:
        return None
    return min(max(x, low), high)


def _entropy(p: Any) -> Any:
    return p * mp.log(p) if p > 0 else mp.mpf(0)


def _on(low: Any, high: Any, formula: Any) -> Any:
    """The conjugate as a function of b = y a, on an interval."""

    def conjugate(a: Any, y: Any) -> Any:
        b = _inside(y * a, mp.mpf(low), mp.mpf(high))
        return mp.inf if b is None else formula(b)

    return conjugate


def _between(bound: Any, formula: Any) -> Any:
    """The conjugate as a function of a and y, for |a| up to a bound."""

    def conjugate(a: Any, y: Any) -> Any:
        moved = _inside(a, -mp.mpf(bound), mp.mpf(bound))
        return mp.inf if moved is None else formula(moved, y)

    return conjugate


def _squared(loss: Any) -> Any:
    return lambda z, y: (z - y) ** 2 / 2, lambda a, y: a**2 / 2 - a * y


def _logistic(loss: Any) -> Any:
    def value(z: Any, y: Any) -> Any:
        m = y * z
        return max(mp.mpf(0), -m) + mp.log1p(mp.exp(-abs(m)))

    return value, _on(0, 1, lambda b: _entropy(b) + _entropy(1 - b))


def _squared_hinge(loss: Any) -> Any:
    return lambda z, y: max(0, 1 - y * z) ** 2 / 2, _on(0, mp.inf, lambda b: b**2 / 2 - b)


def _smoothed_hinge(loss: Any) -> Any:
    g = mp.mpf(loss.smoothing)

    def value(z: Any, y: Any) -> Any:
        short = max(mp.mpf(0), 1 - y * z)
        return short**2 / (2 * g) if short < g else short - g / 2

    return value, _on(0, 1, lambda b: g * b**2 / 2 - b)


def _hinge(loss: Any) -> Any:
    return lambda z, y: max(mp.mpf(0), 1 - y * z), _on(0, 1, lambda b: -b)


def _modified_huber(loss: Any) -> Any:
    def value(z: Any, y: Any) -> Any:
        m = y * z
        return -4 * m if m < -1 else max(mp.mpf(0), 1 - m) ** 2

    return value, _on(0, 4, lambda b: b**2 / 4 - b)


def _huber(loss: Any) -> Any:
    d = mp.mpf(loss.delta)

    def value(z: Any, y: Any) -> Any:
        r = abs(z - y)
        return r**2 / 2 if r <= d else d * (r - d / 2)

    return value, _between(d, lambda a, y: a**2 / 2 - a * y)


def _insensitive(gamma: Any) -> Any:
    """The ε-insensitive loss smoothed by γ."""

    def of(loss: Any) -> Any:
        e, g = mp.mpf(loss.epsilon), mp.mpf(gamma(loss))

        def value(z: Any, y: Any) -> Any:
            t = max(mp.mpf(0), abs(z - y) - e)
            return t**2 / (2 * g) if t < g else t - g / 2

        return value, _between(1, lambda a, y: g * a**2 / 2 + e * abs(a) - a * y)

    return of


def _squared_insensitive(loss: Any) -> Any:
    e = mp.mpf(loss.epsilon)
    return (
        lambda z, y: max(mp.mpf(0), abs(z - y) - e) ** 2 / 2,
        lambda a, y: a**2 / 2 + e * abs(a) - a * y,
    )


def _log_cosh(loss: Any) -> Any:
    def value(z: Any, y: Any) -> Any:
        r = abs(z - y)
        return r + mp.log1p(mp.exp(-2 * r)) - mp.log(2)

    return value, _between(1, lambda a, y: (_entropy(1 + a) + _entropy(1 - a)) / 2 - a * y)


def _probit(loss: Any) -> Any:
    def minus_log(m: Any) -> Any:
        """-ln Φ(m), by the complementary error function, which keeps its digits in both tails."""
        return -mp.log(mp.erfc(-m / mp.sqrt(2)) / 2)

    def hazard(m: Any) -> Any:
        return mp.exp(-(m**2) / 2) / (mp.sqrt(2 * mp.pi) * mp.erfc(-m / mp.sqrt(2)) / 2)

    def conjugate(b: Any) -> Any:
        if b == 0:
            return mp.mpf(0)
        # h is convex and decreasing, ln h concave: Newton's method on ln h from either side.
        t = -b if b > 1 else mp.sqrt(2 * max(mp.mpf(0), -mp.log(b)))
        for _ in range(100):
            h = hazard(t)
            step = (mp.log(h) - mp.log(b)) / (h + t)
            t += step
            if abs(step) < mp.mpf(10) ** (-35) * (1 + abs(t)):
                break
        return -b * t - minus_log(t)

    return lambda z, y: minus_log(y * z), _on(0, mp.inf, conjugate)


def _pinball(gamma: Any) -> Any:
    """The pinball loss smoothed by γ."""

    def of(loss: Any) -> Any:
        tau, g = mp.mpf(loss.quantile), mp.mpf(gamma(loss))

        def value(z: Any, y: Any) -> Any:
            p = min(max((z - y) / g, -tau), 1 - tau)
            return p * (z - y) - g * p**2 / 2

        def conjugate(a: Any, y: Any) -> Any:
            moved = _inside(a, tau - 1, tau)
            return mp.inf if moved is None else g * moved**2 / 2 - moved * y

        return value, conjugate

    return of


def _poisson(loss: Any) -> Any:
    def conjugate(a: Any, y: Any) -> Any:
        q = y - a
        if q < -EDGE * max(1, y):
            return mp.inf
        q = max(q, mp.mpf(0))
        return _entropy(q) - q - _entropy(y) + y

    return lambda z, y: mp.exp(z) - y * z + _entropy(y) - y, conjugate


def _gamma(loss: Any) -> Any:
    def conjugate(a: Any, y: Any) -> Any:
        if a < -1 - EDGE:
            return mp.inf
        a = max(a, mp.mpf(-1))
        return _entropy(1 + a) - a * (1 + mp.log(y))

    return lambda z, y: z + y * mp.exp(-z) - mp.log(y) - 1, conjugate


FORMULAS: dict[str, Any] = {
    "Pinball": _pinball(lambda loss: 1e-300),
    "SmoothedPinball": _pinball(lambda loss: loss.smoothing),
    "Poisson": _poisson,
    "Gamma": _gamma,
    "Squared": _squared,
    "Logistic": _logistic,
    "SquaredHinge": _squared_hinge,
    "SmoothedHinge": _smoothed_hinge,
    "Hinge": _hinge,
    "ModifiedHuber": _modified_huber,
    "Huber": _huber,
    "SquaredEpsilonInsensitive": _squared_insensitive,
    "SmoothedEpsilonInsensitive": _insensitive(lambda loss: loss.smoothing),
    "EpsilonInsensitive": _insensitive(lambda loss: 1e-300),
    "LogCosh": _log_cosh,
    "Probit": _probit,
}
