"""
Several classes: handwritten digits
===================================

The softmax loss is one problem for all ten classes, with one certificate.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix

from primaldual import LogisticRegression

X, y = load_digits(return_X_y=True)
X = X / 16
train, test = slice(0, 1_200), slice(1_200, None)
model = LogisticRegression(C=0.3).fit(X[train], y[train])
print(f"accuracy {model.score(X[test], y[test]):.3f}, certified gap {model.dual_gap_:.1e}")

# %%
# What speaks for each digit (blue) and against it (orange).
figure, axes = plt.subplots(2, 5, figsize=(7, 3.2), layout="constrained")
most = np.abs(model.coef_).max()
for digit, panel in enumerate(axes.flat):
    image = model.coef_[digit].reshape(8, 8)
    panel.imshow(image, cmap="PuOr", vmin=-most, vmax=most)
    panel.set_title(str(digit), fontsize=10)
    panel.axis("off")
plt.show()

# %%
# Which digits are taken for which, in the 597 held out.
print(confusion_matrix(y[test], model.predict(X[test])))
