"""The softmax loss: one problem for all classes, its certificate, and the methods that solve it.

    min_W P(W) = (1/n) Σ_j c_j [ log Σ_k exp(z_jk) − z_j,y_j ] + (λ/2) ‖W‖²_F
    max_α D(α) = −(λ/2) ‖W(α)‖²_F − (1/n) Σ_j c_j Σ_k q_jk ln q_jk

with scores z_jk = ⟨x_j, w_k⟩ + b_k, q_j = e_{y_j} − α_j/c_j in the simplex, and
w_k(α) = (1/(λn)) Σ_j α_jk x_j. Free intercepts b give the dual the constraints Σ_j α_jk = 0.
The gap is the sum of nonnegative terms

    P(W) − D(α) = (1/n) Σ_j c_j KL(q_j ‖ softmax(z_j)) + (λ/2) ‖W − W(α)‖²_F.

``Multinomial`` has what ``solve`` asks of a problem, and the methods here follow the protocol of
``primaldual.methods``, so that the loop, the trace and the stopping rule are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import kl_div, logsumexp

from ._numba.compile import kernel
from ._types import FloatArray, Side
from .complexity import Complexity, importance_complexity
from .data.matrix import Matrix
from .data.rows import DenseRows
from .problem import BALANCE_TOLERANCE, Certificate, Coordinates

# ∇² of the softmax loss is at most I/2.
SMOOTHNESS = 0.5
# λ_b of the intercepts' proximal term in dual descent, in units of λ divided by the mean ‖x_j‖².
# Measured on text, images and census data over λ: from 3 to 30 dual descent takes about the same
# number of epochs, up to ten times fewer than with a term that is independent of λ.
INTERCEPT_SHARE = 10.0
# Newton's method factors a matrix of this size at most, (features + 1) × classes.
MOST_UNKNOWNS = 400
# Conjugate-gradient steps in one Newton step, at most.
MOST_STEPS = 250
# Epochs of dual descent before its contraction is trusted, and how many more are worth waiting for.
TRIAL_EPOCHS = 5
PATIENCE = 60
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
        self._near = np.zeros(len(self.classes))  # the last best intercepts: where to look first
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
        constant = self.lam / self.intercept_strength if self.fit_intercept else 0.0
        return Coordinates(
            self.matrix, "example", SMOOTHNESS, self.lam * self.n,
            multipliers=weights, constant=constant,
        )  # fmt: skip

    @property
    def intercept_strength(self) -> float:
        """λ_b of the proximal term that the dual method puts on free intercepts."""
        # At most near the curvature of the loss in one intercept, p (1 − p) on average; less where
        # the coefficients have more say, as measured.
        usual = SMOOTHNESS / (8 * len(self.classes) ** 2)
        return min(usual, INTERCEPT_SHARE * self.lam / self._mean_square)

    @cached_property
    def _mean_square(self) -> float:
        """The mean of ‖x_j‖²."""
        return max(float(self.matrix.squared_norms("feature").sum()) / self.n, 1e-300)

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
        alpha = np.empty_like(z)
        _dual_points(z, self.codes, self.sample_weight, alpha)
        return alpha

    def nearest_dual(self, alpha: FloatArray) -> FloatArray:
        """α moved to where every q_j lies in the simplex: negative entries cut off, sums made 1."""
        q = np.maximum(self._probabilities(alpha), 1e-300)
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
        if not self.fit_intercept:
            return alpha
        scores = np.log(np.maximum(self._probabilities(alpha), 1e-300))
        return self.dual_point(scores + self.best_intercept(scores))

    def loss(self, z: FloatArray) -> float:
        """(1/n) Σ_j c_j [log Σ_k exp(z_jk) − z_j,y_j]."""
        each = logsumexp(z, axis=1) - z[np.arange(self.n), self.codes]
        return float(self.sample_weight @ each) / self.n

    def best_intercept(self, scores: FloatArray, start: FloatArray | None = None) -> FloatArray:
        """The b with Σ b_k = 0 that minimises the loss at scores + b; 0 without intercepts.

        Newton's method with steps of bounded length: where the classes are far apart the loss is
        nearly piecewise linear in b, and a plain Newton step is far too long.
        """
        classes = len(self.classes)
        b = np.zeros(classes) if start is None else start - start.mean()
        if not self.fit_intercept:
            return np.zeros(classes)
        value, radius = self.loss(scores + b), 1.0
        alpha = self.dual_point(scores + b)
        for _ in range(MOST_INTERCEPT_STEPS):
            slope = -alpha.sum(axis=0)
            size = float(np.abs(slope).max())
            if size <= 1e-15 * np.abs(alpha).sum():
                break
            p = self._probabilities(alpha)
            weighted = p * self.sample_weight[:, None]
            hessian = np.diag(weighted.sum(axis=0)) - weighted.T @ p
            # The loss does not change along (1, …, 1): any curvature there keeps Σ b_k = 0.
            hessian += max(np.trace(hessian), size) / classes**2
            np.einsum("ii->i", hessian)[:] += size / radius
            step = np.linalg.solve(hessian, -slope)
            step -= step.mean()
            moved = self.loss(scores + b + step)
            trial = self.dual_point(scores + b + step)
            # Near the optimum the loss has no digits left to tell; the slope has.
            if moved < value or np.abs(trial.sum(axis=0)).max() < 0.5 * size:
                b, value, alpha, radius = b + step, min(moved, value), trial, 4.0 * radius
            else:
                radius *= 0.25
                if radius < 1e-14 * (1.0 + np.abs(b).max()):
                    break
        return b - b.mean()

    def certify(
        self, w: Any = None, alpha: Any = None, intercept: FloatArray | None = None
    ) -> Certificate:
        """P, D and their gap from scratch, as in ``Problem.certify``."""
        if w is None and alpha is None:
            raise ValueError("certify needs w, alpha or both. Pass at least one of them.")
        w = self.primal_point(alpha) if w is None else np.asarray(w, dtype=np.float64)
        z = self.margins(w)
        b = self._near if intercept is None else np.asarray(intercept)
        if intercept is None:
            b = self._near = self.best_intercept(z, self._near)
        z += b
        primal = self.loss(z) + 0.5 * self.lam * float(np.vdot(w, w))
        ours = self.dual_point(z)
        bracket = 0.0
        if alpha is None:
            alpha = ours
        else:
            q, p = self._probabilities(alpha), self._probabilities(ours)
            bracket = np.inf
            if q.min() >= -1e-14 and np.allclose(q.sum(axis=1), 1.0, rtol=0, atol=1e-12):
                each = kl_div(np.maximum(q, 0.0), np.maximum(p, 1e-300)).sum(axis=1)
                bracket = float(self.sample_weight @ np.maximum(each, 0.0)) / self.n
        gap = np.inf
        if self._balanced(alpha):
            apart = w - self.primal_point(alpha)
            gap = bracket + 0.5 * self.lam * float(np.vdot(apart, apart))
            gap += float(np.abs(b) @ np.abs(alpha.sum(axis=0))) / self.n
        if not np.isfinite(primal):
            gap = np.inf
        return Certificate(
            primal,
            primal - gap,
            gap,
            self.relative(gap),
            w,
            alpha,
            b,  # type: ignore[arg-type]
        )

    def _probabilities(self, alpha: FloatArray) -> FloatArray:
        """q_j = e_{y_j} − α_j/c_j; e_{y_j} where c_j = 0."""
        c = self.sample_weight[:, None]
        q = -np.divide(alpha, c, out=np.zeros_like(alpha), where=c > 0)
        q[np.arange(self.n), self.codes] += 1.0
        return q

    def _balanced(self, alpha: FloatArray) -> bool:
        if not self.fit_intercept:
            return True
        return bool(np.abs(alpha.sum(axis=0)).max() <= BALANCE_TOLERANCE * np.abs(alpha).sum())


def solve_multinomial(
    problem: Multinomial, side: str = "auto", tol: float = 1e-6, **options: Any
) -> Any:
    """Minimise P(W) until the certified relative gap is at most ``tol``.

    Parameters
    ----------
    problem : Multinomial
    side : {"auto", "primal", "dual"}
        Which methods may be used.
    tol : float
        The relative duality gap to reach.
    **options
        ``max_passes``, ``max_time``, ``seed`` and ``callback`` as in ``solve``.

    Returns
    -------
    Result
        With ``w`` of shape (K, d), ``intercept`` of shape (K,) and ``alpha`` of shape (n, K).
    """
    from .solver import solve

    method: Any = softmax_method(problem, side, tol)
    as_problem: Any = problem
    return solve(as_problem, method, tol=tol, **options)


# --------------------------------------------------------------------------------------------
# Primal: Newton's method, by a factorisation or by conjugate gradients


@dataclass
class NewtonState:
    """Where a Newton method stands."""

    problem: Multinomial
    w: FloatArray  # primal iterate, (K, d)
    b: FloatArray  # the best intercepts for it, (K,)
    scores: FloatArray  # its scores with the intercepts, (n, K)
    alpha: FloatArray  # its dual point, (n, K)
    gradient: FloatArray  # n ∇P, (K, d)
    forcing: float = 0.1  # the relative residual at which conjugate gradients stop


class SoftmaxNewton:
    r"""Newton's method on all classes at once, its linear system solved by Cholesky.

    Algorithm
    ---------
    ::

        repeat
            p_j = softmax(z_j),   H_kl = Σ_j c_j p_jk (δ_kl − p_jl) x_j x_jᵀ + λn δ_kl I
            solve  H δ = −n ∇P(W)
            W += s δ,   s from a line search on P(W + s δ);   b = best intercepts

    The gap of W with α_j = c_j (e_{y_j} − p_j) is ‖∇P(W)‖²/(2λ).
    """

    side: ClassVar[Side] = "primal"
    samplings: ClassVar[tuple[str, ...]] = ()
    free_intercept: ClassVar[bool] = True
    name = "newton"

    def start(
        self,
        problem: Multinomial,
        sampling: Any = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> NewtonState:
        """The state at ``w``, at W(α), or at zero."""
        if w is None and alpha is not None:
            w = problem.primal_point(alpha)
        w = np.zeros(problem.shape) if w is None else np.array(w, dtype=np.float64)
        empty = np.empty(0)
        state = NewtonState(problem, w, np.zeros(len(w)), problem.margins(w), empty, empty)
        _settle(state)
        return state

    def advance(self, state: NewtonState, draws: Any = None) -> float:
        """One Newton step."""
        p = state.problem
        delta, delta_b, work = self._direction(state)
        change = p.margins(delta) + delta_b
        s = _line_search(state, delta, change)
        state.w = state.w + s * delta
        state.b = state.b + s * delta_b
        state.scores += s * change
        _settle(state)
        return work + 2.0 * p.matrix.nnz

    def _direction(self, state: NewtonState) -> tuple[FloatArray, FloatArray, float]:
        """The Newton direction in W and b, and the work, a nonzero visited for all classes."""
        p = state.problem
        hessian = _hessian(p, p._probabilities(state.alpha))
        classes, width = len(p.classes), hessian.shape[0] // len(p.classes)
        right = np.zeros((classes, width))
        right[:, : p.d] = -state.gradient
        if width > p.d:
            right[:, p.d] = state.alpha.sum(axis=0)
        more = 0.0
        while True:
            try:
                factor = cho_factor(hessian + np.diag(more * np.diag(hessian)), lower=True)
                break
            except LinAlgError:
                more = max(100 * more, 1e-14)
        delta = cho_solve(factor, right.ravel()).reshape(classes, width)
        delta_b = delta[:, p.d] if width > p.d else np.zeros(classes)
        pairs = (classes + 1) / 2
        return np.ascontiguousarray(delta[:, : p.d]), delta_b, pairs * p.matrix.nnz * p.d / 2

    def gap_estimate(self, state: NewtonState) -> float:
        """‖∇P‖²/(2λ)."""
        p = state.problem
        return float(np.vdot(state.gradient, state.gradient)) / (2 * p.lam * p.n**2)

    def iterate(self, state: NewtonState) -> tuple[FloatArray, None]:
        """The current W; the certificate makes its own dual point."""
        return state.w, None

    def label(self, state: NewtonState) -> str:
        """The name of the method."""
        return self.name

    def complexity(self, problem: Multinomial, sampling: Any = None) -> Complexity:
        """One step: Newton's rate does not depend on K."""
        size = float(problem.d * len(problem.classes))
        return Complexity(1.0, problem.n * size * size / 2, problem.matrix.nnz)


class SoftmaxNewtonCG(SoftmaxNewton):
    """Newton's method whose system is solved by conjugate gradients with the diagonal of H.

    Algorithm
    ---------
    ::

        H δ:   u_j = (⟨x_j, δ_k⟩)_k,   t_j = c_j (p_j ∘ u_j − p_j ⟨p_j, u_j⟩),   Σ_j t_j x_jᵀ + λn δ
    """

    name = "newton_cg"

    def _direction(self, state: NewtonState) -> tuple[FloatArray, FloatArray, float]:
        p, lam_n = state.problem, state.problem.lam * state.problem.n
        probabilities = p._probabilities(state.alpha)
        c = p.sample_weight[:, None]
        curvature = c * probabilities * (1.0 - probabilities)
        diagonal = squared_times(p.matrix, curvature) + lam_n  # (d, K)
        corner = np.maximum(curvature.sum(axis=0), 1e-300)
        residual, residual_b = -state.gradient.T, state.alpha.sum(axis=0) * p.fit_intercept
        delta, delta_b = np.zeros_like(diagonal), np.zeros(len(corner))
        step, step_b = residual / diagonal, residual_b / corner
        energy = first = float(np.vdot(residual, step) + residual_b @ step_b)
        products = 0
        while products < MOST_STEPS and energy > 0:
            products += 1
            moved = times(p.matrix, step) + step_b
            inner = (probabilities * moved).sum(axis=1, keepdims=True)
            moved = c * probabilities * (moved - inner)
            product = transposed_times(p.matrix, moved) + lam_n * step
            product_b = moved.sum(axis=0) * p.fit_intercept
            bend = float(np.vdot(step, product) + step_b @ product_b)
            if not bend > 0:
                break
            length = energy / bend
            delta += length * step
            delta_b += length * step_b
            residual = residual - length * product
            residual_b = residual_b - length * product_b
            ahead, ahead_b = residual / diagonal, residual_b / corner
            energy, before = float(np.vdot(residual, ahead) + residual_b @ ahead_b), energy
            if energy <= state.forcing**2 * first:
                break
            step, step_b = ahead + energy / before * step, ahead_b + energy / before * step_b
        work = 2.0 * products * p.matrix.nnz
        return np.ascontiguousarray(delta.T), delta_b, work

    def advance(self, state: NewtonState, draws: Any = None) -> float:
        """One truncated Newton step; the next one is solved more exactly as the gap falls."""
        before = self.gap_estimate(state)
        work = super().advance(state)
        fall = np.sqrt(self.gap_estimate(state) / before) if before > 0 else 0.0
        state.forcing = max(min(state.forcing, max(fall, state.forcing**2)), 1e-10)
        return work

    def complexity(self, problem: Multinomial, sampling: Any = None) -> Complexity:
        """√κ products with the data, κ = 1 + β max ‖x_j‖²/λ."""
        kappa = 1 + SMOOTHNESS * float(problem.examples.squared_norms.max()) / problem.lam
        classes = len(problem.classes)
        return Complexity(
            float(np.sqrt(kappa)), 2.0 * classes * problem.matrix.nnz, problem.matrix.nnz
        )


def _settle(state: NewtonState) -> None:
    """The best intercepts, the dual point and the gradient at the state's scores."""
    p = state.problem
    bare = state.scores - state.b
    state.b = p.best_intercept(bare, state.b)
    state.scores = bare + state.b
    state.alpha = p.dual_point(state.scores)
    state.gradient = p.lam * p.n * (state.w - p.primal_point(state.alpha))


def _line_search(state: NewtonState, delta: FloatArray, change: FloatArray) -> float:
    """s ≤ 1 with enough decrease of P(W + s δ) along the scores' change."""
    p = state.problem
    half = 0.5 * p.lam
    squares = [
        float(np.vdot(a, b)) for a, b in ((state.w, state.w), (state.w, delta), (delta, delta))
    ]
    slope = float(np.vdot(state.gradient, delta)) / p.n
    here = p.loss(state.scores) + half * squares[0]
    s = 1.0
    for _ in range(40):
        ridge = half * (squares[0] + 2 * s * squares[1] + s * s * squares[2])
        if p.loss(state.scores + s * change) + ridge <= here + 1e-4 * s * slope + 1e-15 * abs(here):
            return s
        s *= 0.5
    return s


def _hessian(p: Multinomial, probabilities: FloatArray) -> FloatArray:
    """The Hessian in (w_1, b_1, …, w_K, b_K), its lower triangle; without b if there is none."""
    classes, d = p.shape
    width = d + p.fit_intercept
    out = np.zeros((classes, width, classes, width))
    for k in range(classes):
        for m in range(k + 1):
            h = p.sample_weight * probabilities[:, k]
            h = h * (1.0 - probabilities[:, k]) if k == m else h * probabilities[:, m]
            sign = 1.0 if k == m else -1.0
            lower = np.tril(p.matrix.gram_of_features(np.maximum(h, 0.0)))
            block = out[k, :, m]
            block[:d, :d] = sign * (lower + np.tril(lower, -1).T)
            if p.fit_intercept:
                border = sign * p.matrix.transposed_times(h)
                block[:d, d] = block[d, :d] = border
                block[d, d] = sign * h.sum()
    if p.fit_intercept:
        # The loss does not change along equal intercepts: any curvature there will do.
        out[:, d, :, d] += max(np.trace(out[:, d, :, d]), 1e-300) / classes**2
    hessian = out.reshape(classes * width, classes * width)
    ridge = np.zeros((classes, width))
    ridge[:, :d] = p.lam * p.n
    np.einsum("ii->i", hessian)[:] += ridge.ravel()
    return hessian


# --------------------------------------------------------------------------------------------
# Dual: coordinate descent in blocks of one example


@dataclass
class DualState:
    """Where dual descent stands."""

    problem: Multinomial
    rng: Generator  # for the orders
    norms: FloatArray  # ‖x_j‖², with the intercepts' share
    q: FloatArray  # e_{y_j} − α_j/c_j, (n, K)
    w: FloatArray  # W(α)ᵀ, (d, K), kept up to date
    shift: float  # 1/(λ_b n) with free intercepts, else 0
    bias: FloatArray  # the intercepts' centres and Σ_j α_j, (2, K)
    gap: float = np.inf  # the gap as seen along the last epoch


class SoftmaxDualCD:
    r"""Dual coordinate descent on one example at a time, all its classes at once.

    Algorithm
    ---------
    ::

        repeat
            for j in a new random order of the examples:
                z = W x_j + b,   κ = c_j ‖x_j‖²/(λn)
                q⁺ = argmin over the simplex of  Σ_k q_k ln q_k − ⟨q, z⟩ + (κ/2) ‖q − q_j‖²
                W −= (c_j/(λn)) (q⁺ − q_j) x_jᵀ,   q_j = q⁺

    The block problem is solved on two levels: ln q_k + κ q_k = z_k + κ q_jk + ν by Newton's method
    for each class, and ν by Newton's method from Σ_k q_k = 1. Free intercepts are treated as in
    ``DualCD``.

    References
    ----------
    .. [1] H.-F. Yu, F.-L. Huang, C.-J. Lin. "Dual coordinate descent methods for logistic
       regression and maximum entropy models", Machine Learning 2011.
    """

    side: ClassVar[Side] = "dual"
    samplings: ClassVar[tuple[str, ...]] = ()
    free_intercept: ClassVar[bool] = True
    name = "dual_cd"

    def start(
        self,
        problem: Multinomial,
        sampling: Any = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> DualState:
        """The state at ``alpha``, at the dual point of a start, or at zero."""
        n, classes = problem.n, len(problem.classes)
        bias, shift = np.zeros((2, classes)), 0.0
        if alpha is None and w is None:
            alpha = np.zeros((n, classes))
        elif alpha is None:
            z = problem.margins(w)  # type: ignore[arg-type]
            bias[0] = problem.best_intercept(z)
            alpha = problem.dual_point(z + bias[0])
        else:
            alpha = problem.nearest_dual(alpha)
        w = problem.primal_point(alpha)
        if problem.fit_intercept:
            shift = 1.0 / (problem.intercept_strength * n)
            bias[1] = alpha.sum(axis=0)
            if alpha.any():
                bias[0] = problem.best_intercept(problem.margins(w), bias[0]) - shift * bias[1]
        at = np.ascontiguousarray(w.T)
        side = problem.examples
        return DualState(
            problem, np.random.default_rng(0) if rng is None else rng,
            side.squared_norms + side.constant, problem._probabilities(alpha), at, shift, bias,
        )  # fmt: skip

    def advance(self, state: DualState, draws: Any = None) -> float:
        """One epoch."""
        p = state.problem
        rows = p.matrix.sparse_rows("example")
        gap = _epoch(
            state.rng.permutation(p.n), rows, p.sample_weight, p.lam * p.n,
            state.norms, state.q, state.w, state.bias, state.shift,
        )  # fmt: skip
        state.gap = gap / p.n
        state.bias[0] += state.shift * state.bias[1]
        return float(p.matrix.nnz)

    def gap_estimate(self, state: DualState) -> float:
        """The gap along the last epoch; from scratch it is usually smaller."""
        return state.gap

    def iterate(self, state: DualState) -> tuple[FloatArray, FloatArray | None]:
        """W and α, made feasible."""
        p = state.problem
        w = np.ascontiguousarray(state.w.T)
        alpha = -state.q * p.sample_weight[:, None]
        alpha[np.arange(p.n), p.codes] += p.sample_weight
        return w, p.rebalanced(alpha)

    def label(self, state: DualState) -> str:
        """The name of the method."""
        return self.name

    def complexity(self, problem: Multinomial, sampling: Any = None) -> Complexity:
        """K and W of importance sampling, as a guide."""
        return importance_complexity(problem.examples)


@kernel
def _epoch(order, rows, c, lam_n, norms, q, w, bias, shift):  # type: ignore[no-untyped-def]
    classes = q.shape[1]
    z, fresh, logs = np.empty(classes), np.empty(classes), np.empty(classes)
    gap = 0.0
    for j in order:
        if c[j] == 0.0:
            continue
        for k in range(classes):
            z[k] = bias[0, k] + shift * bias[1, k]
        low, high = np.uint64(rows.indptr[j]), np.uint64(rows.indptr[j + 1])
        for t in range(low, high):
            line, x = w[np.uint64(rows.indices[t])], rows.values[t]
            for k in range(classes):
                z[k] += x * line[k]
        gap += c[j] * _divergence(q[j], z)
        _block_step(q[j], z, c[j] * norms[j] / lam_n, fresh, logs)
        for k in range(classes):
            change = -c[j] * (fresh[k] - q[j, k])
            q[j, k] = fresh[k]
            bias[1, k] += change
            fresh[k] = change / lam_n
        for t in range(low, high):
            line, x = w[np.uint64(rows.indices[t])], rows.values[t]
            for k in range(classes):
                line[k] += x * fresh[k]
    return gap


@kernel
def _divergence(q, z):  # type: ignore[no-untyped-def]
    """KL(q ‖ softmax(z))."""
    top = z.max()
    total, entropy = 0.0, 0.0
    for k in range(q.size):
        total += np.exp(z[k] - top)
        if q[k] > 0.0:
            entropy += q[k] * (np.log(q[k]) - z[k] + top)
    return max(entropy + np.log(total), 0.0)


@kernel
def _block_step(q, z, kappa, out, logs):  # type: ignore[no-untyped-def]
    """argmin over the simplex of Σ out ln out − ⟨out, z⟩ + (κ/2)‖out − q‖², into ``out``."""
    classes = q.size
    top = z.max()
    total = 0.0
    for k in range(classes):
        total += np.exp(z[k] - top)
        logs[k] = np.log(q[k]) if q[k] > 1e-13 else -30.0
    nu = -top - np.log(total)  # exact where q is softmax(z) already
    low, high = -np.inf, np.inf
    for _ in range(60):
        total, slope = 0.0, 0.0
        for k in range(classes):
            logs[k] = _log_root(z[k] + kappa * q[k] + nu, kappa, logs[k])
            out[k] = np.exp(logs[k])
            total += out[k]
            slope += out[k] / (1.0 + kappa * out[k])
        if abs(total - 1.0) <= 1e-13 * classes:
            break
        if total > 1.0:
            high = nu
        else:
            low = nu
        step = np.log(total) * total / slope if slope > 0.0 else np.nan
        following = nu - step
        if not (low < following < high):
            if np.isfinite(low) and np.isfinite(high):
                following = 0.5 * (low + high)
            else:
                following = nu - 1.0 if total > 1.0 else nu + 1.0
        if following == nu:
            break
        nu = following
    for k in range(classes):
        out[k] /= total


@kernel
def _log_root(t, kappa, u):  # type: ignore[no-untyped-def]
    """u with u + κ exp(u) = t, by Newton's method from the right of the root or the given u."""
    upper = t
    if t > 0.0 and kappa > 0.0:
        upper = min(t, max(0.0, np.log(t / kappa)))
    u = min(u, upper)
    for _ in range(100):
        grown = kappa * np.exp(u)
        step = (u + grown - t) / (1.0 + grown)
        u = min(u - step, upper)
        if abs(step) <= 1e-9 * (1.0 + abs(u)):  # the next step would be the square of this one
            break
    return u


# --------------------------------------------------------------------------------------------
# The choice


@dataclass
class AutoState:
    """Where the engine stands."""

    method: Any  # the one that runs now
    inner: Any  # its state
    rng: Generator | None
    gaps: list[float] = field(default_factory=list)


class SoftmaxAuto:
    """Dual descent first; truncated Newton takes over when it contracts too slowly."""

    side: ClassVar[Side] = "dual"
    samplings: ClassVar[tuple[str, ...]] = ()
    free_intercept: ClassVar[bool] = True

    def __init__(self, tol: float) -> None:
        self.tol = tol

    def start(
        self,
        problem: Multinomial,
        sampling: Any = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> AutoState:
        """The state of dual descent."""
        method = SoftmaxDualCD()
        return AutoState(method, method.start(problem, None, w, alpha, rng), rng)

    def advance(self, state: AutoState, draws: Any = None) -> float:
        """One round of the current method."""
        work = float(state.method.advance(state.inner))
        state.gaps.append(self.gap_estimate(state))
        if state.method.name == "dual_cd" and self._is_slow(state):
            w, _ = state.method.iterate(state.inner)
            state.method = SoftmaxNewtonCG()
            state.inner = state.method.start(state.inner.problem, None, w)
        return work

    def _is_slow(self, state: AutoState) -> bool:
        """Whether the observed contraction asks for more epochs than are worth waiting for."""
        if len(state.gaps) < TRIAL_EPOCHS:
            return False
        target = self.tol * state.inner.problem.primal_at_zero
        last, earlier = state.gaps[-1], state.gaps[-TRIAL_EPOCHS]
        if last <= target:
            return False
        if not last < earlier:
            return True
        left = np.log(last / max(target, 1e-300)) / np.log(earlier / last) * (TRIAL_EPOCHS - 1)
        return bool(left > PATIENCE)

    def gap_estimate(self, state: AutoState) -> float:
        """The current method's estimate."""
        return float(state.method.gap_estimate(state.inner))

    def iterate(self, state: AutoState) -> Any:
        """The current method's iterate."""
        return state.method.iterate(state.inner)

    def label(self, state: AutoState) -> str:
        """The name of the current method."""
        return str(state.method.name)

    def complexity(self, problem: Multinomial, sampling: Any = None) -> Complexity:
        """That of dual descent."""
        return importance_complexity(problem.examples)


def softmax_choice(problem: Multinomial, side: str = "auto") -> str:
    """The name of the method to start with.

    Newton's method with a factorisation where its matrix is small; dual descent on sparse data
    with more features than fit into it; truncated Newton otherwise.
    """
    unknowns = (problem.d + 1) * len(problem.classes)
    if side == "dual":
        return "dual_cd"
    if unknowns <= MOST_UNKNOWNS:
        return "newton"
    if side == "auto" and problem.matrix.is_sparse and problem.d > problem.n / 10:
        return "dual_cd"
    return "newton_cg"


def softmax_method(problem: Multinomial, side: str = "auto", tol: float = 1e-6) -> Any:
    """The method for a side, ready for ``solve``."""
    name = softmax_choice(problem, side)
    if name == "dual_cd":
        return SoftmaxAuto(tol) if side == "auto" else SoftmaxDualCD()
    return SoftmaxNewton() if name == "newton" else SoftmaxNewtonCG()


# --------------------------------------------------------------------------------------------
# Products with one column per class


def times(matrix: Matrix, w: FloatArray) -> FloatArray:
    """X w for w of shape (d, K), in float64."""
    rows = matrix.by_example
    out = np.zeros((matrix.shape[0], w.shape[1]))
    if isinstance(rows, DenseRows):
        for block in _blocks(rows.values):
            out[block] = rows.values[block].astype(np.float64, copy=False) @ w
    else:
        _gather(rows, np.ascontiguousarray(w), out)
    return out


def transposed_times(matrix: Matrix, alpha: FloatArray) -> FloatArray:
    """Xᵀ α for α of shape (n, K), in float64."""
    rows = matrix.by_example
    out = np.zeros((matrix.shape[1], alpha.shape[1]))
    if isinstance(rows, DenseRows):
        for block in _blocks(rows.values):
            out += rows.values[block].astype(np.float64, copy=False).T @ alpha[block]
    else:
        _scatter(rows, np.ascontiguousarray(alpha), out, False)
    return out


def squared_times(matrix: Matrix, h: FloatArray) -> FloatArray:
    """Σ_j h_jk x_ji² for every feature and class, shape (d, K)."""
    rows = matrix.by_example
    out = np.zeros((matrix.shape[1], h.shape[1]))
    if isinstance(rows, DenseRows):
        for block in _blocks(rows.values):
            out += (rows.values[block].astype(np.float64) ** 2).T @ h[block]
    else:
        _scatter(rows, np.ascontiguousarray(h), out, True)
    return out


def _blocks(values: Any, entries: int = 1 << 20) -> list[slice]:
    """Slices of whole rows with about ``entries`` numbers each."""
    step = max(1, entries // max(1, values.shape[1]))
    return [slice(first, first + step) for first in range(0, len(values), step)]


@kernel
def _gather(rows, w, out):  # type: ignore[no-untyped-def]
    for j in range(out.shape[0]):
        mine = out[j]
        for t in range(np.uint64(rows.indptr[j]), np.uint64(rows.indptr[j + 1])):
            line, x = w[np.uint64(rows.indices[t])], rows.values[t]
            for k in range(mine.size):
                mine[k] += x * line[k]


@kernel
def _scatter(rows, alpha, out, squared):  # type: ignore[no-untyped-def]
    for j in range(alpha.shape[0]):
        mine = alpha[j]
        for t in range(np.uint64(rows.indptr[j]), np.uint64(rows.indptr[j + 1])):
            line, x = out[np.uint64(rows.indices[t])], np.float64(rows.values[t])
            if squared:
                x = x * x
            for k in range(mine.size):
                line[k] += x * mine[k]


@kernel
def _dual_points(z, codes, c, alpha):  # type: ignore[no-untyped-def]
    """c (e_y − softmax(z)), its y-th entry as the sum of the others: no digits are lost."""
    for j in range(z.shape[0]):
        top, y = z[j].max(), codes[j]
        total = 0.0
        for k in range(z.shape[1]):
            alpha[j, k] = np.exp(z[j, k] - top)
            total += alpha[j, k]
        rest = 0.0
        for k in range(z.shape[1]):
            if k != y:
                rest += alpha[j, k]
                alpha[j, k] *= -c[j] / total
        alpha[j, y] = c[j] * rest / total


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
