"""
Take the model elsewhere: scikit-learn, ONNX, a file
====================================================

A fitted model is a few arrays. It can be written to a file that is data and not a program, turned into
scikit-learn's own class, and from there into whatever that can be turned into.
"""

# %%
import importlib.util
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from primaldual import LogisticRegression, load

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
model = LogisticRegression(C=0.1).fit(X, y)
model

# %%
# A file without pickle: a header in JSON, raw numbers, a checksum. Loading one runs no code.
place = Path(tempfile.mkdtemp()) / "cancer.model"
model.save(place)
again = load(place)
print(place.stat().st_size, "bytes;", "same bits:", np.array_equal(again.coef_, model.coef_))

# %%
# scikit-learn's class with the same coefficients, for tools that know only those.
theirs = model.to_sklearn()
print(type(theirs).__module__, "-", np.abs(theirs.predict_proba(X) - model.predict_proba(X)).max())

# %%
# ONNX through ``skl2onnx``, where that is installed: it takes scikit-learn's class as it is.
if importlib.util.find_spec("skl2onnx"):
    from skl2onnx import to_onnx

    print(len(to_onnx(theirs, X[:1]).SerializeToString()), "bytes of ONNX")
else:
    print("pip install skl2onnx; then: to_onnx(model.to_sklearn(), X[:1])")

# %%
# The probabilities of both classes, the same from all of these.
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for label, colour in ((0, "#d9701e"), (1, "#2f7fc1")):
    shares = again.predict_proba(X[y == label])[:, 1]
    axes.hist(shares, bins=30, range=(0, 1), alpha=0.7, color=colour,
              label=("malignant", "benign")[label])  # fmt: skip
axes.set(xlabel="probability of benign", ylabel="patients")
axes.legend(frameon=False)
plt.show()
