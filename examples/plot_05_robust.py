"""
Robust regression: some measurements are wrong
==============================================

Least squares listens most to what is furthest off. The Huber loss is quadratic for small errors and
linear for large ones, and here its scale is fitted as well.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from primaldual import HuberRegressor, LinearSVR, Ridge

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 10, 120))
y = 2.0 * x + 1 + rng.standard_normal(120)
wrong = rng.choice(np.flatnonzero(x > 6), 14, replace=False)
y[wrong] -= rng.uniform(15, 30, 14)
X = x[:, None]

# %%
# Three losses, one line each. The truth has slope 2.
fits = {
    "squared (Ridge)": Ridge(alpha=1e-3),
    "Huber, with its scale": HuberRegressor(epsilon=1.35, alpha=1e-3),
    "ε-insensitive (LinearSVR)": LinearSVR(C=10.0, epsilon=0.5),
}
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(x, y, ".", color="grey", label="measured")
for (name, model), colour in zip(fits.items(), ("#d9701e", "#2f7fc1", "#4c9f70"), strict=True):
    model.fit(X, y)
    axes.plot(x, model.predict(X), color=colour, label=f"{name}: slope {model.coef_.item():.2f}")
    print(f"{name:28} slope {model.coef_.item():.3f}   certified gap {model.dual_gap_:.1e}")
axes.set(xlabel="x", ylabel="y")
axes.legend(frameon=False)
plt.show()
