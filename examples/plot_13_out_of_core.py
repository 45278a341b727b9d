"""
More data than memory
=====================

Data is written once into shards, rows shuffled on the way, and read part by part. The answer has the same
certificate, and the same bits however much memory there was.
"""

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from primaldual import LogisticRegression, shards
from primaldual.datasets import labels, zipf_text

X = zipf_text(d=3_000, n=6_000, seed=0)
y = labels(X, seed=1)
folder = Path(tempfile.mkdtemp()) / "shards"
shards.write((X, y), folder)
size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
print(f"{size / 1e6:.1f} MB in {sum(1 for _ in folder.iterdir())} entries")

# %%
# A fit that may keep 1 MB of data in memory, and one that may keep all of it.
models = {}
for name, memory in (("1 MB", 1e6), ("all", 1e9)):
    models[name] = LogisticRegression(C=1.0).fit(shards.open(folder, memory=memory), None)
    print(f"{name:5} {models[name].rounds_} rounds, certified gap {models[name].dual_gap_:.1e}")
one, other = models.values()
print("same bits:", np.array_equal(one.coef_, other.coef_))

# %%
# A round reads all shards once. This is how few it takes for how many digits.
targets = (1e-2, 1e-4, 1e-6, 1e-8)
data = shards.open(folder, memory=1e9)
rounds = [LogisticRegression(C=1.0, tol=tol).fit(data, None).rounds_ for tol in targets]
figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
axes.bar([f"{tol:.0e}" for tol in targets], rounds, color="#2f7fc1")
axes.set(xlabel="certified relative gap asked for", ylabel="rounds over the data")
plt.show()
