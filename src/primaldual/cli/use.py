"""Use a model file: ``predict`` with it, and ``score`` it."""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from . import data, measures
from .groups import Answer, Replaying
from .options import DataFile, ModelFile, Task, TaskOption
from .terminal import plural, printable, remark, say, say_json

# What stands for a label that may be another one at the exact optimum.
UNDECIDED = "undecided"


Certified = Annotated[
    bool,
    typer.Option(
        "--certified",
        help="Labels that the exact optimum gives as well; the others are 'undecided'.",
    ),
]


def predict(
    model: ModelFile,
    file: DataFile,
    source: Replaying,
    answer: Answer,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to this file, not to stdout.")
    ] = None,
    proba: Annotated[
        bool,
        typer.Option("--proba", help="Probabilities as well: CSV with a column for each class."),
    ] = False,
    certified: Certified = False,
) -> None:
    """Predict labels, one per line, for the examples of a file."""
    if output is not None:
        data.require_place(output, model, file)
    kept, given = loaded(model, file, source)
    fitted = kept.estimator
    if proba and not hasattr(fitted, "predict_proba"):
        raise ValueError(
            f"{model}: {type(fitted).__name__} has no probabilities. Use a model with --loss "
            "logistic, probit or modified_huber."
        )
    predicted = _certain(model, fitted, given.X) if certified else fitted.predict(given.X)
    labels = as_spelt(kept, predicted)
    shares = fitted.predict_proba(given.X).tolist() if proba else None
    classes = as_spelt(kept, fitted.classes_) if hasattr(fitted, "classes_") else None
    if answer.as_json:
        facts = {"source": given.source, "examples": len(labels), "classes": classes}
        found = {"predictions": labels, "probabilities": shares, "output": None}
        if output is None:
            say_json({**facts, **found})
            return
    _write(output, labels, shares, classes)
    if output is not None:
        remark(f"{plural(len(labels), 'prediction', 'predictions')} written to {output}")
        if answer.as_json:
            say_json({**facts, "predictions": None, "probabilities": None, "output": str(output)})


def _write(output: Path | None, labels: list[Any], shares: Any, classes: Any) -> None:
    """One label per line, or CSV with the probabilities."""
    with _opened(output) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if shares is not None:
            writer.writerow(["label", *(classes or [])])
            writer.writerows([label, *row] for label, row in zip(labels, shares, strict=True))
        else:
            rows = ([label] if not isinstance(label, list) else label for label in labels)
            writer.writerows(rows)


def _certain(model: Path, fitted: Any, X: Any) -> Any:
    """Labels that the exact optimum gives as well, the others masked."""
    if not hasattr(fitted, "predict_certified"):
        raise ValueError(
            f"{model}: {type(fitted).__name__} predicts numbers. Leave --certified out."
        )
    if not hasattr(fitted, "certified_"):
        raise ValueError(
            f"{model}: {type(fitted).__name__} has no certified predictions: they need two classes "
            "or one against the rest, a regularisation, and a model of this version."
        )
    return fitted.predict_certified(X)


def as_spelt(kept: Any, labels: Any) -> list[Any]:
    """Labels as they stood in the file that the model was trained on."""
    texts = kept.header.get("labels")
    values: list[Any] = labels.tolist()  # None where a label is masked
    if texts is None:
        return [UNDECIDED if value is None else value for value in values]
    spelt = dict(zip(kept.estimator.classes_.tolist(), texts, strict=True))
    return [UNDECIDED if value is None else spelt[value] for value in values]


def score(
    model: ModelFile,
    file: DataFile,
    source: Replaying,
    answer: Answer,
    task: TaskOption = Task.auto,
) -> None:
    """Compare a model's predictions with the labels of a file."""
    kept, given = loaded(model, file, source)
    fitted = kept.estimator
    if given.y is None:
        raise ValueError(
            f"{file}: the file has no labels to compare with. Name their column with --target."
        )
    has_classes = hasattr(fitted, "classes_")
    own = "classification" if has_classes else "regression"
    if task.value not in ("auto", own):
        raise ValueError(
            f"{model}: the model is a {type(fitted).__name__}, for {own}: it cannot be scored as "
            f"{task.value}. Train another one with fit --task {task.value}."
        )
    if has_classes:
        names = as_spelt(kept, fitted.classes_)
        facts = measures.of_classes(fitted, given.X, given.y, names, given.source)
    else:
        facts = measures.of_numbers(fitted, given.X, given.y, given.source)
    if answer.as_json:
        head = {"source": given.source, "model": str(model), "task": own}
        say_json({**head, "examples": given.X.shape[0], **facts})
        return
    say(f"{printable(given.source, 200)}: {plural(given.X.shape[0], 'example', 'examples')}")
    for line in measures.lines(facts):
        say(line)


def loaded(model: Path, file: str, source: Replaying) -> tuple[Any, Any]:
    """The model, and the data as the model wants it."""
    from .. import models

    kept = models.opened(model)
    fitted, schema = kept.estimator, kept.header.get("schema")
    try:
        given = data.read(file, source, schema, fitted.n_features_in_)
    except (KeyError, TypeError, AttributeError):
        if schema is None:
            raise
        raise ValueError(
            f"{model}: the model says in no known way how columns became features. Train it again."
        ) from None
    if given.X.shape[1] != fitted.n_features_in_:
        raise ValueError(
            f"{file}: the model expects {fitted.n_features_in_} features, the file has "
            f"{given.X.shape[1]}."
        )
    # The columns were matched by the schema; scikit-learn cannot see that.
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    return kept, given


class _Shown:
    """Standard output for labels, which may hold what steers a terminal; files get them as is."""

    def write(self, text: str) -> int:
        """Print lines."""
        from .._text import visible_lines

        return sys.stdout.write(visible_lines(text))


@contextmanager
def _opened(output: Path | None) -> Iterator[IO[Any]]:
    if output is None:
        if sys.stdout is None:
            raise ValueError("standard output is closed: name a file with -o for the predictions.")
        yield _Shown()  # type: ignore[misc]
        sys.stdout.flush()
        return
    from ..writing import replacing

    with replacing(output, encoding="utf-8", newline="", devices=True) as stream:
        yield stream
