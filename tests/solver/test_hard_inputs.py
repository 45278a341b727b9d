"""Inputs on which solvers fail silently: each ends certified, or says how far off it is.

The optimum of every problem here is computed again in 60-digit arithmetic (more where the data
spans more), by Newton's method with its own certificate, and the solver's claims are held
against it: P(w) − P* is never above the gap it reports, and D is never above P*.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from primaldual import Problem, Status, solve

N, D = 40, 4


def data():
    rng = np.random.default_rng(0)
    base = rng.standard_normal((N, D))
    scores = base @ np.array([1.0, -2.0, 0.5, 0.0])
    labels = np.where(scores + rng.standard_normal(N) > 0, 1.0, -1.0)
    targets = scores + 0.1 * rng.standard_normal(N)
    return base, labels, targets, rng


def inputs():
    """name → (X, λ, options): what is hard about each is in its name."""
    base, _, _, rng = data()
    huge, clock, mixed = base.copy(), base.copy(), base * [1e-6, 1.0, 1e6, 1e-3]
    huge[:, 0] *= 1e8
    clock[:, 1] = 1.7e9 + 1e5 * rng.random(N)
    hilbert = 1 / (np.arange(N)[:, None] / 10 + np.arange(D) + 1)
    doubled = np.c_[base, base, base[:, :1] * (1 + 1e-12)]
    heavy = np.r_[1e8, np.ones(N - 1)]
    wide = rng.standard_normal((N, D)).T.repeat(3, axis=0) * np.geomspace(1e-4, 1e4, N)
    return {
        "a column of size 1e8": (huge, 1e-3, {}),
        "a Unix time": (clock, 1e-3, {}),
        "a Unix time and an intercept": (clock, 1e-3, {"fit_intercept": True}),
        "Hilbert-like": (hilbert, 1e-8, {}),
        "duplicated columns": (doubled, 1e-6, {}),
        "columns of all sizes": (mixed, 1e-6, {}),
        "lambda 1e-12": (base, 1e-12, {}),
        "lambda 1e-8 and an intercept": (base, 1e-8, {"fit_intercept": True}),
        "lambda 1e4": (base, 1e4, {}),
        "lambda 1e12": (base, 1e12, {}),
        "values of size 1e-150": (base * 1e-150, 1e-2, {}),
        "values of size 1e-30": (base * 1e-30, 1e-2, {}),
        "values of size 1e30": (base * 1e30, 1e-2, {}),
        "values of size 1e150": (base * 1e150, 1e-2, {}),
        "one example of weight 1e8": (base, 1e-4, {"sample_weight": heavy}),
        "more columns than rows, of all sizes": (wide, 1e-4, {}),
    }


# Here Σ α_j x_j/(λn) cancels from 1e30 to 1e-30: no dual value can be had in double precision.
BEYOND_DOUBLE = {"values of size 1e30", "values of size 1e150"}
CASES = [
    (name, loss, separable)
    for name in inputs()
    for loss in ("logistic", "squared", "squared_hinge")
    for separable in ((False, True) if name.startswith("lambda 1e-") else (False,))
    if not (separable and loss == "squared")
]


def problem_of(name, loss, separable):
    base, labels, targets, _ = data()
    X, lam, options = inputs()[name]
    y = targets if loss == "squared" else np.where(base[:, 0] > 0, 1.0, -1.0)
    if loss != "squared" and not separable:
        y = labels
    return X, y[: len(X)], lam, options


# --------------------------------------------------------------------------------------------
# The optimum in many digits


def pieces(loss, z, y):
    """φ, φ' and φ'' of one example."""
    if loss == "squared":
        return (z - y) ** 2 / 2, z - y, mp.mpf(1)
    if loss == "squared_hinge":
        short = max(mp.mpf(0), 1 - y * z)
        return short**2 / 2, -y * short, mp.mpf(1 if short > 0 else 0)
    e = mp.exp(-abs(z))
    s = (e if y * z > 0 else mp.mpf(1)) / (1 + e)  # σ(−m)
    return mp.log1p(e) + max(mp.mpf(0), -y * z), -y * s, e / (1 + e) ** 2


class Exact:
    """P, its gradient and Hessian in w (and b), in mpmath's precision."""

    def __init__(self, X, y, loss, lam, sample_weight=None, fit_intercept=False):
        self.X = [[mp.mpf(float(x)) for x in row] + [mp.mpf(1)] * fit_intercept for row in X]
        self.y, self.loss = [mp.mpf(float(t)) for t in y], loss
        c = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        total = mp.fsum(mp.mpf(float(t)) for t in c)
        self.c = [mp.mpf(float(t)) / total for t in c]
        free = [mp.mpf(0)] * fit_intercept
        self.ridge = [mp.mpf(lam)] * np.shape(X)[1] + free

    def value(self, v):
        z = [mp.fdot(row, v) for row in self.X]
        loss = mp.fsum(
            c * pieces(self.loss, t, y)[0] for c, t, y in zip(self.c, z, self.y, strict=True)
        )
        return loss + mp.fsum(r * x * x for r, x in zip(self.ridge, v, strict=True)) / 2

    def model(self, v):
        size = len(v)
        gradient = [r * x for r, x in zip(self.ridge, v, strict=True)]
        hessian = mp.diag(self.ridge)
        for row, y, c in zip(self.X, self.y, self.c, strict=True):
            _, first, second = pieces(self.loss, mp.fdot(row, v), y)
            for i in range(size):
                gradient[i] += c * first * row[i]
                for j in range(size if second else 0):
                    hessian[i, j] += c * second * row[i] * row[j]
        return gradient, hessian

    def optimum(self, v):
        """P*, by damped Newton steps from v until the decrement is far below double precision."""
        value = self.value(v)
        for _ in range(200):
            gradient, hessian = self.model(v)
            step = mp.lu_solve(hessian, mp.matrix(gradient))
            decrement = mp.fdot(gradient, list(step))
            if decrement <= mp.mpf(10) ** -40 * value:
                return value - decrement
            length = mp.mpf(1)
            while True:
                trial = [x - length * s for x, s in zip(v, step, strict=True)]
                new = self.value(trial)
                if new <= value - length * decrement / 10:
                    break
                length /= 2
            v, value = trial, new
        raise AssertionError("the reference did not converge")


# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "loss", "separable"),
    CASES,
    ids=[f"{name}, {loss}{', separable' * sep}" for name, loss, sep in CASES],
)
def test_hard_input_ends_certified_or_says_how_far_off_it_is(name, loss, separable):
    X, y, lam, options = problem_of(name, loss, separable)
    problem = Problem(X, y, loss, lam, **options)
    result = solve(problem, tol=1e-8, seed=0, max_time=60)
    proof = result.certificate

    with mp.workdps(700 if "150" in name else 200 if "30" in name else 60):
        exact = Exact(X, y, loss, lam, **options)
        v = [mp.mpf(float(x)) for x in result.w]
        v += [mp.mpf(result.intercept)] * bool(options.get("fit_intercept"))
        value = exact.value(v)
        excess = float(value - exact.optimum(v))
        rounding = 1e-13 * max(float(value), problem.primal_at_zero)
        assert float(value) == pytest.approx(proof.primal, rel=1e-9, abs=rounding)
    assert excess <= proof.gap + rounding  # the proof is one
    if name in BEYOND_DOUBLE:
        assert result.status in (Status.CONVERGED, Status.STALLED, Status.MAX_PASSES)
    else:
        assert result.converged, result
    assert result.converged == (proof.relative_gap <= 1e-8)
