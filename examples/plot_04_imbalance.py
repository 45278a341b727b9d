"""
Imbalance: one case in fifty
============================

Where one class is rare, a model that never names it is right 98 times in a hundred. Weights say how much
a missed case costs; they enter the objective, and the certificate, exactly.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, precision_recall_curve

from primaldual import LogisticRegression

rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 8))
score = X[:, :3] @ [1.2, -0.8, 0.6] - 5.2
y = (score + rng.logistic(size=20_000) > 0).astype(int)
train, test = slice(0, 10_000), slice(10_000, None)
print(f"{y.mean():.1%} of the examples are cases")

# %%
# Without weights, with balanced classes, and with a price: a missed case costs ten false alarms.
fits = {
    "no weights": LogisticRegression(),
    "a miss costs ten alarms": LogisticRegression(class_weight={0: 1, 1: 10}),
    "balanced": LogisticRegression(class_weight="balanced"),
}
for name, model in fits.items():
    model.fit(X[train], y[train])
    guess = model.predict(X[test])
    (_, alarms), (missed, found) = confusion_matrix(y[test], guess)
    print(f"{name:24} found {found:4}  missed {missed:4}  false alarms {alarms:5}  "
          f"balanced accuracy {balanced_accuracy_score(y[test], guess):.2f}")  # fmt: skip

# %%
# The weights hardly change which examples come first; they move the threshold along one curve.
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for (name, model), colour in zip(fits.items(), ("#2f7fc1", "#4c9f70", "#d9701e"), strict=True):
    precision, recall, _ = precision_recall_curve(y[test], model.decision_function(X[test]))
    axes.plot(recall, precision, color=colour, linewidth=1)
    guess = model.predict(X[test])
    hits = int((guess & y[test]).sum())
    axes.plot(hits / y[test].sum(), hits / max(guess.sum(), 1), "o", color=colour, label=name)
axes.set(xlabel="found, of all cases", ylabel="cases, of all alarms", xlim=(0, 1), ylim=(0, 1))
axes.legend(frameon=False)
plt.show()
