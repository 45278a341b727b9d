"""How good predictions are: for classes and for numbers, beside what guessing would give."""

from __future__ import annotations

from typing import Any

from .terminal import plural, printable, remark, table

# The confusion matrix is shown up to this many classes: as many as fit into a line of 80 letters.
MOST_CONFUSED = 10
_NAMES = {
    "accuracy": "accuracy",
    "majority_accuracy": "accuracy of always the largest class",
    "balanced_accuracy": "mean accuracy of the classes",
    "auc": "area under the ROC curve",
    "log_loss": "log loss",
    "brier": "Brier score",
    "r2": "R²",
    "mean_absolute_error": "mean absolute error",
    "root_mean_squared_error": "root mean squared error",
    "mean_guess_error": "root mean squared error of guessing the mean",
}


def of_classes(fitted: Any, X: Any, y: Any, names: list[Any], source: str) -> dict[str, Any]:
    """Accuracy, ranking, probabilities and confusion, as far as model and labels have them."""
    import numpy as np

    texts = fitted.classes_.dtype.kind not in "biuf"
    if texts != (y.dtype.kind not in "biuf"):
        kinds = ("texts", "numbers") if texts else ("numbers", "texts")
        listed = ", ".join(printable(name, 20) for name in names[:MOST_CONFUSED])
        raise ValueError(
            f"{source}: the labels are {kinds[1]}, and the model's classes are {kinds[0]}: "
            f"{listed}."
        )
    predicted = fitted.predict(X)
    known = np.isin(y, fitted.classes_)
    right = predicted == y
    facts: dict[str, Any] = {"accuracy": float(np.mean(right))}
    values, counts = np.unique(y, return_counts=True)
    facts["majority_accuracy"] = float(counts.max() / len(y))
    facts["balanced_accuracy"] = float(np.mean([right[y == value].mean() for value in values]))
    unknown = int((~known).sum())
    if unknown:
        remark(f"{plural(unknown, 'example has a label', 'examples have labels')} that the model "
               "does not know.")  # fmt: skip
    codes = np.searchsorted(fitted.classes_, y[known])
    scores = fitted.decision_function(X)
    facts["auc"] = _auc(scores, codes) if scores.ndim == 1 and not unknown else None
    facts |= {"log_loss": None, "brier": None}
    if hasattr(fitted, "predict_proba") and not unknown:
        facts |= _of_probabilities(fitted.predict_proba(X), codes)
    facts["unknown_labels"] = unknown
    facts["classes"] = names
    facts["confusion"] = None
    if len(names) <= MOST_CONFUSED:
        guessed = np.searchsorted(fitted.classes_, predicted[known])
        cells = np.zeros((len(names), len(names)), dtype=np.int64)
        np.add.at(cells, (codes, guessed), 1)
        facts["confusion"] = cells.tolist()
    return facts


def _auc(scores: Any, codes: Any) -> float | None:
    """The share of pairs of both classes that the scores put in order; None without pairs."""
    from scipy.stats import rankdata

    positive = int(codes.sum())
    negative = len(codes) - positive
    if not positive or not negative:
        return None
    ranks = rankdata(scores)
    above = float(ranks[codes == 1].sum()) - positive * (positive + 1) / 2
    return above / (positive * negative)


def _of_probabilities(shares: Any, codes: Any) -> dict[str, float]:
    """Log loss and Brier score: squared errors of the probabilities, of two classes halved."""
    import numpy as np

    n, K = shares.shape
    with np.errstate(divide="ignore"):
        log_loss = float(-np.mean(np.log(shares[np.arange(n), codes])))
    errors = shares.copy()
    errors[np.arange(n), codes] -= 1.0
    brier = float(np.mean(np.sum(errors**2, axis=1)))
    return {"log_loss": log_loss, "brier": brier / 2 if K == 2 else brier}


def of_numbers(fitted: Any, X: Any, y: Any, source: str) -> dict[str, Any]:
    """R² and the sizes of the errors."""
    import numpy as np

    if y.dtype.kind not in "biuf":
        raise ValueError(f"{source}: the labels are texts, and the model predicts numbers.")
    y = np.asarray(y, dtype=np.float64)
    errors = y - fitted.predict(X)
    spread = float(np.sqrt(np.mean((y - y.mean()) ** 2)))
    return {
        "r2": float(1 - np.mean(errors**2) / spread**2) if spread else None,
        "mean_absolute_error": float(np.mean(np.abs(errors))),
        "root_mean_squared_error": float(np.sqrt(np.mean(errors**2))),
        "mean_guess_error": spread,
    }


def lines(facts: dict[str, Any]) -> list[str]:
    """The measures as lines, and the confusion matrix as a table."""
    shown = {_NAMES[key]: value for key, value in facts.items() if key in _NAMES}
    shown = {name: value for name, value in shown.items() if value is not None}
    wide = max(map(len, shown))
    found = [f"{name:{wide}}  {value:.6g}" for name, value in shown.items()]
    if facts.get("confusion"):
        names = [printable(name, 12) for name in facts["classes"]]
        rows = [[name, *map(str, row)] for name, row in zip(names, facts["confusion"], strict=True)]
        found += ["", *table(["true \\ predicted", *names], rows)]
    return found
