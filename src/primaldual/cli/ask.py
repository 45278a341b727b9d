"""Primal or dual? ``advise`` predicts, ``faceoff`` measures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from . import data
from .options import (
    Alpha,
    C,
    Contenders,
    DataFile,
    Epsilon,
    Format,
    Impute,
    Json,
    Lam,
    LossOption,
    MaxFeatures,
    MaxLine,
    MaxPasses,
    MaxRatio,
    MaxTime,
    NoIntercept,
    OptionalFile,
    Page,
    Seed,
    Target,
    Task,
    TaskOption,
    Tol,
    WithIntercept,
)
from .terminal import Race, histogram, in_options, remark, say, say_json, short, table, working

if TYPE_CHECKING:
    from ..advice import Advice
    from ..face_off import FaceOff
    from ..problem import Problem


def advise(
    file: DataFile,
    loss: LossOption = None,
    task: TaskOption = Task.auto,
    C: C = None,
    lam: Lam = None,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    no_intercept: NoIntercept = False,
    tol: Tol = 1e-6,
    format: Format = None,
    target: Target = None,
    impute: Impute = None,
    max_features: MaxFeatures = None,
    max_ratio: MaxRatio = None,
    max_line: MaxLine = None,
    as_json: Json = False,
) -> None:
    """Look at the data, and predict which side is cheaper and why."""
    source = data.Reading(format, target, impute, max_features, max_ratio, max_line)
    strength = data.Strength(C, lam, alpha)
    given = data.labelled(source.read(file), loss, task)
    with working("looking at the data"):
        from ..advice import advise as ask

        problem = data.problem(given, strength, epsilon, not no_intercept)
        advice = ask(problem)
        model = data.estimator(
            given, data.Strength(None, problem.lam, None), epsilon, False,
            tol=tol, fit_intercept=not no_intercept,
        )  # fmt: skip
        predicted = model.estimate(given.table.X, given.y)
    if as_json:
        say_json(_advice_numbers(given, problem, advice, predicted, tol))
        return
    _show_advice(given, problem, advice, predicted, tol)


def _show_advice(
    given: data.Labelled, problem: Problem, advice: Advice, predicted: dict[str, Any], tol: float
) -> None:
    """What ``advise`` prints."""
    say(given.describe())
    if given.question():
        say(given.question())
    for side in (problem.features, problem.examples):
        say()
        for line in histogram(side.counts, side.by):
            say(line)
    say()
    say(f"loss {given.loss}, λ = {problem.lam:.3g}, to a relative gap of {tol:g}", bold=True)
    say(str(advice))
    say()
    rows = [
        (
            name,
            predicted[name]["method"],
            short(predicted[name]["passes"]),
            short(predicted[name]["seconds"]),
        )
        for name in ("primal", "dual")
    ]
    for line in table(("predicted", "method", "passes", "seconds"), rows):
        say(line)
    say(f"fit would start with {predicted['method']}, on the {predicted['side']} side.")


def _advice_numbers(
    given: data.Labelled, problem: Problem, advice: Advice, predicted: dict[str, Any], tol: float
) -> dict[str, Any]:
    """What ``advise --json`` prints."""
    sides = {"primal": (advice.d, advice.primal), "dual": (advice.n, advice.dual)}
    return {
        "source": given.table.source,
        "examples": problem.n,
        "features": problem.d,
        "nonzeros": problem.matrix.nnz,
        "density": problem.matrix.nnz / max(problem.n * problem.d, 1),
        "loss": given.loss,
        "lam": problem.lam,
        "tol": tol,
        "side": advice.side,
        "ratio": advice.ratio,
        "reason": advice.reason,
        **{
            name: {
                "coordinates": size,
                "iterations": costs.iterations,
                "cost": costs.cost,
                "total": costs.total,
                "predicted": predicted[name],
            }
            for name, (size, costs) in sides.items()
        },
        "engine": {"side": predicted["side"], "method": predicted["method"]},
    }


def faceoff(
    file: OptionalFile = None,
    methods: Contenders = "nsync,quartz",
    loss: LossOption = None,
    task: TaskOption = Task.auto,
    C: C = None,
    lam: Lam = None,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    intercept: WithIntercept = False,
    tol: Tol = 1e-6,
    max_passes: MaxPasses = 2000,
    max_time: MaxTime = None,
    seed: Seed = 0,
    format: Format = None,
    target: Target = None,
    impute: Impute = None,
    max_features: MaxFeatures = None,
    max_ratio: MaxRatio = None,
    max_line: MaxLine = None,
    html: Page = None,
    as_json: Json = False,
) -> None:
    """Predict the cheaper side, run the contenders, and say whether the prediction held."""
    source = data.Reading(format, target, impute, max_features, max_ratio, max_line)
    strength = data.Strength(C, lam, alpha)
    names = _names(methods)
    if html is not None:
        _require_page(html, file)
    if file is None:
        problems = _embedded_problems()
    else:
        given = data.labelled(source.read(file), loss, task)
        made = data.problem(given, strength, epsilon, intercept)
        title = ", ".join(filter(None, (given.describe(), given.question())))
        problems = iter([(title, made, given.table.feature_names)])
    outcomes = []
    for number, (title, problem, features) in enumerate(problems, start=1):
        if not as_json:
            _introduce(title, problem)
        outcome = _run(problem, names, tol, max_passes, max_time, seed)
        outcomes.append(_numbers(outcome))
        if not as_json:
            _conclude(outcome)
        if html is not None:
            place = html if file is not None else html.with_stem(f"{html.stem}-{number}")
            _write_page(outcome, place, features, title)
    if as_json:
        say_json(outcomes[0] if file is not None else outcomes)


def _require_page(html: Path, file: str | None) -> None:
    from ..report.drawing import require_plots

    require_plots()
    data.require_place(html, file)


def _names(methods: str) -> list[str]:
    from ..methods import METHODS

    names = list(METHODS) if methods == "all" else [name.strip() for name in methods.split(",")]
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise typer.BadParameter(
            f"unknown {', '.join(unknown)}; known are {', '.join(METHODS)}", param_hint="--methods"
        )
    return list(dict.fromkeys(names))


def _introduce(title: str, problem: Problem) -> None:
    from ..advice import advise as ask

    say(title, bold=True)
    say(repr(problem))
    say()
    say(str(ask(problem)))
    say()


def _conclude(outcome: FaceOff) -> None:
    say(str(outcome))
    verdict = _numbers(outcome)["verdict"]
    say(f"{verdict['headline']}.", bold=True)
    for sentence in verdict["sentences"]:
        say(in_options(sentence))
    say()


def _numbers(outcome: FaceOff) -> dict[str, Any]:
    from ..report import numbers

    return numbers(outcome)


def _write_page(outcome: FaceOff, place: Path, features: list[str] | None, title: str) -> None:
    import shlex

    from ..report import page

    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    text = page(outcome, feature_names=features, command=command, title=title)
    place.write_text(text, encoding="utf-8")
    remark(f"Page written to {place}")


def _embedded_problems() -> Iterator[tuple[str, Problem, list[str] | None]]:
    """The paper's worst case both ways round, and a real data set."""
    from .. import datasets
    from ..problem import Problem

    d = n = 500
    for side in ("dual", "primal"):
        X = datasets.normalize_average(datasets.worst_case(d, n, side))
        y = datasets.random_labels(n, seed=0)
        title = f"The paper's worst case for the {side} method, {n} examples, {d} features"
        yield title, Problem(X, y, loss="logistic", lam=1 / n), None
    X, y = datasets.breast_cancer()
    X = datasets.normalize_average(X)
    yield "Breast cancer (scikit-learn)", Problem(X, y, loss="logistic", lam=1 / len(y)), None


def _run(
    problem: Problem,
    names: list[str],
    tol: float,
    max_passes: float,
    max_time: float | None,
    seed: int,
) -> FaceOff:
    """Run the contenders, each with a live line."""
    from ..face_off import faceoff as run

    with Race(tol, max_passes) as race:
        for name in names:
            race.add(name)
        return run(
            problem, names, tol=tol, max_passes=max_passes, max_time=max_time, seeds=(seed,),
            callback=race.show,
        )  # fmt: skip
