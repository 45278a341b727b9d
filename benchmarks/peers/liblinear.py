"""LIBLINEAR: C = 1/(λn); its squared hinge and squared losses are twice ours."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from liblinear.liblinear import problem as Nodes
from liblinear.liblinearutil import parameter, train

from ..cases import Task
from .base import Fit, Solver, decades

# Solver type: what it is, the loss, its loss divided by ours.
TYPES = {
    0: ("primal", "logistic", 1.0),
    7: ("dual", "logistic", 1.0),
    2: ("primal", "squared_hinge", 2.0),
    1: ("dual", "squared_hinge", 2.0),
    11: ("primal", "squared", 2.0),
    12: ("dual", "squared", 2.0),
}


def solvers() -> list[Solver]:
    """The L2-regularised solvers with smooth losses."""
    return [
        Solver(f"liblinear -s {kind} ({side})", (loss,), decades(0, -10), partial(_prepare, kind))
        for kind, (side, loss, _) in TYPES.items()
    ]


@lru_cache(maxsize=1)
def _nodes(task: Task) -> Nodes:
    return Nodes(task.y, task.csr)


def _prepare(kind: int, task: Task) -> Fit:
    nodes = _nodes(task)
    C = 1.0 / (TYPES[kind][2] * task.lam_n)

    def fit(eps: float) -> Any:
        model = train(nodes, parameter(f"-s {kind} -c {C!r} -p 0 -e {eps!r} -q"))
        w = np.ctypeslib.as_array(model.w, (task.d,)).copy()
        # The first label of the model is its positive class.
        return -w if task.loss != "squared" and model.label[0] < 0 else w

    return fit
