"""The problem: data, loss and λ; its primal and dual values; the two sides of the data.

    min_w P(w) = (1/n) Σ_j c_j φ(⟨x_j, w⟩ + b; y_j) + (λ/2) ‖w‖²                            (1)
    max_α D(α) = −(1/(2λn²)) ‖Σ_j α_j x_j‖² − (1/n) Σ_j c_j φ*(−α_j/c_j)                    (3)

The data is held as scikit-learn holds it, one example x_j per row of X: the transpose of the
paper's d × n matrix. The weights c_j have mean 1. The intercept b is 0 unless asked for; it is
never penalised, and gives the dual the constraint Σ_j α_j = 0.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._cached import cached_property
from .._numba.compile import kernel, reordered_kernel
from .._types import FloatArray, IntArray
from ..data.checks import finite_nonzeros, is_plain
from ..data.matrix import Matrix
from ..data.rows import Rows, rows_products
from ..losses.custom import as_loss, loss_name
from ..losses.sums import derivatives, sum_conjugates, sum_values, sum_values_and_gaps
from .intercept import (
    balanced,
    kink_intercept,
    mean_square,
    newton_intercept,
    rebalanced,
    strength,
)

# Integers below this are different as float64 too.
EXACT = 2.0**53


@dataclass(frozen=True)
class Coordinates:
    """One side of the data, as the theory sees it: a list of rows to take steps along.

    The primal side has one coordinate per feature, the dual one per example. Everything about
    samplings, expected separable overapproximation (ESO) and complexity is written for this
    class and so holds for both.
    """

    matrix: Matrix
    by: str  # "feature" for the primal side, "example" for the dual side
    beta: float  # β, the smoothness of the loss
    lam_n: float  # λn
    column_weights: FloatArray | None = None  # c_j on the entries of a row (primal side)
    multipliers: FloatArray | None = None  # c_j on the rows themselves (dual side)
    has_intercept: bool = False  # whether all rows share an extra entry, for a free intercept
    classes: int = 2  # that share the intercepts; 2 also for a loss of one margin

    @property
    def rows(self) -> Rows:
        """The rows, built on first use."""
        return self.matrix.by_feature if self.by == "feature" else self.matrix.by_example

    @property
    def size(self) -> int:
        """The number of coordinates: d on the primal side, n on the dual one."""
        return self.matrix.shape[1] if self.by == "feature" else self.matrix.shape[0]

    @property
    def width(self) -> int:
        """The length of a row: n on the primal side, d on the dual one."""
        return self.matrix.shape[0] if self.by == "feature" else self.matrix.shape[1]

    @property
    def nnz(self) -> int:
        """‖X‖₀, the number of nonzero entries."""
        return self.matrix.nnz

    @cached_property
    def counts(self) -> IntArray:
        """‖row_i‖₀."""
        return self.matrix.counts(self.by)

    @cached_property
    def pairs(self) -> float:
        """Σ_i ‖row_i‖₀ (‖row_i‖₀ + 1)/2: the products of two entries of one row."""
        counts = self.counts.astype(np.float64)
        return float(counts @ (counts + 1)) / 2

    @cached_property
    def squared_norms(self) -> FloatArray:
        """‖row_i‖², weighted by the examples' weights on the primal side."""
        return self.matrix.squared_norms(self.by, self.column_weights)

    @cached_property
    def constant(self) -> float:
        """The square of the extra entry that all rows share, λ/λ_b; 0 without an intercept."""
        if not self.has_intercept:
            return 0.0
        lam = self.lam_n / self.size
        return lam / strength(self.beta, lam, mean_square(self), self.classes)

    def related(self, matrix: Matrix, lam_n: float) -> Coordinates:
        """The same side for another λ; what does not depend on λ is not computed again."""
        made = replace(self, matrix=matrix, lam_n=lam_n)
        for name in ("counts", "squared_norms", "pairs"):
            if name in self.__dict__:
                made.__dict__[name] = self.__dict__[name]
        return made

    @cached_property
    def bound(self) -> float:
        """T of importance sampling in passes over the data, eq. (15)."""
        curvature = self.curvature(self.squared_norms + self.constant)
        if not self.matrix.is_sparse:
            # All rows are read in full: no need to count what is in them.
            return float(curvature.mean()) / self.lam_n
        return float(self.counts @ curvature) / (self.lam_n * max(self.nnz, 1))

    def curvature(self, v: FloatArray) -> FloatArray:
        """s_i = β v_i + λn, for ESO parameters v."""
        scale = self.beta if self.multipliers is None else self.beta * self.multipliers
        return scale * v + self.lam_n


@dataclass(frozen=True)
class Certificate:
    """A proof of accuracy: P(w) ≥ P* ≥ D(α), computed from ``w`` and ``alpha`` alone."""

    primal: float
    dual: float
    gap: float
    relative_gap: float  # gap / P(0)
    w: FloatArray = field(repr=False)
    alpha: FloatArray = field(repr=False)
    intercept: float = field(repr=False, default=0.0)


class Problem:
    """An L2-regularised linear model to be trained.

    Parameters
    ----------
    X : array or SciPy sparse matrix of shape (n_samples, n_features)
        Used as it is, without a copy, where its values are float64 or float32.
    y : array of shape (n_samples,)
        For classification losses any two labels, the larger one is the positive class; for
        the other losses real numbers.
    loss : str or loss
        A name in ``LOSSES``, one of its classes or objects, or an object of your own with
        ``value``, ``derivative``, ``second_derivative`` and ``smoothness``.
    lam : float
        λ > 0, the strength of the regularisation: P(w) = mean loss + (λ/2) ‖w‖².
        LIBLINEAR's and scikit-learn's ``C`` is 1/(nλ), ridge's ``alpha`` is nλ.
    sample_weight : array of shape (n_samples,), optional
        Nonnegative weights; only their ratios matter.
    fit_intercept : bool
        Whether the model has an unpenalised intercept.

    Examples
    --------
    >>> import numpy as np
    >>> problem = Problem(np.eye(2), [1, -1], loss="squared", lam=0.5)
    >>> problem.certify(np.array([0.5, -0.5])).gap
    0.0
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        loss: Any = "logistic",
        lam: float = 1.0,
        sample_weight: Any = None,
        fit_intercept: bool = False,
    ) -> None:
        self.loss = as_loss(loss)
        self.beta = float(self.loss.smoothness)  # β
        self.lam = _positive(lam)
        self.matrix = Matrix(X)
        self.n, self.d = self.matrix.shape
        self.fit_intercept = bool(fit_intercept)
        self.near = 0.0  # where the search for the best intercept begins
        weights = _weights(sample_weight, self.n)
        self.is_weighted = weights is not None
        self.sample_weight: FloatArray = _ones(self.n) if weights is None else _frozen(weights)
        self.classes, targets = _targets(y, self.n, self.loss, weights)
        self.y: FloatArray = _frozen(targets)

    def __repr__(self) -> str:
        kind = "sparse" if self.matrix.is_sparse else "dense"
        return (
            f"Problem({self.n} examples, {self.d} features, {kind}, "
            f"loss={loss_name(self.loss)!r}, lam={self.lam:g})"
        )

    @cached_property
    def features(self) -> Coordinates:
        """The d coordinates of the primal problem."""
        weights = self.sample_weight if self.is_weighted else None
        return Coordinates(
            self.matrix, "feature", self.beta, self.lam * self.n, column_weights=weights
        )

    @cached_property
    def examples(self) -> Coordinates:
        """The n coordinates of the dual problem."""
        weights = self.sample_weight if self.is_weighted else None
        return Coordinates(
            self.matrix, "example", self.beta, self.lam * self.n,
            multipliers=weights, has_intercept=self.fit_intercept,
        )  # fmt: skip

    @property
    def is_smooth(self) -> bool:
        """Whether β is finite, as the rates and all primal methods need it."""
        return self.beta < math.inf

    @property
    def shapes(self) -> tuple[tuple[int], tuple[int]]:
        """The shapes of w and α."""
        return (self.d,), (self.n,)

    @cached_property
    def primal_at_zero(self) -> float:
        """P(0), the unit of the relative gap."""
        if self.classes is not None:
            at_zero = float(self.loss.value(0.0, 1.0))
            if at_zero == self.loss.value(0.0, -1.0):
                return at_zero  # whatever the labels: the weights have mean 1
        return float(sum_values(self.loss, np.zeros(1), self.y, self.sample_weight)) / self.n

    def take(self, examples: IntArray) -> Problem:
        """The problem on some of the examples, with the same λ; the weights' mean becomes 1."""
        weights = self.sample_weight[examples]
        weights *= len(weights) / weights.sum()
        return self._with(self.matrix.take(examples), self.y[examples], weights)

    def densified(self) -> Problem:
        """The same problem with its data stored as dense rows."""
        return self._with(self.matrix.densified(), self.y, self.sample_weight)

    def smoothed(self, gamma: float, alpha: FloatArray) -> Problem:
        """The problem with (γ/2)(a_j − α_j/c_j)² added to each φ*: smooth, with β = 1/γ.

        For losses with corners. It has the same loss with the corners rounded, and the targets
        y_j + γ α_j/c_j: the nearer α is to the optimum, the nearer is its optimum to the true one.
        """
        c = self.sample_weight
        a = np.divide(alpha, c, out=np.zeros(self.n), where=c > 0)
        made = self._with(self.matrix, self.y + gamma * a, c)
        made.loss = self.loss.smoothed(gamma)  # type: ignore[attr-defined]
        made.beta = float(made.loss.smoothness)
        return made

    def related(self, lam: float | None = None, targets: Any = None) -> Problem:
        """The problem with another λ or other targets on the same data, which is not copied.

        The targets are as in ``y``: −1 or +1 for a classification loss.
        """
        made = copy.copy(self)
        if lam is not None:
            made.lam = _positive(lam)
        if targets is not None:
            made.y = _frozen(_other_targets(targets, self.loss, self.sample_weight))
            made.__dict__.pop("primal_at_zero", None)
            # Problems that run at the same time have their own view of the data each: which
            # layouts exist decides the order of sums.
            made.matrix = copy.copy(self.matrix)
        for name in ("features", "examples"):
            if name in made.__dict__:
                side = made.__dict__[name].related(made.matrix, made.lam * made.n)
                made.__dict__[name] = side
        return made

    def _with(self, matrix: Matrix, y: FloatArray, weights: FloatArray) -> Problem:
        """The same loss and λ on other data that is known to be sound."""
        made = Problem.__new__(Problem)
        made.loss, made.beta, made.lam = self.loss, self.beta, self.lam
        made.fit_intercept, made.near = self.fit_intercept, self.near
        made.classes, made.is_weighted = self.classes, self.is_weighted
        made.matrix, made.y, made.sample_weight = matrix, _frozen(y), _frozen(weights)
        made.n, made.d = matrix.shape
        return made

    def margins(self, w: FloatArray, intercept: float = 0.0) -> FloatArray:
        """z_j = ⟨x_j, w⟩ + b."""
        z = self.matrix.times(w)
        if intercept:
            z += intercept
        return z

    def best_intercept(self, scores: FloatArray, start: float | None = None) -> float:
        """The b that minimises Σ_j c_j φ(scores_j + b; y_j), or 0 in a model without intercept."""
        if not self.fit_intercept:
            return 0.0
        if not self.is_smooth:
            return kink_intercept(self.loss, scores, self.y, self.sample_weight)
        b = float(self.near if start is None else start)
        return float(newton_intercept(self.loss, scores, self.y, self.sample_weight, b))

    def dual_point(self, z: FloatArray) -> FloatArray:
        """α_j = −c_j φ'(z_j; y_j): dual feasible, and optimal at the optimal margins."""
        alpha = np.empty(self.n)
        derivatives(self.loss, z, self.y, self.sample_weight, alpha)
        return np.negative(alpha, out=alpha)

    def rebalanced(self, alpha: FloatArray) -> FloatArray:
        """α with its heavier side made smaller, so that Σ_j α_j = 0; α itself where it need not be.

        Dual methods with a free intercept meet the constraint only in the limit.
        """
        return rebalanced(alpha) if self.fit_intercept else alpha

    def primal_point(self, alpha: FloatArray) -> FloatArray:
        """w(α) = (1/(λn)) Σ_j α_j x_j."""
        w = self.matrix.transposed_times(alpha)
        w /= self.lam * self.n
        return w

    def primal(self, w: Any, intercept: float | None = None) -> float:
        """P(w), eq. (1); with a free intercept at ``intercept``, or at the best one for w."""
        w = _vector(w, self.d, "w")
        z = self.matrix.times(w)
        b = self.best_intercept(z) if intercept is None else float(intercept)
        return self.primal_value(w, z + b if b else z)

    def dual(self, alpha: Any) -> float:
        """D(α), eq. (3); −inf where α is not feasible."""
        alpha = _vector(alpha, self.n, "alpha")
        if not self.balanced(alpha):
            return -np.inf
        conjugates = sum_conjugates(self.loss, alpha, self.y, self.sample_weight)
        w = self.primal_point(alpha)
        return -0.5 * self.lam * float(w @ w) - float(conjugates) / self.n

    def certify(
        self, w: Any = None, alpha: Any = None, intercept: float | None = None
    ) -> Certificate:
        """Compute P, D and their gap from scratch; the missing half of the pair is filled in.

        Without ``alpha``, α_j = −c_j φ'(z_j); without ``w``, w = w(α); without ``intercept``,
        the best one for ``w``. The gap is computed as the sum of the nonnegative terms

            P(w) − D(α) = (1/n) Σ_j c_j [φ(z_j) + φ*(−a_j) + a_j z_j] + (λ/2) ‖w − w(α)‖²,

        a_j = α_j/c_j, which keeps its digits where the difference P − D has lost them.
        """
        if w is None and alpha is None:
            raise ValueError("certify needs w, alpha or both. Pass at least one of them.")
        if alpha is not None:
            alpha = _vector(alpha, self.n, "alpha")
        if w is not None:
            w = _vector(w, self.d, "w")
        pair, free = w is not None and alpha is not None, self.fit_intercept or bool(intercept)
        if pair and not free and self.matrix.in_one_call:
            data = (self.matrix.stored, self.loss, self.y, self.sample_weight)
            return self._proof(w, alpha, 0.0, *_pair(*data, self.lam * self.n, w, alpha))
        # A point that has run away overflows: then the gap is infinite, and no warning is needed.
        with np.errstate(over="ignore", invalid="ignore"):
            return self._certificate(w, alpha, intercept)

    def _certificate(self, w: Any, alpha: Any, intercept: float | None) -> Certificate:
        """The same, one vector after the other."""
        given, lam_n, y, c = alpha is not None, self.lam * self.n, self.y, self.sample_weight
        if w is None:
            w = w_of_alpha = self.primal_point(alpha)
            z = self.matrix.times(w)
        elif given:
            z, w_of_alpha = self.matrix.products(w, alpha)
            w_of_alpha /= lam_n
        else:
            z = self.matrix.times(w)
        b = self.best_intercept(z) if intercept is None else float(intercept)
        if b:
            z += b
        if not given:
            alpha = self.dual_point(z)
            if not self.is_smooth:
                # A subgradient at the best intercept need not be the balanced one.
                alpha = self.rebalanced(alpha)
            w_of_alpha = self.primal_point(alpha)
        if given or not self.is_smooth:
            total, gaps = sum_values_and_gaps(self.loss, z, alpha, y, c)
        else:
            total, gaps = sum_values(self.loss, z, y, c), 0.0
        return self._proof(w, alpha, b, total, gaps, *_distance(w, w_of_alpha))

    def _proof(
        self,
        w: FloatArray,
        alpha: FloatArray,
        b: float,
        total: float,
        gaps: float,
        size: float,
        apart: float,
    ) -> Certificate:
        """What the sums over the examples, ‖w‖² and ‖w − w(α)‖² prove."""
        primal, gap = total / self.n + 0.5 * self.lam * size, math.inf
        if math.isfinite(primal) and self.balanced(alpha):
            gap = gaps / self.n + 0.5 * self.lam * apart
            if b:
                gap += abs(b * float(alpha.sum())) / self.n
        dual = primal - gap if gap < math.inf else -math.inf
        return Certificate(primal, dual, gap, self.relative(gap), w, alpha, b)

    def primal_value(self, w: FloatArray, z: FloatArray) -> float:
        """P(w) where the margins z, intercept included, are known."""
        total = float(sum_values(self.loss, z, self.y, self.sample_weight))
        return total / self.n + 0.5 * self.lam * float(w @ w)

    def balanced(self, alpha: FloatArray) -> bool:
        """Whether Σ α_j = 0 up to rounding, which a free intercept requires."""
        return not self.fit_intercept or balanced(alpha)

    def relative(self, gap: float) -> float:
        """A gap divided by P(0), the unit of ``tol``."""
        if gap == 0.0:
            return 0.0
        return gap / self.primal_at_zero if self.primal_at_zero > 0 else np.inf


@kernel
def _pair(examples, loss, y, c, lam_n, w, alpha):  # type: ignore[no-untyped-def]
    """What a certificate is made of: the losses, the gaps, ‖w‖² and ‖w − w(α)‖².

    All in one call: on small data several would take longer than the work in them.
    """
    z, w_of_alpha = np.empty(y.size), np.zeros(w.size)
    rows_products(examples, 0, y.size, w, alpha, z, w_of_alpha)
    for i in range(w.size):
        w_of_alpha[i] /= lam_n
    total, gaps = sum_values_and_gaps(loss, z, alpha, y, c)
    size, apart = _distance(w, w_of_alpha)
    return total, gaps, size, apart


@reordered_kernel
def _distance(w, other):  # type: ignore[no-untyped-def]
    """‖w‖² and ‖w − other‖²."""
    size, apart = 0.0, 0.0
    for i in range(w.size):
        size += w[i] * w[i]
        apart += (w[i] - other[i]) * (w[i] - other[i])
    return size, apart


# --------------------------------------------------------------------------------------------
# At the door


def _frozen(array: Any) -> FloatArray:
    """A read-only float64 view, so that kernels see one type."""
    view = _plain(array).view()
    view.setflags(write=False)
    return view


def _ones(n: int) -> FloatArray:
    """The weights of examples that have none, read-only; small problems share them."""
    return _SOME_ONES[:n] if n <= len(_SOME_ONES) else _frozen(np.ones(n))


def _plain(values: Any) -> FloatArray:
    """The values as a contiguous, aligned float64 array, copied only if they are not."""
    if type(values) is np.ndarray and values.dtype is _FLOAT and is_plain(values):
        return values
    return np.require(values, dtype=np.float64, requirements=["C", "A"])


_FLOAT = np.dtype(np.float64)
_SOME_ONES = _frozen(np.ones(4096))


def _positive(lam: Any) -> float:
    try:
        value = float("no number" if isinstance(lam, str) else lam)
    except (TypeError, ValueError):
        raise TypeError(f"lam must be a positive number, got {lam!r}.") from None
    if not (0 < value < np.inf):
        raise ValueError(
            f"lam must be positive and finite, got {lam!r}. "
            "With lam = 0 the dual problem is not defined; try a small one such as 1e-6."
        )
    return value


def _vector(values: Any, size: int, name: str) -> FloatArray:
    array = _plain(values)
    if array.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {array.shape}.")
    return array


def _column(values: Any, n: int, name: str) -> Any:
    """A one-dimensional array with one entry per example."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must hold one number per example, got ragged lists.") from error
    if array.ndim == 2 and array.shape[1] == 1 and array.shape[0] == n:
        raise ValueError(f"{name} must have one dimension, got {array.shape}. Use {name}.ravel().")
    if array.shape != (n,):
        raise ValueError(
            f"{name} must have one entry for each of the {n} examples of X, "
            f"got shape {array.shape}."
        )
    if array.dtype.kind == "c":
        raise ValueError(f"{name} must be real, got complex numbers.")
    return array


def _weights(sample_weight: Any, n: int) -> FloatArray | None:
    """The weights scaled to mean 1, or None where they are all equal."""
    if sample_weight is None:
        return None
    array = _column(sample_weight, n, "sample_weight")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"sample_weight must hold numbers, got dtype {array.dtype}.")
    weights = array.astype(np.float64)
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.max() == 0:
        raise ValueError(
            "sample_weight must be finite and nonnegative with a positive sum, got values from "
            f"{weights.min()} to {weights.max()}."
        )
    if weights.min() == weights.max():
        return None
    weights /= weights.max()  # keeps the sum finite for weights up to 1e308
    return np.asarray(weights * (n / weights.sum()))


def _targets(
    y: Any, n: int, loss: Any, weights: FloatArray | None
) -> tuple[Any | None, FloatArray]:
    """Class labels (or None) and the targets as float64: −1/+1, or the numbers themselves."""
    array = _column(y, n, "y")
    if not loss.classification:
        if array.dtype.kind not in "fiub":
            raise ValueError(
                f"y must hold numbers for loss {loss_name(loss)!r}, got dtype {array.dtype}. "
                "For class labels use a classification loss such as 'logistic'."
            )
        targets = array.astype(np.float64)
        if finite_nonzeros(targets) < 0:
            raise ValueError(_Y_NOT_FINITE)
        return None, targets
    plain = array.dtype.kind in "fiub" and array.dtype.itemsize <= 8
    if plain and (weights is None or weights.min() > 0):
        targets = np.empty(n)
        low, high, others = _signs(_frozen(array), targets)
        if others == 0 and low != high and max(abs(low), abs(high)) < EXACT:
            return np.array([low, high], dtype=array.dtype), targets
    return _classes(array, loss, weights)


def _other_targets(targets: Any, loss: Any, weights: FloatArray) -> FloatArray:
    """Targets for the same data, copied; two classes of positive weight if the loss needs them."""
    values = np.array(targets, dtype=np.float64)
    if values.shape != weights.shape:
        raise ValueError(f"targets must have shape {weights.shape}, got {values.shape}.")
    if loss.classification and len(np.unique(values[weights > 0])) != 2:
        raise ValueError(
            "every class needs at least one example with a positive weight, and so do "
            "the others. Leave classes without weight out of y."
        )
    return values


_Y_NOT_FINITE = "y must be finite, got NaN or infinite values. Drop those examples."


@kernel
def _signs(labels, targets):  # type: ignore[no-untyped-def]
    """Fill in −1 for the smallest and +1 for the largest label; both, and how many are neither."""
    low = high = labels[0]
    for j in range(labels.size):
        low, high = min(low, labels[j]), max(high, labels[j])
    others = 0
    for j in range(labels.size):
        targets[j] = 1.0 if labels[j] == high else -1.0
        others += not (labels[j] == low or labels[j] == high)
    return low, high, others


def _classes(array: Any, loss: Any, weights: FloatArray | None) -> tuple[Any, FloatArray]:
    """The same for labels of any kind; those of weight zero do not count."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(_Y_NOT_FINITE)
    seen = array if weights is None or (weights > 0).all() else array[weights > 0]
    try:
        classes = np.unique(seen)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in seen.tolist()})
        raise ValueError(
            f"y must hold labels of one kind, got a mixture of {', '.join(kinds)}."
        ) from None
    if len(classes) != 2:
        what = "one class" if len(classes) == 1 else f"{len(classes)} classes"
        advice = (
            "Both classes must be present (with positive weight)."
            if len(classes) == 1
            else "Train one problem per class (one against the rest)."
        )
        raise ValueError(
            f"y must have exactly two classes for loss {loss_name(loss)!r}, got {what}. {advice}"
        )
    return classes, np.where(array == classes[1], 1.0, -1.0)
