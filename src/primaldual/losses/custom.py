"""From what a user gives, a name, a class or an object of their own, to a loss for kernels."""

from __future__ import annotations

import builtins
import functools
import linecache
import math
import numbers
import re
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from .._numba.compile import inlined
from . import LOSSES
from .shifted import Shifted
from .traits import TRAITS, Loss
from .traits import loss as declared

# Other names of losses that are here, with what to write for them.
_KNOWN_AS = {
    "absolute": "EpsilonInsensitive(epsilon=0)",
    "l1": "EpsilonInsensitive(epsilon=0)",
    "quantile": "Pinball(quantile=...)",
}
_REQUIRED = ("value", "derivative", "second_derivative", "smoothness")
_FUNCTIONS = (*_REQUIRED[:3], "conjugate", "dual_step", "nearest_dual")
_POSITIVE = ("delta", "smoothing", "quantile")
# How lines of Numba's messages begin that say where, and not what.
_LOCATORS = ("During:", "File ", "- ", "There are", "Enable")


def as_loss(loss: Any) -> Loss:
    """Return the loss that a name, a class or an object stands for, ready for kernels.

    Parameters
    ----------
    loss
        A name in ``LOSSES``; one of its losses, as class or instance; or an object of your
        own with functions ``value(z, y)``, ``derivative(z, y)``, ``second_derivative(z, y)`` and
        a number ``smoothness``. The functions are compiled by Numba: they may use ``math`` and
        the numbers found on the object (``self.tau``). ``classification = True`` says that
        labels are -1 and +1; ``strictly_convex``, ``quadratic`` and ``shift_invariant`` are traits
        of the same kind, which make the engine choose better (see ``traits.Loss``).
        ``conjugate(a, y)``, ``dual_step(a, z, y, kappa)`` and ``nearest_dual(a, y)`` are used if
        present, and found numerically if not.

    Returns
    -------
    Loss
        A named tuple. The same functions always give the same class, so nothing is compiled
        twice.

    Examples
    --------
    >>> as_loss("huber")
    Huber(delta=1.0)
    >>> from primaldual.losses import SmoothedHinge
    >>> as_loss(SmoothedHinge(smoothing=0.5)).smoothness
    2.0
    """
    if isinstance(loss, str):
        return _named(loss)
    if isinstance(loss, type):
        try:
            loss = loss()
        except TypeError as error:
            raise TypeError(
                f"loss must be an instance when its class needs arguments, got the class "
                f"{loss.__name__}. Give {loss.__name__}(...) with its parameters."
            ) from error
    if type(loss) in LOSSES.values():
        return _checked_parameters(loss)
    missing = [name for name in _REQUIRED if not hasattr(loss, name)]
    if missing:
        raise TypeError(
            f"loss must be one of {', '.join(LOSSES)}, or an object with {', '.join(_REQUIRED)}; "
            f"got {type(loss).__name__}, which lacks {', '.join(missing)}. "
            f"Add {'it' if len(missing) == 1 else 'them'}, or use a loss by its name."
        )
    beta = loss.smoothness
    if not _is_number(beta) or not 0.0 < beta < math.inf:
        raise ValueError(
            f"smoothness must be a positive finite number, got {beta!r}. "
            "Set it to a Lipschitz constant of the derivative of the loss; of the losses with "
            "kinks only 'hinge', 'epsilon_insensitive' and 'pinball' are known."
        )
    return loss if is_custom(loss) else _adopted(loss)


def is_custom(loss: Any) -> bool:
    """Whether the loss is a user's own."""
    return hasattr(type(unshifted(loss)), "_recipe")


def unshifted(loss: Any) -> Any:
    """The loss itself, without the offsets that a problem has put into its targets."""
    return loss.loss if isinstance(loss, Shifted) else loss


def explained(loss: Any, error: NumbaError) -> Exception:
    """The compiler's error; of a user's loss, in the user's terms."""
    return TypeError(_why_not_compiled(loss, str(error))) if is_custom(loss) else error


def _why_not_compiled(loss: Any, message: str) -> str:
    """The user's line, and what Numba says of it."""
    codes = [getattr(f, "py_func", f).__code__ for _, f, _ in vars(type(loss))["_recipe"][2]]
    files, lines = {code.co_filename for code in codes}, message.splitlines()
    place, reason = "", next((line for line in lines if line.strip()), "")
    for k, line in enumerate(lines):
        found = re.match(r'\s*File "(.*)", line (\d+):', line)
        if found and any(name.endswith(found[1]) for name in files):
            name = next(name for name in files if name.endswith(found[1]))
            source = linecache.getline(name, int(found[2])).strip()
            place = f" at {name}:{found[2]}" + (f', "{source}"' if source else "")
            before = [text.strip() for text in lines[:k] if text.strip()]
            reason = next((t for t in reversed(before) if not t.startswith(_LOCATORS)), reason)
            break
    return (
        f"loss {type(loss).__name__} does not compile{place}: {reason.strip().rstrip('.')}. Its "
        "functions may use arithmetic, comparisons, math, the numbers of their object, and "
        "functions marked with numba.njit."
    )


def loss_name(loss: Any) -> str:
    """Return the name of a loss in ``LOSSES``, or the name of its class if it is not there."""
    loss = unshifted(loss)
    for name, owner in LOSSES.items():
        if type(loss) is owner:
            return name
    return type(loss).__name__


@functools.cache
def _named(name: str) -> Loss:
    if name in LOSSES:
        return _checked_parameters(LOSSES[name]())
    if name in _KNOWN_AS:
        raise ValueError(
            f"loss must be one of {', '.join(LOSSES)}, got {name!r}. Use {_KNOWN_AS[name]} from "
            "primaldual.losses."
        )
    raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {name!r}.")


def _checked_parameters(loss: Any) -> Any:
    """Return the loss with its parameters as floats, or raise if one is out of range."""
    for name, number in zip(loss._fields, loss, strict=True):
        positive = name in _POSITIVE
        valid = _is_number(number) and math.isfinite(number)
        above_one = name == "quantile" and valid and number >= 1.0
        if not valid or number < 0.0 or (positive and number == 0.0) or above_one:
            kind = "positive" if positive else "nonnegative"
            if name == "quantile":
                raise ValueError(
                    f"quantile of {loss_name(loss)!r} must be a number between 0 and 1, both "
                    f"excluded, got {number!r}. The median is 0.5."
                )
            raise ValueError(
                f"{name} of {loss_name(loss)!r} must be a {kind} finite number, got {number!r}. "
                f"Give {type(loss).__name__}({name}=...) a valid one."
            )
    # One type of field, so that kernels are compiled once per loss.
    return type(loss)(*(float(number) for number in loss))


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _adopted(loss: Any) -> Any:
    """Make a named tuple with the functions of the user's object and the numbers they use."""
    functions = []
    for name in _FUNCTIONS:
        function = getattr(loss, name, None)
        if function is None:
            continue
        takes_self = isinstance(function, MethodType) and function.__self__ is loss
        if takes_self:
            function = function.__func__
        functions.append((name, function, takes_self))
    for name, function, _ in functions:
        if not isinstance(function, FunctionType | Dispatcher):
            raise TypeError(
                f"{name} of the loss must be a plain function or method that Numba can compile, "
                f"got {type(function).__name__}. Write it with def, and with math only."
            )
    fields = _fields(loss, functions)
    owner = type(loss)
    is_tuple = isinstance(loss, tuple) and set(fields) <= set(getattr(owner, "_fields", ()))
    if not is_tuple:
        fields["smoothness"] = float(loss.smoothness)
    names = owner._fields if is_tuple else tuple(fields)
    traits = tuple(name for name in TRAITS if name not in names and getattr(loss, name, False))
    base: Any = owner if is_tuple else None
    new = _loss_class(owner.__name__, owner.__module__, tuple(functions), names, traits, base)
    return new._make(loss if is_tuple else fields.values())


def _fields(loss: Any, functions: list[tuple[str, Any, bool]]) -> dict[str, Any]:
    """Collect the numbers stored in the object and those its methods read from self."""
    used: dict[str, None] = {}
    for _, function, takes_self in functions:
        python = getattr(function, "py_func", function)
        if takes_self:
            known = set(python.__globals__) | set(dir(builtins))
            used.update(dict.fromkeys(n for n in python.__code__.co_names if n not in known))
    fields = {}
    for name in [*getattr(loss, "__dict__", {}), *used]:
        value = getattr(loss, name, None)
        if isinstance(value, numbers.Real) and not name.startswith("_"):
            fields[name] = value if isinstance(value, bool) else _python_number(value)
        elif name in used and hasattr(loss, name):
            raise TypeError(
                f"the functions of a loss may use the numbers of their object by public names, "
                f"but {type(loss).__name__} uses self.{name}, of type {type(value).__name__}. "
                "Make it a number without a leading underscore, or a plain function outside "
                "the class marked with numba.njit."
            )
    return fields


def _python_number(value: Any) -> int | float:
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _method_of(function: Any, takes_self: bool) -> Callable[..., Any]:
    """Make a method of a plain function, which does not take self."""
    if takes_self:
        return getattr(function, "py_func", function)
    compilable = inlined(function) if isinstance(function, FunctionType) else function

    def method(self: Any, *arguments: float) -> float:
        return compilable(*arguments)

    return method


@functools.cache
def _loss_class(
    name: str,
    module: str,
    functions: tuple[tuple[str, Any, bool], ...],
    fields: tuple[str, ...],
    traits: tuple[str, ...],
    base: Any,
) -> Any:
    """Make the named-tuple class of a user's loss: one per set of functions and field names.

    It is never the user's own class, even if that is a named tuple. Numba keeps compiled kernels
    on disk by the type of their arguments, and would not see that the user's file has changed; a
    class made here is new to every process.
    """
    members: dict[str, Any] = {
        "__slots__": (),
        "__module__": module,
        "__doc__": f"The user's loss {name}.",
        "__reduce__": lambda self: (_revived, (*type(self)._recipe, tuple(self))),
        "_recipe": (name, module, functions, fields, traits, base),
    }
    for method, function, takes_self in functions:
        members[method] = _method_of(function, takes_self)
    parent: Any = base if base is not None else NamedTuple(name, [(f, Any) for f in fields])
    flags: Any = dict.fromkeys(traits, True)
    made = declared(**flags)(type(name, (parent,), members))
    for trait in set(TRAITS) & set(fields):
        delattr(made, trait)  # a number of the object, which its functions read
    return made


def _revived(*recipe: Any) -> Any:
    *parts, values = recipe
    return _loss_class(*parts)._make(values)
