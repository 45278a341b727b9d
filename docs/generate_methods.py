"""Write docs/methods.md from the registry: ``python docs/generate_methods.py``.

Everything on the page comes from the classes in ``METHODS``: their side and samplings, and the
first line and the sections Rate, Cost, When to use and References of their docstrings.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import primaldual
from primaldual import METHODS
from primaldual.methods import Method
from primaldual.methods.base import ANY_SAMPLING

SOURCE = Path(primaldual.__file__).parents[1]

PAGE = Path(__file__).parent / "methods.md"
NEEDED = ("Algorithm", "Rate", "Cost", "When to use", "References")

HEAD = """\
# Methods

<!-- Written by docs/generate_methods.py from the docstrings of the methods. Edit those. -->

Every method solves the same problem, min_w P(w) = (1/n) Σ_j φ_j(⟨x_j, w⟩) + (λ/2)‖w‖², is run by
`solve(problem, method="…")`, and is held to the same certificate. `advise(problem, methods=[…])`
ranks them by what their theory states for your data, `faceoff(problem, methods=[…])` runs them.

Unless you compare methods, leave the choice to `solve(problem)`: it takes the one of the engine
(`dual_cd`, `primal_cd`, `newton`, `gram_newton`, `newton_cg`) that should be cheapest, and changes
it if it is slow.
"""

FIGURE = """\
## On one track

![Gap against passes and seconds of all methods on three data sets](figures/arena.png)

The certified gap against passes over the data (top) and against seconds (bottom), checks not
counted. Logistic loss, λ = 1/n, examples of average length 1, one seed, one thread, at most 5, 8
and 15 seconds a run, on a machine that was not idle: the seconds are good to a factor of two. There
is no curve where a method would factor a matrix with more than 5000 rows (`newton`, `gram_newton`)
and where the gap stays above P(0) (`s2cd`). Made by `python -m benchmarks.arena_figure`.
"""

RATES = """\
## Rates, costs and references

After k steps the expected error is at most (1 − 1/K)^k times that at the start, up to a constant
where the method says so. A step visits W nonzeros, so that log(1/ε) · K · W/‖X‖₀ passes over the
data reach the accuracy ε. β is the smoothness of the loss and R² = max_j ‖x_j‖²; features i have
the probabilities p_i and examples j the q_j; u and v are the ESO parameters of the sampling. All
other letters are explained in the docstring of the method. [Notation](notation.md) has the rest.
"""


def page() -> str:
    """The text of docs/methods.md."""
    which = ["| method | what it is | side | samplings | when to use it |", "| --- " * 5 + "|"]
    rates = ["| method | rate | cost | reference |", "| --- " * 4 + "|"]
    for name, kind in METHODS.items():
        found = sections(kind)
        source = Path(inspect.getfile(kind)).relative_to(SOURCE).as_posix()
        link = f"[`{name}`](../src/{source})"
        text = (summary(kind), kind.side, samplings(kind), found["When to use"])
        which.append(row(link, *text))
        rates.append(row(f"`{name}`", found["Rate"], found["Cost"], references(found)))
    return "\n".join([HEAD, *which, "", FIGURE, RATES, *rates, ""])


def sections(kind: type[Method]) -> dict[str, str]:
    """The sections of a class's own docstring, each as running text."""
    doc = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
    parts = re.split(r"^(\S.*)\n-{3,}\n", doc, flags=re.MULTILINE)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    found = {title: " ".join(body.split()) for title, body in pairs}
    missing = [title for title in NEEDED if not found.get(title)]
    if missing:
        raise ValueError(
            f"the docstring of {kind.__name__} lacks {', '.join(missing)}: the page of methods is "
            "made of these sections."
        )
    return found


def summary(kind: type[Method]) -> str:
    """The first line of the docstring."""
    return inspect.cleandoc(kind.__doc__ or "").splitlines()[0]


def samplings(kind: type[Method]) -> str:
    """The samplings a method can use, its default first."""
    if not kind.samplings:
        return "own order"
    return "any" if kind.samplings == ANY_SAMPLING else ", ".join(kind.samplings)


def references(found: dict[str, str]) -> str:
    """The papers, without numbers."""
    papers = re.split(r"\.\. \[\d+\] ", found["References"])[1:]
    return "<br>".join(paper.strip() for paper in papers)


def row(*cells: str) -> str:
    """One line of a table."""
    return "| " + " | ".join(cell.replace("``", "`").replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
