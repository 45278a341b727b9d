"""One part of the data with the softmax loss: a score per example and class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray, IntArray
from ..data.columns import squared_times, times, transposed_times
from ..data.matrix import Matrix
from .softmax_sums import softmax_divergence, softmax_dual, softmax_loss


@dataclass
class SoftmaxPart:
    """What ``Part`` is for one score per example, with an (n, K) array in place of its vectors.

    Slopes are c_j (p_j − e_{y_j}), and in place of second derivatives stand the probabilities p_j.
    """

    matrix: Matrix
    codes: IntArray  # the class of each example
    sample_weight: FloatArray
    classes: int
    fit_intercept: bool
    alpha: FloatArray | None = None  # where it is given and does not follow from w

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.codes)

    @property
    def d(self) -> int:
        """The number of features."""
        return self.matrix.shape[1]

    def margins(self, w: FloatArray, b: FloatArray) -> FloatArray:
        """⟨x_j, w_k⟩ + b_k for a (K, d) array of coefficients."""
        return times(self.matrix, np.ascontiguousarray(w.T)) + b

    def scores(self, point: FloatArray) -> FloatArray:
        """The margins at a point."""
        rows = point.reshape(self.classes, -1)
        return self.margins(rows[:, :-1], rows[:, -1])

    def value(self, z: FloatArray) -> float:
        """Σ_j c_j [log Σ_k exp(z_jk) − z_j,y_j]."""
        return float(softmax_loss(z, np.zeros(self.classes), self.codes, self.sample_weight))

    def slopes(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """c_j (p_j − e_{y_j}) and p_j."""
        alpha = self._dual(z)
        c = self.sample_weight[:, None]
        p = -np.divide(alpha, c, out=np.zeros_like(alpha), where=c > 0)
        p[np.arange(self.n), self.codes] += 1.0
        return -alpha, np.maximum(p, 0.0)

    def _dual(self, z: FloatArray) -> FloatArray:
        """c_j (e_{y_j} − p_j)."""
        alpha, none = np.empty_like(z), np.zeros(self.classes)
        softmax_dual(z, none, self.codes, self.sample_weight, alpha, np.empty(self.classes))
        return alpha

    def gathered(self, first: FloatArray) -> FloatArray:
        """Σ_j first_jk (x_j, 1), class after class; last entries are 0 without intercepts."""
        last = first.sum(axis=0) * self.fit_intercept
        return np.column_stack([transposed_times(self.matrix, first).T, last]).ravel()

    def curved(self, second: FloatArray, change: FloatArray) -> FloatArray:
        """c_j (Diag(p_j) − p_j p_jᵀ) u_j."""
        inner = (second * change).sum(axis=1, keepdims=True)
        return np.asarray(self.sample_weight[:, None] * second * (change - inner))

    def diagonal(self, second: FloatArray) -> FloatArray:
        """The diagonal of the Hessian; 0 for intercepts that are not there."""
        h = self.sample_weight[:, None] * second * (1.0 - second)
        last = h.sum(axis=0) * self.fit_intercept
        return np.column_stack([squared_times(self.matrix, h).T, last]).ravel()

    def curvature(self, second: FloatArray) -> FloatArray:
        """Σ_j c_j (Diag(p_j) − p_j p_jᵀ), the curvature in the intercepts."""
        weighted = self.sample_weight[:, None] * second
        return np.asarray(np.diag(weighted.sum(axis=0)) - second.T @ weighted)

    def linearised(
        self, first: FloatArray, second: FloatArray, change: FloatArray
    ) -> tuple[FloatArray, bool]:
        """−(first + curved change), q_j in the simplex; whether it was there already."""
        wanted = -first - self.curved(second, change)
        rows, c = np.arange(self.n), self.sample_weight
        alpha = np.minimum(wanted, 0.0)
        alpha[rows, self.codes] = 0.0
        given = -alpha.sum(axis=1)
        alpha *= np.minimum(1.0, np.divide(c, given, out=np.ones(self.n), where=given > c))[:, None]
        alpha[rows, self.codes] = -alpha.sum(axis=1)
        moved, size = np.abs(alpha - wanted).sum(), np.abs(alpha).sum()
        return alpha, bool(moved <= 1e-9 * size)

    def gaps(self, z: FloatArray, alpha: FloatArray) -> tuple[float, float, float]:
        """The loss, Σ_j c_j KL(q_j ‖ p_j), and the loss as what is rounded."""
        value = self.value(z)
        apart = softmax_divergence(alpha, self._dual(z), self.codes, self.sample_weight)
        return value, float(apart), value

    def product(self, alpha: FloatArray) -> FloatArray:
        """Σ_j α_jk x_j, of shape (K, d)."""
        return np.ascontiguousarray(transposed_times(self.matrix, alpha).T)

    @property
    def target_size(self) -> float:
        """0: labels are no numbers that are added."""
        return 0.0
