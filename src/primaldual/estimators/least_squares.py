"""Ridge regression to rounding, by one factorisation on the smaller side for all its targets.

With the weights C = Diag(c) and R their roots,

    (Xᵀ C X + λn I) w + b Xᵀc = Xᵀ C y,  cᵀ(X w + b − y) = 0        on the features, for d ≤ n,
    (R X Xᵀ R + λn I) a + b r = R y,  rᵀa = 0,  w = Xᵀ R a          on the examples, for d > n.

The systems have the square of the condition number of X; steps of refinement with the residual of X
itself make up for it. Where λ is too small for that, or zero, the singular values of X are used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from .._types import FloatArray
from ..data.columns import times, transposed_times
from ..methods.engine.second_order import cholesky_solver
from ..problem import Problem
from ..result import Progress, Result, Status, Trace
from .solving import Request, solve_one

# A factorisation is cheap if its products take at most this many multiplications, about 0.3 s on
# one core of a common machine, and the data has at most this many entries.
MOST_WORK, MOST_ENTRIES = 1e9, 2e7
# The same for singular values, which take ten times as long.
MOST_WORK_DECOMPOSED = 1e8
# Steps at most; the second leaves a relative error of about 1e-13, more are for means that are far
# larger than deviations.
STEPS = 6
# The last step was below this fraction of w: what is left is rounding.
EXACT = 1e-11

# Below this multiple of the mean eigenvalue of XᵀX/n, λ no longer keeps the systems from being
# singular to rounding: the singular values of X are used, which have twice the digits.
SINGULAR = 1e-8
# That is looked at in more detail, by eigenvalues, with this many features at most.
MOST_FEATURES = 300
# Without λ the certificate is that of a λ smaller by this factor than what methods need: here it
# only has to keep rounding apart from the gap.
LESS = 1e-4

Listener = Callable[[Progress], bool] | None


class Point(NamedTuple):
    """A solution."""

    w: FloatArray
    intercept: float
    # α_j = c_j (y_j − z_j), as good as that at w: the gap has the square of its distance.
    alpha: FloatArray


class Exact:
    """Solves the problems of one fit, which share their data; those that share λ, by one matrix."""

    def __init__(self, problems: list[Problem], bare: list[bool]) -> None:
        self.problems = problems
        self.bare = {id(problem) for problem, alone in zip(problems, bare, strict=True) if alone}
        self.decomposed = bool(self.bare) or _is_nearly_singular(problems)
        self.points: dict[int, Point | None] = {}

    def solve_one(
        self, problem: Problem, request: Request, seed: Any, deadline: float | None,
        start: Any = None, listen: Listener = None,
    ) -> Result:  # fmt: skip
        """The solution to rounding; by ``solve`` where that is not to be had this way."""
        if id(problem) not in self.points:
            self._solve_with(problem)
        point, alone = self.points[id(problem)], id(problem) in self.bare
        if alone:
            problem = problem.related(lam=LESS * problem.lam)
        if point is not None:
            proof = _proved(problem, point, self.decomposed)
            if proof.relative_gap <= request.tol or alone:
                method = "gram_newton" if problem.d > problem.n else "newton"
                return _result(problem, proof, method, listen)
        return solve_one(problem, request, seed, deadline, start, listen)

    def _solve_with(self, problem: Problem) -> None:
        """Solve a problem together with those that share its λ."""
        same = [other for other in self.problems if other.lam == problem.lam]
        Y, points = np.stack([other.y for other in same], axis=1), None
        if not self.decomposed:
            points = (OnExamples if problem.d > problem.n else OnFeatures)(problem).solve(Y)
        if points is None and (self.decomposed or _work(problem) <= MOST_WORK_DECOMPOSED):
            alpha = 0.0 if id(problem) in self.bare else problem.lam * problem.n
            system = SingularValues(problem, alpha)
            points = [system.solve(y) for y in Y.T]
        for k, other in enumerate(same):
            self.points[id(other)] = None if points is None else points[k]


def is_cheap(shape: tuple[int, int]) -> bool:
    """Whether data of this shape is factored in passing."""
    n, d = shape
    return n * d <= MOST_ENTRIES and n * d * min(n, d) <= MOST_WORK


def _work(problem: Problem) -> float:
    return float(problem.n) * problem.d * min(problem.n, problem.d)


def _is_nearly_singular(problems: list[Problem]) -> bool:
    """Whether a λ is too small for the systems of a factorisation; the data is the same for all.

    By the mean eigenvalue, or in units that give all features the same size.
    """
    first, lam = problems[0], min(problem.lam for problem in problems)
    if lam * first.n * first.d >= SINGULAR * first.matrix.squared_norm:
        return False
    if first.d > min(first.n, MOST_FEATURES):
        return True
    matrix, c = first.matrix, first.sample_weight
    system = matrix.gram_of_features(c)
    if first.fit_intercept:
        column = matrix.transposed_times(c)
        system -= np.multiply.outer(column, column) / first.n
    system.flat[:: first.d + 1] += lam * first.n
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(system), np.finfo(float).tiny))
    smallest = linalg.eigvalsh(system * np.multiply.outer(scale, scale), check_finite=False)[0]
    return not smallest >= SINGULAR


def _proved(problem: Problem, point: Point, decomposed: bool) -> Any:
    """The certificate; the best one of those by other α where λ may be next to nothing."""
    alphas: list[Any] = [point.alpha]
    if decomposed:
        alphas += [None, np.zeros(problem.n)]
    proofs = [problem.certify(point.w, alpha, point.intercept) for alpha in alphas]
    return min(proofs, key=lambda proof: proof.gap)


def _result(problem: Problem, proof: Any, method: str, listen: Listener) -> Result:
    """What ``solve`` would return, with one entry in its trace."""
    entry = Progress(1.0, 0.0, proof.primal, proof.dual, proof.relative_gap, method, 1.0)
    if listen is not None:
        listen(entry._replace(proof=proof))
    made = (proof.w, proof.intercept, proof.alpha, proof, Status.CONVERGED, "auto")
    return Result(*made, Trace([entry]), problem)


class OnFeatures:
    """The system of size d, and what belongs to the intercept."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.lam_n = problem, problem.lam * problem.n
        matrix, c = problem.matrix, problem.sample_weight
        self.solver = cholesky_solver(matrix.gram_of_features(c), self.lam_n)
        if problem.fit_intercept:
            self.column = matrix.transposed_times(c)
            self.back = self.solver(self.column)
            self.pivot = problem.n - float(self.column @ self.back)

    def solve(self, Y: FloatArray) -> list[Point] | None:
        """The solutions for all columns of targets, None if the steps do not end."""
        p, c = self.problem, self.problem.sample_weight[:, None]
        W, b, first = np.zeros((p.d, Y.shape[1])), np.zeros(Y.shape[1]), -c * Y
        for step in range(STEPS):
            if step:
                first = c * (_times(p.matrix, W) + b - Y)
            delta = self.solver(-_transposed_times(p.matrix, first) - self.lam_n * W)
            if p.fit_intercept and self.pivot > 0:
                shift = -(first.sum(axis=0) + self.column @ delta) / self.pivot
                delta -= np.multiply.outer(self.back, shift)
                b += shift
            W += delta
            if _is_short(delta, W):
                return _points(p, W, b, -first)
        return None


class OnExamples:
    """The system of size n, and what belongs to the intercept."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.lam_n = problem, problem.lam * problem.n
        self.root = np.sqrt(problem.sample_weight)
        gram = problem.matrix.gram_of_examples()
        if problem.is_weighted:
            gram *= self.root
            gram *= self.root[:, None]
        self.solver = cholesky_solver(gram, self.lam_n)
        if problem.fit_intercept:
            self.back = self.solver(self.root)

    def solve(self, Y: FloatArray) -> list[Point] | None:
        """The solutions for all columns of targets, None if the steps do not end."""
        p, root = self.problem, self.root[:, None]
        a, W, b = np.zeros(Y.shape), np.zeros((p.d, Y.shape[1])), np.zeros(Y.shape[1])
        left = root * Y
        for step in range(STEPS):
            if step:
                left = root * (Y - b - _times(p.matrix, W)) - self.lam_n * a
            delta = self.solver(left)
            if p.fit_intercept:
                shift = self.root @ (delta + a) / float(self.root @ self.back)
                delta -= np.multiply.outer(self.back, shift)
                b += shift
            a += delta
            before, W = W, _transposed_times(p.matrix, root * a)
            if _is_short(W - before, W):
                return _points(p, W, b, self.lam_n * root * a)
        return None


def _times(matrix: Any, W: FloatArray) -> FloatArray:
    """X W for one column or several."""
    return matrix.times(W[:, 0])[:, None] if W.shape[1] == 1 else times(matrix, W)


def _transposed_times(matrix: Any, alpha: FloatArray) -> FloatArray:
    """Xᵀ α for one column or several."""
    if alpha.shape[1] == 1:
        return np.asarray(matrix.transposed_times(alpha[:, 0])[:, None])
    return transposed_times(matrix, alpha)


def _points(problem: Problem, W: FloatArray, b: FloatArray, alpha: FloatArray) -> list[Point]:
    """One for each column, with α balanced where there is an intercept."""
    if problem.fit_intercept:
        alpha -= problem.sample_weight[:, None] * (alpha.sum(axis=0) / problem.n)
    return [Point(W[:, k].copy(), float(b[k]), alpha[:, k].copy()) for k in range(W.shape[1])]


def _is_short(step: FloatArray, W: FloatArray) -> bool:
    """Whether what is left to do is rounding, in all columns."""
    short = np.einsum("ik,ik->k", step, step) <= EXACT**2 * np.einsum("ik,ik->k", W, W)
    return bool(short.all())


class SingularValues:
    """The singular values of the centred data above rounding, and their vectors."""

    def __init__(self, problem: Problem, alpha: float) -> None:
        self.alpha, self.centred = alpha, problem.fit_intercept
        dense = np.array(problem.matrix.densified().by_example.values, dtype=np.float64)
        self.root = np.sqrt(problem.sample_weight)
        self.share = self.root**2 / float(self.root @ self.root)
        self.mean = self.share @ dense if self.centred else np.zeros(dense.shape[1])
        dense -= self.mean
        dense *= self.root[:, None]
        left, size, right = linalg.svd(dense, full_matrices=False, overwrite_a=True)
        kept = size > np.finfo(float).eps * max(dense.shape) * size.max(initial=0.0)
        self.left, self.size, self.right = left[:, kept], size[kept], right[kept]

    def solve(self, y: FloatArray) -> Point:
        """The solution; without α the one of smallest norm."""
        left, squares = self.left, self.size**2 + self.alpha
        offset = float(self.share @ y) if self.centred else 0.0
        target = self.root * (y - offset)
        inside = target @ left
        w = np.asarray((self.size / squares * inside) @ self.right)
        # α_j = c_j (y_j − z_j), without the cancellation in y − z.
        outside = target - left @ inside
        outside -= left @ (outside @ left)  # once more: the first time leaves rounding inside
        alpha = self.root * (outside + left @ (self.alpha / squares * inside))
        if self.centred:
            alpha -= self.share * alpha.sum()
        return Point(w, offset - float(self.mean @ w), alpha)
