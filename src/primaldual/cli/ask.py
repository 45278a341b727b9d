"""Primal or dual? ``advise`` predicts, ``faceoff`` measures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from . import data, shard
from .groups import Answer, Asked, Reading, Strength
from .live import Race, working
from .options import (
    Contenders,
    DataFile,
    MaxPasses,
    MaxTime,
    NoIntercept,
    OptionalFile,
    Page,
    PricedThreads,
    Seed,
    Tol,
    WithIntercept,
)
from .terminal import bins_of, histogram, in_options, remark, say, say_json

if TYPE_CHECKING:
    from ..advice import Advice
    from ..face_off import FaceOff
    from ..problem import Problem


def advise(
    file: DataFile,
    asked: Asked,
    strength: Strength,
    source: Reading,
    answer: Answer,
    no_intercept: NoIntercept = False,
    tol: Tol = 1e-6,
    threads: PricedThreads = None,
) -> None:
    """Look at the data, and predict which side is cheaper and why."""
    if shard.is_folder(file):
        _advise_on_shards(file, source, asked, strength, answer, not no_intercept, tol)
        return
    given = data.prepared(file, source, asked)
    with working("looking at the data"):
        from ..advice import advise as ask

        problem = _fitted_on(given, strength, asked.parameter_of(given.loss), not no_intercept)
        advice = ask(problem, tol=tol, threads=threads)
    if answer.as_json:
        say_json(_advice_numbers(given, problem, advice))
        return
    _show_advice(given, problem, advice)


def _advise_on_shards(
    file: str,
    source: Reading,
    asked: Asked,
    strength: Strength,
    answer: Answer,
    intercept: bool,
    tol: float,
) -> None:
    """What ``advise`` says of a folder of shards."""
    given = shard.prepared(file, source, asked, None, None)
    with working("looking at the data"):
        from ..advice import advise as ask

        problem = shard.problem(given, strength, asked.parameter_of(given.loss), intercept)
        advice = ask(problem, tol=tol)
    if answer.as_json:
        lead = {"question": given.question() or None, "lam": problem.lam, "tol": tol}
        none = dict.fromkeys(("spread", "verdict", "sides", "theory"))
        say_json({**given.facts(), **none, **lead, "parts": advice.numbers()})
        return
    say(given.describe())
    say(f"{given.question()}\n" if given.question() else "")
    say(f"loss {given.loss}, λ = {problem.lam:.3g}", bold=True)
    say(str(advice))


def _fitted_on(
    given: data.Labelled, strength: Strength, epsilon: float | None, intercept: bool
) -> Any:
    """The problem that ``fit`` solves; of one per class that of the largest class."""
    if not _is_softmax(given):
        return data.problem(given, strength, epsilon, intercept)
    from ..problem.multinomial import Multinomial

    lam = strength.lam_for(given.loss, given.n)
    return Multinomial(given.table.X, given.y, lam, None, intercept)


def _is_softmax(given: data.Labelled) -> bool:
    """Whether ``fit`` trains all classes together."""
    return given.classes is not None and len(given.classes) > 2 and given.loss == "logistic"


def _question(given: data.Labelled) -> str:
    """Which problem it is where there are several classes; "" if there is no doubt."""
    if given.classes is None or len(given.classes) == 2:
        return ""
    if _is_softmax(given):
        return f"All {len(given.classes)} classes are trained together, with the softmax loss."
    return f"{given.question()} fit trains one such problem per class."


def _show_advice(given: data.Labelled, problem: Any, advice: Advice) -> None:
    """What ``advise`` prints."""
    say(given.describe())
    if _question(given):
        say(_question(given))
    for side in (problem.features, problem.examples):
        say()
        for line in histogram(side.counts, side.by):
            say(line)
    say()
    loss = "softmax" if _is_softmax(given) else given.loss
    say(f"loss {loss}, λ = {problem.lam:.3g}, to a relative gap of {advice.tol:g}", bold=True)
    say(str(advice))


def _advice_numbers(given: data.Labelled, problem: Any, advice: Advice) -> dict[str, Any]:
    """What ``advise --json`` prints."""
    return {
        **given.facts(),
        "question": _question(given) or None,
        "spread": {
            "features": _spread(problem.features),
            "examples": _spread(problem.examples),
        },
        "lam": problem.lam,
        "tol": advice.tol,
        "parts": None,
        **advice.numbers(),
    }


def _spread(side: Any) -> dict[str, Any]:
    """How the nonzeros are spread over features or examples, as the histogram shows."""
    import numpy as np

    counts = np.asarray(side.counts)
    return {
        "least": int(counts.min()),
        "median": float(np.median(counts)),
        "mean": float(counts.mean()),
        "most": int(counts.max()),
        "bins": bins_of(counts),
    }


def faceoff(
    asked: Asked,
    strength: Strength,
    source: Reading,
    answer: Answer,
    file: OptionalFile = None,
    methods: Contenders = "nsync,quartz,auto",
    intercept: WithIntercept = False,
    tol: Tol = 1e-6,
    max_passes: MaxPasses = 2000,
    max_time: MaxTime = None,
    seed: Seed = 0,
    html: Page = None,
) -> None:
    """Predict the cheaper side, run the contenders, and say whether the prediction held."""
    names = _names(methods)
    if html is not None:
        _require_page(html, file)
    if file is None:
        problems = _embedded_problems()
        if not answer.as_json:
            _open_demo(names, tol)
    else:
        given = data.prepared(file, source, asked)
        made = data.problem(given, strength, asked.parameter_of(given.loss), intercept)
        title = " ".join(filter(None, (f"{given.describe()}.", given.question())))
        problems = iter([(title, made, given.table.feature_names)])
    outcomes = []
    for number, (title, problem, features) in enumerate(problems, start=1):
        if file is not None and not answer.as_json:
            _introduce(title, problem)
        outcome = _run(problem, names, tol, max_passes, max_time, seed)
        outcomes.append({"title": title, **_numbers(outcome)})
        if not answer.as_json:
            _conclude(outcome) if file is not None else _show_briefly(outcome, title)
        if html is not None:
            place = html if file is not None else html.with_stem(f"{html.stem}-{number}")
            _write_page(outcome, place, features, title)
    if answer.as_json:
        say_json(outcomes[0] if file is not None else {"problems": outcomes})
    elif file is None:
        _close_demo(outcomes, tol)


def _require_page(html: Path, file: str | None) -> None:
    from ..report.drawing import require_plots

    require_plots()
    data.require_place(html, file)


def _names(methods: str) -> list[str]:
    from ..methods import METHODS

    everything = ["auto", *METHODS]
    names = everything if methods == "all" else [name.strip() for name in methods.split(",")]
    unknown = [name for name in names if name not in everything]
    if unknown:
        raise typer.BadParameter(
            f"unknown {', '.join(unknown)}; known are {', '.join(everything)}",
            param_hint="--methods",
        )
    return list(dict.fromkeys(names))


def _introduce(title: str, problem: Problem) -> None:
    from ..advice import advise as ask

    say(title, bold=True)
    say(repr(problem))
    say()
    say(str(ask(problem)))
    say()


def _open_demo(names: list[str], tol: float) -> None:
    """What will happen, in three lines."""
    say("Three small problems, solved by one feature at a time (primal) and one example (dual).")
    say("Before each race theory names the side that needs less work; the race tells if it does.")
    also = "; so does the engine (auto), which is what a fit takes" if "auto" in names else ""
    say(f"All run to a certified relative gap of {tol:g}{also}.")
    say()


def _show_briefly(outcome: FaceOff, title: str) -> None:
    """Prediction and race of one problem of the demonstration."""
    from ..wording import times

    theory = outcome.advice.theory
    say(title, bold=True)
    say(f"Theory: {theory.side}, {times(max(theory.ratio, 1 / theory.ratio))} less work.")
    say(str(outcome))
    say(f"{_numbers(outcome)['verdict']['headline']}.", bold=True)
    say()


def _close_demo(outcomes: list[dict[str, Any]], tol: float) -> None:
    """What was shown, in three lines."""
    from ..wording import number

    held = sum(outcome["verdict"]["prediction"] == "held" for outcome in outcomes)
    winners = ", ".join(str(outcome["verdict"]["winner"] or "no side") for outcome in outcomes)
    say(f"Shown: theory named the winner on {held} of {len(outcomes)} problems ({winners}).")
    engine = [one["contenders"]["auto"] for one in outcomes if "auto" in one["contenders"]]
    took = ", ".join(number(entry["passes"]) for entry in engine)
    if took:
        say(f"The engine, which may use any method, took {took} passes to a certified {tol:g}.")
    say("Your data: primaldual faceoff FILE; a model to keep: primaldual fit FILE -o MODEL.")


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
    from ..writing import write_text

    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    text = page(outcome, feature_names=features, command=command, title=title)
    write_text(place, text)
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

    with Race(tol, max_passes, max_time) as race:
        for name in names:
            race.add(name)
        return run(
            problem, names, tol=tol, max_passes=max_passes, max_time=max_time, seeds=(seed,),
            callback=race.show, starting=race.begin,
        )  # fmt: skip
