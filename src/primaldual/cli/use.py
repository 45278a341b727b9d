"""Use a model file: ``predict`` with it, ``score`` it, and what it says about itself."""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from . import data
from .options import DataFile, Format, Json, MaxFeatures, MaxLine, MaxRatio, Target
from .terminal import printable, remark, say, say_json, short, table, whole

_TOP = 10

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that fit wrote.")]


def predict(
    model: ModelFile,
    file: DataFile,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to this file, not to stdout.")
    ] = None,
    proba: Annotated[
        bool,
        typer.Option("--proba", help="Probabilities as well: CSV with a column for each class."),
    ] = False,
    format: Format = None,
    target: Target = None,
    max_features: MaxFeatures = None,
    max_ratio: MaxRatio = None,
    max_line: MaxLine = None,
) -> None:
    """Predict labels, one a line, for the examples of a file."""
    if output is not None:
        data.require_place(output, model, file)
    source = data.Reading(format, target, None, max_features, max_ratio, max_line)
    fitted, given = _loaded(model, file, source)
    if proba and not hasattr(fitted, "predict_proba"):
        raise ValueError(
            f"{model}: {type(fitted).__name__} has no probabilities. Use a model with --loss "
            "logistic, probit or modified_huber."
        )
    labels = fitted.predict(given.X)
    with _opened(output) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if proba:
            writer.writerow(["label", *fitted.classes_.tolist()])
            rows = zip(labels.tolist(), fitted.predict_proba(given.X).tolist(), strict=True)
            writer.writerows([label, *shares] for label, shares in rows)
        elif labels.ndim == 1:
            writer.writerows([label] for label in labels.tolist())
        else:
            writer.writerows(labels.tolist())
    if output is not None:
        remark(f"{whole(len(labels))} predictions written to {output}")


def score(
    model: ModelFile,
    file: DataFile,
    format: Format = None,
    target: Target = None,
    max_features: MaxFeatures = None,
    max_ratio: MaxRatio = None,
    max_line: MaxLine = None,
    as_json: Json = False,
) -> None:
    """Compare a model's predictions with the labels of a file."""
    source = data.Reading(format, target, None, max_features, max_ratio, max_line)
    fitted, given = _loaded(model, file, source)
    if given.y is None:
        raise ValueError(
            f"{file}: the file has no labels to compare with. Name their column with --target."
        )
    measures = _classes(fitted, given) if hasattr(fitted, "classes_") else _numbers(fitted, given)
    if as_json:
        say_json({"examples": given.X.shape[0], **measures})
        return
    wide = max(map(len, measures))
    say(f"{printable(given.source, 200)}: {whole(given.X.shape[0])} examples")
    for name, value in measures.items():
        say(f"{name.replace('_', ' '):{wide}}  {value:.6g}")


def info(model: ModelFile, as_json: Json = False) -> None:
    """Show what a model file holds: estimator, settings, certificate, largest coefficients."""
    from .. import models

    head = models.header(model)
    facts = _facts(models.load(model), head)
    if as_json:
        say_json({"model": str(model), **facts, "schema": head.get("schema")})
        return
    say(f"{printable(model, 200)}: {facts['estimator']}, {whole(facts['features'])} features", True)
    lines = {
        "classes": _list(facts["classes"]),
        "parameters": ", ".join(f"{k}={printable(v)}" for k, v in facts["parameters"].items()),
        "trained on": _notes(facts["notes"]),
        "side": facts["side"],
        "passes": facts["passes"],
        "relative gap": f"{facts['relative_gap']:.2e}: {facts['stop_reason']}",
        "coefficients": f"{whole(facts['nonzero'])} nonzero",
        "intercept": ", ".join(short(value) for value in facts["intercept"][:_TOP]),
        "written by": ", ".join(f"{k} {v}" for k, v in facts["written_by"].items()),
    }
    for name, text in lines.items():
        if text not in (None, ""):
            say(f"{name + ':':14}{text}")
    say()
    for line in _largest(facts["largest"], facts["outputs"] > 1):
        say(line)


def _loaded(model: Path, file: str, source: data.Reading) -> tuple[Any, Any]:
    """The model, and the data as the model wants it."""
    from .. import models

    fitted, schema = models.load(model), models.header(model).get("schema")
    try:
        given = source.read(file, schema, fitted.n_features_in_)
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
    return fitted, given


@contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    with open(output, "w", encoding="utf-8", newline="") as stream:
        yield stream


def _classes(fitted: Any, given: Any) -> dict[str, float]:
    """Accuracy, and the log loss where there are probabilities."""
    import numpy as np

    y = given.y
    texts = fitted.classes_.dtype.kind not in "biuf"
    if texts != (y.dtype.kind not in "biuf"):
        kinds = ("texts", "numbers") if texts else ("numbers", "texts")
        raise ValueError(
            f"{given.source}: the labels are {kinds[1]}, and the model's classes are {kinds[0]}: "
            f"{_list(fitted.classes_.tolist())}."
        )
    measures = {"accuracy": float(np.mean(fitted.predict(given.X) == y))}
    known = np.isin(y, fitted.classes_)
    if hasattr(fitted, "predict_proba") and known.all():
        shares = fitted.predict_proba(given.X)
        at = np.searchsorted(fitted.classes_, y)
        with np.errstate(divide="ignore"):
            measures["log_loss"] = float(-np.mean(np.log(shares[np.arange(len(y)), at])))
    if not known.all():
        remark(f"{whole((~known).sum())} examples have labels that the model does not know.")
    return measures


def _numbers(fitted: Any, given: Any) -> dict[str, float]:
    """R² and the sizes of the errors."""
    import numpy as np

    if given.y.dtype.kind not in "biuf":
        raise ValueError(f"{given.source}: the labels are texts, and the model predicts numbers.")
    errors = np.asarray(given.y, dtype=np.float64) - fitted.predict(given.X)
    return {
        "r2": float(fitted.score(given.X, given.y)),
        "root_mean_squared_error": float(np.sqrt(np.mean(errors**2))),
        "mean_absolute_error": float(np.mean(np.abs(errors))),
    }


def _facts(fitted: Any, head: dict[str, Any]) -> dict[str, Any]:
    """What ``info`` shows, as plain values."""
    import numpy as np

    coef = fitted.coef_.toarray() if hasattr(fitted.coef_, "toarray") else fitted.coef_
    coef = np.atleast_2d(coef)
    classes = fitted.classes_.tolist() if hasattr(fitted, "classes_") else None
    names = head.get("feature_names") or getattr(fitted, "feature_names_in_", None)
    d, flat = coef.shape[1], coef.ravel().tolist()
    names = names if names is not None and len(names) == d else None
    schema = head.get("schema")
    # Most LIBSVM files count their features from 1.
    first = int(isinstance(schema, dict) and schema.get("zero_based") is False)
    outputs = classes if classes is not None and len(classes) > 2 else list(range(len(coef)))
    usual = type(fitted)().get_params()
    changed = {
        key: value if isinstance(value, bool | int | float | str | None) else repr(value)
        for key, value in fitted.get_params().items()
        if repr(value) != repr(usual[key])
    }
    return {
        "estimator": type(fitted).__name__,
        "features": fitted.n_features_in_,
        "classes": classes,
        "outputs": len(coef),
        "parameters": changed,
        "relative_gap": fitted.dual_gap_,
        "stop_reason": fitted.stop_reason_,
        "side": fitted.side_,
        "passes": fitted.n_iter_,
        "intercept": np.atleast_1d(fitted.intercept_).tolist(),
        "nonzero": int(np.count_nonzero(coef)),
        "largest": [
            {"feature": _name(at % d, names, first), "output": outputs[at // d], "value": flat[at]}
            for at in np.argsort(-np.abs(coef).ravel(), kind="stable")[:_TOP].tolist()
        ],
        "notes": head.get("notes"),
        "written_by": head["written_by"],
    }


def _name(at: int, names: Any, first: int) -> int | str:
    return at + first if names is None else str(names[at])


def _largest(entries: list[dict[str, Any]], several: bool) -> list[str]:
    """The largest coefficients as a table; with the class where there are several."""
    rows = [
        [
            printable(entry["feature"], 40),
            *([printable(entry["output"], 20)] if several else []),
            f"{entry['value']:+.4g}",
        ]
        for entry in entries
    ]
    return table(["largest", *(["class"] if several else []), "coefficient"], rows)


def _list(values: list[Any] | None) -> str:
    if values is None:
        return ""
    shown = ", ".join(printable(value, 20) for value in values[:_TOP])
    return shown + (f", … ({len(values)})" if len(values) > _TOP else "")


def _notes(notes: dict[str, Any] | None) -> str:
    return ", ".join(f"{key} {printable(value, 100)}" for key, value in (notes or {}).items())
