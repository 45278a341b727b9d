"""
A loss of your own: three functions and a constant
==================================================

The conjugate and the dual step are found numerically, so that a loss of your own has the same
certificate as those that come with the library.
"""

# %%
# A price for forecasts where too little costs three times as much as too much: a smooth quantile loss.
import math

import matplotlib.pyplot as plt
import numpy as np

from primaldual import Problem, solve


class SmoothQuantile:
    """Two slopes, 0.75 below and 0.25 above, joined smoothly over a width of about one."""

    smoothness = 0.25  # β, a Lipschitz constant of the derivative

    def value(self, z, y):
        """With r = z − y: log(1 + exp(r)) − 0.75 r."""
        r = z - y
        return max(r, 0.0) + math.log1p(math.exp(-abs(r))) - 0.75 * r

    def derivative(self, z, y):
        """Between −0.75 and 0.25."""
        r = z - y
        return 1 / (1 + math.exp(-r)) - 0.75 if r > -500 else -0.75

    def second_derivative(self, z, y):
        """At most a quarter."""
        s = 1 / (1 + math.exp(-abs(z - y)))
        return s * (1 - s)


# %%
# The noise grows with x: the line that three quarters of the points stay below is steeper than the mean.
rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 400)
y = 3 * x + x * rng.standard_normal(400)
X = x[:, None]
problems = {
    "my loss": Problem(X, y, loss=SmoothQuantile(), lam=1e-6, fit_intercept=True),
    "squared": Problem(X, y, loss="squared", lam=1e-6, fit_intercept=True),
}
grid = np.array([0.0, 10.0])
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.plot(x, y, ".", color="grey", markersize=3)
for (name, problem), colour in zip(problems.items(), ("#d9701e", "#2f7fc1"), strict=True):
    result = solve(problem, tol=1e-9, seed=0)
    below = np.mean(y < X @ result.w + result.intercept)
    axes.plot(grid, grid * result.w + result.intercept, color=colour,
              label=f"{name}: {below:.0%} of the points lie below")  # fmt: skip
    print(f"{name:8}  certified gap {result.certificate.relative_gap:.1e}")
axes.set(xlabel="x", ylabel="y")
axes.legend(frameon=False)
plt.show()
