"""The command line. Heavy imports happen inside the commands, so that --help is quick."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from .contest import FaceOff
    from .problem import Problem
    from .result import Result

app = typer.Typer(
    help="Primal or dual? Train linear models on the cheaper side, with a certificate.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Make the commands subcommands even while there are few of them."""


@app.command()
def reproduce(
    items: Annotated[
        list[str] | None,
        typer.Argument(help="all, fig1, fig2, fig3, table1 or prediction."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller data, fewer passes.")] = False,
    out: Annotated[str, typer.Option("-o", "--out", help="Folder to write to.")] = "reproduction",
) -> None:
    """Regenerate the paper's figures and table, and test its claim on more data."""
    from .experiments import reproduce as run

    console = Console(highlight=False)
    try:
        run(items or ["all"], quick=quick, out=out, progress=console.print)
    except (ValueError, ModuleNotFoundError) as error:
        raise typer.BadParameter(str(error)) from None
    console.print(f"Open {out}/index.html")


def _between_zero_and_one(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"must lie between 0 and 1, got {value:g}")
    return value


@app.command()
def faceoff(
    tol: Annotated[
        float,
        typer.Option(help="Relative duality gap to reach.", callback=_between_zero_and_one),
    ] = 1e-6,
    max_passes: Annotated[
        float, typer.Option(help="Give up after this many passes.", min=0)
    ] = 2000,
    max_time: Annotated[
        float | None, typer.Option(help="Give up after this many seconds a run.", min=0)
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same bits.", min=0)] = 0,
    methods: Annotated[
        str, typer.Option(help="Contenders, separated by commas, or 'all'.")
    ] = "nsync,quartz",
) -> None:
    """Predict the cheaper side, run the contenders, and say whether the prediction held."""
    from .advice import advise
    from .methods import METHODS

    names = list(METHODS) if methods == "all" else [name.strip() for name in methods.split(",")]
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise typer.BadParameter(
            f"unknown {', '.join(unknown)}; known are {', '.join(METHODS)}", param_hint="--methods"
        )
    console = Console(highlight=False)
    for title, problem in _embedded_problems():
        console.rule(f"[bold]{title}", align="left")
        console.print(repr(problem), style="dim")
        console.print()
        console.print(str(advise(problem)), soft_wrap=True)
        console.print()
        outcome = _run(console, problem, names, tol, max_passes, max_time, seed)
        console.print(str(outcome), soft_wrap=True)
        console.print(verdict(outcome), soft_wrap=True)
        console.print()


def verdict(outcome: FaceOff) -> str:
    """One line: did the prediction hold, and by which ratios."""
    names = outcome.results
    if "nsync" not in names or "quartz" not in names:
        return f"{outcome.fastest} needs the fewest passes."
    primal, dual = names["nsync"][0], names["quartz"][0]
    winner = outcome.fastest_of(["nsync", "quartz"])
    side = "primal" if winner == "nsync" else "dual"
    word = "held" if side == outcome.advice.side else "failed"
    return (
        f"The prediction {word}: {side} needs fewer passes. "
        f"primal/dual predicted {_number(outcome.advice.ratio)}, "
        f"measured {_ratio(primal, dual, 'passes')} in passes, "
        f"{_ratio(primal, dual, 'seconds')} in seconds."
    )


def _ratio(primal: Result, dual: Result, what: str) -> str:
    """Primal over dual as measured; a bound where one side did not arrive."""
    if not primal.converged and not dual.converged:
        return "nothing (neither side arrived)"
    ratio = _number(getattr(primal, what) / max(getattr(dual, what), 1e-12))
    if not dual.converged:
        return f"< {ratio}"
    return ratio if primal.converged else f"> {ratio}"


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def _embedded_problems() -> Iterator[tuple[str, Problem]]:
    """The paper's worst case both ways round, and a real data set."""
    from . import datasets
    from .problem import Problem

    d = n = 500
    for side in ("dual", "primal"):
        X = datasets.normalize_average(datasets.worst_case(d, n, side))
        y = datasets.random_labels(n, seed=0)
        title = f"The paper's worst case for the {side} method, {n} examples, {d} features"
        yield title, Problem(X, y, loss="logistic", lam=1 / n)
    X, y = datasets.breast_cancer()
    X = datasets.normalize_average(X)
    yield "Breast cancer (scikit-learn)", Problem(X, y, loss="logistic", lam=1 / len(y))


def _run(
    console: Console,
    problem: Problem,
    names: list[str],
    tol: float,
    max_passes: float,
    max_time: float | None,
    seed: int,
) -> FaceOff:
    """Run the contenders under a progress bar that fills with the digits of the gap."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from .contest import faceoff as run_faceoff

    digits = -math.log10(tol)
    columns = (
        TextColumn("{task.description:14}"),
        BarColumn(bar_width=30),
        TextColumn("gap {task.fields[gap]}  {task.fields[passes]} passes"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(name: str, progress: Any) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=digits, gap="", passes="")
            done = -math.log10(max(progress.relative_gap, tol))
            bars.update(
                tasks[name],
                completed=max(done, 0.0),
                gap=f"{progress.relative_gap:.1e}",
                passes=f"{progress.passes:.0f}",
            )

        return run_faceoff(
            problem, names, tol=tol, max_passes=max_passes, max_time=max_time,
            seeds=(seed,), callback=show,
        )  # fmt: skip


def main() -> None:
    """Entry point of the ``primaldual`` command."""
    app()
