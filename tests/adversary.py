"""Adversarial fits against an oracle in high precision.

``python -m tests.adversary [number of fits] [number of the first]``

Every fit is drawn from its number alone: a shape from 1×1 to 3000×3000, rows and columns in units
that differ by up to 24 orders of magnitude, duplicated, constant and zero columns, separable data,
λ from 1e-12 to 1e6, all losses and the softmax one, weights with zeros, float32, unsorted CSR,
columns first, an intercept or none, any method, and limits of time, passes or Ctrl-C. Counted are
gaps that exact arithmetic finds more than 1 % larger, problems that hold other data than was given,
models with P(w) above P(0), crashes, fits that do not end, and exceptions that do not say what to
do. All have to be 0.
"""

from __future__ import annotations

import faulthandler
import math
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parent / "tools"))

from exact_gaps import exact_gap, exact_softmax_gap, stored_rows

from primaldual import Problem, solve
from primaldual._numba.compile import COMPILER
from primaldual.losses import LOSSES
from primaldual.methods import ENGINE, METHODS
from primaldual.multinomial import Multinomial

# Seconds of one processor after which a fit without a time limit counts as a hang, for up to
# SMALL entries, and per entry beyond them.
PATIENCE, SMALL, PER_ENTRY = 10.0, 200_000, 2e-5
# Seconds after which a fit that does not end at all ends the run, with the stacks of all threads.
STUCK = 1200
SOFTMAX = "softmax"
COUNTED = (
    "understated", "other data", "worse than P(0)", "crash", "hang", "unclear exception"
)  # fmt: skip


class Fit(NamedTuple):
    """One fit to be made."""

    X: Any
    y: Any
    loss: str
    lam: float
    weights: Any
    fit_intercept: bool
    method: str
    limits: dict[str, float]
    interrupt: int | None  # the check at which Ctrl-C is pressed
    what: str  # in words


def drawn(number: int, largest: int = 3000) -> Fit:
    """The fit of that number."""
    rng = np.random.default_rng([21, number])
    n, d = _shape(rng, largest)
    X, what = _data(rng, n, d)
    name = str(rng.choice([*LOSSES, SOFTMAX]))
    if name == SOFTMAX and n > 2:
        classes = int(rng.integers(3, 6))
        y = np.concatenate([np.arange(3), rng.integers(0, classes, n - 3)])
    else:
        name = "logistic" if name == SOFTMAX else name
        y = _targets(rng, X, LOSSES[name].classification)
        if LOSSES[name]().targets != "any":
            y = np.exp(np.clip(y, -20.0, 20.0))
    weights = rng.integers(0, 3, n).astype(float) if rng.random() < 0.25 else None
    if weights is not None:
        weights[rng.integers(0, n)] = 1.0
        if LOSSES.get(name, LOSSES["logistic"]).classification:
            for label in np.unique(y):  # a class without weight is refused
                weights[int(np.flatnonzero(y == label)[0])] = 1.0
    limits, interrupt = {}, None
    method = _method(rng, name)
    draw = rng.random()
    if draw < 0.1:
        limits = {"max_time": float(rng.choice([0.0, 0.001, 0.05]))}
    elif draw < 0.2:
        limits = {"max_passes": float(rng.integers(0, 20))}
    elif draw < 0.25:
        interrupt = int(rng.integers(1, 4))
    limits["tol"] = float(10.0 ** -rng.integers(2, 13))
    lam = float(10.0 ** rng.uniform(-12, 6))
    stored, how = _stored(rng, X)
    intercept = bool(rng.random() < 0.4) and (method == "auto" or METHODS[method].free_intercept)
    if method not in ("auto", *ENGINE):  # those of the literature have no end at such scales
        limits["max_passes"] = min(limits.get("max_passes", 20), 20)
    what = f"{n}×{d} {what}{how} {name} lam={lam:.1e} {method} {limits}"
    what += f"{' intercept' if intercept else ''}{' weights' if weights is not None else ''}"
    return Fit(stored, y, name, lam, weights, intercept, method, limits, interrupt, what)


def _method(rng: Any, name: str) -> str:
    """The engine; one of its methods; or, now and then, one of the literature."""
    draw = rng.random()
    if name == SOFTMAX or draw < 0.55:
        return "auto"
    smooth = LOSSES[name]().smooth
    # Each pair of a loss and a method is compiled: two losses stand for all in the literature.
    plain = draw > 0.9 and name in ("logistic", "squared")
    able = [m for m in METHODS if m not in ENGINE] if plain else list(ENGINE)
    return str(rng.choice([m for m in able if smooth or not METHODS[m].smooth_only]))


def _shape(rng: Any, largest: int) -> tuple[int, int]:
    draw = rng.random()
    top = 40 if draw < 0.83 else 250 if draw < 0.96 else 900 if draw < 0.99 else 3000
    if draw > 0.9985:
        return largest, largest
    top = min(top, largest)
    return tuple(int(x) for x in np.exp(rng.uniform(0, math.log(top), 2)).round())  # type: ignore[return-value]


def _data(rng: Any, n: int, d: int) -> tuple[Any, str]:
    X, words = rng.standard_normal((n, d)), []
    if rng.random() < 0.4:
        X[rng.random((n, d)) < rng.uniform(0.2, 0.95)] = 0.0
        words.append("sparse")
    for kind in ("columns", "rows"):
        if rng.random() < 0.4:
            spread = rng.uniform(0, 12)
            scales = 10.0 ** rng.uniform(-spread, spread, d if kind == "columns" else n)
            X *= scales if kind == "columns" else scales[:, None]
            words.append(f"{kind}±{spread:.0f}")
    for kind, value in (("duplicate", None), ("constant", 1.0), ("zero", 0.0)):
        if d > 1 and rng.random() < 0.2:
            X[:, rng.integers(0, d)] = X[:, rng.integers(0, d)] if value is None else value
            words.append(kind)
    return X, "".join(f"{word} " for word in words)


def _targets(rng: Any, X: Any, classification: bool) -> Any:
    n, d = X.shape
    norms = np.maximum(np.abs(X).max(axis=0), 1e-300)
    score = (X / norms) @ rng.standard_normal(d)
    if rng.random() < 0.6:  # else separable, or without noise
        score = score + rng.standard_normal(n)
    if classification:
        y = np.where(score > np.median(score), 1.0, -1.0)
        if n > 1 and len(np.unique(y)) < 2:
            y[rng.integers(0, n)] *= -1.0
        return y
    return score * 10.0 ** rng.uniform(-6, 6)


def _stored(rng: Any, X: Any) -> tuple[Any, str]:
    how = str(rng.choice(["dense", "float32", "columns first", "csr", "csc", "unsorted csr"]))
    if how == "float32":
        if not np.abs(X).max(initial=0.0) < 1e37:
            return X, "dense"
        return X.astype(np.float32), how
    if how == "columns first":
        return np.asfortranarray(X), how
    if "cs" not in how:
        return X, how
    made = sparse.csc_array(X) if how == "csc" else sparse.csr_array(X)
    if how == "unsorted csr":
        for i in range(X.shape[0]):
            part = slice(made.indptr[i], made.indptr[i + 1])
            order = rng.permutation(made.indptr[i + 1] - made.indptr[i])
            made.indices[part] = made.indices[part][order]
            made.data[part] = made.data[part][order]
        made.has_sorted_indices = False
    return made, how


def judged(fit: Fit, seed: int = 0) -> tuple[str, str]:
    """What is wrong with a fit, one of COUNTED or "", and more about it."""
    seen = 0

    def press(progress: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == fit.interrupt:
            raise KeyboardInterrupt

    began = time.process_time() - COMPILER.seconds
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            problem = _problem(fit)
            callback = None if fit.interrupt is None else press
            result = solve(problem, fit.method, seed=seed, callback=callback, **fit.limits)
    except ValueError as error:
        clear = "must" in str(error) or "needs" in str(error)
        return "" if clear else "unclear exception", f"{error}"
    except Exception:
        return "crash", traceback.format_exc()
    spent = time.process_time() - COMPILER.seconds - began
    allowed = max(PATIENCE, PER_ENTRY * (np.prod(fit.X.shape) - SMALL))
    if "max_time" in fit.limits:
        allowed = max(1.2 * fit.limits["max_time"], 0.2) + PER_ENTRY / 100 * np.prod(fit.X.shape)
    if spent > allowed:
        return "hang", f"{spent:.1f} s, {result.status.name}"
    proof = result.certificate
    if not _is_faithful(fit, problem):
        return "other data", repr(problem)
    oracle = exact_softmax_gap if fit.loss == SOFTMAX else exact_gap
    exact = oracle(problem, proof.w, proof.alpha, proof.intercept)
    about = (
        f"{result.status.name} gap {proof.gap:.3e} exactly {mp.nstr(exact.gap, 4)}, "
        f"P {proof.primal:.6e} exactly {mp.nstr(exact.primal, 7)}, P(0) {mp.nstr(exact.at_zero, 7)}"
    )
    if not exact.primal <= exact.at_zero * (1 + mp.mpf("1e-9")):
        return "worse than P(0)", about
    if not proof.gap < math.inf:
        return "", "infinite gap: " + about
    if exact.gap > mp.mpf(proof.gap) * mp.mpf("1.01"):
        return "understated", about
    return "", result.status.name


def _problem(fit: Fit) -> Any:
    if fit.loss == SOFTMAX:
        return Multinomial(fit.X, fit.y, fit.lam, fit.weights, fit.fit_intercept)
    return Problem(fit.X, fit.y, fit.loss, fit.lam, fit.weights, fit.fit_intercept)


def _is_faithful(fit: Fit, problem: Any) -> bool:
    """Whether the problem, which the oracle reads, holds what was given."""
    given = fit.X.toarray() if sparse.issparse(fit.X) else fit.X
    stored = stored_rows(problem).toarray()
    weights = np.ones(len(given)) if fit.weights is None else fit.weights
    return (
        np.array_equal(stored, given)
        and np.array_equal(
            problem.classes[problem.codes] if fit.loss == SOFTMAX else problem.y, fit.y
        )
        and np.allclose(problem.sample_weight * weights.sum(), weights * len(weights), rtol=1e-14)
    )


def main(arguments: list[str]) -> int:
    """Make the fits, print what is wrong and the counts."""
    count = int(arguments[0]) if arguments else 2000
    first = int(arguments[1]) if len(arguments) > 1 else 0
    faults: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    for number in range(first, first + count):
        fit = drawn(number)
        faulthandler.dump_traceback_later(STUCK, exit=True)
        fault, about = judged(fit)
        faults[fault] += 1
        ends[fault or about.split(":")[0]] += 1
        if (number - first) % 100 == 99:
            print(f"{number - first + 1} fits", file=sys.stderr, flush=True)
        if fault:
            print(f"fit {number}: {fault}: {fit.what}\n    {about}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    print(f"{count} fits from number {first}: {dict(ends)}")
    print(", ".join(f"{name}: {faults[name]}" for name in COUNTED))
    return 1 if any(faults[name] for name in COUNTED) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
