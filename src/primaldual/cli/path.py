"""Look along a ``path`` of models: one for each λ, the best one marked and written."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from . import data
from .groups import Answer, Asked, Reading, Stop, Strength, Training
from .live import Race, working
from .options import BestModel, DataFile, Folds, Lams, Page, TestFile
from .terminal import NOT_REACHED, bar, remark, say, say_json, short, table
from .train import facts_of, fitted, write

_WIDE = 24  # characters of the longest bar
# Mean scores that differ by less are equal: the order of a sum decides.
ROUNDING = 1e-12


def path(
    file: DataFile,
    asked: Asked,
    training: Training,
    stop: Stop,
    source: Reading,
    answer: Answer,
    lams: Lams = None,
    test: TestFile = None,
    cv: Folds = None,
    output: BestModel = None,
    html: Page = None,
) -> None:
    """Solve for several λ, each from the one before, and find the best by other data."""
    from .._threads import using

    _require(file, test, cv, output, html)
    given = data.prepared(file, source, asked)
    values = _values(lams, given.n)
    tested = None if test is None else _tested(test, source, given)

    def made(part: data.Labelled) -> Any:
        strength = Strength(None, values[0], None)
        parameters = training.parameters(stop)
        return data.estimator(
            part, strength, asked.parameter_of(part.loss), training.balanced, **parameters
        )

    limits = stop.tol, stop.max_passes, stop.max_time
    with using(stop.threads, name="--threads"):
        with Race(*limits, "iterations") as race:
            rows = _walk(made(given), given, values, tested, race)
        if cv is not None:
            _validate(rows, given, cv, made, values, training.seed)
    best = _best(rows)
    if output is not None and best is not None:
        write(rows[best]["fitted"], given, output)
        remark(f"The model of λ = {rows[best]['lam']:.3g} was written to {output}")
    _tell(given, rows, best, answer, output)
    if html is not None:
        _write_page(html, given, rows, best)
    if not all(row["converged"] for row in rows):
        raise typer.Exit(NOT_REACHED)


def _require(
    file: str, test: str | None, cv: int | None, output: Path | None, html: Path | None
) -> None:
    """Refuse what cannot be done before the work."""
    if test is not None and cv is not None:
        raise typer.BadParameter("give one of --test and --cv: both choose the best λ")
    if output is not None:
        if test is None and cv is None:
            raise typer.BadParameter(
                "-o writes the model of the best λ: --cv 5, or --test FILE, says how to find it"
            )
        data.require_place(output, file, test)
    if html is not None:
        from ..report.drawing import require_plots

        require_plots()
        data.require_place(html, file, test, output)


def _values(lams: str | None, n: int) -> list[float]:
    """The values of λ, from the largest to the smallest."""
    import numpy as np

    if lams is None:
        return [float(value) for value in np.logspace(3, -3, 7) / n]
    try:
        values = [float(part) for part in lams.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"must be numbers separated by commas, got {lams!r}", param_hint="--lams"
        ) from None
    if not all(0 < value < math.inf for value in values):
        raise typer.BadParameter(f"must be positive numbers, got {lams!r}", param_hint="--lams")
    return sorted(set(values), reverse=True)


def _tested(test: str, source: Reading, given: data.Labelled) -> tuple[Any, Any]:
    """The data of another file to score on, read and scaled as the first one was."""
    trained = given.table
    other = data.read(test, source.again, trained.schema, trained.X.shape[1])
    if other.y is None:
        raise ValueError(f"{test}: the file has no labels to score against.")
    X = other.X
    if given.scaling is not None:
        X = _divided(X, given.scaling.scale)
    return X, other.y


def _divided(X: Any, scale: Any) -> Any:
    """The features divided by those of the training data."""
    if hasattr(X, "indices"):
        return type(X)((X.data / scale[X.indices], X.indices, X.indptr), shape=X.shape)
    return X / scale


def _walk(
    model: Any, given: data.Labelled, values: list[float], tested: Any, race: Race | None
) -> list[dict[str, Any]]:
    """What is known of every λ; a fit starts from the one before where the estimator can."""
    import copy

    import numpy as np

    if "warm_start" in model.get_params():
        model.set_params(warm_start=True)
    rows = []
    for lam in values:
        name = f"λ = {lam:.3g}"
        began = time.perf_counter()
        if race is not None:
            race.begin(name)
            model.set_params(callback=lambda progress, name=name: race.show(name, progress))
        fitted(model.set_params(**data.own_strength(model, lam, given.loss, given.n)), given)
        seconds = time.perf_counter() - began
        kept = copy.copy(model).set_params(callback=None)
        rows.append(
            {
                "lam": lam,
                "fitted": kept,
                "method": str(model.history_["method"][-1]),
                "norm": float(np.linalg.norm(model.coef_)),
                "test_score": None if tested is None else float(model.score(*tested)),
                "seconds": seconds,
                **facts_of(kept, given),
            }
        )
    return rows


def _validate(
    rows: list[dict[str, Any]], given: data.Labelled, folds: int, made: Any, values: Any, seed: int
) -> None:
    """Add mean and deviation of the scores on the parts that were left out."""
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = KFold if given.classes is None else StratifiedKFold
    if folds > given.n or (given.counts is not None and folds > given.counts.max()):
        raise typer.BadParameter(
            f"{folds} parts are more than there are examples", param_hint="--cv"
        )
    parts = kind(folds, shuffle=True, random_state=seed)
    X, y = given.table.X, given.y
    scores = []
    with working("") as say_now:
        for number, (train, test) in enumerate(parts.split(X, y), start=1):
            say_now(f"cross-validation: part {number} of {folds}")
            part = replace(given, table=replace(given.table, X=X[train]), y=y[train])
            found = _walk(made(part), part, values, (X[test], y[test]), None)
            scores.append([row["test_score"] for row in found])
    for row, mean, spread in zip(rows, np.mean(scores, 0), np.std(scores, 0), strict=True):
        row["cv_score"], row["cv_deviation"] = float(mean), float(spread)


def _best(rows: list[dict[str, Any]]) -> int | None:
    """The place of the λ with the best score on other data; of equals the largest λ."""
    for key in ("cv_score", "test_score"):
        if rows[0].get(key) is not None:
            most = max(row[key] for row in rows)
            return next(k for k, row in enumerate(rows) if row[key] >= most - ROUNDING)
    return None


def _tell(
    given: data.Labelled, rows: list[dict[str, Any]], best: int | None, answer: Answer,
    output: Path | None,
) -> None:  # fmt: skip
    """What ``path`` prints."""
    hidden = ("fitted", "score_name")
    if answer.as_json:
        plain = [
            {
                "cv_score": None,
                "cv_deviation": None,
                **{key: value for key, value in row.items() if key not in hidden},
            }
            for row in rows
        ]
        chosen = None if best is None else rows[best]["lam"]
        written = None if output is None else str(output)
        more = {"tol": rows[0]["tol"], "path": plain, "best_lam": chosen, "model": written}
        say_json({**given.facts(), "score_name": given.score_name, **more})
        return
    say(given.describe())
    for line in _lines(rows, given.score_name, best):
        say(line)
    say()
    for line in _plot(rows, given.score_name, best):
        say(line)
    if best is not None:
        say(f"Best: λ = {rows[best]['lam']:.3g}, {data.in_own_terms(rows[best]['fitted'])}.")


def _lines(rows: list[dict[str, Any]], score: str, best: int | None) -> list[str]:
    heads = ["λ", "side", "method", "passes", "seconds", "gap", "objective", "‖w‖", score]
    more = [key for key in ("test_score", "cv_score") if rows[0].get(key) is not None]
    heads += [f"{key.split('_')[0]} {score}" for key in more]
    cells = []
    for k, row in enumerate(rows):
        line = [
            f"{row['lam']:.3g}",
            row["side"],
            row["method"],
            short(row["passes"]),
            f"{row['seconds']:.2g}",
            f"{row['relative_gap']:.1e}" + ("" if row["converged"] else " !"),
            "" if row["objective"] is None else f"{row['objective']:.6g}",
            f"{row['norm']:.3g}",
            f"{row['training_score']:.4f}",
            *(f"{row[key]:.4f}" for key in more),
        ]
        cells.append(line if k != best else [*line[:-1], f"{line[-1]} ←"])
    return table(heads, cells)


def shown_score(rows: list[dict[str, Any]]) -> tuple[str, str]:
    """The score that matters, its key and its name."""
    for key, name in (("cv_score", "cross-validated"), ("test_score", "test")):
        if rows[0].get(key) is not None:
            return key, name
    return "training_score", "training"


def _plot(rows: list[dict[str, Any]], score: str, best: int | None) -> list[str]:
    """A bar for each λ, from the worst score to the best."""
    key, name = shown_score(rows)
    values = [row[key] for row in rows]
    least, most = min(values), max(values)
    spread = (most - least) or 1.0
    lines = [f"{name} {score} from {least:.4f} to {most:.4f}"]
    for k, (row, value) in enumerate(zip(rows, values, strict=True)):
        share = 0.02 + 0.98 * (value - least) / spread
        mark = "  ← best" if k == best else ""
        lines.append(f"  λ {row['lam']:<9.3g}  {bar(share, _WIDE):{_WIDE}}  {value:.4f}{mark}")
    return lines


def _write_page(
    html: Path, given: data.Labelled, rows: list[dict[str, Any]], best: int | None
) -> None:
    from ..report import path_page
    from ..writing import write_text

    key, name = shown_score(rows)
    plain = [{k: v for k, v in row.items() if k != "fitted"} for row in rows]
    text = path_page(plain, best, key, f"{name} {given.score_name}", given.describe())
    write_text(html, text)
    remark(f"Page written to {html}")
