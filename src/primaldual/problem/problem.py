"""The problem: data, loss and λ; its primal and dual values; the two sides of the data."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from .._cached import cached_property
from .._in_memory import require_in_memory
from .._threads import for_each
from .._types import FloatArray, IntArray
from ..data.checks import frozen
from ..data.matrix import Matrix
from ..data.pieces import Cut, example_parts
from ..losses import check
from ..losses.custom import as_loss, explained, is_custom, loss_name
from ..losses.sums import derivatives, second_derivatives, sum_conjugates, sum_values
from ..parts.tree import tree_sum
from .certificate import Certificate, certify
from .coordinates import Coordinates
from .intercept import balanced, kink_intercept, newton_intercept, rebalanced
from .rounding import CERTIFIED_TOLERANCE
from .standard import Units, absorbed, offsets_of, scaled, units_of
from .targets import other_targets, positive, targets_of, vector, weights_of

# What is kept of a problem's data once it was asked for.
KEPT = (
    "features", "examples", "primal_at_zero", "target_size", "slope_range", "curvature",
    "mean_weight",
)  # fmt: skip


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
    penalty : array of shape (n_features,), optional
        Positive p_i: the penalty is (λ/2) Σ p_i w_i². The data is copied, its columns divided by
        √p_i; sparse data shares its indices.
    offset : array of shape (n_samples,), optional
        The known part o_j of the margins ⟨x_j, w⟩ + b + o_j, as the logarithm of an exposure.
    prior : array of shape (n_features,), optional
        Coefficients w° to shrink towards in the place of 0: the penalty is that of w − w°. The unit
        of the relative gap is then P(w°).

    Examples
    --------
    >>> import numpy as np
    >>> problem = Problem(np.eye(2), [1, -1], loss="squared", lam=0.5)
    >>> problem.certify(np.array([0.5, -0.5])).gap < 1e-30
    True
    """

    is_scaled = False  # whether the data's columns were divided by √penalty

    def __init__(
        self,
        X: Any,
        y: Any,
        loss: Any = "logistic",
        lam: float = 1.0,
        sample_weight: Any = None,
        fit_intercept: bool = False,
        *,
        penalty: Any = None,
        offset: Any = None,
        prior: Any = None,
    ) -> None:
        self.loss = as_loss(loss)
        self.beta = float(self.loss.smoothness)  # β
        self.is_smooth = bool(self.loss.smooth)  # as all primal methods need it
        self.lam = positive(lam)
        require_in_memory(X)
        self.matrix = Matrix(X)
        self.n, self.d = self.matrix.shape
        self.shapes = (self.d,), (self.n,)  # of w and α
        self.fit_intercept = bool(fit_intercept)
        self.near = 0.0  # where the search for the best intercept begins
        self.sample_weight, self.is_weighted = weights_of(sample_weight, self.n)
        weights = self.sample_weight if self.is_weighted else None
        self.classes, targets = targets_of(y, self.n, self.loss, weights)
        self.y: FloatArray = frozen(targets)
        if is_custom(self.loss):
            check(self.loss, self.y)
        self.units: Units | None = None
        self.offset_size = 0.0
        if penalty is not None or prior is not None or offset is not None:
            self._take_known(penalty, offset, prior)

    def _take_known(self, penalty: Any, offset: Any, prior: Any) -> None:
        """Bring the problem into standard form."""
        self.units = units_of(penalty, prior, self.d)
        known = offsets_of(offset, self.units, self.matrix)
        if known is not None:
            made = absorbed(self.loss, self.y, self.sample_weight, known)
            self.loss, self.y = made.loss, frozen(made.y)
            if made.weights is not self.sample_weight:
                self.sample_weight, self.is_weighted = frozen(made.weights), True
            # exp and log of an offset are rounded like a number that is larger by 3.
            self.offset_size = 3.0 + float(np.sqrt(np.square(known).mean()))
        if self.units is not None and self.units.scale is not None:
            self.matrix = scaled(self.matrix, self.units.scale)

    @property
    def standard(self) -> Problem:
        """The problem in standard form: for v, where w = prior + v/√penalty. Itself without both.

        The methods see this one, and ``solve`` brings their v back to w.
        """
        if self.units is None:
            return self
        made = copy.copy(self)
        made.units, made.is_scaled = None, self.units.scale is not None
        return made

    @classmethod
    def of_signs(
        cls,
        X: Any,
        signs: FloatArray,
        loss: Any,
        lam: float,
        sample_weight: Any = None,
        fit_intercept: bool = False,
    ) -> Problem:
        """A problem with targets −1 and +1 of which one may have no weight, or be missing.

        Then the loss pulls all margins one way. The regularisation stops the coefficients; a free
        intercept makes the loss as small as one likes.
        """
        made = cls(X, signs, "squared", lam, sample_weight, fit_intercept)
        made.loss = as_loss(loss)
        made.beta = float(made.loss.smoothness)
        made.is_smooth = bool(made.loss.smooth)
        if made.loss.classification:
            made.classes = np.array([-1.0, 1.0])
        return made

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

    @cached_property
    def curvature(self) -> float:
        """β or, for a smooth loss without one, the mean of c_j φ''_j at the best intercept."""
        if self.beta < math.inf or not self.is_smooth:
            return self.beta
        z, second = np.zeros(self.n), np.empty(self.n)
        z += self.best_intercept(z)
        second_derivatives(self.loss, z, self.y, self.sample_weight, second)
        return float(second.mean())

    @cached_property
    def mean_weight(self) -> float:
        """The mean of c_j: 1, unless an offset has become a part of them."""
        return float(self.sample_weight.mean()) if self.offset_size else 1.0

    @cached_property
    def slope_range(self) -> float:
        """The length of the interval of all slopes of a loss with kinks, each a jump by 1."""
        return float(len(self.loss.kinks(np.zeros(1))))  # type: ignore[attr-defined]

    @cached_property
    def target_size(self) -> float:
        """The root of the mean of c_j y_j²; 1 where targets are not subtracted from margins."""
        if self.classes is not None or (self.is_smooth and self.beta == math.inf):
            return 1.0
        return math.sqrt(float(self.sample_weight @ np.square(self.y)) / self.n)

    @cached_property
    def primal_at_zero(self) -> float:
        """P(0), the unit of the relative gap."""
        if self.classes is not None and not self.offset_size:
            at_zero = float(self.loss.value(0.0, 1.0))
            if at_zero == self.loss.value(0.0, -1.0):
                return at_zero  # whatever the labels: the weights have mean 1
        return float(sum_values(self.loss, np.zeros(1), self.y, self.sample_weight)) / self.n

    def without_data(self) -> Problem:
        """The loss, the targets and the weights, from which a best intercept can be found."""
        made = copy.copy(self)
        for name in ("matrix", "features", "examples"):
            made.__dict__.pop(name, None)
        return made

    def take(self, examples: IntArray) -> Problem:
        """The problem on some of the examples, with the same λ and the same mean weight."""
        weights = self.sample_weight[examples]
        weights *= len(weights) * self.mean_weight / weights.sum()
        return self._with(self.matrix.take(examples), self.y[examples], weights)

    def densified(self) -> Problem:
        """The same problem with its data stored as dense rows."""
        return self._with(self.matrix.densified(), self.y, self.sample_weight)

    def smoothed(self, gamma: float, alpha: FloatArray) -> Problem:
        """The problem with (γ/2)(a_j − α_j/c_j)² added to each φ*: smooth, with β = 1/γ.

        For non-smooth losses. It has the same loss with the kinks rounded, and the targets
        y_j + γ α_j/c_j: the nearer α is to the optimum, the nearer is its optimum to the true one.
        """
        c = self.sample_weight
        a = np.divide(alpha, c, out=np.zeros(self.n), where=c > 0)
        made = self._with(self.matrix, self.y + gamma * a, c)
        made.loss = self.loss.smoothed(gamma)  # type: ignore[attr-defined]
        made.beta, made.is_smooth = float(made.loss.smoothness), True
        return made

    def related(self, lam: float | None = None, targets: Any = None, loss: Any = None) -> Problem:
        """The problem with another λ, other targets or a loss with other parameters.

        The data is not copied. The targets are as in ``y``: −1 or +1 for a classification loss.
        """
        made = copy.copy(self)
        if loss is not None:
            made.loss = as_loss(loss)
            made.__dict__.pop("primal_at_zero", None)
        if lam is not None:
            made.lam = positive(lam)
        if targets is not None:
            if self.offset_size:
                raise ValueError("a problem with an offset or a prior takes no other targets.")
            made.y = frozen(other_targets(targets, self.loss, self.sample_weight))
            for name in ("primal_at_zero", "target_size", "curvature"):
                made.__dict__.pop(name, None)
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
        made = copy.copy(self)
        for name in KEPT:
            made.__dict__.pop(name, None)
        made.matrix, made.y, made.sample_weight = matrix, frozen(y), frozen(weights)
        made.n, made.d = matrix.shape
        made.shapes = (made.d,), (made.n,)
        return made

    def margins(self, w: FloatArray, intercept: float = 0.0) -> FloatArray:
        """z_j = ⟨x_j, w⟩ + b; without what is known of them by an offset or a prior."""
        z = self.matrix.times(w if self.units is None else self.units.inward(w))
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
        alpha, y, c = np.empty(self.n), self.y, self.sample_weight

        def part(cut: Cut) -> None:
            some = slice(*cut)
            derivatives(self.loss, z[some], y[some], c[some], alpha[some])

        for_each(part, example_parts(self.n))
        return np.negative(alpha, out=alpha)

    def sum_of_losses(self, z: FloatArray) -> float:
        """Σ_j c_j φ(z_j; y_j)."""

        def part(cut: Cut) -> float:
            some = slice(*cut)
            return float(sum_values(self.loss, z[some], self.y[some], self.sample_weight[some]))

        return float(tree_sum(for_each(part, example_parts(self.n))))

    def rebalanced(self, alpha: FloatArray) -> FloatArray:
        """α with its heavier side made smaller, so that Σ_j α_j = 0; α itself where it need not be.

        Dual methods with a free intercept meet the constraint only in the limit.
        """
        return rebalanced(alpha) if self.fit_intercept else alpha

    def primal_point(self, alpha: FloatArray) -> FloatArray:
        """w(α) = (1/(λn)) Σ_j α_j x_j."""
        w = self.matrix.transposed_times(alpha)
        w /= self.lam * self.n
        return w if self.units is None else self.units.outward(w)

    def primal(self, w: Any, intercept: float | None = None) -> float:
        """P(w), eq. (1); with a free intercept at ``intercept``, or at the best one for w."""
        w = vector(w, self.d, "w")
        if self.units is not None:
            return self.standard.primal(self.units.inward(w), intercept)
        z = self.matrix.times(w)
        b = self.best_intercept(z) if intercept is None else float(intercept)
        return self.primal_value(w, z + b if b else z)

    def dual(self, alpha: Any) -> float:
        """D(α), eq. (3); −inf where α is not feasible."""
        alpha = vector(alpha, self.n, "alpha")
        if self.units is not None:
            return self.standard.dual(alpha)
        if not self.balanced(alpha):
            return -np.inf
        conjugates = sum_conjugates(self.loss, alpha, self.y, self.sample_weight)
        w = self.primal_point(alpha)
        return -0.5 * self.lam * float(w @ w) - float(conjugates) / self.n

    def certify(
        self,
        w: Any = None,
        alpha: Any = None,
        intercept: float | None = None,
        tol: float = CERTIFIED_TOLERANCE,
    ) -> Certificate:
        """Compute P, D and their gap from scratch; the missing half of the pair is filled in.

        Without ``alpha``, α_j = −c_j φ'(z_j); without ``w``, w = w(α); without ``intercept``,
        the best one for ``w``. The gap is computed as the sum of the nonnegative terms

            P(w) − D(α) = (1/n) Σ_j c_j [φ(z_j) + φ*(−a_j) + a_j z_j] + (λ/2) ‖w − w(α)‖²,

        a_j = α_j/c_j, which keeps its digits where the difference P − D has lost them. A bound on
        the rounding error of the sum is added. Where that is more than a hundredth of the gap, and
        more than a tenth of the relative gap ``tol`` that is to be proved, the products with the
        data are made again in twice the precision.
        """
        if w is None and alpha is None:
            raise ValueError("certify needs w, alpha or both. Pass at least one of them.")
        if alpha is not None:
            alpha = vector(alpha, self.n, "alpha")
        if w is not None:
            w = vector(w, self.d, "w")
        if self.units is not None:
            v = None if w is None else self.units.inward(w)
            found = self.standard.certify(v, alpha, intercept, tol)
            return found._replace(w=self.units.outward(found.w) if w is None else w)
        try:
            return certify(self, w, alpha, intercept, tol)
        except NumbaError as error:
            raise explained(self.loss, error) from None

    def primal_value(self, w: FloatArray, z: FloatArray) -> float:
        """P(w) where the margins z, intercept included, are known."""
        return self.sum_of_losses(z) / self.n + 0.5 * self.lam * float(w @ w)

    def balanced(self, alpha: FloatArray) -> bool:
        """Whether Σ α_j = 0 up to rounding, which a free intercept requires."""
        return not self.fit_intercept or balanced(alpha)

    def relative(self, gap: float) -> float:
        """A gap divided by P(0), the unit of ``tol``."""
        if gap == 0.0:
            return 0.0
        return gap / self.primal_at_zero if self.primal_at_zero > 0 else np.inf
