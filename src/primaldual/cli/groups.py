"""Options that belong together: a command takes them as one object."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_type_hints

import typer

from . import terminal
from .options import (
    AVERAGED,
    DOUBLED,
    WITH_QUANTILE,
    Alpha,
    Balanced,
    C,
    Drop,
    Epsilon,
    Format,
    Impute,
    Json,
    Keep,
    Lam,
    LossOption,
    MaxFeatures,
    MaxLine,
    MaxRatio,
    MaxRounds,
    MaxTime,
    NoIntercept,
    Quantile,
    Quiet,
    Scale,
    Scaled,
    Seed,
    Side,
    SideOption,
    Target,
    Task,
    TaskOption,
    Threads,
    Tol,
)


@dataclass(frozen=True)
class Replaying:
    """How to read a file as a model wants it."""

    format: Format = None
    target: Target = None
    max_features: MaxFeatures = None
    max_ratio: MaxRatio = None
    max_line: MaxLine = None


@dataclass(frozen=True)
class Reading:
    """How to read a file for the first time."""

    format: Format = None
    target: Target = None
    drop: Drop = None
    keep: Keep = None
    impute: Impute = None
    scale: Scaled = Scale.none
    max_features: MaxFeatures = None
    max_ratio: MaxRatio = None
    max_line: MaxLine = None

    @property
    def columns(self) -> dict[str, Any]:
        """The options about columns, as ``files.read`` takes them."""
        return {
            "impute": self.impute,
            "drop": () if self.drop is None else _listed(self.drop),
            "keep": None if self.keep is None else _listed(self.keep),
        }

    @property
    def again(self) -> Replaying:
        """How to read another file as this one was read."""
        return Replaying(self.format, self.target, self.max_features, self.max_ratio, self.max_line)


def _listed(text: str) -> list[str]:
    """Names between commas; a name with a comma stands in quotes, as in CSV."""
    import csv

    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]


@dataclass(frozen=True)
class Asked:
    """What the labels are, and the loss."""

    loss: LossOption = None
    task: TaskOption = Task.auto
    epsilon: Epsilon = None
    quantile: Quantile = None

    def parameter_of(self, loss: str) -> float | None:
        """The parameter of the loss that was given; refused if it is that of another loss."""
        if self.quantile is None:
            return self.epsilon
        if self.epsilon is not None or loss not in WITH_QUANTILE:
            raise typer.BadParameter(
                f"--quantile is for {', '.join(WITH_QUANTILE)}; loss {loss} has none"
            )
        return self.quantile


@dataclass(frozen=True)
class Training:
    """How a model is trained."""

    balanced: Balanced = False
    no_intercept: NoIntercept = False
    side: SideOption = Side.auto
    seed: Seed = 0

    def parameters(self, stop: Stop) -> dict[str, Any]:
        """The same as parameters of an estimator."""
        return {
            "fit_intercept": not self.no_intercept,
            "side": self.side.value,
            "tol": stop.tol,
            "max_iter": stop.max_passes,
            "max_time": stop.max_time,
            "random_state": self.seed,
        }


@dataclass(frozen=True)
class Strength:
    """The regularisation as it was given: at most one of the three."""

    C: C = None
    lam: Lam = None
    alpha: Alpha = None

    def __post_init__(self) -> None:
        if sum(value is not None for value in (self.C, self.lam, self.alpha)) > 1:
            raise typer.BadParameter("give one of --C, --lam and --alpha")

    def lam_for(self, loss: str, n: int) -> float:
        """λ of mean loss + λ/2 ‖w‖², by default that of C = 1 or alpha = 1."""
        if self.lam is not None:
            return self.lam
        if self.alpha is not None:
            return self.alpha if loss in AVERAGED else self.alpha / n
        if loss in AVERAGED and self.C is None:
            return 1.0
        C = 1.0 if self.C is None else self.C
        return 1.0 / ((2.0 if loss in DOUBLED else 1.0) * C * n)


@dataclass(frozen=True)
class Stop:
    """When a fit stops."""

    tol: Tol = 1e-6
    max_passes: MaxRounds = 1000
    max_time: MaxTime = None
    threads: Threads = None


@dataclass(frozen=True)
class Answer:
    """How a command answers."""

    as_json: Json = False
    quiet: Quiet = False

    def __post_init__(self) -> None:
        terminal.begin(self.quiet)


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options of its groups in place of the groups."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind))
            continue
        groups[name] = kind
        types = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            option = inspect.Parameter(
                field.name, parameter.KEYWORD_ONLY, default=field.default,
                annotation=types[field.name],
            )  # fmt: skip
            parameters.append(option)
    parameters = [one.replace(kind=one.KEYWORD_ONLY) for one in parameters]

    @functools.wraps(command)
    def run(**options: Any) -> Any:
        made = {
            name: kind(**{field.name: options.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        return command(**options, **made)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
