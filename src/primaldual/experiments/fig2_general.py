"""Figure 2, left half: matrices on which the dual method suffers most."""

from __future__ import annotations

from typing import Any

from primaldual import Problem, advise, structure_cost
from primaldual.datasets import normalize_average, random_labels, worst_case

from .drawing import look, new_figure, plot_error
from .record import Claim, Item, Row, grouped, number
from .training_error import Race, race

SHAPES = ((1000, 1000), (100, 100_000))  # features × examples, as in the paper
LEVEL = 1e-2  # part of P(0) − P* at which passes are compared


def worst_for_the_dual(d: int, n: int) -> Problem:
    """X(1, r, r), divided by the average length of its examples; random labels, λ = 1/n."""
    X = normalize_average(worst_case(d, n, "dual"))
    return Problem(X, random_labels(n, seed=0), loss="logistic", lam=1 / n)


def run(quick: bool = False) -> Item:
    """Error against passes of both methods on the worst case of Theorem 3."""
    shapes = SHAPES if not quick else ((1000, 1000), (100, 10_000))
    seeds = (0,) if quick else (0, 1, 2)
    max_passes = 300 if quick else 3000
    panels: list[tuple[int, int, Race]] = []
    facts: list[Row] = []
    curves: list[Row] = []
    claims: list[Claim] = []
    for d, n in shapes:
        problem = worst_for_the_dual(d, n)
        outcome = race(problem, max_passes if n <= 1000 else max_passes // 3, seeds)
        panels.append((d, n, outcome))
        facts.append(_facts(d, n, problem, outcome))
        curves += outcome.rows(d=d, n=n)
        claims.append(_claim(d, n, problem, outcome))
    return Item(
        name="fig2_general",
        title="Figure 2, general data: the dual's worst case",
        claims=claims,
        errata=[
            "The step for the logistic loss is printed as Δ = η (φ' + α) with "
            "η = min_j q_j λn/(β v_j + λn). The sign is wrong and 1/q_j is missing: "
            "Δ_j = −(η/q_j)(φ' + α_j). The printed step diverges; with the sign alone put right it "
            "is about n times slower. The curves use the right one.",
        ],
        remarks=[
            "a, b, c and the labels are not given in the paper. Here a = 1, "
            "b = c = 0.1 √((d−1)/(n(n−1))), which puts C_P/C_D 1 % above its lower bound 1/d, and "
            "labels are random.",
        ],
        note=(
            "One example with entries a, one feature with entries b ≪ a, nothing else. Logistic "
            "loss, λ = 1/n, importance sampling, start at zero. A pass is as many visited nonzeros "
            "as the data has."
        ),
        figures={"fig2_general": draw(panels)},
        captions={
            "fig2_general": (
                "Training error against passes, logarithmic from 1 on: primal blue, dual orange."
            )
        },
        tables={"fig2_general": facts, "fig2_general_curves": curves},
        shown=("fig2_general",),
    )


def _facts(d: int, n: int, problem: Problem, outcome: Race) -> Row:
    C_P, C_D = structure_cost(problem.features), structure_cost(problem.examples)
    return {
        "d": d,
        "n": n,
        "C_P": C_P,
        "C_D": C_D,
        "C_P/C_D": C_P / C_D,
        "T_P/T_D": advise(problem).ratio,
        "P(0) − P*": outcome.first_error,
        "primal passes to 1e-2": outcome.passes_to("primal", LEVEL),
        "dual passes to 1e-2": outcome.passes_to("dual", LEVEL),
        "passes made by the dual": outcome.longest("dual"),
    }


def _claim(d: int, n: int, problem: Problem, outcome: Race) -> Claim:
    primal, dual = outcome.passes_to("primal", LEVEL), outcome.passes_to("dual", LEVEL)
    behind = (
        f"{number(dual)} passes"
        if dual < float("inf")
        else f"more than the {number(outcome.longest('dual'))} passes made"
    )
    measured = (
        f"To {LEVEL:g} of the first error: primal {number(primal)} passes, dual {behind}. "
        f"Predicted T_P/T_D = {number(advise(problem).ratio)}."
    )
    if n <= d:
        said = f"{grouped(d)} × {grouped(n)}: for a square data set a large speed-up of the primal."
    else:
        said = (
            f"{grouped(d)} × {grouped(n)}: the primal is still faster, but the optimum is so "
            "close to the first guess that the difference is hard to see."
        )
        if n != SHAPES[1][1]:
            said += f" (The paper has n = {grouped(SHAPES[1][1])}.)"
        measured += f" P(0) − P* = {outcome.first_error:.1e}."
    return Claim(said, measured, primal < dual)


def draw(panels: list[tuple[int, int, Race]]) -> Any:
    """One panel per shape."""
    with look():
        figure = new_figure(7.2, 3.1)
        for axes, (d, n, outcome) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            plot_error(axes, outcome)
            axes.set_title(f"d = {grouped(d)}, n = {grouped(n)}")
            axes.set(xlabel="passes over the data", ylabel="P(w) − P*")
            axes.set_xscale("symlog", linthresh=1)
            axes.set_xticks([0, 1, 10, 100, 1000], labels=["0", "1", "10", "100", "1000"])
            axes.set_xlim(0, max(outcome.longest(side) for side in outcome.curves))
            axes.legend(loc="lower left")
    return figure
