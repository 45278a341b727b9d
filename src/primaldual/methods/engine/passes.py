"""The passes over the data in a truncated Newton step, and the same by parts for threads to share.

What leads from pass to pass is compiled with them for small problems. Where a pass is shared, the
same source is run by Python, which takes microseconds per pass: there is one version of the method.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ..._numba.compile import kernel
from ..._threads import for_each
from ..._types import FloatArray
from ...data.pieces import Cut, example_parts, merged, parts, some_rows
from ...data.rows import hessian_product, row_add_model, row_dot
from ...parts.tree import tree_sum
from ...problem import Problem
from ...problem.slopes import MOVED, into_dual
from .long_steps import search_by_parts
from .second_order import near_gaps, set_slopes


@kernel
def set_margins(examples, w, b, z):  # type: ignore[no-untyped-def]
    """z_j = ⟨x_j, w⟩ + b."""
    for j in range(z.size):
        z[j] = row_dot(examples, j, w) + b


@kernel
def add_models(examples, first, second, gradient, diagonal):  # type: ignore[no-untyped-def]
    """Add what the losses of some examples give to both; return it for the intercept."""
    slope, curvature = 0.0, 0.0
    for j in range(first.size):
        if first[j] != 0.0 or second[j] != 0.0:
            row_add_model(examples, j, first[j], second[j], gradient, diagonal)
            slope += first[j]
            curvature += second[j]
    return slope, curvature


@kernel
def add_product(examples, second, direction, shift, moved, product, fit_intercept):  # type: ignore[no-untyped-def]
    """Add what some examples give to the product of the Hessian with a direction.

    Return the curvature that belongs to it and, for an intercept, Σ_j h_j moved_j.
    """
    curvature = hessian_product(examples, second, direction, shift, moved, product)
    total = 0.0
    if fit_intercept:
        for j in range(second.size):
            if second[j] != 0.0:
                total += second[j] * moved[j]
    return curvature, total


@kernel
def set_flat_changes(examples, second, delta, change):  # type: ignore[no-untyped-def]
    """The change of the margins where the loss is flat: products leave these examples out."""
    for j in range(second.size):
        if second[j] == 0.0:
            change[j] = row_dot(examples, j, delta) + delta[-1]


def run_by_python(kernels: tuple[Any, ...], passes: dict[str, Any]) -> Callable[..., Any]:
    """The first of the kernels, run by Python with these passes; the others are those it calls."""
    names: dict[str, Any] = {}
    for each in kernels:
        source = getattr(each, "py_func", each)  # itself where compilation is switched off
        names = names or {**source.__globals__, **passes}
        names[source.__name__] = FunctionType(source.__code__, names, source.__name__)
    found: Callable[..., Any] = names[getattr(kernels[0], "py_func", kernels[0]).__name__]
    return found


def passes_by_parts(p: Problem) -> dict[str, Any] | None:
    """The passes by their names, each on parts of the examples; None where there is one part."""
    rows, d = p.matrix.by_example, p.d
    cuts = parts(rows, d)
    if len(cuts) == 1:
        return None
    return _of_rows(rows, d, cuts) | _of_losses(p)


def _of_rows(rows: Any, d: int, cuts: list[Cut]) -> dict[str, Any]:
    """The passes that read the data."""

    def margins(examples: Any, w: FloatArray, b: float, z: FloatArray) -> None:
        for_each(lambda cut: set_margins(some_rows(rows, *cut), w, b, z[slice(*cut)]), parts(rows))

    def models(
        examples: Any, first: FloatArray, second: FloatArray, gradient: Any, diagonal: Any
    ) -> Any:
        def part(cut: Cut) -> Any:
            at, sums = slice(*cut), np.zeros((2, d))
            return sums, add_models(some_rows(rows, *cut), first[at], second[at], *sums)

        found = for_each(part, parts(rows, 2 * d))
        total = merged([sums for sums, _ in found])
        gradient[:d] += total[0]
        diagonal[:d] += total[1]
        return tree_sum(rest for _, rest in found)

    def product(
        examples: Any, second: FloatArray, direction: FloatArray, shift: float,
        moved: FloatArray, out: FloatArray, fit_intercept: bool,
    ) -> Any:  # fmt: skip
        def part(cut: Cut) -> Any:
            at, sums = slice(*cut), np.zeros(d + 1)
            some = some_rows(rows, *cut)
            return sums, add_product(
                some, second[at], direction, shift, moved[at], sums, fit_intercept
            )

        found = for_each(part, cuts)
        out += merged([sums for sums, _ in found])
        return tree_sum(rest for _, rest in found)

    def flat(examples: Any, second: FloatArray, delta: FloatArray, change: FloatArray) -> None:
        def part(cut: Cut) -> None:
            at = slice(*cut)
            set_flat_changes(some_rows(rows, *cut), second[at], delta, change[at])

        for_each(part, parts(rows))

    return {
        "set_margins": margins, "add_models": models, "add_product": product,
        "set_flat_changes": flat,
    }  # fmt: skip


def _of_losses(p: Problem) -> dict[str, Any]:
    """The passes that evaluate the loss."""
    cuts = example_parts(p.n)

    def slopes(loss: Any, z: Any, y: Any, c: Any, first: Any, second: Any) -> None:
        def part(cut: Cut) -> None:
            at = slice(*cut)
            set_slopes(loss, z[at], y[at], c[at], first[at], second[at])

        for_each(part, cuts)

    def search(
        loss: Any, z: Any, change: Any, y: Any, c: Any, slope: float, along: float, square: float,
        first: Any, second: Any,
    ) -> float:  # fmt: skip
        return search_by_parts(p, z, change, (slope, along, square), (first, second))

    def dual(loss: Any, y: Any, c: Any, first: Any, second: Any, change: Any, alpha: Any) -> bool:
        def part(cut: Cut) -> Any:
            at = slice(*cut)
            return into_dual(loss, y[at], c[at], first[at], second[at], change[at], alpha[at])

        moved, size = tree_sum(for_each(part, cuts))
        return bool(moved <= MOVED * size)

    def gaps(loss: Any, z: Any, alpha: Any, y: Any, c: Any, first: Any, second: Any) -> float:
        def part(cut: Cut) -> float:
            at = slice(*cut)
            return float(near_gaps(loss, z[at], alpha[at], y[at], c[at], first[at], second[at]))

        return float(tree_sum(for_each(part, cuts)))

    return {"set_slopes": slopes, "line_search": search, "linearised_dual": dual, "near_gaps": gaps}
