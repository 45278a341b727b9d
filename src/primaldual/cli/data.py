"""From a file and the options about the model to data, labels, a problem or an estimator."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .options import CLASSIFICATION, DOUBLED, WITH_EPSILON, Loss, Task
from .terminal import printable, short, whole, working

if TYPE_CHECKING:
    from ..files import Table
    from ..problem import Problem

# Whole numbers are taken for classes if there are no more different ones than this.
MOST_CLASSES = 50

# The losses with an estimator of their own; the others are options of the general ones.
_ESTIMATORS = {
    "logistic": "LogisticRegression",
    "squared_hinge": "LinearSVC",
    "hinge": "LinearSVC",
    "squared": "Ridge",
    "huber": "HuberRegressor",
    "squared_epsilon_insensitive": "LinearSVR",
    "epsilon_insensitive": "LinearSVR",
}


def require_place(output: Path, *others: str | Path | None) -> None:
    """Notice a file that cannot or must not be written before the work, not after it."""
    if output.is_dir():
        raise ValueError(f"{output}: expected the name of a file to write, this is a folder.")
    if not output.absolute().parent.is_dir():
        raise ValueError(f"{output}: the folder {output.absolute().parent} does not exist.")
    for other in others:
        if other not in (None, "-") and os.path.realpath(output) == os.path.realpath(other):
            raise ValueError(
                f"{output}: is used for something else in this command; writing to it would "
                "destroy that. Choose another name."
            )


@dataclass(frozen=True)
class Reading:
    """The options about files."""

    format: str | None = None
    target: str | None = None
    impute: str | None = None
    max_features: int | None = None
    max_ratio: float | None = None
    max_line: int | None = None

    def read(
        self, path: str, schema: dict[str, Any] | None = None, n_features: int | None = None
    ) -> Table:
        """Read a file, and show how far it is."""
        from .. import files

        usual = files.Limits()
        limits = files.Limits(
            features=self.max_features or usual.features,
            ratio=self.max_ratio or usual.ratio,
            line=self.max_line or usual.line,
        )
        name = "standard input" if path == "-" else printable(path)
        with working(f"reading {name}") as say_now:

            def progress(done: int, total: int | None) -> None:
                of = "" if total is None else f" of {total / 1e6:.0f}"
                say_now(f"reading {name}: {done / 1e6:.0f}{of} MB")

            try:
                return files.read(
                    path,
                    format=self.format,
                    target=self.target,
                    impute=self.impute,
                    schema=schema,
                    n_features=n_features,
                    limits=limits,
                    progress=progress,
                )
            except files.FileError as error:
                raise files.FileError(_in_options(str(error))) from None


def _in_options(message: str) -> str:
    """What a reader says, in the words of the command line."""
    message = re.sub(r"Limits\((\w+)=…\)", r"--max-\1", message)
    return re.sub(r"\b(or|and) impute\b", r"\1 use --impute", message)


@dataclass(frozen=True)
class Strength:
    """The regularisation as it was given: at most one of the three."""

    C: float | None
    lam: float | None
    alpha: float | None

    def __post_init__(self) -> None:
        if sum(value is not None for value in (self.C, self.lam, self.alpha)) > 1:
            raise typer.BadParameter("give one of --C, --lam and --alpha")

    def lam_for(self, loss: str, n: int) -> float:
        """λ of mean loss + λ/2 ‖w‖², by default that of C = 1 or alpha = 1."""
        if self.lam is not None:
            return self.lam
        if self.alpha is not None:
            return self.alpha / n
        C = 1.0 if self.C is None else self.C
        return 1.0 / ((2.0 if loss in DOUBLED else 1.0) * C * n)


@dataclass(frozen=True)
class Labelled:
    """A table with its labels understood."""

    table: Table
    loss: str
    y: Any
    classes: Any  # None for regression
    counts: Any  # examples of each class

    @property
    def n(self) -> int:
        """The number of examples."""
        return int(self.table.X.shape[0])

    @cached_property
    def nnz(self) -> int:
        """The number of nonzero entries."""
        import numpy as np

        X = self.table.X
        return int(X.nnz if hasattr(X, "nnz") else np.count_nonzero(X))

    @property
    def positive(self) -> Any:
        """The positive class of a two-class problem: the second one, or the largest of several."""
        return self.classes[1] if len(self.classes) == 2 else self.classes[self.counts.argmax()]

    def question(self) -> str:
        """What a two-class problem on these labels asks, as a line; "" if there is no doubt."""
        if self.classes is None or len(self.classes) == 2:
            return ""
        return f"of the classes, {printable(self.positive, 20)} against the rest"

    def describe(self) -> str:
        """Size and labels in a line."""
        n, d = self.table.X.shape
        dense = self.nnz / max(n * d, 1)
        if self.classes is None:
            what = f"targets from {short(self.y.min())} to {short(self.y.max())}"
        else:
            shares = [
                f"{printable(label, 20)} ({count / n:.0%})"
                for label, count in zip(self.classes[:6], self.counts[:6], strict=True)
            ]
            more = ", …" if len(self.classes) > 6 else ""
            what = f"{len(self.classes)} classes: {', '.join(shares)}{more}"
        return (
            f"{printable(self.table.source, 200)}: {whole(n)} examples, {whole(d)} features, "
            f"{whole(self.nnz)} nonzeros (density {dense:.3g}), {what}"
        )


def labelled(table: Table, loss: Loss | None, task: Task) -> Labelled:
    """Decide whether the labels are classes, and which loss goes with them."""
    import numpy as np

    y = table.y
    if y is None:
        raise ValueError(
            f"{table.source}: the file has no labels. Name their column with --target, or use a "
            "format that has them."
        )
    if not table.X.shape[1]:
        raise ValueError(f"{table.source}: the file has no features, only labels.")
    texts = y.dtype.kind not in "biuf"
    are_classes = texts or task is Task.classification
    if task is Task.auto and not texts:
        are_classes = _few_whole_numbers(y) if loss is None else loss.value in CLASSIFICATION
    if task is Task.regression and texts:
        raise ValueError(
            f"{table.source}: the labels are texts, such as {printable(y[0])!r}; regression needs "
            "numbers."
        )
    name = loss.value if loss is not None else "logistic" if are_classes else "squared"
    if not are_classes:
        if name in CLASSIFICATION:
            raise ValueError(f"loss {name} needs classes; for regression use --loss squared.")
        return Labelled(table, name, np.asarray(y, dtype=np.float64), None, None)
    if name not in CLASSIFICATION and name != "squared":
        raise ValueError(
            f"loss {name} is for regression, and the labels are classes. Use one of "
            f"{', '.join(CLASSIFICATION)}, squared."
        )
    if not texts and np.all(y == np.round(y)) and np.abs(y).max() < 2**53:
        y = y.astype(np.int64)
    classes, counts = np.unique(y, return_counts=True)
    return Labelled(table, name, y, classes, counts)


def _few_whole_numbers(y: Any) -> bool:
    import numpy as np

    return bool(np.all(y == np.round(y))) and len(np.unique(y)) <= min(MOST_CLASSES, len(y) - 1)


def problem(data: Labelled, strength: Strength, epsilon: float | None, intercept: bool) -> Problem:
    """The problem to look at; of several classes the largest one against the rest."""
    import numpy as np

    from ..losses import LOSSES
    from ..problem import Problem

    loss: Any = data.loss
    if epsilon is not None:
        _require_epsilon(data.loss)
        loss = LOSSES[data.loss](epsilon)
    y = data.y
    if data.classes is not None:
        _require_two(data)
        y = np.where(y == data.positive, 1.0, -1.0)
    lam = strength.lam_for(data.loss, data.n)
    return Problem(data.table.X, y, loss, lam, fit_intercept=intercept)


def estimator(
    data: Labelled, strength: Strength, epsilon: float | None, balanced: bool, **common: Any
) -> Any:
    """The estimator for the loss and the labels, not fitted yet."""
    from .. import estimators
    from ..losses import LOSSES

    if epsilon is not None:
        _require_epsilon(data.loss)
    if data.classes is not None:
        _require_two(data)
        common["class_weight"] = "balanced" if balanced else None
    elif balanced:
        raise typer.BadParameter("--balanced is for classes, and this is regression")
    name = _ESTIMATORS.get(data.loss)
    if data.loss == "squared" and data.classes is not None:
        name = "RidgeClassifier"
    if name is None:
        name = "LinearRegressor" if data.classes is None else "LinearClassifier"
        common["loss"] = data.loss if epsilon is None else LOSSES[data.loss](epsilon)
    else:
        if name in ("LinearSVC", "LinearSVR"):
            common["loss"] = data.loss
        if epsilon is not None:
            common["epsilon"] = epsilon
    kind = getattr(estimators, name)
    return kind(**_strength(kind, strength, data.loss, data.n), **common)


def _strength(kind: Any, strength: Strength, loss: str, n: int) -> dict[str, float]:
    """The strength in the estimator's own parameter."""
    takes_C = "C" in kind().get_params()
    own, other = ("C", "alpha") if takes_C else ("alpha", "C")
    if getattr(strength, other) is not None:
        raise typer.BadParameter(
            f"{kind.__name__} (--loss {loss}) takes --{own} or --lam, not --{other}"
        )
    if strength.lam is not None:
        doubled = 2.0 if takes_C and loss in DOUBLED else 1.0
        return {own: 1.0 / (doubled * strength.lam * n) if takes_C else strength.lam * n}
    given = getattr(strength, own)
    return {own: 1.0 if given is None else given}


def _require_epsilon(loss: str) -> None:
    if loss not in WITH_EPSILON:
        raise typer.BadParameter(
            f"--epsilon is for {', '.join(WITH_EPSILON)}; loss {loss} has no such threshold"
        )


def _require_two(data: Labelled) -> None:
    if len(data.classes) < 2:
        raise ValueError(
            f"{data.table.source}: expected at least two classes, all labels are "
            f"{printable(data.classes[0])!r}."
        )
