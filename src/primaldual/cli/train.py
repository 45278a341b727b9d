"""Train: ``fit`` one model, or look along a ``path`` of them."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from . import data
from .options import (
    Alpha,
    Balanced,
    C,
    Checkpoint,
    CheckpointEvery,
    DataFile,
    Epsilon,
    Format,
    Impute,
    Json,
    Lam,
    Lams,
    LossOption,
    MaxFeatures,
    MaxLine,
    MaxRatio,
    MaxRounds,
    MaxTime,
    NoIntercept,
    Output,
    Seed,
    Side,
    SideOption,
    Target,
    Task,
    TaskOption,
    TestFile,
    Tol,
)
from .terminal import (
    INTERRUPTED,
    NOT_REACHED,
    Race,
    Stopper,
    duration,
    fail,
    in_options,
    remark,
    say,
    say_json,
    short,
    table,
    working,
)


def fit(
    file: DataFile,
    output: Output,
    loss: LossOption = None,
    task: TaskOption = Task.auto,
    C: C = None,
    lam: Lam = None,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    balanced: Balanced = False,
    no_intercept: NoIntercept = False,
    side: SideOption = Side.auto,
    tol: Tol = 1e-6,
    max_passes: MaxRounds = 1000,
    max_time: MaxTime = None,
    checkpoint: Checkpoint = None,
    checkpoint_every: CheckpointEvery = 30.0,
    seed: Seed = 0,
    format: Format = None,
    target: Target = None,
    impute: Impute = None,
    max_features: MaxFeatures = None,
    max_ratio: MaxRatio = None,
    max_line: MaxLine = None,
    as_json: Json = False,
) -> None:
    """Train a model and write it to a file, with the certificate of how good it is."""
    data.require_place(output, file, checkpoint)
    if checkpoint is not None:
        data.require_place(checkpoint, file)
    source = data.Reading(format, target, impute, max_features, max_ratio, max_line)
    strength = data.Strength(C, lam, alpha)
    given = data.labelled(source.read(file), loss, task)
    model = data.estimator(
        given, strength, epsilon, balanced,
        fit_intercept=not no_intercept, side=side.value, tol=tol, max_iter=max_passes,
        max_time=max_time, random_state=seed,
    )  # fmt: skip
    if not as_json:
        say(given.describe())
    saving = _saving(checkpoint, checkpoint_every)
    seconds, stopped, saved = _train(model, given, saving, output, checkpoint)
    if as_json:
        say_json(_numbers_of(model, given, output, seconds, stopped))
    else:
        _describe(model, given, seconds, tol)
        say(f"Model written to {output}")
    if checkpoint is not None and saved.unfinished and checkpoint.exists():
        how = "" if stopped else " with a larger --max-time"
        remark(f"Give the same command again{how} to go on from {checkpoint}.")
    _leave(model, stopped)


def _leave(model: Any, stopped: bool) -> None:
    """Exit with the code that says how the fit ended."""
    if stopped:
        remark("Interrupted: the model written is the best one so far.")
        raise typer.Exit(INTERRUPTED)
    if model.dual_gap_ > model.tol:
        raise typer.Exit(NOT_REACHED)


def _train(
    model: Any, given: data.Labelled, saving: Any, output: Path, checkpoint: Path | None
) -> tuple[float, bool, Any]:
    """Fit and write the model; the seconds, whether Ctrl-C stopped it, and what was saved."""
    from .._numba.compile import seconds_compiling
    from ..container import remove_leftovers

    name = type(model).__name__
    began = time.perf_counter() - seconds_compiling()
    try:
        with Stopper() as stopper, Race(model.tol, model.max_iter) as race, saving as saved:
            race.add(name)

            def watch(progress: Any) -> None:
                stopper.check()
                race.show(name, progress)

            _fit(model.set_params(callback=watch), given)
            stopper.ignore()
            _write(model.set_params(callback=None), given, output)
            if checkpoint is not None:
                remove_leftovers(output)  # of an earlier run that was killed while it wrote
    except KeyboardInterrupt:
        fail(f"interrupted before there was a model; {output} was not written.", INTERRUPTED)
    return time.perf_counter() - seconds_compiling() - began, stopper.stopped, saved


def _numbers_of(
    model: Any, given: data.Labelled, output: Path, seconds: float, stopped: bool
) -> dict[str, Any]:
    """What ``fit --json`` prints."""
    return {
        "model": str(output),
        "estimator": type(model).__name__,
        "relative_gap": model.dual_gap_,
        "tol": model.tol,
        "stop_reason": model.stop_reason_,
        "interrupted": stopped,
        "side": model.side_,
        "passes": model.n_iter_,
        "seconds": seconds,
        "training_score": float(model.score(given.table.X, given.y)),
    }


def _saving(checkpoint: Path | None, every: float) -> Any:
    if checkpoint is None:
        return contextlib.nullcontext()
    from ..checkpoints import checkpointing

    return checkpointing(checkpoint, every)


def _fit(model: Any, given: data.Labelled) -> None:
    """Fit; the command itself says what the warning would."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(given.table.X, given.y)


def _write(model: Any, given: data.Labelled, output: Path) -> None:
    from .. import models

    n, d = given.table.X.shape
    notes = {"source": given.table.source, "examples": n, "features": d, "nonzeros": given.nnz}
    models.save(
        model,
        output,
        schema=given.table.schema,
        feature_names=given.table.feature_names,
        notes=notes,
    )


def _describe(model: Any, given: data.Labelled, seconds: float, tol: float) -> None:
    """What was done, and what is proved about it."""
    kind = "accuracy" if given.classes is not None else "R²"
    say(
        f"{type(model).__name__} on the {model.side_} side: {model.n_iter_} passes, "
        f"{duration(seconds)}, training {kind} {model.score(given.table.X, given.y):.4f}"
    )
    say(in_options(model.stop_reason_))
    relation = "≤" if model.dual_gap_ <= tol else ">"
    values = "the worst of its problems has "
    if model.history_["output"][-1] == 0:  # a single problem
        primal, dual = model.history_["primal"].min(), model.history_["dual"].max()
        values = f"objective {primal:.10g}, no model is below {dual:.10g}; "
    say(f"certificate: {values}relative gap {model.dual_gap_:.2e} {relation} {tol:g}", bold=True)


def path(
    file: DataFile,
    lams: Lams = None,
    test: TestFile = None,
    loss: LossOption = None,
    task: TaskOption = Task.auto,
    epsilon: Epsilon = None,
    no_intercept: NoIntercept = False,
    side: SideOption = Side.auto,
    tol: Tol = 1e-6,
    max_passes: MaxRounds = 1000,
    max_time: MaxTime = None,
    seed: Seed = 0,
    format: Format = None,
    target: Target = None,
    impute: Impute = None,
    max_features: MaxFeatures = None,
    max_ratio: MaxRatio = None,
    max_line: MaxLine = None,
    as_json: Json = False,
) -> None:
    """Solve for several λ, each from the one before: gap, side and score along the path."""
    import numpy as np

    from ..estimators import path as run

    source = data.Reading(format, target, impute, max_features, max_ratio, max_line)
    given = data.labelled(source.read(file), loss, task)
    values = np.logspace(3, -3, 7) / given.n if lams is None else _numbers(lams)
    strength = data.Strength(None, float(values[0]), None)
    first = data.problem(given, strength, epsilon, not no_intercept)
    tested = None if test is None else _tested(test, source, given)
    with working(f"solving for {len(values)} values of λ"):
        results = run(
            given.table.X, first.y, values, first.loss, fit_intercept=not no_intercept, tol=tol,
            max_iter=max_passes, max_time=max_time, side=side.value, seed=seed,
        )  # fmt: skip
    pairs = zip(values, results, strict=True)
    trained = (given.table.X, first.y)
    rows = [_row(float(value), result, trained, tested, given) for value, result in pairs]
    if as_json:
        say_json({"source": given.table.source, "loss": given.loss, "tol": tol, "path": rows})
    else:
        say(given.describe())
        if question := given.question():
            say(question)
        for line in _lines(rows, "accuracy" if given.classes is not None else "R²"):
            say(line)
    if not all(row["converged"] for row in rows):
        raise typer.Exit(NOT_REACHED)


def _tested(test: str, source: data.Reading, given: data.Labelled) -> tuple[Any, Any]:
    """The data of another file to score on, read as the first one was."""
    trained = given.table
    other = replace(source, impute=None).read(test, trained.schema, trained.X.shape[1])
    if other.y is None:
        raise ValueError(f"{test}: the file has no labels to score against.")
    return other.X, _signs(given, other.y)


def _row(
    lam: float, result: Any, trained: tuple[Any, Any], tested: Any, given: data.Labelled
) -> dict[str, Any]:
    """What is known of one λ."""
    import numpy as np

    from ..methods import METHODS

    entry = result.trace.entries[-1]
    return {
        "lam": lam,
        "side": METHODS[entry.method].side,
        "method": entry.method,
        "passes": result.passes,
        "seconds": result.seconds,
        "relative_gap": result.certificate.relative_gap,
        "objective": result.certificate.primal,
        "norm": float(np.linalg.norm(result.w)),
        "score": _score(result, *trained, given),
        "test_score": None if tested is None else _score(result, tested[0], tested[1], given),
        "converged": result.converged,
    }


def _numbers(text: str) -> Any:
    import numpy as np

    try:
        values = np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise typer.BadParameter(
            f"must be numbers separated by commas, got {text!r}", param_hint="--lams"
        ) from None
    if not all(0 < value < math.inf for value in values):
        raise typer.BadParameter(f"must be positive numbers, got {text!r}", param_hint="--lams")
    return values


def _signs(given: data.Labelled, y: Any) -> Any:
    """The labels of another file as the problem has them."""
    import numpy as np

    if given.classes is None:
        return np.asarray(y, dtype=np.float64)
    return np.where(y == given.positive, 1.0, -1.0)


def _score(result: Any, X: Any, y: Any, given: data.Labelled) -> float:
    """Accuracy for classes, R² for numbers."""
    import numpy as np

    z = np.asarray(X @ result.w).ravel() + result.intercept
    if given.classes is not None:
        return float(np.mean((z > 0) == (y > 0)))
    spread = float(((y - y.mean()) ** 2).sum())
    return 1.0 - float(((y - z) ** 2).sum()) / spread if spread > 0 else math.nan


def _lines(rows: list[dict[str, Any]], score: str) -> list[str]:
    heads = ["λ", "side", "method", "passes", "seconds", "gap", "objective", "‖w‖", score]
    if rows[0]["test_score"] is not None:
        heads.append(f"test {score}")
    cells = []
    for row in rows:
        line = [
            f"{row['lam']:.3g}",
            row["side"],
            row["method"],
            short(row["passes"]),
            f"{row['seconds']:.2g}",
            f"{row['relative_gap']:.1e}" + ("" if row["converged"] else " !"),
            f"{row['objective']:.6g}",
            f"{row['norm']:.3g}",
            f"{row['score']:.4f}",
        ]
        if row["test_score"] is not None:
            line.append(f"{row['test_score']:.4f}")
        cells.append(line)
    return table(heads, cells)
