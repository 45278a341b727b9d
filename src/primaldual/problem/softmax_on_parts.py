"""The softmax loss on data in parts: one problem for all classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._types import FloatArray
from ..parts import Parts
from .multinomial import SMOOTHNESS
from .on_parts import PartsProblem, classes_of, extent_of
from .one_part import Spec, fact_of
from .targets import positive as positive_number


class PartsMultinomial(PartsProblem):
    """A linear model for several classes with the softmax loss, to be trained on data in parts.

    Parameters
    ----------
    parts : Parts
        Of ``Block`` each: examples, labels and weights.
    lam : float
        λ > 0, as for ``Multinomial``.
    fit_intercept : bool
        Whether the classes have unpenalised intercepts; their sum is 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from primaldual import solve
    >>> from primaldual.parts import cut
    >>> from primaldual.problem.softmax_on_parts import PartsMultinomial
    >>> X, y = load_iris(return_X_y=True)
    >>> result = solve(PartsMultinomial(cut(X, y, 3), lam=0.01, fit_intercept=True), tol=1e-8)
    >>> result.w.shape, result.converged
    ((3, 4), True)
    """

    loss = None  # type: ignore[assignment]

    def __init__(self, parts: Parts, lam: float = 1.0, fit_intercept: bool = False) -> None:
        self.beta, self.is_smooth = SMOOTHNESS, True
        self.lam = positive_number(lam)
        self.fit_intercept = bool(fit_intercept)
        self.raw = parts.metered()
        self.facts = self.raw.map(fact_of, True)
        self.n, self.d, self.matrix = extent_of(self.facts, parts)
        self._take_weights()
        self.classes = classes_of(self.facts)
        if len(self.classes) < 2:
            raise ValueError(f"y must have at least two classes, got only {self.classes[0]!r}.")
        self.near = np.zeros(len(self.classes))
        self._prepare(self.n / self.total_weight)

    def for_class(self, label: Any) -> PartsProblem:
        """Refused: this is the problem of all classes."""
        raise TypeError("a softmax problem has no problem for one class; use PartsProblem.")

    @property
    def shapes(self) -> tuple[tuple[int, int], tuple[int, int]]:  # type: ignore[override]
        """The shapes of W and α."""
        return (len(self.classes), self.d), (self.n, len(self.classes))

    @property
    def primal_at_zero(self) -> float:
        """P(0) = log K, the unit of the relative gap."""
        return math.log(len(self.classes))

    def plane_step(self, total: FloatArray, curvature: FloatArray) -> FloatArray:
        """The change of the intercepts, of sum 0, that changes Σ_j c_j (p_j − e_{y_j}) by it."""
        # The loss does not change along equal intercepts: any curvature there will do.
        fixed = curvature + max(float(np.trace(curvature)), 1e-300) / len(total) ** 2
        try:
            step = np.linalg.solve(fixed, total)
        except np.linalg.LinAlgError:
            return np.zeros_like(total)
        return np.asarray(step - step.mean())

    @property
    def ridge(self) -> FloatArray:
        """λn for every coefficient, 0 for the intercepts."""
        return np.tile(np.append(np.full(self.d, self.lam * self.n), 0.0), len(self.classes))

    def joined(self, w: FloatArray | None, intercept: FloatArray) -> FloatArray:
        """The point of a model."""
        w = np.zeros(self.shapes[0]) if w is None else w
        return np.column_stack([w, intercept]).ravel()

    def parted(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The coefficients and the intercepts at a point."""
        rows = point.reshape(len(self.classes), -1)
        return np.ascontiguousarray(rows[:, :-1]), rows[:, -1] - rows[:, -1].mean()

    def _number(self, b: Any) -> FloatArray:
        return np.array(b, dtype=np.float64)

    def _spec(self, scale: float) -> Spec:
        return Spec(None, self.d, self.classes, scale, self.fit_intercept)
