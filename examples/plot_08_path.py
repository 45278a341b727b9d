"""
Which λ? A path and its cross-validation
========================================

Every strength from nearly nothing to nearly everything, each solution started from the ones before.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from primaldual import RidgeCV, path

X, y = load_diabetes(return_X_y=True, as_frame=True)
names, X, y = list(X.columns), scale(X), scale(y)
lams = np.logspace(2, -4, 25)
results = path(X, y, lams=lams, loss="squared")
print(
    "largest certified gap of the path:", f"{max(r.certificate.relative_gap for r in results):.0e}"
)

# %%
# Leave-one-out, exactly, from one decomposition for all strengths.
model = RidgeCV(alphas=lams * len(y)).fit(X, y)
best = model.alpha_ / len(y)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
coefficients = np.array([result.w for result in results])
for k, name in enumerate(names):
    axes.semilogx(lams, coefficients[:, k], label=name)
axes.axvline(best, color="grey", linestyle=":")
axes.annotate("best by leave-one-out  ", (best, coefficients.min()), color="grey", ha="right")
axes.invert_xaxis()
axes.set(xlabel="λ, weaker to the right", ylabel="coefficient")
axes.legend(frameon=False, ncols=2, fontsize=8)
plt.show()
