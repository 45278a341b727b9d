"""
Resume after a kill
===================

A long fit saves itself now and then. Killed and run again, it goes on where it was and ends in the same
bits as a run that was never stopped.
"""

# %%
# The run, as a script of its own, slowed down so that there is time to kill it.
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from primaldual import Problem, solve
from primaldual.datasets import labels, zipf_text

SCRIPT = """
import sys, time
from primaldual import Problem, solve
from primaldual.checkpoints import checkpointing
from primaldual.datasets import labels, zipf_text
X = zipf_text(d=2_000, n=1_000, seed=0)
problem = Problem(X, labels(X, seed=1), lam=1e-4)
def slow(progress):
    print(progress.passes, progress.relative_gap, flush=True)
    time.sleep(0.05 if sys.argv[2] == "slow" else 0)
with checkpointing(sys.argv[1], every=0.01) as run:
    print("resumed" if run.resumed else "fresh", flush=True)
    result = solve(problem, "quartz", tol=1e-7, seed=0, callback=slow)
    print("bits", result.w.tobytes().hex()[:64], flush=True)
"""
folder = Path(tempfile.mkdtemp())
script = folder / "run.py"
script.write_text(SCRIPT)


def run(speed, kill_after=None):
    """Its lines; killed, without a chance to clean up, after that many checks."""
    command = [sys.executable, str(script), str(folder / "checkpoint"), speed]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    lines = []
    for line in process.stdout:
        lines.append(line.split())
        if kill_after is not None and len(lines) > kill_after:
            time.sleep(0.1)
            process.send_signal(signal.SIGKILL)
            break
    process.wait(60)
    return lines


# %%
# Killed with SIGKILL, and run again.
first = run("slow", kill_after=12)
second = run("fast")
print("first run:", first[0][0], "- killed after", len(first) - 1, "checks")
print("second run:", second[0][0], "-", second[-1][0], second[-1][1][:16], "…")

X = zipf_text(d=2_000, n=1_000, seed=0)
whole = solve(Problem(X, labels(X, seed=1), lam=1e-4), "quartz", tol=1e-7, seed=0)
print("same bits as without a kill:", whole.w.tobytes().hex()[:64] == second[-1][1])

# %%
# The two runs on one track.
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for lines, colour, name in ((first, "#2f7fc1", "first run, killed"),
                            (second, "#d9701e", "second run")):  # fmt: skip
    checks = np.array([[float(p), float(g)] for p, g in lines[1:] if p != "bits"])
    axes.semilogy(checks[:, 0], checks[:, 1], "o-", color=colour, markersize=3, label=name)
axes.set(xlabel="passes over the data", ylabel="certified relative gap")
axes.legend(frameon=False)
plt.show()
