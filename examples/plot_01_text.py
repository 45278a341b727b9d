"""
Text: many words, few in each document
======================================

Documents as rows, words as columns: sparse, wide, and a few words are in most of the nonzeros. One
fit, its certificate, and how the gap fell.
"""

# %%
# Made-up documents with the word frequencies of real ones, and a label for each.
import matplotlib.pyplot as plt
import numpy as np

from primaldual import LogisticRegression, Problem, advise, solve
from primaldual.datasets import labels, zipf_text

X = zipf_text(d=20_000, n=4_000, seed=0)
y = labels(X, seed=1)
train, test = slice(0, 3_000), slice(3_000, None)

# %%
# An estimator as in scikit-learn. Beside the score there is a proof: no other coefficients have an
# objective that is lower by more than ``dual_gap_`` of what a model without any has.
model = LogisticRegression(C=1.0).fit(X[train], y[train])
print(f"accuracy on new documents  {model.score(X[test], y[test]):.3f}")
print(f"certified relative gap     {model.dual_gap_:.1e}")
print(f"side                       {model.side_}")

# %%
# The same problem without the estimator. Advice says what will be done, and why, before it is done.
problem = Problem(X[train], y[train], loss="logistic", lam=1 / 3_000)
advise(problem)

# %%
# What every further digit costs on both sides. A pass reads every nonzero once; without any, at w = 0, the
# relative gap is at most 1.
targets = 10.0 ** -np.arange(13)
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for method, colour in (("primal_cd", "#2f7fc1"), ("dual_cd", "#d9701e")):
    passes = [0.0] + [solve(problem, method, tol=tol, seed=0).passes for tol in targets[1:]]
    axes.semilogy(passes, targets, "o-", color=colour, markersize=3, label=method)
axes.set(xlabel="passes over the data", ylabel="certified relative gap", xlim=(0, None))
axes.legend(frameon=False)
plt.show()
