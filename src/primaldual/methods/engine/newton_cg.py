"""Truncated Newton: for features that are not too alike, and where descent is too slow.

One file because the kernel is one algorithm, and its parts are read beside its record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from ..._numba.clock import look_at_clock
from ..._numba.compile import inlined, kernel, kernel_part, reordered_kernel
from ..._types import FloatArray, Layout, Side
from ...complexity import Complexity
from ...problem import Problem
from ...samplings import Draws, Sampling
from ..base import CHUNK, Method
from .passes import (
    add_models,
    add_product,
    passes_by_parts,
    run_by_python,
    set_flat_changes,
    set_margins,
)
from .second_order import (
    ENOUGH,
    LEAST_GAP,
    LOOSEST,
    MOST_STEPS,
    line_search,
    linearised_dual,
    near_gaps,
    next_forcing,
    set_slopes,
    starting_point,
    temper,
    truncated_complexity,
)

# If the first Newton steps are to be short, each may take this many times more conjugate-gradient
# steps than the one before.
MORE_STEPS = 3
# Where the certificate does not confirm a gap at the target, they aim at this fraction of it.
STRICTER = 0.1
# After MANY_STEPS on a loss that is not quadratic they also stop when one lowers the model by less
# than this fraction of their average: the model will have changed by then.
MANY_STEPS, SLOW_STEP = 40, 0.02
# The work on one example in a product beside its nonzeros, in nonzeros: 3 to 6 ns.
EXAMPLE = 8
# What is known at w: nothing, its margins, also slopes and gradient, or a part of the next step.
NOTHING, MARGINS, GRADIENT, INSIDE = 0, 1, 2, 3


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


class Inner(NamedTuple):
    """Where conjugate gradients stand; the energy of a residual r is ⟨r, M⁻¹ r⟩."""

    first: float = 0.0  # energy before the first step
    last: float = 0.0  # before the last step; infinite if there was none
    now: float = 0.0
    fallen: float = 0.0  # by how much they lowered the model
    steps: int = 0  # in this Newton step so far


class Run(NamedTuple):
    """Where the method stands, beside its vectors."""

    b: float  # intercept
    most: int  # conjugate-gradient steps in this Newton step, at most
    forcing: float = LOOSEST  # the relative residual at which they stop
    gap: float = np.inf  # ‖∇P(w)‖²/(2λ), or that of w and α after a step that ends the search
    began: float = np.inf  # the gap before the Newton steps of this round
    linear: bool = False  # whether the gap is that of w and α: then ∇P(w) is not known
    known: int = MARGINS
    inner: Inner = Inner()
    models: int = 0  # made in this round
    products: int = 0  # made in this round

    @property
    def is_between_steps(self) -> bool:
        """Whether no Newton step is unfinished."""
        return self.known != INSIDE or self.inner.steps == 0


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    by_feature: FloatArray  # the ``vectors``, those of d + 1 entries
    by_example: FloatArray  # and those of n
    run: Run
    aim: float = 1.0  # the fraction of the tolerance that steps aim at

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

    @property
    def began(self) -> float:
        """The gap before the last call."""
        return self.run.began


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
    needs_beta: ClassVar[bool] = False
    samplings: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tol: float = 0.0, most: int = MOST_STEPS, budget: int = CHUNK) -> None:
        self.tol = tol
        self.most = most  # conjugate-gradient steps in the first Newton step, at most
        self.budget = budget  # nonzeros after which a call ends

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
        return State(problem, by_feature, by_example, Run(b, self.most))

    def advance(self, state: State, draws: Draws | None = None) -> float:
        """Newton steps until the gap is small enough or the budget is spent, at least one.

        A kernel call does not exceed the budget by more than a product: Ctrl-C is heard between.
        """
        p, run = state.problem, state.run
        target = max(self.tol, LEAST_GAP) * p.primal_at_zero
        if run.gap <= state.aim * target:
            state.aim *= STRICTER  # it was not proved: a free intercept may be what is off
        most = max(1, self.budget // product_work(p))
        passes = passes_by_parts(p)
        make_steps = _advance if passes is None else run_by_python(STEERING, passes)
        while True:
            look_at_clock()
            run = make_steps(
                p.matrix.by_example, p.loss, p.y, p.sample_weight, p.lam * p.n, p.fit_intercept,
                p.loss.quadratic, state.aim * target, most, state.by_feature, state.by_example, run,
            )  # fmt: skip
            state.run = run
            if run.is_between_steps:
                return 2.0 * (run.products + run.models) * p.matrix.nnz

    def gap_estimate(self, state: State) -> float:
        """The gap as computed along the way."""
        return state.run.gap

    def iterate(self, state: State) -> tuple[FloatArray, FloatArray | None]:
        """The current w and, after a step that led to it, its α.

        If there is a next step, it begins with fresh margins, so that rounding does not pile up.
        """
        if state.run.known != NOTHING:
            state.run = state.run._replace(known=NOTHING)
        return state.w, state.alpha if state.run.linear else None

    def complexity(self, problem: Problem, sampling: Sampling | None = None) -> Complexity:
        """√κ products with the data."""
        return truncated_complexity(problem)


def product_work(problem: Problem) -> int:
    """The work of a product with the Hessian, in nonzeros."""
    return problem.matrix.nnz + EXAMPLE * problem.n


@kernel
def _advance(  # type: ignore[no-untyped-def]
    examples, loss, y, c, lam_n, fit_intercept, quadratic, target, budget, by_feature, by_example,
    run,
):  # fmt: skip
    """Newton steps until the gap is at the target or ``budget`` products are made.

    The budget of one call may end inside a Newton step: the next call goes on from there.
    """
    v, n, inner = named(by_feature, by_example), y.size, run.inner
    known, b, gap, linear = run.known, run.b, run.gap, run.linear
    most, forcing, began = run.most, run.forcing, run.began
    models, products = run.models, run.products
    if known != INSIDE or inner.steps == 0:  # a new round, not the rest of a Newton step
        began, models, products = gap, 0, 0
    unit, end = 2 * lam_n * n, products + budget
    if known == NOTHING:
        set_margins(examples, v.w, b, v.z)
    if known < GRADIENT:
        set_slopes(loss, v.z, y, c, v.first, v.second)
        gap, known = _gradient(examples, lam_n, fit_intercept, v) / unit, GRADIENT
        began = gap
    while True:
        if known == GRADIENT:
            inner, models, known = _begin(v), models + 1, INSIDE
        before = inner.steps
        inner, reached = _conjugate_gradients(
            min(most - before, end - products), examples, lam_n, fit_intercept,
            0.0 if quadratic else forcing, ENOUGH * unit * target, inner, v,
        )  # fmt: skip
        products += inner.steps - before
        if not reached and inner.steps < most:  # the budget is spent inside a step
            break
        before = gap
        b, gap, linear, right = _step(
            examples, loss, y, c, lam_n, fit_intercept, unit * target, b, v
        )
        if right:
            inner, gap = _go_on(v, inner), _square(v.residual[:-1]) / unit
        elif linear:
            known = NOTHING
        else:
            gap, known = _gradient(examples, lam_n, fit_intercept, v) / unit, GRADIENT
        most = min(MORE_STEPS * most, MOST_STEPS)
        if reached:
            forcing = next_forcing(forcing, gap, before)
        if gap <= target or products >= budget or not gap < np.inf:
            break
    return Run(b, most, forcing, gap, began, linear, known, inner, models, products)


@kernel
def _gradient(examples, lam_n, fit_intercept, v):  # type: ignore[no-untyped-def]
    """Gradient and diagonal of the Hessian in one pass; the square of the features' gradient."""
    v.gradient[:], v.diagonal[:] = 0.0, 0.0
    slope, curvature = add_models(examples, v.first, v.second, v.gradient, v.diagonal)
    return end_gradient(slope, curvature, lam_n, fit_intercept, v)


@kernel
def end_gradient(slope, curvature, lam_n, fit_intercept, v):  # type: ignore[no-untyped-def]
    """Add the regularisation and what belongs to the intercept."""
    d = v.w.size
    for i in range(d):
        v.gradient[i] += lam_n * v.w[i]
        v.diagonal[i] += lam_n
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


@reordered_kernel
def _begin(v):  # type: ignore[no-untyped-def]
    """Before the first step of conjugate gradients on a new model: down its gradient."""
    v.change[:] = 0.0
    energy = 0.0
    for i in range(v.delta.size):
        v.delta[i], v.residual[i] = 0.0, -v.gradient[i]
        v.direction[i] = v.residual[i] / v.diagonal[i]
        energy += v.residual[i] * v.direction[i]
    return Inner(energy, np.inf, energy, 0.0, 0)


@kernel_part
def _go_on(v, inner):  # type: ignore[no-untyped-def]
    """Before more of them where the model has turned out to be right: none is lost.

    The residual is the gradient then.
    """
    v.change[:] = 0.0
    for i in range(v.delta.size):
        v.delta[i], v.gradient[i] = 0.0, -v.residual[i]
    return Inner(inner.now, inner.last, inner.now, 0.0, 0)


@kernel_part
def _conjugate_gradients(most, examples, lam_n, fit_intercept, forcing, enough, inner, v):  # type: ignore[no-untyped-def]
    """Up to ``most`` steps of preconditioned conjugate gradients; and whether they are done.

    A product reads every example once: ⟨x_j, v⟩, then its share of the result. Examples on which
    the loss is flat are left out.
    """
    d = v.w.size
    first, last, now, fallen, steps = inner
    for _ in range(most):
        curvature = _turn(now / last, lam_n, v)
        shift = v.direction[d] if fit_intercept else 0.0
        more, v.product[d] = add_product(
            examples, v.second, v.direction, shift, v.moved, v.product, fit_intercept
        )
        curvature += more
        steps += 1
        if not curvature > 0.0:
            return Inner(first, last, now, fallen, steps), True
        length = now / curvature
        fall = 0.5 * length * now
        fallen += fall
        last = now
        now, square = _move(length, v)
        slow = steps >= MANY_STEPS and fall * steps <= SLOW_STEP * fallen
        if now <= forcing * forcing * first or square <= enough or (forcing > 0.0 and slow):
            return Inner(first, last, now, fallen, steps), True
    return Inner(first, last, now, fallen, steps), False


@reordered_kernel
def _turn(ratio, lam_n, v):  # type: ignore[no-untyped-def]
    """The next direction, and its product with λn; return the curvature that belongs to it."""
    curvature, d = 0.0, v.w.size
    for i in range(d + 1):
        v.direction[i] = v.residual[i] / v.diagonal[i] + ratio * v.direction[i]
    for i in range(d):
        v.product[i] = lam_n * v.direction[i]
        curvature += v.product[i] * v.direction[i]
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


@kernel_part
def _step(examples, loss, y, c, lam_n, fit_intercept, enough, b, v):  # type: ignore[no-untyped-def]
    """Move along delta. If that was a full step, its linearised dual point may prove it small.

    Return the intercept; that gap and True, or infinity and False; and whether the model was right,
    but the step proved nothing: no curvature has changed. With the residual r of the linear system,
    w(α) = w + δ + r/(λn).
    """
    n, d = v.z.size, v.w.size
    slope, along, square, left = _lengths(lam_n, v)
    set_flat_changes(examples, v.second, v.delta, v.change)
    first, second = np.empty(n), np.empty(n)
    s = line_search(loss, v.z, v.change, y, c, slope, along, square, first, second)
    _go(s, v)
    gap = np.inf
    if s == 1.0 and left <= enough and not fit_intercept:
        consistent = linearised_dual(loss, y, c, v.first, v.second, v.change, v.alpha)
        if consistent:
            gap = near_gaps(loss, v.z, v.alpha, y, c, first, second) / n + left / (2 * lam_n * n)
    changed = _adopt(first, second, v)
    linear = gap <= enough / (2 * lam_n * n)
    return b + s * v.delta[d], gap, linear, s == 1.0 and changed == 0 and not linear


@kernel
def _go(s, v):  # type: ignore[no-untyped-def]
    """Move w and the margins along the step."""
    for i in range(v.w.size):
        v.w[i] += s * v.delta[i]
    for j in range(v.z.size):
        v.z[j] += s * v.change[j]


@kernel
def _adopt(first, second, v):  # type: ignore[no-untyped-def]
    """Take over the slopes after a step; return how many curvatures have changed."""
    changed = 0
    for j in range(second.size):
        changed += second[j] != v.second[j]
        v.first[j], v.second[j] = first[j], second[j]
    return changed


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


# These lead from pass to pass, and are run by Python where threads share the passes.
STEERING = (_advance, _gradient, _conjugate_gradients, _step)
