"""primaldual as a solver of benchopt's ``benchmark_logreg_l2``: copy it to ``solvers/`` there.

The objective of that benchmark is Σ_j log(1 + exp(−y_j ⟨x_j, β⟩)) + (lmbd/2) ‖β‖², a sum where
ours is a mean: λ = lmbd/n.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primaldual import Problem, solve

try:
    from benchopt import BaseSolver
except ImportError:  # the class can be read and tested without benchopt
    BaseSolver = object

# benchopt's tolerances start loose and go to 0; below this a gap is rounding error.
SMALLEST_GAP = 1e-15


class Solver(BaseSolver):
    """``solve`` with its defaults; the set-up of ``Problem`` is timed."""

    name = "primaldual"
    sampling_strategy = "tolerance"
    install_cmd = "conda"
    requirements = ["pip::primaldual"]
    references = [
        "D. Csiba and P. Richtárik, 'Coordinate Descent Face-Off: Primal or Dual?', 2016."
    ]

    def set_objective(self, X: Any, y: Any, lmbd: float, fit_intercept: bool = False) -> None:
        """Keep the data, and compile what a run needs."""
        self.X, self.y, self.lmbd, self.fit_intercept = X, y, lmbd, fit_intercept
        self.run(1e-2)

    def run(self, tolerance: float) -> None:
        """Train to the given relative duality gap."""
        problem = Problem(
            self.X,
            self.y,
            loss="logistic",
            lam=self.lmbd / self.X.shape[0],
            fit_intercept=self.fit_intercept,
        )
        self.result = solve(problem, tol=max(tolerance, SMALLEST_GAP), seed=0)

    def get_result(self) -> dict[str, Any]:
        """The coefficients, with the intercept last if there is one."""
        w = self.result.w
        return {"beta": np.append(w, self.result.intercept) if self.fit_intercept else w}
