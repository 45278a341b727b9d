"""The Hessian of a smooth problem at its solution, factored: what was left out, and what varies.

With the rows x̃_j = (x_j, 1), g_j = c_j φ'_j and h_j = c_j φ''_j at the solution, and the penalty
Λ = λn I, 0 for the intercept,

    H = Σ_j h_j x̃_j x̃_jᵀ + Λ,        q_j = x̃_jᵀ H⁻¹ x̃_j.

One Newton step without example j moves its own margin by q_j g_j/(1 − q_j h_j): exact if φ is
quadratic, an approximation otherwise.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .._types import FloatArray
from ..methods.engine.second_order import slopes
from ..problem import Problem
from .left_out import LEAST_FREEDOM, require_room

# Numbers of a block of solved rows held at a time: 8 MB.
BLOCK_ENTRIES = 1_000_000


class Curvature:
    """H at the coefficients w of a problem and their best intercept, by the smaller side of X."""

    def __init__(self, problem: Problem, w: FloatArray, on_features: bool = False) -> None:
        n, d = problem.n, problem.d
        self.problem, self.ridge = problem, problem.lam * n
        self.wide = d > n and not on_features
        side = n if self.wide else d + 1
        require_room(side**2, n * d, (n, d), "the Hessian")
        z = problem.margins(w)
        self.intercept = problem.best_intercept(z)
        self.first, self.second = slopes(problem, z + self.intercept)
        c = problem.sample_weight
        self.squares = np.divide(self.first, c, out=np.zeros(n), where=c > 0) ** 2  # φ'_j²
        self.rows = np.asarray(problem.matrix.densified().by_example.values, dtype=np.float64)
        if not self.wide:
            if problem.fit_intercept:
                self.rows = np.column_stack([self.rows, np.ones(n)])
            self.factor = linalg.cho_factor(self._hessian(), lower=True)

    def _hessian(self) -> FloatArray:
        matrix = self.rows.T @ (self.second[:, None] * self.rows)
        matrix.flat[: self.problem.d * (len(matrix) + 1) : len(matrix) + 1] += self.ridge
        return np.asarray(matrix)

    def leverages(self) -> FloatArray:
        """q_j for every example."""
        if self.wide:
            return self._leverages_by_examples()
        found = np.empty(len(self.rows))
        length = max(BLOCK_ENTRIES // self.rows.shape[1], 1)
        for start in range(0, len(self.rows), length):
            part = slice(start, start + length)
            half = linalg.solve_triangular(self.factor[0], self.rows[part].T, lower=True)
            found[part] = np.einsum("ij,ij->j", half, half)
        return found

    def _leverages_by_examples(self) -> FloatArray:
        """The same from XXᵀ: K − K R (I + R K R)⁻¹ R K with K = XXᵀ/λn and R² = Diag(h)."""
        kernel = self.rows @ self.rows.T / self.ridge
        root = np.sqrt(self.second)
        inner = root[:, None] * kernel * root
        inner.flat[:: len(inner) + 1] += 1.0
        half = linalg.solve_triangular(
            linalg.cholesky(inner, lower=True), root[:, None] * kernel, lower=True
        )
        found = np.diag(kernel) - np.einsum("ij,ij->j", half, half)
        if self.problem.fit_intercept:  # the border of H
            along = kernel @ self.second - half.T @ (half @ self.second)
            found = found + (1.0 - along) ** 2 / float(self.second @ (1.0 - along))
        return np.asarray(found)

    def shifts(self) -> FloatArray:
        """By how much each example's margin moves when it is left out; 0 for those of weight 0."""
        share = self.leverages()
        freedom = np.maximum(1.0 - share * self.second, LEAST_FREEDOM)
        return np.asarray(share * self.first / freedom)

    def freedom(self) -> float:
        """The effective number of parameters, Σ_j q_j h_j."""
        return float(self.leverages() @ self.second)

    def covariances(self) -> tuple[FloatArray, FloatArray]:
        """H⁻¹, and the sandwich H⁻¹ (Σ_j c_j φ'_j² x̃_j x̃_jᵀ) H⁻¹, in units of mean weight 1.

        A weight of 2 counts as two equal examples.
        """
        size = self.rows.shape[1]
        inverse = linalg.cho_solve(self.factor, np.eye(size))
        meat = self.rows.T @ ((self.problem.sample_weight * self.squares)[:, None] * self.rows)
        return np.asarray(inverse), np.asarray(inverse @ meat @ inverse)
