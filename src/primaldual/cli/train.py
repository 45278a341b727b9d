"""Train: ``fit`` one model and write it."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path
from typing import Any

import typer

from . import data, shard
from .groups import Answer, Asked, Reading, Stop, Strength, Training
from .live import Race, Stopper, working
from .options import Checkpoint, CheckpointEvery, DataFile, Output
from .scaling import unscaled
from .terminal import (
    INTERRUPTED,
    NOT_REACHED,
    careful,
    duration,
    fail,
    in_options,
    plural,
    remark,
    say,
    say_json,
)


def fit(
    file: DataFile,
    output: Output,
    asked: Asked,
    strength: Strength,
    training: Training,
    stop: Stop,
    source: Reading,
    answer: Answer,
    checkpoint: Checkpoint = None,
    checkpoint_every: CheckpointEvery = 30.0,
    memory: shard.Memory = None,
    dask: shard.DaskAddress = None,
) -> None:
    """Train a model and write it to a file, with the certificate of how good it is."""
    from .._threads import using

    data.require_place(output, file, checkpoint)
    if checkpoint is not None:
        data.require_place(checkpoint, file)
    speaks = not (answer.as_json or answer.quiet)
    with careful():
        if shard.is_folder(file):
            given = shard.prepared(file, source, asked, memory, dask)
        else:
            shard.refuse(file, memory=memory, dask=dask)
            given = data.prepared(file, source, asked)
        parameters = training.parameters(stop)
        with working("loading the solver"):
            model = data.estimator(
                given, strength, asked.parameter_of(given.loss), training.balanced, **parameters
            )
        if speaks:
            say(given.describe())
        saving = _saving(checkpoint, checkpoint_every)
        with using(stop.threads, name="--threads"):
            facts = _train(model, given, saving, output, checkpoint)
    if answer.as_json:
        say_json({**given.facts(), **facts})
    elif speaks:
        _describe(facts)
        say(f"Model written to {output}")
    _leave(facts)


def _leave(facts: dict[str, Any]) -> None:
    """Exit with the code that says how the fit ended."""
    if facts["interrupted"]:
        remark("Interrupted: the model written is the best one so far.")
        raise typer.Exit(INTERRUPTED)
    if not facts["converged"]:
        raise typer.Exit(NOT_REACHED)


def _train(
    model: Any, given: data.Labelled, saving: Any, output: Path, checkpoint: Path | None
) -> dict[str, Any]:
    """Fit and write the model; what there is to say of it."""
    from .._numba.clock import now
    from ..writing import remove_leftovers

    name = type(model).__name__
    began = now()
    race = Race(model.tol, model.max_iter, model.max_time, "iterations")
    try:
        with Stopper() as stopper, saving as saved, race:
            resumed = saved is not None and saved.resumed
            if resumed:
                remark(f"Going on from the checkpoint {checkpoint}.")
            race.begin(name)

            def watch(progress: Any) -> None:
                stopper.check()
                race.show(name, progress)

            fitted(model.set_params(callback=watch), given)
            stopper.ignore()
            seconds = now() - began
            facts = facts_of(model.set_params(callback=None), given)
            write(model, given, output)
            if checkpoint is not None:
                remove_leftovers(output)  # of an earlier run that was killed while it wrote
    except KeyboardInterrupt:
        fail(f"interrupted before there was a model; {output} was not written.", INTERRUPTED)
    if checkpoint is not None and saved.unfinished and checkpoint.exists():
        how = "" if stopper.stopped else " with a larger --max-time"
        remark(f"Give the same command again{how} to go on from {checkpoint}.")
    interrupted = {"interrupted": stopper.stopped, "resumed": resumed}
    return {"model": str(output), **facts, "seconds": seconds, **interrupted}


def facts_of(model: Any, given: data.Labelled) -> dict[str, Any]:
    """What a fit proved, before its coefficients are put into the units of the file."""
    single = bool(model.history_["output"][-1] == 0)  # one problem, not one for each class
    history = model.history_
    n = given.n
    return {
        "estimator": type(model).__name__,
        "side": model.side_,
        "passes": passes_of(model),
        "training_score": shard.score_of(model, given),
        "score_name": given.score_name,
        "stop_reason": in_options(model.stop_reason_),
        "objective": float(history["primal"].min()) if single else None,
        "lower_bound": float(history["dual"].max()) if single else None,
        "relative_gap": model.dual_gap_,
        "tol": model.tol,
        "converged": bool(model.dual_gap_ <= model.tol),
        "lam": data.lam_of(model, given.loss, n),
        "intercept": model.fit_intercept,
    }


def passes_of(model: Any) -> int:
    """The passes of a fit, the most of several problems; for parts how often they were read."""
    import numpy as np

    if hasattr(model, "rounds_"):
        return int(model.rounds_)
    return int(np.max(model.n_iter_))


def _saving(checkpoint: Path | None, every: float) -> Any:
    if checkpoint is None:
        return contextlib.nullcontext()
    from ..checkpoints import checkpointing

    return checkpointing(checkpoint, every)


def fitted(model: Any, given: data.Labelled) -> Any:
    """Fit; the command itself says what the warning would."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if given.parts is not None:
            return model.fit(given.parts, None)
        return model.fit(given.table.X, given.y)


def write(model: Any, given: data.Labelled, output: Path) -> None:
    """Write a fitted model, its coefficients in the units of the file."""
    from .. import models

    n, d = given.table.X.shape
    scaling = given.scaling
    notes = {
        "source": given.table.source,
        "examples": n,
        "features": d,
        "nonzeros": given.nnz,
        "loss": given.loss,
        "lam": data.lam_of(model, given.loss, n),
    }
    models.save(
        unscaled(model, scaling),
        output,
        schema=given.table.schema,
        feature_names=given.table.feature_names,
        notes=notes,
        labels=given.labels,
        scaling=None if scaling is None else (scaling.kind, scaling.scale),
    )


def _describe(facts: dict[str, Any]) -> None:
    """What was done, and what is proved about it."""
    say(
        f"{facts['estimator']} on the {facts['side']} side: "
        f"{plural(facts['passes'], 'pass', 'passes')}, {duration(facts['seconds'])}, "
        f"training {facts['score_name']} {facts['training_score']:.4f}"
    )
    say(facts["stop_reason"])
    relation = "≤" if facts["converged"] else ">"
    values = "the worst of its problems has "
    if facts["objective"] is not None:
        values = (
            f"objective {facts['objective']:.10g}, no model is below {facts['lower_bound']:.10g}; "
        )
    gap = f"relative gap {facts['relative_gap']:.2e} {relation} {facts['tol']:g}"
    say(f"certificate: {values}{gap}", bold=True)
