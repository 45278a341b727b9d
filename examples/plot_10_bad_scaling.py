"""
Columns in odd units, and what the advice says
==============================================

A table with a year, an income and a share side by side. Most solvers are slow there, and stop early;
scaling the columns helps all of them. A certificate tells which answers to believe.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import scale

from primaldual import LogisticRegression, Problem, advise

rng = np.random.default_rng(0)
n = 3_000
X = np.column_stack([
    rng.integers(1950, 2006, n),          # year of birth
    rng.lognormal(10.5, 0.6, n),          # income
    rng.uniform(0, 1, n),                 # a share
    rng.exponential(3e-3, n),             # a rate
    rng.normal(0, 1, (n, 6)),             # scores
])  # fmt: skip
signal = 0.04 * (X[:, 0] - 1978) + 2 * (X[:, 2] - 0.5) + X[:, 4]
y = (signal + rng.logistic(size=n) > 0).astype(int)


def objective(model, X):
    """The sum of losses and the penalty, for C = 1."""
    signs = np.where(y == 1, 1.0, -1.0)
    z = signs * (X @ model.coef_.ravel() + model.intercept_)
    return np.logaddexp(0, -z).sum() + 0.5 * (model.coef_**2).sum()


# %%
# As it is, and scaled. The last column is how far the objective is above the best known, relative to it.
excess = {}
for name, data in (("as it is", X), ("scaled", scale(X))):
    ours = LogisticRegression(tol=1e-10, max_iter=None).fit(data, y)
    least = objective(ours, data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        theirs = Theirs().fit(data, y)
    for who, model in (("ours", ours), ("scikit-learn", theirs)):
        excess[f"{who},\n{name}"] = max(objective(model, data) / least - 1, 1e-12)
        said = "warned" if who != "ours" and caught else "-"
        print(f"{name:9} {who:13} {said:7} {objective(model, data) / least - 1:9.1e}")
    print(f"{'':9} ours proves {ours.dual_gap_:.1e}")

# %%
# What the library makes of such a table.
print(advise(Problem(X, np.where(y, 1.0, -1.0), lam=1 / n, fit_intercept=True)).verdict.evidence)

figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
axes.bar(list(excess), list(excess.values()), color=["#d9701e", "#8a8f98"] * 2)
axes.set_yscale("log")
axes.set_ylabel("objective above the best")
plt.show()
