"""
The race: primal against dual
=============================

The paper's two methods, one feature at a time and one example at a time, on two matrices of the same
shape with the same number of nonzeros. What differs is where the nonzeros are.
"""

# %%
import matplotlib.pyplot as plt

from primaldual import Problem, advise, faceoff
from primaldual.datasets import labels, worst_case

n = 200
cases = {
    "a few heavy features": worst_case(n, n, "primal"),
    "a few heavy examples": worst_case(n, n, "dual"),
}

# %%
# Predicted before, measured after.
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained", sharey=True)
for (name, X), panel in zip(cases.items(), axes, strict=True):
    problem = Problem(X, labels(X, seed=0), loss="logistic", lam=1 / n)
    theory = advise(problem).theory
    outcome = faceoff(problem, tol=1e-6, max_passes=3000)
    print(f"{name}: the bound says {theory.side}, {outcome.winner} won")
    for method, colour in (("nsync", "#2f7fc1"), ("quartz", "#d9701e")):
        trace = outcome.results[method][0].trace
        panel.semilogy(trace.passes, trace.relative_gap, color=colour, label=method)
    panel.set(title=name, xlabel="passes over the data")
axes[0].set_ylabel("certified relative gap")
axes[0].legend(frameon=False)
plt.show()
