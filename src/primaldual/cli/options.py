"""Options that several commands have, and the values they take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup


class Group(TyperGroup):
    """All commands. Its only option, --help, is parsed only where it can stand, at the beginning.

    Typer loads Pydantic to parse any option, which takes longer than the help of a command.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Split the arguments into those of this group and those of the command."""
        self.add_help_option = not args or args[0].startswith("-")
        try:
            return super().parse_args(ctx, args)
        finally:
            self.add_help_option = True


class Command(TyperCommand):
    """A command whose help shows its options under the headings they were given."""

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first sentence of the help, never cut."""
        return (self.help or "").split("\n")[0]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options without a heading, and the others."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            kind = "Arguments" if param.param_type_name == "argument" else "Options"
            heading = getattr(param, "rich_help_panel", None) or kind
            if record is not None:
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class Loss(StrEnum):
    """The losses, classification first."""

    logistic = "logistic"
    squared_hinge = "squared_hinge"
    smoothed_hinge = "smoothed_hinge"
    modified_huber = "modified_huber"
    probit = "probit"
    hinge = "hinge"
    squared = "squared"
    huber = "huber"
    squared_epsilon_insensitive = "squared_epsilon_insensitive"
    smoothed_epsilon_insensitive = "smoothed_epsilon_insensitive"
    log_cosh = "log_cosh"
    epsilon_insensitive = "epsilon_insensitive"
    smoothed_pinball = "smoothed_pinball"
    pinball = "pinball"
    poisson = "poisson"
    gamma = "gamma"


CLASSIFICATION = tuple(loss.value for loss in list(Loss)[:6])
WITH_EPSILON = (
    "huber",
    "squared_epsilon_insensitive",
    "smoothed_epsilon_insensitive",
    "epsilon_insensitive",
)
WITH_QUANTILE = ("pinball", "smoothed_pinball")
# The scikit-learn models with these losses average them: their alpha is λ itself.
AVERAGED = ("pinball", "poisson", "gamma")
# The scikit-learn models with these losses count twice the loss of this library.
DOUBLED = ("squared_hinge", "squared_epsilon_insensitive")


class Task(StrEnum):
    """What the labels are."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class Side(StrEnum):
    """Where to solve."""

    auto = "auto"
    primal = "primal"
    dual = "dual"


class FileFormat(StrEnum):
    """What can be read."""

    svmlight = "svmlight"
    csv = "csv"
    parquet = "parquet"
    npz = "npz"
    npy = "npy"
    mtx = "mtx"


class Filling(StrEnum):
    """What can stand for a missing number."""

    mean = "mean"
    median = "median"
    zero = "zero"


class Scale(StrEnum):
    """What features are divided by."""

    none = "none"
    std = "std"
    max = "max"


def _positive(value: Any) -> Any:
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(f"must be a positive number, got {value:g}")
    return value


def _fraction(value: float | None) -> float | None:
    if value is not None and not 0.0 < value < 1.0:
        raise typer.BadParameter("must be between 0 and 1, both excluded")
    return value


def _between_zero_and_one(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"must lie between 0 and 1, got {value:g}")
    return value


_DATA = "Data"
_MODEL = "Model"
_STOP = "When to stop"

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="LIBSVM text (.svm, .libsvm, .txt; also .gz, .bz2, .xz, .zst), CSV, Parquet, NPZ, NPY "
        "or MTX; - is stdin.",
    ),
]
Format = Annotated[
    FileFormat | None,
    typer.Option(
        "--format", help="If the name of the file does not show it.", rich_help_panel=_DATA
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="The column with the labels, by name or number, by default the last of a CSV or "
        "Parquet file; for arrays a column or another file.",
        rich_help_panel=_DATA,
    ),
]
Impute = Annotated[
    Filling | None,
    typer.Option(
        "--impute",
        help="Fill missing values of a CSV or Parquet file; otherwise they are refused.",
        rich_help_panel=_DATA,
    ),
]
Drop = Annotated[
    str | None,
    typer.Option(
        "--drop",
        metavar="COL,…",
        help="Columns of a CSV or Parquet file to leave out, by name or number.",
        rich_help_panel=_DATA,
    ),
]
Keep = Annotated[
    str | None,
    typer.Option(
        "--keep",
        metavar="COL,…",
        help="Use these columns and no others; the labels need not be among them.",
        rich_help_panel=_DATA,
    ),
]
Scaled = Annotated[
    Scale,
    typer.Option(
        "--scale",
        help="Divide features by their standard deviation or largest size; words stay 0 and 1.",
        rich_help_panel=_DATA,
    ),
]
MaxFeatures = Annotated[
    int | None,
    typer.Option(
        "--max-features",
        help="Refuse files with more features than this; by default 268 million.",
        min=1,
        rich_help_panel=_DATA,
    ),
]
MaxRatio = Annotated[
    float | None,
    typer.Option(
        "--max-ratio",
        help="Refuse archives whose content is more times larger; by default 250.",
        callback=_positive,
        rich_help_panel=_DATA,
    ),
]
MaxLine = Annotated[
    int | None,
    typer.Option(
        "--max-line",
        help="Refuse LIBSVM text with longer lines, in bytes; by default 268 million.",
        min=1,
        rich_help_panel=_DATA,
    ),
]
LossOption = Annotated[
    Loss | None,
    typer.Option(
        "--loss",
        metavar="LOSS",
        help=f"For classes {', '.join(CLASSIFICATION)} or squared, by default logistic; for "
        f"numbers {', '.join(loss.value for loss in list(Loss)[6:])}, by default squared.",
        rich_help_panel=_MODEL,
    ),
]
TaskOption = Annotated[
    Task,
    typer.Option(
        "--task",
        help="What the labels are; auto: classes if they are texts or a few whole numbers.",
        rich_help_panel=_MODEL,
    ),
]
C = Annotated[
    float | None,
    typer.Option(
        "--C",
        help="Inverse strength of the regularisation, as scikit-learn's C.",
        callback=_positive,
        rich_help_panel=_MODEL,
    ),
]
Lam = Annotated[
    float | None,
    typer.Option(
        "--lam",
        help="Its strength as λ of mean loss + λ/2 ‖w‖².",
        callback=_positive,
        rich_help_panel=_MODEL,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        help="Its strength as scikit-learn's alpha: λ for pinball, poisson and gamma, else λ times "
        "the number of examples.",
        callback=_positive,
        rich_help_panel=_MODEL,
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        help="Threshold of huber and of the ε-insensitive losses.",
        min=0,
        rich_help_panel=_MODEL,
    ),
]
Quantile = Annotated[
    float | None,
    typer.Option(
        "--quantile",
        help="The quantile of pinball and smoothed_pinball, between 0 and 1; by default 0.5.",
        callback=_fraction,
        rich_help_panel=_MODEL,
    ),
]
NoIntercept = Annotated[
    bool,
    typer.Option("--no-intercept", help="A model through the origin.", rich_help_panel=_MODEL),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that fit wrote.")]
Output = Annotated[
    Path, typer.Option("-o", "--output", metavar="MODEL", help="The model file to write.")
]
Balanced = Annotated[
    bool, typer.Option("--balanced", help="Every class counts the same.", rich_help_panel=_MODEL)
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Save the run here now and then; run again, it goes on from there.",
    ),
]
CheckpointEvery = Annotated[
    float, typer.Option("--checkpoint-every", help="Seconds between two saves.", min=0)
]
Lams = Annotated[
    str | None,
    typer.Option(
        "--lams", help="Values of λ, separated by commas; by default seven from 1000/n to 0.001/n."
    ),
]
TestFile = Annotated[
    str | None,
    typer.Option("--test", metavar="FILE", help="Choose the best λ by the score on this file."),
]
Folds = Annotated[
    int | None,
    typer.Option("--cv", metavar="K", help="Choose the best λ by K-fold cross-validation.", min=2),
]
BestModel = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="MODEL", help="Write the model of the best λ."),
]
OptionalFile = Annotated[
    str | None,
    typer.Argument(metavar="FILE", help="As for the other commands; without it, a demo."),
]
Contenders = Annotated[str, typer.Option(help="Contenders, separated by commas, or 'all'.")]
WithIntercept = Annotated[
    bool, typer.Option("--intercept", help="With an intercept, if all contenders can.")
]
Page = Annotated[Path | None, typer.Option("--html", help="Write a page to look at.")]
SideOption = Annotated[
    Side,
    typer.Option(
        "--side", help="Where to solve; auto: where it is cheaper.", rich_help_panel=_MODEL
    ),
]
Tol = Annotated[
    float,
    typer.Option(
        "--tol",
        help="Relative duality gap to reach.",
        callback=_between_zero_and_one,
        rich_help_panel=_STOP,
    ),
]
MaxPasses = Annotated[
    float,
    typer.Option(
        "--max-passes", help="Give up after this many passes.", min=0, rich_help_panel=_STOP
    ),
]
MaxRounds = Annotated[
    int,
    typer.Option(
        "--max-passes",
        help="Give up after this many passes; a Newton step counts as one.",
        min=0,
        rich_help_panel=_STOP,
    ),
]
MaxTime = Annotated[
    float | None,
    typer.Option(
        "--max-time", help="Give up after this many seconds.", min=0, rich_help_panel=_STOP
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        help="How many threads may work; all cores by default. The result is the same.",
        min=1,
        rich_help_panel=_STOP,
    ),
]
PricedThreads = Annotated[
    int | None,
    typer.Option("--threads", help="Price the methods with that number of threads.", min=1),
]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same bits.", min=0, max=2**31 - 1)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No progress and no remarks; fit prints nothing at all."),
]
