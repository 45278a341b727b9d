"""
Tall and dense: a long table with few columns
=============================================

Fifty thousand rows, thirty numeric columns. Coordinate descent would walk through the table again and
again; Newton's method needs a matrix of 30 × 30 and a handful of steps.
"""

# %%
# Columns that are related to each other, as those of real tables are.
import matplotlib.pyplot as plt
import numpy as np

from primaldual import Problem, advise, solve

rng = np.random.default_rng(0)
mixing = rng.standard_normal((30, 30)) + 3 * np.eye(30)
X = rng.standard_normal((50_000, 30)) @ mixing
y = np.where(X @ rng.standard_normal(30) / 10 + rng.logistic(size=50_000) > 0, 1.0, -1.0)
problem = Problem(X, y, loss="logistic", lam=1e-5, fit_intercept=True)

# %%
# What will be done, and what the other side would take.
print(advise(problem).verdict.evidence)
result = solve(problem, tol=1e-10)
print(result)

# %%
# The work for every further digit, in passes. A step of Newton's method counts as up to four, for its
# matrix of second derivatives, and is worth it.
targets = 10.0 ** -np.arange(11)
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for method, colour in (("newton", "#2f7fc1"), ("dual_cd", "#d9701e")):
    runs = [solve(problem, method, tol=tol, max_passes=400, seed=0) for tol in targets[1::2]]
    passes = [0.0] + [run.passes for run in runs if run.converged]
    axes.semilogy(passes, [1.0, *targets[1::2]][: len(passes)], "o-", color=colour, markersize=3,
                  label=f"{method}: {len(passes) - 1} of {len(runs)} targets reached")  # fmt: skip
axes.set(xlabel="passes over the data", ylabel="certified relative gap", xlim=(0, None))
axes.legend(frameon=False)
plt.show()
