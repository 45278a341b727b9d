"""The softmax loss: one problem for all classes, and its certificate.

    min_W P(W) = (1/n) Σ_j c_j [ log Σ_k exp(z_jk) − z_j,y_j ] + (λ/2) ‖W‖²_F
    max_α D(α) = −(λ/2) ‖W(α)‖²_F − (1/n) Σ_j c_j Σ_k q_jk ln q_jk

with scores z_jk = ⟨x_j, w_k⟩ + b_k, q_j = e_{y_j} − α_j/c_j in the simplex, and
w_k(α) = (1/(λn)) Σ_j α_jk x_j. Free intercepts b give the dual the constraints Σ_j α_jk = 0.
The gap is the sum of nonnegative terms

    P(W) − D(α) = (1/n) Σ_j c_j KL(q_j ‖ softmax(z_j)) + (λ/2) ‖W − W(α)‖²_F.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np

from .._types import FloatArray
from ..data.columns import times, transposed_times
from ..data.exact import Sum, exact_products
from ..data.matrix import Matrix
from ..losses.sums import compensated_sum
from .certificate import Certificate
from .coordinates import Coordinates
from .intercept import BALANCE_TOLERANCE
from .rounding import (
    CERTIFIED_TOLERANCE,
    Rounding,
    by_products,
    by_rows,
    excess,
    is_small,
)
from .softmax_sums import mean_curvature, softmax_divergence, softmax_dual, softmax_loss

# ∇² of the softmax loss is at most I/2.
SMOOTHNESS = 0.5
# Newton steps to the best intercepts, at most. Ten are usual; many only after a bad start.
MOST_INTERCEPT_STEPS = 200


class Multinomial:
    """A linear model for several classes with the softmax loss.

    Parameters
    ----------
    X : array or SciPy sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Class labels.
    lam : float
        λ > 0, as in ``Problem``.
    sample_weight : array of shape (n_samples,), optional
        Nonnegative weights; only their ratios matter.
    fit_intercept : bool
        Whether the classes have unpenalised intercepts; their sum is 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from primaldual.multinomial import Multinomial, solve_multinomial
    >>> X, y = load_iris(return_X_y=True)
    >>> result = solve_multinomial(Multinomial(X, y, lam=0.01, fit_intercept=True), tol=1e-10)
    >>> result.w.shape, result.converged
    ((3, 4), True)
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        lam: float = 1.0,
        sample_weight: Any = None,
        fit_intercept: bool = False,
    ) -> None:
        if not 0 < lam < np.inf:
            raise ValueError(f"lam must be positive and finite, got {lam!r}.")
        self.matrix = Matrix(X)
        self.n, self.d = self.matrix.shape
        self.lam = float(lam)
        self.fit_intercept = bool(fit_intercept)
        self.classes, self.codes = np.unique(np.asarray(y), return_inverse=True)
        if len(self.codes) != self.n:
            raise ValueError(
                f"y must have {self.n} entries, one per example, got {len(self.codes)}."
            )
        self.sample_weight = _mean_one(sample_weight, self.n)
        self.is_weighted = sample_weight is not None
        self.near = np.zeros(len(self.classes))  # where the search for the best intercepts begins
        self.remembers = False  # whether it begins at the last ones that were found
        present = np.bincount(self.codes, weights=self.sample_weight) > 0
        if len(self.classes) < 2 or (self.fit_intercept and not present.all()):
            raise ValueError(
                "y must have at least two classes, each with a positive weight; got "
                f"{int(present.sum())} of {len(self.classes)} with one. Leave the others out."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of W: (classes, features)."""
        return len(self.classes), self.d

    @property
    def shapes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The shapes of W and α."""
        return self.shape, (self.n, len(self.classes))

    def remembering(self) -> Multinomial:
        """A view for one solve, which begins its searches at the last best intercepts.

        What it remembers is no matter of other solves of the same problem.
        """
        _ = self.features, self.examples  # what they compute is shared
        made = copy.copy(self)
        made.remembers = True
        return made

    def related(self, lam: float) -> Multinomial:
        """The problem with another λ on the same data, which is not copied."""
        made = copy.copy(self)
        made.lam = float(lam)
        for name in ("features", "examples"):
            if name in made.__dict__:
                made.__dict__[name] = made.__dict__[name].related(made.matrix, lam * made.n)
        return made

    @property
    def beta(self) -> float:
        """β, the smoothness of the loss."""
        return SMOOTHNESS

    @property
    def is_smooth(self) -> bool:
        """Whether β is finite."""
        return True

    @cached_property
    def features(self) -> Coordinates:
        """The d coordinates of the primal problem, each a block of one number per class."""
        weights = self.sample_weight if self.is_weighted else None
        return Coordinates(
            self.matrix, "feature", SMOOTHNESS, self.lam * self.n, column_weights=weights
        )

    @cached_property
    def examples(self) -> Coordinates:
        """The n coordinates of the dual problem, each a block of one number per class."""
        weights = self.sample_weight if self.is_weighted else None
        return Coordinates(
            self.matrix, "example", SMOOTHNESS, self.lam * self.n,
            multipliers=weights, has_intercept=self.fit_intercept, classes=len(self.classes),
        )  # fmt: skip

    @property
    def primal_at_zero(self) -> float:
        """P(0) = log K, the unit of the relative gap."""
        return float(np.log(len(self.classes)))

    def relative(self, gap: float) -> float:
        """A gap divided by P(0), the unit of ``tol``."""
        return gap / self.primal_at_zero

    def margins(self, w: FloatArray) -> FloatArray:
        """⟨x_j, w_k⟩ for every example and class, shape (n, K)."""
        return times(self.matrix, np.ascontiguousarray(w.T))

    def primal_point(self, alpha: FloatArray) -> FloatArray:
        """W(α) = (1/(λn)) Σ_j α_j x_jᵀ, shape (K, d)."""
        return transposed_times(self.matrix, alpha).T / (self.lam * self.n)

    def dual_point(self, z: FloatArray) -> FloatArray:
        """α_j = c_j (e_{y_j} − softmax(z_j)), shape (n, K)."""
        return self._dual_at(z, np.zeros(len(self.classes)))[0]

    def _dual_at(self, z: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """The dual point at scores z + b, its sums per class and the sum of all |α_jk|."""
        alpha, sums = np.empty_like(z), np.empty(len(b))
        size = softmax_dual(z, b, self.codes, self.sample_weight, alpha, sums)
        return alpha, sums, float(size)

    def nearest_dual(self, alpha: FloatArray) -> FloatArray:
        """α moved to where every q_j lies in the simplex: negative entries cut off, sums made 1."""
        q = np.maximum(self.probabilities(alpha), 1e-300)
        q /= q.sum(axis=1, keepdims=True)
        moved = -q
        moved[np.arange(self.n), self.codes] += 1.0
        moved *= self.sample_weight[:, None]
        return moved

    def rebalanced(self, alpha: FloatArray) -> FloatArray:
        """α with every class's q_jk scaled by one factor, so that Σ_j α_jk = 0.

        Dual descent with free intercepts meets the constraint only in the limit; this makes its α
        feasible on the way there. The factors are those of the best intercepts for scores ln q.
        """
        if self.balanced(alpha):
            return alpha
        scores = np.log(np.maximum(self.probabilities(alpha), 1e-300))
        return self.dual_point(scores + self.best_intercept(scores))

    def loss(self, z: FloatArray, b: FloatArray | None = None) -> float:
        """(1/n) Σ_j c_j [log Σ_k exp(z_jk) − z_j,y_j], at scores z + b if b is given."""
        shift = np.zeros(len(self.classes)) if b is None else b
        return float(softmax_loss(z, shift, self.codes, self.sample_weight)) / self.n

    def best_intercept(self, scores: FloatArray, start: FloatArray | None = None) -> FloatArray:
        """The b with Σ b_k = 0 that minimises the loss at scores + b; 0 without intercepts.

        Newton's method with steps of bounded length: where the classes are far apart the loss is
        nearly piecewise linear in b, and a plain Newton step is far too long.
        """
        classes = len(self.classes)
        if not self.fit_intercept:
            return np.zeros(classes)
        b = np.zeros(classes) if start is None else start - start.mean()
        value, radius, hessian = self.loss(scores, b), 1.0, np.empty((classes, classes))
        alpha, sums, total = self._dual_at(scores, b)
        for _ in range(MOST_INTERCEPT_STEPS):
            size = float(np.abs(sums).max())
            if size <= 1e-15 * total:
                break
            mean_curvature(alpha, self.codes, self.sample_weight, 1, hessian)
            # The loss does not change along (1, …, 1): any curvature there keeps Σ b_k = 0.
            hessian += max(np.trace(hessian), size) / classes**2
            np.einsum("ii->i", hessian)[:] += size / radius
            step = np.linalg.solve(hessian, sums)
            step -= step.mean()
            moved = self.loss(scores, b + step)
            trial = self._dual_at(scores, b + step)
            # Near the optimum the loss has no digits left to compare; the slope has.
            if moved < value or np.abs(trial[1]).max() < 0.5 * size:
                b, value, radius = b + step, min(moved, value), 4.0 * radius
                alpha, sums, total = trial
            else:
                radius *= 0.25
                if radius < 1e-14 * (1.0 + np.abs(b).max()):
                    break
        return b - b.mean()

    def priors(self) -> FloatArray:
        """The best intercepts at W = 0: the logarithms of the classes' weights, with mean 0."""
        b = np.log(np.bincount(self.codes, self.sample_weight, len(self.classes)))
        return np.asarray(b - b.mean())

    def certify(
        self,
        w: Any = None,
        alpha: Any = None,
        intercept: FloatArray | None = None,
        tol: float = CERTIFIED_TOLERANCE,
    ) -> Certificate:
        """P, D and their gap from scratch, as in ``Problem.certify``."""
        if w is None and alpha is None:
            raise ValueError("certify needs w, alpha or both. Pass at least one of them.")
        w = self.primal_point(alpha) if w is None else np.asarray(w, dtype=np.float64)
        z = self.margins(w)
        if intercept is None:
            intercept = self.best_intercept(z, self.near)
            if self.remembers:
                self.near = intercept
        b = np.asarray(intercept, dtype=np.float64)
        own = alpha is None
        if own:
            alpha = self._dual_at(z, b)[0]
        primal, gap, more = self._proof(w, alpha, b, z, self.primal_point(alpha), own=own)
        if gap < np.inf and not is_small(self, more, gap, tol):
            with np.errstate(over="ignore", invalid="ignore"):
                primal, gap, more = self._exact_proof(w, alpha, b)
        gap = gap + more if gap + more < np.inf else np.inf  # also if it is NaN
        values = (primal, primal - gap, gap, self.relative(gap))
        return Certificate(*values, w, alpha, b)  # type: ignore[arg-type]

    def _proof(
        self,
        w: FloatArray,
        alpha: FloatArray,
        b: FloatArray,
        z: FloatArray,
        point: FloatArray,
        error: Rounding | None = None,
        own: bool = False,
    ) -> tuple[float, float, float]:
        """P, the gap and what rounding may add to it, where z is X Wᵀ and the point is W(α).

        ``own`` says that α is the dual point at these scores: its divergence is 0.
        """
        loss = self.loss(z, b)
        primal = loss + 0.5 * self.lam * float(np.vdot(w, w))
        if not (np.isfinite(primal) and self.balanced(alpha)):
            return primal, np.inf, 0.0
        bracket = 0.0
        if not own:
            there = self._dual_at(z, b)[0]
            bracket = softmax_divergence(alpha, there, self.codes, self.sample_weight) / self.n
        apart = float(np.vdot(w - point, w - point))
        gap = bracket + 0.5 * self.lam * apart
        totals = [compensated_sum(np.ascontiguousarray(column)) for column in alpha.T]
        gap += float(np.abs(b) @ np.abs(totals)) / self.n
        if error is None:
            error = by_rows(self, w, alpha, float(np.abs(b).max()))
        return primal, gap, excess(self, self.beta, bracket, apart, loss, error)

    def _exact_proof(
        self, w: FloatArray, alpha: FloatArray, b: FloatArray
    ) -> tuple[float, float, float]:
        """The same by products in twice the precision."""
        pairs = [
            exact_products(self.matrix, np.ascontiguousarray(w[k]), np.ascontiguousarray(column))
            for k, column in enumerate(alpha.T)
        ]
        z, product = (
            Sum(*(np.stack(part, axis=1) for part in zip(*half, strict=True)))
            for half in zip(*pairs, strict=True)
        )
        error = by_products(self, z, product, float(np.abs(b).max()))
        return self._proof(w, alpha, b, z.value, product.value.T / (self.lam * self.n), error)

    @property
    def slope_range(self) -> float:
        """The length of the interval of all slopes: a probability less 0 or 1."""
        return 1.0

    def probabilities(self, alpha: FloatArray) -> FloatArray:
        """q_j = e_{y_j} − α_j/c_j; e_{y_j} where c_j = 0."""
        c = self.sample_weight[:, None]
        q = -np.divide(alpha, c, out=np.zeros_like(alpha), where=c > 0)
        q[np.arange(self.n), self.codes] += 1.0
        return q

    def balanced(self, alpha: FloatArray) -> bool:
        """Whether Σ_j α_jk = 0 for every class up to rounding, as free intercepts require."""
        if not self.fit_intercept:
            return True
        return bool(np.abs(alpha.sum(axis=0)).max() <= BALANCE_TOLERANCE * np.abs(alpha).sum())


def _mean_one(sample_weight: Any, n: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n)
    weights = np.array(sample_weight, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(f"sample_weight must hold {n} finite nonnegative numbers.")
    if weights.max() == 0:
        raise ValueError("sample_weight must have a positive sum, got zeros only.")
    weights /= weights.max()
    return np.asarray(weights * (n / weights.sum()))
