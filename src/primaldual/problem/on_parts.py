"""The problem on data in parts: what one part is, and P, D and their gap as sums over parts.

α has one number per example and never leaves the parts. What is kept of it is a recipe: the point
(w, b) at whose margins it was taken, and a step (δ, δ_b) along which it was linearised,

    α_j = −c_j φ'(z_j) − c_j φ''(z_j) (⟨x_j, δ⟩ + δ_b),   z_j = ⟨x_j, w⟩ + b,

moved into the domain of φ*. With a free intercept δ_b is chosen so that Σ_j α_j = 0: a step of
Newton's method makes it so, and otherwise δ_b = Σ_j α_j / Σ_j c_j φ''(z_j), as ``into_plane`` does.
"""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._cached import cached_property
from .._types import FloatArray
from ..data.exact import UNIT
from ..losses.custom import as_loss, loss_name
from ..parts import Parts, PartsWarning
from .certificate import (
    Certificate,
    Sums,
    primal_value,
    proof,
    rounding_of,
    sum_of_gaps,
)
from .intercept import BALANCE_TOLERANCE, PLANE_STEPS
from .one_part import Extent, Fact, Marks, Part, Spec, fact_of, part_of
from .recipe import Dual
from .rounding import CERTIFIED_TOLERANCE, Norms, by_norm
from .targets import positive as positive_number

# A part this many times larger than the mean is named in a warning: the others wait for it.
UNBALANCED = 2.0
# Roundings of a term in NumPy's sum of up to 128 numbers: eight sums of 16, and their sum.
PLAIN_SUM = 20.0
# Below this many nonzeros a part is small whatever the others are: a round takes longer than it.
SMALL_PART = 100_000


class Pieces(NamedTuple):
    """The smallest parts."""

    parts: Parts
    sizes: list[int]  # the examples of each
    fitting: int  # how many of them memory holds at a time


class PartsProblem:
    """An L2-regularised linear model to be trained on data in parts.

    Parameters
    ----------
    parts : Parts
        Of ``Block`` each: examples, labels and weights.
    loss : str or loss
        As for ``Problem``; one with kinks has to have a smoothed version.
    lam : float
        λ > 0, as for ``Problem``.
    fit_intercept : bool
        Whether the model has an unpenalised intercept.
    positive : label, optional
        The class of +1, against all others; by default the larger of two labels.
    column : int, optional
        Of the targets, where y has several.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import solve
    >>> from primaldual.parts import cut
    >>> X = np.random.default_rng(0).standard_normal((300, 4))
    >>> result = solve(PartsProblem(cut(X, np.sign(X[:, 0]), 3), lam=0.1), tol=1e-8)
    >>> result.converged, result.rounds <= 8
    (True, True)
    """

    def __init__(
        self,
        parts: Parts,
        loss: Any = "logistic",
        lam: float = 1.0,
        fit_intercept: bool = False,
        positive: Any = None,
        column: int | None = None,
    ) -> None:
        self.loss = as_loss(loss)
        self.beta = float(self.loss.smoothness)
        self.is_smooth = bool(self.loss.smooth)
        if self.is_smooth and self.beta == math.inf:
            raise ValueError(
                f"loss {loss_name(self.loss)!r} has a φ'' without a bound, and the methods on data "
                "in parts need one. Use data in memory."
            )
        if not (self.is_smooth or hasattr(self.loss, "smoothed")):
            raise ValueError(
                f"loss {loss_name(self.loss)!r} has kinks, and the methods on data in parts need a "
                "smooth one, or one with a method smoothed. Use a smooth loss, or data in memory."
            )
        self.near: Any = np.zeros(())  # where the search for the best intercept begins
        self.lam = positive_number(lam)
        self.fit_intercept = bool(fit_intercept)
        self.raw = parts.metered()
        self.facts: list[Fact] = self.raw.map(
            fact_of, bool(self.loss.classification) and positive is None
        )
        self.n, self.d, self.matrix = extent_of(self.facts, parts)
        self._take_weights()
        self.classes = positive  # the label of +1; None for numbers
        self.column = column
        if positive is None and self.loss.classification:
            self.classes = _two_classes(self.facts, self.loss)
        self._prepare(self.n / self.total_weight)

    def _take_weights(self) -> None:
        """Add up the weights, and take the marks of the data."""
        total = sum(fact.weight for fact in self.facts if fact.weight is not None)
        # Checksums of the parts cover their targets and weights: checkpoints know them by these.
        self.y = self.matrix.stored.checksums
        self.sample_weight = self.matrix.stored.checksums
        self.is_weighted = any(fact.weight is not None for fact in self.facts)
        self.total_weight = float(total if self.is_weighted else self.n)
        if self.is_weighted and not 0 < total < math.inf:
            raise ValueError(f"sample_weight must have a positive, finite sum, got {total}.")

    def _spec(self, scale: float) -> Spec:
        """How blocks become parts."""
        return Spec(self.loss, self.d, self.classes, scale, self.fit_intercept, self.column)

    def _prepare(self, scale: float) -> None:
        """Turn the blocks into parts with targets and weights of mean 1."""
        self.spec = self._spec(scale)
        self.parts = self.raw.then(part_of, self.spec, each=self.facts)
        self.parts.meter = self.raw.meter

    def for_class(self, label: Any) -> PartsProblem:
        """The problem of one class against all others, on the same blocks."""
        return self._with(classes=label)

    def for_target(self, column: int) -> PartsProblem:
        """The problem of one of several targets, on the same blocks."""
        return self._with(column=column)

    def _with(self, **other: Any) -> PartsProblem:
        made = copy.copy(self)
        for name in ("primal_at_zero", "pieces"):
            made.__dict__.pop(name, None)
        made.raw, made.near = self.raw.metered(), np.zeros(())
        made.__dict__.update(other)
        made._prepare(self.spec.scale)
        return made

    @cached_property
    def pieces(self) -> Pieces | None:
        """The smallest parts, to be put together anew in every pass; None if they are far away."""
        raw = self.raw.apart()
        if raw is None or raw.count % self.raw.count:
            return None
        classification = self.facts[0].labels is not None
        facts = raw.map(fact_of, classification)
        parts = raw.then(part_of, self.spec, each=facts)
        fitting = raw.count if raw is self.raw else raw.count // self.raw.count
        return Pieces(parts, [fact.n for fact in facts], fitting)

    def metered(self) -> PartsProblem:
        """The same problem with a meter that begins at 0."""
        made = copy.copy(self)
        made.parts = self.parts.metered()
        return made

    def related(self, lam: float) -> PartsProblem:
        """The problem with another λ on the same parts."""
        made = self.metered()
        made.lam = positive_number(lam)
        return made

    @cached_property
    def slope_range(self) -> float:
        """The length of the interval of all slopes of a loss with kinks, each a jump by 1."""
        return float(len(self.loss.kinks(np.zeros(1))))  # type: ignore[attr-defined]

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
                return at_zero
        return float(self.parts.sum(loss_at_zero)) / self.n

    def relative(self, gap: float) -> float:
        """A gap divided by P(0), the unit of ``tol``."""
        if gap == 0.0:
            return 0.0
        return gap / self.primal_at_zero if self.primal_at_zero > 0 else np.inf

    def balanced(self, alpha: Dual) -> bool:
        """Whether Σ_j α_j = 0 up to rounding, which a free intercept requires."""
        largest = float(np.max(np.abs(alpha.total)))
        return not self.fit_intercept or largest <= BALANCE_TOLERANCE * alpha.size

    def plane_step(self, total: Any, curvature: Any) -> Any:
        """The change of the intercept that changes Σ_j c_j φ'_j by ``total``; 0 if none does."""
        return total / curvature if curvature > 0 else 0.0

    # ---- points: the coefficients with the intercept behind them, in one vector

    @property
    def ridge(self) -> FloatArray:
        """λn for every coefficient, 0 for the intercept."""
        return np.append(np.full(self.d, self.lam * self.n), 0.0)

    def joined(self, w: FloatArray | None, intercept: Any) -> FloatArray:
        """The point of a model."""
        return np.append(np.zeros(self.d) if w is None else w, intercept)

    def parted(self, point: FloatArray) -> tuple[FloatArray, Any]:
        """The coefficients and the intercept at a point."""
        return point[:-1], float(point[-1])

    def rebalanced(self, alpha: Dual) -> Dual:
        """α itself: the certificate moves it."""
        return alpha

    def best_intercept(self, scores: FloatArray, start: float | None = None) -> float:
        """0: the methods on parts train the intercept with the coefficients."""
        return 0.0

    def certify(
        self,
        w: Any = None,
        alpha: Dual | None = None,
        intercept: Any = None,
        tol: float = CERTIFIED_TOLERANCE,
    ) -> Certificate:
        """P, D and their gap from scratch, in a round; a few more to move α into its plane.

        The bound on its rounding errors is that of norms, whatever the tolerance.
        """
        if w is None:
            raise ValueError("certify needs w on data in parts: α never leaves them.")
        with np.errstate(over="ignore", invalid="ignore"):
            if alpha is None:
                alpha = self._at_best_intercept(w) if intercept is None else Dual(w, intercept)
            b = self._number(alpha.b + alpha.delta_b * (alpha.delta is not None))
            b = b if intercept is None else self._number(intercept)
            parts = self.parts
            kept = alpha.given
            if kept is not None:
                parts = parts.beside(with_dual, kept)
                alpha = replace(alpha, given=None)  # it need not travel twice
            for _ in range(PLANE_STEPS):
                sums = parts.sum(pair_sums, w, b, alpha)
                alpha = replace(alpha, total=sums.total, size=sums.sizes)
                if self.balanced(alpha) or not self.is_smooth:
                    break
                alpha.delta_b = alpha.delta_b + self.plane_step(sums.total, sums.curvature)
            apart = w - sums.product / (self.lam * self.n)
            size, distance = float(np.vdot(w, w)), float(np.vdot(apart, apart))
            made = Sums(sums.losses, sums.gaps, sums.noise, size, distance, self.beta)
            gap = sum_of_gaps(self, alpha, 0.0, 0.0, made)
            gap += float(np.vdot(np.abs(b), np.abs(sums.total))) / self.n
            norms = Norms(sums.square, sums.weighted, self.d, self.n)
            shift = float(np.max(np.abs(b))) + sums.targets
            error = by_norm(self, norms, made.size, sums.alpha_square, shift)
            gap += rounding_of(self, made, error) + self._rounding_of_total(b, sums.sizes)
            given = replace(alpha, given=kept)
            return proof(self, w, given, b, primal_value(self, made), gap)

    def _number(self, b: Any) -> Any:
        """An intercept in the type it has here."""
        return float(b)

    def _rounding_of_total(self, b: Any, sizes: Any) -> float:
        """What rounding of Σ_j α_j may add to |b Σ_j α_j|/n: each part has sums of pairs."""
        roundings = PLAIN_SUM + math.log2(self.n) + math.log2(len(self.facts))
        return float(np.max(np.abs(b)) * roundings * UNIT * np.sum(sizes) / self.n)

    def _at_best_intercept(self, w: FloatArray) -> Dual:
        """The dual point at w and an intercept that Newton's method on sums has found."""
        if not self.is_smooth:
            return Dual(w, self._bracketed_intercept(w))
        b = np.array(self.near)
        for _ in range(INTERCEPT_ROUNDS if self.fit_intercept else 0):
            total, size, curvature = self.parts.sum(slope_sums, w, self._number(b))
            step = self.plane_step(total, curvature)
            if np.max(np.abs(total)) <= 1e-12 * size or not np.any(step):
                break
            b = b - np.clip(step, -1.0, 1.0)
        self.near = b if self.fit_intercept else np.zeros_like(b)
        return Dual(w, self._number(self.near))

    def _bracketed_intercept(self, w: FloatArray) -> float:
        """The best intercept of a loss with kinks, by its values at many points in a few rounds."""
        if not self.fit_intercept:
            return 0.0
        reach = float(np.max([each or 0.0 for each in self.parts.map(reach_of, w)]))
        low, high = -reach, reach
        for _ in range(BRACKET_ROUNDS):
            places = np.linspace(low, high, BRACKET_POINTS)
            best = int(np.argmin(self.parts.sum(values_at, w, places)))
            low = places[max(best - 1, 0)]
            high = places[min(best + 1, BRACKET_POINTS - 1)]
        return float(places[best])


# Points and rounds of that search: an interval shrinks 16-fold in each.
BRACKET_POINTS, BRACKET_ROUNDS = 33, 4
# Rounds in search of the best intercept of a given w, at most: steps are at most 1 long.
INTERCEPT_ROUNDS = 30


def extent_of(facts: list[Fact], parts: Parts) -> tuple[int, int, Extent]:
    """n, d and the nonzeros; an error for parts of different width, a warning for large ones."""
    full = [(k, fact) for k, fact in enumerate(facts) if fact.n]
    if not full:
        raise ValueError(f"X must have at least one example, got {len(facts)} parts without any.")
    d = full[0][1].d
    for number, fact in full:
        if fact.d != d:
            raise ValueError(
                f"all parts must have the same features: part {full[0][0]} has {d}, part {number} "
                f"({parts.sources[number]}) has {fact.d}."
            )
    nnz, n = sum(fact.nnz for _, fact in full), sum(fact.n for _, fact in full)
    number, largest = max(full, key=lambda pair: pair[1].nnz)
    if largest.nnz > max(UNBALANCED * nnz / len(facts), SMALL_PART):
        warnings.warn(
            f"part {number} ({parts.sources[number]}) has {largest.nnz} nonzeros, "
            f"{largest.nnz * len(facts) / nnz:.1f} times the mean of the {len(facts)} parts: the "
            "others wait for it in every round. Cut the data into parts of equal size.",
            PartsWarning,
            stacklevel=3,
        )
    marks = Marks(np.array([fact.checksum for fact in facts]))
    return n, d, Extent((n, d), nnz, all(fact.is_sparse for _, fact in full), marks)


def _two_classes(facts: list[Fact], loss: Any) -> Any:
    """The two labels, over all parts."""
    classes = classes_of(facts)
    if len(classes) != 2:
        raise ValueError(
            f"y must have exactly two classes for loss {loss_name(loss)!r}, got {len(classes)} in "
            "all parts together. Train one problem per class, or use an estimator."
        )
    return classes[1]


def classes_of(facts: list[Fact]) -> Any:
    """The labels of all parts, sorted."""
    return np.unique(np.concatenate([fact.labels for fact in facts if fact.n]))


# --------------------------------------------------------------------------------------------
# Steps


class PairSums(NamedTuple):
    """What a certificate is made of, summed over parts; per class with softmax."""

    losses: float  # Σ_j c_j φ(z_j)
    gaps: float  # Σ_j c_j [φ(z_j) + φ*(−a_j) + a_j z_j]
    product: FloatArray  # Σ_j α_j x_j
    total: Any  # Σ_j α_j
    sizes: float  # Σ_j |α_j|
    curvature: Any  # Σ_j c_j φ''(z_j) at the point of the recipe
    noise: float  # the sizes of those terms of the gaps that cancel
    square: float  # Σ_j ‖x_j‖²
    weighted: float  # Σ_j c_j ‖x_j‖², or more
    alpha_square: float  # Σ_j α_j²
    targets: float  # of which no |y_j| is larger


def pair_sums(part: Any, w: FloatArray, b: Any, dual: Dual) -> PairSums:
    """The sums of a certificate on one part: w with its intercept, and α by its recipe."""
    alpha, _, second = dual_of(part, dual)
    losses, gaps, noise = part.gaps(part.margins(w, b), alpha)
    square = part.matrix.squared_norm
    total = np.ascontiguousarray(alpha.T).sum(axis=-1)  # sums of pairs of sums
    return PairSums(
        losses, gaps, part.product(alpha), total, float(np.abs(alpha).sum()),
        part.curvature(second), noise, square, float(part.sample_weight.max()) * square,
        float(np.vdot(alpha, alpha)), part.target_size,
    )  # fmt: skip


def dual_of(part: Any, dual: Dual) -> tuple[FloatArray, bool, FloatArray]:
    """α on one part, whether it was in its domain already, and c_j φ'' where it was taken."""
    if part.alpha is not None:
        return part.alpha, True, np.zeros(1)
    first, second = part.slopes(part.margins(dual.w, dual.b))
    if dual.delta is None:
        change = np.zeros_like(first) + dual.delta_b
    else:
        change = part.margins(dual.delta, dual.delta_b)
    alpha, inside = part.linearised(first, second, change)
    return alpha, inside, second


def with_dual(part: Any, alpha: FloatArray) -> Any:
    """The part with an α of its own."""
    if np.shape(alpha) != (part.n,):
        raise ValueError(f"α must have {part.n} entries here, got shape {np.shape(alpha)}.")
    return replace(part, alpha=alpha)


def slope_sums(part: Any, w: FloatArray, b: Any) -> tuple[Any, float, Any]:
    """Σ_j c_j φ', Σ_j |c_j φ'| and Σ_j c_j φ'' at the margins of w and b."""
    first, second = part.slopes(part.margins(w, b))
    return first.sum(axis=0), float(np.abs(first).sum()), part.curvature(second)


def reach_of(part: Part, w: FloatArray) -> float:
    """Of which no kink is farther from 0, as an intercept."""
    return float(np.abs(part.margins(w)).max()) + part.target_size + 1.0


def values_at(part: Part, w: FloatArray, places: FloatArray) -> FloatArray:
    """Σ_j c_j φ(z_j) for several intercepts."""
    z = part.margins(w)
    return np.array([part.value(z + b) for b in places])


def loss_at_zero(part: Part) -> float:
    """Σ_j c_j φ(0; y_j)."""
    return part.value(np.zeros(1))
