"""A table in odd units: scikit-learn's default and ours, as it is and scaled.

    python -m benchmarks.story

A hundred thousand customers: a year of birth, an income, a share, a rate and six scores. Both fit
``LogisticRegression`` with its defaults, on the columns as they are and on columns of mean 0 and
variance 1. The seconds are processor time, the least of three runs, one thread. "Too high" is how
far the objective is above the least that is known, relative to what a model without features has
above it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from primaldual import LogisticRegression

N = 100_000
REPEATS = 3
HEAD = ("columns", "LogisticRegression()", "CPU time", "objective too high by", "says")


def customers(n: int = N) -> tuple[Any, Any]:
    """The table, and who bought: years, incomes in tens of thousands, rates below 1 %."""
    rng = np.random.default_rng(0)
    X = np.column_stack([
        rng.integers(1950, 2006, n), rng.lognormal(10.5, 0.6, n), rng.uniform(0, 1, n),
        rng.exponential(3e-3, n), rng.normal(0, 1, (n, 6)),
    ])  # fmt: skip
    signal = 0.04 * (X[:, 0] - 1978) + 2 * (X[:, 2] - 0.5) + X[:, 4]
    return X, (signal + rng.logistic(size=n) > 0).astype(int)


def objective(model: Any, X: Any, y: Any) -> float:
    """What both minimise, with C = 1."""
    z = np.where(y == 1, 1.0, -1.0) * (X @ model.coef_.ravel() + model.intercept_)
    return float(np.logaddexp(0, -z).sum() + 0.5 * (model.coef_**2).sum())


def fitted(make: Callable[[], Any], X: Any, y: Any) -> tuple[Any, float, bool]:
    """A model, processor seconds, and whether it warned that it had not converged."""
    least, model, has_warned = np.inf, None, False
    for _ in range(REPEATS):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            began = time.process_time()
            model = make().fit(X, y)
            least = min(least, time.process_time() - began)
        has_warned = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    return model, least, has_warned


def rows(n: int = N) -> list[tuple[str, ...]]:
    """The lines of the table."""
    X, y = customers(n)
    nothing = -n * float(sum(p * np.log(p) for p in (y.mean(), 1 - y.mean())))
    LogisticRegression().fit(X[:1000], y[:1000])  # compiles, if need be
    found = []
    for name, data in (("as they are", X), ("scaled", scale(X))):
        least = objective(LogisticRegression(tol=1e-12, max_iter=None).fit(data, y), data, y)
        for who, make in (("scikit-learn", Theirs), ("primaldual", LogisticRegression)):
            model, seconds, has_warned = fitted(make, data, y)
            excess = max(objective(model, data, y) - least, 0.0) / (nothing - least)
            says = "warns: no convergence" if has_warned else "nothing"
            if who == "primaldual":
                says = f"certified: at most {model.dual_gap_:.0e}"
            low = f"{excess:.0e}" if excess > 1e-12 else "< 1e-12"
            found.append((name, who, f"{1e3 * seconds:.0f} ms", low, says))
    return found


def main() -> None:
    """Print the table."""
    with threadpool_limits(1):
        for row in (HEAD, ("---",) * len(HEAD), *rows()):
            print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
