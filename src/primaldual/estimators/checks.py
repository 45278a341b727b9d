"""What a user passes to an estimator, checked: parameters, class weights and sample weights."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import InvalidParameterError

from .._threads import checked
from .._types import FloatArray

# The names that scikit-learn's classes take as ``solver``. All are taken and none is used.
LOGISTIC_SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")
GLM_SOLVERS = ("lbfgs", "newton-cholesky")
RIDGE_SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")
# Of scikit-learn's parameters those that are True or False.
SWITCHES = ("fit_intercept", "warm_start", "copy_X")
ONLY_L2 = (
    "this library solves L2-regularised problems, whose optimum it can prove by the dual. "
    "For the L1 penalty or the elastic net use scikit-learn's class of the same name"
)


def require_strength(name: str, value: Any, may_vanish: bool) -> None:
    """Raise unless ``value`` is a strength of regularisation; it may be none if ``may_vanish``."""
    most = np.inf if name == "C" else 0
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if is_number and value == most and may_vanish:
        return
    if not is_number or not 0 < value < np.inf:
        kind = "number" if not is_number else "finite number"
        raise InvalidParameterError(
            f"{name} must be a positive {kind}, got {value!r}. "
            + (
                f"{name}={most} is no regularisation."
                if may_vanish
                else "A model without regularisation has no dual problem; use a weak one instead."
            )
        )


def require_number(name: str, value: Any, positive: bool = False) -> None:
    """Raise unless ``value`` is a nonnegative number, or a positive one."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    kind = "positive" if positive else "nonnegative"
    if not is_number:
        raise InvalidParameterError(f"{name} must be a {kind} number, got {value!r}.")
    if not (0 <= value < np.inf) or (positive and value == 0):
        raise InvalidParameterError(f"{name} must be a {kind} finite number, got {value!r}.")


def require_choice(name: str, value: Any, choices: Any) -> None:
    """Raise unless ``value`` is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InvalidParameterError(f"{name} must be one of {listed}, got {value!r}.")


def require_switches(model: Any) -> None:
    """Raise unless scikit-learn's switches are True or False, and ``n_jobs`` a number or None."""
    for name in SWITCHES:
        require_bool(name, getattr(model, name, True))
    try:
        checked("n_jobs", getattr(model, "n_jobs", None))
    except ValueError as error:
        raise InvalidParameterError(str(error)) from None


def require_l2(penalty: Any, l1_ratio: Any = 0.0, choices: tuple[Any, ...] = ("l2",)) -> None:
    """Raise unless scikit-learn's ``penalty`` and ``l1_ratio`` ask for L2, or for no penalty."""
    if isinstance(penalty, str) and penalty in ("l1", "elasticnet"):
        raise InvalidParameterError(f"penalty={penalty!r} is not available: {ONLY_L2}.")
    if penalty not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InvalidParameterError(f"penalty must be one of {listed}, got {penalty!r}.")
    if l1_ratio is None or penalty != "deprecated":
        return  # not used, as in scikit-learn
    if not isinstance(l1_ratio, numbers.Real) or not 0 <= float(l1_ratio) <= 1:
        raise InvalidParameterError(f"l1_ratio must be a number from 0 to 1, got {l1_ratio!r}.")
    if l1_ratio != 0:
        raise InvalidParameterError(f"l1_ratio={l1_ratio!r} is not available: {ONLY_L2}.")


def require_any_sign(positive: Any) -> None:
    """Raise unless scikit-learn's ``positive`` is False."""
    if isinstance(positive, bool | np.bool_) and positive:
        raise InvalidParameterError(
            "positive=True is not available: coefficients of one sign are another problem. Use "
            "scikit-learn's class of the same name, which has it."
        )
    require_bool("positive", positive)


def require_solver(model: Any, choices: tuple[str, ...]) -> None:
    """Raise unless ``solver`` is a name that scikit-learn knows; it is said that it is not used."""
    if not hasattr(model, "solver"):
        return  # RidgeCV has none
    require_choice("solver", model.solver, choices)
    if model.verbose:
        print(
            f"{type(model).__name__}: solver={model.solver!r} is not used; the method is chosen by "
            "what it should cost, on the side that side allows."
        )


def require_bool(name: str, value: Any) -> None:
    """Raise unless ``value`` is True or False."""
    if value is not True and value is not False and not isinstance(value, np.bool_):
        raise InvalidParameterError(f"{name} must be True or False, got {value!r}.")


def require_dual(dual: Any, side: str, loss: Any) -> None:
    """Raise unless ``dual`` is True, False or "auto", and goes with ``side`` and the loss."""
    if not isinstance(dual, bool | np.bool_) and not (isinstance(dual, str) and dual == "auto"):
        raise InvalidParameterError(f"dual must be True, False or 'auto', got {dual!r}.")
    if isinstance(dual, str):
        return
    if side == ("primal" if dual else "dual"):
        raise ValueError(
            f"dual={dual} and side={side!r} contradict each other. Leave one of them 'auto'."
        )
    if not dual and loss in ("hinge", "epsilon_insensitive"):
        raise ValueError(
            f"Unsupported set of arguments: loss={loss!r} is not supported when dual=False. The "
            "loss has kinks, and methods on the primal need a smooth one; use dual='auto'."
        )


def weights_of_classes(class_weight: Any, classes: Any, codes: Any, own: FloatArray) -> FloatArray:
    """One weight per class, by scikit-learn's rule; ``own`` are the examples' weights.

    A dictionary may name labels that are not in ``classes`` if it names all that are.
    """
    if isinstance(class_weight, str):
        require_choice("class_weight", class_weight, ("balanced",))
        sums = np.bincount(codes, weights=own, minlength=len(classes))
        even = np.ones(len(classes))  # whatever it is: the class has no weight to multiply
        return np.divide(own.sum(), len(sums) * sums, out=even, where=sums > 0)
    if not isinstance(class_weight, dict):
        raise InvalidParameterError(
            f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}."
        )
    labels = classes.tolist()
    missing = [label for label in labels if label not in class_weight]
    if missing and len(labels) - len(missing) != len(class_weight):
        raise ValueError(
            f"The classes, {missing}, are not in class_weight, which names "
            f"{list(class_weight)}. Name all classes of y, or only such classes."
        )
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])


def is_plain(X: Any, y: Any) -> bool:
    """Whether X is a matrix of numbers and y one of as many; whether X is finite is not asked."""
    is_matrix = type(X) is np.ndarray or (sparse.issparse(X) and X.format in ("csr", "csc"))
    return (
        is_matrix and X.ndim == 2 and X.dtype.char in "df" and X.dtype.isnative
        and 0 not in X.shape and type(y) is np.ndarray and y.shape == X.shape[:1]
        and (y.dtype.kind in "iub" or (y.dtype.char == "d" and bool(np.isfinite(y).all())))
    )  # fmt: skip


def require_dense(y: Any) -> None:
    """Raise if the targets are sparse."""
    if sparse.issparse(y):
        raise TypeError(
            "Sparse data was passed for y, but dense data is required. Use '.toarray()' to convert "
            "to a dense numpy array."
        )


def checked_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """The weights as float64, one per example, or None for equal ones."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n, float(sample_weight))
    weights = np.asarray(sample_weight)
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {weights.ndim} dimensions."
        )
    if weights.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}!")
    weights = weights.astype(np.float64)
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(
            "sample_weight must be finite and nonnegative, got values from "
            f"{weights.min()} to {weights.max()}."
        )
    if weights.max() == 0:
        raise ValueError("sample_weight must not be all zero: no weights, no examples to fit.")
    return weights
