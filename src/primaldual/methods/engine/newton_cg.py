"""Truncated Newton: for features that are not too alike, and where descent is too slow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from ..._numba.compile import inlined, kernel, reordered_kernel
from ..._types import FloatArray, Layout, Side
from ...complexity import Complexity
from ...data.rows import hessian_product, row_add_model, row_dot
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import CHUNK, Method
from .second_order import (
    LOOSEST,
    line_search,
    linearised_dual,
    near_gaps,
    next_forcing,
    set_slopes,
    starting_point,
    temper,
)

# Conjugate-gradient steps in one Newton step, at most. Where the first ones are to be short, each
# may take so many times more than the one before.
MOST_STEPS, MORE_STEPS = 1000, 3
# They stop when the gap ‖∇P‖²/(2λ) of the model has this part of its target, or of this part of
# P(0) if the target is smaller.
ENOUGH = 0.5
LEAST_GAP = 1e-20
# Where a gap at the target turns out not to be enough, they aim at this part of it.
STRICTER = 0.1
# After this many steps on a loss that is not quadratic they also stop when one lowers the model by
# less than this fraction of their average: the model will have changed by then.
MANY_STEPS, SLOW_STEP = 40, 0.02
# What is known of them: the energy ⟨residual, M⁻¹ residual⟩ before the first, before the last and
# now, by how much they lowered the model, and their number.
BEFORE, EARLIER, NOW, FALLEN, STEPS = 0, 1, 2, 3, 4
ENERGIES = 5  # so many numbers
# Up to this size several Newton steps are made in one call, until they have visited so many
# nonzeros; an example counts as that many more. The longest step then takes a quarter of a second.
SMALL, AT_ONCE = 100_000, 400_000
EXAMPLE = 8
# What is known of a point: w alone, its margins too, or also slopes, gradient and diagonal.
NOTHING, MARGINS, SLOPES = 0, 1, 2


class Vectors(NamedTuple):
    """All that a Newton step reads and writes; by feature, with the intercept's part behind."""

    w: FloatArray  # primal iterate, without the intercept
    gradient: FloatArray  # n ∇P(w)
    diagonal: FloatArray  # of the Hessian, or its root: the preconditioner
    delta: FloatArray  # the step
    residual: FloatArray  # what it leaves of the linear system
    direction: FloatArray  # of conjugate gradients
    product: FloatArray  # of the Hessian with it
    z: FloatArray  # the margins of w
    first: FloatArray  # c_j φ'_j at them
    second: FloatArray  # and c_j φ''_j
    moved: FloatArray  # the margins' change along the direction, where the loss is curved
    change: FloatArray  # along the step
    alpha: FloatArray  # the dual point of a full step


BY_FEATURE, BY_EXAMPLE = 7, 6  # of these


@inlined
def named(by_feature: FloatArray, by_example: FloatArray) -> Vectors:
    """The rows of two arrays by their names: arrays are handed over faster than their rows."""
    return Vectors(
        by_feature[0][:-1], by_feature[1], by_feature[2], by_feature[3], by_feature[4],
        by_feature[5], by_feature[6], by_example[0], by_example[1], by_example[2], by_example[3],
        by_example[4], by_example[5],
    )  # fmt: skip


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    by_feature: FloatArray  # the ``vectors``, those of d + 1 entries
    by_example: FloatArray  # and those of n
    intercept: FloatArray  # its one entry
    most: int  # conjugate-gradient steps in the next Newton step
    forcing: float = LOOSEST  # the relative residual at which they stop
    gap: float = np.inf  # ‖∇P(w)‖²/(2λ), or that of w and α after a step that ends the search
    began: float = np.inf  # the gap before the last call's steps
    linear: bool = False  # whether the gap is that of w and α: then ∇P(w) is not known
    known: int = MARGINS  # what need not be made afresh before the next step
    right: bool = False  # whether the model of the last step still holds: conjugate gradients go on
    energies: FloatArray = field(default_factory=lambda: np.empty(ENERGIES))  # see BEFORE
    aim: float = 1.0  # the part of the tolerance that steps aim at

    @property
    def vectors(self) -> Vectors:
        """Views, so that there is one of each also after the state was saved."""
        return named(self.by_feature, self.by_example)

    @property
    def w(self) -> FloatArray:
        """The primal iterate."""
        return self.by_feature[0, :-1]

    @property
    def alpha(self) -> FloatArray:
        """The dual point of the last step, if it was full."""
        return self.by_example[-1]


class NewtonCG(Method):
    r"""Newton's method whose linear systems are solved by preconditioned conjugate gradients.

    Algorithm
    ---------
    ::

        repeat
            H = XᵀDiag(c ∘ φ''(z))X + λn I,   M = Diag(H), or its root with n < d
            δ ≈ −H⁻¹ n ∇P(w)      by conjugate gradients preconditioned by M, to residual η_k
            w += s δ,   s = 1 or from a line search on P(w + s δ)
            α_j = −c_j φ'_j(z_j) − h_j ⟨x_j, δ⟩     where the residual r is small enough
            η_{k+1} = min(η_k, max(η_k², fall of the gap)),   gap = ‖∇P(w)‖²/(2λ)
            or η_0 again, where the gap did not fall

    The diagonal preconditioner makes it indifferent to the units of the features, its root less
    sensitive, which is better where most features are rare. A product reads
    every example once, and leaves out those on which the loss is flat. After a full step
    w(α) = w + δ + r/(λn): the gap is that of the quadratic model and ‖r‖²/(2λn²), which is smaller
    than ‖∇P‖²/(2λ), and costs no gradient. Where no φ''_j has changed, the model holds at the new
    point too: r is the gradient there, and conjugate gradients go on as if they had not stopped.

    Rate
    ----
    K = √(1 + βR²/λ) products with the Hessian, R² = max_j ‖x_j‖².

    Cost
    ----
    W = 2‖X‖₀ per product.

    When to use
    -----------
    More examples than features that are not too alike; or data too badly conditioned for
    coordinate descent, as with features in different units.

    References
    ----------
    .. [1] C.-Y. Hsia, W.-L. Chiang, C.-J. Lin. "Preconditioned conjugate gradient methods in
       truncated Newton frameworks for large-scale linear classification", ACML 2018.
    """

    side: ClassVar[Side] = "primal"
    layout: ClassVar[Layout] = "by_example"
    free_intercept: ClassVar[bool] = True
    samplings: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tol: float = 0.0, most: int = MOST_STEPS) -> None:
        self.tol = tol
        self.most = most  # in the first Newton step

    def start(
        self,
        problem: Problem,
        sampling: Sampling | None = None,
        w: FloatArray | None = None,
        alpha: FloatArray | None = None,
        rng: Generator | None = None,
    ) -> State:
        """The state at ``w``, at w(α), or at zero."""
        by_feature = np.empty((BY_FEATURE, problem.d + 1))
        by_example = np.empty((BY_EXAMPLE, problem.n))
        if w is None and alpha is None and not problem.fit_intercept:
            by_feature[0], by_example[0], b = 0.0, 0.0, 0.0
        else:
            w, b, z = starting_point(problem, w, alpha)
            by_feature[0, :-1], by_example[0] = w, z
        return State(problem, by_feature, by_example, np.array([b]), self.most)

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """One truncated Newton step, or several of a small problem."""
        p = state.problem
        unit = 2 * p.lam * p.n**2  # what ‖n∇P‖² is divided by
        target = max(self.tol, LEAST_GAP) * p.primal_at_zero
        if state.gap <= state.aim * target:
            state.aim *= STRICTER  # it was not proved: a free intercept may be what is off
        enough = unit * state.aim * target
        quadratic = p.loss.quadratic
        data = (
            p.matrix.by_example, p.loss, p.y, p.sample_weight, p.lam * p.n, p.fit_intercept, enough,
            state.intercept,
        )  # fmt: skip
        known, state.known = state.known, SLOPES
        if makes_all_steps(p):
            (
                models, products, state.most, state.forcing, state.began, state.gap, state.linear
            ) = _steps(
                products_in_a_call(p), known, state.most, state.forcing, state.gap, quadratic,
                *data, state.by_feature, state.by_example,
            )  # fmt: skip
        else:
            v, models, products, reached = state.vectors, 0, 0, 0
            if known == NOTHING:
                v.z[:] = p.margins(v.w, float(state.intercept[0]))
            if known < SLOPES:
                set_slopes(p.loss, v.z, p.y, p.sample_weight, v.first, v.second)
                state.gap, state.right = _evaluate(p, v), False
            state.began = state.gap
            if not state.right:
                _begin(v, state.energies)
                models = 1
            # A call makes as many as take a moment, so that Ctrl-C is heard between two.
            some = max(1, CHUNK // max(p.matrix.nnz, 1))
            forcing = 0.0 if quadratic else state.forcing
            while not reached and products < state.most:
                made, reached = _conjugate_gradients(
                    min(some, state.most - products), p.matrix.by_example, p.lam * p.n,
                    p.fit_intercept, forcing, ENOUGH * enough, state.energies, v,
                )  # fmt: skip
                products += made
            state.gap, state.linear, state.right = _step(*data, v)
            if state.right:
                state.gap = float(_go_on(v, state.energies)) / unit
            elif not state.linear:
                state.gap = _evaluate(p, v)
            state.most = min(MORE_STEPS * state.most, MOST_STEPS)
            if reached:
                state.forcing = next_forcing(state.forcing, state.gap, state.began)
        if state.linear:
            state.known = NOTHING
        return (2.0 * products + 2.0 * models) * p.matrix.nnz

    def gap_estimate(self, state: State) -> float:
        """The gap as computed along the way."""
        return state.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and, after a step that led to it, its α.

        If there is a next step, it begins with fresh margins, so that rounding does not pile up.
        """
        state.known = NOTHING
        return state.w, state.alpha if state.linear else None

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """√κ products with the data, κ = 1 + β max ‖x_j‖²/λ bounding the condition number."""
        largest = float(problem.examples.squared_norms.max())
        kappa = 1 + problem.beta * largest / problem.lam
        return Complexity(float(np.sqrt(kappa)), 2 * problem.matrix.nnz, problem.matrix.nnz)


def makes_all_steps(problem: Problem) -> bool:
    """Whether the problem is so small that one call makes many steps."""
    return _size(problem) <= SMALL


def products_in_a_call(problem: Problem) -> int:
    """How many products such a call makes before it returns."""
    return AT_ONCE // _size(problem)


def _size(problem: Problem) -> int:
    """The work of a product, in nonzeros."""
    return problem.matrix.nnz + EXAMPLE * problem.n


def _evaluate(p: Problem, v: Vectors) -> float:
    """Gradient and diagonal of the Hessian where the slopes are known; ‖∇P(w)‖²/(2λ)."""
    square = _gradient(p.matrix.by_example, p.lam * p.n, p.fit_intercept, v)
    return float(square) / (2 * p.lam * p.n**2)


@kernel
def _gradient(examples, lam_n, fit_intercept, v):  # type: ignore[no-untyped-def]
    """Gradient and diagonal of the Hessian in one pass; the square of the features' gradient."""
    d = v.w.size
    for i in range(d):
        v.gradient[i], v.diagonal[i] = lam_n * v.w[i], lam_n
    slope, curvature = 0.0, 0.0
    for j in range(v.z.size):
        if v.first[j] != 0.0 or v.second[j] != 0.0:
            row_add_model(examples, j, v.first[j], v.second[j], v.gradient, v.diagonal)
            slope += v.first[j]
            curvature += v.second[j]
    v.gradient[d] = slope if fit_intercept else 0.0
    v.diagonal[d] = curvature if fit_intercept and curvature > 0.0 else 1.0
    if v.z.size < d:
        temper(v.diagonal)
    return _square(v.gradient[:d])


@reordered_kernel
def _square(vector):  # type: ignore[no-untyped-def]
    """‖vector‖²."""
    square = 0.0
    for i in range(vector.size):
        square += vector[i] * vector[i]
    return square


@kernel
def _begin(v, energies):  # type: ignore[no-untyped-def]
    """Before the first step of conjugate gradients."""
    v.change[:] = 0.0
    energies[BEFORE] = energies[NOW] = _first_direction(v)
    energies[FALLEN] = energies[STEPS] = 0.0


@kernel
def _go_on(v, energies):  # type: ignore[no-untyped-def]
    """Before more of them where the model has turned out to be right: none is lost.

    The residual is the gradient then; return the square of the features' part.
    """
    d = v.w.size
    v.change[:] = 0.0
    for i in range(d + 1):
        v.delta[i], v.gradient[i] = 0.0, -v.residual[i]
    energies[BEFORE], energies[FALLEN], energies[STEPS] = energies[NOW], 0.0, 1.0
    return _square(v.gradient[:d])


@reordered_kernel
def _first_direction(v):  # type: ignore[no-untyped-def]
    """Down the gradient, in units that make the diagonal 1; the energy of the residual."""
    energy = 0.0
    for i in range(v.delta.size):
        v.delta[i], v.residual[i] = 0.0, -v.gradient[i]
        v.direction[i] = v.residual[i] / v.diagonal[i]
        energy += v.residual[i] * v.direction[i]
    return energy


@kernel
def _conjugate_gradients(most, examples, lam_n, fit_intercept, forcing, enough, energies, v):  # type: ignore[no-untyped-def]
    """Some steps of preconditioned conjugate gradients; their number, and 1 if they are done.

    A product reads every example once: ⟨x_j, v⟩, then its share of the result. Examples on which
    the loss is flat are left out.
    """
    d = v.w.size
    for step in range(most):
        if energies[STEPS] > 0.0:
            ratio = energies[NOW] / energies[EARLIER]
            for i in range(d + 1):
                v.direction[i] = v.residual[i] / v.diagonal[i] + ratio * v.direction[i]
        curvature, corner = _multiply(lam_n, v.direction, v.product), 0.0
        shift = v.direction[d] if fit_intercept else 0.0
        curvature += hessian_product(examples, v.second, v.direction, shift, v.moved, v.product)
        if fit_intercept:
            for j in range(v.z.size):
                if v.second[j] != 0.0:
                    corner += v.second[j] * v.moved[j]
        v.product[d] = corner
        if not curvature > 0.0:
            return step + 1, 1
        length = energies[NOW] / curvature
        fall = 0.5 * length * energies[NOW]
        energies[FALLEN] += fall
        energies[STEPS] += 1.0
        energy, square = _move(length, v)
        energies[EARLIER], energies[NOW] = energies[NOW], energy
        if energy <= forcing * forcing * energies[BEFORE] or square <= enough:
            return step + 1, 1
        slow = fall * energies[STEPS] <= SLOW_STEP * energies[FALLEN]
        if forcing > 0.0 and slow and energies[STEPS] >= MANY_STEPS:
            return step + 1, 1
    return most, 0


@reordered_kernel
def _multiply(lam_n, direction, product):  # type: ignore[no-untyped-def]
    """Begin the product of the Hessian with a direction by that of λn; return the curvature."""
    curvature, d = 0.0, product.size - 1
    for i in range(d):
        product[i] = lam_n * direction[i]
        curvature += product[i] * direction[i]
    return curvature


@reordered_kernel
def _move(length, v):  # type: ignore[no-untyped-def]
    """A step along the direction; the energy of the residual then, and its square.

    Of examples on a flat side ``moved`` is not known: ``_step`` makes their ``change`` afresh.
    """
    energy, square = 0.0, 0.0
    for i in range(v.delta.size):
        v.delta[i] += length * v.direction[i]
        v.residual[i] -= length * v.product[i]
        energy += v.residual[i] * v.residual[i] / v.diagonal[i]
        square += v.residual[i] * v.residual[i]
    for j in range(v.change.size):
        v.change[j] += length * v.moved[j]
    return energy, square


@kernel
def _step(examples, loss, y, c, lam_n, fit_intercept, enough, b, v):  # type: ignore[no-untyped-def]
    """Move along delta. If that was a full step, its linearised dual point may prove it small.

    Return that gap and True, or infinity and False; and whether the model was right, but the step
    proved nothing: no curvature has changed. With the residual r of the linear system,
    w(α) = w + δ + r/(λn).
    """
    n, d = v.z.size, v.w.size
    slope, along, square, left = _lengths(lam_n, v)
    for j in range(n):
        if v.second[j] == 0.0:
            v.change[j] = row_dot(examples, j, v.delta) + v.delta[d]
    first, second = np.empty(n), np.empty(n)
    s = line_search(loss, v.z, v.change, y, c, slope, along, square, first, second)
    for i in range(d):
        v.w[i] += s * v.delta[i]
    b[0] += s * v.delta[d]
    for j in range(n):
        v.z[j] += s * v.change[j]
    gap = np.inf
    if s == 1.0 and left <= enough and not fit_intercept:
        consistent = linearised_dual(loss, y, c, v.first, v.second, v.change, v.alpha)
        if consistent:
            gap = near_gaps(loss, v.z, v.alpha, y, c, first, second) / n + left / (2 * lam_n * n)
    bent = 0
    for j in range(n):
        bent += second[j] != v.second[j]
        v.first[j], v.second[j] = first[j], second[j]
    linear = gap <= enough / (2 * lam_n * n)
    return gap, linear, s == 1.0 and bent == 0 and not linear


@reordered_kernel
def _lengths(lam_n, v):  # type: ignore[no-untyped-def]
    """n⟨∇P, δ⟩, λn⟨w, δ⟩, λn‖δ‖² and ‖r‖²."""
    d = v.w.size
    slope, along, square, left = v.gradient[d] * v.delta[d], 0.0, 0.0, 0.0
    for i in range(d):
        slope += v.gradient[i] * v.delta[i]
        along += lam_n * v.w[i] * v.delta[i]
        square += lam_n * v.delta[i] * v.delta[i]
        left += v.residual[i] * v.residual[i]
    return slope, along, square, left


@kernel
def _steps(  # type: ignore[no-untyped-def]
    budget, known, most, forcing, gap, quadratic,
    examples, loss, y, c, lam_n, fit_intercept, enough, b, by_feature, by_example
):  # fmt: skip
    """Newton steps of a small problem, as ``advance`` makes them, until so many products are made.

    Return the number of models and products, and what has become of ``most``, ``forcing``, ``gap``
    and ``linear``, behind the gap before the steps.
    """
    v, energies, right = named(by_feature, by_example), np.empty(ENERGIES), False
    n, models, products = v.z.size, 0, 0
    target = enough / (2 * lam_n * n)
    if known == NOTHING:
        for j in range(n):
            v.z[j] = row_dot(examples, j, v.w) + b[0]
    if known < SLOPES:
        set_slopes(loss, v.z, y, c, v.first, v.second)
        gap = _gradient(examples, lam_n, fit_intercept, v) / (2 * lam_n * n)
    began = gap
    while True:
        if not right:
            _begin(v, energies)
            models += 1
        made, reached = _conjugate_gradients(
            most, examples, lam_n, fit_intercept, 0.0 if quadratic else forcing, ENOUGH * enough,
            energies, v,
        )  # fmt: skip
        products, before = products + made, gap
        gap, linear, right = _step(examples, loss, y, c, lam_n, fit_intercept, enough, b, v)
        if right:
            gap = _go_on(v, energies) / (2 * lam_n * n)
        elif not linear:
            gap = _gradient(examples, lam_n, fit_intercept, v) / (2 * lam_n * n)
        most = min(MORE_STEPS * most, MOST_STEPS)
        if reached:
            forcing = next_forcing(forcing, gap, before)
        if gap <= target or products >= budget or not gap < np.inf:
            return models, products, most, forcing, began, gap, linear
