"""Whether the functions of a user's loss belong together: compared at some dozens of points."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .custom import as_loss, is_custom

# Distances from 0 and from y at which the functions are compared, on both sides.
DISTANCES = (1e-6, 1e-3, 0.03, 0.2, 0.4, 0.7, 0.95, 1.05, 1.6, 2.3, 3.7, 6.0, 11.0, 30.0, 90.0)
# Farther out a function may overflow: what is not finite there is left out.
FAR_DISTANCES = (1e3, 1e5)
# Differences are compared up to this fraction, and up to this many roundings of what is subtracted.
FRACTION, ROUNDINGS = 1e-7, 32 * 2.0**-53
# Values of a second derivative may differ by this fraction from a difference of derivatives over
# CLOSE, and where it changes by more than STEADY on the way there they are not compared.
FRACTION_OF_SECOND, CLOSE, STEADY = 0.05, 1e-4, 0.1
# Intervals with the largest change of φ' that are halved in search of a kink, and how often.
INTERVALS, HALVINGS = 6, 34
# Targets at which a loss is looked at.
TARGETS = 5


class Point(NamedTuple):
    """What the loss says at one z."""

    z: float
    value: float
    first: float
    second: float


def check(loss: Any, y: Any = (-1.0, 1.0)) -> None:
    """Refuse a loss of one's own whose functions contradict each other.

    ``derivative`` is compared with differences of ``value``, ``second_derivative`` with differences
    of ``derivative``, ``smoothness`` with the changes of ``derivative``, a ``conjugate`` with value
    and derivative, and the loss has to be convex: at some dozens of z, for some of the targets. A
    ``Problem`` does this with its own y. What passes may still be wrong between the points: a
    certificate then proves less, and nothing that is not true of ``value``.

    Parameters
    ----------
    loss
        As for ``Problem``: an object with ``value``, ``derivative``, ``second_derivative`` and
        ``smoothness``.
    y : array of float
        Targets, or the labels -1 and +1.

    Raises
    ------
    ValueError
        With the point, the two numbers that contradict each other, and what to do.

    Examples
    --------
    >>> import primaldual
    >>> class Wrong:
    ...     smoothness = 1.0
    ...     def value(self, z, y):
    ...         return 0.5 * (z - y) ** 2
    ...     def derivative(self, z, y):
    ...         return y - z
    ...     def second_derivative(self, z, y):
    ...         return 1.0
    >>> primaldual.losses.check(Wrong(), [0.0, 2.0])
    Traceback (most recent call last):
        ...
    ValueError: loss Wrong: its derivative falls, from 100000 at z=-100000 to 1000 at z=-1000 ...
    """
    adopted: Any = as_loss(loss)
    if is_custom(adopted):
        targets = np.unique(np.asarray(y, dtype=np.float64).ravel())
        some = np.linspace(0, len(targets) - 1, min(len(targets), TARGETS)).astype(int)
        _require_sound(adopted, tuple(targets[some].tolist()))


@functools.lru_cache(maxsize=256, typed=True)  # losses are tuples: equal where their types differ
def _require_sound(loss: Any, targets: tuple[float, ...]) -> None:
    name = type(loss).__name__
    for y in targets:
        for fault in _faults(loss, y):
            raise ValueError(f"loss {name}: {fault}")


def _faults(loss: Any, y: float) -> Iterator[str]:
    """What is wrong with a loss at this target, in words, the most basic fault first."""
    points = []
    for z, is_far in _places(y):
        point = Point(z, *(_number(f, z, y) for f in _functions(loss)))
        if all(map(math.isfinite, point)):
            points.append(point)
        elif not is_far:
            yield (
                f"value, derivative and second_derivative at z={z:g}, y={y:g} are "
                f"{point.value:g}, {point.first:g} and {point.second:g}. They have to be finite."
            )
    yield from _convexity(points, y)
    yield from _slopes(points, y)
    yield from _curvatures(loss, points, y)
    yield from _smoothness(loss, points, y)
    yield from _conjugates(loss, points, y)


def _functions(loss: Any) -> tuple[Any, Any, Any]:
    return loss.value, loss.derivative, loss.second_derivative


def _places(y: float) -> list[tuple[float, bool]]:
    """Where to look, in order, and whether that is far out."""
    found = {}
    for centre in {0.0, y}:
        for distance in (*DISTANCES, *FAR_DISTANCES):
            for z in (centre - distance, centre + distance):
                found[z] = distance in FAR_DISTANCES
    return sorted(found.items())


def _number(function: Any, z: float, y: float) -> float:
    """What the function gives; a kernel has infinity or NaN where Python raises an error."""
    try:
        return float(function(z, y))
    except (OverflowError, ZeroDivisionError):
        return math.inf
    except ValueError:
        return math.nan


def _secants(points: list[Point]) -> Iterator[tuple[Point, Point, float, float]]:
    """The slopes of value from point to point, each with what rounding may change of it."""
    for a, b in pairwise(points):
        width = b.z - a.z
        noise = ROUNDINGS * (abs(a.value) + abs(b.value) + abs(a.first * a.z)) / width
        yield a, b, (b.value - a.value) / width, noise + FRACTION * (abs(a.first) + abs(b.first))


def _convexity(points: list[Point], y: float) -> Iterator[str]:
    for (a, b, slope, noise), (_, c, after, more) in pairwise(_secants(points)):
        if after < slope - noise - more:
            yield (
                f"it is not convex. At y={y:g} the slope of value falls from {slope:g} between "
                f"z={a.z:g} and {b.z:g} to {after:g} between {b.z:g} and {c.z:g}. A certificate "
                "needs a convex loss: use for example 'huber' against outliers."
            )


def _slopes(points: list[Point], y: float) -> Iterator[str]:
    for a, b, slope, noise in _secants(points):
        if b.first < a.first - FRACTION * (abs(a.first) + abs(b.first)):
            yield (
                f"its derivative falls, from {a.first:g} at z={a.z:g} to {b.first:g} at z={b.z:g} "
                f"(y={y:g}), where value has the slope {slope:g}. Correct derivative."
            )
        if not a.first - noise <= slope <= b.first + noise:
            yield (
                f"derivative is {a.first:g} at z={a.z:g} and {b.first:g} at z={b.z:g} (y={y:g}), "
                f"but the slope of value between them is {slope:g}. Correct one of the two."
            )


def _curvatures(loss: Any, points: list[Point], y: float) -> Iterator[str]:
    for p in points:
        h = max(CLOSE, 1e-8 * abs(p.z))
        (low, one), (high, two) = (
            [_number(f, p.z + side, y) for f in (loss.derivative, loss.second_derivative)]
            for side in (-h, h)
        )
        found, size = (high - low) / (2 * h), max(abs(p.second), abs(one), abs(two))
        noise = ROUNDINGS * (1e3 * (abs(low) + abs(high)) + loss.smoothness * abs(p.z)) / h
        if p.second < -noise:
            yield f"second_derivative at z={p.z:g}, y={y:g} is negative: {p.second:g}. Correct it."
        steady = max(abs(one - p.second), abs(two - p.second)) <= STEADY * size
        if steady and not abs(found - p.second) <= FRACTION_OF_SECOND * size + noise:
            yield (
                f"second_derivative at z={p.z:g}, y={y:g} is {p.second:g}, but derivative changes "
                f"by {found:g} per unit of z there. Correct one of the two."
            )


def _smoothness(loss: Any, points: list[Point], y: float) -> Iterator[str]:
    """Follow the steepest half of the intervals in which φ' changes most."""
    pairs = sorted(pairwise(points), key=lambda pair: pair[0].first - pair[1].first)
    for a, b in pairs[:INTERVALS]:
        (low, left), (high, right) = (a.z, a.first), (b.z, b.first)
        for _ in range(HALVINGS):
            noise = ROUNDINGS * (abs(left) + abs(right)) + FRACTION * abs(right - left)
            if right - left > loss.smoothness * (high - low) + noise:
                yield (
                    f"smoothness is {loss.smoothness:g}, but derivative changes by "
                    f"{right - left:g} between z={low:.9g} and z={high:.9g} (y={y:g}): by "
                    f"{(right - left) / (high - low):g} per unit. Set smoothness to an upper bound "
                    "of that; a loss with kinks has to be smoothed first."
                )
                return
            middle = 0.5 * (low + high)
            slope = _number(loss.derivative, middle, y)
            if not (low < middle < high and math.isfinite(slope)):
                break
            if slope - left >= right - slope:
                high, right = middle, slope
            else:
                low, left = middle, slope


def _conjugates(loss: Any, points: list[Point], y: float) -> Iterator[str]:
    """φ*(φ'(z)) = z φ'(z) − φ(z), where the loss has a conjugate of its own."""
    if not hasattr(loss, "conjugate"):
        return
    for p in points:
        found = _number(lambda z, y: loss.conjugate(-z, y), p.first, y)
        expected = p.first * p.z - p.value
        size = abs(p.first * p.z) + abs(p.value)
        if math.isfinite(found) and not abs(found - expected) <= 1e-6 * size + 1e-9:
            yield (
                f"conjugate(a, y) at a={-p.first:g}, y={y:g} is {found:g}, but z φ'(z) - φ(z) at "
                f"z={p.z:g}, where φ'(z) = -a, is {expected:g}. Correct conjugate, or leave it out."
            )
