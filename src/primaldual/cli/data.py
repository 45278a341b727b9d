"""From a file and the options about the model to data, labels, a problem or an estimator."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .groups import Asked, Reading, Replaying, Strength
from .live import working
from .options import AVERAGED, CLASSIFICATION, DOUBLED, WITH_EPSILON, WITH_QUANTILE, Loss, Task
from .scaling import Scaling, remarks_on_scale, scaled
from .terminal import plural, printable, remark, short

if TYPE_CHECKING:
    from ..files import Table
    from ..problem import Problem

# Whole numbers are taken for classes if there are no more different ones than this.
MOST_CLASSES = 50
# With more than this it is said that they were.
FEW_CLASSES = 10
# Bytes of memory from which it is said before reading what a file will take.
LARGE = 1e9

# The losses with an estimator of their own; the others are options of the general ones.
_ESTIMATORS = {
    "logistic": "LogisticRegression",
    "squared_hinge": "LinearSVC",
    "hinge": "LinearSVC",
    "squared": "Ridge",
    "squared_epsilon_insensitive": "LinearSVR",
    "epsilon_insensitive": "LinearSVR",
    "pinball": "QuantileRegressor",
    "poisson": "PoissonRegressor",
    "gamma": "GammaRegressor",
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


def read(
    path: str, source: Reading | Replaying, schema: Any = None, n_features: int | None = None
) -> Table:
    """Read a file, and show how far it is."""
    from .. import files
    from ..files.memory import in_words

    usual = files.Limits()
    limits = files.Limits(
        features=source.max_features or usual.features,
        ratio=source.max_ratio or usual.ratio,
        line=source.max_line or usual.line,
    )
    place = known_set(path)
    name = "standard input" if path == "-" else printable(place)
    columns = source.columns if isinstance(source, Reading) else {}
    _remark_on_memory(place, source.format)
    with working(f"reading {name}") as say_now:

        def progress(done: int, total: int | None) -> None:
            of = "" if total is None else f" of {in_words(total)}"
            say_now(f"reading {name}: {in_words(done)}{of}")

        try:
            return files.read(
                place, format=source.format, target=source.target, schema=schema,
                n_features=n_features, limits=limits, progress=progress, **columns,
            )  # fmt: skip
        except files.FileError as error:
            raise files.FileError(_in_options(str(error))) from None
        except MemoryError:
            raise ValueError(_out_of_memory(place)) from None
        except ValueError as error:
            raise ValueError(_in_options(str(error))) from None


def _remark_on_memory(place: str, format: str | None) -> None:
    """Say before reading a large file how much memory that takes, and whether it is there."""
    from ..files import memory, reading, sources

    if place == "-" or not os.path.isfile(place):
        return
    size, there = os.path.getsize(place), memory.available()
    endings = [ending.lower() for ending in Path(place).suffixes]
    is_packed = bool(endings) and endings[-1] in sources.ARCHIVES
    ending = ([ending for ending in endings if ending not in sources.ARCHIVES] or [""])[-1]
    kinds = [kind for kind, known in reading.FORMATS.items() if ending in known]
    need = memory.expected(format or (kinds[0] if kinds else "svmlight"), size, is_packed)
    if need < LARGE and (there is None or need < there / 2):
        return
    fits = ""
    if there is not None:
        fits = f"; {memory.in_words(there)} are free: " + (
            "it fits." if need < there else f"it may not fit. {memory.ADVICE}"
        )
    remark(
        f"Reading {printable(place)} ({memory.in_words(size)}) takes about "
        f"{memory.in_words(need)} of memory{fits}"
    )


def _out_of_memory(place: str) -> str:
    """What to say where memory is not enough."""
    from ..files import memory

    if place == "-" or not os.path.isfile(place):
        return f"{place}: not enough memory to read it. {memory.ADVICE}"
    size = os.path.getsize(place)
    return memory.shortage(place, memory.FACTORS["csv"] * size, memory.available())


def known_set(path: str) -> str:
    """The file of a known data set if there is no file of that name: ``a9a``."""
    if path == "-" or os.path.exists(path) or os.path.dirname(path):
        return path
    from ..datasets import real

    if real.address_of(path) is None and real.stored(path) is None:
        return path
    with working(f"fetching the data set {path}") as say_now:

        def progress(done: int, total: int | None) -> None:
            of = "" if total is None else f" of {total / 1e6:.0f}"
            say_now(f"fetching the data set {path}: {done / 1e6:.0f}{of} MB")

        try:
            place = real.file_of(path, progress=progress)
        except FileNotFoundError as error:
            raise ValueError(f"{path}: there is no file of that name. {error}") from None
    remark(f"No file {path!r} here: using the data set of that name, {place}.")
    return str(place)


def _in_options(message: str) -> str:
    """What a reader says, in the words of the command line."""
    message = re.sub(r"Limits\((\w+)=…\)", r"--max-\1", message)
    message = re.sub(r'\bimpute="(\w+)"', r"--impute \1", message)
    message = re.sub(r"\bdrop='([^']*)'", r"--drop \1", message)
    message = re.sub(r"\b(drop|target)=", r"--\1", message)
    return re.sub(r"(^|\b(?:or|and|with) )(impute|drop|keep)\b(?!-)", r"\1--\2", message)


@dataclass(frozen=True)
class Labelled:
    """A table with its labels understood."""

    table: Table
    loss: str
    y: Any
    classes: Any  # None for regression
    counts: Any  # examples of each class
    scaling: Scaling | None = None
    parts: Any = None  # the data in parts, where it is not in memory: ``table.X`` is its extent

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

    @property
    def score_name(self) -> str:
        """What the score of a model on these labels is called."""
        return "R²" if self.classes is None else "accuracy"

    @property
    def task(self) -> str:
        """What the labels were taken for."""
        return "regression" if self.classes is None else "classification"

    def spelt(self, label: Any) -> Any:
        """A class as it stands in the file."""
        plain = label.item() if hasattr(label, "item") else label
        return plain if isinstance(plain, str) else self.table.spelling.get(plain, plain)

    @property
    def labels(self) -> list[str] | None:
        """The classes as they stand in the file; None if that is how they are printed anyway."""
        if self.classes is None or not self.table.spelling:
            return None
        return [str(self.spelt(label)) for label in self.classes]

    def question(self) -> str:
        """What a two-class problem on these labels asks, as a line; "" if there is no doubt."""
        if self.classes is None or len(self.classes) == 2:
            return ""
        return (
            f"Of the {len(self.classes)} classes this looks at one problem: the largest, "
            f"{printable(self.spelt(self.positive), 20)}, against all others."
        )

    def describe(self) -> str:
        """Size and labels in a line."""
        n, d = self.table.X.shape
        dense = self.nnz / max(n * d, 1)
        if self.classes is None:
            what = f"targets from {short(self.y.min())} to {short(self.y.max())}"
        else:
            shares = [
                f"{printable(self.spelt(label), 20)} ({count / n:.0%})"
                for label, count in zip(self.classes[:6], self.counts[:6], strict=True)
            ]
            more = ", …" if len(self.classes) > 6 else ""
            what = f"{len(self.classes)} classes: {', '.join(shares)}{more}"
        return (
            f"{printable(self.table.source, 200)}: {plural(n, 'example', 'examples')}, "
            f"{plural(d, 'feature', 'features')}, {plural(self.nnz, 'nonzero', 'nonzeros')} "
            f"(density {dense:.3g}), {what}"
        )

    def facts(self) -> dict[str, Any]:
        """What ``describe`` says, for JSON."""
        n, d = self.table.X.shape
        facts: dict[str, Any] = {
            "source": self.table.source,
            "examples": n,
            "features": d,
            "nonzeros": self.nnz,
            "density": self.nnz / max(n * d, 1),
            "task": self.task,
            "loss": self.loss,
            "scale": "none" if self.scaling is None else self.scaling.kind,
            "classes": None,
            "targets": None,
        }
        if self.classes is None:
            facts["targets"] = {"least": float(self.y.min()), "most": float(self.y.max())}
        else:
            facts["classes"] = [
                {"label": self.spelt(label), "examples": int(count)}
                for label, count in zip(self.classes, self.counts, strict=True)
            ]
        return facts


def prepared(file: str, source: Reading, asked: Asked) -> Labelled:
    """The data of a file, its labels understood, its features scaled as asked for."""
    table = read(file, source)
    given = labelled(table, asked.loss, asked.task)
    with working("looking at the columns"):
        for text in table.remarks:
            remark(f"Note: {_in_options(text)}")
        if source.scale.value == "none":
            for text in remarks_on_scale(table):
                remark(f"Note: {text}")
        table, scaling = scaled(table, source.scale.value)
    return replace(given, table=table, scaling=scaling)


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
            "numbers. Is this the column of the labels? --target names it."
        )
    if not texts and task is Task.auto and loss is None:
        _remark_on_task(table, are_classes)
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
    if not texts and np.all(y == np.round(y)):
        if np.abs(y).max() < 2**53:
            y = y.astype(np.int64)
        else:
            remark(
                f"Note: {table.source}: {plural((np.abs(y) >= 2**53).sum(), 'label', 'labels')} "
                "beyond 2^53, where numbers are rounded: different ones may have become one class."
            )
    classes, counts = np.unique(y, return_counts=True)
    return Labelled(table, name, y, classes, counts)


def _remark_on_task(table: Table, are_classes: bool) -> None:
    """Say what whole numbers were taken for where there may be doubt."""
    import numpy as np

    values = np.unique(np.asarray(table.y))
    if not np.all(values == np.round(values)) or len(values) <= FEW_CLASSES:
        return
    taken, other, why = "classes", "regression", "numbers to predict"
    if not are_classes:
        taken, other, why = "numbers to predict", "classification", "classes"
    remark(
        f"Note: the labels are {len(values)} different whole numbers from {short(values[0])} to "
        f"{short(values[-1])}, taken for {taken}. If they are {why}, use --task {other}."
    )


def _few_whole_numbers(y: Any) -> bool:
    import numpy as np

    return bool(np.all(y == np.round(y))) and len(np.unique(y)) <= min(MOST_CLASSES, len(y) - 1)


def problem(data: Labelled, strength: Strength, epsilon: float | None, intercept: bool) -> Problem:
    """The problem to look at; of several classes the largest one against the rest."""
    import numpy as np

    from ..problem import Problem

    loss, y = loss_of(data, epsilon), data.y
    if data.classes is not None:
        _require_two(data)
        y = np.where(y == data.positive, 1.0, -1.0)
    lam = strength.lam_for(data.loss, data.n)
    return Problem(data.table.X, y, loss, lam, fit_intercept=intercept)


def loss_of(data: Labelled, epsilon: float | None) -> Any:
    """The loss, with its threshold if that was given."""
    from ..losses import LOSSES

    if epsilon is None:
        return data.loss
    _require_epsilon(data.loss)
    return LOSSES[data.loss](epsilon)


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
            common["quantile" if name == "QuantileRegressor" else "epsilon"] = epsilon
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
        scale = 1.0 if loss in AVERAGED else float(n)
        return {own: 1.0 / (doubled * strength.lam * n) if takes_C else strength.lam * scale}
    given = getattr(strength, own)
    return {own: 1.0 if given is None else given}


def own_strength(model: Any, lam: float, loss: str, n: int) -> dict[str, float]:
    """λ in an estimator's own parameter."""
    return _strength(type(model), Strength(None, lam, None), loss, n)


def in_own_terms(model: Any) -> str:
    """An estimator's own strength, as it is given on the command line."""
    name = "C" if "C" in model.get_params() else "alpha"
    return f"--{name} {getattr(model, name):.6g}"


def lam_of(model: Any, loss: str, n: int) -> float:
    """λ of mean loss + λ/2 ‖w‖² of an estimator with a strength of its own."""
    parameters = model.get_params()
    if "C" in parameters:
        return 1.0 / ((2.0 if loss in DOUBLED else 1.0) * float(parameters["C"]) * n)
    return float(parameters["alpha"]) / (1 if loss in AVERAGED else n)


def _require_epsilon(loss: str) -> None:
    if loss not in (*WITH_EPSILON, *WITH_QUANTILE):
        raise typer.BadParameter(
            f"--epsilon is for {', '.join(WITH_EPSILON)}; loss {loss} has no such threshold"
        )


def _require_two(data: Labelled) -> None:
    if len(data.classes) < 2:
        raise ValueError(
            f"{data.table.source}: expected at least two classes, all labels are "
            f"{printable(data.classes[0])!r}."
        )
