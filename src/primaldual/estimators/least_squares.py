"""Ridge regression to rounding, by one factorisation on the smaller side.

With Xc the data without its mean (where there is an intercept) and R the roots of the weights,

    (Xcᵀ R² Xc + αI) w = Xcᵀ R² yc          on the features, for d ≤ n,
    (R Xc Xcᵀ R + αI) a = R yc, w = Xcᵀ R a   on the examples, for d > n,

and, without α, the least-squares solution of smallest norm. The systems have the square of the
condition number of X; a step of refinement with the residual of X itself makes up for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from .._types import FloatArray
from ..problem import Problem
from ..result import Progress, Result, Status, Trace

# A factorisation is cheap if its products take at most this many multiplications, about 0.3 s on
# one core of a common machine, and the dense copy has at most this many entries.
MOST_WORK, MOST_ENTRIES = 1e9, 2e7
# Steps of refinement; the first is what counts, the second is for condition numbers above 1e12.
REFINEMENTS = 2


# Below this multiple of the mean eigenvalue of XᵀX/n, λ no longer keeps the systems from being
# singular to rounding: the singular values of X are used, which have twice the digits.
SINGULAR = 1e-8
# Without λ the certificate is that of a λ smaller by this factor than what methods need: here it
# only has to keep rounding apart from the gap.
LESS = 1e-4
# Coefficients whose error is proved to be at most this fraction of their norm are left as they are.
EXACT = 1e-11

Listener = Callable[[Progress], bool] | None


def solved(problems: list[Problem], bare: list[bool], listen: Listener) -> list[Result]:
    """The problems solved by the singular values of their data, without λ where ``bare``."""
    systems: dict[float, LeastSquares] = {}
    results = []
    for given, alone in zip(problems, bare, strict=True):
        problem = given.related(lam=LESS * given.lam) if alone else given
        alpha = 0.0 if alone else problem.lam * problem.n
        if alpha not in systems:
            systems[alpha] = LeastSquares(problem, alpha, decomposed=True)
        w, b = systems[alpha].solve(problem.y)
        proof = _proved(problem, w, b, systems[alpha].residuals(problem.y))
        values = (1.0, 0.0, proof.primal, proof.dual, proof.relative_gap, "newton", 1.0)
        entry = Progress(*values)
        if listen is not None:
            listen(entry._replace(proof=proof))
        made = (proof.w, proof.intercept, proof.alpha, proof, Status.CONVERGED, "auto")
        results.append(Result(*made, Trace([entry]), problem))
    return results


def refined(results: list[Result], tol: float) -> list[Result]:
    """The results, solved again to rounding where they are not proved to be that accurate."""
    systems: dict[float, LeastSquares] = {}
    made = []
    for result in results:
        problem, gap = result.problem, result.certificate.gap
        error = math.sqrt(2.0 * max(gap, 0.0) / problem.lam)
        if result.converged and error > EXACT * float(np.linalg.norm(result.w)):
            if problem.lam not in systems:
                systems[problem.lam] = LeastSquares(problem, problem.lam * problem.n)
            w, b = systems[problem.lam].solve(problem.y)
            proof = _proved(problem, w, b, result.alpha)
            if proof.relative_gap <= tol:
                pair = (proof.w, proof.intercept, proof.alpha, proof)
                result = Result(*pair, result.status, result.method, result.trace, problem)
        made.append(result)
    return made


def is_nearly_singular(problems: list[Problem]) -> bool:
    """Whether a λ is too small for the systems of a factorisation; the data is the same for all."""
    first = problems[0]
    total = float(first.examples.squared_norms.sum())
    return min(problem.lam for problem in problems) * first.n * first.d < SINGULAR * total


def _proved(problem: Problem, w: FloatArray, intercept: float, alpha: FloatArray) -> Any:
    """The best certificate of w: with a given α, with its own, or with 0 if it fits to rounding."""
    points = (alpha, None, np.zeros(problem.n))
    proofs = [problem.certify(w, point, intercept) for point in points]
    return min(proofs, key=lambda proof: proof.gap)


def is_cheap(shape: tuple[int, int]) -> bool:
    """Whether data of this shape is factored in passing."""
    n, d = shape
    return n * d <= MOST_ENTRIES and n * d * min(n, d) <= MOST_WORK


class LeastSquares:
    """One factorisation for all targets that share α."""

    def __init__(self, problem: Problem, alpha: float, decomposed: bool = False) -> None:
        centred = problem.fit_intercept
        dense = np.array(problem.matrix.densified().by_example.values, dtype=np.float64)
        self.root = np.sqrt(problem.sample_weight)
        self.share = self.root**2 / float(self.root @ self.root)
        self.mean = self.share @ dense if centred else np.zeros(dense.shape[1])
        dense -= self.mean
        dense *= self.root[:, None]
        self.rows, self.alpha, self.centred = dense, alpha, centred
        self.factor = None if decomposed else self._factored()
        self.parts = self._decomposed() if self.factor is None else None

    def _factored(self) -> Any:
        """The Cholesky factor of the smaller system; None if rounding made it singular."""
        n, d = self.rows.shape
        wide = d > n
        system = self.rows @ self.rows.T if wide else self.rows.T @ self.rows
        if wide and self.centred:
            # R Xc Xcᵀ R is 0 along the roots of the weights and so is what is asked for:
            # curvature there changes nothing, and keeps the system regular for a tiny α.
            size = float(np.trace(system)) / n
            scale = size / float(self.root @ self.root)
            system += np.multiply.outer(self.root, self.root) * scale
        system.flat[:: len(system) + 1] += self.alpha
        try:
            return linalg.cho_factor(system, lower=True, overwrite_a=True)
        except linalg.LinAlgError:
            return None

    def solve(self, y: FloatArray) -> tuple[FloatArray, float]:
        """The coefficients and the intercept for one column of targets."""
        offset = float(self.share @ y) if self.centred else 0.0
        target = self.root * (y - offset)
        if self.factor is None:
            w = self._by_parts(target)
        elif self.rows.shape[1] <= self.rows.shape[0]:
            w = self._by_features(target)
        else:
            w = self._by_examples(target)
        return w, offset - float(self.mean @ w)

    def residuals(self, y: FloatArray) -> FloatArray:
        """α_j = c_j (y_j − z_j) at the solution, without the cancellation in y − z."""
        assert self.parts is not None
        left, size, _ = self.parts
        target = self.root * (y - float(self.share @ y)) if self.centred else self.root * y
        inside = target @ left
        outside = target - left @ inside
        outside -= left @ (outside @ left)  # once more: the first time leaves rounding inside
        alpha = self.root * (outside + left @ (self.alpha / (size**2 + self.alpha) * inside))
        return np.asarray(alpha - self.share * alpha.sum() if self.centred else alpha)

    def _by_features(self, target: FloatArray) -> FloatArray:
        """w by steps on what is left of its own equations."""
        w = np.zeros(self.rows.shape[1])
        for _ in range(1 + REFINEMENTS):
            left = self.rows.T @ (target - self.rows @ w) - self.alpha * w
            w += linalg.cho_solve(self.factor, left)
        return w

    def _by_examples(self, target: FloatArray) -> FloatArray:
        """w = Xcᵀ R a, by steps on what is left of the equations of a."""
        a = np.zeros(self.rows.shape[0])
        for _ in range(1 + REFINEMENTS):
            left = target - self.rows @ (self.rows.T @ a) - self.alpha * a
            a += linalg.cho_solve(self.factor, left)
        return np.asarray(self.rows.T @ a)

    def _decomposed(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The singular values above rounding, and their vectors."""
        left, size, right = linalg.svd(self.rows, full_matrices=False)
        kept = size > np.finfo(float).eps * max(self.rows.shape) * size.max(initial=0.0)
        return left[:, kept], size[kept], right[kept]

    def _by_parts(self, target: FloatArray) -> FloatArray:
        """The solution by the singular values; without α the one of smallest norm."""
        assert self.parts is not None
        left, size, right = self.parts
        return np.asarray((size / (size**2 + self.alpha) * (target @ left)) @ right)
