"""Work that is done when another library is imported, and never if it is not.

To be known to a library ours must wait until it is there: importing it for the purpose would take
seconds from everyone who does not use it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

Action = Callable[[ModuleType], None]


def when_imported(name: str, act: Action) -> None:
    """Call ``act`` with the module of that name: now if it is imported already, else once it is."""
    if name in sys.modules:
        _tried(sys.modules[name], act)
    else:
        sys.meta_path.insert(0, _Waiting(name, act))


def _tried(module: ModuleType, act: Action) -> None:
    """Do it; another version of the library may not be as expected, and still has to work."""
    try:
        act(module)
    except Exception as error:
        warnings.warn(
            f"primaldual's estimators could not be registered with {module.__name__}: {error!r}. "
            "Use to_sklearn() of an estimator, which gives scikit-learn's model.",
            UserWarning,
            stacklevel=2,
        )


class _Waiting(MetaPathFinder):
    """Finds nothing by itself: leaves a note with what the other finders find for one name."""

    def __init__(self, name: str, act: Action) -> None:
        self.name, self.act = name, act

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self.name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)  # the others are asked
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:  # not installed, so far
            sys.meta_path.insert(0, self)
            return spec
        run = spec.loader.exec_module

        def run_and_act(module: ModuleType) -> None:
            run(module)
            _tried(module, self.act)

        setattr(spec.loader, "exec_module", run_and_act)  # noqa: B010
        return spec
