"""
A cluster on one machine
========================

The same call takes Dask arrays: blocks stay where they are, and a fit is a dozen rounds of sums. The
order of the sums depends on the blocks alone, so that two workers and one give the same bits.
"""

# %%
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster

from primaldual import LogisticRegression

rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 20))
y = (X[:, :3].sum(axis=1) + rng.logistic(size=20_000) > 0).astype(int)
dX, dy = da.from_array(X, chunks=(5_000, 20)), da.from_array(y, chunks=5_000)

# %%
# Workers in threads of this process; ``Client("tcp://…")`` leads to a real cluster.
models = {}
for workers in (1, 2):
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=False,
                     dashboard_address=None) as cluster,
        Client(cluster),
    ):  # fmt: skip
        models[workers] = LogisticRegression(C=0.5).fit(dX, dy)
    model = models[workers]
    print(f"{workers} workers: {model.rounds_} rounds, {model.bytes_moved_ / 1e3:.0f} kB moved, "
          f"certified gap {model.dual_gap_:.1e}")  # fmt: skip
print("same bits:", np.array_equal(models[1].coef_, models[2].coef_))

# %%
# The same objective as in memory.
local = LogisticRegression(C=0.5).fit(X, y)
figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
axes.bar(np.arange(20) - 0.2, local.coef_.ravel(), 0.4, color="#2f7fc1", label="in memory")
axes.bar(np.arange(20) + 0.2, models[2].coef_.ravel(), 0.4, color="#d9701e", label="on the cluster")
axes.set(xlabel="feature", ylabel="coefficient")
axes.legend(frameon=False)
plt.show()
