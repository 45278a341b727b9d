"""How ``Advice``, ``Result`` and ``FaceOff`` show themselves in a notebook: tables, then plots.

The tables have no style sheet of their own, so that they look as the notebook's tables do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..advice import Advice
from ..face_off import FaceOff
from ..result import Result
from ..wording import duration, grouped, level, number
from .drawing import svg
from .facts import numbers
from .figures import advice_figure, faceoff_figure, result_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def advice_html(advice: Advice) -> str:
    """The verdict, both sides, the theory's bounds, and the plots where matplotlib is installed.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, advise
    >>> from primaldual.report import advice_html
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> advice_html(advise(Problem(X, np.sign(X[:, 0]), lam=0.02))).count("<table")
    2
    """
    verdict, theory = advice.verdict, advice.theory
    sides = [
        (name, side.method, number(side.passes), duration(side.price), duration(side.seconds))
        for name, side in advice.sides.items()
    ]
    bounds = [
        (name, grouped(size), *map(number, (costs.iterations, costs.cost, costs.total)))
        for name, size, costs in (
            ("primal", advice.d, theory.primal), ("dual", advice.n, theory.dual),
        )
    ]  # fmt: skip
    return "\n".join([
        f"<p><strong>{escape(str(verdict))}</strong><br>{escape(verdict.evidence)}</p>",
        _table(("", "method", "passes", "per pass", "together"), sides, verdict.side),
        "<p>In theory, what the paper's bound says of the paper's two methods:</p>",
        _table(("", "coordinates", "iterations K", "cost W", "total T"), bounds, theory.side),
        f"<p>{escape(theory.side)}: {escape(theory.reason)}</p>",
        _plot(advice, advice_figure, "Nonzeros over features and examples, predicted work"),
    ])  # fmt: skip


def result_html(result: Result) -> str:
    """The certificate and how it was reached, and the curves where matplotlib is installed.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, solve
    >>> from primaldual.report import result_html
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> "relative gap" in result_html(solve(Problem(X, np.sign(X[:, 0]), lam=0.02)))
    True
    """
    proof = result.certificate
    rows = [
        ("relative gap", f"{proof.relative_gap:.1e}"),
        ("P(w)", f"{proof.primal:.10g}"),
        ("D(α)", f"{proof.dual:.10g}"),
        ("side and method", f"{result.side}, {result.trace.entries[-1].method}"),
        ("passes", number(result.passes)),
        ("time", duration(result.seconds)),
    ]
    return "\n".join([
        f"<p><strong>{escape(result.status.value)}</strong></p>",
        _table(("", ""), rows, "relative gap"),
        _plot(result, result_figure, "Relative duality gap against passes and seconds"),
    ])  # fmt: skip


def faceoff_html(outcome: FaceOff) -> str:
    """The winner, one row for each contender, and the curves where matplotlib is installed.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, faceoff
    >>> from primaldual.report import faceoff_html
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> faceoff_html(faceoff(Problem(X, np.sign(X[:, 0]), lam=0.02))).count("<tr")
    3
    """
    facts = numbers(outcome)
    rows = []
    for name, entry in facts["contenders"].items():
        predicted = entry["predicted_passes"]
        rows.append((
            name, entry["side"], "none" if predicted is None else number(predicted),
            number(entry["passes"]), duration(entry["seconds"]), f"{entry['relative_gap']:.1e}",
        ))  # fmt: skip
    head = ("", "side", "predicted passes", "passes", "time", "gap")
    return "\n".join([
        f"<p><strong>{escape(facts['verdict']['headline'])}</strong>, to a relative gap of "
        f"{level(outcome.tol)}</p>",
        _table(head, rows, outcome.fastest),
        _plot(outcome, faceoff_figure, "Relative duality gap against passes and seconds"),
    ])  # fmt: skip


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], chosen: str) -> str:
    """A table whose first column names the rows; the chosen row is bold."""
    lines = ["<table>"]
    if any(head):
        lines += [f"<thead><tr>{''.join(f'<th>{escape(one)}</th>' for one in head)}</tr></thead>"]
    lines += ["<tbody>"]
    for name, *cells in rows:
        bold = "<strong>{}</strong>" if name == chosen else "{}"
        found = "".join(f"<td>{bold.format(escape(one))}</td>" for one in cells)
        lines += [f'<tr><th scope="row">{escape(name)}</th>{found}</tr>']
    return "\n".join([*lines, "</tbody></table>"])


def _plot(thing: Any, draw: Callable[[Any], Figure], label: str) -> str:
    return "" if find_spec("matplotlib") is None else svg(draw(thing), label)
