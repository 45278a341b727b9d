"""Slow, obviously right versions of what the library computes, and reference values.

The reference instance has d = 4 features, n = 6 examples and λ = 0.1; the gradient at its optima is
zero to 12 decimals.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import optimize, sparse

from primaldual.data.rows import SparseRows
from primaldual.losses import LOSSES
from primaldual.problem import Coordinates, Problem
from primaldual.samplings import Bucket, Distributed, Independent, TauNice

# --- the reference instance -----------------------------------------------------------------------

REFERENCE_LAM = 0.1

_FEATURES = np.array(
    [
        [0, 3, 1, 0, -3, 2],
        [1, -1, 0, 2, 0, 0],
        [-3, 0, 0, -2, 0, 1],
        [0, -2, 3, 0, -1, -3],
    ],
    dtype=float,
)
_TARGETS = {
    "classification": np.array([1.0, -1, 1, -1, 1, -1]),
    "regression": np.array([-1.0, 0, 2, 1, -2, 3]),
}
_PARAMETERS = {
    "smoothed_hinge": {"smoothing": 0.3},
    "huber": {"delta": 0.7},
    "squared_epsilon_insensitive": {"epsilon": 0.2},
    "smoothed_epsilon_insensitive": {"epsilon": 0.2, "smoothing": 0.3},
    "epsilon_insensitive": {"epsilon": 0.2},
}


def reference_instance(kind: str) -> tuple[np.ndarray, np.ndarray, float]:
    """X of shape (6, 4), y and λ; ``kind`` is "classification" or "regression"."""
    return _FEATURES.T.copy(), _TARGETS[kind].copy(), REFERENCE_LAM


def reference_loss(name: str) -> Any:
    """The loss of that name with the parameters that the reference optima belong to."""
    return LOSSES[name](**_PARAMETERS.get(name, {}))


def reference_kind(loss: Any) -> str:
    return "classification" if loss.classification else "regression"


def reference_problem(name: str, **options: Any) -> Problem:
    """The reference instance with the loss ``name``."""
    loss = reference_loss(name)
    X, y, lam = reference_instance(reference_kind(loss))
    if getattr(loss, "targets", "any") != "any":
        y = np.exp(y)
    return Problem(X, y, **{"loss": loss, "lam": lam, **options})


def _optimum(value: float, w: str, alpha: str) -> tuple[float, np.ndarray, np.ndarray]:
    return value, np.array(w.split(), dtype=float), np.array(alpha.split(), dtype=float)


# P* = D*, w*, α*: 12 decimals each, or more.
REFERENCE_OPTIMA: dict[str, tuple[float, np.ndarray, np.ndarray]] = {
    "squared": _optimum(
        0.356191743586,
        "0.725950414721 1.332692796209 0.841479738487 0.136218479295",
        "0.191746419251 -0.572721489364 0.865394147392 0.017573884555 0.31406972346 1.115274869956",
    ),
    "logistic": _optimum(
        0.316721049758,
        "-0.787511581015 -0.663822214039 -0.43823610724 0.779076243604",
        "0.342789882776 -0.037080984677 0.175127124275 -0.389082097938 "
        "0.17030623169 -0.012736211891",
    ),
    "squared_hinge": _optimum(
        0.086540308638,
        "-0.434782608696 -0.758468335788 -0.463917525773 0.434782608696",
        "0.366715758468 0 0.130434782609 -0.410898379971 0.130434782609 0",
    ),
    "smoothed_hinge": _optimum(
        0.113066468159,
        "-0.478468899522 -1.047093252527 -0.631991864013 0.478468899522",
        "0.503725534962 0 0.143540669856 -0.565990743239 0.143540669856 0",
    ),
    # Rational numbers: all sets of bounded coordinates tried, with fractions.
    "hinge": _optimum(21 / 160, "-0.5 -1.25 -0.75 0.5", "0.6 0 0.15 -0.675 0.15 0"),
    "huber": _optimum(
        0.319340450184,
        "0.648991142671 1.106742132115 0.694646685647 0.252501077792",
        "-0.022802075173 -0.335229140312 0.593505623952 0.175809107065 0.199474505804 0.7",
    ),
    "squared_epsilon_insensitive": _optimum(
        0.265295395991,
        "0.737307425455 1.210734636404 0.837106858065 0.140410841276",
        "0.10058593779 -0.520365957409 0.641460050717 0.052744443322 0.152333117641 0.909510814853",
    ),
    "smoothed_epsilon_insensitive": _optimum(
        0.379236548648,
        "0.686519486917 1.18914791969 0.80607249149 0.276565878746",
        "0.096898515928 -0.390929278563 0.945942922815 0.112830478662 0.453747798325 1",
    ),
    "epsilon_insensitive": _optimum(
        17797 / 40500,
        "0.6444444444444444 1.2 0.8 0.26666666666666666",
        "0.07185185185185185 -0.3437037037037037 1 0.15222222222222222 0.5274074074074074 1",
    ),
    "log_cosh": _optimum(
        0.326509280380,
        "0.6828843932 1.216156431609 0.764158473293 0.166257840273",
        "0.076171157128 -0.462102267666 0.674166494052 0.095710217086 "
        "0.211662344732 0.878428989531",
    ),
    "modified_huber": _optimum(
        0.103758373283,
        "-0.46511627907 -0.944625407166 -0.572359236854 0.46511627907",
        "0.455095393206 0 0.139534883721 -0.510935318753 0.139534883721 0",
    ),
    "probit": _optimum(
        0.221347686876,
        "-0.669817009954 -0.813928126111 -0.509603033089 0.666556787278",
        "0.405140532427 -0.01640452656 0.18142349432 -0.454950967327 "
        "0.177871935388 -0.000242157225",
    ),
}


# --- random small problems ------------------------------------------------------------------------


def random_matrix(
    seed: int, n: int, d: int, density: float = 0.5, full_support: bool = False
) -> np.ndarray:
    """A dense (n, d) array with the given share of nonzeros, some rows or columns maybe empty.

    With ``full_support`` every row and every column has a nonzero.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    if full_support:
        for j in np.flatnonzero(~X.any(axis=1)):
            X[j, rng.integers(d)] = 1.0
        for i in np.flatnonzero(~X.any(axis=0)):
            X[rng.integers(n), i] = -1.0
    return X


def random_problem(
    seed: int,
    n: int = 12,
    d: int = 5,
    loss: Any = "logistic",
    lam: float = 0.1,
    density: float = 0.7,
    as_sparse: bool = False,
    **options: Any,
) -> Problem:
    """A small problem whose data and labels depend on ``seed`` only; both classes occur."""
    X = random_matrix(seed, n, d, density)
    rng = np.random.default_rng(seed + 1)
    kind = LOSSES[loss] if isinstance(loss, str) else loss
    y = rng.standard_normal(n)
    if kind.classification:
        y = np.where(y > np.median(y), 1.0, -1.0)
    elif getattr(kind, "targets", "any") != "any":
        y = np.exp(y)
    data = sparse.csr_array(X) if as_sparse else X
    return Problem(data, y, loss=loss, lam=lam, **options)


# --- the objective, by its definition -------------------------------------------------------------


def dense_data(problem: Problem) -> np.ndarray:
    """X as a float64 array of shape (n, d)."""
    rows = problem.matrix.by_example
    if isinstance(rows, SparseRows):
        entries = (rows.values, rows.indices, rows.indptr)
        return sparse.csr_array(entries, shape=problem.matrix.shape).toarray().astype(float)
    return np.array(rows.values, dtype=float)


def primal_value(problem: Problem, w: np.ndarray, intercept: float = 0.0) -> float:
    """P(w) term by term."""
    z = dense_data(problem) @ w + intercept
    terms = zip(problem.sample_weight, z, problem.y, strict=True)
    total = sum(c * problem.loss.value(t, y) for c, t, y in terms)
    return float(total / problem.n + 0.5 * problem.lam * w @ w)


def dual_value(problem: Problem, alpha: np.ndarray) -> float:
    """D(α) term by term, for positive weights and a model without intercept."""
    terms = zip(problem.sample_weight, alpha, problem.y, strict=True)
    total = sum(c * problem.loss.conjugate(a / c, y) for c, a, y in terms)
    Xa = dense_data(problem).T @ alpha
    return float(-(Xa @ Xa) / (2 * problem.lam * problem.n**2) - total / problem.n)


def primal_gradient(problem: Problem, w: np.ndarray, intercept: float = 0.0) -> np.ndarray:
    """∇P(w), the features only."""
    X = dense_data(problem)
    terms = zip(problem.sample_weight, X @ w + intercept, problem.y, strict=True)
    slopes = np.array([c * problem.loss.derivative(t, y) for c, t, y in terms])
    return X.T @ slopes / problem.n + problem.lam * w


def nearest_feasible(problem: Problem, alpha: np.ndarray) -> np.ndarray:
    """The dual feasible point nearest to ``alpha``, example by example."""
    terms = zip(problem.sample_weight, alpha, problem.y, strict=True)
    return np.array([c * problem.loss.nearest_dual(a / c, y) if c else 0.0 for c, a, y in terms])


def _quadratic_program(problem: Problem) -> tuple[np.ndarray, float, float]:
    """The same for the losses with corners, whose dual is a quadratic program with bounds.

    With α = S u it is min ½ uᵀQu + gᵀu over 0 ≤ u ≤ c, and 1ᵀS u = 0 with a free intercept. SciPy
    finds which bounds are met; the others then solve linear equations.
    """
    X, y, c, lam_n = dense_data(problem), problem.y, problem.sample_weight, problem.lam * problem.n
    if problem.loss.classification:
        S, g = np.diag(y), np.full(problem.n, -1.0)
    elif hasattr(problem.loss, "quantile"):
        S, g = np.eye(problem.n), -y
    else:
        epsilon = problem.loss.epsilon
        S, g = np.hstack([np.eye(problem.n), -np.eye(problem.n)]), epsilon - np.concatenate([y, -y])
        c = np.concatenate([c, c])
    Q = S.T @ X @ X.T @ S / lam_n
    sums = S.sum(axis=0)
    low = np.zeros(len(g))  # α = S (u + low): of the pinball loss α_j begins at (τ − 1) c_j
    if hasattr(problem.loss, "quantile"):
        low = (problem.loss.quantile - 1.0) * c
        g = g + Q @ low
    balance = {"type": "eq", "fun": lambda u: sums @ (u + low), "jac": lambda u: sums}
    found = optimize.minimize(
        lambda u: 0.5 * u @ Q @ u + g @ u, 0.3 * c, jac=lambda u: Q @ u + g, method="SLSQP",
        bounds=[(0.0, most) for most in c], constraints=[balance] if problem.fit_intercept else [],
        options={"ftol": 1e-16, "maxiter": 2000},
    )  # fmt: skip
    u = np.clip(found.x, 0.0, c)
    u[u < 1e-5], at_top = 0.0, u > c - 1e-5
    u[at_top] = c[at_top]
    free = (u > 0.0) & ~at_top
    # The least change that makes the slope −b sums at the free ones: u itself may not be unique.
    slope, intercept = (Q @ u + g)[free], 0.0
    A, right = Q[np.ix_(free, free)], -slope
    if problem.fit_intercept:
        intercept = -float((sums[free] * slope).mean())
        A = np.block([[A, sums[free, None]], [sums[free], np.zeros(1)]])
        right = np.append(-slope - intercept * sums[free], -sums @ (u + low))
    change = np.linalg.lstsq(A, right, rcond=1e-11)[0]
    u[free] += change[: free.sum()]
    if problem.fit_intercept:
        intercept += float(change[-1])
    assert ((u >= -1e-12) & (u <= c + 1e-12)).all()
    w = X.T @ (S @ (u + low)) / lam_n
    return w, intercept, primal_value(problem, w, intercept)


def scipy_optimum(problem: Problem) -> tuple[np.ndarray, float, float]:
    """w*, the intercept (0 without one) and P*, by SciPy and a few Newton steps at the end."""
    if not problem.is_smooth:
        return _quadratic_program(problem)
    X, n, lam = dense_data(problem), problem.n, problem.lam
    free = problem.fit_intercept
    A = np.hstack([X, np.ones((n, 1))]) if free else X
    ridge = np.full(A.shape[1], lam)
    if free:
        ridge[-1] = 0.0
    loss, y, c = problem.loss, problem.y, problem.sample_weight

    def each(function: Any, x: np.ndarray) -> np.ndarray:
        return c * np.array([function(t, label) for t, label in zip(A @ x, y, strict=True)])

    def value(x: np.ndarray) -> float:
        return float(each(loss.value, x).mean() + 0.5 * ridge @ (x * x))

    def gradient(x: np.ndarray) -> np.ndarray:
        return A.T @ each(loss.derivative, x) / n + ridge * x

    def hessian(x: np.ndarray) -> np.ndarray:
        return A.T @ (each(loss.second_derivative, x)[:, None] * A) / n + np.diag(ridge)

    found = optimize.minimize(
        value, np.zeros(A.shape[1]), jac=gradient, method="L-BFGS-B", options={"maxiter": 5000}
    )
    x = found.x
    scale = 1e-13 * (1.0 + np.abs(A).max())
    for _ in range(100):
        slope = gradient(x)
        size = np.abs(slope).max()
        if size <= scale:
            break
        step = np.linalg.lstsq(hessian(x), -slope, rcond=None)[0]
        length = 1.0
        while np.abs(gradient(x + length * step)).max() > size and length > 1e-4:
            length /= 2
        if length <= 1e-4:
            break
        x = x + length * step
    assert np.abs(gradient(x)).max() <= 1e-9 * (1.0 + np.abs(A).max()), "SciPy found no optimum"
    return (x[:-1], float(x[-1]), value(x)) if free else (x, 0.0, value(x))


# --- samplings by enumeration ---------------------------------------------------------------------


def subsets(sampling: Any) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every subset a sampling can draw, with its probability; small sizes only."""
    m, p = sampling.size, sampling.probabilities()
    if isinstance(sampling, TauNice):
        chosen = list(itertools.combinations(range(m), sampling.tau))
        yield from ((subset, 1 / len(chosen)) for subset in chosen)
    elif isinstance(sampling, Independent):
        for inside in itertools.product([False, True], repeat=m):
            subset = tuple(i for i in range(m) if inside[i])
            yield subset, float(np.prod(np.where(inside, p, 1 - p)))
    elif isinstance(sampling, Bucket):
        members = [np.flatnonzero(sampling.bucket_of == b) for b in np.unique(sampling.bucket_of)]
        for subset in itertools.product(*members):
            yield tuple(int(i) for i in subset), float(np.prod([p[i] for i in subset]))
    elif isinstance(sampling, Distributed):
        s = sampling.block_size
        choices = [
            list(itertools.combinations(range(b * s, (b + 1) * s), sampling.tau))
            for b in range(sampling.blocks)
        ]
        equal = 1.0 / float(np.prod([len(options) for options in choices]))
        for parts in itertools.product(*choices):
            yield tuple(i for part in parts for i in part if i < m), equal
    else:  # serial
        yield from (((i,), float(p[i])) for i in range(m))


# Draws from which the P of a sampling whose subsets are not known is estimated.
ESTIMATED_FROM = 40_000


def is_enumerated(sampling: Any) -> bool:
    """Whether ``subsets`` knows all that a sampling draws: one of ours, or a serial one."""
    known = isinstance(sampling, TauNice | Independent | Bucket | Distributed)
    return known or (np.diff(sampling.draw(np.random.default_rng(0), 1000).starts) == 1).all()


def pair_probabilities(sampling: Any) -> np.ndarray:
    """P_il = Prob(i and l are both drawn), by enumeration of all subsets or by frequencies."""
    if not is_enumerated(sampling):
        inside = membership(sampling.draw(np.random.default_rng(1), ESTIMATED_FROM), sampling.size)
        return inside.T @ inside / ESTIMATED_FROM
    P = np.zeros((sampling.size, sampling.size))
    for subset, probability in subsets(sampling):
        P[np.ix_(subset, subset)] += probability
    return P


def membership(draws: Any, size: int) -> np.ndarray:
    """How often each step moves each coordinate."""
    inside = np.zeros((draws.steps, size))
    step = np.repeat(np.arange(draws.steps), np.diff(draws.starts))
    np.add.at(inside, (step, draws.coordinates), 1)
    return inside


def eso_tolerance(sampling: Any) -> float:
    """The violation of an ESO that rounding can make, or an estimated P."""
    return 1e-12 if is_enumerated(sampling) else 5 / np.sqrt(ESTIMATED_FROM)


def dense_side(side: Coordinates) -> np.ndarray:
    """The rows of a side times √c_j, with the shared constant entry as one more column."""
    rows = side.rows
    if isinstance(rows, SparseRows):
        entries = (rows.values, rows.indices, rows.indptr)
        A = sparse.csr_array(entries, shape=(side.size, side.width)).toarray().astype(float)
    else:
        A = np.array(rows.values, dtype=float)
    if side.column_weights is not None:
        A = A * np.sqrt(side.column_weights)
    return np.hstack([A, np.full((side.size, 1), np.sqrt(side.constant))])


def eso_violation(side: Coordinates, P: np.ndarray, v: np.ndarray) -> float:
    """How far P∘XXᵀ ⪯ Diag(p∘v) is violated, relative to its size: at most rounding if valid."""
    A = dense_side(side)
    hadamard = P * (A @ A.T)
    bound = np.diag(P) * v
    smallest = np.linalg.eigvalsh(np.diag(bound) - hadamard)[0]
    return float(-smallest / max(bound.max(), np.finfo(float).tiny))
