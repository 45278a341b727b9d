"""A fitted estimator as one file, without pickle: ``save``, ``load``, ``header``.

The file is a container (see ``primaldual.container``). Its header names one of the estimators in
``ESTIMATORS`` and holds the parameters and the fitted attributes as data: numbers, strings, lists,
and references to the arrays that follow. Loading builds that estimator and sets the attributes;
no other class is looked up and no code in the file could be run.

Left out are the trace of the fit (``history_``: it holds times, and equal fits shall give equal
files), the dual variables ``dual_coef_`` unless they are asked for (a number for each training
example, which predictions do not need), and parameters that only matter while fitting and are
objects: a ``callback``, a splitter as ``cv``, a generator as ``random_state``.

One file because what is written and what is read must agree, value by value.
"""

from __future__ import annotations

import os
import re
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from . import container, estimators
from .advice import Advice
from .container import ContainerError
from .estimators.calibrated import Calibrated
from .losses import LOSSES
from .losses.custom import loss_name

KIND = "model"
VERSION = 1

ESTIMATORS = {
    name: getattr(estimators, name)
    for name in (
        "GammaRegressor",
        "HuberRegressor",
        "LinearClassifier",
        "LinearRegressor",
        "LinearSVC",
        "LinearSVR",
        "LogisticRegression",
        "LogisticRegressionCV",
        "PoissonRegressor",
        "QuantileRegressor",
        "Ridge",
        "RidgeCV",
        "RidgeClassifier",
        "RidgeClassifierCV",
    )
}

_ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9_]*_")
_ADVICE = "advice_"  # is plain data in an estimator's state
_NOT_KEPT = ("history_",)
_DUAL = "dual_coef_"  # kept if asked for
_ONLY_WHILE_FITTING = ("callback", "cv", "random_state")
# What is in the header beside the estimator, and may be missing if None is a possibility.
_HEADER: dict[str, Any] = {
    "written_by": dict,
    "schema": dict | None,
    "feature_names": list | None,
    "notes": dict | None,
    "labels": list | None,
    "scaling": dict | None,
}
# What every fit reports about itself.
_REPORTED = ("dual_gap_", "n_iter_", "side_", "stop_reason_")
# What a header that was forged, or written by a newer version, may raise while it is read.
REFUSED = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError)
# Strings become an array of the longest one's width: at most this many characters in all, so that a
# forged file cannot ask for more than 1 GB of memory.
_MOST_CHARACTERS = 1 << 28


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    *,
    schema: dict[str, Any] | None = None,
    feature_names: list[str] | None = None,
    notes: dict[str, Any] | None = None,
    labels: list[str] | None = None,
    scaling: tuple[str, Any] | None = None,
    dual: bool = False,
) -> None:
    """Write a fitted estimator of this library to a file.

    Parameters
    ----------
    estimator
        One of the classes in ``ESTIMATORS``, fitted.
    path : path
        The file; an existing one is replaced when the new one is complete.
    schema : dict, optional
        How columns of a table became features, as JSON can hold it; returned by ``header``.
    feature_names : list of str, optional
        Names of the features where the estimator has none (it has, if it was fitted on a data
        frame); returned by ``header``.
    notes : dict, optional
        Anything else to keep with the model, as JSON can hold it; returned by ``header``.
    labels : list of str, optional
        The classes as they are spelt in the data, where numbers do not show it: "007".
    scaling : (str, array), optional
        How features were scaled for the fit, and by what each was divided. The coefficients are
        those of the features before that.
    dual : bool
        Keep ``dual_coef_`` as well, which has a number for each training example.

    Raises
    ------
    TypeError
        If the estimator is of another class, or a parameter is code: a custom loss or score.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_wine
    >>> from primaldual import LogisticRegression, load
    >>> X, y = load_wine(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "wine.model"))
    ...     again = load(os.path.join(folder, "wine.model"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    arrays: dict[str, Any] = {}
    header = {
        "kind": KIND,
        "version": VERSION,
        "written_by": {name: version(name) for name in ("primaldual", "numpy", "scikit-learn")},
        "schema": schema,
        "feature_names": feature_names,
        "notes": notes,
        "labels": labels,
        "scaling": None,
        **_Writer(arrays, dual).model(estimator),
    }
    if scaling is not None:
        kind, scales = scaling
        header["scaling"] = {
            "kind": kind,
            **_Writer(arrays, dual).array(np.asarray(scales), "scales"),
        }
    container.write(path, header, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted estimator from a file that ``save`` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    estimator
        As it was saved, without ``history_``, and without ``dual_coef_`` unless it was asked for.

    Raises
    ------
    ContainerError
        If the file is not such a file, is damaged, or was written by a newer version.
    """
    return opened(path).estimator


class Opened(NamedTuple):
    """A model file: the estimator, and what the file says besides."""

    estimator: Any
    header: dict[str, Any]
    scales: Any  # by what each feature was divided for the fit; None if by nothing


def opened(path: str | os.PathLike[str]) -> Opened:
    """Read a model file: the estimator, the header and the scales of the features.

    Parameters
    ----------
    path : path

    Raises
    ------
    ContainerError
        As ``load``.
    """
    head, arrays = _read(path)
    try:
        reader = _Reader(arrays)
        estimator = reader.model(head)
        return Opened(estimator, head, _scales(head, arrays, estimator))
    except ContainerError as error:
        raise ContainerError(f"{path}: {error}") from None
    except REFUSED:
        raise ContainerError(
            f"{path}: the file is not a model that this version of primaldual understands. "
            "Upgrade primaldual, or write the model again."
        ) from None


def header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a model file says about itself: estimator, parameters, schema, notes, versions.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
        As JSON has it.

    Raises
    ------
    ContainerError
        As ``load``.
    """
    return _read(path)[0]


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    head, arrays = container.read(path)
    if head.get("kind") != KIND:
        raise ContainerError(
            f"{path}: expected a model, the file holds {head.get('kind', 'something else')!r}."
        )
    if head.get("version") != VERSION:
        raise ContainerError(
            f"{path}: the model has version {head.get('version')!r}, this primaldual reads "
            f"version {VERSION}. Upgrade primaldual, or write the model again."
        )
    wrong = [name for name, kind in _HEADER.items() if not isinstance(head.get(name), kind)]
    if wrong:
        raise ContainerError(f"{path}: the model's header has no usable {', '.join(wrong)}.")
    return head, arrays


# --------------------------------------------------------------------------------------------
# Values as JSON: what JSON has stands for itself, everything else is {"its kind": …}.


class _Writer:
    """Turns values into JSON and collects the arrays."""

    def __init__(self, arrays: dict[str, Any], dual: bool) -> None:
        self.arrays = arrays
        self.not_kept = _NOT_KEPT if dual else (*_NOT_KEPT, _DUAL)

    def model(self, estimator: Any) -> dict[str, Any]:
        """The estimator's name, parameters and fitted attributes."""
        name = type(estimator).__name__
        if type(estimator) is not ESTIMATORS.get(name):
            raise TypeError(
                f"expected a fitted estimator of primaldual ({', '.join(ESTIMATORS)}), got "
                f"{type(estimator).__module__}.{name}."
            )
        if not hasattr(estimator, "coef_"):
            raise ValueError(f"this {name} is not fitted. Call fit first.")
        parameters, left_out = {}, []
        for key, value in estimator.get_params(deep=False).items():
            if key in _ONLY_WHILE_FITTING and not _is_plain(value):
                left_out.append(key)
                continue
            parameters[key] = self.value(value, key)
        attributes = {
            key: value if key == _ADVICE else self.value(value, key)
            for key, value in sorted(_state(estimator).items())
            if _ATTRIBUTE.fullmatch(key) and key not in self.not_kept
        }
        return {
            "estimator": name,
            "parameters": parameters,
            "attributes": attributes,
            "left_out": left_out,
        }

    def value(self, value: Any, name: str) -> Any:
        """One value; ``name`` is for messages and for the names of arrays."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            return value.item()
        if isinstance(value, np.ndarray):
            return self.array(value, name)
        if sparse.issparse(value):
            rows = sparse.csr_matrix(value)
            parts = [self.array(part, name) for part in (rows.data, rows.indices, rows.indptr)]
            return {"csr": parts, "shape": list(rows.shape)}
        if type(value) in LOSSES.values():
            return {"loss": loss_name(value), "fields": [float(field) for field in value]}
        if isinstance(value, tuple | list):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return {kind: [self.value(entry, name) for entry in value]}
        if isinstance(value, dict):
            pairs = value.items()
            return {"pairs": [[self.value(k, name), self.value(v, name)] for k, v in pairs]}
        if isinstance(value, Calibrated):
            return self.calibrated(value)
        raise TypeError(
            f"{name}={value!r} cannot be kept in a model file, which holds data and no code. "
            "Use a loss or a score by its name, or pickle the estimator."
        )

    def array(self, array: np.ndarray, name: str) -> dict[str, Any]:
        """Numbers as an array of the file, strings as a list."""
        if array.dtype.kind == "U" and array.ndim == 1:
            return {"texts": array.tolist()}
        if array.dtype.kind == "O" and array.ndim == 1:
            return {"objects": [self.value(entry, name) for entry in array.tolist()]}
        if array.dtype.kind not in "biuf":
            raise TypeError(
                f"{name} is an array of {array.dtype}; a model file holds numbers and strings."
            )
        key = f"{len(self.arrays)}:{name}"
        self.arrays[key] = array
        return {"array": key}

    def calibrated(self, value: Calibrated) -> dict[str, Any]:
        """The sigmoids that turn scores into probabilities, and the model that gives the scores."""
        return {
            "calibrated": self.model(value.estimator),
            "slopes": self.array(value.slopes, "slopes"),
            "offsets": self.array(value.offsets, "offsets"),
        }


class _Reader:
    """Turns what ``_Writer`` wrote into values again."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays

    def model(self, head: dict[str, Any]) -> Any:
        """The fitted estimator."""
        kind = ESTIMATORS.get(head["estimator"])
        if kind is None:
            raise ContainerError(
                f"the model is a {head['estimator']!r}, which this version of primaldual does not "
                f"have; it has {', '.join(ESTIMATORS)}. Upgrade primaldual."
            )
        parameters = {key: self.value(value) for key, value in head["parameters"].items()}
        unknown = set(parameters) - set(kind().get_params(deep=False))
        if unknown:
            raise ContainerError(
                f"the {head['estimator']} has the parameters {', '.join(sorted(unknown))}, which "
                "this version of primaldual does not know. Upgrade primaldual."
            )
        estimator = kind(**parameters)
        for key, value in head["attributes"].items():
            if not _ATTRIBUTE.fullmatch(key):
                raise ContainerError(f"{key!r} is not the name of a fitted attribute.")
            setattr(estimator, key, self.value(value))
        _require_consistent(estimator)
        return estimator

    def value(self, value: Any) -> Any:
        """One value."""
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise TypeError("lists are tagged")
            return value
        kind = next(iter(value), None)
        content = value[kind]
        if kind == "array":
            return self.arrays[content]
        if kind == "texts":
            return _texts(content)
        if kind == "objects":
            objects = np.empty(len(content), dtype=object)
            objects[:] = [self.value(entry) for entry in content]
            return objects
        if kind == "csr":
            parts = tuple(self.value(part) for part in content)
            matrix = sparse.csr_matrix(parts, shape=tuple(value["shape"]))
            matrix.check_format(full_check=True)
            return matrix
        if kind == "loss":
            return LOSSES[content](*(float(field) for field in value["fields"]))
        if kind in ("tuple", "list"):
            entries = [self.value(entry) for entry in content]
            return tuple(entries) if kind == "tuple" else entries
        if kind == "pairs":
            return {self.value(key): self.value(entry) for key, entry in content}
        if kind == "advice":
            return Advice.of_plain(value)
        if kind == "calibrated":
            model = self.model(content)
            return Calibrated(model, self.value(value["slopes"]), self.value(value["offsets"]))
        raise KeyError(kind)


def _state(estimator: Any) -> dict[str, Any]:
    """What a fit has left; probabilities as the object that holds them."""
    state: dict[str, Any] = estimator.__getstate__()
    if "calibrated_" in state:
        state["calibrated_"] = estimator.calibrated_
    return state


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str | np.integer | np.floating)


def _texts(content: list[str]) -> np.ndarray:
    """An array of strings as wide as the longest."""
    widest = max((len(text) for text in content), default=1)
    if widest * len(content) > _MOST_CHARACTERS:
        raise ContainerError(
            f"{len(content)} strings, the longest of {widest} characters, are more than a model "
            "may have."
        )
    return np.array(content, dtype=f"<U{max(widest, 1)}")


def _scales(head: dict[str, Any], arrays: dict[str, np.ndarray], estimator: Any) -> Any:
    """The scales of the features; refused with labels or scales that do not fit the model."""
    labels, scaling = head.get("labels"), head.get("scaling")
    if labels is not None:
        texts = all(isinstance(label, str) for label in labels)
        if not texts or len(labels) != len(getattr(estimator, "classes_", ())):
            raise ContainerError("the labels in the file do not fit the model's classes.")
    if scaling is None:
        return None
    scales = arrays[scaling["array"]]
    if scales.shape != (estimator.n_features_in_,) or not isinstance(scaling["kind"], str):
        raise ContainerError("the scales in the file do not fit the model's features.")
    return scales


def _require_consistent(estimator: Any) -> None:
    """Refuse coefficients that do not fit the number of features, classes or targets."""
    coef, features = estimator.coef_, estimator.n_features_in_
    shape = coef.shape if sparse.issparse(coef) else np.atleast_2d(np.asarray(coef)).shape
    rows, intercepts = shape[0], np.shape(estimator.intercept_)
    good = type(features) is int and shape[1:] == (features,) and intercepts in ((), (rows,))
    if hasattr(estimator, "classes_"):
        classes = len(estimator.classes_)
        good = good and classes >= 1 and rows == (1 if classes <= 2 else classes)
    for name in _REPORTED:
        getattr(estimator, name)
    if hasattr(estimator, "feature_names_in_"):
        good = good and len(estimator.feature_names_in_) == features
    if not good:
        raise ContainerError("the shapes of the model's attributes do not fit together.")
