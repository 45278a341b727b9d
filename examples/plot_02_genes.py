"""
Genes: many more features than examples
=======================================

Seventy patients, seven thousand expression levels. The dual has seventy unknowns, whatever the number
of genes: a Gram matrix of 70 × 70 holds all that the data has to say.
"""

# %%
# Levels that move together in forty pathways, and an illness that depends on some of them.
import matplotlib.pyplot as plt
import numpy as np

from primaldual import LogisticRegressionCV, Problem, solve

rng = np.random.default_rng(0)
pathways = rng.standard_normal((72, 40))
X = pathways @ rng.standard_normal((40, 7_000)) / 6 + rng.standard_normal((72, 7_000))
y = np.where(pathways[:, :5].sum(axis=1) > 0, 1.0, -1.0)

# %%
# ``solve`` takes the small side.
result = solve(Problem(X, y, loss="logistic", lam=0.1), tol=1e-10)
result

# %%
# How strong should λ be? Cross-validation on every strength, each fit with its certificate.
model = LogisticRegressionCV(Cs=np.logspace(-6, 0, 7), cv=6).fit(X, y)
scores = np.mean(next(iter(model.scores_.values())) if isinstance(model.scores_, dict)
                 else model.scores_, axis=0).ravel()  # fmt: skip

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.semilogx(model.Cs_, scores, "o-", color="#d9701e")
axes.axhline(max(np.mean(y > 0), np.mean(y < 0)), color="grey", linestyle=":", label="guessing")
axes.set(xlabel="C, weaker regularisation to the right", ylabel="accuracy on held-out patients")
axes.legend(frameon=False)
plt.show()
