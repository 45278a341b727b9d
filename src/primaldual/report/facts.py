"""What a face-off showed, as numbers and in plain words."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from .._types import Side
from ..face_off import ENGINE, FaceOff
from ..losses.custom import loss_name
from ..problem import Coordinates
from ..result import Result
from ..theory import TIE
from ..wording import finite, level, number, times

# The number of largest coefficients that the page lists.
TOP = 10


# --- in words -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ratio:
    """Primal over dual, as measured; only a bound where one side did not arrive."""

    value: float | None
    relation: Literal["=", ">", "<"] | None  # the ratio is equal to, above or below ``value``


@dataclass(frozen=True)
class Verdict:
    """Which side won, by how much, and whether that was predicted."""

    headline: str
    winner: Side | None  # None where the sides cannot be compared
    prediction: Literal["held", "failed", "undecided"]
    passes: Ratio
    seconds: Ratio
    sentences: tuple[str, ...]


def verdict(outcome: FaceOff) -> Verdict:
    """Say what the runs show, and no more than that.

    The winner is the contender with the fewest passes, against the best of the other side. The
    prediction is about the paper's two methods, nsync and quartz, and is judged by them where both
    ran; else by the best contender of each side.
    """
    fastest = outcome.fastest_of(outcome.rivals)
    best = best_of_sides(outcome)
    judged = {"primal": "nsync", "dual": "quartz"}
    if not set(judged.values()) <= set(outcome.results):
        judged = dict(best)
    prediction = _prediction(outcome, list(judged.values()))
    if not _arrived(outcome, fastest):
        engine = ENGINE in outcome.results and _arrived(outcome, ENGINE)
        headline = "Only the engine converged" if engine else "No method converged"
        sentences = [_nobody(outcome, engine)]
        winner: Side | None = None
    elif len(best) < 2:
        headline = f"{fastest}: {_passes(outcome, fastest)}"
        sentences = [_one_side(outcome)]
        winner = None
    else:
        winner = outcome.side_of(fastest)
        other = best["dual" if winner == "primal" else "primal"]
        headline = _headline(outcome, winner, fastest, other)
        sentences = [_race(outcome, fastest, other), *_by_the_clock(outcome, fastest, other)]
    sentences.append(_theory(outcome, prediction, judged, best))
    sentences += _engine(outcome)
    return Verdict(
        headline,
        winner,
        prediction,
        _ratio(outcome, best, "passes"),
        _ratio(outcome, best, "seconds"),
        tuple(sentences),
    )


def best_of_sides(outcome: FaceOff) -> dict[str, str]:
    """Side -> its contender with the fewest passes, for the sides that took part."""
    by_side: dict[str, list[str]] = {}
    for name in outcome.rivals:
        by_side.setdefault(outcome.side_of(name), []).append(name)
    return {side: outcome.fastest_of(names) for side, names in by_side.items()}


def made(outcome: FaceOff, name: str, what: Literal["passes", "seconds"]) -> float:
    """Mean passes or seconds that a contender made, whether it arrived or not."""
    return float(np.mean([getattr(run, what) for run in outcome.results[name]]))


def _arrived(outcome: FaceOff, name: str) -> bool:
    return outcome.passes(name) < np.inf


def _ratio(outcome: FaceOff, best: dict[str, str], what: Literal["passes", "seconds"]) -> Ratio:
    if len(best) < 2:
        return Ratio(None, None)
    primal, dual = best["primal"], best["dual"]
    below = made(outcome, dual, what)
    arrived = _arrived(outcome, primal), _arrived(outcome, dual)
    if below == 0 or not any(arrived):
        return Ratio(None, None)
    value = made(outcome, primal, what) / below
    if all(arrived):
        return Ratio(value, "=")
    # A bound is reported only where it shows which side is ahead.
    if arrived[0]:
        return Ratio(value, "<") if value <= 1 else Ratio(None, None)
    return Ratio(value, ">") if value >= 1 else Ratio(None, None)


def _headline(outcome: FaceOff, winner: Side, fastest: str, other: str) -> str:
    ours, theirs = made(outcome, fastest, "passes"), made(outcome, other, "passes")
    side = winner.capitalize()
    lost = "primal" if winner == "dual" else "dual"
    factor = theirs / ours if ours else math.inf
    if not _arrived(outcome, other):
        if TIE <= factor < math.inf:
            return f"{side}, more than {times(factor)} less work"
        return f"{side}: the {lost} side did not arrive"
    if theirs == 0:
        return "Both sides are there at the start"
    if ours == 0:
        return f"{side}: there at the start"
    if factor < TIE:
        return f"A close call: {winner} by a hair" if factor > 1 else "A tie"
    return f"{side}, {times(factor)} less work"


def _named(outcome: FaceOff, name: str) -> str:
    return f"{name} ({outcome.side_of(name)})"


def _passes(outcome: FaceOff, name: str) -> str:
    count = number(made(outcome, name, "passes"))
    return f"{count} {'pass' if count == '1' else 'passes'}"


def _cost(outcome: FaceOff, name: str) -> str:
    seconds = number(made(outcome, name, "seconds"))
    return f"{_passes(outcome, name)} and {seconds}\N{NO-BREAK SPACE}s"


def _race(outcome: FaceOff, fastest: str, other: str) -> str:
    begin = (
        f"{_named(outcome, fastest)} reached a relative duality gap of {level(outcome.tol)} in "
        f"{_cost(outcome, fastest)}"
    )
    if _arrived(outcome, other):
        return f"{begin}, {_named(outcome, other)} in {_cost(outcome, other)}."
    run = worst(outcome.results[other])
    return (
        f"{begin}; {_named(outcome, other)} did not: its gap was "
        f"{number(run.certificate.relative_gap)} after {_cost(outcome, other)}. {run.status.value}"
    )


def _by_the_clock(outcome: FaceOff, fastest: str, other: str) -> list[str]:
    """A sentence where seconds and passes disagree."""
    ours, theirs = made(outcome, fastest, "seconds"), made(outcome, other, "seconds")
    if not _arrived(outcome, other) or ours < TIE * theirs or theirs == 0:
        return []
    return [
        f"By the clock it is the other way round: {_named(outcome, other)} was "
        f"{times(ours / theirs)} faster, as its steps cost less time for each nonzero."
    ]


def _engine(outcome: FaceOff) -> list[str]:
    """What a fit would take, where the engine ran."""
    if ENGINE not in outcome.results:
        return []
    run = worst(outcome.results[ENGINE])
    used = list(dict.fromkeys(run.trace.methods))
    ways = " and then ".join(used)
    if not run.converged:
        return [
            f"A fit takes the engine, here {ways}, which came to "
            f"{number(run.certificate.relative_gap)} in {_cost(outcome, ENGINE)}. "
            f"{run.status.value}"
        ]
    return [f"A fit takes the engine, here {ways}: {_cost(outcome, ENGINE)}."]


def _nobody(outcome: FaceOff, engine: bool) -> str:
    closest = outcome.fastest_of(outcome.rivals)
    run = worst(outcome.results[closest])
    return (
        f"No {'other ' if engine else ''}contender reached a relative duality gap of "
        f"{level(outcome.tol)}. "
        f"{_named(outcome, closest)} came closest, with "
        f"{number(run.certificate.relative_gap)} after {_cost(outcome, closest)}. "
        f"{run.status.value}"
    )


def _one_side(outcome: FaceOff) -> str:
    fastest = outcome.fastest_of(outcome.rivals)
    count = len(outcome.rivals)
    among = "" if count == 1 else f", the fewest of {count} contenders"
    return (
        f"{_named(outcome, fastest)} reached a relative duality gap of {level(outcome.tol)} in "
        f"{_cost(outcome, fastest)}{among}. No contender was of the other side, so the two sides "
        "were not compared."
    )


def _prediction(outcome: FaceOff, judged: Sequence[str]) -> Literal["held", "failed", "undecided"]:
    if len(judged) < 2 or not any(_arrived(outcome, name) for name in judged):
        return "undecided"
    first = outcome.fastest_of(judged)
    return "held" if outcome.side_of(first) == outcome.advice.theory.side else "failed"


def _theory(outcome: FaceOff, prediction: str, judged: dict[str, str], best: dict[str, str]) -> str:
    theory = outcome.advice.theory
    if theory.dual.total == math.inf:
        return f"Theory compares no costs here: {theory.reason}"
    factor = max(theory.ratio, 1 / theory.ratio) if theory.ratio > 0 else 1.0
    margin = f"{times(factor)} less work" if factor >= TIE else "by a hair"
    text = f"Theory names the {theory.side}, {margin}: {theory.reason} "
    if prediction == "undecided":
        return text + "These runs do not decide whether that is so."
    between = "" if judged == best else " between nsync and quartz, the two methods it is about"
    text += f"The prediction {prediction}{between}"
    if prediction == "held":
        return text + "."
    return text + (
        ": T bounds the work from above, and the side with the smaller bound need not be the "
        "faster one."
    )


# --- in numbers -----------------------------------------------------------------------------------


def numbers(outcome: FaceOff) -> dict[str, Any]:
    """All that the page reports, as plain Python: what ``--json`` prints.

    Numbers that are infinite or undefined are None. ``passes`` and ``seconds`` of a contender are
    means over its runs, its certificate is that of its worst run.

    Examples
    --------
    >>> import numpy as np
    >>> from primaldual import Problem, faceoff
    >>> from primaldual.report import numbers
    >>> X = np.random.default_rng(0).standard_normal((6, 30))
    >>> facts = numbers(faceoff(Problem(X, [1, -1, 1, -1, 1, -1], lam=0.1), tol=1e-4))
    >>> facts["verdict"]["winner"], facts["contenders"]["quartz"]["arrived"]
    ('dual', True)
    """
    said = verdict(outcome)
    advice, problem = outcome.advice, outcome.problem
    return finite(
        {
            "verdict": {
                "headline": said.headline,
                "winner": said.winner,
                "fastest": outcome.fastest if _arrived(outcome, outcome.fastest) else None,
                "prediction": said.prediction,
                "passes_ratio": said.passes.value,
                "passes_relation": said.passes.relation,
                "seconds_ratio": said.seconds.value,
                "seconds_relation": said.seconds.relation,
                "sentences": list(said.sentences),
            },
            "tol": outcome.tol,
            "problem": {
                "examples": problem.n,
                "features": problem.d,
                "nonzeros": problem.matrix.nnz,
                "density": problem.matrix.nnz / max(problem.n * problem.d, 1),
                "loss": loss_name(problem.loss),
                "lam": problem.lam,
                "intercept": problem.fit_intercept,
                "weighted": problem.is_weighted,
                "features_spread": _spread(problem.features),
                "examples_spread": _spread(problem.examples),
            },
            "advice": advice.numbers(),
            "contenders": {name: _contender(outcome, name) for name in outcome.results},
            "coefficients": _coefficients(outcome),
            "settings": {
                **outcome.settings,
                "sampling": _sampling_name(outcome.settings.get("sampling")),
                "seeds": list(outcome.settings.get("seeds", ())),
            },
            "versions": versions(),
        }
    )


def worst(runs: Sequence[Result]) -> Result:
    """The run with the largest gap: one that did not arrive, if there is one."""
    return max(runs, key=lambda run: (not run.converged, run.certificate.relative_gap))


def best_run(outcome: FaceOff) -> Result:
    """The fastest contender's run with the smallest gap."""
    return min(outcome.results[outcome.fastest], key=lambda run: run.certificate.relative_gap)


def coefficient_error(run: Result) -> float:
    """√(2 gap/λ): how far w is from the best one at most, as P is λ-strongly convex in w."""
    return math.sqrt(2 * run.certificate.gap / run.problem.lam)


def versions() -> dict[str, str]:
    """Of the library, of Python and of what it computes with."""
    named = {name: version(name) for name in ("primaldual", "numpy", "scipy", "numba")}
    return {**named, "python": platform.python_version(), "machine": platform.machine()}


def _spread(side: Coordinates) -> dict[str, float]:
    counts = np.sort(side.counts)
    top = max(1, side.size // 100)
    return {
        "least": int(counts[0]),
        "median": float(np.median(counts)),
        "most": int(counts[-1]),
        "empty": int(np.count_nonzero(counts == 0)),
        # the part of the nonzeros in the fullest 1 % of the rows, at least one
        "top_share": float(counts[-top:].sum() / max(counts.sum(), 1)),
    }


def predicted_passes(outcome: FaceOff, name: str) -> float:
    """The passes to ``tol`` that theory allows a contender; infinite where it states none."""
    total = outcome.predictions[name].total
    if not (0 < outcome.tol < 1 and np.isfinite(total)):
        return np.inf
    return outcome.predictions[name].passes(outcome.tol)


def _contender(outcome: FaceOff, name: str) -> dict[str, Any]:
    runs = outcome.results[name]
    run = worst(runs)
    return {
        "side": outcome.side_of(name),
        "runs": len(runs),
        "arrived": _arrived(outcome, name),
        "status": run.status.name.lower(),
        "predicted_passes": predicted_passes(outcome, name),
        "passes": made(outcome, name, "passes"),
        "seconds": made(outcome, name, "seconds"),
        "primal": run.certificate.primal,
        "dual": run.certificate.dual,
        "gap": run.certificate.gap,
        "relative_gap": run.certificate.relative_gap,
    }


def _coefficients(outcome: FaceOff) -> dict[str, Any]:
    run = best_run(outcome)
    w = run.w
    known = np.flatnonzero(np.isfinite(w) & (w != 0))
    top = known[np.argsort(-np.abs(w[known]), kind="stable")[:TOP]]
    return {
        "contender": run.method,
        "error": coefficient_error(run),
        "nonzero": int(np.count_nonzero(w)),
        "intercept": run.intercept,
        "largest": [{"feature": int(i), "value": float(w[i])} for i in top],
    }


def _sampling_name(sampling: Any) -> str | None:
    return sampling if sampling is None or isinstance(sampling, str) else type(sampling).__name__
