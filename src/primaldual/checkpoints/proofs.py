"""What was saved, checked before it is used; certificates are computed again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problem.certificate import Certificate
from ..problem.recipe import Dual
from ..result import Progress, Result, Status, Trace

# The gap of a pair depends a little on the order of the sums, which the layouts of the data at hand
# decide. A gap computed again may be this much above the one in the file: a factor, and a fraction
# of P(0) and P(w). Twice, and a few thousand roundings of float64.
_FACTOR = 2.0
_ROUNDING = 1e-12


# What is saved of a solve in progress, whatever its method, with how many entries where it matters.
_IN_PROGRESS = {"state", "done", "best", "entries"}


def require_whole(whole: Any, is_finished: bool, method: Any) -> None:
    """Refuse what is not the position of a solve by this method, nor a result of it."""
    needed = {"method", "rng", "problem"} | ({"result"} if is_finished else _IN_PROGRESS)
    if not isinstance(whole, dict) or not needed <= set(whole):
        raise ValueError("a part of the solve is missing")
    if type(whole["method"]) is not type(method):
        raise ValueError("the method is of another class")
    changes = whole["problem"]
    if not isinstance(changes, dict) or not isinstance(changes.get("attributes"), dict):
        raise ValueError("the problem's changes are missing")
    if is_finished:
        if type(whole["result"]) is not Result:
            raise ValueError("the result is of another class")
        return
    done, best, entries = whole["done"], whole["best"], whole["entries"]
    good = (
        (type(done) is tuple and len(done) == 4)
        and all(isinstance(value, float | int | np.floating) for value in done)
        and (type(best) is tuple and len(best) == 2)
        and type(entries) is list
        and all(type(entry) is Progress for entry in entries)
    )
    if not good:
        raise ValueError("what was done so far is not described")


def require_proved(problem: Any, found: Any, tol: float) -> None:
    """Refuse a certificate, or a result with one, whose gap is not what w and α prove."""
    if isinstance(found, Result):
        proof = found.certificate
        if type(proof) is not Certificate:
            raise ValueError("a result has no certificate")
        same = found.w is proof.w and found.alpha is proof.alpha
        if not same or found.problem is not problem or type(found.status) is not Status:
            raise ValueError("a result is not the one of its certificate")
        trace = found.trace
        if type(trace) is not Trace or type(found.method) is not str:
            raise ValueError("a result has no trace, or no method")
        if not all(type(entry) is Progress for entry in trace.entries):
            raise ValueError("a trace has something else than entries")
        _require_gap(problem, proof)
        if found.converged and not proof.relative_gap <= tol:
            raise ValueError("a result that did not converge says that it did")
    elif found is not None:
        _require_gap(problem, found)


def _require_gap(problem: Any, proof: Any) -> None:
    if type(proof) is not Certificate:
        raise ValueError("a certificate is of another kind")
    w_shape, alpha_shape = problem.shapes
    vectors = [(proof.w, w_shape), (proof.alpha, alpha_shape)]
    if type(proof.alpha) is Dual:  # α on data in parts is a recipe of vectors like w
        vectors[1:] = [(vector, w_shape) for vector in proof.alpha.vectors()]
    for array, shape in vectors:
        if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != np.float64:
            raise ValueError("a certificate is of vectors that do not fit the problem")
    if not np.isfinite(proof.gap):
        return  # it claims nothing
    # As it was made: of both halves, or of one and the half that follows from it.
    ways = ((proof.w, proof.alpha), (proof.w, None), (None, proof.alpha))
    with np.errstate(all="ignore"):
        if not any(_confirms(problem, proof, *way) for way in ways):
            raise ValueError("a certificate does not hold: its gap is not the one of its vectors")


def _confirms(problem: Any, proof: Certificate, w: Any, alpha: Any) -> bool:
    """Whether a certificate from scratch is as good."""
    again = problem.certify(w, alpha, proof.intercept)
    slack = _ROUNDING * max(problem.primal_at_zero, abs(again.primal))
    return bool(
        _alike(again.w, proof.w)
        and _alike(again.alpha, proof.alpha)
        and abs(proof.dual - (proof.primal - proof.gap)) <= slack
        and again.gap <= _FACTOR * max(proof.gap, 0.0) + slack
        and abs(again.primal - proof.primal) <= slack + again.gap + abs(proof.gap)
        and problem.relative(again.gap) <= _FACTOR * proof.relative_gap + _ROUNDING
    )


def _alike(one: Any, other: Any) -> bool:
    """Whether two vectors, or two recipes of α, are the same up to rounding."""
    if type(one) is Dual:
        same = [_alike(*pair) for pair in zip(one.vectors(), other.vectors(), strict=True)]
        return all(same) and _alike([one.b, one.delta_b], [other.b, other.delta_b])
    return bool(np.allclose(one, other, rtol=1e-6, atol=1e-12))
