"""What a model file says about itself: ``info``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from . import data
from .groups import Answer
from .options import ModelFile
from .terminal import plural, printable, say, say_json, short, table, whole
from .use import as_spelt

_TOP = 10


def info(model: ModelFile, answer: Answer) -> None:
    """Show what a model file holds: estimator, settings, certificate, largest coefficients."""
    from .. import models

    kept = models.opened(model)
    facts = {**_file(model), **_facts(kept)}
    if answer.as_json:
        say_json({**facts, "schema": kept.header.get("schema")})
        return
    features = plural(facts["features"], "feature", "features")
    say(f"{printable(model, 200)}: {facts['estimator']}, {features}", True)
    for name, text in _lines(facts).items():
        if text not in (None, ""):
            say(f"{name + ':':14}{text}")
    say()
    for line in _largest(facts):
        say(line)


def _file(model: Path) -> dict[str, Any]:
    """Name, size and date of the file."""
    status = model.stat()
    written = datetime.fromtimestamp(round(status.st_mtime)).astimezone()
    return {"model": str(model), "bytes": status.st_size, "date": written.isoformat()}


def _lines(facts: dict[str, Any]) -> dict[str, Any]:
    """Heading -> text, in the order shown."""
    settings = facts["settings"]
    strength = ", ".join(
        f"{name} = {settings[key]:.6g}"
        for key, name in (("lam", "λ"), ("C", "C"), ("alpha", "alpha"))
        if settings[key] is not None
    )
    scale = {"none": "none", "std": "by standard deviation", "max": "by largest size"}
    kind = settings["scale"]
    undone = "" if kind == "none" else "; coefficients are in the units of the file"
    notes = facts["notes"] or {}
    about = {k: v for k, v in notes.items() if k not in ("loss", "lam")}
    return {
        "classes": _list(facts["classes"]),
        "loss": settings["loss"],
        "strength": strength,
        "tol": f"{settings['tol']:g}",
        "intercept": _intercept(facts),
        "scaling": scale.get(kind, kind) + undone,
        "parameters": ", ".join(f"{k}={printable(v)}" for k, v in facts["parameters"].items()),
        "trained on": ", ".join(f"{k} {printable(v, 100)}" for k, v in about.items()),
        "side": facts["side"],
        "passes": facts["passes"],
        "relative gap": f"{facts['relative_gap']:.2e}: {facts['stop_reason']}",
        "coefficients": f"{whole(facts['nonzero'])} nonzero",
        "written": f"{facts['date'].replace('T', ' ')}, {facts['bytes'] / 1e3:.1f} kB, by "
        + ", ".join(f"{k} {v}" for k, v in facts["written_by"].items()),
    }


def _intercept(facts: dict[str, Any]) -> str:
    if not facts["settings"]["intercept"]:
        return "none"
    shown = ", ".join(short(value) for value in facts["intercept"][:_TOP])
    return shown + (", …" if len(facts["intercept"]) > _TOP else "")


def _facts(kept: Any) -> dict[str, Any]:
    """What ``info`` shows, as plain values."""
    import numpy as np

    fitted, head = kept.estimator, kept.header
    coef = fitted.coef_.toarray() if hasattr(fitted.coef_, "toarray") else fitted.coef_
    coef = np.atleast_2d(coef)
    classes = as_spelt(kept, fitted.classes_) if hasattr(fitted, "classes_") else None
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
        "settings": _settings(fitted, head),
        "parameters": changed,
        "relative_gap": fitted.dual_gap_,
        "stop_reason": fitted.stop_reason_,
        "side": fitted.side_,
        "passes": int(np.max(fitted.n_iter_)),
        "intercept": np.atleast_1d(fitted.intercept_).tolist(),
        "nonzero": int(np.count_nonzero(coef)),
        "largest": _entries(kept, coef, classes),
        "notes": head.get("notes"),
        "written_by": head["written_by"],
    }


def _settings(fitted: Any, head: dict[str, Any]) -> dict[str, Any]:
    """Loss, strength, tolerance, intercept and scaling, also where they are the usual ones."""
    notes = head.get("notes") or {}
    loss = notes.get("loss") or _loss(fitted)
    lam, n = notes.get("lam"), notes.get("examples")
    if lam is None and isinstance(n, int) and loss is not None:
        lam = data.lam_of(fitted, loss, n)
    parameters = fitted.get_params()
    return {
        "loss": loss,
        "lam": lam,
        "C": _number(parameters.get("C")),
        "alpha": _number(parameters.get("alpha")),
        "tol": fitted.tol,
        "intercept": bool(fitted.fit_intercept),
        "scale": (head.get("scaling") or {}).get("kind", "none"),
    }


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _loss(fitted: Any) -> str | None:
    """The name of an estimator's loss; None for one that is code."""
    known = {"LogisticRegression": "logistic", "LogisticRegressionCV": "logistic"}
    known |= {"Ridge": "squared", "RidgeCV": "squared", "RidgeClassifier": "squared"}
    own = getattr(fitted, "loss", None)
    if own is None:
        return known.get(type(fitted).__name__, "huber")
    if isinstance(own, str):
        return own
    from ..losses.custom import loss_name

    return str(loss_name(own))


def _entries(kept: Any, coef: Any, classes: list[Any] | None) -> list[dict[str, Any]]:
    """The largest coefficients: of scaled features, those that matter most."""
    import numpy as np

    fitted, head = kept.estimator, kept.header
    names = head.get("feature_names") or getattr(fitted, "feature_names_in_", None)
    d, flat = coef.shape[1], coef.ravel().tolist()
    names = names if names is not None and len(names) == d else None
    schema = head.get("schema")
    # Most LIBSVM files count their features from 1.
    first = int(isinstance(schema, dict) and schema.get("zero_based") is False)
    weights = coef if kept.scales is None else coef * kept.scales
    found = []
    for at in np.argsort(-np.abs(weights).ravel(), kind="stable")[:_TOP].tolist():
        towards = None
        if classes is not None:
            towards = classes[int(flat[at] > 0)] if len(coef) == 1 else classes[at // d]
        found.append(
            {
                "feature": at % d + first if names is None else str(names[at % d]),
                "output": classes[at // d] if classes and len(coef) > 1 else at // d,
                "value": flat[at],
                "scaled_value": None if kept.scales is None else float(weights.ravel()[at]),
                "towards": towards if towards is None or flat[at] else None,
                "away": len(coef) > 1 and flat[at] < 0,
            }
        )
    return found


def _largest(facts: dict[str, Any]) -> list[str]:
    """The largest coefficients as a table, with the class that each speaks for."""
    entries = facts["largest"]
    has_scales = any(entry["scaled_value"] is not None for entry in entries)
    heads = ["largest", "coefficient"]
    heads += ["per scale"] if has_scales else []
    heads += ["a larger value speaks"] if facts["classes"] is not None else []
    rows = []
    for entry in entries:
        row = [printable(entry["feature"], 40), f"{entry['value']:+.4g}"]
        row += [f"{entry['scaled_value']:+.4g}"] if has_scales else []
        if facts["classes"] is not None:
            how = "against" if entry["away"] else "for"
            known = entry["towards"] is not None
            row.append(f"{how} {printable(entry['towards'], 20)}" if known else "")
        rows.append(row)
    return table(heads, rows)


def _list(values: list[Any] | None) -> str:
    if values is None:
        return ""
    shown = ", ".join(printable(value, 20) for value in values[:_TOP])
    return shown + (f", … ({len(values)})" if len(values) > _TOP else "")
