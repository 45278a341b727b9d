"""Newton's method for the softmax loss on parts: one sum of Hessians of all classes per step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._types import FloatArray
from ...data.columns import transposed_times
from ...data.matrix import Matrix
from ...problem.softmax_part import SoftmaxPart
from ..engine.second_order import cholesky_solver
from .newton import PartsNewton
from .point import State, is_lower, move_to, shorter, work


class Model(NamedTuple):
    """What one round brings, of all classes together."""

    value: float  # Σ_j c_j φ(z_j)
    gradient: FloatArray
    curvature: FloatArray  # of the intercepts
    hessian: FloatArray  # its lower triangle


class PartsSoftmaxNewton(PartsNewton):
    r"""Newton's method on all classes at once, its Hessian a sum over parts.

    Algorithm
    ---------
    ::

        repeat
            sum over the parts, at W + δ:   P,   ∇P,   H as in ``softmax_newton``
            W += δ,   or W += s δ where P did not fall
            solve  (H + λn I) δ = −n ∇P(W)                         at the driver

    Rate
    ----
    5 to 12 rounds, whatever the number of parts.

    Cost
    ----
    A message of (K (d + 1))² numbers per part and round.

    When to use
    -----------
    Up to a few thousand coefficients of all K classes together.
    """

    def advance(self, state: State, draws: Any = None) -> float:
        """One round, and two more where the step was too long."""
        p, step = state.problem, state.extra
        before = p.parts.meter.rounds
        if step is None:
            self._take_model(state, state.point)
            return work(p, before)
        assert state.gradient is not None
        slope, point = float(state.gradient @ step), state.point + step
        model = p.parts.sum(softmax_model, point)
        if not is_lower(state, _value(state, model, point), slope):
            point = state.point + shorter(state, step) * step
            model = None
        self._take_model(state, point, model)
        return work(p, before)

    def _take_model(self, state: State, point: FloatArray, model: Model | None = None) -> None:
        """Take a point, and solve for the next step."""
        p = state.problem
        model = p.parts.sum(softmax_model, point) if model is None else model
        ridge = p.ridge
        move_to(state, (_value(state, model, point), model.gradient + ridge * point,
                        model.curvature), point)  # fmt: skip
        assert state.gradient is not None
        width = len(model.hessian) // p.shapes[0][0]  # d, or d + 1 with intercepts
        rows = state.gradient.reshape(-1, p.d + 1)[:, :width]
        solve = cholesky_solver(
            model.hessian + np.diag(ridge.reshape(-1, p.d + 1)[:, :width].ravel()), 0.0
        )
        step = np.zeros((len(rows), p.d + 1))
        step[:, :width] = solve(-rows.ravel()).reshape(-1, width)
        state.extra = step.ravel()

    def label(self, state: State) -> str:
        """The name of the method."""
        return "parts_softmax_newton"


def _value(state: State, model: Model, point: FloatArray) -> float:
    """N P at the point of a model."""
    return model.value + 0.5 * float((state.problem.ridge * point) @ point)


def softmax_model(part: SoftmaxPart, point: FloatArray) -> Model:
    """The sums of one part at a point."""
    z = part.scores(point)
    first, second = part.slopes(z)
    hessian = hessian_of_losses(part.matrix, part.sample_weight, second, part.fit_intercept)
    return Model(part.value(z), part.gathered(first), part.curvature(second), hessian)


def hessian_of_losses(
    matrix: Matrix, c: FloatArray, probabilities: FloatArray, fit_intercept: bool
) -> FloatArray:
    """The Hessian of the losses in (w_1, b_1, …, w_K, b_K), its lower triangle.

    Its blocks add up to 0 over the classes: two different classes have
    −Σ_j c_j p_jk p_jm x_j x_jᵀ, and what one class shares with itself is minus the sum of those.
    """
    classes, d = probabilities.shape[1], matrix.shape[1]
    width = d + fit_intercept
    first, second = np.tril_indices(classes, -1)
    h = c[:, None] * np.maximum(probabilities[:, first] * probabilities[:, second], 0)
    shared = np.zeros((len(first), width, width))
    for pair in range(len(first)):
        shared[pair, :d, :d] = matrix.gram_of_features(np.ascontiguousarray(h[:, pair]))
    if fit_intercept:
        shared[:, d, :d] = transposed_times(matrix, h).T
        shared[:, d, d] = h.sum(axis=0)
    shared = np.tril(shared) + np.tril(shared, -1).swapaxes(1, 2)
    out = np.zeros((classes, width, classes, width))
    for k, m, block in zip(first, second, shared, strict=True):
        out[k, :, m] = -block
        out[k, :, k] += block
        out[m, :, m] += block
    if fit_intercept:
        # The loss does not change along equal intercepts: any curvature there will do.
        out[:, d, :, d] += max(np.trace(out[:, d, :, d]), 1e-300) / classes**2
    return out.reshape(classes * width, classes * width)
