"""What a loss is, and the traits by which methods and the engine tell one from another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from .gaps import value_and_gap_of_residual

Owner = TypeVar("Owner", bound=type)

# The traits that are true or false; False unless a loss says otherwise.
TRAITS = ("classification", "quadratic", "strictly_convex", "shift_invariant")


class Loss(Protocol):
    """What a loss has; ``as_loss`` makes one of an object with three functions and β."""

    @property
    def smoothness(self) -> float:
        """β, a Lipschitz constant of φ'; infinite for a loss with kinks."""

    @property
    def smooth(self) -> bool:
        """Whether φ' has no jumps; with β = ∞ its slope is bounded only on bounded intervals."""

    @property
    def targets(self) -> str:
        """Which numbers may be targets: "any", "nonnegative" or "positive"."""

    @property
    def classification(self) -> bool:
        """Whether labels are -1 and +1."""

    @property
    def quadratic(self) -> bool:
        """Whether φ'' is constant, so that P(w) is a quadratic."""

    @property
    def strictly_convex(self) -> bool:
        """Whether φ'' > 0 everywhere."""

    @property
    def shift_invariant(self) -> bool:
        """Whether φ depends on z - y only."""

    def value(self, z: float, y: float) -> float:
        """φ(z; y)."""

    def derivative(self, z: float, y: float) -> float:
        """φ'(z; y)."""

    def second_derivative(self, z: float, y: float) -> float:
        """φ''(z; y), almost everywhere."""


def loss(
    *,
    smoothness: float | None = None,
    smooth: bool | None = None,
    targets: str = "any",
    classification: bool = False,
    quadratic: bool = False,
    strictly_convex: bool = False,
    shift_invariant: bool = False,
) -> Callable[[Owner], Owner]:
    """Declare the traits of a class of losses; ``Loss`` says what they mean.

    A class with a field or a property ``smoothness`` leaves it out here. A loss is ``smooth`` if
    its β is finite, unless it says that it is without one.
    """
    members: dict[str, Any] = {
        "smooth": smoothness != math.inf if smooth is None else smooth,
        "targets": targets,
        "classification": classification,
        "quadratic": quadratic,
        "strictly_convex": strictly_convex,
        "shift_invariant": shift_invariant,
    }
    if smoothness is not None:
        members["smoothness"] = smoothness
    if shift_invariant:
        members["value_and_gap"] = value_and_gap_of_residual

    def declare(owner: Owner) -> Owner:
        for name, value in members.items():
            if name in TRAITS or not hasattr(owner, name):
                setattr(owner, name, value)
        return owner

    return declare
