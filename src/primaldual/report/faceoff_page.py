"""The page that reports a face-off."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..face_off import FaceOff
from ..losses.custom import loss_name
from ..wording import grouped, unbroken
from .drawing import require_plots, svg
from .facts import numbers
from .figures import gap_figure, spread_figure, work_figure
from .template import cell, render

LONGEST = 120  # letters of a feature's name


def page(
    outcome: FaceOff,
    *,
    feature_names: Sequence[str] | None = None,
    command: str | None = None,
    title: str | None = None,
) -> str:
    """The whole text of an HTML page that reports a face-off.

    Parameters
    ----------
    outcome : FaceOff
    feature_names : sequence of str, optional
        One name per feature, for the largest coefficients; by default their columns.
    command : str, optional
        What to type to get the same page; by default the call in Python.
    title : str, optional
        What was solved: a file's name, say.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, faceoff
    >>> from primaldual.report import page
    >>> X = np.random.default_rng(0).standard_normal((6, 30))
    >>> text = page(faceoff(Problem(X, [1, -1, 1, -1, 1, -1], lam=0.1), tol=1e-4))
    >>> text[:15]
    '<!doctype html>'
    """
    problem = outcome.problem
    if feature_names is not None and len(feature_names) != problem.d:
        raise ValueError(
            f"feature_names must hold one name for each of the {problem.d} features, "
            f"got {len(feature_names)}."
        )
    require_plots()
    facts = numbers(outcome)
    captions = {name: _spread_in_words(facts, name) for name in ("features", "examples")}
    drawings = {
        "features": svg(spread_figure(problem, "features"), "Histogram: " + captions["features"]),
        "examples": svg(spread_figure(problem, "examples"), "Histogram: " + captions["examples"]),
        "work": svg(work_figure(outcome), "Bars: " + _work_in_words(facts)),
        "passes": svg(gap_figure(outcome, "passes"), "Curves: " + _gaps_in_words(facts, "passes")),
        "seconds": svg(
            gap_figure(outcome, "seconds"), "Curves: " + _gaps_in_words(facts, "seconds")
        ),
    }
    return render(
        Path(__file__).with_name("report.html.jinja"),
        heading=unbroken(title or "Primal or dual?"),
        facts=facts,
        drawings=drawings,
        captions=captions,
        coefficients=_coefficients(facts, feature_names),
        named=feature_names is not None,
        command=command or _call(outcome),
        is_call=command is None,
    )


def _spread_in_words(facts: dict[str, Any], name: str) -> str:
    one = name.removesuffix("s")
    spread = facts["problem"][f"{name}_spread"]
    if spread["least"] == spread["most"]:
        return f"every {one} has {_nonzeros(spread['most'])}."
    text = (
        f"half of the {name} have at most {_nonzeros(spread['median'])}, the fullest has "
        f"{grouped(spread['most'])}; the fullest 1 % hold {spread['top_share']:.0%} of them."
    )
    if spread["empty"]:
        text += f" {grouped(spread['empty'])} {'is' if spread['empty'] == 1 else 'are'} empty."
    return text


def _nonzeros(count: float) -> str:
    return "1 nonzero" if count == 1 else f"{cell(count)} nonzeros"


def _work_in_words(facts: dict[str, Any]) -> str:
    return "; ".join(
        f"{name} predicted {cell(entry['predicted_passes'])} passes, "
        f"made {cell(entry['passes'])}{'' if entry['arrived'] else ' and did not arrive'}"
        for name, entry in facts["contenders"].items()
    )


def _gaps_in_words(facts: dict[str, Any], what: str) -> str:
    return f"relative duality gap against {what}; " + "; ".join(
        f"{name} at {cell(entry['relative_gap'])} after {cell(entry[what])} {what}"
        for name, entry in facts["contenders"].items()
    )


def _coefficients(
    facts: dict[str, Any], feature_names: Sequence[str] | None
) -> list[dict[str, Any]]:
    """The largest coefficients with names, and bars from −100 to 100."""
    largest = facts["coefficients"]["largest"]
    rows = []
    for k, entry in enumerate(largest):
        length = 100 * abs(entry["value"] / largest[0]["value"])
        rows.append(
            {
                "key": f"coefficients.largest.{k}.value",
                "name": _name(entry["feature"], feature_names),
                "left": 100 if entry["value"] > 0 else 100 - length,
                "length": length,
            }
        )
    return rows


def _name(feature: int, feature_names: Sequence[str] | None) -> str:
    """What a feature is called; its column where it has no name, cut where it has a novel."""
    if feature_names is None:
        return str(feature)
    name = str(feature_names[feature])
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _call(outcome: FaceOff) -> str:
    """The call in Python that gives these numbers, for a problem with this loss and λ."""
    problem = outcome.problem
    extra = ", fit_intercept=True" if problem.fit_intercept else ""
    extra += ", sample_weight=…" if problem.is_weighted else ""
    arguments = {"methods": list(outcome.results), "tol": outcome.tol, **outcome.settings}
    options = ", ".join(
        f"{name}={value!r}" for name, value in arguments.items() if value is not None
    )
    loss = problem.loss
    # By its name, or itself where it has parameters.
    stated = repr(loss) if getattr(loss, "_fields", ()) else repr(loss_name(loss))
    return (
        f"problem = Problem(X, y, loss={stated}, lam={problem.lam!r}{extra})\n"
        f"outcome = faceoff(problem, {options})"
    )
